# Copyright (c) the mlo authors. BSD-3-Clause.
"""More than a thousand wrong calls, made by rule: each raises an error of mlo's, or Python's TypeError for a call that no
signature allows; none ends the process. They run in one process, which must survive."""
import faulthandler
import random
import tempfile
import unittest

import numpy as np

import mlo
from mlo import _options

faulthandler.enable()
ROWS = 12
DATA = {"y": [0, 1] * 6, "x": [0.1, 0.4, 0.3, 0.9, 0.2, 0.5, 0.8, 0.7, 0.6, 0.15, 0.35, 0.55], "w": ["a", "b", "c"] * 4}
QUICK = {"draws": 5, "warmup": 5, "chains": 1, "seed": 1, "threads": 1}


class Odd:
    def __repr__(self):
        return "Odd()"


class Hostile:
    """Raises whatever is asked of it."""

    def __getattr__(self, name):
        raise RuntimeError(f"no {name}")

    def __repr__(self):
        return "Hostile()"


THINGS = {
    "integer": ["x", "", 1.5, float("nan"), float("inf"), True, [], [1], {}, (1, 2), Odd(), 10**30, -(10**30), b"1", 1j, len,
                np.float64(3), np.array([1, 2]), np.array("a"), range(3)],
    "real": ["x", "", "0.5", True, [], [0.5], {}, Odd(), 1j, b"1", float("nan"), len, np.array([0.5, 0.5]), 10**400],
    "flag": ["x", "true", 1, 0, 1.0, [], {}, Odd(), "yes", np.array([True, False])],
    "text": [1, 1.5, True, [1], {}, Odd(), b"bytes", len, "\ud800", "a\0b", 1j, np.array(["a", "b"]), object],
    "pairs": ["x", 1, [], [("x", "normal(0, 1)")], {1: "normal(0, 1)"}, {"x": 1}, {"x": None}, {"x": ["a"]}, Odd(),
              {"x": "nonsense"}, {"x": ""}, {"x": "normal(0,"}, {"x": "\0"}, {"\ud800": "text"}, True],
}
# Values that are of the right type and still wrong.
WRONG = {
    "family": ["", "nonsense", "Logistic", "logistic ", "gaussian-mean-precision"],
    "prior": ["", "normal", "normal(0)", "normal(0,-1)", "gamma(1,1)", "flat(1)", "normal(nan, 1)"],
    "prior_intercept": ["", "normal", "normal(0)", "beta(1, 1)"],
    "prior_for": [{"nobody": "normal(0, 1)"}, {"x": "gamma(1, 1)"}, {"": "flat"}],
    "sql": ["", "select", "drop table t", "select 1"],
    "scale": ["", "nonsense"], "missing": ["", "nonsense", "empty"],
    "holdout": [0, 1, -0.1, 1.5, 1e-300], "max_levels": [0, -1, 1, 2**40],
    "row_weights": ["", "nobody", "w"], "trials": ["", "nobody", "w"],
    "delimiter": [",", ";"], "decimal": [","], "comment": ["#"], "type": [{"nobody": "text"}, {"x": "word"}],
    "method": ["", "nonsense", "Exact", "nuts"],
    "subsample_size": [0, -5, 13, 10**18], "max_subsample_size": [0, -5, 10**18],
    "delta": [0, 1, 2, -1], "estimator": ["nonsense", "plain"], "weights": ["nonsense", "mlo"],
    "weights_at": ["nonsense", "1,2,3,4", "", "1,x", [1, "a"], ["a"]], "uniform_share": [-1, 2], "replacement": ["maybe", 1],
    "noise_sd": [0, -1, float("inf")], "bound": ["chernoff"], "blocks": [0, 1], "shards": [0, 3], "bandwidth": [0, -1],
    "thinning": ["nonsense"], "order": [1, 4], "audit_every": [0, -1],
    "proposal": ["nonsense", "gamma"], "proposal_scale": [0, -1, 5, float("inf")], "proposal_shape": ["round"],
    "start": ["nonsense", "0"], "chains": [0, -1, 10**6], "warmup": [-1, 10**12], "draws": [0, -1, 10**12],
    "thin": [0, -1, 10**12], "seed": [-1, 2**64], "threads": [-1, 10**5], "resume": [True],
    "out": ["/proc/nowhere/run", "/dev/null", __file__],
    "na": [1, [1], Odd()],
}
FORMULAS = ["", " ", "y", "~", "y ~", "~ x", "y ~ ~ x", "y ~ x ~ w", "y ~ nobody", "nobody ~ x", "y ~ x +", "y ~ x + * w", "y ~ (x",
            "y ~ x)", "y ~ log(", "y ~ log()", "y ~ log(x, 2, 3)", "y ~ nobody(x)", "y ~ log(w)", "w ~ x", "y ~ I(x", "y ~ x^0",
            "y ~ x^x", "y ~ x^(-1)", "y ~ `x", "y ~ 'x'", "y ~ \"x", "y ~ 2x", "y ~ x %% w", "y ~ x | w", "y ~ offset(w)",
            "y ~ bs(x, df = 0)", "y ~ bs(x, df = 10000)", "y ~ poly(x, 0)", "y ~ poly(x, 50)", "y ~ cut(x, 0)", "y ~ relevel(w)",
            'y ~ relevel(w, ref = "z")', "y ~ factor(w, levels = 1)", "y ~ C(x, contr.nobody)", "cbind(y) ~ x", "cbind(y, w) ~ x",
            "y ~ 0", "y ~ -1", "y ~ x + I(2 * x)", "y ~ I(0 * x)", "y ~ I(1 / (0 * x))", "y ~ I(1e308 * 1e10 * x)", "y ~ \0",
            "y ~ x;", "y = x", "y ~ x # comment", "y ~ é", "y ~ x" + "(" * 500, "y ~ " + "+".join(["x"] * 3) + "++-", "\ud800 ~ x",
            "y ~ ifelse(x, 1)", "y ~ pmin()", "y ~ month(x)", "y ~ factor(x) : factor(w) : nobody", "I(w) ~ x", "y ~ x + .nobody"]
