# Copyright (c) the mlo authors. BSD-3-Clause.
"""Models with group effects, from outside: fits of simulated data, what a run keeps, predictions against a computation of
their own from the files of the run, resumption, and wrong calls."""
import array
import ast
import csv
import io
import json
import math
import os
import re
import statistics
import struct
import unittest

from support import CommandTest, uniform

SHORT = ("--chains", "2", "--warmup", "200", "--draws", "250", "--seed", "5")
MODEL = "y ~ x1 + x2 + (1 | g) + (x1 | h)"


def read_npy(path):
    """Rows of floats of a NumPy file, version 1.0."""
    with open(path, "rb") as file:
        contents = file.read()
    assert contents[:8] == b"\x93NUMPY\x01\x00", contents[:8]
    length, = struct.unpack_from("<H", contents, 8)
    header = ast.literal_eval(contents[10:10 + length].decode())
    assert header["descr"] == "<f4" and not header["fortran_order"], header
    assert (10 + length) % 64 == 0
    rows, columns = header["shape"]
    numbers = array.array("f", contents[10 + length:])
    assert len(numbers) == rows * columns
    return [numbers[k * columns:(k + 1) * columns].tolist() for k in range(rows)]


def quantile(values, p):
    """R's type 7."""
    values = sorted(values)
    position = (len(values) - 1) * p
    low = min(int(position), len(values) - 2)
    return values[low] + (position - low) * (values[low + 1] - values[low])


class GroupsTest(CommandTest):
    def simulate(self, name, family, rows, *groups, seed=3, more=()):
        arguments = [word for group in groups for word in ("--group", group)]
        self.good("simulate", family, "--rows", str(rows), "--coefficients", "1,0.5", "--intercept", "-0.5", *arguments,
                  "--seed", str(seed), *more, "--out", name)

    def rows_of(self, text):
        return list(csv.DictReader(io.StringIO(text)))

    def groups(self, run):
        return self.rows_of(self.read(run, "groups.csv").decode())

    def effects(self, run, chains=2):
        """The draws of all chains, each a list in the order of groups.csv."""
        return [row for k in range(chains) for row in read_npy(self.path(run, f"effects-{k + 1}.npy"))]

    def main_draws(self, run, chains=2):
        header = self.draws(run, 1).header[self.draws(run, 1).first_parameter():]
        return [dict(zip(header, row)) for k in range(chains) for row in self.draws(run, k + 1).values()]

    def refused(self, code, words, *args):
        result = self.mlo(*args)
        self.assertEqual(result.code, code, result.stderr)
        self.assertIn(words, result.stderr)


