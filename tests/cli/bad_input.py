# Copyright (c) the mlo authors. BSD-3-Clause.
"""Every mistake a user can make ends with one message that says what is wrong and where, the right exit code, and
nothing on standard output."""
import gzip
import os
import re
import shutil
import stat
import threading
import unittest

from support import CommandTest, documented_options, uniform

USAGE, DATA, MODEL = 2, 3, 4
SHORT = ("--chains", "1", "--warmup", "20", "--draws", "20", "--seed", "1")


# What options are for, as the messages say it.
SIZED = "difference, uniform, mlo, mlo-adaptive, austerity, confidence, barker, penalty and block"
COMPOSED = "difference, uniform, mlo, mlo-adaptive, austerity, confidence, barker and penalty"
WEIGHTED = "difference, mlo, mlo-adaptive, austerity, barker and penalty"
POINTED = "mlo, mlo-adaptive, austerity, barker and penalty"
GROWING = "difference, mlo-adaptive, austerity, barker and penalty"
TESTING = "mlo-adaptive, austerity and confidence"


class BadInputTest(CommandTest):
    def refused(self, code, message, *args):
        """With --quiet, standard error holds the message and nothing else."""
        result = self.mlo("fit", *args, "--quiet")
        self.assertEqual(result.stderr, f"mlo fit: {message}\n")
        self.assertEqual(result.code, code)
        self.assertEqual(result.stdout, "")


