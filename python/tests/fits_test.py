# Copyright (c) the mlo authors. BSD-3-Clause.
"""Fits from Python: the same draws as the command's, and what can be asked of them."""
import base64
import gc
import html
import html.parser
import os
import pickle
import re
import unittest

import numpy as np
from support import PlaceTest, needs

import mlo
from mlo import _fit


def logistic(rows=400, seed=3):
    data = mlo.simulate("logistic", rows=rows, coefficients=[1, -0.5], seed=seed)
    return {name: np.asarray(data[name]) for name in data}


class Fits(PlaceTest):
    def csv(self, data, name="data.csv"):
        lines = [",".join(data)]
        lines += [",".join(repr(float(v)) if isinstance(v, (float, np.floating)) else str(v) for v in row)
                  for row in zip(*data.values())]
        return self.write(name, "\n".join(lines) + "\n")

    def test_has_the_draws_of_the_command(self):
        data = logistic()
        file = self.csv(data)
        for method in ("auto", "full", "mlo", "difference"):
            with self.subTest(method):
                self.command("fit", file, "y ~ x1 + x2", "--seed", "5", "--draws", "50", "--warmup", "50", "--method", method,
                             "--out", self.path(method), "--quiet")
                expected = self.draws_of(self.path(method))
                for source in (file, data):
                    fit = mlo.fit("y ~ x1 + x2", source, seed=5, draws=50, warmup=50, method=method)
                    self.assertTrue(np.array_equal(fit.draws, expected))

    def test_draws_are_a_view_that_keeps_the_fit_alive_and_cannot_be_written(self):
        fit = mlo.fit("y ~ x1", logistic(), seed=1, draws=20, warmup=20)
        first, again = fit.draws, fit.draws
        self.assertTrue(np.shares_memory(first, again))
        self.assertEqual(first.shape, (4, 20, 2))
        self.assertTrue(first.flags.c_contiguous)
        self.assertFalse(first.flags.writeable)
        with self.assertRaises(ValueError):
            first[0, 0, 0] = 1
        one = fit["x1"]
        self.assertTrue(np.shares_memory(one, first))
        copy = first.copy()
        del fit, again
        gc.collect()
        self.assertTrue(np.array_equal(first, copy))
        self.assertTrue(np.array_equal(one, copy[:, :, 1]))

    def test_summary_is_that_of_the_draws(self):
        pandas = needs("pandas")
        fit = mlo.fit("y ~ x1 + x2", logistic(), seed=1, draws=100)
        table = fit.summary()
        self.assertIsInstance(table, pandas.DataFrame)
        self.assertEqual(list(table.index), fit.names)
        for name in fit.names:
            draws = fit[name].ravel()
            self.assertAlmostEqual(table.loc[name, "mean"], draws.mean(), places=12)
            self.assertAlmostEqual(table.loc[name, "sd"], draws.std(ddof=1), places=12)
            self.assertAlmostEqual(table.loc[name, "q5"], np.quantile(draws, 0.05), places=12)

    def test_says_what_was_run(self):
        fit = mlo.fit("y ~ x1", logistic(), seed=7, draws=30, warmup=30, chains=2, method="mlo", subsample_size=100)
        self.assertEqual(fit.method.name, "mlo")
        self.assertEqual(fit.promise, "approximate")
        self.assertEqual(fit.method.rows_per_step, 100)
        self.assertEqual((fit.seed, fit.family, fit.formula), (7, "logistic", "y ~ x1"))
        self.assertEqual(fit.options["subsample_size"], 100)
        self.assertEqual(fit.rows.used, 400)
        self.assertIn("seed 7", fit.notes)
        self.assertFalse(fit.interrupted)
        self.assertIsNone(fit.holdout)
        self.assertGreater(fit.seconds.total, 0)
        self.assertEqual((len(fit), list(fit), "x1" in fit, "x9" in fit), (2, fit.names, True, False))

    def test_prints_as_the_table_with_options_in_words_of_python(self):
        fit = mlo.fit("y ~ x1", logistic(), seed=7, draws=30, warmup=30, holdout=0.25)
        text = repr(fit)
        self.assertIn("logistic model of y", text)
        self.assertIn("rows were held out (holdout=0.25)", text)
        self.assertNotIn("--", text.replace("---", ""))
        self.assertGreater(fit.holdout["rows"], 50)

    def test_shows_as_html_that_is_well_formed(self):
        data = logistic()
        data["<b>&"] = data.pop("x2")
        fit = mlo.fit("y ~ x1 + `<b>&`", data, seed=7, draws=30, warmup=30)
        text = fit._repr_html_()
        self.assertIn("&lt;b&gt;&amp;", text)
        self.assertNotIn("<b>&", text)
        open_tags = []

        class Parser(html.parser.HTMLParser):
            def handle_starttag(self, tag, attributes):
                open_tags.append(tag)

            def handle_endtag(self, tag):
                assert open_tags.pop() == tag

        Parser().feed(text)
        self.assertEqual(open_tags, [])

    def test_html_has_the_numbers_of_the_printed_table(self):
        fit = mlo.fit("y ~ x1", logistic(rows=2000), method="mlo", subsample_size=1000, seed=7, draws=1500, warmup=30)
        text = fit._repr_html_()
        self.assertIn("reads 1,000 rows per step; 4 chains x 1,500 draws", text)
        for digits in ({"sd": 0.2, "mcse_mean": 0.01}, {"sd": 0.20049, "mcse_mean": 0.01}):
            self.assertEqual(_fit._number(digits, "sd"), "0.20")
        self.assertEqual([_fit._count(v) for v in (0.0275, 47.7, 999.6, 2831.45)], ["0.0275", "47.7", "1,000", "2,831"])

    def test_is_kept_and_read_again(self):
        data = logistic()
        fit = mlo.fit("y ~ x1 * x2", data, seed=7, draws=50, warmup=50)
        fit.save(self.path("kept"))
        self.assertIn("y", self.command("summary", self.path("kept")))
        again = mlo.load(self.path("kept"))
        self.assertTrue(np.array_equal(again.draws, fit.draws))
        self.assertEqual(again.names, fit.names)
        self.assertEqual(repr(again), repr(fit))
        new = {"x1": [0.5, -1.0], "x2": [0.25, 2.0]}
        self.assertTrue(np.array_equal(np.asarray(again.predict(new)["mean"]), np.asarray(fit.predict(new)["mean"])))
        with self.assertRaisesRegex(mlo.DataError, "holds a run already"):
            fit.save(self.path("kept"))
        with self.assertRaisesRegex(mlo.DataError, "no such run directory"):
            mlo.load(self.path("nowhere"))

    def test_survives_pickling(self):
        fit = mlo.fit("y ~ x1", logistic(), seed=7, draws=20, warmup=20)
        again = pickle.loads(pickle.dumps(fit))
        self.assertTrue(np.array_equal(again.draws, fit.draws))

    def test_writes_the_run_directory_of_the_command(self):
        data = logistic()
        fit = mlo.fit("y ~ x1", data, seed=7, draws=20, warmup=20, out=self.path("run"))
        self.assertTrue(np.array_equal(self.draws_of(self.path("run")), fit.draws))
        with self.assertRaisesRegex(mlo.UsageError, "is finished; show it with mlo.load"):
            mlo.resume(self.path("run"), data)

    def test_predicts_as_the_command_does(self):
        data = logistic()
        file = self.csv(data)
        fit = mlo.fit("y ~ x1 + x2", file, seed=5, draws=50, warmup=50, out=self.path("run"))
        new = {"x1": np.array([0.5, -1.0, np.nan]), "x2": np.array([0.25, 2.0, 1.0])}
        new_file = self.write("new.csv", "x1,x2\n0.5,0.25\n-1,2\n,1\n")
        for kind in ("response", "link", "draw"):
            text = self.command("predict", self.path("run"), new_file, "--type", kind, "--interval", "0.8", "--quiet")
            lines = [line.split(",") for line in text.splitlines()]
            expected = np.array([[float(cell or "nan") for cell in line[1:]] for line in lines[1:]])
            for source in (new, new_file):
                found = fit.predict(source, type=kind, interval=0.8)
                got = np.column_stack([found[name] for name in lines[0][1:]])
                self.assertTrue(np.array_equal(got, expected, equal_nan=True), (kind, got, expected))

    def test_predicts_probabilities_of_classes(self):
        data = mlo.simulate("softmax", rows=500, coefficients=[1.0], seed=2)
        fit = mlo.fit("y ~ x1", data, family="softmax", base="2", seed=5, draws=50, warmup=50)
        self.assertEqual(list(fit.summary().index), ["1:(Intercept)", "1:x1", "3:(Intercept)", "3:x1"])
        found = fit.predict({"x1": np.array([0.5, np.nan, -1.0])}, interval=0.8)
        self.assertEqual(list(found.columns)[:5], ["2:mean", "2:sd", "2:q10", "2:q90", "1:mean"])
        total = sum(np.asarray(found[f"{k}:mean"]) for k in "123")
        self.assertTrue(np.allclose(total[[0, 2]], 1) and np.isnan(total[1]))
        links = fit.predict({"x1": np.array([0.5])}, type="link")
        draws = fit.draws.reshape(-1, 4)
        self.assertAlmostEqual(float(links["3:mean"][0]), float(np.mean(draws[:, 2] + 0.5 * draws[:, 3])))
        with self.assertRaisesRegex(mlo.UsageError, 'type="draw" has no meaning'):
            fit.predict({"x1": np.array([0.5])}, type="draw")
        held = mlo.fit("y ~ x1", data, family="categorical", seed=5, draws=50, warmup=50, holdout=0.3).holdout
        self.assertEqual(held["classes"], ["1", "2", "3"])
        self.assertEqual(sum(held["confusion"]), held["rows"])

    def test_predictions_have_the_index_of_the_data_frame(self):
        pandas = needs("pandas")
        fit = mlo.fit("y ~ x1", logistic(), seed=5, draws=50, warmup=50)
        frame = pandas.DataFrame({"x1": [1.0, 2.0]}, index=["a", "b"])
        self.assertEqual(list(fit.predict(frame).index), ["a", "b"])
        with self.assertRaisesRegex(mlo.DataError, '(?s)row 2 of the data frame.*missing'):
            fit.predict(pandas.DataFrame({"x1": [1.0, None]}), missing="error")

    def test_files_are_read_with_the_same_options(self):
        data = logistic()
        text = "\n".join(f"{y:.0f};{str(a).replace('.', ',')};{str(b).replace('.', ',')}" for y, a, b in zip(*data.values()))
        file = self.write("german.csv", "y;x1;x2\n" + text + "\n")
        fit = mlo.fit("y ~ x1 + x2", [file], seed=5, draws=50, warmup=50, delimiter=";", decimal=",")
        expected = mlo.fit("y ~ x1 + x2", data, seed=5, draws=50, warmup=50)
        self.assertTrue(np.array_equal(fit.draws, expected.draws))

    def test_options_reach_the_model(self):
        data = logistic()
        plain = mlo.fit("y ~ x1", data, seed=1)
        narrow = mlo.fit("y ~ x1", data, seed=1, prior="normal(0, 0.01)")
        named = mlo.fit("y ~ x1", data, seed=1, prior_for={"x1": "normal(0, 0.01)"})
        self.assertGreater(plain["x1"].mean(), 0.5)
        self.assertLess(narrow["x1"].mean(), 0.1)
        self.assertTrue(np.array_equal(narrow["x1"] * 0 + named["x1"], named["x1"]))
        self.assertLess(named["x1"].mean(), 0.1)

    def test_saving_over_a_run_says_what_can_be_done_in_python(self):
        fit = mlo.fit("y ~ x1", logistic(), seed=1, draws=20, warmup=20)
        fit.save(self.path("run"))
        for again in (lambda: fit.save(self.path("run")),
                      lambda: mlo.fit("y ~ x1", logistic(), seed=1, draws=20, warmup=20, out=self.path("run"))):
            with self.assertRaises(mlo.DataError) as raised:
                again()
            self.assertIn("holds a run already", raised.exception.what)
            self.assertEqual(raised.exception.remedy, "choose another directory, or delete this one first")
            self.assertNotIn("resume", str(raised.exception))
        os.mkdir(self.path("full"))
        self.write("full/letter.txt", "dear reader")
        with self.assertRaises(mlo.DataError) as raised:
            fit.save(self.path("full"))
        self.assertEqual(raised.exception.what, "the directory exists and is not empty")

    def test_a_run_that_is_not_finished_is_continued_by_a_function(self):
        os.mkdir(self.path('a "run"'))
        self.write('a "run"/run.json', '{"status": "interrupted"}')
        with self.assertRaises(mlo.DataError) as raised:
            mlo.fit("y ~ x1", logistic(), seed=1, out=self.path('a "run"'))
        quoted = self.path('a "run"').replace('"', '\\"')
        self.assertEqual(raised.exception.remedy, f'choose another directory, or continue it with mlo.resume("{quoted}")')

    def test_xarray_and_netcdf_have_the_same_names(self):
        xarray = needs("xarray")
        needs("netCDF4")
        data = logistic() | {"draw": logistic()["x2"], "a/b": logistic()["x1"] ** 2}
        data["class"] = np.array(["p", "q/r", "s"])[np.arange(len(data["y"])) % 3]
        for formula, family in (("y ~ x1 + draw + `a/b` + I(x1^3)", "logistic"), ("class ~ x1", "softmax")):
            fit = mlo.fit(formula, data, family=family, seed=1, draws=20, warmup=20)
            found = fit.to_arviz()
            found = found if isinstance(found, xarray.Dataset) else found.posterior
            fit.to_netcdf(self.path(f"{family}.nc"))
            with xarray.open_dataset(self.path(f"{family}.nc"), group="posterior") as written:
                self.assertEqual(list(found.data_vars), list(written.data_vars))
                for name in written.data_vars:
                    self.assertTrue(np.array_equal(found[name].values, written[name].values), name)
                    self.assertEqual(found[name].attrs["long_name"], written[name].attrs["long_name"])
            self.assertEqual([v.attrs["long_name"] for v in found.data_vars.values()], fit.names)
            if family == "logistic":
                self.assertEqual(list(found.data_vars)[:4], ["Intercept", "x1", "draw_", "_`a_b`"])

    def test_to_arviz_has_the_posterior(self):
        xarray = needs("xarray")
        fit = mlo.fit("y ~ x1", logistic(), seed=1, draws=20, warmup=20)
        found = fit.to_arviz()
        posterior = found if isinstance(found, xarray.Dataset) else found.posterior
        self.assertEqual(posterior["x1"].dims, ("chain", "draw"))
        self.assertTrue(np.array_equal(posterior["x1"].values, fit["x1"]))

    def test_writes_netcdf(self):
        xarray = needs("xarray")
        needs("netCDF4")
        fit = mlo.fit("y ~ x1", logistic(), seed=1, draws=20, warmup=20)
        fit.to_netcdf(self.path("draws.nc"))
        with xarray.open_dataset(self.path("draws.nc"), group="posterior") as posterior:
            self.assertTrue(np.array_equal(posterior["x1"].values, fit["x1"]))

    def test_writes_a_report_in_words_of_python(self):
        fit = mlo.fit("y ~ x1", logistic(), seed=1, draws=100, warmup=50, prior_for={"x1": "normal(0, 2)"}, chains=2)
        path = fit.report(self.path("report.html"))
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("<html", text)
        self.assertNotIn("mlo fit ", text)
        expected = """mlo.fit("y ~ x1", data, prior_for={'x1': 'normal(0, 2)'}, chains=2, warmup=50, draws=100, seed=1)"""
        self.assertEqual(fit._call(), expected)
        self.assertIn("mlo.fit(", html.unescape(text))

    def test_plots_of_every_kind(self):
        needs("matplotlib")
        fit = mlo.fit("y ~ x1 + x2", logistic(), seed=1, draws=50, warmup=20)
        for kind in ("trace", "density", "forest", "pairs", "rank"):
            figure = fit.plot(kind)
            figure.savefig(self.path(kind + ".png"))
            self.assertGreater(os.path.getsize(self.path(kind + ".png")), 5000)
        self.assertEqual(len(fit.plot("trace", ["x2"]).axes), 1)
        for line in fit.plot("rank", ["x2"]).axes[0].lines[:-1]:  # the last is the level one
            self.assertEqual((line.get_xdata()[0], line.get_xdata()[-1]), (0, fit["x2"].size))
        self.assertEqual(fit.plot("forest")._repr_png_()[:8], b"\x89PNG\r\n\x1a\n")  # what a notebook asks for
        pickle.loads(pickle.dumps(fit.plot("forest"))).savefig(self.path("again.png"))
        with self.assertRaisesRegex(mlo.UsageError, "kind must be one of"):
            fit.plot("pie")

    def test_a_smoothed_density_is_a_density(self):
        from mlo._plot import smooth
        draws = np.random.default_rng(1).normal(3, 2, 20_000)
        x, density = smooth(draws)
        self.assertAlmostEqual(np.trapz(density, x), 1, places=3)
        exact = np.exp(-0.5 * ((x - 3) / 2) ** 2) / (2 * np.sqrt(2 * np.pi))
        # Silverman's width 0.25 widens the peak by 1 %, and its noise is about 0.003.
        self.assertLess(np.abs(density - exact).max(), 0.012)