class Fits(GroupsTest):
    def test_the_true_sds_are_where_the_posterior_says(self):
        # An error beyond five posterior sds has a probability below 1e-6 for each of these figures.
        cases = {"logistic": 6000, "poisson": 4000, "gaussian": 3000, "gamma": 1500}
        for family, rows in cases.items():
            with self.subTest(family=family):
                data, run = f"{family}.csv", f"{family}-run"
                self.simulate(data, family, rows, "g:60:0.5", "h:40:0.7:x1=0.4,cor=0.3")
                self.good("fit", data, MODEL, "--family", family, *SHORT, "--out", run)
                found = json.loads(self.good("summary", run, "--json").stdout)["parameters"]
                truth = {"(Intercept)": -0.5, "x1": 1, "x2": 0.5, "sd_g__Intercept": 0.5, "sd_h__Intercept": 0.7,
                         "sd_h__x1": 0.4, "cor_h__Intercept__x1": 0.3}
                for name, value in truth.items():
                    figures = found[name]
                    self.assertLess(abs(figures["mean"] - value) / figures["sd"], 5, name)

    def test_a_run_keeps_the_effects_of_all_levels(self):
        self.simulate("data.csv", "logistic", 2000, "g:30:0.5", "h:12:0.7:x1=0.4,cor=0.3")
        self.good("fit", "data.csv", MODEL, *SHORT, "--out", "run")
        groups, effects = self.groups("run"), self.effects("run")
        self.assertEqual(list(groups[0]), ["group", "level", "effect", "mean", "sd", "q5", "q95", "rhat"])
        self.assertEqual([(row["group"], row["level"], row["effect"]) for row in groups],
                         [("g", str(k), "Intercept") for k in range(1, 31)] +
                         [("h", str(k), effect) for k in range(1, 13) for effect in ("Intercept", "x1")])
        self.assertEqual((len(effects), len(effects[0])), (500, 54))
        for at, row in enumerate(groups):
            values = [draw[at] for draw in effects]
            # Means and sds are sums over the steps in double precision, the draws are floats.
            self.assertAlmostEqual(float(row["mean"]), statistics.fmean(values), delta=1e-6)
            self.assertAlmostEqual(float(row["sd"]), statistics.stdev(values), delta=1e-6)
            for name, p in (("q5", 0.05), ("q95", 0.95)):
                self.assertAlmostEqual(float(row[name]), quantile(values, p), delta=1e-12)
            self.assertLess(float(row["rhat"]), 1.1)
        for name in ("sd_g__Intercept", "sd_h__Intercept", "sd_h__x1"):
            self.assertGreater(min(draw[name] for draw in self.main_draws("run")), 0)

    def test_the_summary_shows_the_effects_largest_first(self):
        self.simulate("data.csv", "logistic", 2000, "g:30:0.5", "h:12:0.7")
        self.good("fit", "data.csv", "y ~ x1 + (1 | g) + (1 | h)", *SHORT, "--out", "run")
        groups = self.groups("run")
        every = self.good("summary", "run", "--groups", "g", "--csv").stdout
        self.assertEqual(self.rows_of(every), [row for row in groups if row["group"] == "g"])
        both = self.good("summary", "run", "--groups", "--csv").stdout
        self.assertEqual(both.encode(), self.read("run", "groups.csv"))
        text = self.good("summary", "run", "--groups", "g").stdout
        self.assertIn("g, Intercept: 30 levels, largest first", text)
        self.assertIn("... 10 more", text)
        self.assertNotIn("h, Intercept", text)
        wanted = [row["level"] for row in sorted((r for r in groups if r["group"] == "g"), key=lambda r: -float(r["mean"]))]
        shown = re.findall(r"^(\d+) ", text, re.MULTILINE)
        self.assertEqual(shown, wanted[:10] + wanted[-10:])
        self.assertEqual(re.findall(r"^(\d+) ", self.good("summary", "run", "--groups", "g", "--all").stdout, re.MULTILINE),
                         wanted)

    def test_draws_do_not_depend_on_the_threads(self):
        self.simulate("data.csv", "poisson", 2000, "g:300:0.5", "h:12:0.7")
        for threads in ("1", "2"):
            self.good("fit", "data.csv", "y ~ x1 + (1 | g) + (1 | h)", "--family", "poisson", *SHORT, "--threads", threads,
                      "--out", threads)
        self.assertEqual(self.draws_bytes("1", 2), self.draws_bytes("2", 2))
        for name in ("groups.csv", "effects-1.npy", "effects-2.npy"):
            self.assertEqual(self.read("1", name), self.read("2", name), name)

    def test_an_audit_compares_with_chains_on_all_rows_and_changes_no_draw(self):
        self.simulate("data.csv", "poisson", 2000, "g:40:0.5", "h:12:0.7")
        self.simulate("positive.csv", "gamma", 2000, "g:40:0.5", "h:12:0.7")
        for number, formula in enumerate(("y ~ x1 + (1 | g) + (1 | h)", "y ~ x1 + (1 + x1 | g)")):
            for family, data in (("poisson", "data.csv"), ("gaussian", "data.csv"), ("gamma", "positive.csv")):
                with self.subTest(formula=formula, family=family):
                    plain, run = f"{family}-{number}", f"{family}-{number}-audited"
                    fit = ("fit", data, formula, "--family", family, "--method", "exact", *SHORT)
                    self.good(*fit, "--out", plain)
                    self.good(*fit, "--audit", "--audit-every", "3", "--out", run)
                    self.assertEqual(self.draws_bytes(run, 2), self.draws_bytes(plain, 2))
                    self.assertEqual(self.read(run, "effects-2.npy"), self.read(plain, "effects-2.npy"))
                    summary = self.run_json(run)["summary"]
                    audit = summary["audit"]
                    # 250 sweeps of each of two chains, a third of them audited.
                    self.assertGreater(audit["steps"], 110)
                    self.assertLess(audit["steps"], 230)
                    self.assertLess(audit["worst_error"], 1e-3)
                    self.assertEqual(audit["full_draws"], 1600)
                    self.assertEqual(list(audit["parameters"]), list(summary["parameters"]))
                    self.assertTrue(audit["agrees"], audit["warning"])
        text = self.good("fit", "data.csv", "y ~ x1 + (1 + x1 | g) + (1 | h)", "--family", "poisson", *SHORT, "--audit").stdout
        self.assertIn("audit: every step reads all rows, so there is nothing to compare", text)

    def test_save_groups_says_what_is_kept(self):
        self.simulate("data.csv", "logistic", 1000, "g:20:0.5")
        for mode, files in (("yes", ["effects-1.npy", "effects-2.npy", "groups.csv"]), ("summary", ["groups.csv"]), ("no", [])):
            self.good("fit", "data.csv", "y ~ x1 + (1 | g)", *SHORT, "--save-groups", mode, "--out", mode)
            kept = [name for name in self.files(mode) if name.startswith(("effects", "groups"))]
            self.assertEqual(kept, files)
        self.assertEqual(self.draws_bytes("yes", 2), self.draws_bytes("no", 2))
        yes, summary = self.groups("yes"), self.groups("summary")
        for one, other in zip(yes, summary):
            for name in ("group", "level", "effect", "mean", "sd", "rhat"):
                self.assertEqual(one[name], other[name])
            self.assertLess(abs(float(one["q5"]) - float(other["q5"])), 0.5 * float(one["sd"]))

    def test_other_outputs_of_a_run(self):
        self.simulate("data.csv", "logistic", 1000, "g:20:0.5")
        result = self.good("fit", "data.csv", "y ~ x1 + (1 | g)", *SHORT, "--json", "--report", "--out", "run")
        self.assertIn("sd_g__Intercept", json.loads(result.stdout)["parameters"])
        page = self.read("run", "report.html").decode()
        self.assertIn("Group effects, levels ordered by effect", page)
        self.assertIn("Beside these parameters there are 20 group effects (of g)", page)
        self.good("report", "run", "--out", "again.html")
        self.assertIn("Effects of g on Intercept", self.read("again.html").decode())
        for kind in ("forest", "density", "trace", "rank", "pairs"):
            self.good("plot", "run", "--kind", kind, "--out", f"{kind}.svg")
            self.assertIn("sd_g__Intercept", self.read(f"{kind}.svg").decode())

    def test_describe_counts_the_parameters_of_the_fit(self):
        self.simulate("data.csv", "gaussian", 500, "g:20:0.5", "h:12:0.7:x1=0.4,cor=0.3")
        for formula in ("y ~ x1 + (1 | g)", MODEL, "y ~ x1 + (1 | g) + (x1 + x2 | h)", "y ~ x1 + (x1 + x2 || h)", "y ~ 1 + (0 + x1 | g)"):
            with self.subTest(formula=formula):
                model = ("data.csv", formula, "--family", "gaussian")
                found = json.loads(self.good("fit", *model, *SHORT, "--json").stdout)["parameters"]
                described = json.loads(self.good("describe", *model, "--json").stdout)["design"]
                self.assertEqual(described["parameters"], len(found))
                self.assertIn("level by level", described["method"])
                self.assertIn(f"{len(found)} parameters", self.good("fit", *model, "--dry-run").stdout)

    def test_a_report_has_a_predictive_check_or_says_why_not(self):
        self.simulate("data.csv", "poisson", 1000, "g:20:0.5")
        for kept, words in (("yes", "simulated from the posterior for the same rows"),
                            ("summary", "these were not kept (--save-groups summary). --save-groups yes keeps them."),
                            ("no", "these were not kept (--save-groups no). --save-groups yes keeps them.")):
            self.good("fit", "data.csv", "y ~ x1 + (1 | g)", "--family", "poisson", *SHORT, "--save-groups", kept, "--report",
                      "--out", kept)
            self.assertIn(words, self.read(kept, "report.html").decode())
            self.good("report", kept, "--out", "again.html")
            self.assertIn(words, self.read("again.html").decode())
        check = self.run_json("yes")["facts"]["predictive_check"]
        self.assertEqual((check["rows"], check["draws"], check["binary"]), (1000, 100, False))
        # Of y, as the file has it.
        y = [float(row["y"]) for row in self.rows_of(self.read("data.csv").decode())]
        statistic = check["statistics"]
        self.assertAlmostEqual(statistic["mean"]["observed"], statistics.fmean(y), delta=1e-9)
        self.assertEqual(statistic["largest"]["observed"], max(y))

    def test_a_model_without_coefficients_is_fitted_shown_and_predicted(self):
        self.simulate("data.csv", "poisson", 600, "g:15:0.8")
        self.good("fit", "data.csv", "y ~ 0 + (1 | g)", "--family", "poisson", *SHORT,
                  "--report", "--out", "run")
        self.assertEqual(list(json.loads(self.good("summary", "run", "--json").stdout)["parameters"]), ["sd_g__Intercept"])
        self.assertEqual(len(self.groups("run")), 15)
        self.assertIn("Group effects, levels ordered by effect", self.read("run", "report.html").decode())
        self.write("new.csv", "g\n3\n99\n")
        rows = self.rows_of(self.good("predict", "run", "new.csv").stdout)
        means = [math.exp(draw[2]) for draw in self.effects("run")]
        self.assertAlmostEqual(float(rows[0]["mean"]), statistics.fmean(means), delta=1e-12 * max(means))
        # A new level without coefficients and effects has the predictor 0.
        rows = self.rows_of(self.good("predict", "run", "new.csv", "--new-levels", "population").stdout)
        self.assertEqual((float(rows[1]["mean"]), float(rows[1]["sd"])), (1, 0))
        described = json.loads(self.good("describe", "data.csv", "y ~ 0 + (1 | g)", "--family", "poisson", "--json").stdout)
        self.assertEqual((described["design"]["parameters"], described["design"]["columns"]), (1, []))
        self.good("fit", "data.csv", "y ~ 0 + (1 | g)", "--family", "poisson", *SHORT, "--holdout", "0.2")
        for kind in ("forest", "density", "trace", "rank"):
            self.good("plot", "run", "--kind", kind, "--out", f"{kind}.svg")

    def test_nested_and_uncorrelated_groups(self):
        lines = ["y,x,a,b"]
        for k in range(600):
            a, b = k % 4, k % 12
            lines.append(f"{math.sin(k) + 0.3 * (a - 2) + 0.2 * math.cos(7 * b):.5f},{math.sin(3 * k):.5f},a{a},b{b}")
        self.write("data.csv", "\n".join(lines) + "\n")
        self.good("fit", "data.csv", "y ~ x + (1 | a/b) + (0 + x || a)", "--family", "gaussian", *SHORT, "--out", "run")
        names = {(row["group"], row["effect"]) for row in self.groups("run")}
        self.assertEqual(names, {("a", "Intercept"), ("a:b", "Intercept"), ("a", "x")})
        self.write("new.csv", "x,a,b\n0.5,a1,b1\n0.5,a1,b0\n")
        rows = self.rows_of(self.good("predict", "run", "new.csv").stdout)
        self.assertGreater(float(rows[1]["sd"]), float(rows[0]["sd"]))  # a1:b0 is new