class Files(BadInputTest):
    def test_a_file_that_does_not_exist_is_named(self):
        self.refused(DATA, "nosuch.csv: no such file", "nosuch.csv", "y ~ x1")

    def test_a_directory_is_not_taken_for_a_file(self):
        os.mkdir(self.path("folder"))
        self.refused(DATA, "folder: is a directory, not a file", "folder", "y ~ x1")

    def test_an_empty_file_is_called_empty(self):
        for contents in ("", "\n\n"):
            self.write("empty.csv", contents)
            self.refused(DATA, "empty.csv: the file is empty", "empty.csv", "y ~ x1")

    def test_a_file_with_a_header_only_has_no_rows(self):
        self.write("header.csv", "y,x1\n")
        self.refused(DATA, "header.csv: no data rows, only a header line", "header.csv", "y ~ x1")

    def test_a_row_that_is_too_short_is_named_by_its_line(self):
        self.write("data.csv", "y,x1\n1,2\n0\n1,3\n")
        self.refused(DATA, "data.csv:3: 1 cell, but the header has 2", "data.csv", "y ~ x1")

    def test_a_row_that_is_too_long_is_named_by_its_line(self):
        self.write("data.csv", "y,x1\n1,2\n0,3\n0,1,4\n")
        self.refused(DATA, "data.csv:4: 3 cells, but the header has 2", "data.csv", "y ~ x1")

    def test_a_line_of_10_megabytes_is_refused_wherever_it_stands(self):
        self.write("cell.csv", "y,x1\n1,2\n0," + "1" * 10_000_000 + "\n1,3\n")
        self.refused(DATA, "cell.csv:3: the line is longer than 8 MiB; is this a CSV file?", "cell.csv", "y ~ x1")
        self.write("header.csv", "a" * 10_000_000 + "\n1\n")
        self.refused(DATA, "header.csv:1: the line is longer than 8 MiB; is this a CSV file?", "header.csv", "y ~ x1")

    def test_nul_bytes_are_named_by_their_line(self):
        self.write("data.csv", b"y,x1\n1,2\n0,\0\0\n1,3\n")
        self.refused(DATA, "data.csv:3: a NUL byte; is this UTF-16 text or a binary file? Save it as UTF-8 text",
                     "data.csv", "y ~ x1")
        self.write("binary.csv", b"\0" * 1000)
        self.refused(DATA, "binary.csv:1: a NUL byte; is this UTF-16 text or a binary file? Save it as UTF-8 text",
                     "binary.csv", "y ~ x1")

    def test_a_truncated_gzip_file_is_called_truncated(self):
        self.make_data()
        packed = gzip.compress(self.read("data.csv"))
        for size in (len(packed) // 2, len(packed) - 1):
            self.write("data.csv.gz", packed[:size])
            self.refused(DATA, "data.csv.gz: the gzip data end too early; the file is truncated",
                         "data.csv.gz", "y ~ x1")

    def test_a_corrupt_gzip_file_is_called_corrupt(self):
        self.make_data()
        packed = bytearray(gzip.compress(self.read("data.csv")))
        packed[-6] ^= 0xFF  # in the checksum: the data themselves inflate
        self.write("data.csv.gz", bytes(packed))
        self.refused(DATA, "data.csv.gz: the gzip data are corrupt (incorrect checksum or length)", "data.csv.gz", "y ~ x1")

    def test_without_quiet_the_message_comes_last_and_standard_output_stays_empty(self):
        result = self.mlo("fit", "nosuch.csv", "y ~ x1")
        self.assertEqual(result.stderr.splitlines()[-1], "mlo fit: nosuch.csv: no such file")
        self.assertEqual((result.code, result.stdout), (DATA, ""))


class Reading(BadInputTest):
    """How a file is to be read: options, compression and standard input."""

    table = "y,x1\n" + "".join(f"{i % 2},{i % 7}.5\n" for i in range(40))

    def setUp(self):
        super().setUp()
        self.write("data.csv", self.table)

    def refused_option(self, message, *options):
        self.refused(USAGE, message, "data.csv", "y ~ x1", *options)

    def test_options_with_impossible_values_are_named(self):
        for option in ("delimiter", "comment"):
            for value in ("", ";;", "a", "7", " ", '"', ".", "-"):
                with self.subTest(option=option, value=value):
                    self.refused_option(f"--{option} must be one character, but not a letter, a digit, a blank, a "
                                        f'quote, a sign or a point; or tab (got "{value}")', f"--{option}", value)
        self.refused_option('--decimal must be one of ., , (got ";")', "--decimal", ";")
        self.refused_option('--delimiter and --decimal must differ (both are ",")', "--delimiter", ",", "--decimal", ",")
        self.refused_option('--comment must differ from --delimiter and --decimal (got "|")', "--comment", "|",
                            "--delimiter", "|")

    def test_types_that_make_no_sense_are_named(self):
        self.refused_option('--type must be COLUMN=text or COLUMN=number (got "x1")', "--type", "x1")
        self.refused_option('--type of "x1" must be one of text, number (got "real")', "--type", "x1=real")
        self.refused_option('--type of "x1" is given twice', "--type", "x1=text", "--type", "x1=number")
        self.refused_option('--type: data.csv has no column "x3"', "--type", "x3=text")

    def test_the_same_table_gives_the_same_draws_however_it_is_written(self):
        self.good("fit", "data.csv", "y ~ x1", "--out", "reference", *SHORT)
        self.write("semicolons.csv", self.table.replace(",", ";").replace(".", ","))
        self.write("tabs.tsv", self.table.replace(",", "\t"))
        self.write("odd.csv", "# a comment\n" + self.table.replace(",", ":") + "# the end\n1:-\n")
        self.write("data.csv.gz", gzip.compress(self.table.encode()))
        for k, args in enumerate((("semicolons.csv",), ("tabs.tsv",), ("data.csv.gz",),
                                  ("odd.csv", "--comment", "#", "--delimiter", ":", "--na", "-"))):
            with self.subTest(args=args):
                self.good("fit", args[0], "y ~ x1", "--out", f"run{k}", *args[1:], *SHORT)
                self.assertEqual(self.draws(f"run{k}", 1).text_rows, self.draws("reference", 1).text_rows)

    def test_standard_input_is_read_and_named_in_messages(self):
        self.good("fit", "data.csv", "y ~ x1", "--out", "reference", *SHORT)
        for text in (self.table.encode(), gzip.compress(self.table.encode())):
            result = self.mlo("fit", "-", "y ~ x1", "--out", "run", *SHORT, piped=text)
            self.assertEqual(result.code, 0, result.stderr)
            self.assertEqual(self.draws("run", 1).text_rows, self.draws("reference", 1).text_rows)
            shutil.rmtree(self.path("run"))
        result = self.mlo("fit", "-", "y ~ x1", "--quiet", piped=b"y,x1\n1,2\n1\n")
        self.assertEqual((result.code, result.stderr), (DATA, "mlo fit: standard input:3: 1 cell, but the header has 2\n"))

    def test_how_a_file_is_read_is_kept_with_the_run(self):
        self.write("odd.csv", "# a comment\n" + self.table.replace(",", ":") + "1:-\n")
        self.good("fit", "odd.csv", "y ~ x1", "--out", "run", "--comment", "#", "--delimiter", ":", "--na", "-",
                  "--type", "x1=number", *SHORT)
        options = self.run_json("run")["options"]
        self.assertEqual({name: options[name] for name in ("comment", "delimiter", "decimal", "na", "type")},
                         {"comment": "#", "delimiter": ":", "decimal": None, "na": "-", "type": [["x1", "number"]]})

    def test_types_are_read_from_a_config_file(self):
        self.write("options.toml", 'type = ["x1=number", "y=number"]\ndraws = 20\nwarmup = 20\n')
        self.good("fit", "data.csv", "y ~ x1", "--config", "options.toml")


class Cells(BadInputTest):
    def test_text_in_a_numeric_column_is_named_by_line_column_and_value(self):
        self.write("data.csv", "y,x1\n1,2\n0,1.5x\n1,3\n")
        self.refused(DATA, 'data.csv:3: column "x1": "1.5x" is not a number; 1 of 3 cells is not: correct it, or list '
                           "the spelling with --na if it means missing", "data.csv", "y ~ log(x1)")

    def test_a_text_column_is_told_from_a_mistaken_cell(self):
        self.write("data.csv", "y,city\n1,Oslo\n0,Rome\n1,Bern\n")
        self.refused(DATA, 'data.csv:2: column "city" holds text ("Oslo"), but log() needs numbers', "data.csv",
                     "y ~ log(city)")

    def test_a_word_in_a_column_that_is_said_to_hold_numbers_is_named(self):
        self.write("data.csv", "y,x1\n1,2\n0,1.5x\n1,3\n")
        self.refused(DATA, 'data.csv:3: column "x1": "1.5x" is not a number, but --type says that the column holds '
                           "numbers; correct the cell, or list its spelling with --na if it means missing", "data.csv",
                     "y ~ x1", "--type", "x1=number")

    def test_text_that_is_not_utf8_is_named_by_line_column_and_value(self):
        self.write("data.csv", "y,city\n1,Oslo\n0,M\u00fcnchen\n".encode("latin-1"))
        self.refused(DATA, 'data.csv:3: column "city": "M\\xfcnchen" is not UTF-8 text; save the file as UTF-8, for '
                           "example with iconv -f WINDOWS-1252 -t UTF-8", "data.csv", "y ~ city")

    def test_text_in_a_column_that_the_formula_does_not_use_is_no_mistake(self):
        self.write("data.csv", "y,x1,city\n1,2,Oslo\n0,3,Rome\n1,1,Bern\n0,1,Oslo\n")
        self.good("fit", "data.csv", "y ~ x1", *SHORT)

    def test_cells_that_are_not_finite_are_named_by_line_column_and_value(self):
        for cell in ("NaN", "Inf", "-inf", "1e999"):
            with self.subTest(cell=cell):
                self.write("data.csv", f"y,x1\n1,2\n0,{cell}\n1,3\n")
                self.refused(DATA, f'data.csv:3: column "x1": "{cell}" is not a finite number; leave the cell empty '
                                   "or write NA if the value is missing, or list its spelling with --na", "data.csv",
                             "y ~ x1")

    def test_the_logarithm_of_zero_is_named_by_line_and_value(self):
        self.write("data.csv", "y,x1\n1,2\n0,1\n1,0\n0,5\n")
        self.refused(DATA, "data.csv:4: log(x1) is -inf (x1 = 0)", "data.csv", "y ~ log(x1)")

    def test_the_root_of_a_negative_number_is_named_by_line_and_value(self):
        self.write("data.csv", "y,x1\n1,2\n0,1\n1,-4\n0,5\n")
        self.refused(DATA, "data.csv:4: sqrt(x1) is nan (x1 = -4)", "data.csv", "y ~ sqrt(x1)")

    def test_rows_that_all_have_a_missing_cell_leave_nothing_to_fit(self):
        self.write("data.csv", "y,x1,x2\n1,NA,1\n0,,2\n1,3,\n")
        self.refused(DATA, 'data.csv: every row has a missing cell; column "x1" is missing most often, in 2 of 3 rows',
                     "data.csv", "y ~ x1 + x2")

    def test_missing_error_names_the_first_missing_cell(self):
        self.write("data.csv", "y,x1\n1,2\n0,\n1,NA\n")
        self.refused(DATA, 'data.csv:3: column "x1": the cell is empty or NA (--missing error)', "data.csv", "y ~ x1", "--missing", "error")


class Formulas(BadInputTest):
    def setUp(self):
        super().setUp()
        self.make_data(rows=50)

    def test_an_unknown_column_comes_with_the_nearest_name(self):
        self.refused(USAGE, 'formula: no column "x11" in the data; did you mean "x1"?', "data.csv", "y ~ x11")

    def test_an_unknown_column_without_a_near_name_comes_with_all_names(self):
        self.refused(USAGE, 'formula: no column "distance" in the data; its columns are "y", "x1", "x2"',
                     "data.csv", "y ~ distance")

    def test_a_syntax_error_is_named_by_its_position(self):
        self.refused(USAGE, "formula: expected a term after '+' (position 10)\n  y ~ x1 + \n           ^",
                     "data.csv", "y ~ x1 + ")
        self.refused(USAGE, "formula: '(' is not closed (position 5)\n  y ~ (x1\n      ^", "data.csv", "y ~ (x1")

    def test_a_formula_without_a_tilde_is_shown_how_to_write_one(self):
        self.refused(USAGE, "formula: no '~' in \"y x1\"; write response ~ terms, as in y ~ x1 + x2",
                     "data.csv", "y x1")

    def test_an_unknown_function_comes_with_the_known_ones(self):
        self.refused(USAGE, "formula: unknown function foo() (known: abs, as.factor, as.numeric, bs, C, c, cbind, "
                            "ceiling, cos, cut, days, exp, expm1, factor, floor, hour, I, ifelse, is.na, log, log10, "
                            "log1p, log2, mday, minute, month, ns, offset, pmax, pmin, poly, relevel, round, scale, "
                            "second, sign, sin, sqrt, tan, trunc, wday, yday, year) (position 5)\n  y ~ foo(x1)\n"
                            "      ^", "data.csv", "y ~ foo(x1)")


class Terms(BadInputTest):
    """Formulas that are well written and do not fit the data: factors, dates, functions of columns."""

    def setUp(self):
        super().setUp()
        self.write("data.csv", "y,x,city,day,k,id\n" + "".join(
            f"{i % 2},{i * 7 % 60},{'abc'[i % 3]},2024-0{1 + i % 9}-1{i % 10},{i % 5},u{i}\n" for i in range(60)))

    def refused_term(self, code, message, term, *options):
        with self.subTest(term=term, options=options):
            self.refused(code, message, "data.csv", f"y ~ {term}", *options)

    def refused_at(self, position, message, term):
        """The message points at the place in the formula."""
        self.refused_term(USAGE, f"formula: {message} (position {position})\n  y ~ {term}\n" + " " * (position + 1) + "^",
                          term)

    def test_text_where_numbers_are_needed_is_named_by_line_column_and_value(self):
        for function in ("log", "scale", "round", "offset"):
            self.refused_term(DATA, f'data.csv:2: column "city" holds text ("a"), but {function}() needs numbers',
                              f"{function}(city)")
        self.refused_term(DATA, 'data.csv: column "city" holds text ("a"), but x is a number: \'>\' cannot compare them',
                          "(city > x)")
        self.refused_term(DATA, 'data.csv:2: column "city": "a" is not a number, but --type says that the column holds '
                                "numbers; correct the cell, or list its spelling with --na if it means missing",
                          "city", "--type", "city=number")

    def test_dates_come_with_the_functions_that_make_numbers_of_them(self):
        names = "year, month, mday, yday, wday, hour, minute, second, days"
        self.refused_term(DATA, 'data.csv:2: column "day" holds text ("2024-01-10"), but log() needs numbers; these '
                                f"functions make numbers of dates: {names}", "log(day)")
        self.refused_term(DATA, 'data.csv: day has 60 levels ("2024-01-10", "2024-01-14", ...), more than --max-levels 50 '
                                f"allows: these are dates, and these functions make numbers of them: {names}",
                          "day", "--max-levels", "50")
        text = " ".join(self.good("fit", "data.csv", "y ~ day", *SHORT).stdout.split())
        self.assertIn(f'day: 60 levels, base "2024-01-10"; dates; these functions make numbers of them: {names} ', text)

    def test_a_date_that_is_none_is_named_by_line_and_value(self):
        remedy = "; correct it, or list the spelling with --na if it means missing"
        self.write("dates.csv", "y,day\n1,2024-02-29\n0,2024-02-30\n1,2024-01-01\n0,2024-01-02\n")
        self.refused(DATA, 'dates.csv:3: year(day): "2024-02-30" is not a date in ISO form, as 2024-02-29: February 2024 '
                           f"has 29 days{remedy}", "dates.csv", "y ~ year(day)")
        self.refused_term(DATA, 'data.csv:2: month(city): "a" is not a date in ISO form, as 2024-02-29: it must look like '
                                f"2024-02-29, 2024-02-29 13:05 or 2024-02-29T13:05:59.5Z{remedy}", "month(city)")
        self.refused_at(5, "year() needs a date such as 2024-02-29, but x is a number", "year(x)")

    def test_a_factor_with_too_many_levels_is_likely_an_identifier(self):
        self.refused_term(DATA, 'data.csv: id has 60 levels ("u0", "u1", ...), more than --max-levels 50 allows: if it is '
                                "an identifier, leave it out; otherwise raise --max-levels", "id", "--max-levels", "50")
        self.refused_term(DATA, 'data.csv: factor(x) has 60 levels ("0", "1", ...), more than --max-levels 50 allows: if it '
                                "is an identifier, leave it out; otherwise raise --max-levels",
                          "factor(x)", "--max-levels", "50")
        for value in ("1", "0", "-3"):
            self.refused_term(USAGE, f"--max-levels must be at least 2 (got {value})", "id", "--max-levels", value)
        self.refused_term(USAGE, '--max-levels must be a whole number of at most 18 digits (got "many")',
                          "id", "--max-levels", "many")

    def test_a_slip_that_makes_text_of_a_column_of_numbers_is_named_by_line_column_and_value(self):
        self.write("typo.csv", "y,x,z\n" + "".join(f"{i % 2},{i if i != 30 else '1.5x'},{i}\n" for i in range(60)))
        message = ('typo.csv:32: column "x": "1.5x" is not a number; 1 of 60 cells is not: correct it, or list the '
                   "spelling with --na if it means missing")
        self.refused(DATA, message, "typo.csv", "y ~ x", "--max-levels", "50")
        self.refused(DATA, message, "typo.csv", "x ~ z", "--family", "gaussian")
        self.refused(DATA, message, "typo.csv", "y ~ sqrt(x)")
        # A factor with a few levels may be meant: 0, 1, 2, "3+". The summary tells.
        text = " ".join(self.good("fit", "typo.csv", "y ~ x", *SHORT).stdout.split())
        self.assertIn('x: 60 levels, base "0"; a factor because 1 of 60 cells is not a number (typo.csv:32: "1.5x")', text)

    def test_levels_that_the_data_do_not_have_are_named(self):
        self.refused_term(DATA, "data.csv: no row has any of the levels of factor(k, levels = c(9))",
                          "factor(k, levels = c(9))")
        self.refused_term(MODEL, '"city == \\"z\\"" has one level ("FALSE") in the rows that are used: it says nothing; '
                                 "remove it from the formula", '(city == "z")')
        self.refused_at(25, 'city has no level "z"; its levels are a, b, c', 'relevel(city, ref = "z")')
        self.refused_at(24, 'the level "1" is there twice', "factor(k, levels = c(1, 1))")
        self.refused_at(42, '"labels" of factor() must be 2 words, one per level',
                        'factor(k, levels = c(1, 2), labels = c("q"))')
        self.refused_at(13, "the contrasts are contr.treatment, contr.sum and contr.helmert", "C(city, contr.poly)")

    def test_arguments_of_functions_are_named_with_their_rule_and_value(self):
        for message, term in (
                ("cut(): the number of intervals must be a whole number between 2 and 10,000 (got 1); for break points "
                 "write c(...) with at least two of them", "cut(x, breaks = c(1))"),
                ("cut(): break points must be different (got 1 twice)", "cut(x, breaks = c(1, 1))"),
                ("cut(): there must be one label per interval, 3 (got 1)", 'cut(x, 3, labels = c("a"))'),
                ("poly(): degree must be less than the number of distinct values, 5 (got 5)", "poly(k, 5)"),
                ("poly(): degree must be a whole number between 1 and 100 (got 0)", "poly(x, 0)"),
                ("bs(): df must be a whole number between 3 (the columns without inner knots) and 60 (the number of "
                 "values) (got 1)", "bs(x, df = 1)"),
                ("ns(): a knot must lie between the boundary knots, 0 and 59 (got 99)", "ns(x, knots = c(99))"),
                ('bs() has no argument "degre"; it is bs(x, df, knots, degree, intercept, Boundary.knots)',
                 "bs(x, degre = 2)"),
                ("scale(): the values must not all be equal (got 60 values, all equal to 0); leave the term out",
                 "scale(I(x * 0))"),
                ("ifelse() takes 3 arguments (got 2)", "ifelse(x > 1, 1)")):
            self.refused_at(5, message, term)

    def test_what_r_has_and_mlo_has_not_comes_with_a_way_out(self):
        self.refused_at(6, "'/' between terms nests one in the other; write I(k/2) for a ratio", "k/2")
        self.refused_at(6, "'^' between terms is for interactions of a group, as in (a + b)^2; write I(x^1.5) for a power",
                        "x^1.5")
        self.refused_at(7, 'a group effect stands in parentheses, as in (1 | g); for "one or the other" write I(1 | city)',
                        "1 | city")
        self.refused_at(7, "'%o%' is not supported", "x %o% k")
        self.refused_at(5, '" is not closed', '"abc')

    def test_a_response_of_text_has_two_levels(self):
        self.refused(MODEL, 'the response city has 3 levels ("a", "b", "c"): use --family softmax, or, for one of them against the others, write '
                            'city == "b" ~ ...', "data.csv", "city ~ x")
        self.refused(MODEL, 'the response city is text ("a"), and a poisson model needs numbers; --family logistic takes '
                            "text with two levels", "data.csv", "city ~ x", "--family", "poisson")

    def test_a_delimiter_or_decimal_mark_that_does_not_fit_is_suspected(self):
        self.refused_term(USAGE, 'formula: no column "y" in the data; its columns are "y,x,city,day,k,id"; is --delimiter '
                                 "right?", "x", "--delimiter", ";")
        self.write("comma.csv", "y;x\n1;0,5\n0;1,5\n1;2,5\n")
        self.refused(DATA, 'comma.csv:2: column "x" holds text ("0,5"), but log() needs numbers; if its numbers have a '
                           "decimal comma, say so with --decimal ,", "comma.csv", "y ~ log(x)", "--decimal", ".")


class Counts(BadInputTest):
    """cbind(), --trials and --row-weights."""

    def setUp(self):
        super().setUp()
        self.write("data.csv", "y,x,w,k,s,n\n1,2,1,a,0.5,2\n0,3,-1,b,0.3,4\n1,4,2,c,0.5,4\n0,1,1.5,d,1,2\n")

    def test_a_column_that_is_not_there_is_named_with_those_that_are(self):
        for option in ("--row-weights", "--trials"):
            for name in ("nosuch", ""):
                self.refused(USAGE, f'{option}: no column "{name}" in the data; its columns are y, x, w, k, s, n',
                             "data.csv", "s ~ x", option, name)

    def test_weights_and_trials_are_numbers(self):
        for option in ("--row-weights", "--trials"):
            self.refused(DATA, f'data.csv:2: column "k" holds text ("a"), but {option} needs numbers',
                         "data.csv", "s ~ x", option, "k")

    def test_a_negative_weight_is_named_by_line_and_value(self):
        self.refused(DATA, "data.csv:3: the weight w is -1; it must not be negative; 0 leaves a row out",
                     "data.csv", "y ~ x", "--row-weights", "w")

    def test_weights_that_are_all_0_leave_no_rows(self):
        self.write("zero.csv", "y,x,w\n1,2,0\n0,3,0\n1,4,0\n")
        self.refused(DATA, "zero.csv: no row is left: the complete ones all have the weight 0",
                     "zero.csv", "y ~ x", "--row-weights", "w")

    def test_successes_and_trials_are_whole_numbers(self):
        self.refused(DATA, "data.csv:3: s of n = 4 trials are 1.2 successes; both must be whole numbers",
                     "data.csv", "s ~ x", "--trials", "n")
        self.write("half.csv", "s,x,n\n0.5,2,2\n0.5,3,1.5\n0.3,4,10\n")
        self.refused(DATA, "half.csv:3: s of n = 1.5 trials are 0.75 successes; both must be whole numbers",
                     "half.csv", "s ~ x", "--trials", "n")

    def test_a_share_lies_between_0_and_1(self):
        self.write("share.csv", "s,x,n\n0.5,2,2\n1.5,3,4\n0.3,4,10\n")
        self.refused(DATA, 'share.csv:3: response "s": a share of trials must be from 0 to 1 (got 1.5)',
                     "share.csv", "s ~ x", "--trials", "n")

    def test_trials_are_for_shares_of_the_logistic_family(self):
        self.refused(USAGE, "--trials is for --family logistic and --family beta-binomial, not for --family poisson",
                     "data.csv", "s ~ x", "--trials", "n", "--family", "poisson")
        self.refused(USAGE, "--trials is for a response that is a share; cbind(successes, failures) has its trials",
                     "data.csv", "cbind(y, x) ~ w", "--trials", "n")
        self.write("text.csv", "s,x,n\nno,2,2\nyes,3,4\nno,4,10\n")
        self.refused(USAGE, "--trials needs a response that is a number: the share of successes",
                     "text.csv", "s ~ x", "--trials", "n")

    def test_counts_that_are_none_are_named_by_line_and_value(self):
        for value in ("-1", "1.5"):
            self.write("counts.csv", f"a,b,x\n1,2,3\n{value},2,4\n2,1,5\n")
            self.refused(DATA, f"counts.csv:3: cbind(): a is {value}; it must be a whole number of at least 0",
                         "counts.csv", "cbind(a, b) ~ x")
        self.refused(DATA, 'data.csv:2: column "k" holds text ("a"), but cbind() needs numbers',
                     "data.csv", "cbind(k, y) ~ x")

    def test_cbind_has_two_parts_and_stands_alone_on_the_left(self):
        for term, count in (("cbind(y)", 1), ("cbind(y, x, w)", 3)):
            self.refused(USAGE, f"formula: cbind() takes 2 arguments (got {count}) (position 1)\n  {term} ~ s\n  ^",
                         "data.csv", f"{term} ~ s")
        self.refused(USAGE, "formula: cbind(successes, failures) must stand alone on the left of '~' (position 5)\n"
                            "  s ~ cbind(y, x)\n      ^", "data.csv", "s ~ cbind(y, x)")
        self.write("counts.csv", "a,b,x\n1,2,3\n3,2,4\n2,1,5\n")
        self.refused(MODEL, "cbind(successes, failures) and --trials are for --family logistic and --family beta-binomial, not for --family poisson",
                     "counts.csv", "cbind(a, b) ~ x", "--family", "poisson")


class Responses(BadInputTest):
    def test_a_binary_family_names_the_line_of_a_response_that_is_neither_0_nor_1(self):
        self.write("data.csv", "y,x1\n1,2\n0,1\n2,3\n0,5\n")
        for family in ("logistic", "probit"):
            self.refused(DATA, f'data.csv:4: response "y": a {family} model needs 0 or 1 (got 2); '
                     '--family gaussian is for any number, --family poisson for counts, --family softmax for classes',
                         "data.csv", "y ~ x1", "--family", family)

    def test_families_of_counts_name_the_line_of_a_response_that_is_no_count(self):
        for value in ("-1", "2.5"):
            self.write("data.csv", f"y,x1\n1,2\n{value},1\n2,3\n0,5\n")
            for family, *known in (("poisson",), ("negative-binomial",), ("negative-binomial", "--size", "2")):
                self.refused(DATA, f'data.csv:3: response "y": a {family} model needs counts 0, 1, 2, ... (got {value})',
                             "data.csv", "y ~ x1", "--family", family, *known)

    def test_gamma_names_the_line_of_a_response_that_is_not_above_0(self):
        for value in ("0", "-0.5"):
            self.write("data.csv", f"y,x1\n1.5,2\n0.1,1\n{value},3\n7,5\n")
            for known in ((), ("--shape", "2")):
                self.refused(DATA, f'data.csv:4: response "y": a gamma model needs numbers above 0 (got {value})',
                             "data.csv", "y ~ x1", "--family", "gamma", *known)

    def test_lines_are_counted_in_the_file_and_not_among_the_rows_used(self):
        self.write("data.csv", "y,x1\n1,NA\n\n0,1\n7,3\n0,5\n")
        self.refused(DATA, 'data.csv:5: response "y": a logistic model needs 0 or 1 (got 7); '
                     '--family gaussian is for any number, --family poisson for counts, --family softmax for classes', "data.csv", "y ~ x1")

    def test_a_response_that_never_varies_is_refused(self):
        self.write("data.csv", "y,x1\n1,2\n1,1\n1,3\n")
        self.refused(DATA, 'data.csv: response "y": all 3 rows are 1; a logistic model needs both 0 and 1',
                     "data.csv", "y ~ x1")
        self.write("data.csv", "y,x1\n0,2\n0,1\n0,3\n")
        self.refused(DATA, 'data.csv: response "y": all 3 rows are 0; a poisson model needs some counts above 0',
                     "data.csv", "y ~ x1", "--family", "poisson")
        self.write("data.csv", "y,x1\n1.5,2\n1.5,1\n1.5,3\n")
        self.refused(DATA, 'data.csv: response "y": all 3 rows are 1.5; a gamma model needs values that differ',
                     "data.csv", "y ~ x1", "--family", "gamma")


class Columns(BadInputTest):
    def setUp(self):
        super().setUp()
        self.make_data(rows=50)

    def test_a_constant_column_is_named_with_its_value(self):
        self.refused(MODEL, 'column "I(x1 * 0 + 3)" is constant (3): it cannot be told from the intercept; remove it '
                            "or the intercept", "data.csv", "y ~ x1 + I(x1 * 0 + 3)")
        self.refused(MODEL, 'column "I(x1 * 0)" is 0 in every row: it says nothing; remove it',
                     "data.csv", "y ~ x1 + I(x1 * 0)")

    def test_a_column_that_repeats_another_is_named_with_it(self):
        lines = self.read("data.csv").decode().splitlines()
        rows = [line.split(",") for line in lines[1:]]
        self.write("twice.csv", "y,x1,copy\n" + "".join(f"{y},{x},{x}\n" for y, x, _ in rows))
        self.refused(MODEL, 'column "copy" equals "x1": their coefficients cannot be told apart; remove one of them',
                     "twice.csv", "y ~ x1 + copy")

    def test_a_multiple_of_a_column_is_named_with_its_factor_and_shift(self):
        self.refused(MODEL, 'column "I(2 * x1)" equals 2 x "x1": their coefficients cannot be told apart; remove one '
                            "of them", "data.csv", "y ~ x1 + I(2 * x1)")
        self.refused(MODEL, 'column "I(2 * x1 + 3)" equals 2 x "x1" + 3: their coefficients cannot be told apart; '
                            "remove one of them", "data.csv", "y ~ x1 + I(2 * x1 + 3)")

    def test_a_linear_combination_of_columns_is_named_with_them(self):
        for family in ("logistic", "probit", "gaussian"):
            self.refused(MODEL, 'column "I(x1 + x2)" is a linear combination of "x1" and "x2": remove one of them',
                         "data.csv", "y ~ x1 + x2 + I(x1 + x2)", "--family", family)

    def test_columns_that_predict_a_gaussian_response_exactly_are_not_blamed_on_sigma(self):
        result = self.mlo("fit", "data.csv", "x1 ~ x2 + I(x1 - x2)", "--family", "gaussian", "--quiet")
        self.assertEqual((result.code, result.stdout), (MODEL, ""))
        self.assertNotIn('column "sigma"', result.stderr)
        self.assertIn('"x1"', result.stderr)

    def test_fewer_rows_than_coefficients_need_proper_priors(self):
        self.write("few.csv", "y,x1,x2\n1,2,3\n0,4,1\n")
        self.good("fit", "few.csv", "y ~ x1 + x2", *SHORT)
        self.refused(MODEL, "only 2 rows for 3 coefficients: the data cannot tell them apart, and not all of them have a "
                            "proper prior (a maximum-likelihood fit has none); give them priors "
                            '(--prior "normal(0, 2.5)") and use --method auto or --weights-at map',
                     "few.csv", "y ~ x1 + x2", "--prior", "flat")
        self.refused(MODEL, '2 rows for 3 coefficients: the columns can predict the response "y" exactly, and the '
                            "posterior of sigma has no mode; state it (--family gaussian-mean or --family student, with "
                            "--known-sigma)", "few.csv", "y ~ x1 + x2", "--family", "gaussian")


class Separation(BadInputTest):
    message = ('separation: "dose" predicts the response of some rows perfectly, so the likelihood has no '
               'finite maximum; remove the column, or give the coefficients a proper prior (--prior "normal(0, 2.5)") '
               "and use a method that needs no maximum-likelihood fit (--method auto, or --weights-at map)")

    def setUp(self):
        super().setUp()
        # Complete: y = (dose > 4.5). Quasi: dose 4 has both responses, and all other rows are separated by it.
        self.write("complete.csv", "y,dose\n" + "".join(f"{int(d > 4)},{d}\n" for d in range(1, 9)))
        self.write("quasi.csv", "y,dose\n0,1\n0,2\n0,3\n0,4\n1,4\n1,6\n1,7\n1,8\n")

    def test_flat_priors_cannot_hold_a_separated_column(self):
        for data in ("complete.csv", "quasi.csv"):
            for family in ("logistic", "probit"):
                with self.subTest(data=data, family=family):
                    self.refused(MODEL, self.message, data, "y ~ dose", "--family", family,
                                 "--prior", "flat", "--prior-intercept", "flat")

    def test_mlo_needs_a_finite_maximum_whatever_the_prior(self):
        for data in ("complete.csv", "quasi.csv"):
            for family in ("logistic", "probit"):
                with self.subTest(data=data, family=family):
                    self.refused(MODEL, self.message, data, "y ~ dose", "--family", family, "--method", "mlo")

    def test_the_default_prior_and_the_full_method_fit_separated_data(self):
        for data in ("complete.csv", "quasi.csv"):
            for family in ("logistic", "probit"):
                with self.subTest(data=data, family=family):
                    self.good("fit", data, "y ~ dose", "--family", family, *SHORT)

    def test_what_the_message_advises_works(self):
        self.good("fit", "complete.csv", "y ~ dose", "--prior", "normal(0, 2.5)", "--method", "full", *SHORT)


class Options(BadInputTest):
    def setUp(self):
        super().setUp()
        self.make_data(rows=50)

    def refused_options(self, message, *options, formula="y ~ x1"):
        with self.subTest(options=options):
            self.refused(USAGE, message, "data.csv", formula, *options)

    def test_a_subsample_has_between_1_and_n_rows(self):
        for size in ("0", "-1", "51"):
            self.refused_options(f"--subsample-size must be between 1 and the number of rows, 50 (got {size})",
                                 "--method", "mlo", "--subsample-size", size)

    def test_the_largest_subsample_is_not_below_the_pilot(self):
        self.refused_options("--max-subsample-size must be between --subsample-size, 20, and the number of rows, 50 (got 10)",
                             "--method", "mlo-adaptive", "--subsample-size", "20", "--max-subsample-size", "10")

    def test_a_prior_needs_a_positive_scale(self):
        for scale in ("-1", "0"):
            self.refused_options(f'--prior "normal(0,{scale})": the scale must be positive (got {scale})',
                                 "--prior", f"normal(0,{scale})")

    def test_an_unknown_prior_comes_with_the_known_ones(self):
        self.refused_options('--prior "foo(0,1)": unknown prior; known are flat, normal(location, scale), '
                             "student_t(degrees, location, scale), cauchy(location, scale), laplace(location, scale), "
                             "gamma(shape, rate), beta(a, b), exponential(rate)", "--prior", "foo(0,1)")

    def test_a_prior_with_the_wrong_count_of_numbers_is_shown_how_to_write_it(self):
        self.refused_options('--prior "normal(0)": normal needs 2 numbers (got 1); write normal(location, scale)',
                             "--prior", "normal(0)")

    def test_a_prior_that_fits_no_parameter_is_refused(self):
        self.refused_options("--prior-for x3: there is no such parameter; there are (Intercept), x1",
                             "--prior-for", "x3", "normal(0,1)")
        self.refused_options('--prior "gamma(1,1)": a gamma prior is for parameters that are positive; a coefficient can be '
                             "negative",
                             "--prior", "gamma(1,1)")
        self.refused_options("--prior is for the coefficients of columns, and the formula has none; use "
                             "--prior-intercept", "--prior", "normal(0,1)", formula="y ~ 1")
        self.refused_options("--prior-intercept: the formula has no intercept", "--prior-intercept", "normal(0,1)",
                             formula="y ~ 0 + x1")

    def test_of_many_parameters_the_first_are_named(self):
        columns = [f"c{k}" for k in range(30)]
        self.write("wide.csv", ",".join(["y", *columns]) + "\n" + "".join(
            f"{i % 2}," + ",".join(str((i * (k + 3) + k * k) % 97) for k in range(30)) + "\n" for i in range(200)))
        names = ", ".join(["(Intercept)", *columns[:19]])
        self.refused(USAGE, f"--prior-for z: there is no such parameter; there are {names}, ... (31 in all)", "wide.csv", "y ~ .",
                     "--prior-for", "z", "flat")
        self.refused(USAGE, "--prior-for C29: there is no such parameter; did you mean c29?", "wide.csv", "y ~ .",
                     "--prior-for", "C29", "flat")

    def test_a_prior_is_found_for_a_name_with_blanks(self):
        self.write("blanks.csv", self.read("data.csv").decode().replace("x1", "my x", 1))
        formula = "y ~ `my x` + I(x2 ^ 2)"
        result = self.good("fit", "blanks.csv", formula, "--prior-for", "`my x`", "normal(1, 2)",
                           "--prior-for", "I(x2^2)", "cauchy(0,3)", *SHORT)
        self.assertIn("; `my x` ~ normal(1, 2); I(x2^2) ~ cauchy(0, 3) ", " ".join(result.stdout.split()))
        for name, shown, there in (("`my z`", "'`my z`'", "did you mean `my x`?"),
                                   ("I(a + b)", '"I(a + b)"', "there are (Intercept), `my x`, I(x2^2)")):
            self.refused(USAGE, f"--prior-for {shown}: there is no such parameter; {there}", "blanks.csv", formula,
                         "--prior-for", name, "flat")
        self.refused(USAGE, '--prior-for "I(a + b)" "foo(1)": unknown prior; known are flat, normal(location, scale), '
                            "student_t(degrees, location, scale), cauchy(location, scale), laplace(location, scale), "
                            "gamma(shape, rate), beta(a, b), exponential(rate)", "blanks.csv", formula,
                     "--prior-for", "I(a + b)", "foo(1)")

    def test_a_column_that_is_called_like_an_option_keeps_its_name(self):
        self.write("named.csv", self.read("data.csv").decode().replace("y,x1,x2", "y,order 2,summary score", 1))
        result = self.good("fit", "named.csv", "y ~ `order 2` + `summary score`", *SHORT)
        text = " ".join(result.stdout.split())
        self.assertRegex(text, r"; `order 2` ~ normal\([^)]*\); `summary score` ~ normal")
        self.assertRegex(text, r'WARNING: R-hat is \S+ for "`(order 2|summary score)`": .* more --warmup and --draws')
        self.assertNotIn("--order", text)

    def test_subsampling_options_have_no_meaning_for_full(self):
        for option, value, whose in (("--subsample-size", "10", SIZED), ("--weights", "mlo", COMPOSED),
                                     ("--weights-at", "map", POINTED), ("--uniform-share", "0.1", WEIGHTED),
                                     ("--replacement", "no", COMPOSED), ("--max-subsample-size", "10", GROWING),
                                     ("--delta", "0.1", TESTING)):
            self.refused_options(f"{option} has no meaning with --method full; it is for {whose}", option, value,
                                 "--method", "full")

    def test_each_method_refuses_the_options_that_the_docs_do_not_give_it(self):
        """The check comes before the data are read: what is not refused gets as far as a file that is not there."""
        values = {"subsample-size": "10", "max-subsample-size": "20", "delta": "0.1", "estimator": "control-variates",
                  "weights": "mlo", "weights-at": "map", "uniform-share": "0.1", "replacement": "yes", "noise-sd": "0.1",
                  "bound": "hoeffding", "blocks": "5", "shards": "4", "bandwidth": "0.2", "thinning": "balanced",
                  "order": "3", "audit": None, "audit-every": "10", "proposal": "laplace", "proposal-scale": "0.5",
                  "proposal-shape": "laplace"}
        methods = re.findall(r"(?m)^([a-z-]+)$", self.good("methods").stdout.split("\nexact: ")[0])
        self.assertEqual(len(methods), 14)
        limited = {name: users for name, users in documented_options().items() if users is not None}
        self.assertEqual(set(limited), set(values))
        for name, users in limited.items():
            named = set(re.split(", | and ", users.replace("all methods except ", "")))
            self.assertLessEqual(named, set(methods))
            for method in methods:
                used = (method in named) != users.startswith("all methods except ")
                value = () if values[name] is None else (values[name],)
                result = self.mlo("fit", "nosuch.csv", "y ~ x", "--method", method, f"--{name}", *value, "--quiet")
                with self.subTest(option=name, method=method):
                    refused = f"--{name} has no meaning with --method {method}" in result.stderr
                    self.assertEqual(refused, not used, result.stderr)
                    self.assertEqual(result.stderr.endswith(f"it is for {users}\n"), not used, result.stderr)
                    # A value may still not suit the method.
                    self.assertIn(result.code, (USAGE, DATA) if used else (USAGE,))

    def test_options_of_exact_belong_to_it(self):
        for option, value in (("--thinning", "balanced"), ("--order", "3")):
            for method in ("auto", "full", "mlo"):
                self.refused_options(f"{option} has no meaning with --method {method}; it is for exact",
                                     option, value, "--method", method)
        self.refused_options("--audit has no meaning with --method full; it is for auto and exact",
                             "--audit", "--method", "full")
        self.refused_options("--audit-every needs --audit", "--audit-every", "10", "--method", "exact")
        self.refused_options("--order must be at most 3 (got 4)", "--order", "4", "--method", "exact")
        self.refused_options('--thinning must be one of balanced, factorised (got "foo")', "--thinning", "foo",
                             "--method", "exact")
        self.refused_options("--proposal adaptive has no meaning with --method exact, whose proposals have the "
                             "posterior's shape from the start; use laplace or random-walk, or --method full",
                             "--proposal", "adaptive", "--method", "exact")
        for method in ("exact", "auto"):
            self.refused_options(f"--subsample-size has no meaning with --method {method}; it is for {SIZED}",
                                 "--subsample-size", "10", "--method", method)

    def test_options_of_difference_belong_to_it(self):
        self.refused_options("--noise-sd has no meaning with --method mlo; it is for difference and penalty",
                             "--noise-sd", "0.1", "--method", "mlo")
        self.refused_options("--noise-sd must be positive (got 0)", "--noise-sd", "0", "--method", "difference")
        self.refused_options("--method difference has remainder weights: for --weights mlo use --method penalty "
                             "and --estimator control-variates", "--weights", "mlo", "--method", "difference")
        self.refused_options("--method difference has control variates; without them it is --method penalty",
                             "--estimator", "plain", "--method", "difference")
        self.refused_options("--weights remainder are for what control variates leave over: use --estimator "
                             "control-variates, or --method difference", "--weights", "remainder", "--method", "mlo")
        self.refused_options("--uniform-share must be positive with remainder weights (got 0)",
                             "--uniform-share", "0", "--method", "difference")

    def test_options_of_one_method_belong_to_it(self):
        for option, value, whose in (("--bound", "hoeffding", "confidence"), ("--blocks", "5", "block"),
                                     ("--bandwidth", "0.2", "weierstrass"),
                                     ("--shards", "4", "consensus and weierstrass")):
            for method in ("auto", "full", "mlo"):
                self.refused_options(f"{option} has no meaning with --method {method}; it is for {whose}", option, value,
                                     "--method", method)
        self.refused_options(f"--estimator has no meaning with --method block; it is for {COMPOSED}", "--estimator", "plain", "--method", "block")
        self.refused_options('--estimator must be one of plain, control-variates (got "x")', "--estimator", "x",
                             "--method", "mlo")
        self.refused_options('--bound must be one of bernstein, hoeffding (got "x")', "--bound", "x",
                             "--method", "confidence")
        self.refused_options("--bandwidth must be positive (got 0)", "--bandwidth", "0", "--method", "weierstrass")
        self.refused_options("--shards must be at least 1 (got 0)", "--shards", "0", "--method", "consensus")
        self.refused_options("--blocks must be at most --subsample-size, 10 (got 11)", "--blocks", "11",
                             "--subsample-size", "10", "--method", "block")
        self.refused_options("--proposal has no meaning with --method consensus, whose shards have proposals of their "
                             "own; it is for all methods except consensus and weierstrass", "--proposal", "laplace", "--method", "consensus")

    def test_confidence_needs_its_kind_of_rows(self):
        for options in (("--weights", "mlo"), ("--replacement", "yes")):
            self.refused_options("--method confidence needs uniform weights without replacement: its bounds are for rows "
                                 "drawn that way (Serfling's inequality)", *options, "--method", "confidence")
        self.refused_options(f"--max-subsample-size has no meaning with --method confidence; it is for {GROWING}",
                             "--max-subsample-size", "20", "--method", "confidence")

    def test_options_of_the_adaptive_size_have_no_meaning_for_a_fixed_size(self):
        for method in ("mlo", "uniform"):
            self.refused_options(f"--delta has no meaning with --method {method}; it is for {TESTING}", "--delta", "0.1",
                                 "--method", method)
            self.refused_options(f"--max-subsample-size has no meaning with --method {method}; it is for {GROWING}",
                                 "--max-subsample-size", "20", "--method", method)

    def test_uniform_weights_take_no_other_weights(self):
        self.refused_options("--method uniform has uniform weights; for --weights mlo use --method mlo",
                             "--method", "uniform", "--weights", "mlo")
        self.refused_options("--weights-at has no meaning with --method uniform, whose weights are uniform; it is for "
                             f"{POINTED}", "--method", "uniform", "--weights-at", "map")
        self.refused_options("--weights-at has no meaning with uniform weights",
                             "--method", "mlo", "--weights", "uniform", "--weights-at", "map")
        self.refused_options("--uniform-share has no meaning with uniform weights",
                             "--method", "mlo", "--weights", "uniform", "--uniform-share", "0.1")

    def test_unequal_weights_need_replacement(self):
        self.refused_options("--replacement no needs uniform weights: rows drawn with the unequal probabilities of "
                             "--weights mlo are drawn with replacement, or the estimate is biased",
                             "--method", "mlo", "--replacement", "no")

    def test_known_parameters_belong_to_their_families(self):
        for family in ("logistic", "probit", "poisson", "gaussian", "gaussian-precision", "negative-binomial",
                       "gamma"):
            self.refused_options(f"--known-sigma has no meaning with --family {family}",
                                 "--known-sigma", "1", "--family", family)
        self.refused_options("--known-mean has no meaning with --family logistic", "--known-mean", "1")
        self.refused_options("--known-sigma must be positive (got 0)", "--known-sigma", "0",
                             "--family", "gaussian-mean")
        for family in ("logistic", "gaussian", "negative-binomial"):
            self.refused_options(f"--freedom has no meaning with --family {family}", "--freedom", "3",
                                 "--family", family)
        for family in ("logistic", "poisson", "student", "gamma"):
            self.refused_options(f"--size has no meaning with --family {family}", "--size", "3", "--family", family)
        for family in ("logistic", "poisson", "student", "negative-binomial"):
            self.refused_options(f"--shape has no meaning with --family {family}", "--shape", "3", "--family", family)
        self.refused_options("--shape must be positive (got 0)", "--shape", "0", "--family", "gamma")
        self.refused_options("--freedom must be positive (got -1)", "--freedom", "-1", "--family", "student")
        self.refused_options("--freedom must be positive and finite (got inf)", "--freedom", "inf",
                             "--family", "student")
        self.refused_options("--size must be positive (got 0)", "--size", "0", "--family", "negative-binomial")
        self.refused_options("--known-sigma must be positive (got -2)", "--known-sigma", "-2", "--family", "student")

    def test_what_is_known_has_no_prior(self):
        self.refused_options("--prior-for size: there is no such parameter; there are (Intercept), x1", "--size", "2",
                             "--prior-for", "size", "gamma(2, 1)", "--family", "negative-binomial")
        self.refused_options("--prior-for sigma: there is no such parameter; there are (Intercept), x1", "--known-sigma", "2",
                             "--prior-for", "sigma", "gamma(2, 1)", "--family", "student")

    def test_size_needs_a_proper_prior(self):
        self.refused(MODEL, "with a flat prior on size there is no posterior: the likelihood does not vanish as size "
                            'grows; give it a proper prior (--prior-for size "gamma(2, 0.1)")',
                     "data.csv", "y ~ x1", "--family", "negative-binomial", "--prior-for", "size", "flat")

    def test_the_precision_family_has_no_columns_and_no_intercept(self):
        self.refused_options("--family gaussian-precision has one parameter, tau, and no columns: write y ~ 1",
                             "--family", "gaussian-precision")
        self.refused_options("--prior-intercept has no meaning for a model whose parameter is tau", "--family", "gaussian-precision", "--prior-intercept", "flat", formula="y ~ 1")

    def test_proposal_options_must_fit_the_proposal(self):
        self.refused_options("--proposal-shape has no meaning with --proposal laplace, which has the shape of the "
                             "Laplace fit", "--method", "full", "--proposal-shape", "identity")
        self.refused_options("--proposal-scale must be at most 1 with --proposal laplace, where 1 draws independently "
                             "from the Laplace fit (got 2)", "--proposal-scale", "2")
        self.refused_options("--proposal-shape identity needs --proposal-scale: the step's standard deviation, for "
                             "every parameter", "--method", "full", "--proposal", "random-walk", "--proposal-shape", "identity")
        self.refused_options("--proposal-scale must be positive (got -1)", "--proposal-scale", "-1")

    def test_weights_at_needs_one_number_per_parameter(self):
        self.refused_options('--weights-at needs 2 numbers, one per parameter (got 3: "1,2,3")',
                             "--method", "mlo", "--weights-at", "1,2,3")
        self.refused_options('--weights-at must be mle, map or numbers separated by commas (got "1,b")',
                             "--method", "mlo", "--weights-at", "1,b")

    def test_shares_and_probabilities_stay_inside_their_range(self):
        self.refused_options("--uniform-share must be between 0 and 1 (got 1.5)",
                             "--method", "mlo", "--uniform-share", "1.5")
        self.refused_options("--delta must be between 0 and 1, exclusive (got 1)",
                             "--method", "mlo-adaptive", "--delta", "1")

    def test_counts_have_a_least_value(self):
        for option, least in (("--chains", 1), ("--draws", 1), ("--thin", 1), ("--warmup", 0), ("--threads", 0)):
            self.refused_options(f"{option} must be at least {least} (got {least - 1})", option, str(least - 1))

    def test_an_unknown_word_comes_with_the_known_ones(self):
        for option, words in (
                ("--family", "gaussian, gaussian-mean, gaussian-precision, student, logistic, probit, beta-binomial, "
                             "poisson, negative-binomial, zero-inflated-poisson, gamma, softmax"),
                ("--method", "auto, exact, difference, full, uniform, mlo, mlo-adaptive, austerity, confidence, "
                             "barker, penalty, block, consensus, weierstrass"), ("--scale", "none, sd, standard"),
                ("--missing", "drop, error"), ("--proposal", "laplace, random-walk, adaptive, gamma"),
                ("--start", "laplace, mode")):
            self.refused_options(f'{option} must be one of {words} (got "foo")', option, "foo")
        self.refused_options('--weights must be one of uniform, mlo, score, remainder (got "foo")',
                             "--method", "mlo", "--weights", "foo")

    def test_a_seed_is_a_whole_number_from_0_that_fits_64_bits(self):
        for seed in ("-1", "1.5", "x", str(2**64)):
            with self.subTest(seed=seed):
                result = self.mlo("fit", "data.csv", "y ~ x1", "--seed", seed, "--quiet")
                self.assertEqual((result.code, result.stdout), (USAGE, ""))
                self.assertRegex(result.stderr, rf"^mlo fit: .*--seed.*{seed}")

    def test_a_count_that_is_no_number_is_named_by_option_and_value(self):
        result = self.mlo("fit", "data.csv", "y ~ x1", "--chains", "many")
        self.assertEqual((result.code, result.stdout), (USAGE, ""))
        self.assertRegex(result.stderr, "^mlo fit: .*--chains.*many")

    def test_a_count_beyond_all_memory_or_64_bits_is_named_and_is_no_internal_error(self):
        for option, value in (("--draws", str(2**63 - 1)), ("--draws", str(2**64)), ("--chains", str(2**64))):
            with self.subTest(option=option, value=value):
                result = self.mlo("fit", "data.csv", "y ~ x1", option, value, "--quiet")
                self.assertEqual((result.code, result.stdout), (USAGE, ""))
                self.assertRegex(result.stderr, f"^mlo fit: .*{option}.*{value}")

    def test_an_unknown_option_is_named_with_where_to_look(self):
        result = self.mlo("fit", "data.csv", "y ~ x1", "--bogus")
        self.assertEqual((result.code, result.stdout), (USAGE, ""))
        self.assertRegex(result.stderr, "^mlo fit: .*--bogus")
        self.assertIn("mlo fit --help", result.stderr)

    def test_an_option_without_a_value_or_with_two_is_named(self):
        for args, words in ((("--draws",), "--draws needs a value"), (("--save-groups",), "--save-groups needs a value"),
                            (("--prior-for", "x1"), "--prior-for needs two values: NAME PRIOR"),
                            (("--draws", "5", "--draws", "6"), "--draws takes one value (got 2)")):
            result = self.mlo("fit", "data.csv", "y ~ x1", *args)
            self.assertEqual((result.code, result.stderr), (USAGE, f"mlo fit: {words}\nSee mlo fit --help.\n"))

    def test_data_and_formula_are_required(self):
        for args in ((), ("data.csv",)):
            self.refused(USAGE, 'DATA and FORMULA are required, e.g. mlo fit data.csv "y ~ x1 + x2"', *args)

    def test_resume_needs_a_directory(self):
        self.refused(USAGE, "--resume needs --out: the directory of the run to continue", "--resume")

    def test_an_empty_name_of_a_file_or_directory_is_not_taken_for_none(self):
        for args in (("fit", "data.csv", "y ~ x1", "--out", ""), ("fit", "data.csv", "y ~ x1", "--out="),
                     ("fit", "data.csv", "y ~ x1", "--config", ""), ("simulate", "logistic", "--out", ""),
                     ("bench-methods", "data.csv", "y ~ x1", "--out", ""), ("reproduce", "table1", "--out", "")):
            with self.subTest(args=args):
                result = self.mlo(*args)
                self.assertEqual((result.code, result.stdout), (USAGE, ""))
                self.assertRegex(result.stderr, f"^mlo {args[0]}: {args[-2 if args[-1] == '' else -1][:5]}")

    def test_unknown_arguments_are_named_in_their_order(self):
        result = self.mlo("fit", "data.csv", "y ~ x1", "--bogus", "--other=2", "-z")
        self.assertEqual(result.code, USAGE)
        self.assertIn("unknown options or extra arguments: --bogus --other=2 -z\n", result.stderr)

    def test_the_nearest_option_and_command_are_suggested(self):
        for args, words in ((("fit", "data.csv", "y ~ x1", "--famly", "poisson"), "unknown option --famly; did you mean --family?"),
                            (("fit", "data.csv", "y ~ x1", "--darws=5"),
                             "unknown option or extra argument: --darws=5; did you mean --draws?"),
                            (("summary", "run", "--grups"), "--grups; did you mean --groups?"),
                            (("fti", "data.csv", "y ~ x1"), 'unknown command "fti"; did you mean fit?')):
            with self.subTest(args=args):
                result = self.mlo(*args)
                self.assertEqual((result.code, result.stdout), (USAGE, ""))
                self.assertIn(words, result.stderr)

    def test_a_third_positional_argument_is_named(self):
        result = self.mlo("fit", "data.csv", "y ~ x1", "extra")
        self.assertEqual((result.code, result.stdout), (USAGE, ""))
        self.assertEqual(result.stderr, "mlo fit: extra argument after the formula: extra; the formula comes last\n")

    def test_an_unknown_command_is_a_usage_error(self):
        for args in (("frobnicate",), ()):
            result = self.mlo(*args)
            self.assertEqual((result.code, result.stdout), (USAGE, ""))
            self.assertTrue(result.stderr.startswith("mlo: "), result.stderr)
            self.assertIn("See mlo --help.", result.stderr)

    def test_simulate_refuses_what_it_cannot_make(self):
        families = "gaussian, gaussian-mean, gaussian-precision, student, logistic, probit, beta-binomial, poisson, negative-binomial, zero-inflated-poisson, gamma, softmax"
        for args, code, words in (
                (("foo",), USAGE, f'the family must be one of {families} (got "foo")'),
                (("logistic", "--rows", "0"), USAGE, "--rows must be at least 1 (got 0)"),
                (("logistic", "--correlation", "1"), USAGE,
                 "--correlation must be between -1 and 1, exclusive (got 1)"),
                (("gaussian", "--sigma", "-1"), USAGE, "--sigma must be positive (got -1)"),
                (("student", "--freedom", "0"), USAGE, "--freedom must be positive (got 0)"),
                (("negative-binomial", "--size", "inf"), USAGE, "--size must be positive and finite (got inf)"),
                (("gamma", "--shape", "-1"), USAGE, "--shape must be positive (got -1)"),
                (("poisson", "--shape", "3"), USAGE, "--shape has no meaning with the family poisson"),
                (("logistic", "--sigma", "1"), USAGE, "--sigma has no meaning with the family logistic"),
                (("gaussian", "--freedom", "3"), USAGE, "--freedom has no meaning with the family gaussian"),
                (("poisson", "--size", "3"), USAGE, "--size has no meaning with the family poisson"),
                (("logistic", "--coefficients", ""), USAGE, "--coefficients: must not be empty\nSee mlo simulate --help."),
                (("logistic", "--coefficients", "1,a"), USAGE,
                 '--coefficients takes numbers (got "1,a")\nSee mlo simulate --help.'),
                (("logistic", "--intercept", ""), USAGE, "--intercept: must not be empty\nSee mlo simulate --help."),
                (("gaussian-mean", "--intercept", "3"), USAGE,
                 "--intercept has no meaning with the family gaussian-mean"),
                (("gaussian-precision", "--coefficients=-1"), USAGE, "--coefficients: tau must be positive (got -1)"),
                (("gaussian-mean", "--group", "g:10:1"), USAGE, "--group has no meaning with the family gaussian-mean"),
                (("logistic", "--group", "g:10:1:x3=1"), USAGE, '--group g: "x3" is not one of the columns x1 to x2'),
                (("logistic", "--group", "x1:10:1"), USAGE, "--group x1: there is a column of this name already"),
                (("logistic", "--group", "g:0:1"), USAGE, "--group g: there must be 1 to 1,000,000,000 levels (got 0)"),
                (("logistic", "--group", "g:10:-1"), USAGE, "--group g: an sd must be at least 0 and finite (got -1)"),
                (("logistic", "--group", "g:10:1:x1=1,x2=1,cor=-0.6"), USAGE,
                 "--group g: the correlation of 3 effects must be between -0.5 and 1, exclusive (got -0.6)"),
                (("logistic", "--group", "g:10"), USAGE,
                 "--group g:10: 2 parts instead of 3 or 4; write NAME:LEVELS:SD, as in g:1000:0.5, and after it the sds of "
                 "slopes, as in g:1000:0.5:x1=0.3,cor=0.4"),
                (("logistic", "--out", "nosuch/a.csv"), DATA,
                 "nosuch/a.csv: cannot be written: No such file or directory")):
            with self.subTest(args=args):
                result = self.mlo("simulate", *args)
                self.assertTrue(result.stderr.startswith("mlo simulate: "), result.stderr)
                self.assertTrue(result.stderr.endswith(f"{words}\n"), result.stderr)
                self.assertEqual((result.code, result.stdout), (code, ""))

    def test_simulate_has_defaults_for_every_family(self):
        for family in ("gaussian", "gaussian-mean", "gaussian-precision", "student", "logistic", "probit", "poisson",
                       "negative-binomial", "gamma"):
            lines = self.good("simulate", family, "--rows", "3").stdout.splitlines()
            self.assertEqual(len(lines), 4)
            self.assertEqual(lines[0], "y" if family in ("gaussian-mean", "gaussian-precision") else "y,x1,x2")

    def test_simulate_makes_no_cells_that_fit_refuses_to_read(self):
        for args in (("gaussian", "--sigma", "inf"), ("gaussian", "--intercept", "inf"),
                     ("logistic", "--coefficients", "nan"), ("poisson", "--intercept", "800"),
                     ("gamma", "--shape", "1e-06")):
            with self.subTest(args=args):
                result = self.mlo("simulate", *args, "--rows", "3")
                self.assertEqual((result.code, result.stdout), (USAGE, ""))
                self.assertRegex(result.stderr, f"^mlo simulate: .*{args[1]}.*{args[2]}")


class SimulatedFiles(CommandTest):
    rows = ("simulate", "logistic", "--rows", "20")

    def setUp(self):
        super().setUp()
        self.expected = self.good(*self.rows).stdout.encode()

    def test_a_link_is_kept_and_its_target_written(self):
        os.mkdir(self.path("folder"))
        self.write("folder/there.csv", "old\n")
        os.symlink("folder/there.csv", self.path("link.csv"))
        os.symlink("folder/new.csv", self.path("dangling.csv"))
        for link, target in (("link.csv", "there.csv"), ("dangling.csv", "new.csv")):
            self.good(*self.rows, "--out", link)
            self.assertTrue(os.path.islink(self.path(link)))
            self.assertEqual(self.read("folder", target), self.expected)
        self.assertEqual(self.files("folder"), ["new.csv", "there.csv"])

    def test_links_that_lead_nowhere_are_refused(self):
        os.symlink("b.csv", self.path("a.csv"))
        os.symlink("a.csv", self.path("b.csv"))
        result = self.mlo(*self.rows, "--out", "a.csv")
        self.assertEqual((result.code, result.stderr), (
            DATA, "mlo simulate: a.csv: cannot be written: Too many levels of symbolic links\n"))

    def test_a_pipe_is_written_to_and_stays_one(self):
        os.mkfifo(self.path("pipe"))
        got = []
        reader = threading.Thread(target=lambda: got.append(self.read("pipe")), daemon=True)
        reader.start()
        self.good(*self.rows, "--out", "pipe")
        reader.join(10)
        self.assertEqual(got, [self.expected])
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("pipe")).st_mode))
        self.assertEqual(self.files(), ["pipe"])

    def test_standard_output_can_be_named(self):
        self.assertEqual(self.good(*self.rows, "--out", "/dev/stdout").stdout.encode(), self.expected)

    def test_a_file_keeps_its_mode(self):
        self.write("secret.csv", "old\n")
        os.chmod(self.path("secret.csv"), 0o600)
        self.good(*self.rows, "--out", "secret.csv")
        self.assertEqual(self.read("secret.csv"), self.expected)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("secret.csv")).st_mode), 0o600)

    def test_a_mistake_that_shows_late_leaves_no_file(self):
        result = self.mlo("simulate", "poisson", "--intercept", "33.9", "--coefficients", "0.03", "--out", "a.csv")
        self.assertEqual(result.code, USAGE)
        self.assertEqual(self.files(), [])


