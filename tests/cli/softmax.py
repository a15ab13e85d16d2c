# Copyright (c) the mlo authors. BSD-3-Clause.
"""Softmax regression from outside: names, predictions and scores against computations of their own, what is refused."""
import csv
import io
import math
import random
import statistics
import unittest

from support import CommandTest

SHORT = ("--chains", "2", "--warmup", "200", "--draws", "150", "--seed", "5")


def quantile(values, p):
    """R's type 7."""
    values = sorted(values)
    position = (len(values) - 1) * p
    low = min(int(position), len(values) - 2)
    return values[low] + (position - low) * (values[low + 1] - values[low])


class SoftmaxTest(CommandTest):
    def setUp(self):
        super().setUp()
        source = random.Random(3)
        lines = ["colour,code,x1,x2,w"]
        for i in range(600):
            x1, x2 = source.gauss(0, 1), source.gauss(0, 1)
            weights = [1, math.exp(0.5 + x1), math.exp(-0.3 - 0.5 * x1 + 0.8 * x2)]
            k = source.choices(range(3), weights)[0]
            lines.append(f"{('blue', 'green, or so', 'red')[k]!r},{(10, 2, 7)[k]},{x1:.5f},{x2:.5f},{i % 3}".replace("'", '"'))
        self.write("data.csv", "\n".join(lines) + "\n")

    def all_draws(self, run, chains=2):
        return [row for chain in range(1, chains + 1) for row in self.draws(run, chain).values()]

    def refused(self, words, *args, code):
        result = self.mlo("fit", *args)
        self.assertEqual(result.code, code, result.stderr)
        self.assertIn(words, result.stderr)


class Fits(SoftmaxTest):
    def test_parameters_are_named_by_class_and_term(self):
        self.good("fit", "data.csv", "code ~ x1", "--family", "multinomial", *SHORT, "--out", "run")
        run = self.run_json("run")
        self.assertEqual(run["options"]["family"], "softmax")
        self.assertEqual(run["recipe"]["classes"], ["2", "7", "10"])
        self.assertEqual(list(run["summary"]["parameters"]), ["7:(Intercept)", "7:x1", "10:(Intercept)", "10:x1"])
        self.assertEqual(self.draws("run", 1).header[-4:], ["b_7_Intercept", "b_7_x1", "b_10_Intercept", "b_10_x1"])
        self.assertEqual(run["summary"]["method"]["name"], "exact")
        self.assertEqual(run["summary"]["method"]["bound_violations"], 0)
        self.good("report", "run")
        self.good("summary", "run")

    def test_the_base_is_a_matter_of_words(self):
        """The same model: log odds between two classes are the same, up to Monte Carlo errors."""
        means = {}
        for base in ("blue", "red"):
            self.good("fit", "data.csv", "colour ~ x1", "--family", "softmax", "--base", base, "--prior", "flat", "--prior-intercept",
                      "flat", "--draws", "2000", "--seed", "1", "--out", base)
            summary = self.run_json(base)["summary"]
            means[base] = {name: (p["mean"], p["mcse_mean"]) for name, p in summary["parameters"].items()}
        difference = means["blue"]["red:x1"], means["red"]["blue:x1"]
        error = math.hypot(difference[0][1], difference[1][1])
        self.assertLess(abs(difference[0][0] + difference[1][0]) / error, 5)

    def test_exact_and_full_agree(self):
        found = {}
        for method in ("exact", "full"):
            options = ("--audit",) if method == "exact" else ()
            self.good("fit", "data.csv", "colour ~ x1 + x2", "--family", "softmax", "--method", method, "--draws", "2000", "--seed", "2",
                      "--row-weights", "w", *options, "--out", method)
            summary = self.run_json(method)["summary"]
            self.assertEqual(summary["method"]["name"], method)
            self.assertEqual(summary["method"]["bound_violations"], 0)
            if method == "exact":
                self.assertLess(summary["audit"]["worst_error"], 1e-5)
            found[method] = summary["parameters"]
        for name, a in found["exact"].items():
            b = found["full"][name]
            self.assertLess(abs(a["mean"] - b["mean"]) / math.hypot(a["mcse_mean"], b["mcse_mean"]), 5, name)
            self.assertLess(abs(a["sd"] / b["sd"] - 1), 0.1, name)

    def test_an_interrupted_run_resumes_to_the_same_draws(self):
        def fit(out, times):
            return ("fit", "data.csv", "colour ~ x1 + x2", "--family", "softmax", "--base", "red", "--method", "exact", "--chains",
                    "2", "--seed", "4", "--threads", "2", "--warmup", "500", "--draws", "300", "--thin", str(400 * times), "--out",
                    out)

        times, _ = self.interrupted_in_time(lambda times: fit("run", times), "sampling [")
        self.good(*fit("reference", times))
        self.good("fit", "--resume", "--out", "run", "--threads", "1")
        self.assertEqual(self.draws_bytes("run", 2), self.draws_bytes("reference", 2))

    def test_what_is_refused(self):
        fit = ("data.csv", "colour ~ x1", "--family", "softmax")
        self.refused("--base pink: the response colour has no such class; there are blue, green, or so, red", *fit, "--base", "pink",
                     code=2)
        self.refused("--base has no meaning with --family logistic", "data.csv", "colour ~ x1", "--base", "red", code=2)
        self.refused("offset() has no meaning with --family softmax", "data.csv", "colour ~ x1 + offset(x2)", "--family", "softmax", code=4)
        self.refused("has one class", "data.csv", "I(x1 > 99) ~ x2", "--family", "softmax", code=4)
        self.refused("the classes of a softmax model are text or whole numbers", "data.csv", "x1 ~ x2", "--family", "softmax", code=4)
        self.refused("more than 100 classes", "data.csv", "round(1000 * x1) ~ x2", "--family", "softmax", code=4)
        self.refused("--prior-for red:x9: there is no such parameter; did you mean red:x1?", *fit, "--prior-for", "red:x9",
                     "flat", code=2)
        self.refused("--trials is for --family logistic", *fit, "--trials", "w", code=2)

    def test_simulated_data_are_fitted(self):
        self.good("simulate", "softmax", "--rows", "3000", "--coefficients", "1,-0.5", "--seed", "1", "--out", "simulated.csv")
        self.good("fit", "simulated.csv", "y ~ x1 + x2", "--family", "softmax", *SHORT, "--out", "run")
        found = self.run_json("run")["summary"]["parameters"]
        for name, truth in {"2:x1": 1, "2:x2": -0.5, "3:x1": 2, "3:x2": -1}.items():
            self.assertLess(abs(found[name]["mean"] - truth) / found[name]["sd"], 5, name)

    def test_a_description_counts_the_parameters(self):
        described = self.good("describe", "data.csv", "colour ~ x1 + x2", "--family", "softmax").stdout
        self.assertIn("6 parameters", described)


