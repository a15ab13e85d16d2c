# Copyright (c) the mlo authors. BSD-3-Clause.
"""The same seed gives the same draws: for any number of threads, plain or gzip data, any number of chains.
And what scripts rely on: --quiet, --json, --help, --version."""
import gzip
import json
import re
import unittest

from support import CommandTest, documented_options

FAMILIES = {
    "logistic": "y ~ x1 + x2",
    "probit": "y ~ x1 + x2",
    "poisson": "y ~ x1 + x2",
    "negative-binomial": "y ~ x1 + x2",
    "gamma": "y ~ x1 + x2",
    "gaussian": "y ~ x1 + x2",
    "student": "y ~ x1 + x2",
    "gaussian-mean": "y ~ 1",
    "gaussian-precision": "y ~ 1",
}
METHODS = {
    "auto": (),
    "exact": (),
    "difference": (),
    "full": (),
    "uniform": ("--subsample-size", "30"),
    "mlo": ("--subsample-size", "30"),
    "mlo-adaptive": ("--subsample-size", "10", "--max-subsample-size", "60"),
}
# With their default proposals.
MORE_METHODS = {
    "austerity": ("--subsample-size", "20"),
    "confidence": ("--estimator", "control-variates", "--subsample-size", "20"),
    "barker": ("--estimator", "control-variates", "--subsample-size", "20"),
    "penalty": ("--subsample-size", "20"),
    "block": ("--subsample-size", "20", "--blocks", "5"),
    "consensus": ("--shards", "3"),
    "weierstrass": ("--shards", "3", "--bandwidth", "0.5"),
}
PROPOSALS = ("laplace", "random-walk", "adaptive")
SHORT = ("--warmup", "40", "--draws", "40")


