# Copyright (c) the mlo authors. BSD-3-Clause.
"""draws.nc, read with xarray and netCDF4, which Debian has; where they are absent, this test is skipped."""
import importlib.util
import json
import os
import shutil
import sys
import unittest

from support import CommandTest

MISSING = [name for name in ("numpy", "xarray", "netCDF4") if importlib.util.find_spec(name) is None]


class Netcdf(CommandTest):
    fit = ("fit", "data.csv", "y ~ x1 + x2", "--chains", "3", "--warmup", "100", "--draws", "150", "--seed", "9")

    def setUp(self):
        super().setUp()
        self.make_data()

    def group(self, run, name):
        import xarray
        with xarray.open_dataset(self.path(run, "draws.nc"), group=name) as data:
            return data.load()

    def test_the_draws_are_those_of_stan_csv_to_the_last_bit(self):
        import numpy
        self.good(*self.fit, "--out", "run", "--format", "netcdf")
        posterior, stats = self.group("run", "posterior"), self.group("run", "sample_stats")
        self.assertEqual(dict(posterior.sizes), {"chain": 3, "draw": 150})
        self.assertEqual(list(posterior.data_vars), ["Intercept", "x1", "x2"])
        self.assertEqual(posterior["Intercept"].attrs["long_name"], "(Intercept)")
        self.assertEqual(list(stats.data_vars), ["lp", "acceptance_rate", "rows_read", "noise_sd"])
        for data in (posterior, stats):
            numpy.testing.assert_array_equal(data["chain"], range(3))
            numpy.testing.assert_array_equal(data["draw"], range(150))
        chains = [self.draws("run", k + 1) for k in range(3)]
        for variable, column in (("Intercept", "b_Intercept"), ("x1", "b_x1"), ("x2", "b_x2")):
            numpy.testing.assert_array_equal(posterior[variable], [chain.column(column) for chain in chains])
        numpy.testing.assert_array_equal(stats["lp"], [chain.column("lp__") for chain in chains])
        numpy.testing.assert_array_equal(
            stats["acceptance_rate"], numpy.float32([chain.column("accept_stat__") for chain in chains]))
        kept = numpy.genfromtxt(self.path("run", "statistics.csv"), delimiter=",", names=True)
        for name in ("rows_read", "noise_sd"):
            numpy.testing.assert_array_equal(stats[name].values.ravel(), numpy.float32(kept[name]))

    def test_the_attributes_say_what_was_run(self):
        self.good(*self.fit, "--out", "run", "--format", "stan-csv,netcdf", "--method", "full")
        for name in ("posterior", "sample_stats"):
            attributes = self.group("run", name).attrs
            self.assertEqual({key: attributes[key] for key in ("inference_library", "formula", "family", "data", "method",
                                                               "promise", "lp")},
                             {"inference_library": "mlo", "formula": "y ~ x1 + x2", "family": "logistic",
                              "data": "data.csv", "method": "full", "promise": "exact",
                              "lp": "the log posterior of all rows, up to a constant"})
            self.assertEqual(attributes["inference_library_version"], self.good("--version").stdout.split()[-1])
            self.assertEqual([int(attributes[key]) for key in ("seed", "tuning_steps", "thin")], [9, 100, 1])
            self.assertNotIn("created_at", attributes)

    def test_the_same_fit_gives_the_same_bytes_and_the_date_is_that_of_the_environment(self):
        for run in ("one", "two"):
            self.good(*self.fit, "--out", run, "--format", "netcdf")
        self.assertEqual(self.read("one", "draws.nc"), self.read("two", "draws.nc"))
        self.good(*self.fit, "--out", "dated", "--format", "netcdf", variables={"SOURCE_DATE_EPOCH": "1700000000"})
        self.assertEqual(self.group("dated", "posterior").attrs["created_at"], "2023-11-14T22:13:20+00:00")

    def test_other_commands_read_the_run(self):
        table = self.good(*self.fit, "--out", "run", "--format", "netcdf").stdout
        self.assertEqual(self.good("summary", "run").stdout, table)
        self.good("predict", "run", "data.csv")
        self.assertEqual(self.files("run"), ["draws-1.csv", "draws-2.csv", "draws-3.csv", "draws.nc", "run.json",
                                             "statistics.csv", "summary.csv"])

    def test_names_that_netcdf_does_not_allow_are_kept_beside_the_data(self):
        self.write("names.csv", 'y,"a/b",chain,"é"\n' + "".join(
            f"{k % 2},{(k * 7) % 10},{(k * 3) % 11},{(k * 5) % 13}\n" for k in range(60)))
        self.good("fit", "names.csv", "y ~ `a/b` + chain + `é`", "--draws", "20", "--warmup", "20", "--seed", "1",
                  "--out", "run", "--format", "netcdf")
        posterior = self.group("run", "posterior")
        names = list(json.loads(self.good("summary", "run", "--json").stdout)["parameters"])
        self.assertEqual([posterior[name].attrs["long_name"] for name in posterior.data_vars], names)
        self.assertEqual(list(posterior.data_vars)[2], "chain_")

    def fit_groups(self, formula, *more, rows=400):
        lines = ["y,x,g,a,b"]
        for k in range(rows):
            lines.append(f"{(k * 7919) % 13 % 2},{(k * 31) % 17 / 8 - 1},{k % 7},{('1_2', '1', 'é')[k % 3]},{('3', '2_3')[k // 3 % 2]}")
        self.write("grouped.csv", "\n".join(lines) + "\n")
        self.good("fit", "grouped.csv", formula, "--draws", "40", "--warmup", "40", "--chains", "2", "--seed", "1", "--out", "run",
                  "--format", "netcdf", *more)
        return self.group("run", "posterior")

    def test_group_effects_are_a_variable_per_grouping(self):
        # Two terms of g are one grouping; of a:b, two levels have the same name.
        import numpy
        posterior = self.fit_groups("y ~ x + (1 | g) + (1 | a:b) + (0 + x | g)")
        self.assertEqual({name: posterior[name].dims for name in posterior.data_vars if name.startswith("r_")},
                         {"r_g": ("chain", "draw", "g", "g_effect"), "r_a:b": ("chain", "draw", "a:b", "a:b_effect")})
        self.assertEqual(list(posterior["g"].values), [str(k) for k in range(7)])
        self.assertEqual(list(posterior["g_effect"].values), ["Intercept", "x"])
        self.assertEqual(list(posterior["a:b"].values), ["1_2_3", "1_3", "1_2_2_3", "1_2_3", "é_2_3", "é_3"])
        self.assertEqual(posterior["r_g"].dtype, numpy.float32)
        self.assertEqual(posterior["r_g"].attrs["long_name"], "effects of g")
        draws = numpy.stack([numpy.load(self.path("run", f"effects-{k}.npy")) for k in (1, 2)])
        rows = numpy.genfromtxt(self.path("run", "groups.csv"), delimiter=",", names=True, dtype=None, encoding="utf-8")
        found = {(group, effect): [k for k, row in enumerate(rows) if (row["group"], row["effect"]) == (group, effect)]
                 for group, effect in (("g", "Intercept"), ("g", "x"), ("a:b", "Intercept"))}
        for (group, effect), places in found.items():
            variable = posterior[f"r_{group}"].sel({f"{group}_effect": effect})
            numpy.testing.assert_array_equal(variable, draws[:, :, places])
            self.assertEqual([rows["level"][k] for k in places], list(posterior[group].values))
        level = posterior["r_g"].sel(g="3", g_effect="x")
        numpy.testing.assert_allclose(float(level.mean()), rows["mean"][found["g", "x"][3]], rtol=1e-5)

    def test_a_grouping_with_the_name_of_a_parameter_gets_another(self):
        posterior = self.fit_groups("y ~ g + (1 | g)")
        self.assertEqual(posterior["r_g"].dims, ("chain", "draw", "g_2", "g_effect"))
        self.assertEqual((posterior["g"].dims, len(posterior["g_2"])), (("chain", "draw"), 7))

    def test_effects_that_were_not_kept_are_not_there(self):
        for kept in ("summary", "no"):
            self.assertEqual(list(self.fit_groups("y ~ x + (1 | g)", "--save-groups", kept).data_vars),
                             ["Intercept", "x", "sd_g__Intercept"])
            shutil.rmtree(self.path("run"))

    def test_an_interrupted_and_resumed_run_has_its_file_too(self):
        def fit(out, times):
            return (*self.fit, "--method", "full", "--thin", str(200 * times), "--format", "netcdf", "--out", out)

        times, _ = self.interrupted_in_time(lambda times: fit("run", times), "sampling [")
        self.good(*fit("whole", times))
        self.assertEqual(self.group("run", "posterior").sizes["chain"], 3)
        self.good("fit", "--resume", "--out", "run")
        self.assertEqual(self.read("run", "draws.nc"), self.read("whole", "draws.nc"))

    def test_a_full_disk_is_said(self):
        # A file of draws takes 1.3 MB per chain, draws.nc about 0.5 MB per chain: it is the first that is too large.
        result = self.mlo("fit", "data.csv", "y ~ 1", "--draws", "20000", "--chains", "6", "--seed", "1", "--out", "run",
                          "--format", "netcdf", "--quiet", file_size_limit=1_600_000)
        self.assertEqual((result.code, result.stderr), (3, "mlo fit: run/draws.nc: cannot be written: File too large\n"))
        self.assertNotIn("draws.nc.part", self.files("run"))

    def test_arviz_opens_both_formats(self):
        if importlib.util.find_spec("arviz") is None:
            self.skipTest("ArviZ is not installed")
        import arviz
        import numpy
        self.good(*self.fit, "--out", "run", "--format", "netcdf")
        data = arviz.from_netcdf(self.path("run", "draws.nc"))
        self.assertEqual(data.groups(), ["posterior", "sample_stats"])
        csv = arviz.from_cmdstan([self.path("run", f"draws-{k}.csv") for k in (1, 2, 3)])
        numpy.testing.assert_array_equal(csv.posterior["b_x1"], data.posterior["x1"])
        numpy.testing.assert_array_equal(csv.sample_stats["lp"], data.sample_stats["lp"])
        self.assertEqual(list(arviz.summary(data).index), ["Intercept", "x1", "x2"])