class Tools(PlaceTest):
    def test_simulated_groups_are_the_commands(self):
        groups = ["g:7:0.5", "h:3:1:x1=0.3,cor=0.4"]
        self.command("simulate", "logistic", "--rows", "50", "--group", groups[0], "--group", groups[1], "--seed", "9", "--out",
                     self.path("data.csv"))
        data = mlo.simulate("logistic", rows=50, groups=groups, seed=9)
        self.assertEqual(list(data), ["y", "x1", "x2", "g", "h"])
        expected = np.loadtxt(self.path("data.csv"), delimiter=",", skiprows=1)
        self.assertTrue(np.array_equal(np.column_stack([data[name] for name in data]), expected))
        self.assertEqual(str(data["g"].dtype), "int64")

    def test_simulate_is_the_commands(self):
        self.command("simulate", "student", "--rows", "50", "--coefficients", "1,2", "--freedom", "5", "--seed", "9", "--out",
                     self.path("data.csv"))
        data = mlo.simulate("student", rows=50, coefficients=[1, 2], freedom=5, seed=9)
        expected = np.loadtxt(self.path("data.csv"), delimiter=",", skiprows=1)
        self.assertTrue(np.array_equal(np.column_stack([data[name] for name in ("y", "x1", "x2")]), expected))

    def test_describe_counts(self):
        found = mlo.describe({"y": [0.0, 1.0, None], "word": ["a", "b", "a"]}, "y ~ word")
        self.assertEqual(found.rows, 3)
        self.assertEqual(found.design["columns"], ["(Intercept)", "wordb"])
        self.assertIn("word: a (2), b (1)", repr(found))
        table = found.columns
        self.assertEqual(list(table["missing"]), [1, 0])

    def test_compare_methods(self):
        found = mlo.compare_methods("y ~ x1", logistic(), ["exact", "full"], seconds=0.3, reference_draws=500, draws=300,
                                    warmup=100)
        self.assertIn("exact", repr(found))
        self.assertEqual(list(found.summary().index), ["exact", "full"])
        self.assertIn("<svg", found._repr_svg_())
        page = found._repr_html_()
        self.assertIn(html.escape(repr(found).splitlines()[0]), page)
        picture = re.search("src='data:image/svg[+]xml;base64,([^']+)'", page)
        self.assertEqual(base64.b64decode(picture[1]).decode(), found.svg)
        self.assertNotIn("<svg", page)  # nbconvert empties it
        self.assertIn("<pre style='white-space:pre;", page)  # a notebook would break the lines of the table
        with self.assertRaisesRegex(mlo.UsageError, "methods"):
            mlo.compare_methods("y ~ x1", logistic(), ["exakt"])

    def test_lists_methods_and_families(self):
        methods = mlo.methods()
        names = list(methods.index) if hasattr(methods, "index") else list(methods["name"])
        self.assertIn("mlo-adaptive", names)
        self.assertEqual(self.command("--version").strip(), mlo.__version__)
        self.assertIn("poisson", list(mlo.families().index))


if __name__ == "__main__":
    unittest.main()
