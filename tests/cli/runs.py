# Copyright (c) the mlo authors. BSD-3-Clause.
"""The run directory: what it holds, that it agrees with what was printed, and when a run is not resumed."""
import csv
import io
import json
import math
import os
import statistics
import unittest

from support import CommandTest, table_of

STATISTICS = ["mean", "sd", "mcse_mean", "hpd_2.5", "hpd_97.5", "median", "q5", "q95", "ess_bulk", "ess_tail", "rhat"]
STATISTICS_OF_DRAWS = ["lp__", "accept_stat__", "treedepth__", "divergent__", "energy__"]


class RunDirectory(CommandTest):
    chains, draws_per_chain = 3, 150
    fit = ("fit", "data.csv", "y ~ x1 + x2", "--chains", "3", "--warmup", "100", "--draws", "150", "--thin", "2",
           "--seed", "9")
    full = (*fit, "--method", "full")

    def setUp(self):
        super().setUp()
        self.make_data()

    def test_it_holds_the_record_the_summary_and_the_draws_and_nothing_else(self):
        self.good(*self.fit, "--out", "run")
        self.assertEqual(self.files("run"), ["draws-1.csv", "draws-2.csv", "draws-3.csv", "run.json", "statistics.csv",
                                              "summary.csv"])

    def test_run_json_says_what_was_run_and_names_the_parameters(self):
        self.good(*self.full, "--out", "run")
        run = self.run_json("run")
        self.assertEqual(run["status"], "finished")
        self.assertEqual(run["mlo"], self.good("--version").stdout.split()[-1])
        self.assertEqual(run["terms"], {"b_Intercept": "(Intercept)", "b_x1": "x1", "b_x2": "x2"})
        self.assertRegex(run["data_fingerprint"], "^[0-9a-f]{16}$")
        options = run["options"]
        for name, value in (("data", "data.csv"), ("formula", "y ~ x1 + x2"), ("family", "logistic"),
                            ("method", "full"), ("chains", 3), ("warmup", 100), ("draws", 150), ("thin", 2),
                            ("seed", 9)):
            self.assertEqual(options[name], value, name)

    def test_steps_per_draw_that_nobody_asked_for_are_printed(self):
        without = self.fit[:self.fit.index("--thin")] + self.fit[self.fit.index("--thin") + 2:]
        for method, proposal, steps in (("full", "random-walk", "10"), ("full", "laplace", None),
                                        ("exact", "random-walk", "10"), ("mlo", "random-walk", None)):
            with self.subTest(method=method, proposal=proposal):
                run = f"run-{method}-{proposal}"
                fit = (*without, "--method", method, "--proposal", proposal)
                printed = self.good(*fit, "--out", run).stdout
                if steps:  # walks always take ten
                    self.assertIn(f"  {steps} steps per draw, by the acceptance in warm-up\n", printed)
                if method == "mlo":
                    self.assertNotIn("steps per draw", printed)
                self.assertIsNone(self.run_json(run)["options"]["thin"])
                self.assertEqual(self.draws(run, 1).settings()["thin"], "1")
                stated = self.good(*fit, "--thin", "1", "--out", run + "-1").stdout
                self.assertNotIn("steps per draw", stated)

    def test_the_summary_says_what_a_step_reads(self):
        data = self.make_data("many.csv", rows=1500)
        for method, words in (
                ("full", r"method full \(exact\): acceptance 0\.\d{3}, reads 1,500 rows per step \(of 1,500\)\n"),
                ("exact", r"method exact \(exact\): acceptance \d\.\d{3}, reads [\d.e-]+ rows per step \(of 1,500\)\n"),
                ("mlo", r"method mlo \(approximate\): acceptance 0\.\d{3}, reads 1,000 rows per step \(of 1,500\), "
                        r"median 1,000, noise sd [\d.]+\n")):
            text = self.good("fit", data, "y ~ x1", "--method", method, "--draws", "50", "--warmup", "50").stdout
            self.assertRegex(text, words)
            self.assertNotIn("`", text)
            self.assertTrue(text.startswith("logistic model of y, 1,500 rows, 2 parameters\n"), text)

    def test_the_draws_are_stan_csv(self):
        self.good(*self.full, "--out", "run")
        for chain in range(1, self.chains + 1):
            draws = self.draws("run", chain)
            self.assertEqual(draws.header, [*STATISTICS_OF_DRAWS, "b_Intercept", "b_x1", "b_x2"])
            self.assertEqual(len(draws.rows), self.draws_per_chain)
            self.assertTrue(all(math.isfinite(cell) for row in draws.rows for cell in row))
            settings = draws.settings()
            for name, value in (("method", "sample (Default)"), ("num_samples", "300"), ("num_warmup", "100"),
                                ("save_warmup", "0"), ("thin", "2"), ("id", str(chain)), ("seed", "9"),
                                ("mlo_formula", "y ~ x1 + x2"), ("mlo_method", "full"), ("mlo_promise", "exact"),
                                ("mlo_lp__", "the log posterior of all rows, up to a constant"),
                                ("mlo_name b_Intercept", "(Intercept)"), ("mlo_name b_x2", "x2")):
                self.assertEqual(settings[name], value, name)

    def test_lp_is_the_log_posterior_up_to_a_constant(self):
        # logistic, with standard normal priors: sum of y eta - log(1 + e^eta), minus half the sum of squares.
        self.good(*self.full, "--out", "run", "--prior", "normal(0,1)", "--prior-intercept", "normal(0,1)")
        with open(self.path("data.csv"), encoding="utf-8") as file:
            data = [[float(cell) for cell in row] for row in list(csv.reader(file))[1:]]

        def log_posterior(theta):
            total = -sum(value * value for value in theta) / 2
            for y, x1, x2 in data:
                eta = theta[0] + theta[1] * x1 + theta[2] * x2
                total += y * eta - math.log1p(math.exp(eta))
            return total

        draws = self.draws("run", 1)
        points = list(zip(draws.column("lp__"), draws.column("energy__"), draws.values()))[:20]
        constant = points[0][0] - log_posterior(points[0][2])
        for lp, energy, theta in points:
            # 200 terms of size 1: rounding stays far below 1e-10.
            self.assertAlmostEqual(lp - log_posterior(theta), constant, delta=1e-10)
            self.assertEqual(energy, -lp)

    def test_every_method_says_what_its_lp_is(self):
        for method, words in (("exact", r"by a Taylor polynomial of order [23] about the mode, not of all rows"),
                              ("difference", "by a Taylor polynomial of order 2 about the mode, not of all rows"),
                              ("mlo", "by a Taylor polynomial of order 2 about the mode, not of all rows"),
                              ("auto", r"by a Taylor polynomial of order [23] about the mode, not of all rows|of all rows")):
            with self.subTest(method=method):
                self.good(*self.fit, "--method", method, "--out", method)
                draws = self.draws(method, 1)
                self.assertRegex(draws.settings()["mlo_lp__"], f"^the log posterior ({words}), up to a constant$")
                self.assertRegex(self.run_json(method)["summary"]["method"]["log_posterior"], f"^({words})$")
                self.assertIn(draws.settings()["mlo_method"], ("exact", "full") if method == "auto" else (method,))
                self.assertTrue(all(map(math.isfinite, draws.column("lp__"))))
                self.assertGreater(len(set(draws.column("lp__"))), 10)

    def test_the_statistics_of_the_draws_add_up_to_those_of_the_run(self):
        for method, sizes in (("full", ()), ("exact", ()), ("mlo", ("--subsample-size", "20")), ("difference", ())):
            with self.subTest(method=method):
                self.good(*self.fit, "--method", method, *sizes, "--out", method)
                account = self.run_json(method)["summary"]["method"]
                rows = list(csv.DictReader(io.StringIO(self.read(method, "statistics.csv").decode())))
                self.assertEqual([(int(row["chain"]), int(row["draw"])) for row in rows],
                                 [(c + 1, d + 1) for c in range(self.chains) for d in range(self.draws_per_chain)])
                accepted = [a for k in range(self.chains) for a in self.draws(method, k + 1).column("accept_stat__")]
                # Floats have seven digits.
                self.assertAlmostEqual(statistics.fmean(accepted), account["acceptance"], delta=1e-6)
                for name, total in (("rows_read", "rows_per_step"), ("noise_sd", "noise_sd")):
                    mean = statistics.fmean(float(row[name]) for row in rows)
                    self.assertAlmostEqual(mean, account[total], delta=1e-6 * (1 + account[total]), msg=name)

    def test_a_run_of_the_first_version_is_still_read(self):
        self.good(*self.full, "--out", "run")
        table, predictions = self.good("summary", "run").stdout, self.good("predict", "run", "data.csv").stdout
        os.remove(self.path("run/statistics.csv"))
        for chain in range(1, self.chains + 1):
            draws = self.draws("run", chain)
            lines = ["# stan_version_major = 2", "lp__,accept_stat__,theta.1,theta.2,theta.3"]
            lines += [",".join([row[0], "0.5", *theta]) for row, theta in zip(draws.text_rows, draws.parameters())]
            self.write(f"run/draws-{chain}.csv", "\n".join(lines) + "\n")
        record = self.run_json("run")
        del record["options"]["format"], record["summary"]["method"]["log_posterior"]
        record["terms"] = {"theta.1": "(Intercept)", "theta.2": "x1", "theta.3": "x2"}
        self.write("run/run.json", json.dumps(record))
        self.assertEqual(self.good("summary", "run").stdout, table)
        self.assertEqual(self.good("predict", "run", "data.csv").stdout, predictions)

    def test_the_summary_is_that_of_the_draws(self):
        result = self.good(*self.fit, "--out", "run", "--json")
        parameters = json.loads(result.stdout)["parameters"]
        self.assertEqual(list(parameters), ["(Intercept)", "x1", "x2"])
        chains = [self.draws("run", k + 1) for k in range(self.chains)]
        for k, values in enumerate(parameters.values()):
            self.assertEqual(list(values), STATISTICS)
            pooled = [value for draws in chains for value in draws.column(("b_Intercept", "b_x1", "b_x2")[k])]
            # Both sides compute in double precision but add in different orders: 1e-10 is far above the
            # rounding.
            self.assertAlmostEqual(values["mean"], statistics.fmean(pooled), delta=1e-10)
            self.assertAlmostEqual(values["sd"], statistics.stdev(pooled), delta=1e-10)
            self.assertAlmostEqual(values["median"], statistics.median(pooled), delta=1e-10)
            twentieths = statistics.quantiles(pooled, n=20, method="inclusive")
            self.assertAlmostEqual(values["q5"], twentieths[0], delta=1e-10)
            self.assertAlmostEqual(values["q95"], twentieths[-1], delta=1e-10)
            covered = sum(values["hpd_2.5"] <= value <= values["hpd_97.5"] for value in pooled)
            self.assertGreaterEqual(covered, math.floor(0.95 * len(pooled)))

    def test_the_table_shows_the_same_numbers_rounded(self):
        result = self.good(*self.fit, "--out", "run")
        parameters = self.run_json("run")["summary"]["parameters"]
        table = table_of(result.stdout)
        self.assertEqual(list(table), list(parameters))
        columns = {"mean": "mean", "sd": "sd", "mcse": "mcse_mean", "hpd 2.5%": "hpd_2.5", "hpd 97.5%": "hpd_97.5",
                   "median": "median", "ess bulk": "ess_bulk", "ess tail": "ess_tail", "rhat": "rhat"}
        for name, row in table.items():
            self.assertEqual(list(row), list(columns))
            for title, cell in row.items():
                decimals = len(cell.partition(".")[2])
                # Half a unit of the last digit shown, and a little for the halves themselves.
                self.assertAlmostEqual(float(cell), parameters[name][columns[title]], delta=0.5001 * 10**-decimals)

    def test_summary_prints_what_fit_printed(self):
        table = self.good(*self.fit, "--out", "table").stdout
        self.assertEqual(self.good("summary", "table").stdout, table)
        as_json = self.good(*self.fit, "--out", "json", "--json").stdout
        self.assertEqual(self.good("summary", "json", "--json").stdout, as_json)
        # Apart from timings, the two runs are the same.
        first, second = (json.loads(self.good("summary", run, "--json").stdout) for run in ("table", "json"))
        del first["seconds"], second["seconds"]
        self.assertEqual(first, second)

    def test_json_csv_and_the_summary_file_agree(self):
        self.good(*self.fit, "--out", "run")
        parameters = json.loads(self.good("summary", "run", "--json").stdout)["parameters"]
        text = self.good("summary", "run", "--csv").stdout
        self.assertEqual(text.encode(), self.read("run", "summary.csv"))
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([row["parameter"] for row in rows], list(parameters))
        for row in rows:
            self.assertEqual(list(row), ["parameter", *STATISTICS])
            self.assertEqual({name: float(row[name]) for name in STATISTICS}, parameters[row["parameter"]])

    def test_names_with_commas_and_quotes_survive_the_files(self):
        self.write("data.csv", 'y,"a,b"\n' + "".join(f"{k % 2},{(k * 7) % 10}\n" for k in range(40)))
        self.good("fit", "data.csv", "y ~ `a,b`", "--draws", "20", "--warmup", "20", "--seed", "1", "--out", "run")
        name = list(self.run_json("run")["summary"]["parameters"])[1]
        self.assertIn("a,b", name)
        rows = list(csv.DictReader(io.StringIO(self.read("run", "summary.csv").decode())))
        self.assertEqual(rows[1]["parameter"], name)
        self.assertIn(name, table_of(self.good("summary", "run").stdout))

    def test_line_breaks_in_a_formula_or_a_name_break_no_file(self):
        self.write("data.csv", 'y,"a\nb",c\n' + "".join(f"{k % 2},{(k * 7) % 10},{(k * 3) % 11}\n" for k in range(40)))
        self.good("fit", "data.csv", "y ~ c +\n `a\nb`", "--draws", "20", "--warmup", "20", "--seed", "1",
                  "--chains", "1", "--out", "run")
        draws = self.draws("run", 1)  # fails if a comment runs over into the next line
        self.assertEqual(draws.header, [*STATISTICS_OF_DRAWS, "b_Intercept", "b_c", "b_a_b"])
        self.assertEqual(len(draws.rows), 20)
        self.assertEqual(draws.settings()["mlo_formula"], "y ~ c +  `a b`")
        rows = list(csv.DictReader(io.StringIO(self.read("run", "summary.csv").decode(), newline="")))
        self.assertEqual([row["parameter"] for row in rows], list(self.run_json("run")["summary"]["parameters"]))

    def test_diagnostics_that_are_not_defined_are_warned_of(self):
        for draws in ("1", "3", "5"):
            result = self.good("fit", "data.csv", "y ~ x1", "--draws", draws, "--warmup", "20", "--seed", "1")
            self.assertIn("nan", result.stdout)
            self.assertRegex(result.stdout, r'WARNING: R-hat or the effective draws of "\(Intercept\)" are not defined')

    def test_one_chain_and_one_draw_are_not_several(self):
        result = self.good("fit", "data.csv", "y ~ x1", "--chains", "1", "--draws", "1", "--seed", "1")
        self.assertIn("\n1 chain x 1 draw;", result.stdout)

    def test_shards_without_a_mode_are_warned_of_once(self):
        result = self.good(*self.fit, "--method", "consensus", "--shards", "100", "--prior", "flat",
                           "--prior-intercept", "flat")
        self.assertRegex(result.stdout, r"WARNING: \d+ shards have no mode of their own; the first: shard 1 of 100 ")
        self.assertEqual(result.stdout.count(" of 100 has no mode"), 1)

    def test_a_subsampled_run_says_so(self):
        result = self.good(*self.fit, "--out", "run", "--method", "mlo", "--subsample-size", "20", "--json")
        summary = json.loads(result.stdout)
        self.assertEqual(summary["method"]["name"], "mlo")
        self.assertEqual(summary["method"]["promise"], "approximate")
        # A step reads its subsample at one or both ends of the move: never more than 40 of the 200 rows.
        self.assertLessEqual(summary["method"]["rows_per_step"], 40)
        self.assertGreater(summary["method"]["noise_sd"], 0)
        self.assertIn("laplace sd", self.good("summary", "run").stdout)