class ConfigFiles(CommandTest):
    def setUp(self):
        super().setUp()
        self.make_data(family="poisson", rows=50)

    def test_options_are_read_from_a_config_file(self):
        self.write("options.toml", 'family = "poisson"\nseed = 5\ndraws = 20\nwarmup = 20\n')
        result = self.good("fit", "data.csv", "y ~ x1", "--config", "options.toml")
        self.assertIn("poisson model of y", result.stdout)
        self.assertIn("\n  seed 5\n", result.stdout)

    def test_a_config_file_that_does_not_exist_is_named(self):
        result = self.mlo("fit", "data.csv", "y ~ x1", "--family", "poisson", "--config", "nosuch.toml")
        self.assertEqual((result.code, result.stdout), (DATA, ""))
        self.assertRegex(result.stderr.splitlines()[-1], "^mlo fit: .*nosuch.toml")

    def test_what_is_no_option_in_a_config_file_is_named_with_the_file(self):
        for line, message in (('famly = "poisson"', 'unknown option "famly"; did you mean --family?'),
                              ('iterations = 5', 'unknown option "iterations"; mlo fit --help shows all'),
                              ('data = "data.csv"',
                               '"data" is not an option: DATA and FORMULA go on the command line')):
            self.write("options.toml", line + "\n")
            result = self.mlo("fit", "data.csv", "y ~ x1", "--family", "poisson", "--config", "options.toml")
            self.assertEqual(result.stderr, f"mlo fit: options.toml: {message}\n")
            self.assertEqual((result.code, result.stdout), (USAGE, ""))

    def test_a_wrong_value_in_a_config_file_is_named_with_the_file(self):
        fit = ("fit", "data.csv", "y ~ x1", "--family", "poisson", "--config", "options.toml")
        for line, message in (("draws = 0", "--draws must be at least 1 (got 0)\n"),
                              ('draws = "abc"', '--draws must be a whole number of at most 18 digits (got "abc")\n')):
            self.write("options.toml", line + "\n")
            result = self.mlo(*fit)
            self.assertEqual((result.code, result.stdout, result.stderr),
                             (USAGE, "", f"mlo fit: options.toml: {message}"))
            # What is on the command line does not come from the file.
            result = self.mlo(*fit, "--draws", "-1")
            self.assertEqual((result.code, result.stderr), (USAGE, "mlo fit: --draws must be at least 1 (got -1)\n"))

    def test_the_command_line_has_the_last_word_also_in_its_short_form(self):
        self.write("options.toml", 'family = "poisson"\nout = "one"\nseed = 5\ndraws = 20\nwarmup = 20\n')
        result = self.good("fit", "data.csv", "y ~ x1", "--config", "options.toml", "-o", "two", "--seed=6")
        self.assertIn("\n  seed 6\n", result.stdout)
        self.assertEqual(self.files(), ["data.csv", "options.toml", "two"])


