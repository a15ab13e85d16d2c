# Copyright (c) the mlo authors. BSD-3-Clause.
"""Data in every format that mlo fit reads: the same draws from all of them, and messages where something is wrong."""
import ctypes
import gzip
import json
import math
import os
import random
import signal
import struct
import unittest

import duckdb_library
from support import CommandTest

USAGE, DATA = 2, 3
SHORT = ("--seed", "5", "--chains", "2", "--warmup", "100", "--draws", "100", "--quiet")


def zstd(data):
    """One frame, by libzstd, on which Debian's dpkg depends."""
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(library.ZSTD_compressBound(ctypes.c_size_t(len(data))))
    size = library.ZSTD_compress(room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(len(data)), 3)
    return room.raw[:size]


def npy(names, rows):
    """An array of records of doubles, as numpy.save writes it; None is NaN."""
    descr = "[" + ", ".join(f"('{name}', '<f8')" for name in names) + "]"
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': ({len(rows)},), }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    cells = [math.nan if cell is None else float(cell) for row in rows for cell in row]
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(cells)}d", *cells)


class FormatTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.variables = {}

    def environment(self):
        return dict(super().environment(), **self.variables)

    def need_duckdb(self):
        if duckdb_library.find() is None:
            words = "DuckDB's library is not there; ./setup --duckdb gets it"
            if os.environ.get("MLO_REQUIRE_DUCKDB") == "1":
                self.fail(words)
            self.skipTest(words)

    def sql(self, statement, database=None):
        duckdb_library.run(statement, database and self.path(database))

    def refused(self, code, words, *args):
        result = self.mlo("fit", *args, "--quiet")
        self.assertEqual((result.code, result.stdout), (code, ""), result.stderr)
        self.assertEqual(result.stderr, f"mlo fit: {words}\n")


class SameData(FormatTest):
    """One table in all formats. Its cells have all the digits a double has, blanks, and a column of text."""

    names = ("y", "x1", "x2", "colour")
    formula = "y ~ x1 + x2 + colour"

    def setUp(self):
        super().setUp()
        source = random.Random(3)
        self.rows = []
        for k in range(700):
            x1, x2 = source.gauss(0, 1), round(source.gauss(5, 20), 2)
            y = int(source.random() < 1 / (1 + math.exp(-0.3 - x1 + 0.05 * x2)))
            self.rows.append([y, None if k % 50 == 7 else x1, None if k % 90 == 11 else x2,
                              source.choice(("red", "dark blue", "grün", None))])
        self.write("data.csv", self.csv(self.rows).encode())
        self.expected = self.fitted("plain", "data.csv", self.formula)
        self.assertEqual(list(self.expected[2]), ["(Intercept)", "x1", "x2", "colourgrün", "colourred"])

    def csv(self, rows, names=None):
        order = [self.names.index(name) for name in names or self.names]
        lines = [[self.names[k] for k in order]] + [["" if row[k] is None else str(row[k]) for k in order] for row in rows]
        return "".join(",".join(line) + "\n" for line in lines)

    def fitted(self, run, *args, piped=None):
        self.good("fit", *args, *SHORT, "--out", run, piped=piped)
        summary = self.run_json(run)["summary"]
        return [self.draws(run, chain).text_rows for chain in (1, 2)], summary["data"], summary["parameters"]

    def same(self, run, *args, **kwargs):
        self.assertEqual(self.fitted(run, *args, self.formula, **kwargs), self.expected)

    def test_rows_were_dropped_so_that_missing_cells_count(self):
        used = sum(None not in row for row in self.rows)
        self.assertLess(used, 600)
        self.assertEqual(self.expected[1], {"rows": 700, "used": used, "dropped": 700 - used})

    def test_gzip_and_zstd(self):
        data = self.read("data.csv")
        self.write("data.csv.gz", gzip.compress(data))
        self.write("data.csv.zst", zstd(data))
        self.same("gzip", "data.csv.gz")
        self.same("zstd", "data.csv.zst")

    def test_standard_input(self):
        self.same("stdin", "-", piped=self.read("data.csv"))
        self.same("stdin-gzip", "-", piped=gzip.compress(self.read("data.csv")))

    def test_seven_files_named_one_by_one_and_by_a_pattern(self):
        files = []
        for k in range(7):
            part = self.rows[100 * k:100 * (k + 1)]
            names = self.names if k % 2 == 0 else tuple(reversed(self.names))
            text = self.csv(part, names).encode()
            files.append(self.write(f"part-{k}.csv" + (".gz" if k == 3 else ""), gzip.compress(text) if k == 3 else text))
        self.same("named", *files)
        self.same("pattern", "part-*")
        self.assertEqual(self.run_json("pattern")["options"]["data"], "part-*")
        self.assertEqual(self.run_json("named")["options"]["data"], files)

    def test_parquet_and_queries(self):
        self.need_duckdb()
        self.sql(f"copy (select * from read_csv('{self.path('data.csv')}')) to '{self.path('data.parquet')}'")
        self.same("parquet", "data.parquet")
        self.same("query-parquet", "--sql", "select * from 'data.parquet'")
        self.same("query-csv", "--sql", "select x2, colour, x1, y from 'data.csv'")
        for k in range(7):
            self.sql(f"copy (select * from read_csv('{self.path('data.csv')}') limit 100 offset {100 * k}) "
                     f"to '{self.path(f'part-{k}.parquet')}'")
        self.same("parquet-parts", "part-*.parquet")
        self.sql(f"create table t as select * from read_csv('{self.path('data.csv')}')", "data.duckdb")
        self.same("database", "data.duckdb", "--sql", "select * from t")

    def test_json_lines(self):
        self.need_duckdb()
        lines = [json.dumps({name: cell for name, cell in zip(self.names, row) if cell is not None}) for row in self.rows]
        self.write("data.jsonl", "\n".join(lines) + "\n")
        self.same("json", "data.jsonl")

    def test_numpy(self):
        self.write("data.npy", npy(self.names[:3], [row[:3] for row in self.rows]))
        numbers = "y ~ x1 + x2"
        self.assertEqual(self.fitted("numpy", "data.npy", numbers), self.fitted("csv", "data.csv", numbers))

    def test_methods_are_compared_on_several_files_and_queries(self):
        half = len(self.rows) // 2
        self.write("a.csv", self.csv(self.rows[:half]).encode())
        self.write("b.csv", self.csv(self.rows[half:]).encode())
        short = ("--methods", "exact", "--warmup", "50", "--draws", "100", "--reference-draws", "100", "--json", "--quiet")

        def compared(*args):
            return json.loads(self.good("bench-methods", *args, self.formula, *short).stdout)["reference"]

        self.assertEqual(compared("a.csv", "b.csv"), compared("data.csv"))
        if duckdb_library.find():
            self.assertEqual(compared("--sql", "select * from 'data.csv'"), compared("data.csv"))


