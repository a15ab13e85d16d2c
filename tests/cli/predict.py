# Copyright (c) the mlo authors. BSD-3-Clause.
"""Predictions from a run against a computation of their own from its draws; scores of held-out rows; a look at data."""
import csv
import io
import json
import math
import os
import random
import statistics
import unittest

import duckdb_library
from support import CommandTest, uniform

SHORT = ("--chains", "2", "--warmup", "100", "--draws", "120", "--seed", "5")


def quantile(values, p):
    """R's type 7."""
    values = sorted(values)
    position = (len(values) - 1) * p
    low = min(int(position), len(values) - 2)
    return values[low] + (position - low) * (values[low + 1] - values[low])


INVERSE = {
    "logistic": lambda eta: 1 / (1 + math.exp(-eta)),
    "probit": lambda eta: 0.5 * math.erfc(-eta / math.sqrt(2)),
    "poisson": math.exp, "negative-binomial": math.exp, "gamma": math.exp,
    "gaussian": lambda eta: eta, "student": lambda eta: eta,
}


class PredictTest(CommandTest):
    def predictions(self, *args):
        return self.rows_of(self.good("predict", *args).stdout)

    @staticmethod
    def rows_of(text):
        return list(csv.DictReader(io.StringIO(text)))

    def all_draws(self, run, chains=2):
        """Lists of parameters, of all chains."""
        return [row for chain in range(1, chains + 1) for row in self.draws(run, chain).values()]

    def expect(self, row, values, low, high):
        """A row of the output is the summary of these values. Sums of 240 terms in another order: 1e-12."""
        size = max(abs(value) for value in values)
        for name, value in (("mean", statistics.fmean(values)), ("sd", statistics.stdev(values)),
                            (low, quantile(values, float(low[1:]) / 100)),
                            (high, quantile(values, float(high[1:]) / 100))):
            self.assertAlmostEqual(float(row[name]), value, delta=1e-12 * size, msg=name)


