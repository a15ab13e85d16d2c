# Copyright (c) the mlo authors. BSD-3-Clause.
"""How the command behaves towards people and terminals: mlo doctor, colours, a word about draws that are not kept."""
import os
import pty
import re
import subprocess
import unittest

from support import COMMAND, PATIENCE_SECONDS, CommandTest

SHORT = ("--chains", "2", "--warmup", "50", "--draws", "50", "--seed", "1")
HINT = "mlo fit: the draws are not kept; to keep them, fit with --out DIR\n"


class Doctor(CommandTest):
    def test_it_says_what_the_program_is_and_what_it_finds(self):
        text = self.good("doctor").stdout
        version = self.good("--version").stdout.split()[-1]
        lines = dict(re.split(r" +", line, maxsplit=1) for line in text.splitlines())
        self.assertRegex(lines["mlo"], rf"^{re.escape(version)}(, commit [0-9a-f]{{7,}}(-dirty)?)?$")
        self.assertRegex(lines["compiler"], r"^(g\+\+|clang) \d+\.\d+\.\d+")
        self.make_data()
        self.good("fit", "data.csv", "y ~ x1", *SHORT, "--out", "run")
        self.assertEqual(lines["SIMD"], self.run_json("run")["simd"])
        self.assertRegex(lines["threads"], rf"^{os.cpu_count()}\b")
        self.assertRegex(lines["DuckDB"], r"^v\d+\.\d+\.\d+ \(.*\): reads Parquet|^not found\. .* ./setup --duckdb")
        self.assertRegex(lines["netCDF"], r"^\d+\.\d+\.\d+ \(libnetcdf\.so.*\): writes draws\.nc|^not found\. .*libnetcdf19")
        self.assertIn("module mlo", lines["Python"])
        self.assertRegex(lines["report"], "^plots (can be zoomed|are fixed)")

    def test_what_is_not_there_is_said_with_a_remedy(self):
        text = self.good("doctor", variables={"MLO_NETCDF": "/nowhere.so", "MLO_DUCKDB": "/nowhere.so", "PATH": "/nowhere"}).stdout
        self.assertRegex(text, r"(?m)^netCDF +not found\. .*MLO_NETCDF names cannot be loaded: /nowhere\.so")
        self.assertRegex(text, r"(?m)^DuckDB +not found\. .*MLO_DUCKDB names cannot be loaded: /nowhere\.so")
        self.assertRegex(text, r"(?m)^Python +module mlo not found by python3$")


class Words(CommandTest):
    def setUp(self):
        super().setUp()
        self.make_data()

    def test_a_fit_that_keeps_nothing_says_once_how_to_keep_the_draws(self):
        self.assertEqual(self.good("fit", "data.csv", "y ~ x1", *SHORT).stderr.count(HINT), 1)
        self.assertEqual(self.good("fit", "data.csv", "y ~ x1", *SHORT, "--json").stderr.count(HINT), 1)

    def test_it_does_not_where_it_would_be_noise(self):
        self.assertEqual(self.good("fit", "data.csv", "y ~ x1", *SHORT, "--quiet").stderr, "")
        self.assertNotIn("not kept", self.good("fit", "data.csv", "y ~ x1", *SHORT, "--out", "run").stderr)
        self.assertNotIn("not kept", self.good("fit", "data.csv", "y ~ x1", "--dry-run").stderr)

    def on_terminal(self, **variables):
        """What a terminal on standard output and standard error gets."""
        ours, theirs = pty.openpty()
        environment = {key: value for key, value in self.environment().items() if key not in ("NO_COLOR", "TERM")}
        with subprocess.Popen([COMMAND, "fit", "data.csv", "y ~ x1 + x2", "--method", "mlo", *SHORT],
                              cwd=self.directory, env=dict(environment, **variables), stdin=subprocess.DEVNULL,
                              stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            seen = b""
            while True:
                try:
                    piece = os.read(ours, 65536)
                except OSError:  # the other end is closed
                    break
                if not piece:
                    break
                seen += piece
            process.wait(PATIENCE_SECONDS)
        os.close(ours)
        self.assertEqual(process.returncode, 0, seen)
        self.assertIn(b"method mlo", seen)
        return seen

    def test_there_are_no_colours(self):
        for variables in ({"TERM": "xterm-256color"}, {"TERM": "xterm-256color", "NO_COLOR": "1"}):
            seen = self.on_terminal(**variables)
            self.assertIn(b"\x1b[K", seen)  # a line that changes
            self.assertNotRegex(seen, rb"\x1b\[[\d;]*m")

    def test_a_dumb_terminal_gets_plain_lines(self):
        self.assertNotIn(b"\x1b", self.on_terminal(TERM="dumb"))


if __name__ == "__main__":
    unittest.main()
