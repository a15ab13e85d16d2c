# Copyright (c) the mlo authors. BSD-3-Clause.
"""Models written in Python: their draws against closed forms, and kernels stepped by hand."""
import unittest

import numpy as np

import mlo

ROWS = 2000
Y = np.random.default_rng(1).normal(0.7, 1.0, ROWS)
METHODS = ("full", "uniform", "mlo", "mlo-adaptive", "austerity", "barker", "penalty")


def terms(theta, rows):
    return -0.5 * (Y[rows] - theta[0]) ** 2


def mean_model(**keywords):
    # Prior N(0, 2^2): the posterior is normal with precision n + 1/4.
    return mlo.Model(terms, rows=ROWS, dim=1, names=["mu"], log_prior=lambda theta: -theta[0] ** 2 / 8, **keywords)


POSTERIOR_MEAN = Y.sum() / (ROWS + 0.25)
POSTERIOR_SD = (ROWS + 0.25) ** -0.5


class Models(unittest.TestCase):
    def test_full_draws_from_the_posterior(self):
        fit = mlo.sample(mean_model(), "full", seed=1, draws=2000)
        p = fit._info["parameters"]["mu"]
        # |z| < 5: one false alarm in a million. The error of the sd of n effective draws is sd / sqrt(2 n).
        self.assertLess(abs(p["mean"] - POSTERIOR_MEAN), 5 * p["mcse_mean"])
        self.assertLess(abs(p["sd"] / POSTERIOR_SD - 1), 5 / np.sqrt(2 * p["ess_bulk"]))
        self.assertEqual((fit.names, fit.promise), (["mu"], "exact"))

    def test_prints_what_it_is(self):
        self.assertEqual(repr(mean_model()), "<mlo.Model of 2,000 rows with the parameters mu>")
        kernel = mlo.kernel(mean_model(), "full", seed=1)
        kernel.theta = [0.5]
        self.assertEqual(repr(kernel), "<mlo.Kernel (exact) after 0 steps, theta [0.5]>")
        kernel.step()
        self.assertIn("after 1 step, ", repr(kernel))
        with self.assertRaises(mlo.UsageError) as caught:
            mlo.sample(mean_model(), "austerty")
        self.assertEqual(caught.exception.remedy, "did you mean austerity?")

    def test_every_method_finds_the_mean(self):
        for method in METHODS:
            with self.subTest(method):
                fit = mlo.sample(mean_model(), method, seed=2, draws=300, warmup=200)
                # Methods with noise have wider draws; their means are usable.
                self.assertLess(abs(fit["mu"].mean() - POSTERIOR_MEAN), 5 * fit["mu"].std() / np.sqrt(100))
                self.assertEqual(fit.method.name, method)

    def test_regression_with_and_without_gradients_has_the_same_mode(self):
        random = np.random.default_rng(3)
        x = np.column_stack([np.ones(ROWS), random.normal(size=(ROWS, 2))])
        y = (random.random(ROWS) < 1 / (1 + np.exp(-x @ [0.3, 1, -0.5]))).astype(float)

        def logistic(theta, rows):
            eta = x[rows] @ theta
            return y[rows] * eta - np.logaddexp(0, eta)

        def gradients(theta, rows):
            eta = x[rows] @ theta
            return (y[rows] - 1 / (1 + np.exp(-eta)))[:, None] * x[rows]

        prior = lambda theta: -0.5 * np.sum((theta / 10) ** 2)  # noqa: E731
        plain = mlo.Model(logistic, ROWS, 3, log_prior=prior)
        smart = mlo.Model(logistic, ROWS, 3, log_prior=prior, gradients=gradients)
        a = mlo.sample(plain, "full", seed=4, draws=500, warmup=200)
        b = mlo.sample(smart, "full", seed=4, draws=500, warmup=200)
        reference = mlo.fit("y ~ a + b", {"y": y, "a": x[:, 1], "b": x[:, 2]}, prior="normal(0, 10)", seed=9, draws=5000)
        for j in range(3):
            sd = reference.draws[:, :, j].std()
            for fit in (a, b):
                error = np.hypot(fit._info["parameters"][fit.names[j]]["mcse_mean"], sd / np.sqrt(10_000))
                self.assertLess(abs(fit.draws[:, :, j].mean() - reference.draws[:, :, j].mean()), 5 * error)
        score = mlo.sample(smart, "mlo", weights="score", seed=4, draws=50, warmup=50)
        self.assertIn("score weights", " ".join(score.notes))
        with self.assertRaisesRegex(mlo.UsageError, "gradients"):
            mlo.sample(plain, "mlo", weights="score", seed=4, draws=50)

    def test_weights_of_ones_own(self):
        weights = 0.5 + (np.arange(ROWS) % 3)
        seen = np.zeros(ROWS)

        def counting(theta, rows):
            if len(rows) == 200:
                np.add.at(seen, rows, 1)
            return terms(theta, rows)

        model = mlo.Model(counting, ROWS, 1, log_prior=lambda theta: -theta[0] ** 2 / 8)
        fit = mlo.sample(model, "mlo", weights=weights, subsample_size=200, seed=1, draws=1000, chains=2, warmup=100)
        self.assertIn("rows drawn with weights of your own", fit.notes)
        shares = np.array([seen[k::3].sum() for k in range(3)]) / seen.sum()
        expected = np.array([weights[k::3].sum() for k in range(3)]) / weights.sum()
        error = np.sqrt(expected * (1 - expected) / (seen.sum() / 2))  # rows are read at two points
        self.assertLess(np.max(np.abs(shares - expected) / error), 5)
        for wrong in (weights[:-1], -weights, weights * np.nan, np.zeros(ROWS)):
            with self.assertRaises(mlo.UsageError):
                mlo.sample(model, "mlo", weights=wrong)
        with self.assertRaisesRegex(mlo.UsageError, "does not draw rows with weights"):
            mlo.sample(model, "full", weights=weights)

    def test_a_kernel_stepped_by_hand_makes_the_steps_of_a_run(self):
        for method in ("full", "uniform", "mlo", "austerity"):
            with self.subTest(method):
                options = {"seed": 11, "thin": 1, "warmup": 0, "draws": 40, "chains": 2}
                fit = mlo.sample(mean_model(), method, **options)
                for chain in range(2):
                    kernel = mlo.kernel(mean_model(), method, seed=11, thin=1, chain=chain)
                    kernel.freeze()
                    steps = []
                    for _ in range(40):
                        info = kernel.step()
                        steps.append(kernel.theta[0])
                    self.assertTrue(np.array_equal(steps, fit.draws[chain, :, 0]))
                    self.assertEqual(kernel.steps, 40)
                    self.assertGreater(info.rows_read, 0)

    def test_a_kernel_can_be_moved(self):
        kernel = mlo.kernel(mean_model(), "full", seed=1)
        kernel.theta = [5.0]
        self.assertEqual(kernel.theta[0], 5.0)
        kernel.step()
        with self.assertRaises(mlo.UsageError):
            kernel.theta = [1.0, 2.0]
        self.assertEqual(kernel.promise, "exact")

    def test_exceptions_of_the_functions_come_out_as_they_are(self):
        class Mine(Exception):
            pass

        calls = [0]

        def failing(theta, rows):
            calls[0] += 1
            if calls[0] > limit:
                raise Mine("call %d" % calls[0])
            return terms(theta, rows)

        for limit in (0, 3, 100):
            calls[0] = 0
            for threads in (1, 2):
                with self.assertRaisesRegex(Mine, "call"):
                    mlo.sample(mlo.Model(failing, ROWS, 1), "full", seed=1, threads=threads)
        with self.assertRaises(ZeroDivisionError):
            mlo.sample(mlo.Model(terms, ROWS, 1, log_prior=lambda theta: 1 / 0), "full", seed=1)
        calls[0], limit = 0, 60
        fragile = mlo.kernel(mlo.Model(failing, ROWS, 1), "full", seed=1)
        with self.assertRaisesRegex(Mine, "call 61"):
            for _ in range(100):
                fragile.step()

    def test_what_functions_return_is_checked(self):
        wrong = (lambda t, r: None, lambda t, r: "word", lambda t, r: np.zeros(len(r) + 1), lambda t, r: np.zeros((len(r), 1)),
                 lambda t, r: 1.0, lambda t, r: [object()] * len(r), lambda t, r: np.full(len(r), np.nan))
        for function in wrong:
            with self.assertRaises(mlo.Error):
                mlo.sample(mlo.Model(function, ROWS, 1), "full", seed=1)
        with self.assertRaises(TypeError):  # the function's own
            mlo.sample(mlo.Model(lambda t: t, ROWS, 1), "full", seed=1)
        with self.assertRaises(mlo.Error):
            mlo.sample(mlo.Model(terms, ROWS, 1, log_prior=lambda theta: "high"), "full", seed=1)
        with self.assertRaises(mlo.Error):
            mlo.sample(mlo.Model(terms, ROWS, 1, gradients=lambda t, r: np.zeros((len(r), 2))), "full", seed=1)

    def test_refuses_methods_that_need_more_of_a_model(self):
        for method in ("exact", "difference", "auto", "nonsense"):
            with self.assertRaisesRegex(mlo.UsageError, "method must be one of full"):
                mlo.sample(mean_model(), method)

    def test_the_model_outlives_its_kernel(self):
        import gc
        kernel = mlo.kernel(mean_model(), "mlo", seed=1)
        gc.collect()
        for _ in range(5):
            kernel.step()


if __name__ == "__main__":
    unittest.main()
