# Copyright (c) the mlo authors. BSD-3-Clause.
"""Arrow streams: made by DuckDB, and by hand for the types that DuckDB does not make."""
import struct
import unittest

import numpy as np
from arrow_support import ByHand, Column, DuckDb
from support import PlaceTest

import mlo

HOW = {"seed": 5, "draws": 30, "warmup": 30}


class Streams(PlaceTest):
    def test_of_duckdb_give_the_draws_of_its_reader(self):
        rows = """select (hash(i) % 3 = 0)::int as y, (hash(i + 1000) % 1000)::double / 500 - 1 as x,
                  case hash(i + 2000) % 3 when 0 then 'red' when 1 then 'green' else 'a longer word than twelve bytes' end as colour,
                  (hash(i + 3000) % 7)::tinyint as small, (hash(i + 4000) % 700)::decimal(9,2) / 7 as share,
                  date '2024-01-30' + (i % 90)::int as day, timestamp '2024-01-30 22:15:00' + to_hours(i) as moment,
                  case when i % 50 = 7 then null else (hash(i + 5000) % 5)::bigint end as gaps,
                  case hash(i + 6000) % 2 when 0 then 'yes' else 'no' end::enum('yes', 'no') as answer
                  from range(5000) t(i)"""
        formula = "y ~ x + colour + small + share + month(day) + hour(moment) + gaps + answer"
        expected = mlo.fit(formula, sql=rows, **HOW)
        found = mlo.fit(formula, DuckDb(rows), **HOW)
        self.assertEqual(found.names, expected.names)
        self.assertTrue(np.array_equal(found.draws, expected.draws))
        self.assertEqual(found.rows.dropped, 100)
        new = found.predict(DuckDb(rows + " limit 3"))
        self.assertEqual(len(new), 3)

    def test_booleans_are_factors(self):
        rows = "select (i % 3)::double as y, i % 2 = 0 as flag from range(100) t(i)"
        fit = mlo.fit("y ~ flag", DuckDb(rows), family="gaussian", **HOW)
        self.assertEqual(fit.names[:2], ["(Intercept)", "flagTRUE"])
        numbers = mlo.fit("y ~ flag", DuckDb(rows), family="gaussian", type={"flag": "number"}, **HOW)
        self.assertEqual(numbers.names[:2], ["(Intercept)", "flag"])
        response = mlo.fit("flag ~ y", DuckDb(rows), family="logistic", **HOW)
        self.assertEqual(response.names, ["(Intercept)", "y"])

    def test_describe_their_columns(self):
        found = mlo.describe(DuckDb("select i as a, 'w' || (i % 2) as b from range(10) t(i)"))
        self.assertEqual((found.rows, list(found.columns.index)), (10, ["a", "b"]))

    def test_refuse_columns_that_are_neither_numbers_nor_text(self):
        for kind, words in (("[1, 2]", "lists"), ("{'a': 1}", "structs"), ("'ab'::blob", "bytes"),
                            ("interval 1 day", "durations")):
            with self.subTest(words), self.assertRaisesRegex(mlo.DataError, f'column "v" holds {words}'):
                mlo.fit("y ~ v", DuckDb(f"select 1.0 as y, {kind} as v from range(9)"))

    def numbers(self, values, code, format):
        return Column(format, len(values), [None, struct.pack(f"<{len(values)}{code}", *values)])

    def fit(self, x, formula="y ~ x", y=None, **options):
        y = y or self.numbers([0.5, 1.5, 1.0, 3.0, 2.0, 4.0], "d", "g")
        return mlo.fit(formula, ByHand([{"y": y, "x": x}]), family="gaussian", **HOW, **options)

    def expected(self, values, formula="y ~ x", **options):
        return mlo.fit(formula, {"y": [0.5, 1.5, 1.0, 3.0, 2.0, 4.0], "x": values}, family="gaussian", **HOW, **options)

    def same(self, a, b):
        self.assertEqual(a.names, b.names)
        self.assertTrue(np.array_equal(a.draws, b.draws))

    def test_every_type_of_number(self):
        values = [3, 1, 4, 1, 5, 9]
        expected = self.expected(values)
        for format, code in zip("cCsSiIlLfg", "bBhHiIqQfd"):
            with self.subTest(format):
                self.same(self.fit(self.numbers(values, code, format)), expected)
        halves = np.array(values, "f2").tobytes()
        self.same(self.fit(Column("e", 6, [None, halves])), expected)
        cents = b"".join((100 * v).to_bytes(16, "little", signed=True) for v in values)
        self.same(self.fit(Column("d:12,2", 6, [None, cents])), expected)
        self.same(self.fit(Column("d:12,2,128", 6, [None, cents])), expected)

    def test_nulls_and_offsets(self):
        values = [9.0, 9.0, 3.0, 1.0, 4.0, 1.0, 5.0, 2.0]
        valid = bytes([0b11101111])  # the bit of 1.0 in the middle, position 4 of all
        x = Column("g", 6, [valid, struct.pack("<8d", *values)], nulls=1, offset=2)
        self.same(self.fit(x), self.expected([3.0, 1.0, None, 1.0, 5.0, 2.0]))
        unknown = Column("g", 6, [valid, struct.pack("<8d", *values)], nulls=-1, offset=2)
        self.same(self.fit(unknown), self.expected([3.0, 1.0, None, 1.0, 5.0, 2.0]))
        bits = Column("b", 6, [None, bytes([0b10110100])], offset=2)
        self.same(self.fit(bits), self.expected([True, False, True, True, False, True]))

    def test_texts_of_three_kinds(self):
        words = ["ab", "", "ab", "a word of some length", "é", "é"]
        expected = self.expected(words)
        data = "".join(words).encode()
        ends = np.cumsum([0] + [len(w.encode()) for w in words])
        self.same(self.fit(Column("u", 6, [None, struct.pack("<7i", *ends), data])), expected)
        self.same(self.fit(Column("U", 6, [None, struct.pack("<7q", *ends), data])), expected)
        views = b""
        for word, start in zip(words, ends):
            raw = word.encode()
            views += struct.pack("<i", len(raw)) + (raw.ljust(12, b"\0") if len(raw) <= 12 else
                                                    raw[:4] + struct.pack("<ii", 0, start))
        sizes = struct.pack("<q", len(data))
        self.same(self.fit(Column("vu", 6, [None, views, data, sizes])), expected)

    def test_dictionaries(self):
        ends = struct.pack("<4i", 0, 3, 5, 9)
        words = Column("u", 3, [None, ends, b"lowmdhigh"])
        codes = [2, 0, 1, 1, 0, 2]
        plain = ["high", "low", "md", "md", "low", "high"]
        for format, code in zip("cCsSiIlL", "bBhHiIqQ"):
            index = self.numbers(codes, code, format)
            index.dictionary = words
            self.same(self.fit(index), self.expected(plain))
        ordered = self.numbers(codes, "i", "i")
        ordered.dictionary, ordered.flags = words, 1
        self.assertEqual(self.fit(ordered).names[:3], ["(Intercept)", "xmd", "xhigh"])
        wrong = self.numbers([2, 0, 3, 1, 0, 2], "i", "i")
        wrong.dictionary = words
        with self.assertRaisesRegex(mlo.DataError, "row 3 of the data: .*index 3 is not in the dictionary"):
            self.fit(wrong)

    def test_dates_and_times(self):
        days = [19750, 19751, 19782, 19783, 19811, 0]
        dates = np.array(days, "M8[D]")
        expected = self.expected(dates, "y ~ month(x) + wday(x)")
        self.same(self.fit(self.numbers(days, "i", "tdD"), "y ~ month(x) + wday(x)"), expected)
        self.same(self.fit(self.numbers([d * 86_400_000 for d in days], "q", "tdm"), "y ~ month(x) + wday(x)"), expected)
        moments = [1706652900, 1706739301, -1, 7, 1709331302, 1709417703]
        expected = self.expected(np.array(moments, "M8[s]"), "y ~ hour(x) + minute(x)")
        for unit, factor in (("s", 1), ("m", 10**3), ("u", 10**6), ("n", 10**9)):
            with self.subTest(unit):
                column = self.numbers([m * factor for m in moments], "q", f"ts{unit}:")
                self.same(self.fit(column, "y ~ hour(x) + minute(x)"), expected)

    def test_several_batches(self):
        values = np.random.default_rng(1).normal(size=6)
        y = [0.5, 1.5, 1.0, 3.0, 2.0, 4.0]
        parts = [{"y": self.numbers(y[a:b], "d", "g"), "x": self.numbers(values[a:b], "d", "g")}
                 for a, b in ((0, 2), (2, 2), (2, 6))]
        source = ByHand(parts)
        fit = mlo.fit("y ~ x", source, family="gaussian", **HOW)
        self.same(fit, self.expected(values))
        self.assertEqual(source.releases, 3)
        self.assertTrue(source.released)

    def test_one_batch_is_borrowed_and_released(self):
        source = ByHand([{"y": self.numbers([0.5, 1.5, 1.0, 3.0, 2.0, 4.0], "d", "g"),
                          "x": self.numbers([3.0, 1.0, 4.0, 1.0, 5.0, 9.0], "d", "g")}])
        mlo.fit("y ~ x", source, family="gaussian", **HOW)
        self.assertEqual((source.releases, source.released), (1, True))

    def test_what_fails_in_a_stream_is_told_in_its_words(self):
        parts = [{"y": self.numbers([0.5] * 6, "d", "g"), "x": self.numbers([1.0] * 6, "d", "g")}] * 2
        with self.assertRaisesRegex(mlo.DataError, "the Arrow stream failed: the disk is on fire"):
            mlo.fit("y ~ x", ByHand(parts, error_at=1), family="gaussian")
        once = ByHand(parts)
        mlo.describe(once)
        with self.assertRaisesRegex(mlo.DataError, "used already"):
            mlo.fit("y ~ x", once, family="gaussian")
        with self.assertRaisesRegex(mlo.DataError, 'row 2 of the data: column "x": inf is not a finite number'):
            self.fit(self.numbers([1.0, float("inf"), 1, 2, 3, 4], "d", "g"))
        with self.assertRaisesRegex(mlo.DataError, "9007199254740993 has no exact value"):
            self.fit(self.numbers([1, 2**53 + 1, 1, 2, 3, 4], "q", "l"))

    def test_an_object_whose_stream_is_not_one(self):
        class Wrong:
            def __init__(self, value):
                self.value = value

            def __arrow_c_stream__(self, requested_schema=None):
                if isinstance(self.value, Exception):
                    raise self.value
                return self.value

        for value in (None, 5, "capsule", ZeroDivisionError("mine")):
            with self.assertRaises((mlo.Error, TypeError, ZeroDivisionError)):
                mlo.fit("y ~ x", Wrong(value))


if __name__ == "__main__":
    unittest.main()