class Output(BadInputTest):
    def setUp(self):
        super().setUp()
        self.make_data(rows=50)

    def refused_out(self, message, out):
        self.refused(DATA, message, "data.csv", "y ~ x1", "--out", out, *SHORT)

    def test_a_directory_that_holds_something_is_not_written_to(self):
        os.mkdir(self.path("full"))
        self.write("full/letter.txt", "dear reader\n")
        self.refused_out("full: --out: the directory exists and is not empty", "full")
        self.assertEqual(self.files("full"), ["letter.txt"])

    def test_a_directory_that_holds_a_run_is_not_overwritten(self):
        self.good("fit", "data.csv", "y ~ x1", "--out", "run", *SHORT)
        before = {name: self.read("run", name) for name in self.files("run")}
        self.refused_out("run: --out: holds a run already; choose another directory, or delete this one first", "run")
        self.assertEqual({name: self.read("run", name) for name in self.files("run")}, before)

    def test_a_file_is_not_taken_for_a_directory(self):
        self.refused_out("data.csv: --out: a file of that name exists", "data.csv")
        self.refused_out("data.csv/run: --out: cannot be made: Not a directory", "data.csv/run")

    def test_a_place_where_no_directory_can_be_made_is_named(self):
        # Permissions do not bind the superuser, who may run this test; the kernel's own file system (/proc)
        # does.
        self.refused_out("/proc/mlo: --out: cannot be made: No such file or directory", "/proc/mlo")

    def test_an_empty_directory_and_missing_parents_are_fine(self):
        os.mkdir(self.path("empty"))
        for out in ("empty", "a/b/c"):
            self.good("fit", "data.csv", "y ~ x1", "--out", out, *SHORT)
            self.assertEqual(self.files(out), ["draws-1.csv", "run.json", "statistics.csv", "summary.csv"])

    def test_a_directory_that_was_made_for_a_fit_that_failed_goes_again(self):
        os.mkdir(self.path("there"))
        for out in ("made", "there"):
            self.refused(DATA, "nosuch.csv: no such file", "nosuch.csv", "y ~ x1", "--out", out)
        self.assertEqual(self.files(), ["data.csv", "there"])

    def test_after_a_fit_that_failed_the_same_directory_can_be_used(self):
        self.write("separated.csv", "y,dose\n" + "".join(f"{int(d > 4)},{d}\n" for d in range(1, 9)))
        for args in (("nosuch.csv", "y ~ x1"), ("data.csv", "y ~ x11"),
                     ("data.csv", "y ~ x1", "--prior-for", "z", "flat"),
                     ("data.csv", "y ~ x1", "--method", "mlo", "--subsample-size", "51"),
                     ("separated.csv", "y ~ dose", "--method", "mlo")):
            with self.subTest(args=args):
                self.assertIn(self.mlo("fit", *args, "--out", "run").code, (USAGE, DATA, MODEL))
                self.good("fit", "data.csv", "y ~ x1", "--out", "run", *SHORT)
            shutil.rmtree(self.path("run"))

    def test_a_full_standard_output_is_an_error(self):
        self.good("fit", "data.csv", "y ~ x1", "--out", "run", *SHORT)
        message = "standard output: cannot be written: No space left on device"
        for args in (("summary", "run"), ("summary", "run", "--json"), ("methods",), ("simulate", "logistic"),
                     ("fit", "data.csv", "y ~ x1", "--quiet", *SHORT)):
            with open("/dev/full", "wb") as full:
                result = self.mlo(*args, stdout=full)
            self.assertEqual((result.code, result.stderr), (DATA, f"mlo {args[0]}: {message}\n"))