class Interruption(GroupsTest):
    def test_a_run_that_was_interrupted_resumes_to_the_same_draws(self):
        self.simulate("data.csv", "logistic", 3000, "g:200:0.5", "h:20:0.5")

        def fit(out, times):
            return ("fit", "data.csv", "y ~ x1 + (1 | g) + (1 | h)", "--chains", "2", "--seed", "4", "--warmup", "100", "--draws",
                    "200", "--thin", str(20 * times), "--out", out)

        times, interrupted = self.interrupted_in_time(lambda times: fit("run", times), "sampling [")
        self.assertIn(" sweeps/s", interrupted.stderr)
        self.good(*fit("reference", times))
        if self.run_json("run")["status"] == "interrupted" and "groups.csv" in self.files("run"):
            self.good("summary", "run", "--groups")
        self.good("fit", "--resume", "--out", "run", "--threads", "1")
        self.assertEqual(self.files("run"), self.files("reference"))
        self.assertEqual(self.draws_bytes("run", 2), self.draws_bytes("reference", 2))
        for name in ("groups.csv", "effects-1.npy", "effects-2.npy", "summary.csv"):
            self.assertEqual(self.read("run", name), self.read("reference", name), name)


class Predictions(GroupsTest):
    new = "x1,x2,g,h\n0.5,-1,1,1\n-0.25,2,17,3\n0,0,30,12\n1.5,0.125,17,12\n"

    def fit(self, *options, family="logistic"):
        self.simulate("data.csv", family, 2000, "g:30:0.5", "h:12:0.7:x1=0.4,cor=0.3")
        self.good("fit", "data.csv", MODEL, "--family", family, *SHORT, *options, "--out", "run")
        self.write("new.csv", self.new)

    def fixed(self, row):
        return [draw["b_Intercept"] + draw["b_x1"] * row["x1"] + draw["b_x2"] * row["x2"] for draw in self.main]

    def expect(self, found, values):
        size = max(abs(value) for value in values)
        for name, value in (("mean", statistics.fmean(values)), ("sd", statistics.stdev(values)),
                            ("q5", quantile(values, 0.05)), ("q95", quantile(values, 0.95))):
            self.assertAlmostEqual(float(found[name]), value, delta=1e-12 * size, msg=name)

    def new_rows(self, text):
        return [{name: float(cell) for name, cell in row.items()} for row in self.rows_of(text)]

    def test_known_levels_have_their_effects(self):
        for family, inverse in (("logistic", lambda eta: 1 / (1 + math.exp(-eta))), ("poisson", math.exp),
                                ("gaussian", lambda eta: eta)):
            with self.subTest(family=family):
                self.fit(family=family)
                self.main, effects = self.main_draws("run"), self.effects("run")
                at = {(row["group"], row["level"], row["effect"]): k for k, row in enumerate(self.groups("run"))}
                link = self.rows_of(self.good("predict", "run", "new.csv", "--type", "link").stdout)
                mean = self.rows_of(self.good("predict", "run", "new.csv").stdout)
                for number, row in enumerate(self.new_rows(self.new)):
                    g, h = f"{row['g']:.0f}", f"{row['h']:.0f}"
                    eta = [fixed + b[at["g", g, "Intercept"]] + b[at["h", h, "Intercept"]] + row["x1"] * b[at["h", h, "x1"]]
                           for fixed, b in zip(self.fixed(row), effects)]
                    self.expect(link[number], eta)
                    self.expect(mean[number], [inverse(value) for value in eta])
                # The threads and the other rows do not matter.
                again = self.good("predict", "run", "new.csv", "--threads", "2").stdout
                self.assertEqual(self.rows_of(again), mean)
                for name in self.files("run"):
                    os.remove(self.path("run", name))
                os.rmdir(self.path("run"))

    def test_new_levels_are_drawn_from_the_law_of_their_group(self):
        self.fit()
        self.main = self.main_draws("run")
        levels = 400
        lines = ["x1,x2,g,h"] + [f"0.5,-1,{1000 + k},{5000 + k}" for k in range(levels)] + ["0.5,-1,1000,5000"]
        self.write("fresh.csv", "\n".join(lines) + "\n")
        result = self.good("predict", "run", "fresh.csv", "--type", "link")
        self.assertIn("401 of 401 rows have a group that the data of the fit did not have: its effects are drawn from the law "
                      "of all groups (--new-levels sample)", result.stderr)
        found = self.rows_of(result.stdout)
        # The same level has the same effects, others have others.
        self.assertEqual({k: v for k, v in found[-1].items() if k != "row"}, {k: v for k, v in found[0].items() if k != "row"})
        self.assertEqual(len({row["mean"] for row in found}), levels)
        eta = self.fixed({"x1": 0.5, "x2": -1})
        variances = [d["sd_g__Intercept"] ** 2 + d["sd_h__Intercept"] ** 2 + 0.25 * d["sd_h__x1"] ** 2 +
                     d["cor_h__Intercept__x1"] * d["sd_h__Intercept"] * d["sd_h__x1"] for d in self.main]
        # Over 400 levels and 500 draws: the mean, and the mean square about the fixed part.
        n = levels * len(eta)
        mean = statistics.fmean(float(row["mean"]) for row in found[:levels])
        self.assertLess(abs(mean - statistics.fmean(eta)), 5 * math.sqrt(statistics.fmean(variances) / n))
        spread = statistics.fmean(float(row["sd"]) ** 2 for row in found[:levels])
        expected = statistics.variance(eta) + statistics.fmean(variances)
        error = math.sqrt(2 * statistics.fmean(v * v for v in variances) / n
                          + 4 * statistics.variance(eta) * statistics.fmean(variances) / n)
        self.assertLess(abs(spread - expected), 5 * error)
        # By the seed, and not by the rows around it or the threads.
        self.write("one.csv", "x1,x2,g,h\n0.5,-1,1007,5007\n")
        alone = self.rows_of(self.good("predict", "run", "one.csv", "--type", "link", "--threads", "1").stdout)[0]
        self.assertEqual(alone["mean"], found[7]["mean"])
        other = self.rows_of(self.good("predict", "run", "one.csv", "--type", "link", "--seed", "99").stdout)[0]
        self.assertNotEqual(other["mean"], alone["mean"])

    def test_effects_of_a_new_level_are_the_same_for_all_its_rows(self):
        # Of one level, eta is linear in x1: the second difference is 0 but for rounding. Of slopes drawn anew it would not be.
        self.fit()
        self.write("line.csv", "x1,x2,g,h\n" + "".join(f"{x},0,500,700\n" for x in (0, 1, 2)))
        first, second, third = (float(row["mean"]) for row in self.rows_of(
            self.good("predict", "run", "line.csv", "--type", "link").stdout))
        self.assertAlmostEqual(first - 2 * second + third, 0, delta=1e-12)

    def test_population_leaves_effects_of_new_levels_out(self):
        self.fit()
        self.main = self.main_draws("run")
        self.write("fresh.csv", "x1,x2,g,h\n0.5,-1,1000,5000\n")
        result = self.good("predict", "run", "fresh.csv", "--type", "link", "--new-levels", "population")
        self.expect(self.rows_of(result.stdout)[0], self.fixed({"x1": 0.5, "x2": -1}))
        self.assertIn("its effects are left out (--new-levels population)", result.stderr)

    def test_new_levels_can_be_missing_or_a_mistake(self):
        self.fit()
        self.write("fresh.csv", "x1,x2,g,h\n0.5,-1,1,5\n0.5,-1,1000,5\n0.5,-1,,5\n")
        missing = self.rows_of(self.good("predict", "run", "fresh.csv", "--new-levels", "missing").stdout)
        self.assertEqual([row["mean"] != "" for row in missing], [True, False, False])
        sampled = self.rows_of(self.good("predict", "run", "fresh.csv").stdout)
        self.assertEqual([row["mean"] != "" for row in sampled], [True, True, False])
        self.refused(3, "fresh.csv:3: the data of the fit did not have this group (g = 1000)",
                     "predict", "run", "fresh.csv", "--new-levels", "error")
        self.refused(2, "--new-levels must be one of sample, population, error, missing (got \"drop\")",
                     "predict", "run", "fresh.csv", "--new-levels", "drop")
        self.refused(2, "--seed has no meaning with --type response and --new-levels missing: nothing is simulated",
                     "predict", "run", "fresh.csv", "--new-levels", "missing", "--seed", "1")

    def test_without_draws_known_levels_cannot_be_predicted(self):
        self.fit("--save-groups", "summary")
        self.main = self.main_draws("run")
        self.refused(2, "new.csv:2: the draws of this row's group effects were not kept, so it cannot be predicted; fit again "
                        "with --save-groups yes, or leave the effects out with --new-levels population",
                     "predict", "run", "new.csv")
        result = self.good("predict", "run", "new.csv", "--type", "link", "--new-levels", "population")
        self.assertIn("4 of 4 rows have groups of the fit, but their effects were not kept and are left out", result.stderr)
        for found, row in zip(self.rows_of(result.stdout), self.new_rows(self.new)):
            self.expect(found, self.fixed(row))
        self.write("fresh.csv", "x1,x2,g,h\n0.5,-1,1000,5000\n")
        self.good("predict", "run", "fresh.csv")

    def test_held_out_rows_are_scored_with_their_effects(self):
        self.simulate("data.csv", "logistic", 4000, "g:40:1.5")
        scores = {}
        for formula in ("y ~ x1 + x2", "y ~ x1 + x2 + (1 | g)"):
            result = self.good("fit", "data.csv", formula, *SHORT, "--holdout", "0.25", "--json")
            scores[formula] = json.loads(result.stdout)["holdout"]
        # Effects with an sd of 1.5 are worth far more than the error of the scores.
        plain, groups = scores.values()
        self.assertGreater(groups["log_score"], plain["log_score"] + 5 * plain["log_score_error"])
        self.assertGreater(groups["auc"], plain["auc"])
        self.refused(2, "--holdout needs the draws of group effects, which --save-groups summary does not keep; use "
                        "--save-groups yes",
                     "fit", "data.csv", formula, *SHORT, "--holdout", "0.25", "--save-groups", "summary")

    def test_a_score_is_that_of_the_draws(self):
        self.simulate("data.csv", "logistic", 600, "g:10:1")
        self.good("fit", "data.csv", "y ~ x1 + x2 + (1 | g)", *SHORT, "--holdout", "0.2", "--out", "run")
        scores = self.run_json("run")["summary"]["holdout"]
        main, effects = self.main_draws("run"), self.effects("run")
        at = {row["level"]: k for k, row in enumerate(self.groups("run"))}
        logs = []
        for number, row in enumerate(self.rows_of(self.read("data.csv").decode())):
            if uniform(5, 21, number) >= 0.2:
                continue
            sign = 1 if float(row["y"]) == 1 else -1
            densities = [1 / (1 + math.exp(-sign * (d["b_Intercept"] + d["b_x1"] * float(row["x1"]) + d["b_x2"] * float(row["x2"]) +
                                                    b[at[row["g"]]]))) for d, b in zip(main, effects)]
            logs.append(math.log(statistics.fmean(densities)))
        self.assertEqual(scores["rows"], len(logs))
        self.assertAlmostEqual(scores["log_score"], statistics.fmean(logs), delta=1e-12)

    def test_groups_of_held_out_rows_alone_are_scored_with_effects_of_the_law(self):
        self.simulate("data.csv", "gaussian", 600, "g:200:1")
        result = self.good("fit", "data.csv", "y ~ x1 + x2 + (1 | g)", "--family", "gaussian", *SHORT, "--holdout", "0.5")
        self.assertRegex(result.stdout, r"\d+ of them have a group that no other row has: its effects are drawn")


