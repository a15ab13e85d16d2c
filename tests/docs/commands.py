# Copyright (c) the mlo authors. BSD-3-Clause.
"""Runs the commands that the documentation shows.

In README.md and docs/**/*.md, blocks marked ```sh are run by bash, page by page and in order, in a temporary directory of
the page that has the repository's examples/ in it, with the program under test (MLO_COMMAND) on the PATH. A block must
exit with 0, or with the code that a comment in it states:

    # exit code 3

A block with the comment "# needs DuckDB" is left out where DuckDB's library is not there. Blocks marked ```output show
what the block before them printed: their lines must occur in it, in their order. Numbers may differ, because draws and
times depend on the machine; "..." stands for lines that are left out. Blocks marked ```text are not run.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
import duckdb_library  # noqa: E402

COMMAND = os.environ.get("MLO_COMMAND", "")
PATIENCE_SECONDS = int(os.environ.get("MLO_PATIENCE_SECONDS", "200"))
# All commands of these are run, or marked as text: they need files or programs that are not in the repository.
FOR_USERS = ("README.md", "docs/tutorial.md", "docs/data.md", "docs/formula.md", "docs/families.md", "docs/predict.md",
             "docs/report.md", "docs/insurance.md", "docs/groups.md")
LANGUAGES = {"sh", "output", "text", "r", "python", "sql", "cpp", "cmake", "json", "toml", ""}


class Block:
    def __init__(self, page, line, language, text):
        self.page, self.line, self.language, self.text = page, line, language, text

    def place(self):
        return f"{self.page}:{self.line}"

    def exit_code(self):
        stated = re.search(r"# exit code (\d+)\b", self.text)
        return int(stated[1]) if stated else 0

    def needs_duckdb(self):
        return "# needs DuckDB" in self.text

    def shows_commands(self):
        return re.search(r"(?m)^\s*(?:\$ )?mlo (?!\w[\w-]*: )", self.text) is not None


def pages():
    names = ["README.md", *sorted(glob.glob("docs/**/*.md", root_dir=ROOT, recursive=True))]
    return [name for name in names if not name.startswith("docs/adr/")]


def blocks_of(page):
    blocks, start = [], None
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fence = re.match(r"\s*```(.*)$", line)
            if fence and start is None:
                start, language, text = number, fence[1].strip(), ""
            elif fence:
                blocks.append(Block(page, start, language, text))
                start = None
            elif start is not None:
                text += line
    if start is not None:
        raise AssertionError(f"{page}:{start}: the block is not closed")
    return blocks


def shape(line):
    """A line without its numbers (x1 is a name) and the widths of its columns."""
    return re.sub(r"\s+", " ", re.sub(r"(?<![A-Za-z_\d.])[-+]?\d[\d,.]*(?:e[-+]?\d+)?", "#", line)).strip()


def first_missing(shown, printed):
    """The first line that is shown and was not printed, in this order; None if all were."""
    lines = iter([shape(line) for line in re.split(r"[\r\n]+", printed)])
    for line in shown.splitlines():
        wanted = shape(line)
        if wanted and wanted != "..." and wanted not in lines:  # `in` uses up the lines before
            return line
    return None


class Documentation(unittest.TestCase):
    def environment(self):
        path = os.path.dirname(os.path.abspath(COMMAND)) + os.pathsep + os.environ["PATH"]
        return dict(os.environ, LC_ALL="C", PATH=path)

    def run_page(self, page):
        blocks = blocks_of(page)
        for block in blocks:
            self.assertIn(block.language, LANGUAGES, f"{block.place()}: unknown kind of block")
            if block.language == "" and page in FOR_USERS:
                self.assertFalse(block.shows_commands(), f"{block.place()}: mark commands with sh, or text if they "
                                                         "cannot be run here")
        with tempfile.TemporaryDirectory(prefix="mlo-docs-") as directory:
            os.symlink(os.path.join(ROOT, "examples"), os.path.join(directory, "examples"))
            printed = None
            for block in blocks:
                if block.language == "output" and printed is not None:
                    missing = first_missing(block.text, printed)
                    self.assertIsNone(missing, f"{block.place()}: was not printed in this place; all that was:\n{printed}")
                if block.language != "sh":
                    continue
                if block.needs_duckdb() and duckdb_library.find() is None:
                    printed = None
                    continue
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], cwd=directory,
                                      env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, timeout=PATIENCE_SECONDS, check=False)
                printed = done.stdout.decode()
                self.assertEqual(done.returncode, block.exit_code(), f"{block.place()}:\n{block.text}\n{printed}")

    def test_pages_for_users_have_commands_that_run(self):
        for page in FOR_USERS:
            self.assertTrue(any(block.language == "sh" for block in blocks_of(page)), page)

    def test_what_was_not_printed_is_noticed(self):
        printed = "rows 50,000\nx1  0.25  4e-05\nWARNING: noise\nseed 7\n"
        self.assertIsNone(first_missing("rows 40\n...\nx1   -3   1\nseed 8\n", printed))
        self.assertEqual(first_missing("x1 1 1\nrows 40\n", printed), "rows 40")
        self.assertEqual(first_missing("x2 1 1\n", printed), "x2 1 1")


def add_tests():
    if not COMMAND:
        sys.exit("set MLO_COMMAND to the program under test")
    for page in pages():
        if not any(block.language == "sh" for block in blocks_of(page)):
            continue
        name = "test_" + re.sub(r"\W+", "_", page.removesuffix(".md"))
        setattr(Documentation, name, lambda self, page=page: self.run_page(page))


if __name__ == "__main__":
    add_tests()
    unittest.main(verbosity=2)