class FullDisk(BadInputTest):
    """A limit on the size of files stands for a full disk: writing fails in the middle of a file."""

    # Two chains of 400 draws of 3 doubles: checkpoints of about 21 kB, draws of about 40 kB, run.json of 1 to 3 kB.
    fit = ("fit", "data.csv", "y ~ x1 + x2", "--chains", "2", "--warmup", "20", "--draws", "400", "--thin", "1",
           "--seed", "1")

    def setUp(self):
        super().setUp()
        self.make_data(rows=50)
        self.good(*self.fit, "--out", "reference")

    def fails(self, limit, file, out):
        result = self.mlo(*self.fit, "--out", out, "--quiet", file_size_limit=limit)
        self.assertEqual((result.code, result.stdout), (DATA, ""))
        self.assertRegex(result.stderr, rf"^mlo fit: {file}: cannot be written: File too large\n$")

    def completes(self, out):
        """Nothing half-written is left under any name, and the run can be continued to the same draws."""
        self.assertEqual([name for name in self.files(out) if name.endswith(".part")], [])
        self.assertEqual(self.run_json(out)["status"], "running")
        self.good("fit", "--resume", "--out", out)
        self.assertEqual(self.files(out), self.files("reference"))
        self.assertEqual(self.draws_bytes(out, 2), self.draws_bytes("reference", 2))

    def test_the_run_is_not_begun_if_its_first_file_cannot_be_written(self):
        result = self.mlo(*self.fit, "--out", "run", "--quiet", file_size_limit=1)
        self.assertEqual((result.code, result.stdout), (DATA, ""))
        self.assertEqual(result.stderr, "mlo fit: run: --out: not writable: run/run.json: cannot be written: "
                                        "File too large\n")
        self.assertNotIn("run", self.files())

    def test_a_checkpoint_that_cannot_be_written_ends_the_run_which_can_be_resumed(self):
        self.fails(4000, "run/checkpoint-[12]", "run")
        # The chain that failed stops the other, whose checkpoint may still be small enough to be written.
        self.assertIn(self.files("run"), (["run.json"], ["checkpoint-1", "run.json"], ["checkpoint-2", "run.json"]))
        self.completes("run")

    def test_draws_that_cannot_be_written_are_kept_in_checkpoints(self):
        self.fails(28000, "run/draws-1.csv", "run")
        self.assertEqual(self.files("run"), ["checkpoint-1", "checkpoint-2", "run.json"])
        self.completes("run")

    def test_checkpoints_from_before_survive_a_full_disk(self):
        self.fails(28000, "run/draws-1.csv", "run")
        before = [self.read("run", f"checkpoint-{k}") for k in (1, 2)]
        result = self.mlo("fit", "--resume", "--out", "run", "--quiet", file_size_limit=4000)
        self.assertEqual((result.code, result.stdout), (DATA, ""))
        self.assertRegex(result.stderr, "^mlo fit: run/checkpoint-[12]: cannot be written: File too large\n$")
        self.assertEqual([self.read("run", f"checkpoint-{k}") for k in (1, 2)], before)
        self.completes("run")

    def test_simulate_leaves_no_half_written_file(self):
        result = self.mlo("simulate", "logistic", "--rows", "1000", "--out", "made.csv", file_size_limit=4096)
        self.assertEqual((result.code, result.stdout), (DATA, ""))
        self.assertEqual(result.stderr, "mlo simulate: made.csv: cannot be written: File too large\n")
        self.assertEqual(self.files(), ["data.csv", "reference"])