BAD_DATA = [5, 1.5, True, b"bytes", object(), Odd(), Hostile(), len, [], {}, (), [1, 2], [None], ["a.csv", 5], np.zeros(3),
            np.zeros((12, 2)), np.array(5), np.array(["a"]), {"y": 1}, {"y": "text"}, {"y": None}, {"y": b"12"}, {"y": DATA["y"]},
            {"y": DATA["y"], "x": 5}, {"y": DATA["y"], "x": "abc"}, {"y": DATA["y"], "x": DATA["x"][:5]},
            {"y": DATA["y"], "x": [object()] * 12}, {"y": DATA["y"], "x": [[1]] * 12}, {"y": DATA["y"], "x": [b"a"] * 12},
            {"y": DATA["y"], "x": [1j] * 12}, {"y": DATA["y"], "x": np.zeros((12, 1))}, {"y": DATA["y"], "x": [None] * 12},
            {"y": DATA["y"], "x": [float("inf")] * 12}, {"y": DATA["y"], "x": [float("nan")] * 12},
            {"y": DATA["y"], "x": [2**60 + 1] * 12}, {"y": DATA["y"], "x": [10**40] * 12}, {"y": DATA["y"], "x": ["\ud800"] * 12},
            {"y": DATA["y"], "x": [1.0] * 12}, {"y": [], "x": []}, {"y": [0] * 12 + [7], "x": list(range(13))},
            {"y": [0.5] * 12, "x": DATA["x"]}, {"y": ["a", "b", "c"] * 4, "x": DATA["x"]}, {"y": ["a"] * 12, "x": DATA["x"]},
            {"y": DATA["y"], "\ud800": DATA["x"]}, {"y": DATA["y"], "x": set(DATA["x"])}, {"y": DATA["y"], "x": {1: 2}},
            {"y": DATA["y"], "x": Odd()}, {"y": DATA["y"], "x": np.zeros(12, "m8[s]")}, {"y": DATA["y"], "x": range(11)},
            {"y": DATA["y"], "x": np.zeros(12, "V3")}, "nowhere.csv", "/", "", "a\0b", ["nowhere-*.csv"], ["", ""],
            "/dev/null", __file__ + ".parquet", np.zeros((2, 6), dtype=[("y", "f8"), ("x", "f8")]),
            np.zeros(12, dtype=[("y", "f8"), ("x", "c16")]), np.zeros(12, dtype=[("y", "f8"), ("x", "f8", 3)])]