class Mistakes(GroupsTest):
    def setUp(self):
        super().setUp()
        self.simulate("data.csv", "logistic", 500, "g:10:0.5")

    def test_each_is_named(self):
        fit = ("fit", "data.csv", "y ~ x1 + (1 | g)", *SHORT)
        self.refused(2, "--method mlo is not for models with group effects; use --method auto, --method exact or --method full",
                     *fit, "--method", "mlo")
        plain = ("fit", "data.csv", "y ~ x1", *SHORT)
        for option, value in (("prior-sd", "normal(0, 1)"), ("prior-cor", "lkj(2)"), ("save-groups", "yes")):
            self.refused(2, f"--{option} is for group effects, and the formula has none, such as (1 | group)",
                         *plain, f"--{option}", value)
        self.refused(2, "--prior-cor must be lkj(SHAPE) with a positive SHAPE", *fit, "--prior-cor", "lkj(-1)")
        self.refused(2, "with a flat prior of a standard deviation the posterior need not exist", *fit, "--prior-sd", "flat")
        self.refused(2, "--save-groups must be one of", *fit, "--save-groups", "maybe")
        self.refused(2, "--family gaussian-precision has no group effects", *fit, "--family", "gaussian-precision")

    def test_exact_takes_an_estimated_second_parameter_with_one_grouping(self):
        self.simulate("positive.csv", "gamma", 1000, "g:20:0.5")
        self.simulate("counts.csv", "negative-binomial", 1000, "g:20:0.5", "h:10:0.5")
        fit = ("y ~ x1 + (1 | g)", *SHORT, "--method", "exact", "--family")
        self.good("fit", "positive.csv", *fit, "gamma")
        self.good("fit", "counts.csv", *fit, "negative-binomial")
        self.good("fit", "data.csv", *fit, "student")
        self.good("fit", "data.csv", *fit, "student", "--known-sigma", "1")
        refused = "--method exact has no bounds for group effects with "
        several = ("fit", "counts.csv", "y ~ x1 + (1 | g) + (1 | h)", *fit[1:])
        self.refused(2, refused + "several groupings and an estimated size", *several, "negative-binomial")
        self.refused(2, refused + "several groupings and an estimated sigma", *several, "student")
        self.refused(2, refused + "several groupings and --family student", *several, "student", "--known-sigma", "1")

    def test_priors_that_the_model_does_not_have(self):
        fit = ("fit", "data.csv", "y ~ x1 + (x1 | g)", *SHORT)
        self.refused(2, "--prior-for sd_h__Intercept: there is no such parameter; did you mean sd_g__Intercept?", *fit,
                     "--prior-for", "sd_h__Intercept", "normal(0, 1)")
        self.refused(2, "--prior-for cor_g__Intercept__x1: there is no such parameter; correlations have one prior, --prior-cor", *fit, "--prior-for", "cor_g__Intercept__x1",
                     "normal(0, 1)")
        for formula in ("y ~ x1 + (1 | g)", "y ~ x1 + (x1 || g)"):
            self.refused(2, "--prior-cor is for the correlations of a group's effects, and the formula has none, such as (1 + x | group)",
                         "fit", "data.csv", formula, *SHORT, "--prior-cor", "lkj(2)")
        # Where the only other parameter is sigma, it is not meant.
        for family in ("gaussian", "logistic"):
            self.refused(2, "--prior is for the coefficients of columns, and the formula has none",
                         "fit", "data.csv", "y ~ 0 + (1 | g)", "--family", family, *SHORT, "--prior", "normal(0, 1)")
            self.refused(2, "--prior-intercept: the formula has no intercept",
                         "fit", "data.csv", "y ~ 0 + (1 | g)", "--family", family, *SHORT, "--prior-intercept", "normal(0, 1)")

    def test_options_of_other_methods_are_refused(self):
        for option, value in (("proposal", "random-walk"), ("proposal-scale", "0.5"), ("order", "2"), ("thinning", "factorised")):
            method = ("--method", "exact") if option in ("order", "thinning") else ()
            self.refused(2, f"--{option} has no meaning for models with group effects; leave it out",
                         "fit", "data.csv", "y ~ x1 + (1 | g)", *SHORT, *method, f"--{option}", value)

    def test_groups_that_say_little_are_named(self):
        self.write("few.csv", "y,x,one,row\n" + "".join(f"{k * 7 % 5},{k % 4},all,{k}\n" for k in range(30)))
        result = self.good("fit", "few.csv", "y ~ x + (1 | one)", "--family", "gaussian", *SHORT)
        text = " ".join(result.stdout.split())
        self.assertIn("one: 1 level with effects of its own (Intercept); one level does not say how much levels differ", text)
        text = " ".join(self.good("fit", "few.csv", "y ~ x + (1 | row)", "--family", "gaussian", *SHORT).stdout.split())
        self.assertIn("every row has a level of its own, so the effects cannot be told from the noise, sigma", text)
        for family in ("gaussian-mean", "poisson"):
            text = self.good("fit", "few.csv", "y ~ x + (1 | row)", "--family", family, *SHORT).stdout
            self.assertNotIn("every row has", text)

    def test_warnings_name_no_proposal(self):
        result = self.good("fit", "data.csv", "y ~ x1 + (1 | g)", "--chains", "2", "--warmup", "20", "--draws", "20", "--seed", "1")
        text = " ".join(result.stdout.split())
        self.assertIn("take more --draws, or --thin.", text)
        self.assertNotIn("--proposal", text)

    def test_a_run_that_has_only_begun_has_no_effects_yet(self):
        self.good("fit", "data.csv", "y ~ x1 + (1 | g)", *SHORT, "--out", "run")
        run = self.run_json("run")
        run["summary"] = None
        self.write("run/run.json", json.dumps(run))
        self.refused(3, "this run is not finished", "summary", "run", "--groups")

    def test_summary_names_the_groupings_that_there_are(self):
        self.good("fit", "data.csv", "y ~ x1 + (1 | g)", *SHORT, "--out", "run")
        self.refused(2, 'there is no grouping "nothere"; there are g', "summary", "run", "--groups", "nothere")
        self.good("fit", "data.csv", "y ~ x1", *SHORT, "--out", "plain")
        self.refused(2, "this run has no group effects, or they were not kept", "summary", "plain", "--groups")

    def test_damaged_files_are_named(self):
        self.good("fit", "data.csv", "y ~ x1 + (1 | g)", *SHORT, "--out", "run")
        effects = self.read("run", "effects-1.npy")
        self.write("run/effects-1.npy", effects[:-4])
        self.refused(3, "run/effects-1.npy: damaged: not 250 draws of 10 effects", "predict", "run", "data.csv")
        self.write("run/effects-1.npy", effects)
        self.write("run/groups.csv", "group,level\n")
        self.refused(3, "run/groups.csv: damaged: not the effects of groups that mlo wrote", "summary", "run", "--groups")


if __name__ == "__main__":
    unittest.main(verbosity=2)