class Summaries(CommandTest):
    def refused(self, message, *args):
        result = self.mlo("summary", *args)
        self.assertEqual((result.code, result.stdout), (DATA, ""))
        self.assertEqual(result.stderr, f"mlo summary: {message}\n")

    def test_a_directory_that_does_not_exist_is_named(self):
        self.refused("nosuch: no such run directory", "nosuch")

    def test_a_directory_that_is_no_run_is_told_so(self):
        os.mkdir(self.path("folder"))
        self.refused("folder: not a run of mlo: it has no run.json", "folder")

    def test_a_file_is_not_taken_for_a_run(self):
        self.write("data.csv", "y,x1\n")
        self.refused("data.csv: not a run directory but a file", "data.csv")

    def test_a_run_json_of_another_program_is_told_so(self):
        os.mkdir(self.path("folder"))
        for contents in ("{}\n", "[1, 2]\n", "hello\n", ""):
            self.write("folder/run.json", contents)
            result = self.mlo("summary", "folder")
            self.assertEqual((result.code, result.stdout), (DATA, ""))
            self.assertRegex(result.stderr, "^mlo summary: folder/run.json: not a run of mlo")
            self.assertNotIn("exception", result.stderr)

    def test_json_and_csv_at_once_are_refused(self):
        result = self.mlo("summary", "run", "--json", "--csv")
        self.assertEqual((result.code, result.stdout), (USAGE, ""))
        self.assertRegex(result.stderr, "^mlo summary: --json excludes --csv")