class SimulatedResponses(CommandTest):
    def test_gamma_has_the_mean_and_the_shape_asked_for(self):
        # 5 standard errors: one false alarm in a million, if the seed were another.
        rows, shape, mean = 20_000, 2.5, math.exp(0.4)
        self.good("simulate", "gamma", "--rows", str(rows), "--intercept", "0.4", "--coefficients", "0", "--shape",
                  str(shape), "--seed", "7", "--out", "gamma.csv")
        with open(self.path("gamma.csv"), newline="", encoding="utf-8") as file:
            y = [float(row["y"]) / mean for row in csv.DictReader(file)]
        self.assertEqual(len(y), rows)
        self.assertGreater(min(y), 0)
        self.assertLess(abs(statistics.fmean(y) - 1), 5 / math.sqrt(shape * rows))
        # The squared deviation has mean 1 / shape and variance (2 + 6 / shape) / shape^2.
        squares = statistics.fmean((value - 1) ** 2 for value in y)
        self.assertLess(abs(squares * shape - 1), 5 * math.sqrt((2 + 6 / shape) / rows))

        fit = ("fit", "gamma.csv", "y ~ 1", "--family", "gamma", "--seed", "3", "--json", "--quiet")
        estimated = json.loads(self.good(*fit).stdout)
        self.assertEqual(list(estimated["parameters"]), ["(Intercept)", "shape"])
        known = json.loads(self.good(*fit, "--shape", str(shape)).stdout)
        self.assertEqual(list(known["parameters"]), ["(Intercept)"])
        self.assertEqual((estimated["method"]["name"], known["method"]["name"]), ("exact", "exact"))
        self.assertEqual(known["method"]["bound_violations"], 0)
        for parameters in (estimated["parameters"], known["parameters"]):
            for name, truth in (("(Intercept)", 0.4), ("shape", shape)):
                if name in parameters:
                    self.assertLess(abs(parameters[name]["mean"] - truth), 5 * parameters[name]["sd"], name)


