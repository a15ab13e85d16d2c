# Copyright (c) the mlo authors. BSD-3-Clause.
"""Group effects from Python: the same as the command's, and what can be asked of them."""
import gc
import pickle
import unittest

import numpy as np
from support import PlaceTest, needs

import mlo

MODEL = "y ~ x1 + (x1 | g)"
SHORT = {"seed": 5, "draws": 60, "warmup": 100, "chains": 2}


def data_of(rows=800, seed=3):
    data = mlo.simulate("logistic", rows=rows, coefficients=[1], groups=["g:12:0.7:x1=0.4"], seed=seed)
    return {name: np.asarray(data[name]) for name in data}


class Groups(PlaceTest):
    def test_the_draws_are_those_of_the_command(self):
        data = data_of()
        lines = [",".join(data)] + [",".join(repr(float(v)) for v in row) for row in zip(*data.values())]
        file = self.write("data.csv", "\n".join(lines) + "\n")
        run = self.path("run")
        self.command("fit", file, MODEL, "--seed", "5", "--draws", "60", "--warmup", "100", "--chains", "2", "--out", run,
                     "--quiet")
        fit = mlo.fit(MODEL, data, **SHORT)
        for chain in range(2):
            self.assertTrue(np.array_equal(np.load(f"{run}/effects-{chain + 1}.npy"), fit.effects[chain]))
        self.assertTrue(np.array_equal(fit.draws, self.draws_of(run)))

    def test_effects_are_a_view(self):
        fit = mlo.fit(MODEL, data_of(), **SHORT)
        effects = fit.effects
        self.assertEqual((effects.shape, effects.dtype), ((2, 60, 24), np.float32))
        self.assertTrue(np.shares_memory(effects, fit.effects))
        with self.assertRaises(ValueError):
            effects[0, 0, 0] = 1
        copy = effects.copy()
        del fit
        gc.collect()
        self.assertTrue(np.array_equal(effects, copy))

    def test_groups_are_a_table(self):
        needs("pandas")
        fit = mlo.fit(MODEL, data_of(), **SHORT)
        table = fit.groups()
        self.assertEqual(list(table.columns), ["group", "level", "effect", "mean", "sd", "q5", "q95", "rhat"])
        self.assertEqual(list(table["level"][:4]), ["1", "1", "2", "2"])
        self.assertEqual(list(table["effect"][:2]), ["Intercept", "x1"])
        draws = fit.effects.reshape(-1, 24).astype(float)
        self.assertTrue(np.allclose(table["mean"], draws.mean(0), atol=1e-6))
        self.assertTrue(np.allclose(table["sd"], draws.std(0, ddof=1), atol=1e-6))
        self.assertTrue(np.allclose(table["q95"], np.quantile(draws, 0.95, axis=0), atol=1e-12))
        self.assertEqual(len(fit.groups("g")), 24)
        with self.assertRaisesRegex(mlo.UsageError, "no grouping 'h'"):
            fit.groups("h")

    def test_a_fit_without_groups_has_none(self):
        fit = mlo.fit("y ~ x1", data_of(), **SHORT)
        self.assertIsNone(fit.effects)
        with self.assertRaisesRegex(mlo.UsageError, "no group effects"):
            fit.groups()

    def test_a_summary_alone_has_no_draws(self):
        fit = mlo.fit(MODEL, data_of(), save_groups="summary", **SHORT)
        self.assertIsNone(fit.effects)
        self.assertEqual(len(fit.groups()), 24)
        with self.assertRaisesRegex(mlo.UsageError, "were not kept.*save_groups.*new_levels"):
            fit.predict({"x1": [0.0], "g": [1.0]})
        fit.predict({"x1": [0.0], "g": [1.0]}, new_levels="population")
        fit.predict({"x1": [0.0], "g": [77.0]})

    def test_it_is_saved_loaded_and_pickled(self):
        fit = mlo.fit(MODEL, data_of(), **SHORT)
        fit.save(self.path("run"))
        new = {"x1": [0.5, -1.0, 2.0], "g": [1.0, 12.0, 99.0]}
        expected = fit.predict(new)
        for again in (mlo.load(self.path("run")), pickle.loads(pickle.dumps(fit))):
            self.assertTrue(np.array_equal(again.effects, fit.effects))
            self.assertTrue(np.array_equal(np.asarray(again.groups()["mean"]), np.asarray(fit.groups()["mean"])))
            for column in ("mean", "sd", "q5", "q95"):
                self.assertTrue(np.array_equal(np.asarray(again.predict(new)[column]), np.asarray(expected[column])))

    def test_predictions_have_the_effects(self):
        fit = mlo.fit(MODEL, data_of(), **SHORT)
        new = {"x1": np.array([0.5, -1.0]), "g": np.array([1.0, 12.0])}
        table = fit.predict(new, type="link")
        fixed, effects = fit.draws.reshape(-1, fit.draws.shape[2]), fit.effects.reshape(-1, 24).astype(float)
        for row, (x, g) in enumerate(zip(new["x1"], new["g"])):
            at = 2 * (int(g) - 1)
            eta = fixed[:, 0] + x * fixed[:, 1] + effects[:, at] + x * effects[:, at + 1]
            self.assertAlmostEqual(table["mean"][row], eta.mean(), places=11)
            self.assertAlmostEqual(table["q5"][row], np.quantile(eta, 0.05), places=11)

    def test_new_levels(self):
        fit = mlo.fit(MODEL, data_of(), **SHORT)
        new = {"x1": [0.5, 0.5, 0.5], "g": [70.0, 71.0, 70.0]}
        sampled = fit.predict(new, type="link")
        self.assertEqual(sampled["mean"][0], sampled["mean"][2])
        self.assertNotEqual(sampled["mean"][0], sampled["mean"][1])
        self.assertNotEqual(fit.predict(new, type="link", seed=6)["mean"][0], sampled["mean"][0])
        population = fit.predict(new, type="link", new_levels="population")
        self.assertAlmostEqual(population["mean"][0], (fit["(Intercept)"] + 0.5 * fit["x1"]).mean(), places=11)
        self.assertTrue(np.isnan(np.asarray(fit.predict(new, new_levels="missing")["mean"])).all())
        with self.assertRaisesRegex(mlo.DataError, "did not have this group"):
            fit.predict(new, new_levels="error")
        with self.assertRaisesRegex(mlo.UsageError, "seed has no meaning"):
            fit.predict(new, new_levels="population", seed=1)

    def test_groups_that_look_the_same_are_the_same(self):
        data = data_of() | {"h": np.arange(800) % 3}
        formula = "y ~ x1 + factor(h) + (1 | g)"
        text = {name: values.astype(str) for name, values in data.items() if name in ("g", "h")}
        new = {"x1": [0.5, 0.5, 0.5], "g": [1, 12, 99], "h": [0, 1, 2]}
        words = new | {"g": ["1", "12", "99"], "h": ["0", "1", "2"]}
        reals = new | {"g": ["1.0", "12.0", "99.0"]}  # a column with missing cells, as text
        for fit in (mlo.fit(formula, data, **SHORT), mlo.fit(formula, data | text, **SHORT)):
            expected = fit.predict(new)
            self.assertNotEqual(expected["mean"][0], expected["mean"][1])
            objects = words | {"g": np.array(words["g"], dtype=object)}
            for kind in (words, objects, new | {"g": [1.0, 12.0, 99.0]}):
                self.assertTrue(np.array_equal(np.asarray(fit.predict(kind)["mean"]), np.asarray(expected["mean"])))
        fit = mlo.fit(formula, data, **SHORT)
        self.assertTrue(np.array_equal(np.asarray(fit.predict(reals)["mean"]), np.asarray(fit.predict(new)["mean"])))
        missing = fit.predict(new | {"g": ["1", None, "99"]})
        self.assertTrue(np.isnan(missing["mean"][1]))
        with self.assertRaisesRegex(mlo.DataError, 'column "g" holds text'):
            fit.predict(new | {"g": ["a", "b", "c"]})

    def test_numbers_as_text_are_refused_where_they_are_not_groups(self):
        fit = mlo.fit("y ~ x1 + g + (1 | g)", data_of(), **SHORT)
        for column, new in (("x1", {"x1": ["0.5"], "g": [1]}), ("g", {"x1": [0.5], "g": ["1"]})):
            with self.assertRaises(mlo.DataError) as raised:
                fit.predict(new)
            self.assertIn(f'column "{column}" holds numbers as text', raised.exception.what)
            self.assertEqual(raised.exception.remedy, "convert it to numbers")

    def test_xarray_has_an_array_per_grouping(self):
        needs("xarray")
        data = data_of() | {"h": np.array(["p", "q", "r", "s"])[np.arange(800) % 4]}
        fit = mlo.fit("y ~ x1 + (1 | h) + (x1 | g)", data, **SHORT)
        posterior = fit.to_arviz()
        posterior = getattr(posterior, "posterior", posterior)
        self.assertEqual((posterior["r_g"].dims, posterior["r_g"].dtype), (("chain", "draw", "g", "g_effect"), np.float32))
        self.assertEqual(list(posterior["h"].values), ["p", "q", "r", "s"])
        columns = fit.groups()
        for k, (group, level, effect) in enumerate(zip(columns["group"], columns["level"], columns["effect"])):
            found = posterior[f"r_{group}"].sel({group: level, f"{group}_effect": effect})
            self.assertTrue(np.array_equal(found, fit.effects[:, :, k]))
        needs("netCDF4")
        import xarray
        fit.to_netcdf(self.path("draws.nc"))
        with xarray.open_dataset(self.path("draws.nc"), group="posterior") as read:
            for name in ("r_g", "r_h"):
                self.assertTrue(read[name].identical(posterior[name].assign_attrs(read[name].attrs)))

    def test_names_that_are_taken_are_changed_in_xarray(self):
        needs("xarray")
        posterior = mlo.fit("y ~ g + (1 | g)", data_of(), **SHORT).to_arviz()
        posterior = getattr(posterior, "posterior", posterior)
        self.assertEqual((posterior["g"].dims, posterior["r_g"].dims), (("chain", "draw"), ("chain", "draw", "g_2", "g_effect")))

    def test_effects_that_were_not_kept_are_not_in_xarray(self):
        needs("xarray")
        posterior = mlo.fit(MODEL, data_of(), save_groups="summary", **SHORT).to_arviz()
        self.assertNotIn("r_g", getattr(posterior, "posterior", posterior))

    def test_a_report_shows_them(self):
        fit = mlo.fit(MODEL, data_of(), **SHORT)
        with open(fit.report(self.path("report.html")), encoding="utf-8") as file:
            self.assertIn("Group effects, levels ordered by effect", file.read())


if __name__ == "__main__":
    unittest.main(verbosity=2)