class Predictions(SoftmaxTest):
    def test_probabilities_are_those_of_the_draws(self):
        self.good("fit", "data.csv", "colour ~ x1 + x2", "--family", "softmax", "--base", "red", *SHORT, "--out", "run")
        self.write("new.csv", "x2,x1\n0.5,-1\n,1\n-20,300\n")
        draws = self.all_draws("run")
        rows = list(csv.DictReader(io.StringIO(self.good("predict", "run", "new.csv", "--interval", "0.8").stdout)))
        names = ["red", "blue", "green, or so"]
        self.assertEqual(list(rows[0]), ["row"] + [f"{n}:{f}" for n in names for f in ("mean", "sd", "q10", "q90")])
        self.assertEqual(set(list(rows[1].values())[1:]), {""})
        for row, (x1, x2) in ((rows[0], (-1, 0.5)), (rows[2], (300, -20))):
            values = {name: [] for name in names}
            for d in draws:
                eta = [0, d[0] + d[1] * x1 + d[2] * x2, d[3] + d[4] * x1 + d[5] * x2]
                total = sum(math.exp(e - max(eta)) for e in eta)
                for name, e in zip(names, eta):
                    values[name].append(math.exp(e - max(eta)) / total)
            for name in names:
                for figure, value in (("mean", statistics.fmean(values[name])), ("sd", statistics.stdev(values[name])),
                                      ("q10", quantile(values[name], 0.1)), ("q90", quantile(values[name], 0.9))):
                    self.assertAlmostEqual(float(row[f"{name}:{figure}"]), value, delta=1e-12, msg=f"{name} {figure}")
            self.assertAlmostEqual(sum(float(row[f"{name}:mean"]) for name in names), 1, delta=1e-12)
        links = list(csv.DictReader(io.StringIO(self.good("predict", "run", "new.csv", "--type", "link").stdout)))
        self.assertEqual(list(links[0])[1], "blue:mean")
        self.assertAlmostEqual(float(links[0]["blue:mean"]), statistics.fmean(d[0] - d[1] + 0.5 * d[2] for d in draws), delta=1e-12)
        result = self.mlo("predict", "run", "new.csv", "--type", "draw")
        self.assertEqual((result.code, "--type draw has no meaning with --family softmax" in result.stderr), (2, True))

    def test_held_out_rows_are_scored(self):
        for response in ("colour", "code"):
            printed = self.good("fit", "data.csv", f"{response} ~ x1 + x2", "--family", "softmax", "--holdout", "0.3", *SHORT, "--out",
                                response).stdout
            scores = self.run_json(response)["summary"]["holdout"]
            k = len(scores["classes"])
            self.assertEqual(len(scores["confusion"]), k * k)
            self.assertEqual(sum(scores["confusion"]), scores["rows"])
            self.assertAlmostEqual(scores["accuracy"], sum(scores["confusion"][i * k + i] for i in range(k)) / scores["rows"], delta=1e-12)
            self.assertIn(f"accuracy {scores['accuracy']:.4f}", printed)
            self.assertIn("class \\ likeliest", printed)
            self.assertGreater(scores["accuracy"], 0.5)  # the likeliest class alone has 0.45
            self.assertLess(-1.1, scores["log_score"])
            self.assertEqual(self.good("summary", response).stdout, printed)
            self.good("report", response)
            self.assertIn(b"accuracy", self.read(response, "report.html"))
        # The same rows are held out, and classes have other names: the same score up to Monte Carlo errors.
        both = [self.run_json(r)["summary"]["holdout"]["log_score"] for r in ("colour", "code")]
        self.assertAlmostEqual(*both, delta=0.01)


if __name__ == "__main__":
    unittest.main()