def calls():
    """(words, function, arguments, keywords) of every wrong call."""
    fit = lambda *a, **k: mlo.fit(*a, **{**QUICK, **k})  # noqa: E731
    for name, row in _options.OPTIONS.items():
        values = list(THINGS[row["type"]]) if name not in ("na", "weights_at", "replacement") else []
        if name == "out":
            values = [v for v in values if not isinstance(v, str)] + ["a\0b"]
        for value in values + WRONG.get(name, []):
            yield f"fit({name}={value!r:.40})", fit, ("y ~ x", DATA), {name: value}
        for position in {0, len(name) // 2, len(name) - 1}:
            wrong = name[:position] + "q" + name[position:]
            yield f"fit({wrong}=1)", fit, ("y ~ x", DATA), {wrong: 1}
        if row["words"]:
            yield f"fit({name}=nonsense)", fit, ("y ~ x", DATA), {name: "nonsense"}
    for formula in FORMULAS:
        for function in (fit, mlo.describe) if formula.strip() else (fit,):
            swap = function is mlo.describe
            yield f"formula {formula!r:.40}", function, (DATA, formula) if swap else (formula, DATA), {}
    for formula in (None, 5, b"y ~ x", ["y ~ x"], Odd(), Hostile(), DATA, len, 1.5, True):
        yield f"formula {formula!r:.40}", fit, (formula, DATA), {}
    for data in BAD_DATA:
        yield f"data {data!r:.40}", fit, ("y ~ x", data), {}
        yield f"describe {data!r:.40}", mlo.describe, (data, "y ~ x"), {}
        yield f"compare {data!r:.40}", mlo.compare_methods, ("y ~ x", data, ["full"]), {"seconds": 0.01}
    for progress in (1, "yes", [], {}, Odd(), 0.5):
        yield f"progress {progress!r}", fit, ("y ~ x", DATA), {"progress": progress}
    for arguments in ((), ("y ~ x", DATA, 5), ("y ~ x", DATA, "logistic"), (DATA, "y ~ x"), ("data.csv", "y ~ x"), ("y ~ x",)):
        yield f"fit{arguments!r:.40}", fit, arguments, {}

    good = mlo.fit("y ~ x + w", DATA, **QUICK)
    for data in BAD_DATA:
        # Without the response, and constants, these are fine to predict.
        fine = isinstance(data, dict) and set(data) == {"y", "x"} and len(data["x"] if hasattr(data["x"], "__len__") else ()) >= 12
        if not fine:
            yield f"predict {data!r:.40}", good.predict, (data,), {}
    new = {"x": [0.5], "w": ["a"]}
    wrong = {"type": ["", "mean", 1, None, [], b"link"], "interval": [0, 1, -1, 2, "x", None, [], True, float("nan")],
             "missing": ["", "drop", 1, None], "new_levels": ["", "drop", 1, None], "seed": [-1, 2**64, 1.5, "x", True, 3, []],
             "threads": [-1, 10**5, 10**19, 1.5, "x", None, True], "progress": [1, "x", []], "delimiter": [";", 1], "decimal": [","],
             "comment": ["#"], "nonsense": [1], "tpye": ["link"], "na": [5, Odd()]}
    for name, values in wrong.items():
        for value in values:
            yield f"predict({name}={value!r:.40})", good.predict, (new,), {name: value}
    for data in ({"x": [0.5]}, {"w": ["a"]}, {"x": [0.5], "w": ["z"]}, {"x": ["a"], "w": ["a"]}, {"x": [float("inf")], "w": ["a"]},
                 {"x": [1e308], "w": ["a"]}, {"x": [0.5, 1], "w": ["a"]}):
        yield f"predict {data!r}", good.predict, (data,), {"type": "link"}
    for name in ("nobody", "", 5, None, 0, slice(1), ("x",), Odd(), b"x", 1.5):
        yield f"fit[{name!r}]", good.__getitem__, (name,), {}
    for kind in ("", "pie", 5, None, [], Odd(), b"trace"):
        yield f"plot({kind!r})", good.plot, (kind,), {}
    for names in (["nobody"], "nobody", 5, [], [5], [None], Odd()):
        yield f"plot(parameters={names!r})", good.plot, ("trace", names), {}
    for directory in ("", 5, None, [], b"\0", "a\0b", Odd(), "/proc/nowhere", "/dev/null", __file__, 1.5):
        yield f"save({directory!r})", good.save, (directory,), {}
        yield f"load({directory!r})", mlo.load, (directory,), {}
        yield f"resume({directory!r})", mlo.resume, (directory,), {}
    for core in (None, 5, good, Odd(), DATA):
        yield f"Fit({core!r:.20})", mlo.Fit, (core,), {}

    for name, values in {"family": ["", "nonsense", 5, None, [], b"logistic", Odd()],
                         "rows": [0, -1, 1.5, "x", None, True, 10**12, [], 10**30],
                         "coefficients": ["", "1,2", 5, [], ["a"], [None], [float("nan")], [True], {}, [[1]], Odd(), [10**400]],
                         "intercept": ["x", None, [], float("inf"), True], "correlation": ["x", None, 1, -1, 2, float("nan")],
                         "groups": ["", "g", "g:1", "g:x:1", "y:3:1", "g:3:1:x9=1", "g:3:nan", ":3:1", 5, None, [5], [None], {}, Odd()],
                         "seed": [-1, 1.5, "x", None, 2**64, True], "sigma": [1], "freedom": [0, -1, "x", None], "nonsense": [1],
                         "size": [1]}.items():
        for value in values:
            family = {"family": value} if name == "family" else {"family": "student" if name == "freedom" else "logistic", name: value}
            yield f"simulate({name}={value!r:.40})", mlo.simulate, (), {"rows": 5, **family}
    for name, values in {"methods": ["", "nonsense", 5, [], [5], [None], ["full:"], ["full:x"], ["full:draws=5"], ["mlo:nobody=1"],
                                     ["mlo:subsample-size=x"], {}, Odd()],
                         "seconds": [0, -1, "x", None, [], True, float("nan")],
                         "reference_draws": [0, -1, 99, 1.5, "x", None, 10**12, True], "method": ["full"], "out": ["x"],
                         "nonsense": [1], "subsample_size": [5], "draws": [0, "x"]}.items():
        for value in values:
            keywords = {"methods": ["full"], "seconds": 0.01, name: value}
            yield f"compare_methods({name}={value!r:.40})", mlo.compare_methods, ("y ~ x", DATA), keywords
    for name, values in {"draws": [5], "nonsense": [1], "method": ["full"], "holdout": [2, "x"], "family": ["nonsense", 5]}.items():
        for value in values:
            yield f"describe({name}={value!r})", mlo.describe, (DATA, "y ~ x"), {name: value}

    terms = lambda theta, rows: np.zeros(len(rows)) - theta[0] ** 2  # noqa: E731
    model = mlo.Model(terms, 50, 1)
    for name, values in {"log_likelihoods": [None, 5, "x", [], Odd()], "rows": [0, -1, 1.5, "x", None, 2**32, True, 10**30],
                         "dim": [0, -1, 1.5, "x", None, 5000, True], "log_prior": [5, "x", [], Odd()], "gradients": [5, "x", []],
                         "names": [5, "x", [], ["a", "b"], [5], {"a"}, [None]], "start": ["x", 5, [], [1, 2], ["a"], [float("nan")]],
                         "sizes": ["x", 5, [], [0], [-1], [1, 2], [float("inf")]], "nonsense": [1]}.items():
        for value in values:
            keywords = {"log_likelihoods": terms, "rows": 50, "dim": 1, name: value}
            yield f"Model({name}={value!r:.40})", mlo.Model, (), keywords
    for function in (mlo.sample, mlo.kernel):
        for first in (None, 5, "x", terms, good, Odd()):
            yield f"{function.__name__}({first!r:.20})", function, (first,), {}
        for name, values in {"method": ["", "exact", "nonsense", 5, None, []],
                             "weights": [5, [], [1, 2], np.zeros(50), -np.ones(50), ["a"] * 50, "nonsense", "remainder", Odd()],
                             "subsample_size": [0, -1, 51, "x", 1.5], "seed": [-1, "x", 1.5], "threads": [-1, "x"],
                             "out": ["x"], "formula": ["y ~ x"], "nonsense": [1], "blocks": [3], "delta": [0, 2, "x"]}.items():
            for value in values:
                keywords = {"method": "mlo", **({} if function is mlo.kernel else {"draws": 5, "warmup": 5}), name: value}
                yield f"{function.__name__}({name}={value!r:.40})", function, (model,), keywords
    for chain in (-1, 1.5, "x", 10**5, None):
        yield f"kernel(chain={chain!r})", mlo.kernel, (model,), {"chain": chain}
    kernel = mlo.kernel(mlo.Model(lambda t, r: -0.5 * t[0] ** 2 + 0 * r, 50, 1), seed=1)
    for theta in (None, 5, "x", [], [1, 2], ["a"], [float("nan")], np.zeros((1, 1)), Odd()):
        yield f"theta = {theta!r}", lambda t: setattr(kernel, "theta", t), (theta,), {}

    # Pairs of options that are right alone and wrong together, and random noise.
    source = random.Random(1)
    names = [n for n in _options.OPTIONS if n not in ("out", "na")]
    for _ in range(150):
        name = source.choice(names)
        kind = _options.OPTIONS[name]["type"]
        value = source.choice(THINGS[source.choice([k for k in THINGS if k != kind])])
        if _is_right(name, kind, value):
            continue
        yield f"fit({name}={value!r:.40})", fit, ("y ~ x", DATA), {name: value}
    for keywords in ({"method": "full", "subsample_size": 5}, {"method": "exact", "delta": 0.1}, {"method": "uniform", "weights": "mlo"},
                     {"family": "poisson", "trials": "x"}, {"family": "gaussian", "freedom": 3}, {"prior_for": {"sigma": "flat"}},
                     {"method": "mlo", "weights": "mlo", "replacement": False}, {"resume": True, "out": "/nowhere"},
                     {"sql": "select 1 as y, 2 as x"}, {"delimiter": ","}, {"method": "mlo", "weights": "remainder"}):
        yield f"fit({keywords})", fit, ("y ~ x", DATA), keywords


def _is_right(name, kind, value):
    """Whether the value would be taken: numbers for numbers, and the like."""
    if value is None or (kind in ("real", "integer") and isinstance(value, (int, float, np.floating)) and not isinstance(value, bool)):
        return True
    if kind == "flag" and isinstance(value, bool):
        return True
    if kind == "text":
        return isinstance(value, str) or name in ("weights_at", "replacement")
    return kind == "pairs" and isinstance(value, dict) and not value


class WrongCalls(unittest.TestCase):
    def test_a_formulas_caret_is_in_the_message_alone(self):
        with self.assertRaises(mlo.UsageError) as raised:
            mlo.fit("y ~ x^x", DATA)
        error = raised.exception
        self.assertTrue(str(error).endswith(" (position 6)\n  y ~ x^x\n       ^"), str(error))
        self.assertEqual((error.where, error.remedy), ("position 6 of the formula", "write I(x^x) for a power"))
        self.assertNotIn("\n", error.what)
        with self.assertRaises(mlo.UsageError) as raised:
            mlo.fit("y ~ x; w", DATA)
        self.assertEqual((raised.exception.where, raised.exception.remedy), ("position 6 of the formula", ""))
        with self.assertRaises(mlo.UsageError) as raised:
            mlo.fit('y ~ x', {"y": [0, 1], "a; b": [1, 2]})
        self.assertTrue(raised.exception.remedy.startswith("its columns are"), raised.exception.remedy)

    def test_words_of_other_programs_are_translated(self):
        for keyword, remedy in (("iter", "draws is the number of draws per chain"), ("cores", "threads is the number of threads"),
                                ("tune", "warmup is the number of steps before the first draw"),
                                ("offset", "write it in the formula, as in y ~ x + offset(log(years))"),
                                ("famly", "did you mean family?"), ("color", "help(mlo.fit) lists all")):
            with self.subTest(keyword=keyword), self.assertRaises(mlo.UsageError) as raised:
                mlo.fit("y ~ x", DATA, **{keyword: 4})
            self.assertEqual((raised.exception.what, raised.exception.remedy), (f'fit() has no argument "{keyword}"', remedy))
        with self.assertRaisesRegex(mlo.UsageError, r"row_weights must be the name of a column \(got \[1, 2\]\); put the values"):
            mlo.fit("y ~ x", DATA, row_weights=[1, 2])

    def test_raise_errors_of_mlo_and_end_nothing(self):
        count, wrong, other = 0, [], 0
        with tempfile.TemporaryDirectory():
            for words, function, arguments, keywords in calls():
                count += 1
                try:
                    function(*arguments, **keywords)
                    wrong.append(f"{words}: no error")
                except mlo.Error as error:
                    if not str(error) or not error.what:
                        wrong.append(f"{words}: poor words: {error}")
                    if "\n" in error.remedy or "(position" in error.remedy:
                        wrong.append(f"{words}: a remedy is advice alone: {error.remedy!r}")
                    if " --" in str(error):
                        wrong.append(f"{words}: words of the command line: {error}")
                except TypeError:
                    other += 1
                except Exception as error:  # anything else is a mistake of ours
                    wrong.append(f"{words}: {type(error).__name__}: {error}")
        self.assertFalse(wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong[:80]))
        self.assertGreater(count, 1000)
        self.assertLess(other, 40)  # Python's own: calls that no signature allows
        # And the process still works.
        self.assertEqual(mlo.fit("y ~ x", DATA, **QUICK).draws.shape, (1, 5, 2))
        print(f"{count} wrong calls, {other} of them refused by Python itself")


if __name__ == "__main__":
    unittest.main()