class Predictions(PredictTest):
    new = "x2,x1,w\n0.5,-1,1\n-0.25,2,2\n0,0,3\n1.5,0.125,4\n-3,-2,5\n"

    def new_rows(self):
        return [{name: float(cell) for name, cell in row.items()} for row in csv.DictReader(io.StringIO(self.new))]

    def test_they_are_those_of_the_draws_for_every_family(self):
        self.write("new.csv", self.new)
        for family, inverse in INVERSE.items():
            with self.subTest(family=family):
                self.make_data("data.csv", family)
                self.good("fit", "data.csv", "y ~ x1 * x2 + I(x1^2)", "--family", family, *SHORT, "--out", family)
                draws = self.all_draws(family)
                link = self.predictions(family, "new.csv", "--type", "link", "--interval", "0.95")
                mean = self.predictions(family, "new.csv")
                self.assertEqual(list(link[0]), ["row", "mean", "sd", "q2.5", "q97.5"])
                self.assertEqual(list(mean[0]), ["row", "mean", "sd", "q5", "q95"])
                self.assertEqual([row["row"] for row in mean], ["1", "2", "3", "4", "5"])
                for at, row in enumerate(self.new_rows()):
                    columns = [1, row["x1"], row["x2"], row["x1"] ** 2, row["x1"] * row["x2"]]
                    eta = [sum(c * b for c, b in zip(columns, draw)) for draw in draws]
                    self.expect(link[at], eta, "q2.5", "q97.5")
                    self.expect(mean[at], [inverse(value) for value in eta], "q5", "q95")

    def test_an_offset_counts(self):
        self.make_data("data.csv", "poisson")
        self.good("fit", "data.csv", "y ~ x1 + offset(0.1 * x2)", "--family", "poisson", *SHORT, "--out", "run")
        self.write("new.csv", self.new)
        mean = self.predictions("run", "new.csv")
        for at, row in enumerate(self.new_rows()):
            self.expect(mean[at], [math.exp(a + b * row["x1"] + 0.1 * row["x2"]) for a, b in self.all_draws("run")],
                        "q5", "q95")

    def test_a_dot_means_the_columns_of_the_fit(self):
        self.make_data()
        self.good("fit", "data.csv", "y ~ I(x2^2) + .", *SHORT, "--out", "run")
        self.write("new.csv", self.new)  # in another order, with a column that the fit did not have
        link = self.predictions("run", "new.csv", "--type", "link")
        names = self.run_json("run")["terms"]
        self.assertEqual(list(names.values()), ["(Intercept)", "I(x2^2)", "x1", "x2"])
        for at, row in enumerate(self.new_rows()):
            columns = [1, row["x2"] ** 2, row["x1"], row["x2"]]
            self.expect(link[at], [sum(c * b for c, b in zip(columns, d)) for d in self.all_draws("run")], "q5", "q95")

    def test_simulated_responses_are_those_of_the_family_and_depend_on_the_seed_alone(self):
        self.make_data("data.csv", "poisson")
        self.good("fit", "data.csv", "y ~ x1", "--family", "poisson", *SHORT[:4], "--draws", "2000", "--seed", "5", "--out", "run")
        self.write("new.csv", "x1\n" + "0.5\n" * 400)
        draws = self.all_draws("run")
        rates = [math.exp(a + 0.5 * b) for a, b in draws]
        rows = self.predictions("run", "new.csv", "--type", "draw", "--interval", "0.5")
        self.assertTrue(all(float(row["q25"]).is_integer() for row in rows))  # of 4,000 counts, the 1000.75th
        # The mean of 400 x 4,000 counts; each has the mean of its draw's rate. 5 standard errors.
        mean = statistics.fmean(float(row["mean"]) for row in rows)
        error = math.sqrt(statistics.fmean(rates) / (400 * len(rates)))
        self.assertLess(abs(mean - statistics.fmean(rates)), 5 * error)
        text = self.good("predict", "run", "new.csv", "--type", "draw").stdout
        for args in (("--threads", "1"), ("--threads", "3"), ("--seed", "5")):
            self.assertEqual(self.good("predict", "run", "new.csv", "--type", "draw", *args).stdout, text, args)
        self.assertNotEqual(self.good("predict", "run", "new.csv", "--type", "draw", "--seed", "6").stdout, text)
        # A row's prediction does not depend on the rows after it.
        self.write("short.csv", "x1\n" + "0.5\n" * 7)
        self.assertEqual(self.good("predict", "run", "short.csv", "--type", "draw").stdout.splitlines(),
                         text.splitlines()[:8])

    def test_a_missing_cell_gives_empty_fields_and_a_note(self):
        self.make_data()
        self.good("fit", "data.csv", "y ~ x1 + x2", *SHORT, "--out", "run")
        self.write("new.csv", "x1,x2\n1,2\n,2\n1,NA\n3,4\n")
        result = self.good("predict", "run", "new.csv")
        lines = result.stdout.splitlines()
        self.assertEqual(lines[2:4], ["2,,,,", "3,,,,"])
        self.assertRegex(lines[4], r"^4(,[-\d.e]+){4}$")
        self.assertEqual(result.stderr, "mlo predict: 2 of 4 rows have a missing cell or a new level: their predictions are empty\n")
        self.assertEqual(self.good("predict", "run", "new.csv", "--quiet").stderr, "")

    def test_out_is_what_would_be_printed(self):
        self.make_data()
        self.good("fit", "data.csv", "y ~ x1 + x2", *SHORT, "--out", "run")
        printed = self.good("predict", "run", "data.csv").stdout
        self.assertEqual(len(printed.splitlines()), 201)
        result = self.good("predict", "run", "data.csv", "--out", "predictions.csv")
        self.assertEqual(result.stdout, "")
        self.assertEqual(self.read("predictions.csv").decode(), printed)
        self.assertNotIn("predictions.csv.part", self.files())

    def test_parquet_has_what_csv_has(self):
        if duckdb_library.find() is None:
            words = "DuckDB's library is not there; ./setup --duckdb gets it"
            if os.environ.get("MLO_REQUIRE_DUCKDB") == "1":
                self.fail(words)
            self.skipTest(words)
        self.make_data()
        self.good("fit", "data.csv", "y ~ x1 + x2", *SHORT, "--out", "run")
        self.write("it's new.csv", "x1,x2\n1,2\n,2\n3,4\n0.1,0.2\n")
        csv_text = self.good("predict", "run", "it's new.csv", "--interval", "0.95", "-q").stdout
        self.good("predict", "run", "it's new.csv", "--interval", "0.95", "--out", "it's.parquet", "-q")
        self.assertEqual(self.files(), ["data.csv", "it's new.csv", "it's.parquet", "run"])
        self.write("printed.csv", csv_text)
        for name in ("row", "mean", "sd", "q2.5", "q97.5"):
            described = [json.loads(self.good("describe", file, "--json", "-q").stdout)["columns"][name]
                         for file in ("printed.csv", "it's.parquet")]
            self.assertEqual(*described, name)  # three values each, to the last bit

    def test_parquet_without_duckdb_is_refused_before_anything_is_written(self):
        self.make_data()
        self.good("fit", "data.csv", "y ~ x1 + x2", *SHORT, "--out", "run")
        os.environ["MLO_DUCKDB"] = "/nowhere/libduckdb.so"
        self.addCleanup(os.environ.pop, "MLO_DUCKDB")
        result = self.mlo("predict", "run", "data.csv", "--out", "p.parquet")
        self.assertEqual((result.code, result.stdout), (3, ""))
        self.assertRegex(result.stderr, "^mlo predict: Parquet files are written by DuckDB, but the library that "
                                        "MLO_DUCKDB names cannot be loaded: ")
        self.assertEqual(self.files(), ["data.csv", "run"])

    def make_factors(self):
        """Text with three levels, whole numbers with four, a number; counts."""
        source = random.Random(3)
        lines = ["y,town,month,x"]
        for _ in range(600):
            town, month, x = source.choice(["Bern", "Oslo", "Rome"]), source.choice([1, 2, 3, 12]), source.gauss(0, 1)
            rate = math.exp({"Bern": 0.2, "Oslo": 0.8, "Rome": -0.3}[town] + 0.05 * month + 0.3 * x)
            y, product, floor = 0, source.random(), math.exp(-rate)
            while product > floor:
                y, product = y + 1, product * source.random()
            lines.append(f"{y},{town},{month},{x:.5f}")
        return self.write("towns.csv", "\n".join(lines) + "\n")

    def test_factors_and_what_functions_learnt_mean_what_they_meant_in_the_fit(self):
        self.make_factors()
        with open(self.path("towns.csv"), encoding="utf-8") as file:
            x = [float(row["x"]) for row in csv.DictReader(file)]
        centre, unit = statistics.fmean(x), statistics.stdev(x)
        self.good("fit", "towns.csv", "y ~ town + town:I(x^2) + factor(month) + poly(x, 1) + scale(x):month", "--family",
                  "poisson", *SHORT, "--prior", "normal(0, 1)", "--out", "run")
        names = list(self.run_json("run")["terms"].values())
        self.assertEqual(names, ["(Intercept)", "townOslo", "townRome", "factor(month)2", "factor(month)3",
                                 "factor(month)12", "poly(x, 1)", "townBern:I(x^2)", "townOslo:I(x^2)",
                                 "townRome:I(x^2)", "scale(x):month"])
        # Other rows, in another order, with fewer values of the month.
        self.write("new.csv", "month,x,town\n12,0.25,Rome\n2,-1,Oslo\n1,2,Bern\n")
        rows = self.predictions("run", "new.csv", "--type", "link")
        squares = math.sqrt(sum((value - centre) ** 2 for value in x))
        for at, (month, value, town) in enumerate(((12, 0.25, "Rome"), (2, -1, "Oslo"), (1, 2, "Bern"))):
            # poly() of degree 1 is centred and of length 1.
            columns = {"(Intercept)": 1, "town" + town: 1, f"factor(month){month}": 1, f"town{town}:I(x^2)": value ** 2,
                       "poly(x, 1)": (value - centre) / squares, "scale(x):month": (value - centre) / unit * month}
            eta = [sum(beta * columns.get(name, 0) for name, beta in zip(names, draw)) for draw in self.all_draws("run")]
            size = max(abs(v) for v in eta)
            self.assertAlmostEqual(float(rows[at]["mean"]), statistics.fmean(eta), delta=1e-10 * size)
            self.assertAlmostEqual(float(rows[at]["q95"]), quantile(eta, 0.95), delta=1e-10 * size)

    def test_the_rows_of_the_fit_are_predicted_whatever_scale_it_had(self):
        self.make_factors()
        plain = ("towns.csv", "y ~ town + x", "--family", "poisson", "--method", "full", "--prior", "flat",
                 "--prior-intercept", "flat", *SHORT)
        means = []
        for scale in ("none", "sd", "standard"):
            self.good("fit", *plain, "--scale", scale, "--out", scale)
            means.append([float(row["mean"]) for row in self.predictions(scale, "towns.csv", "--type", "link")])
        # The posterior does not depend on the scale: three Monte Carlo runs of the same.
        for scaled in means[1:]:
            for a, b in zip(means[0], scaled):
                self.assertAlmostEqual(a, b, delta=0.1)

    def test_a_new_level_is_an_error_or_leaves_its_row_empty(self):
        self.make_factors()
        self.good("fit", "towns.csv", "y ~ town + x", "--family", "poisson", *SHORT, "--out", "run")
        self.write("new.csv", "town,x\nOslo,1\nParis,2\n,3\nRome,4\n")
        result = self.mlo("predict", "run", "new.csv")
        self.assertEqual((result.code, result.stdout), (3, ""))
        self.assertEqual(result.stderr, 'mlo predict: new.csv:3: town has a level that the data of the fit did not have '
                                        '(town = "Paris"); its levels are Bern, Oslo, Rome. --new-levels missing leaves '
                                        "such rows without a prediction\n")
        result = self.good("predict", "run", "new.csv", "--new-levels", "missing")
        self.assertEqual([line.count(",,,,") for line in result.stdout.splitlines()], [0, 0, 1, 1, 0])
        # In a row with a missing cell a new level is no mistake: the row has no prediction anyway.
        self.write("both.csv", "town,x\nOslo,1\nParis,NA\n")
        self.assertEqual(self.good("predict", "run", "both.csv").stdout.splitlines()[2], "2,,,,")
        self.assertIn("mlo predict: 2 of 4 rows have a missing cell or a new level", result.stderr)

    def test_an_interrupted_run_predicts_from_the_draws_it_has(self):
        # Chains of different lengths: as many draws of each as the shortest has.
        self.make_data()
        self.good("fit", "data.csv", "y ~ x1", *SHORT, "--out", "run")
        text = self.read("run", "draws-2.csv").decode().partition("# \n#  Elapsed Time")[0]
        self.write(os.path.join("run", "draws-2.csv"), "".join(text.splitlines(keepends=True)[:-20]))
        text = self.read("run", "statistics.csv").decode()
        self.write(os.path.join("run", "statistics.csv"), "".join(text.splitlines(keepends=True)[:-20]))
        self.write("new.csv", "x1\n2\n")
        draws = [row for chain in (1, 2) for row in self.draws("run", chain).values()[:100]]
        [row] = self.predictions("run", "new.csv", "--type", "link")
        self.expect(row, [a + 2 * b for a, b in draws], "q5", "q95")