class Predictions(CommandTest):
    def setUp(self):
        super().setUp()
        self.make_data()
        self.add_column()
        self.good("fit", "data.csv", "y ~ log(x3) + x2", *SHORT, "--out", "run")

    def add_column(self):
        """x3 = 1 + x1^2, which has a logarithm."""
        lines = self.read("data.csv").decode().splitlines()
        rows = [line + "," + f"{1 + float(line.split(',')[1]) ** 2:.6f}" for line in lines[1:]]
        self.write("data.csv", "\n".join([lines[0] + ",x3", *rows]) + "\n")

    def refused(self, code, message, *args):
        result = self.mlo("predict", *args)
        self.assertEqual(result.stderr, f"mlo predict: {message}\n")
        self.assertEqual((result.code, result.stdout), (code, ""))

    def test_a_run_that_is_not_there_or_not_a_run_is_named(self):
        self.refused(DATA, "nosuch: no such run directory", "nosuch", "data.csv")
        self.refused(DATA, "data.csv: not a run directory but a file", "data.csv", "data.csv")

    def test_a_file_that_does_not_exist_is_named(self):
        self.refused(DATA, "nosuch.csv: no such file", "run", "nosuch.csv")

    def test_a_missing_column_comes_with_the_nearest_name(self):
        self.write("new.csv", "distance,x2\n1,2\n")
        self.refused(DATA, 'new.csv: the fit needs "x3": no column "x3" in the data; its columns are "distance", "x2"',
                     "run", "new.csv")

    def test_a_cell_that_is_not_a_number_is_named_by_line_column_and_value(self):
        self.write("new.csv", "x3,x2\n1,2\n2,1.5x\n")
        self.refused(DATA, 'new.csv:3: column "x2": "1.5x" is not a number; 1 of 2 cells is not: correct it, or list the '
                           "spelling with --na if it means missing", "run", "new.csv")

    def test_missing_error_names_the_first_missing_cell(self):
        self.write("new.csv", "x3,x2\n1,2\n2,NA\n4,1\n")
        self.refused(DATA, 'new.csv:3: column "x2": the cell is empty or NA (--missing error)',
                     "run", "new.csv", "--missing", "error")

    def test_a_term_that_is_not_finite_is_named_by_line_and_value(self):
        self.write("new.csv", "x3,x2\n1,2\n0,1\n")
        self.refused(DATA, "new.csv:3: log(x3) is -inf (x3 = 0)", "run", "new.csv")

    def test_a_prediction_that_is_too_large_is_named_by_its_line(self):
        self.make_data("counts.csv", "poisson")
        self.good("fit", "counts.csv", "y ~ x1", "--family", "poisson", *SHORT, "--out", "counts")
        self.write("new.csv", "x1\n1\n1e6\n")
        tail = ("is too large for double precision; is the row far outside the data of the fit? --type link shows "
                "its linear predictor")
        self.refused(DATA, f"new.csv:3: the mean response of this row {tail}", "counts", "new.csv")
        self.refused(DATA, f"new.csv:3: a response simulated for this row {tail}",
                     "counts", "new.csv", "--type", "draw")
        self.good("predict", "counts", "new.csv", "--type", "link")

    def test_options_that_make_no_sense_are_named_with_their_rule_and_value(self):
        run = ("run", "data.csv")
        self.refused(USAGE, '--type must be one of response, link, draw (got "mean")', *run, "--type", "mean")
        for value in ("0", "1", "95", "-0.5", "nan"):
            self.refused(USAGE, f"--interval must be between 0 and 1, exclusive (got {value})",
                         *run, "--interval", value)
        self.refused(USAGE, '--missing must be one of empty, error (got "drop")', *run, "--missing", "drop")
        self.refused(USAGE, '--new-levels must be one of sample, population, error, missing (got "drop")', *run, "--new-levels", "drop")
        self.refused(USAGE, "--threads must be between 0 and 1024 (got -1)", *run, "--threads", "-1")
        self.refused(USAGE, "--seed has no meaning with --type response: nothing is simulated", *run, "--seed", "1")

    def test_a_family_without_columns_has_nothing_to_predict(self):
        self.good("fit", "data.csv", "x1 ~ 1", "--family", "gaussian-precision", *SHORT, "--out", "tau")
        self.refused(USAGE, "the run in tau is of --family gaussian-precision, which has no columns: there is nothing "
                            "to predict", "tau", "data.csv")

    def test_damaged_draws_are_named_by_file_and_line(self):
        text = self.read("run", "draws-1.csv").decode()
        text = text.partition("# \n#  Elapsed Time")[0]
        lines = text.splitlines(keepends=True)
        header = next(k for k, line in enumerate(lines) if not line.startswith("#"))
        for damaged, message in (
                ("".join(lines)[:-5], f"run/draws-1.csv:{len(lines)}: the last line is not complete: the file of draws "
                                      "is damaged"),
                ("".join(lines[:-1]) + "1,1,0,0,1,2,x,4\n", f'run/draws-1.csv:{len(lines)}: not a number ("x"): the file '
                                                            "of draws is damaged"),
                ("".join(lines[:-1]) + "1,1,2,3\n", f"run/draws-1.csv:{len(lines)}: 4 cells, but the header has 8"),
                ("".join(lines[:-1]) + "1,1,0,0,1,2,inf,4\n", f"run/draws-1.csv:{len(lines)}: parameter 2 is inf: the "
                                                              "file of draws is damaged"),
                ("".join([*lines[:header], lines[header].rpartition(",")[0] + "\n"]),
                 f"run/draws-1.csv:{header + 1}: the columns are not those of 3 parameters, which are "
                 '"lp__,accept_stat__,treedepth__,divergent__,energy__" and their names')):
            self.write("run/draws-1.csv", damaged)
            self.refused(DATA, message, "run", "data.csv")
        os.remove(self.path("run/draws-1.csv"))
        result = self.mlo("predict", "run", "data.csv")
        self.assertEqual((result.code, result.stdout), (DATA, ""))
        self.assertIn("run/draws-1.csv", result.stderr)

    def test_damaged_statistics_are_named_by_file_and_line(self):
        lines = self.read("run", "statistics.csv").decode().splitlines(keepends=True)
        for damaged, message in (
                (lines[:-1], ": chain 1 has 20 draws, but only 19 lines here: the file is damaged"),
                ([*lines, lines[-1]], f":{len(lines) + 1}: more lines than draws: the file is damaged"),
                ([*lines[:5], *lines[6:]], ":6: not the statistics of draw 5 of chain 1: the file is damaged"),
                (lines[1:], ': the first line is not "chain,draw,rows_read,noise_sd": the file is damaged')):
            self.write("run/statistics.csv", "".join(damaged))
            self.refused(DATA, f"run/statistics.csv{message}", "run", "data.csv")

    def test_a_full_disk_leaves_no_half_written_file(self):
        result = self.mlo("predict", "run", "data.csv", "--out", "made.csv", "-q", file_size_limit=4096)
        self.assertEqual((result.code, result.stdout), (DATA, ""))
        self.assertEqual(result.stderr, "mlo predict: made.csv: cannot be written: File too large\n")
        self.assertEqual(self.files(), ["data.csv", "run"])


