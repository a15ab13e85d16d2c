# Copyright (c) the mlo authors. BSD-3-Clause.
"""mlo bench-methods: the same figures in every form, a reason for each method that cannot be run, and Ctrl-C."""
import csv
import json
import unittest
import xml.etree.ElementTree

from support import CommandTest

SHORT = ("--warmup", "200", "--draws", "500", "--reference-draws", "2000", "--seconds", "20", "--seed", "3")


class BenchMethods(CommandTest):
    base = ("bench-methods", "data.csv", "y ~ x1 + x2", *SHORT)

    def setUp(self):
        super().setUp()
        self.make_data()

    def test_table_csv_json_and_plot_agree(self):
        result = self.good(*self.base, "--methods", "exact,full,mlo:subsample-size=20", "--out", "bench")
        self.assertEqual(self.files("bench"), ["methods.csv", "methods.json", "methods.svg", "methods.txt"])
        self.assertEqual(self.read("bench", "methods.txt").decode(), result.stdout)
        with open(self.path("bench", "methods.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        names = ["exact", "full", "mlo:subsample-size=20"]
        self.assertEqual([row["method"] for row in rows], names)
        methods = json.loads(self.read("bench", "methods.json"))["methods"]
        for row, method in zip(rows, methods):
            self.assertEqual(method["method"], row["method"])
            self.assertEqual(method["ess"], float(row["ess"]))
            self.assertEqual(method["sd_ratio"]["median"], float(row["sd_ratio"]))
            self.assertEqual(int(row["draws"]), 2000)
            self.assertAlmostEqual(float(row["ess_per_second"]), float(row["ess"]) / float(row["sample_seconds"]),
                                   delta=1e-6 * float(row["ess_per_second"]))
        self.assertEqual([method["promise"] for method in methods], ["exact", "exact", "approximate"])
        self.assertEqual(float(rows[2]["rows_per_step"]), 20)
        plot = xml.etree.ElementTree.parse(self.path("bench", "methods.svg"))
        words = "".join(plot.getroot().itertext())
        for name in names:
            self.assertIn(name, words)
            self.assertRegex(result.stdout, rf"(?m)^{name} +(exact|approximate) ")

    def test_every_method_has_a_line_or_a_reason(self):
        result = self.good(*self.base, "--family", "poisson", "--json", "--quiet")
        self.assertEqual(result.stderr, "")
        methods = json.loads(result.stdout)["methods"]
        listed = [line for line in self.good("methods").stdout.split("Families")[0].splitlines()
                  if line and not line.startswith((" ", "Methods", "exact:", "in the", "shows"))]
        self.assertEqual([method["method"] for method in methods], [name for name in listed if name != "auto"])
        for method in methods:
            self.assertTrue("failure" in method or method["ess"] is not None, method)

    def test_a_method_that_the_family_does_not_have_says_so_and_the_others_run(self):
        self.make_data(name="data.csv", family="gaussian")
        result = self.good(*self.base, "--family", "gaussian", "--methods", "confidence,exact")
        self.assertIn("confidence: --method confidence needs a bound on what one row can say", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^exact +exact ")

    def refused(self, code, message, *args):
        result = self.mlo(*args)
        self.assertEqual(result.code, code, result.stderr)
        self.assertIn(message, result.stderr)
        self.assertEqual(result.stdout, "")

    def test_what_is_wrong_is_named(self):
        self.refused(2, '--methods mlo:foo=1: there is no option "foo"', *self.base, "--methods", "mlo:foo=1")
        self.refused(2, '--methods mlo:foo: "foo" must be OPTION=VALUE', *self.base, "--methods", "mlo:foo")
        self.refused(2, "--methods mlo:chains=2: --chains is the same for all methods of a comparison", *self.base,
                     "--methods", "mlo:chains=2")
        self.refused(2, '--subsample-size must be a whole number of at most 18 digits (got "x")', *self.base, "--methods",
                     "mlo:subsample-size=x")
        self.refused(2, 'got "fill"', *self.base, "--methods", "fill")
        self.refused(2, "--seconds must be positive (got 0)", "bench-methods", "data.csv", "y ~ x1", "--seconds", "0")
        self.refused(2, "DATA and FORMULA are required", "bench-methods", "data.csv")
        self.refused(3, "missing.csv", "bench-methods", "missing.csv", "y ~ x1")
        self.write("file", "")
        self.refused(3, "--out", *self.base, "--out", "file/bench")

    def test_the_title_counts_the_rows_that_are_used(self):
        lines = self.read("data.csv").decode().splitlines()
        extra = [f"{k % 2},NA,0.5" for k in range(900)] + [f"{k % 2},,1" for k in range(900)]
        self.write("holes.csv", "\n".join([*lines, *extra, *lines[1:] * 6]) + "\n")
        result = self.good("bench-methods", "holes.csv", "y ~ x1", *SHORT, "--methods", "full")
        self.assertEqual(result.stdout.splitlines()[0], "logistic model of y, 1,400 rows, 2 parameters")
        self.assertRegex(result.stdout, r"(?m)^full +exact ")
        # A column that the formula does not use may have holes.
        result = self.good("bench-methods", "holes.csv", "y ~ x2", *SHORT, "--methods", "full")
        self.assertEqual(result.stdout.splitlines()[0], "logistic model of y, 3,200 rows, 2 parameters")

    def test_results_that_are_there_are_not_overwritten(self):
        self.good(*self.base, "--methods", "exact", "--out", "bench")
        before = {name: self.read("bench", name) for name in self.files("bench")}
        self.refused(3, "bench: --out: the directory exists and is not empty", *self.base, "--methods", "full",
                     "--out", "bench")
        self.assertEqual({name: self.read("bench", name) for name in self.files("bench")}, before)

    def test_blanks_around_names_do_not_count(self):
        result = self.good(*self.base, "--methods", "exact, full", "--json")
        self.assertEqual([m["method"] for m in json.loads(result.stdout)["methods"]], ["exact", "full"])

    def test_a_comparison_of_nothing_is_no_success(self):
        self.make_data(name="data.csv", family="gaussian")
        result = self.mlo(*self.base, "--family", "gaussian", "--methods", "confidence", "--quiet")
        self.assertEqual(result.code, 2)
        self.assertIn("confidence: --method confidence needs a bound", result.stdout)
        self.assertEqual(result.stderr, "mlo bench-methods: none of the methods could be compared; the table says why\n")

    def test_an_interruption_keeps_the_methods_that_were_run(self):
        long = ("bench-methods", "data.csv", "y ~ x1 + x2", "--draws", "100000000", "--seconds", "0.5",
                "--reference-draws", "1000", "--methods", "full,mlo,mlo:subsample-size=10,full,full,full,full,full",
                "--out", "bench")
        result = self.interrupted(self.start(*long), "3/8")
        self.assertIn("INTERRUPTED: not all methods were run.", result.stdout)
        self.assertTrue(json.loads(self.read("bench", "methods.json"))["interrupted"])
        self.assertRegex(result.stdout, r"(?m)^mlo +approximate ")


if __name__ == "__main__":
    unittest.main()