class Seeds(CommandTest):
    def fitted(self, run, *args, chains=2):
        """The bytes of the draws of a new run."""
        self.good("fit", *args, *SHORT, "--chains", str(chains), "--out", run, "--quiet")
        return self.draws_bytes(run, chains)

    def same_for_any_threads(self, name, *options):
        one, two, three = (self.fitted(f"{name}-{threads}", *options, "--seed", "3", "--threads", str(threads))
                           for threads in (1, 2, 3))
        self.assertEqual(one, two)
        self.assertEqual(one, three)
        self.assertNotEqual(one[0].split(b"\nlp__")[1], one[1].split(b"\nlp__")[1])

    def test_an_audit_does_not_change_the_draws(self):
        for family in ("logistic", "poisson", "gaussian"):
            for method in ("exact", "auto"):
                data, name = self.make_data(family=family, rows=2000), f"{family}-{method}"
                base = (data, "y ~ x1 + x2", "--family", family, "--method", method, "--seed", "3")
                plain = self.fitted(name, *base)
                for audit in (("--audit",), ("--audit", "--audit-every", "2")):
                    with self.subTest(family=family, method=method, audit=audit):
                        audited = self.fitted(name + f"-{len(audit)}", *base, *audit)
                        self.assertEqual(audited, plain)

    def every_method_and_proposal(self, family):
        data = self.make_data(family=family)
        for method, sizes in METHODS.items():
            for proposal in PROPOSALS:
                if method in ("auto", "exact") and proposal == "adaptive":
                    continue  # refused
                with self.subTest(family=family, method=method, proposal=proposal):
                    self.same_for_any_threads(f"{method}-{proposal}", data, FAMILIES[family], "--family", family,
                                              "--method", method, *sizes, "--proposal", proposal)

    def test_the_draws_of_the_other_methods_do_not_depend_on_the_threads(self):
        data = self.make_data(family="logistic")
        for method, sizes in MORE_METHODS.items():
            with self.subTest(method=method):
                self.same_for_any_threads(method, data, FAMILIES["logistic"], "--method", method, *sizes)

    def test_the_draws_of_logistic_do_not_depend_on_the_threads(self):
        self.every_method_and_proposal("logistic")

    def test_the_draws_of_poisson_do_not_depend_on_the_threads(self):
        self.every_method_and_proposal("poisson")

    def test_the_draws_of_gaussian_do_not_depend_on_the_threads(self):
        self.every_method_and_proposal("gaussian")

    def test_the_draws_of_the_other_families_do_not_depend_on_the_threads(self):
        for family in ("probit", "gaussian-mean", "gaussian-precision", "student", "negative-binomial", "gamma"):
            data = self.make_data(family=family)
            for method in ("auto", "difference", "full", "mlo"):
                with self.subTest(family=family, method=method):
                    options = (data, FAMILIES[family], "--family", family, "--method", method, *METHODS[method],
                               "--seed", "3")
                    one, three = (self.fitted(f"{family}-{method}-{threads}", *options, "--threads", str(threads))
                                  for threads in (1, 3))
                    self.assertEqual(one, three)

    def test_threads_inside_one_chain_do_not_change_its_sums(self):
        # Many blocks of rows, whose sums must be added in one order by any number of threads.
        data = self.make_data(rows=20_000)
        options = (data, "y ~ x1 + x2", "--seed", "3", "--method", "full")
        one, *others = (self.fitted(f"threads-{threads}", *options, "--threads", str(threads), chains=1)
                        for threads in (1, 2, 3, 5))
        for other in others:
            self.assertEqual(other, one)

    def test_a_chain_does_not_depend_on_the_number_of_chains(self):
        data = self.make_data()
        for method, sizes in METHODS.items():
            options = (data, "y ~ x1", "--method", method, *sizes, "--seed", "3")
            alone = self.fitted(f"{method}-alone", *options, chains=1)
            together = self.fitted(f"{method}-together", *options, chains=4)
            self.assertEqual(together[0], alone[0])
            self.assertEqual(len({chain.split(b"\nlp__")[1] for chain in together[:4]}), 4)

    def test_another_seed_gives_other_draws(self):
        data = self.make_data()
        self.fitted("three", data, "y ~ x1", "--seed", "3")
        self.fitted("four", data, "y ~ x1", "--seed", "4")
        for chain in (1, 2):
            self.assertNotEqual(self.draws("three", chain).parameters(), self.draws("four", chain).parameters())

    def test_without_a_seed_one_is_printed_that_repeats_the_draws(self):
        data = self.make_data()
        fit = ("fit", data, "y ~ x1", *SHORT)
        result = self.good(*fit, "--out", "first")
        seed = re.search(r"(?m)^seed (\d+)$", result.stderr).group(1)
        self.assertIn(f"\n  seed {seed}\n", result.stdout)
        self.assertEqual(self.run_json("first")["options"]["seed"], int(seed))
        self.good(*fit, "--out", "again", "--seed", seed)
        self.assertEqual(self.draws_bytes("again", 4), self.draws_bytes("first", 4))
        self.good(*fit, "--out", "other")
        self.assertNotEqual(self.run_json("other")["options"]["seed"], int(seed))

    def test_the_largest_seed_survives_the_record_and_repeats_the_draws(self):
        data = self.make_data()
        seed = 2**64 - 1
        first, again = (self.fitted(run, data, "y ~ x1", "--seed", str(seed)) for run in ("first", "again"))
        self.assertEqual(first, again)
        self.assertEqual(self.run_json("first")["options"]["seed"], seed)

    def test_packed_and_plain_data_give_the_same_draws(self):
        self.make_data()
        self.write("data.csv.gz", gzip.compress(self.read("data.csv")))
        for run, data in (("plain", "data.csv"), ("packed", "data.csv.gz")):
            self.fitted(run, data, "y ~ x1 + x2", "--seed", "3")
        for chain in (1, 2):
            self.assertEqual(self.draws("plain", chain).text_rows, self.draws("packed", chain).text_rows)

    def test_line_ends_quotes_and_column_order_do_not_change_the_draws(self):
        self.make_data()
        rows = [line.split(",") for line in self.read("data.csv").decode().splitlines()]
        self.write("other.csv", "".join(f'"{x2}","{x1}",{y}\r\n' for y, x1, x2 in rows))
        for run, data in (("plain", "data.csv"), ("other", "other.csv")):
            self.fitted(run, data, "y ~ x1 + x2", "--seed", "3")
        for chain in (1, 2):
            self.assertEqual(self.draws("plain", chain).text_rows, self.draws("other", chain).text_rows)

    def test_simulate_repeats_itself_for_the_same_seed_only(self):
        for family in FAMILIES:
            simulate = ("simulate", family, "--rows", "50")
            if FAMILIES[family] == "y ~ 1":
                simulate += ("--coefficients", "2")
            first = self.good(*simulate, "--seed", "7").stdout
            self.assertEqual(self.good(*simulate, "--seed", "7").stdout, first)
            self.assertNotEqual(self.good(*simulate, "--seed", "8").stdout, first)
            self.assertEqual(len(first.splitlines()), 51)
            self.good(*simulate, "--seed", "7", "--out", f"{family}.csv")
            self.assertEqual(self.read(f"{family}.csv").decode(), first)
        self.assertFalse([name for name in self.files() if name.endswith(".part")])

    def test_simulated_groups_repeat_themselves_and_leave_the_columns_as_they_are(self):
        plain, grouped = (self.good("simulate", "poisson", "--rows", "50", "--seed", "7", *groups)
                          for groups in ((), ("--group", "g:5:0.5", "--group", "h:3:1:x1=0.3,cor=0.4")))
        self.assertEqual(grouped.stdout.splitlines()[0], "y,x1,x2,g,h")
        self.assertEqual([row.split(",")[1:3] for row in grouped.stdout.splitlines()],
                         [row.split(",")[1:] for row in plain.stdout.splitlines()])
        self.assertEqual({row.split(",")[3] for row in grouped.stdout.splitlines()[1:]}, set("12345"))
        self.assertRegex(grouped.stderr, r"^mlo simulate: g: 5 levels; sd of the intercept 0.5 \(drawn [0-9.]+\)\n"
                                         r"mlo simulate: h: 3 levels; sd of the intercept 1 \(drawn [0-9.]+\), of x1 0.3 "
                                         r"\(drawn [0-9.]+\), correlation 0.4\n$")
        again = self.good("simulate", "poisson", "--rows", "80", "--seed", "7", "--group", "g:5:0.5", "--group",
                          "h:3:1:x1=0.3,cor=0.4").stdout
        self.assertTrue(again.startswith(grouped.stdout))

    def test_more_simulated_rows_continue_the_fewer(self):
        few, more = (self.good("simulate", "poisson", "--rows", rows, "--seed", "7").stdout for rows in ("20", "50"))
        self.assertTrue(more.startswith(few))