class Refusals(CommandTest):
    """These need no reader."""

    def setUp(self):
        super().setUp()
        self.make_data()

    def refused(self, code, message, *args, **how):
        result = self.mlo("fit", "data.csv", "y ~ x1", *args, "--quiet", **how)
        self.assertEqual((result.code, result.stderr), (code, f"mlo fit: {message}\n"))
        self.assertEqual(self.files(), ["data.csv"])

    def test_formats_that_do_not_exist(self):
        for word in ("csv", "", "netcdf,", "netcdf,,stan-csv", "NetCDF", "netcdf stan-csv"):
            self.refused(2, f'--format must be stan-csv, netcdf or stan-csv,netcdf (got "{word}")', "--out", "run",
                         "--format", word)

    def test_a_file_without_a_directory(self):
        self.refused(2, "--format netcdf needs --out: the directory for the file", "--format", "netcdf")

    def test_a_library_that_is_not_there_is_said_before_the_fit(self):
        result = self.mlo("fit", "data.csv", "y ~ x1", "--out", "run", "--format", "netcdf", "--quiet",
                          variables={"MLO_NETCDF": "/nowhere/libnetcdf.so"})
        self.assertEqual(result.code, 3)
        self.assertRegex(result.stderr, "^mlo fit: netCDF files are written by a library, but the one that MLO_NETCDF "
                                        "names cannot be loaded: /nowhere/libnetcdf.so: ")
        self.assertEqual(self.files(), ["data.csv"])

    def test_a_library_of_something_else(self):
        result = self.mlo("fit", "data.csv", "y ~ x1", "--out", "run", "--format", "netcdf", "--quiet",
                          variables={"MLO_NETCDF": "libm.so.6"})
        self.assertEqual((result.code, result.stderr),
                         (3, "mlo fit: libm.so.6 has no function nc_inq_libvers: it is not netCDF, or older than 4.6.2; "
                             "set MLO_NETCDF to the path of another\n"))


if __name__ == "__main__":
    if MISSING:
        words = f"draws.nc is not read back: Python has no {', '.join(MISSING)}; ./setup --all-tests installs them"
        if os.environ.get("MLO_REQUIRE_ALL"):
            sys.exit(words)
        print(words)
        sys.exit(77)
    unittest.main()