class HeldOut(PredictTest):
    def scores(self, *args):
        return json.loads(self.good("fit", *args, "--json", "--quiet").stdout)["holdout"]

    def test_the_scores_are_those_of_the_draws_on_rows_that_the_fit_did_not_see(self):
        self.make_data(rows=400)
        with open(self.path("data.csv"), encoding="utf-8") as file:
            header, *lines = file.read().splitlines()
        held = [line for row, line in enumerate(lines) if uniform(5, 21, row) < 0.2]
        kept = [line for row, line in enumerate(lines) if uniform(5, 21, row) >= 0.2]
        self.write("kept.csv", "\n".join([header, *kept]) + "\n")
        self.good("fit", "data.csv", "y ~ x1 + x2", *SHORT, "--holdout", "0.2", "--threads", "1", "--out", "run")
        self.good("fit", "data.csv", "y ~ x1 + x2", *SHORT, "--holdout", "0.2", "--threads", "2", "--out", "two")
        self.good("fit", "kept.csv", "y ~ x1 + x2", *SHORT, "--out", "kept")
        parameters = [[self.draws(run, chain).parameters() for chain in (1, 2)] for run in ("run", "two", "kept")]
        self.assertEqual(parameters[0], parameters[1])
        self.assertEqual(parameters[0], parameters[2])

        run = self.run_json("run")
        scores = run["summary"]["holdout"]
        self.assertEqual(scores, self.run_json("two")["summary"]["holdout"])
        self.assertEqual(run["options"]["holdout"], 0.2)
        self.assertEqual(run["summary"]["data"], {"rows": 400, "used": len(kept), "dropped": 0})
        self.assertEqual((scores["rows"], scores["missing"]), (len(held), 0))
        draws = self.all_draws("run")
        y, p = [], []
        for line in held:
            cells = [float(cell) for cell in line.split(",")]
            y.append(cells[0])
            p.append(statistics.fmean(1 / (1 + math.exp(-a - b * cells[1] - c * cells[2])) for a, b, c in draws))
        logs = [math.log(q if v else 1 - q) for q, v in zip(p, y)]
        wins = [1 if a > b else 0.5 if a == b else 0
                for a, v in zip(p, y) for b, w in zip(p, y) if v == 1 and w == 0]
        for name, value in (("log_score", statistics.fmean(logs)),
                            ("log_score_error", statistics.stdev(logs) / math.sqrt(len(logs))),
                            ("brier", statistics.fmean((q - v) ** 2 for q, v in zip(p, y))),
                            ("auc", statistics.fmean(wins))):
            self.assertAlmostEqual(scores[name], value, delta=1e-12, msg=name)
        ranked = sorted(zip(p, y))
        at = 0
        for group in scores["calibration"]:
            part = ranked[at:at + group["rows"]]
            at += group["rows"]
            self.assertAlmostEqual(group["predicted"], statistics.fmean(q for q, _ in part), delta=1e-12)
            self.assertAlmostEqual(group["observed"], statistics.fmean(v for _, v in part), delta=1e-12)
        self.assertEqual((at, len(scores["calibration"])), (len(held), 10))

    def test_rows_with_a_missing_cell_are_left_out_and_counted(self):
        self.make_data(rows=400)
        lines = self.read("data.csv").decode().splitlines()
        rows = [row for row in range(400) if uniform(5, 21, row) < 0.2][:3]
        for row in rows:
            lines[row + 1] = lines[row + 1].rsplit(",", 1)[0] + ",NA"
        self.write("data.csv", "\n".join(lines) + "\n")
        scores = self.scores("data.csv", "y ~ x1 + x2", *SHORT, "--holdout", "0.2")
        self.assertEqual(scores["missing"], 3)

    def test_the_table_shows_them_and_so_does_summary(self):
        self.make_data("data.csv", "poisson", rows=500)
        printed = self.good("fit", "data.csv", "y ~ x1 + x2", "--family", "poisson", "--holdout", "0.3", *SHORT,
                            "--out", "run").stdout
        self.assertRegex(printed, r"\nheld out, \d+ rows: log score -\d\.\d{4} per row \(error 0\.\d+\), deviance "
                                  r"[\d.]+ per row, RMSE [\d.]+\n")
        self.assertIn("mean predicted", printed)
        self.assertRegex(printed, r"\n  \d+ of 500 rows were held out \(--holdout 0\.3\)\n")
        self.assertEqual(self.good("summary", "run").stdout, printed)

    def test_without_it_nothing_changes(self):
        self.make_data()
        self.assertNotIn("holdout", json.loads(self.good("fit", "data.csv", "y ~ x1", *SHORT, "--json").stdout))