class Scripts(CommandTest):
    def test_quiet_prints_nothing_on_standard_error(self):
        data = self.make_data()
        for method, sizes in METHODS.items():
            for more in ((), ("--json",), ("--out", method)):
                result = self.good("fit", data, "y ~ x1", "--method", method, *sizes, *SHORT, *more, "--quiet")
                self.assertEqual(result.stderr, "")
                self.assertNotEqual(result.stdout, "")

    def test_json_has_the_documented_keys(self):
        self.make_data()
        text = self.read("data.csv").decode() + "1,NA,0.5\n"
        self.write("data.csv", text)
        for method, sizes in METHODS.items():
            result = self.good("fit", "data.csv", "y ~ x1 + x2", "--method", method, *sizes, *SHORT, "--json",
                               "--quiet")
            summary = json.loads(result.stdout)
            for key in ("parameters", "method", "data", "seconds", "passes", "warnings"):
                self.assertIn(key, summary)
            self.assertEqual(list(summary["parameters"]), ["(Intercept)", "x1", "x2"])
            for values in summary["parameters"].values():
                self.assertEqual(set(values), {"mean", "sd", "mcse_mean", "hpd_2.5", "hpd_97.5", "median", "q5", "q95",
                                               "ess_bulk", "ess_tail", "rhat"})
            self.assertLessEqual({"name", "promise", "acceptance", "rows_per_step", "median_rows_per_step", "noise_sd",
                                  "bound_violations"}, set(summary["method"]))
            self.assertEqual(summary["method"]["name"], "exact" if method == "auto" else method)
            self.assertEqual(summary["method"]["promise"], "exact" if method in ("auto", "exact", "full") else "approximate")
            self.assertEqual(summary["data"], {"rows": 201, "used": 200, "dropped": 1})
            self.assertLessEqual({"read", "mode", "sample", "total"}, set(summary["seconds"]))
            self.assertGreater(summary["passes"], 0)
            self.assertIsInstance(summary["warnings"], list)

    def test_one_draw_of_one_chain_is_still_valid_json(self):
        # Its sd and R-hat are not defined; JSON has no NaN, although some parsers accept it.
        data = self.make_data()
        result = self.good("fit", data, "y ~ x1", "--chains", "1", "--draws", "1", "--json", "--quiet", "--out", "run")

        def refuse(word):
            raise AssertionError(f"{word} is not JSON")

        summary = json.loads(result.stdout, parse_constant=refuse)
        self.assertIsNone(summary["parameters"]["x1"]["sd"])
        self.assertEqual(self.good("summary", "run", "--json").stdout, result.stdout)

    def test_version_is_three_numbers(self):
        self.assertRegex(self.good("--version").stdout, r"^(mlo )?\d+\.\d+\.\d+\n$")


