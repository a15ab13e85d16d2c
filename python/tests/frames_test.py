# Copyright (c) the mlo authors. BSD-3-Clause.
"""Data in memory of every kind give the draws that the same data give as a CSV file."""
import datetime
import decimal
import unittest

import numpy as np
from support import PlaceTest, needs

import mlo

HOW = {"seed": 5, "draws": 30, "warmup": 30}


def columns(rows=300):
    random = np.random.default_rng(11)
    x = random.normal(size=rows).round(3)
    colour = np.array(["red", "green", "blue"])[random.integers(0, 3, rows)]
    count = random.integers(0, 9, rows)
    flag = random.random(rows) < 0.4
    eta = 0.8 * x + (colour == "red") - 0.1 * count + 0.5 * flag
    y = (random.random(rows) < 1 / (1 + np.exp(-eta))).astype(int)
    return {"y": y, "x": x, "colour": colour, "count": count, "flag": flag}


FORMULA = "y ~ x + colour + count + flag"


class Frames(PlaceTest):
    @classmethod
    def setUpClass(cls):
        cls.data = columns()

    def test_columns_of_one_array_of_rows(self):
        pandas = needs("pandas")
        numbers = {name: self.data[name] for name in ("y", "x", "count")}
        # More rows than a block of the copy, and not a multiple of it.
        long = {name: np.tile(values, 5)[:1333] for name, values in numbers.items()}
        rows = np.column_stack(list(long.values())).astype(float)
        whole = np.column_stack([long["y"], long["count"]]).astype(np.int64)
        expected = mlo.fit("y ~ x + count", long, **HOW).draws
        frame = pandas.DataFrame(rows, columns=list(long))
        self.assertNotEqual(frame["x"].to_numpy().strides, (8,))
        self.assertTrue(np.array_equal(mlo.fit("y ~ x + count", frame, **HOW).draws, expected))
        backwards = {name: np.ascontiguousarray(values[::-1])[::-1] for name, values in long.items()}
        self.assertTrue(np.array_equal(mlo.fit("y ~ x + count", backwards, **HOW).draws, expected))
        expected = mlo.fit("y ~ count", long, **HOW).draws
        for kind in (np.int64, np.uint64):
            frame = pandas.DataFrame(whole.astype(kind), columns=["y", "count"])
            self.assertTrue(np.array_equal(mlo.fit("y ~ count", frame, **HOW).draws, expected))
            frame.iloc[1300, 1] = 2**53 + 1
            with self.assertRaisesRegex(mlo.DataError, "(?s)row 1301 of the data frame.*beyond 2\\^53"):
                mlo.fit("y ~ count", frame, **HOW)
        frame = pandas.DataFrame(rows, columns=list(long))
        frame.iloc[700, 1] = np.inf
        with self.assertRaisesRegex(mlo.DataError, "row 701 of the data frame.*inf is not a finite number"):
            mlo.fit("y ~ x", frame, **HOW)
        frame.iloc[700, 1] = np.nan
        self.assertEqual(mlo.fit("y ~ x", frame, **HOW).rows.used, 1332)

    def expected(self, data=None, formula=FORMULA, **options):
        data = self.data if data is None else data
        lines = [",".join(data)] + [",".join("" if cell is None or cell != cell else str(cell) for cell in row)
                                    for row in zip(*(list(values) for values in data.values()))]
        fit = mlo.fit(formula, self.write("data.csv", "\n".join(lines) + "\n"), **HOW, **options)
        return fit.names, fit.draws

    def check(self, data, expected=None, formula=FORMULA, **options):
        names, draws = expected or self.expected(formula=formula, **options)
        fit = mlo.fit(formula, data, **HOW, **options)
        self.assertEqual(fit.names, names)
        self.assertTrue(np.array_equal(fit.draws, draws))
        return fit

    def test_dicts_of_arrays_and_of_lists(self):
        expected = self.expected()
        self.check(self.data, expected)
        self.check({name: values.tolist() for name, values in self.data.items()}, expected)
        self.check({name: tuple(values.tolist()) for name, values in self.data.items()}, expected)

    def test_types_of_numbers(self):
        expected = self.expected(formula="y ~ count")
        for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "f16", ">i4", ">f8", "O"):
            with self.subTest(kind):
                self.check({"y": self.data["y"].astype(kind), "count": self.data["count"].astype(kind)}, expected, "y ~ count")

    def test_arrays_with_gaps_between_cells(self):
        expected = self.expected()
        block = np.zeros((300, 7))
        block[:, 3] = self.data["x"]
        self.check({**self.data, "x": block[:, 3]}, expected)
        self.check({**self.data, "x": self.data["x"][::-1].copy()[::-1]}, expected)
        one_off = np.frombuffer(b"\0" + self.data["x"].tobytes(), dtype=np.uint8)[1:].view("f8")  # not aligned
        self.check({**self.data, "x": one_off}, expected)

    def test_structured_arrays(self):
        kinds = [("y", "i1"), ("x", "f8"), ("colour", "U5"), ("count", "u2"), ("flag", "?")]
        array = np.empty(300, dtype=kinds)
        for name, _ in kinds:
            array[name] = self.data[name]
        self.check(array)
        self.check(array.view(np.recarray))

    def test_masked_arrays(self):
        x = np.ma.masked_greater(self.data["x"], 1)
        count = np.ma.masked_equal(self.data["count"], 3)
        plain = {**self.data, "x": [None if v is np.ma.masked else v for v in x],
                 "count": [None if v is np.ma.masked else int(v) for v in count]}
        self.check({**self.data, "x": x, "count": count}, self.expected(plain))

    def test_objects(self):
        values = {**self.data}
        values["x"] = np.array([decimal.Decimal(str(v)) for v in self.data["x"]], dtype=object)
        values["count"] = np.array([np.int16(v) if v % 2 else int(v) for v in self.data["count"]], dtype=object)
        values["flag"] = np.array([bool(v) for v in self.data["flag"]], dtype=object)
        values["colour"] = np.array(list(self.data["colour"]), dtype=object)
        self.check(values)

    def test_numbers_that_na_lists_are_missing(self):
        x = self.data["x"].copy()
        x[::7] = -9
        count = self.data["count"].copy()
        count[3] = -9
        plain = {"y": self.data["y"], "x": x, "count": count}
        expected = self.expected(plain, "y ~ x + count", na="-9,none")
        dropped = len(set(range(0, 300, 7)) | {3})
        for data in (plain, {**plain, "x": x.astype(np.float32)}, {**plain, "x": list(x)},
                     {**plain, "count": count.astype(np.int16)}):
            fit = mlo.fit("y ~ x + count", data, na="-9,none", **HOW)
            self.assertEqual(fit.rows.dropped, dropped)
            self.assertEqual(fit.names, expected[0])
        fit = mlo.fit("y ~ x + count", plain, na="-9,none", **HOW)
        np.testing.assert_array_equal(fit.draws, expected[1])

    def test_nothing_is_missing_in_many_ways(self):
        pandas = needs("pandas")
        plain = {**self.data, "colour": list(self.data["colour"]), "x": list(self.data["x"])}
        nothing = [None, float("nan"), np.float32("nan"), pandas.NA, pandas.NaT, decimal.Decimal("NaN"), np.datetime64("NaT")]
        for k in range(len(nothing)):
            plain["colour"][10 * k] = None
            plain["x"][10 * k + 5] = None
        expected = self.expected(plain)
        odd = {**plain, "colour": np.array(plain["colour"], dtype=object), "x": np.array(plain["x"], dtype=object)}
        for k, value in enumerate(nothing):
            odd["colour"][10 * k] = value
            odd["x"][10 * k + 5] = value
        self.check(odd, expected)

    def test_bool_is_a_factor_and_a_response_of_0_and_1(self):
        y = self.data["y"]
        flag = self.data["flag"]
        fit = self.check(self.data)
        self.assertEqual(fit.names[-1], "flagTRUE")
        as_response = mlo.fit("flag ~ x", self.data, **HOW)
        as_numbers = mlo.fit("flag ~ x", {**self.data, "flag": flag.astype(int)}, **HOW)
        self.assertTrue(np.array_equal(as_response.draws, as_numbers.draws))
        numbers = mlo.fit("y ~ flag", self.data, type={"flag": "number"}, **HOW)
        same = mlo.fit("y ~ flag", {"y": y, "flag": flag.astype(float)}, **HOW)
        self.assertEqual(numbers.names, ["(Intercept)", "flag"])
        self.assertTrue(np.array_equal(numbers.draws, same.draws))
        # Missing ones do not change the type; a number among them does.
        holes = [None if k % 7 == 0 else bool(v) for k, v in enumerate(flag)]
        self.assertEqual(mlo.fit("y ~ flag", {"y": y, "flag": holes}, **HOW).names[1], "flagTRUE")
        mixed = [0.5 if k % 7 == 0 else bool(v) for k, v in enumerate(flag)]
        self.assertEqual(mlo.fit("y ~ flag", {"y": y, "flag": mixed}, **HOW).names[1], "flag")
        found = mlo.describe({"flag": flag})
        self.assertEqual(found.columns.loc["flag", "type"] if hasattr(found.columns, "loc") else found.columns["flag"]["type"],
                         "logical")

    def test_predictions_take_0_and_1_for_bool(self):
        fit = mlo.fit("y ~ flag + x", self.data, **HOW)
        new = {"flag": np.array([True, False, True]), "x": [0.0, 1.0, 2.0]}
        expected = fit.predict(new)["mean"]
        for flag in ([1, 0, 1], [1.0, 0.0, 1.0], np.array([True, False, True], dtype=object)):
            self.assertTrue(np.array_equal(fit.predict({**new, "flag": flag})["mean"], expected))
        with self.assertRaisesRegex(mlo.DataError, "2 is neither TRUE nor FALSE"):
            fit.predict({**new, "flag": [1, 2, 1]})
        numbers = mlo.fit("y ~ flag + x", {**self.data, "flag": self.data["flag"].astype(int)}, **HOW)
        self.assertTrue(np.array_equal(numbers.predict(new)["mean"], numbers.predict({**new, "flag": [1, 0, 1]})["mean"]))

    def test_a_factor_of_words_and_numbers_is_text(self):
        mixed = [1, "b", 2.5, 1, "b", 2] * 50
        fit = mlo.fit("y ~ m", {"y": self.data["y"], "m": mixed}, **HOW)
        self.assertEqual(fit.names, ["(Intercept)", "m2", "m2.5", "mb"])
        with self.assertRaisesRegex(mlo.DataError, 'row 2 of the data: column "m": "b" is not a number') as caught:
            mlo.fit("y ~ log(m)", {"y": self.data["y"], "m": [1, "b", 2.5, 1, 3, 2] * 50}, **HOW)
        self.assertEqual((caught.exception.row, caught.exception.where), (1, "row 2 of the data"))

    def test_types_that_are_asked_for(self):
        expected = self.expected(formula="y ~ count", type={"count": "text"})
        self.check(self.data, expected, "y ~ count", type={"count": "text"})
        words = {"y": self.data["y"], "count": [str(v) for v in self.data["count"]]}
        self.check(words, self.expected(formula="y ~ count"), "y ~ count", type={"count": "number"})
        with self.assertRaisesRegex(mlo.UsageError, "no column"):
            mlo.fit("y ~ count", self.data, type={"cuont": "text"})

    def test_data_frames(self):
        pandas = needs("pandas")
        expected = self.expected()
        frame = pandas.DataFrame(self.data)
        self.check(frame, expected)
        self.check(frame.set_index("x", drop=False), expected)
        self.check(frame.astype({"colour": "category"}), expected)
        self.check(frame.astype({"colour": "string", "count": "Int16", "flag": "boolean", "x": "Float64", "y": "Int64"}),
                   expected)
        self.check(frame.assign(x=pandas.arrays.SparseArray(self.data["x"])), expected)
        self.check(frame[::-1][::-1], expected)
        holes = frame.astype({"count": "Int64", "colour": "category"})
        holes.loc[3, "count"] = pandas.NA
        holes.loc[4, "colour"] = None
        plain = {name: list(values) for name, values in self.data.items()}
        plain["count"][3] = plain["colour"][4] = None
        self.check(holes, self.expected(plain))

    def test_a_frame_of_one_block_of_numbers(self):
        pandas = needs("pandas")
        block = np.column_stack([self.data["y"], self.data["x"], self.data["count"]]).astype(float)
        expected = self.expected(formula="y ~ x + count")
        self.check(pandas.DataFrame(block, columns=["y", "x", "count"]), expected, "y ~ x + count")
        names = mlo.fit("`0` ~ `1` + `2`", pandas.DataFrame(block), **HOW).names
        self.assertEqual(names, ["(Intercept)", "`1`", "`2`"])

    def test_the_order_of_categories_is_the_users(self):
        pandas = needs("pandas")
        frame = pandas.DataFrame(self.data)
        frame["colour"] = pandas.Categorical(frame["colour"], ["red", "unused", "green", "blue"])
        fit = mlo.fit("y ~ colour", frame, **HOW)
        self.assertEqual(fit.names, ["(Intercept)", "colourgreen", "colourblue"])
        relevelled = mlo.fit('y ~ factor(colour, levels = c("red", "green", "blue"))', self.data, **HOW)
        self.assertTrue(np.array_equal(fit.draws, relevelled.draws))
        # New data may have other categories, or words.
        new = fit.predict({"colour": ["blue", "red"]})
        again = fit.predict(pandas.DataFrame({"colour": pandas.Categorical(["blue", "red"])}))
        self.assertTrue(np.array_equal(np.asarray(new), np.asarray(again)))
        held = mlo.fit("y ~ colour", frame, holdout=0.3, **HOW)
        self.assertEqual(held.names, fit.names)

    def test_categories_that_are_not_words(self):
        pandas = needs("pandas")
        frame = pandas.DataFrame(self.data)
        frame["part"] = pandas.cut(frame["count"], [-1, 2, 5, 9])
        fit = mlo.fit("y ~ part", frame, **HOW)
        self.assertEqual(fit.names, ["(Intercept)", "part(2, 5]", "part(5, 9]"])
        frame["number"] = frame["count"].astype("category")
        self.assertEqual(mlo.fit("y ~ number", frame, **HOW).names[:2], ["(Intercept)", "number1"])

    def test_dates(self):
        pandas = needs("pandas")
        days = np.datetime64("2023-12-28") + np.arange(300)
        hours = np.datetime64("2023-12-28T22:30:00") + np.arange(300) * np.timedelta64(7, "h")
        plain = {"y": self.data["y"], "day": [str(d) for d in days], "when": [str(h).replace("T", " ") for h in hours]}
        formula = "y ~ month(day) + hour(when) + wday(when)"
        expected = self.expected(plain, formula)
        self.check({"y": self.data["y"], "day": days, "when": hours}, expected, formula)
        frame = pandas.DataFrame({"y": self.data["y"], "day": days.astype("M8[ns]"), "when": hours.astype("M8[ns]")})
        self.check(frame, expected, formula)
        zone = frame.assign(when=frame["when"].dt.tz_localize("UTC").dt.tz_convert("UTC"))
        self.check(zone, expected, formula)
        objects = {"y": self.data["y"], "day": [d.astype(datetime.date) for d in days],
                   "when": [h.astype(datetime.datetime) for h in hours]}
        self.check(objects, expected, formula)
        self.check({**plain, "when": frame["when"]}, expected, formula)
        holes = frame.copy()
        holes.loc[7, "day"] = pandas.NaT
        self.assertEqual(mlo.fit(formula, holes, **HOW).rows.dropped, 1)

    def test_only_columns_of_the_formula_are_looked_at(self):
        data = {**self.data, "junk": [object()] * 300, "complex": np.zeros(300, complex)}
        self.check(data)
        with self.assertRaisesRegex(mlo.DataError, 'row 1 of the data: column "junk": a value of type object'):
            mlo.fit("y ~ junk", data)

    def test_numbers_are_not_copied(self):
        x = self.data["x"].astype(float)
        import sys
        before = sys.getrefcount(x)
        fit = mlo.fit("y ~ x", {"y": self.data["y"], "x": x}, **HOW)
        self.assertEqual(sys.getrefcount(x), before)
        del fit

    def test_integers_of_64_bits_are_the_same_data_as_doubles(self):
        random = np.random.default_rng(3)
        columns = {"y": random.integers(0, 2, 2500), "k": random.integers(-50, 50, 2500), "g": random.integers(0, 9, 2500),
                   "large": 2**52 + random.integers(-9, 9, 2500)}
        expected = {name: values.astype(float) for name, values in columns.items()}
        kinds = {"int64": columns, "uint64": {**columns, "y": columns["y"].astype("u8"), "g": columns["g"].astype("u8")},
                 "strided": {name: np.stack([values, values], 1)[:, 0] for name, values in columns.items()}}
        for kind, data in kinds.items():
            for formula, more in (("y ~ k + log(large) + factor(g)", {}), ("y ~ k", {"holdout": 0.3}), ("y ~ k + (1 | g)", {}),
                                  ("k ~ I(g == 3)", {"family": "gaussian"})):
                with self.subTest(kind=kind, formula=formula):
                    fit, plain = mlo.fit(formula, data, **HOW, **more), mlo.fit(formula, expected, **HOW, **more)
                    self.assertTrue(np.array_equal(fit.draws, plain.draws))
                    few = {name: values[:40] for name, values in data.items()}
                    plain_few = {name: values[:40] for name, values in expected.items()}
                    self.assertTrue(np.array_equal(fit.predict(few)["mean"], plain.predict(plain_few)["mean"]))
            self.assertEqual(str(mlo.describe(data)), str(mlo.describe(expected)))
        with self.assertRaisesRegex(mlo.DataError, "row 3 of the data.*k = -?[0-9]+"):
            mlo.fit("y ~ log(k - 1000)", {"y": [0, 1, 1], "k": np.array([1001, 2000, 7])})

    def test_refuses_what_has_no_exact_value(self):
        big = np.arange(300) + 2**53
        for data in (big, big.astype(object), big.astype("u8")):
            with self.assertRaisesRegex(mlo.DataError, "row 2 of the data: column \"id\": 9007199254740993 is beyond 2.53"):
                mlo.fit("y ~ id", {"y": self.data["y"], "id": data})
        pandas = needs("pandas")
        frame = pandas.DataFrame({"y": self.data["y"], "id": pandas.array([None, *big[1:]], dtype="Int64")})
        with self.assertRaisesRegex(mlo.DataError, "row 2 of the data frame"):
            mlo.fit("y ~ id", frame)

    def test_refuses_infinity_with_its_place(self):
        for kind in ("f8", "f4", "O"):
            x = self.data["x"].astype(kind).copy()
            x[16] = float("inf")
            with self.assertRaisesRegex(mlo.DataError, 'row 17 of the data: column "x": inf is not a finite number') as caught:
                mlo.fit("y ~ x", {"y": self.data["y"], "x": x})
            self.assertEqual(caught.exception.row, 16)

    def test_refuses_columns_that_are_neither_numbers_nor_text(self):
        y = self.data["y"]
        for values, words in ((np.zeros(300, complex), "complex"), (np.zeros(300, "m8[s]"), "durations"),
                              (np.zeros((300, 2)), r"shape \(300, 2\)"), ([[1]] * 300, "shape"), ([b"\xff"] * 300, "type bytes"),
                              (["\ud800"] * 300, "surrogate"), (np.zeros(300, "V4"), "neither numbers nor text"),
                              (["a"] * 299, "299 cells"), ("abc", "not an array"), (5, "not an array"),
                              (np.array(5.0), "single value"), ([{}] * 300, "type dict")):
            with self.subTest(words), self.assertRaisesRegex(mlo.DataError, words):
                mlo.fit("y ~ x", {"y": y, "x": values})

    def test_two_columns_of_one_name(self):
        pandas = needs("pandas")
        frame = pandas.DataFrame(np.zeros((5, 3)), columns=["y", "x", "x"])
        with self.assertRaisesRegex(mlo.DataError, 'the data frame: more than one column is called "x"'):
            mlo.fit("y ~ x", frame)

    def test_data_are_not_changed(self):
        pandas = needs("pandas")
        frame = pandas.DataFrame(self.data)
        copy = frame.copy(deep=True)
        mlo.fit(FORMULA, frame, **HOW, holdout=0.2, scale="standard")
        pandas.testing.assert_frame_equal(frame, copy)
        block = frame["x"].to_numpy()
        block.flags.writeable = False
        mlo.fit("y ~ x", {"y": self.data["y"], "x": block}, **HOW, holdout=0.2)


if __name__ == "__main__":
    unittest.main()