class Resumed(FormatTest):
    """A run of several files, or of a query, knows its data again."""

    def interrupted_run(self, *data):
        process = self.start("fit", *data, "y ~ x1 + x2", "--seed", "3", "--draws", "1000000", "--method", "full",
                             "--chains", "1", "--out", "run")
        self.wait_for(process, "sampl")
        result = self.signalled(process, signal.SIGINT)
        self.assertEqual(result.code, 130, result.stderr)

    def test_files_that_have_changed_are_noticed(self):
        for name, seed in (("a.csv", 1), ("b.csv", 2)):
            self.make_data(name, rows=2000, seed=seed)
        self.interrupted_run("?.csv")
        text = self.read("b.csv").decode()
        self.make_data("b.csv", rows=2000, seed=3)
        result = self.mlo("fit", "--resume", "--out", "run", "--quiet")
        self.assertEqual(result.code, DATA)
        self.assertIn("?.csv: has changed since the run in run began", result.stderr)
        self.write("b.csv", text)
        process = self.start("fit", "--resume", "--out", "run")
        self.wait_for(process, "sampl")
        self.assertEqual(self.signalled(process, signal.SIGINT).code, 130)

    def test_a_query_is_run_again(self):
        self.need_duckdb()
        self.make_data("a.csv", rows=2000)
        self.interrupted_run("--sql", "select * from 'a.csv'")
        process = self.start("fit", "--resume", "--out", "run")
        self.wait_for(process, "sampl")
        self.assertEqual(self.signalled(process, signal.SIGINT).code, 130)


class SeveralFiles(FormatTest):
    def test_the_first_file_that_differs_is_named_with_the_difference(self):
        self.write("a.csv", "y,x\n1,2\n")
        self.write("b.csv", "x,y\n1,2\n")
        self.write("c.csv", "y,X\n1,2\n")
        self.refused(DATA, 'c.csv: has no column "x", and has the additional column "X", unlike a.csv; the files of one data '
                           "set must have the same columns, in any order", "a.csv", "b.csv", "c.csv", "y ~ x")

    def test_a_pattern_without_files_is_named(self):
        self.refused(DATA, "part-*.csv: no such file, and no file whose name matches it as a pattern with * ? [ ]",
                     "part-*.csv", "y ~ x")

    def test_a_file_does_not_count_twice(self):
        self.write("a.csv", "y,x\n1,2\n")
        self.refused(DATA, "a.csv: the file is named twice; its rows would count twice", "a.csv", "*.csv", "y ~ x")

    def test_a_row_is_named_by_its_file_and_line(self):
        self.write("a.csv", "y,x\n1,2\n0,3\n")
        self.write("b.csv", "y,x\n\n1,5\n7,6\n")
        self.refused(DATA, 'b.csv:4: response "y": a logistic model needs 0 or 1 (got 7); '
                     '--family gaussian is for any number, --family poisson for counts, --family softmax for classes', "a.csv", "b.csv", "y ~ x")

    def test_the_formula_comes_last(self):
        self.write("a.csv", "y,x\n1,2\n")
        self.refused(USAGE, "extra argument after the formula: b.csv; the formula comes last", "a.csv", "y ~ x", "b.csv")
        self.refused(USAGE, "DATA and FORMULA must not be empty", "", "y ~ x")

    def test_standard_input_is_not_one_of_several(self):
        self.refused(USAGE, "DATA: standard input (-) cannot be one of several files", "a.csv", "-", "y ~ x")


