# Copyright (c) the mlo authors. BSD-3-Clause.
"""mlo reproduce: tables that anyone can reproduce, whatever the threads and interruptions."""
import csv
import json
import random
import re
import shlex
import unittest
import xml.etree.ElementTree

from support import CommandTest

PRECISION = ("reproduce", "table3", "--reps", "40")


class Reproduce(CommandTest):
    def rows(self, *names):
        with open(self.path(*names), encoding="utf-8") as file:
            return list(csv.DictReader(line for line in file if not line.startswith("#")))

    def test_a_table_has_our_number_its_error_and_the_papers(self):
        result = self.good("reproduce", "table3", "--reps", "3", "--out", "out")
        line = next(line for line in result.stdout.splitlines() if "r=10 uniform" in line)
        self.assertRegex(line, r"r=10 uniform +\S+ +\(\S+\) +63\.0 ")
        self.assertRegex(result.stdout, r"r=10: \|bias\| of MLO below that of uniform +z +-?\S+  (holds|does not hold)")
        self.assertIn("3 replications show that the program runs; they are no evidence", result.stdout)
        self.assertRegex(result.stdout.splitlines()[-1], "^[0-2] of 2 claims hold; ")
        self.assertEqual(self.files("out"), ["table3-table.csv", "table3.csv", "table3.html", "table3.json"])
        # Bias and SD, computed here from the replications.
        estimates = [float(row["mean"]) for row in self.rows("out", "table3.csv") if row["cell"] == "uniform r=10"]
        self.assertEqual(len(estimates), 3)
        mean = sum(estimates) / 3
        sd = (sum((e - mean) ** 2 for e in estimates) / 2) ** 0.5
        table = {(row["row"], row["column"]): row for row in self.rows("out", "table3-table.csv")}
        self.assertAlmostEqual(float(table["r=10 uniform", "bias"]["ours"]), 1e3 * (mean - 1), places=9)
        self.assertAlmostEqual(float(table["r=10 uniform", "bias"]["se"]), 1e3 * sd / 3 ** 0.5, places=9)
        self.assertAlmostEqual(float(table["r=10 uniform", "SD"]["ours"]), 1e3 * sd, places=9)
        claims = json.loads(self.read("out", "table3.json"))["claims"]
        self.assertEqual([set(claim) for claim in claims], [{"claim", "holds", "z", "verdict"}] * 2)

    def test_a_number_can_be_made_again_with_the_commands_that_are_given(self):
        self.good("reproduce", "table1", "--reps", "2", "--out", "out")
        text = self.read("out", "table1.csv").decode()
        commands = dict(re.findall(r"^# ([^:\n]+): (mlo .*)$", text, re.MULTILINE))
        for cell in ("at -2 r=20", "exact"):
            row = next(r for r in self.rows("out", "table1.csv") if r["replication"] == "2" and r["cell"] == cell)
            simulate = shlex.split(commands["data"].replace("DATA_SEED", row["data_seed"]))
            self.good(*simulate[1:])
            fit = shlex.split(commands[cell].replace("FIT_SEED", row["fit_seed"]))
            summary = json.loads(self.good(*fit[1:], "--json", "--quiet").stdout)
            self.assertEqual(summary["parameters"]["mu"]["mean"], float(row["mean"]))
            self.assertEqual(summary["parameters"]["mu"]["sd"], float(row["sd"]))

    def test_threads_and_interruptions_do_not_change_the_numbers(self):
        whole = self.good(*PRECISION, "--threads", "1", "--out", "whole")
        result = self.interrupted(self.start(*PRECISION, "--threads", "2", "--out", "run"), "table3 [##")
        self.assertEqual(result.stdout, "")
        kept = re.search(r"interrupted; (\d+) of 40 replications of table3 are kept in run/table3.csv, and the same "
                         r"command goes on from there\n$", result.stderr)
        self.assertIsNotNone(kept, result.stderr)
        again = self.good(*PRECISION, "--threads", "2", "--out", "run")
        self.assertIn(f"{kept[1]} of 40", again.stderr.splitlines()[0])
        self.assertEqual(again.stdout, whole.stdout.replace("whole/", "run/"))
        for name in ("table3.csv", "table3-table.csv"):
            self.assertEqual(self.read("run", name), self.read("whole", name))

    def test_figures_are_svg(self):
        for name, reps in (("figure1", ()), ("figure2", ("--reps", "2", "--quick"))):
            result = self.good("reproduce", name, *reps, "--out", "out")
            self.assertNotIn("claims hold", result.stdout)  # figure1 has no claims, and a quick run is not evidence
            root = xml.etree.ElementTree.fromstring(self.read("out", f"{name}.svg").decode())
            self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
            self.assertIn(b"<svg ", self.read("out", f"{name}.html"))

    def covertype(self):
        """A small stand-in: the columns of the real file, with classes that depend on the first."""
        source = random.Random(5)
        names = ("Elevation,Aspect,Slope,Horizontal_Distance_To_Hydrology,Vertical_Distance_To_Hydrology,"
                 "Horizontal_Distance_To_Roadways,Hillshade_9am,Hillshade_Noon,Hillshade_3pm,"
                 "Horizontal_Distance_To_Fire_Points,Cover_Type")
        lines = [names]
        for _ in range(20_000):
            x = [source.gauss(0, 1) for _ in range(10)]
            lines.append(",".join(f"{v:.3f}" for v in x) + f",{2 if source.gauss(0, 1) < x[0] else 1}")
        return self.write("covertype.csv", "\n".join(lines) + "\n")

    def test_table_5_is_interrupted_and_continued(self):
        table5 = ("reproduce", "table5", "--quick", "--data", self.covertype())
        result = self.interrupted(self.start(*table5), "table5 [#")
        self.assertRegex(result.stderr, r"interrupted; what was drawn is kept in mlo-reproduce-quick/table5-\w+, and the "
                                        r"same command goes on from there\n$")
        # Another seed would be another chain.
        other = self.mlo(*table5, "--seed", "2")
        self.assertEqual(other.code, 2)
        self.assertIn("table5-exact is a run with other settings (seed: 1 there, 2 here)", other.stderr)
        done = self.good(*table5)
        self.assertRegex(done.stdout, r"theta_0 \(Intercept\) +\S+ +\(\S+\) +-2\.28 ")
        again = self.good(*table5)  # returns at once, because all three runs are there
        self.assertEqual(again.stdout, done.stdout)

    def test_mistakes_get_words_and_their_exit_codes(self):
        self.write("file", "x")
        for arguments, code, words in (
                (("table6",), 2, 'must be one of table1, table2, table3, figure1, figure2, table4, table5, all (got "table6")'),
                (("table1", "--reps", "1"), 2, "--reps must be between 2 and 1000000 (got 1)"),
                (("table1", "--reps", "two"), 2, "must be a whole number"),
                (("table1", "--delta", "1"), 2, "--delta must be between 0 and 1, exclusive (got 1)"),
                (("table1", "--proposal-scale-mean", "0"), 2, "--proposal-scale-mean must be positive and finite (got 0)"),
                (("table2", "--proposal-precision", "beta"), 2,
                 '--proposal-precision must be one of gamma, random-walk (got "beta")'),
                (("table2", "--proposal-scale-precision", "2"), 2,
                 "--proposal-scale-precision must be at most 1 with --proposal-precision gamma"),
                (("table1", "--start", "here"), 2, '--start must be one of laplace, mode (got "here")'),
                (("table1", "--threads", "-1"), 2, "--threads must be between 0 and 1024 (got -1)"),
                (("table5",), 3, "https://archive.ics.uci.edu/dataset/31/covertype"),
                (("table5", "--data", "absent.csv"), 3, "absent.csv"),
                (("table1", "--out", "file"), 3, "file: --out: cannot be made")):
            with self.subTest(arguments=arguments):
                result = self.mlo("reproduce", *arguments)
                self.assertEqual((result.code, result.stdout), (code, ""))
                self.assertIn(words, result.stderr)
                self.assertTrue(result.stderr.startswith("mlo reproduce: "), result.stderr)

    def test_other_settings_do_not_mix_with_what_is_there(self):
        self.good("reproduce", "table3", "--reps", "2", "--out", "out")
        result = self.mlo("reproduce", "table3", "--reps", "2", "--out", "out", "--proposal-scale-precision", "0.2")
        self.assertEqual(result.code, 2)
        self.assertIn("out/table3.csv was made with other settings", result.stderr)
        self.assertIn("--proposal-scale 0.2", result.stderr)

    def test_a_precision_moves_in_proportion_to_itself_or_as_a_normal_walk(self):
        for options, words in (((), "--proposal gamma --proposal-scale 0.05 --start mode"),
                               (("--proposal-precision", "random-walk"),
                                "--proposal random-walk --proposal-scale 0.05 --proposal-shape identity")):
            for name in ("table2", "table3"):
                with self.subTest(name=name, options=options):
                    result = self.good("reproduce", name, "--reps", "2", "--out", f"{name}-{len(options)}", *options)
                    self.assertIn(words, result.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