class Descriptions(CommandTest):
    def refused(self, code, message, *args):
        result = self.mlo("describe", *args, "--quiet")
        self.assertEqual(result.stderr, f"mlo describe: {message}\n")
        self.assertEqual((result.code, result.stdout), (code, ""))

    def test_what_cannot_be_described_is_named(self):
        self.make_data(rows=20)
        self.refused(USAGE, "DATA is required, e.g. mlo describe data.csv")
        self.refused(DATA, "nosuch.csv: no such file", "nosuch.csv")
        self.refused(USAGE, 'formula: no column "z" in the data; its columns are "y", "x1", "x2"', "data.csv", "y ~ z")
        self.refused(USAGE, "unknown option --draws; mlo describe --help shows all",
                     "data.csv", "y ~ x1", "--draws", "5")
        self.write("short.csv", "y,x1\n1,2\n0\n")
        self.refused(DATA, "short.csv:3: 1 cell, but the header has 2", "short.csv")


class HeldOutRows(BadInputTest):
    def test_a_share_that_leaves_no_rows_on_either_side_is_refused(self):
        self.write("data.csv", "y,x1\n1,2\n0,1\n1,3\n")
        self.refused(DATA, "data.csv: --holdout 0.0001 holds out none of 3 rows; choose another share",
                     "data.csv", "y ~ x1", *SHORT, "--holdout", "0.0001")
        self.refused(DATA, "data.csv: --holdout 0.9999 holds out all of 3 rows; choose another share",
                     "data.csv", "y ~ x1", *SHORT, "--holdout", "0.9999")

    def test_a_share_outside_0_and_1_is_refused(self):
        self.make_data()
        for value in ("0", "1", "-0.1"):
            self.refused(USAGE, f"--holdout must be between 0 and 1, exclusive (got {value})", "data.csv", "y ~ x1",
                         "--holdout", value)

    def test_a_response_that_breaks_the_rule_is_named_also_if_its_row_is_held_out(self):
        self.make_data("data.csv", "poisson", rows=300)
        lines = self.read("data.csv").decode().splitlines()
        row = next(row for row in range(300) if uniform(1, 21, row) < 0.2)
        lines[row + 1] = "-1" + lines[row + 1][lines[row + 1].index(","):]
        self.write("data.csv", "\n".join(lines) + "\n")
        self.refused(DATA, f'data.csv:{row + 2}: response "y": the responses of a poisson model are counts 0, 1, 2, ... '
                           "(got -1)", "data.csv", "y ~ x1", "--family", "poisson", *SHORT, "--holdout", "0.2")

    def test_a_family_without_columns_has_nothing_to_score(self):
        self.make_data()
        self.refused(USAGE, "--holdout has no meaning with --family gaussian-precision, which has no columns to predict "
                            "from", "data.csv", "x1 ~ 1", "--family", "gaussian-precision", "--holdout", "0.1")

    def test_rows_that_count_more_than_once_cannot_be_held_out(self):
        self.make_data()
        for option in ("row-weights", "trials"):
            self.refused(USAGE, f"--holdout and --{option} cannot be used together: scores are of single rows", "data.csv",
                         "y ~ x1", f"--{option}", "x2", "--holdout", "0.1")
        self.write("counts.csv", "a,b,x1\n" + "".join(f"{k % 5},{k % 3},{k % 7}\n" for k in range(60)))
        self.refused(USAGE, "--holdout and cbind() cannot be used together: scores are of single rows",
                     "counts.csv", "cbind(a, b) ~ x1", "--holdout", "0.2", "--seed", "1")

    def test_a_dry_run_of_a_run_that_has_begun_is_refused(self):
        self.refused(USAGE, "--dry-run cannot be given with --resume: the options of the run are in run/run.json",
                     "--resume", "--out", "run", "--dry-run")


if __name__ == "__main__":
    unittest.main(verbosity=2)