class Describe(PredictTest):
    def test_a_file_is_described_column_by_column(self):
        self.write("data.csv", "a,b,c\n1,0.5,1\n2,NA,1\n3,1.5,2\n4,,1\n")
        described = json.loads(self.good("describe", "data.csv", "--json", "-q").stdout)
        self.assertEqual((described["rows"], described["file_columns"]), (4, 3))
        a, b, c = (described["columns"][name] for name in "abc")
        self.assertEqual((a["type"], a["missing"], a["least"], a["mean"], a["most"]), ("number", 0, 1, 2.5, 4))
        self.assertAlmostEqual(a["sd"], statistics.stdev([1, 2, 3, 4]), delta=1e-15)
        self.assertEqual((b["missing"], b["distinct"]), (2, 2))
        self.assertEqual(c["levels"], {"1": 3, "2": 1})
        text = self.good("describe", "data.csv", "-q").stdout
        self.assertTrue(text.startswith("data.csv: 4 rows, 3 columns\n"), text)
        self.assertIn("  c: 1 (3), 2 (1)\n", text)

    def test_a_formula_shows_its_design_and_a_dry_run_is_the_same(self):
        self.write("data.csv", "y,x,z\n" + "".join(f"{k % 2},{k},{k * k % 7}\n" for k in range(50)) + "1,NA,3\n")
        args = ("data.csv", "y ~ x + I(z > 2)", "--json", "-q")
        described = json.loads(self.good("describe", *args).stdout)
        design = described["design"]
        self.assertEqual(design["columns"][:2], ["(Intercept)", "x"])
        self.assertEqual((design["rows"], design["dropped"], design["parameters"]), (50, 1, 3))
        self.assertEqual(list(described["columns"]), ["y", "x", "z"])
        dry = self.good("fit", *args, "--dry-run", "--out", "run")
        self.assertEqual(json.loads(dry.stdout), described)
        self.assertNotIn("run", self.files())


if __name__ == "__main__":
    unittest.main(verbosity=2)
