# Copyright (c) the mlo authors. BSD-3-Clause.
"""zero-inflated-poisson and beta-binomial from outside: what they are made of, predictions and scores against computations of their
own, group effects, what is refused."""
import csv
import io
import math
import statistics
import unittest

from support import CommandTest

SHORT = ("--chains", "2", "--warmup", "300", "--draws", "200", "--seed", "5")
ZIP = ("--family", "zero-inflated-poisson")
TRIALS = ("--family", "beta-binomial")


def log_beta(a, b):
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


class Families(CommandTest):
    def setUp(self):
        super().setUp()
        self.good("simulate", "zero-inflated-poisson", "--rows", "1500", "--zi", "0.4", "--intercept", "0.6", "--coefficients", "0.5",
                  "--group", "g:12:0.5", "--seed", "1", "--out", "counts.csv")
        self.good("simulate", "beta-binomial", "--rows", "800", "--phi", "4", "--trials", "9", "--intercept", "0.3",
                  "--coefficients", "0.5", "--group", "g:12:0.5", "--seed", "2", "--out", "trials.csv")

    def all_draws(self, run, chains=2):
        return [row for chain in range(1, chains + 1) for row in self.draws(run, chain).values()]

    def parameters(self, run):
        return self.run_json(run)["summary"]["parameters"]

    def refused(self, code, words, *args):
        result = self.mlo("fit", *args)
        self.assertEqual(result.code, code, result.stderr)
        self.assertIn(words, result.stderr)

    def column(self, text, name):
        return [float(row[name]) for row in csv.DictReader(io.StringIO(text))]

    def test_exact_and_full_agree(self):
        for run, data, formula, family in (("counts", "counts.csv", "y ~ x1", ZIP),
                                           ("trials", "trials.csv", "cbind(y, failures) ~ x1", TRIALS)):
            for method in ("exact", "full"):
                self.good("fit", data, formula, *family, "--method", method, "--draws", "1000", "--seed", "3", "--out",
                          f"{run}-{method}", *(("--audit",) if method == "exact" else ()))
            exact = self.run_json(f"{run}-exact")["summary"]
            self.assertEqual(exact["method"]["bound_violations"], 0)
            self.assertLess(exact["audit"]["worst_error"], 1e-5)
            for name, p in self.parameters(f"{run}-full").items():
                q = exact["parameters"][name]
                self.assertLess(abs(p["mean"] - q["mean"]), 5 * math.hypot(p["mcse_mean"], q["mcse_mean"]), (run, name))

    def test_shares_and_counts_of_successes_give_the_same_draws(self):
        lines = ["share,trials,y,failures,x1"]
        for row in csv.DictReader(io.StringIO(self.read("trials.csv").decode())):
            y, failures = int(row["y"]), int(row["failures"])
            lines.append(f"{y / (y + failures)!r},{y + failures},{y},{failures},{row['x1']}")
        self.write("both.csv", "\n".join(lines + ["0,0,0,0,1"]) + "\n")  # a row without trials is not used
        self.good("fit", "both.csv", "cbind(y, failures) ~ x1", *TRIALS, *SHORT, "--out", "pair")
        self.good("fit", "both.csv", "share ~ x1", "--trials", "trials", *TRIALS, *SHORT, "--out", "share")
        self.assertEqual(self.all_draws("pair"), self.all_draws("share"))

    def test_predictions_are_of_the_mean_of_all_counts(self):
        self.write("new.csv", "x1\n0\n1.5\n")
        self.good("fit", "counts.csv", "y ~ x1", *ZIP, *SHORT, "--out", "counts")
        found = self.column(self.good("predict", "counts", "new.csv").stdout, "mean")
        draws = self.all_draws("counts")
        for x, mean in zip((0, 1.5), found):
            expected = statistics.fmean((1 - zi) * math.exp(a + b * x) for a, b, zi in (row[-3:] for row in draws))
            self.assertAlmostEqual(mean / expected, 1, places=5)
        self.good("fit", "trials.csv", "cbind(y, failures) ~ x1", *TRIALS, *SHORT, "--out", "trials")
        found = self.column(self.good("predict", "trials", "new.csv").stdout, "mean")
        draws = self.all_draws("trials")
        for x, mean in zip((0, 1.5), found):
            expected = statistics.fmean(1 / (1 + math.exp(-a - b * x)) for a, b, _ in (row[-3:] for row in draws))
            self.assertAlmostEqual(mean / expected, 1, places=5)
        ones = self.column(self.good("predict", "trials", "new.csv", "--type", "draw").stdout, "mean")
        for x, mean, share in zip((0, 1.5), found, ones):
            self.assertLess(abs(mean - share), 5 * math.sqrt(mean * (1 - mean) / 400), x)

    def test_held_out_rows_are_scored_by_their_densities(self):
        # With everything stated or nearly so, the score is that of one law: the prior leaves the coefficients no room.
        narrow = ("--prior-intercept", "normal(0.3, 0.000001)", "--holdout", "0.3", *SHORT)
        self.good("fit", "trials.csv", "cbind(y, failures) ~ 1", *TRIALS, "--phi", "4", *narrow, "--out", "trials")
        self.good("fit", "counts.csv", "y ~ 1", *ZIP, "--zi", "0.4", *narrow, "--out", "counts")
        p, mu, phi = 1 / (1 + math.exp(-0.3)), math.exp(0.3), 4
        def of_trials(row):
            y, n = int(row["y"]), int(row["y"]) + int(row["failures"])
            return (math.log(math.comb(n, y)) + log_beta(p * phi + y, (1 - p) * phi + n - y) - log_beta(p * phi, (1 - p) * phi))
        def of_counts(row):
            y = int(row["y"])
            return math.log(0.4 + 0.6 * math.exp(-mu)) if y == 0 else math.log(0.6) + y * 0.3 - mu - math.lgamma(y + 1)
        for run, density in (("trials", of_trials), ("counts", of_counts)):
            scores = self.run_json(run)["summary"]["holdout"]
            values = [density(row) for row in csv.DictReader(io.StringIO(self.read(f"{run}.csv").decode()))]
            # Of a part of the rows: within 5 standard errors of the mean of all.
            self.assertLess(abs(scores["log_score"] - statistics.fmean(values)),
                            5 * statistics.stdev(values) / math.sqrt(scores["rows"]), run)

    def test_groups_are_sampled_by_reading_all_rows(self):
        self.good("fit", "counts.csv", "y ~ x1 + (1 | g)", *ZIP, "--chains", "2", "--draws", "200", "--seed", "1", "--out", "counts")
        self.good("fit", "trials.csv", "cbind(y, failures) ~ x1 + (1 | g)", *TRIALS, "--chains", "2", "--draws", "200", "--seed", "1", "--out", "trials")
        for run, truth in (("counts", {"x1": 0.5, "zi": 0.4}), ("trials", {"x1": 0.5, "phi": 4})):
            found = self.parameters(run)
            self.assertEqual(self.run_json(run)["summary"]["method"]["promise"], "exact")
            for name, value in truth.items():
                self.assertLess(abs(found[name]["mean"] - value), 5 * found[name]["sd"], (run, name))

    def test_what_cannot_be_is_refused(self):
        self.refused(4, "needs numbers of trials", "counts.csv", "y ~ x1", *TRIALS)
        self.refused(2, "--zi must be between 0 and 1, exclusive (got 1)", "counts.csv", "y ~ x1", *ZIP, "--zi", "1")
        self.refused(2, "only where zi is estimated", "counts.csv", "y ~ x1", *ZIP, "--zi", "0.3", "--method", "exact")
        self.refused(2, "a beta prior is for parameters between 0 and 1", "counts.csv", "y ~ x1", *ZIP, "--prior", "beta(1, 2)")
        self.write("zeros.csv", "y,x1\n0,1\n0,2\n0,0\n")
        self.refused(3, "all 3 rows are 0", "zeros.csv", "y ~ x1", *ZIP)
        self.write("single.csv", "y,failures\n0,1\n1,0\n1,0\n")
        self.refused(3, "use --family logistic", "single.csv", "cbind(y, failures) ~ 1", *TRIALS)
        self.write("wrong.csv", "share,n\n0.5,2\n1.5,2\n")
        self.refused(3, "wrong.csv:3", "wrong.csv", "share ~ 1", "--trials", "n", *TRIALS)


if __name__ == "__main__":
    unittest.main()