class Resuming(CommandTest):
    # About a second of warm-up, in which it is interrupted.
    model = ("data.csv", "y ~ x1 + x2")
    options = ("--chains", "2", "--seed", "4", "--method", "full", "--proposal", "adaptive", "--warmup", "250000")
    fit = ("fit", *model, *options, "--draws", "300", "--out", "run")

    def setUp(self):
        super().setUp()
        self.make_data()

    def refused(self, code, message, *args):
        result = self.mlo("fit", *args, "--quiet")
        self.assertEqual(result.stderr, f"mlo fit: {message}\n")
        self.assertEqual((result.code, result.stdout), (code, ""))

    def test_a_finished_run_is_not_resumed(self):
        self.good("fit", "data.csv", "y ~ x1", "--draws", "20", "--warmup", "20", "--out", "run")
        before = {name: self.read("run", name) for name in self.files("run")}
        self.refused(2, "--resume: the run in run is finished; show it with mlo summary run",
                     "--resume", "--out", "run")
        self.assertEqual({name: self.read("run", name) for name in self.files("run")}, before)

    def test_a_finished_run_says_so_also_where_its_data_are_gone(self):
        self.good("fit", "data.csv", "y ~ x1", "--draws", "20", "--warmup", "20", "--out", "run")
        os.remove(self.path("data.csv"))
        self.refused(2, "--resume: the run in run is finished; show it with mlo summary run",
                     "--resume", "--out", "run")

    def test_a_relative_path_of_the_data_is_explained_where_it_leads_nowhere(self):
        self.interrupted(self.start(*self.fit), "warm-up ")
        os.rename(self.path("data.csv"), self.path("moved.csv"))
        self.refused(3, "data.csv: no such file here; the name is relative to the directory where the run in run was "
                        "started: resume it there", "--resume", "--out", "run")

    def test_a_directory_without_a_run_is_not_resumed(self):
        self.refused(3, "nosuch: no such run directory", "--resume", "--out", "nosuch")
        os.mkdir(self.path("folder"))
        self.refused(3, "folder: not a run of mlo: it has no run.json", "--resume", "--out", "folder")
        self.refused(3, "data.csv: not a run directory but a file", "--resume", "--out", "data.csv")

    def test_a_record_that_was_edited_badly_is_named(self):
        self.interrupted(self.start(*self.fit), "warm-up ")
        record = self.run_json("run")
        for key, value in (("data_fingerprint", "unknown"), ("data_fingerprint", 7), ("options", {}), ("status", None)):
            with self.subTest(key=key, value=value):
                self.write("run/run.json", json.dumps(dict(record, **{key: value})))
                result = self.mlo("fit", "--resume", "--out", "run", "--quiet")
                self.assertEqual((result.code, result.stdout), (3, ""))
                self.assertRegex(result.stderr, "^mlo fit: run/run.json: not ")

    def test_a_run_is_not_resumed_on_other_data(self):
        self.interrupted(self.start(*self.fit), "warm-up ")
        data = self.read("data.csv")
        for changed in (data.replace(b"\n1,", b"\n0,", 1), data[:data.rindex(b"\n", 0, -1) + 1]):
            self.write("data.csv", changed)
            self.refused(3, "data.csv: has changed since the run in run began; it cannot be continued",
                         "--resume", "--out", "run")
        self.write("data.csv", data)
        self.good("fit", "--resume", "--out", "run")

    def test_a_run_is_not_resumed_with_other_options(self):
        self.interrupted(self.start(*self.fit), "warm-up ")
        message = ("--resume: these are not the options of the run in run; leave them out, as all of them are in its "
                   "run.json, and continue it with mlo fit --resume --out run")
        for args in (self.model, ("data.csv", "y ~ x1", *self.options, "--draws", "300"),
                     (*self.model, *self.options, "--draws", "301"),
                     (*self.model, *self.options, "--draws", "300", "--thin", "2")):
            self.refused(2, message, *args, "--resume", "--out", "run")
        self.good(*self.fit, "--resume")

    def test_an_option_that_differs_is_refused_also_without_data_and_formula(self):
        self.interrupted(self.start(*self.fit), "warm-up ")
        for option, value in (("--draws", "301"), ("--seed", "5"), ("--method", "mlo")):
            with self.subTest(option=option):
                result = self.mlo("fit", "--resume", "--out", "run", option, value, "--quiet")
                self.assertEqual((result.code, result.stdout), (2, ""))

    def test_a_damaged_checkpoint_is_named(self):
        self.interrupted(self.start(*self.fit), "warm-up ")
        good = self.read("run", "checkpoint-2")
        for damaged, message in ((good[:-1], "damaged checkpoint"),
                                 (good[:40] + bytes([good[40] ^ 1]) + good[41:], "damaged checkpoint"),
                                 (b"", "not a checkpoint of this version of mlo")):
            self.write("run/checkpoint-2", damaged)
            self.refused(3, f"run/checkpoint-2: {message}", "--resume", "--out", "run")


if __name__ == "__main__":
    unittest.main(verbosity=2)