class Duckdb(FormatTest):
    def test_without_its_library_it_says_how_to_get_it(self):
        if ctypes.util.find_library("duckdb"):
            self.skipTest("DuckDB is where the system looks for libraries")
        self.write("data.parquet", b"PAR1")
        self.write("data.jsonl", b"{}")
        self.variables = {"MLO_DUCKDB": "", "HOME": self.directory, "XDG_DATA_HOME": ""}
        remedy = ("are read by DuckDB, whose library libduckdb.so is not on this machine. Get it with ./setup --duckdb in "
                  "mlo's source folder (24 MB), or set MLO_DUCKDB to the path of one you have")
        self.refused(DATA, f"data.parquet: Parquet files {remedy}", "data.parquet", "y ~ x")
        self.refused(DATA, f"data.jsonl: JSON files {remedy}", "data.jsonl", "y ~ x")
        self.refused(DATA, f"--sql: queries {remedy}", "y ~ x", "--sql", "select 1 as y")

    def test_a_library_that_cannot_be_loaded_is_named(self):
        self.write("data.parquet", b"PAR1")
        self.write("text.so", b"not a library")
        for library in ("/nowhere/libduckdb.so", self.path("text.so")):
            self.variables = {"MLO_DUCKDB": library}
            result = self.mlo("fit", "data.parquet", "y ~ x", "--quiet")
            self.assertEqual((result.code, result.stdout), (DATA, ""))
            self.assertRegex(result.stderr, "^mlo fit: data.parquet: Parquet files are read by DuckDB, but the library that "
                                            f"MLO_DUCKDB names cannot be loaded: {library}: ")

    def test_another_library_is_told_from_duckdb(self):
        self.write("data.parquet", b"PAR1")
        self.variables = {"MLO_DUCKDB": "libz.so.1"}
        self.refused(DATA, "data.parquet: Parquet files are read by DuckDB, but libz.so.1 has no function "
                           "duckdb_library_version: it is not DuckDB, or older than 1.4. Get a newer one with ./setup "
                           "--duckdb, or set MLO_DUCKDB to the path of one you have", "data.parquet", "y ~ x")

    def test_what_duckdb_says_of_a_query_is_passed_on_with_it(self):
        self.need_duckdb()
        result = self.mlo("fit", "y ~ x", "--sql", "select y, x from nowhere", "--quiet")
        self.assertEqual((result.code, result.stdout), (DATA, ""))
        self.assertRegex(result.stderr, "^mlo fit: --sql: Catalog Error: Table with name nowhere does not exist")
        self.assertIn("select y, x from nowhere", result.stderr)

    def test_a_row_of_a_query_is_named_by_its_number(self):
        self.need_duckdb()
        self.refused(DATA, '--sql, row 2: response "y": a logistic model needs 0 or 1 (got 7); '
                     '--family gaussian is for any number, --family poisson for counts, --family softmax for classes', "y ~ x", "--sql",
                     "select * from (values (1, 2), (7, 3), (0, 1)) t(y, x)")

    def test_a_database_needs_a_query(self):
        self.need_duckdb()
        self.sql("create table sales(y int, x int)", "shop.duckdb")
        self.refused(USAGE, 'shop.duckdb is a database, with the tables sales; say what to read from it with --sql, e.g. '
                            '"select * from sales"', "shop.duckdb", "y ~ x")

    def test_a_query_does_not_take_other_files(self):
        self.need_duckdb()
        self.write("a.csv", "y,x\n1,2\n")
        self.refused(USAGE, "with --sql, DATA is a DuckDB database or is left out, and a.csv is not one; name files in the "
                            "query: select ... from 'a.csv'", "a.csv", "y ~ x", "--sql", "select * from 'a.csv'")

    def test_a_query_must_give_rows(self):
        self.need_duckdb()
        result = self.mlo("fit", "y ~ x", "--sql", "create table t(x int)", "--quiet")
        self.assertEqual((result.code, result.stdout), (DATA, ""))
        self.assertRegex(result.stderr, "^mlo fit: --sql: must be one query that gives rows")


class Numpy(FormatTest):
    def test_a_truncated_array_is_named_with_the_row(self):
        self.write("data.npy", npy(("y", "x"), [[0, 1], [1, 2], [0, 3]])[:-4])
        self.refused(DATA, "data.npy: truncated: it ends in row 3 of 3", "data.npy", "y ~ x")

    def test_text_is_refused_with_what_to_save(self):
        self.write("data.npy", npy(("y", "x"), [[0, 1]]).replace(b"<f8", b"<U2"))
        self.refused(DATA, 'data.npy: dtype "<U2" (field "y"): text cannot be read: save an array of numbers, or records of '
                           "them, with numpy.save", "data.npy", "y ~ x")


if __name__ == "__main__":
    unittest.main(verbosity=2)