class Help(CommandTest):
    options = {
        "fit": ("--sql --family --prior --prior-intercept --prior-for --prior-sd --prior-cor --save-groups --base --known-sigma --known-mean --freedom --size --shape --phi --zi --scale --missing "
                "--holdout --max-levels --row-weights --trials --delimiter --decimal --comment --na --type --method "
                "--subsample-size --max-subsample-size --delta --weights --weights-at --uniform-share --replacement "
                "--estimator --noise-sd --bound --blocks --shards --bandwidth --thinning --order --audit --audit-every --proposal --proposal-scale --proposal-shape --start --chains --warmup --draws --thin --seed "
                "--threads -o,--out --format --resume --report --json -q,--quiet --dry-run --config --help"),
        "summary": "--json --csv --groups --all --help",
        "report": "-o,--out -q,--quiet --help",
        "plot": "--kind --parameters -o,--out -q,--quiet --help",
        "methods": "--help",
        "doctor": "--help",
        "simulate": "--rows --coefficients --intercept --correlation --group --sigma --freedom --size --shape --phi --zi --trials --seed -o,--out --help",
        "bench-methods": ("--sql --family --prior --prior-intercept --prior-for --prior-sd --prior-cor --save-groups --base --known-sigma --known-mean --freedom --size --shape --phi --zi --scale "
                          "--missing --holdout --max-levels --row-weights --trials --delimiter --decimal --comment --na --type "
                          "--methods --seconds --reference-draws --chains --warmup --draws --seed --threads "
                          "-o,--out --json -q,--quiet --help"),
        "demo": "--rows --seed --threads -q,--quiet --help",
        "predict": ("--type --interval --missing --new-levels --delimiter --decimal --comment --na --seed --threads "
                    "-o,--out -q,--quiet --help"),
        "describe": ("--family --prior --prior-intercept --prior-for --prior-sd --prior-cor --save-groups --base --sql --known-sigma --known-mean --freedom --size "
                     "--shape --phi --zi --scale --missing --holdout --max-levels --row-weights --trials --delimiter --decimal --comment --na --type --seed --json "
                     "-q,--quiet --help"),
    }

    def test_help_names_every_command_and_the_exit_codes(self):
        result = self.good("--help")
        self.assertEqual(result.stderr, "")
        for command in self.options:
            self.assertRegex(result.stdout, rf"(?m)^  {command} ")
        for code in ("0 success", "2 usage", "3 data or files", "130 interrupted"):
            self.assertIn(code, result.stdout)

    def test_the_help_of_each_command_has_every_option_and_an_example(self):
        for command, options in self.options.items():
            result = self.good(command, "--help")
            self.assertEqual(result.stderr, "")
            for option in options.split():
                with self.subTest(command=command, option=option):
                    self.assertRegex(result.stdout, rf"(?m)^  (-h,)?{re.escape(option)}\b")
            self.assertRegex(result.stdout, r"Example:\n  mlo ")
            self.assertIn(f"  mlo {command}", result.stdout)

    def test_no_option_is_missing_from_the_list_above(self):
        for command, options in self.options.items():
            shown = re.findall(r"(?m)^  ((?:-\w,)?--[\w-]+)", self.good(command, "--help").stdout)
            self.assertEqual({option.replace("-h,", "") for option in shown}, set(options.split()))

    def test_the_help_of_fit_has_every_option_of_the_table(self):
        options = documented_options()
        self.assertGreater(len(options), 35)
        text = self.good("fit", "--help").stdout
        for option in options:
            self.assertRegex(text, rf"(?m)^  (-\w,)?--{option}\b")
        shown = set(re.findall(r"(?m)^  (?:-\w,)?--([\w-]+)", text))
        self.assertEqual(shown - {"help", "json", "quiet", "config", "dry-run"}, set(options))

    def test_help_speaks_only_of_options_that_exist(self):
        known = {option.split(",")[-1] for options in self.options.values() for option in options.split()}
        for command in self.options:
            for option in re.findall(r"--[a-z][\w-]*", self.good(command, "--help").stdout):
                self.assertIn(option, known, command)

    def test_the_examples_of_fit_run(self):
        lines = self.good("fit", "--help").stdout.split("Example:\n")[1].splitlines()
        for line in lines:
            words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', line)]
            self.assertEqual(words[0], "mlo")
            short = ("--rows", "2000") if words[1] == "simulate" else ("--draws", "50", "--warmup", "50")
            for option in short[::2]:
                if option in words:
                    at = words.index(option)
                    del words[at:at + 2]
            self.good(*words[1:], *short)

    def test_methods_names_every_method_and_family(self):
        text = self.good("methods").stdout
        for method in METHODS | MORE_METHODS:
            self.assertRegex(text, rf"(?m)^{method}$")
        for family in FAMILIES:
            self.assertRegex(text, rf"(?m)^  {family} ")

    def test_the_demo_runs_and_repeats_itself(self):
        results = [self.good("demo", "--rows", "1000", "--quiet") for _ in range(2)]
        self.assertEqual(results[0].stderr, "")
        table, again = (re.sub(r" *\d+\.\d\d$|\d+\.\d+ s: .*", "", result.stdout, flags=re.M) for result in results)
        self.assertEqual(table, again)
        for method in ("mlo", "mlo-adaptive", "full"):
            self.assertRegex(table, rf"(?m)^{method} ")


if __name__ == "__main__":
    unittest.main(verbosity=2)
