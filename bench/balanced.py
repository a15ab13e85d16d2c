# Copyright (c) the mlo authors. BSD-3-Clause.
"""Posteriors of balanced gaussian models with two groupings, crossed or nested, by sums over a grid of the logs of sigma and both sds:
their likelihood is a product over strata, each a chi-squared law with a variance of its own. For bench/groups; needs NumPy.

    python3 bench/balanced.py FILE RESPONSE FIRST SECOND crossed|nested PRIORS     # five numbers, as in groups.R; prints JSON
"""
import csv
import json
import sys

import numpy as np


def strata(cells, nested):
    """Degrees of freedom, sum of squares and variance, given sigma and the sds, of each stratum but the mean's. `cells` is
    first grouping x second grouping x rows."""
    a, b, c = cells.shape
    mean, first, both = cells.mean(), cells.mean((1, 2)), cells.mean(2)
    within = (a * b * (c - 1), ((cells - both[:, :, None]) ** 2).sum(), lambda s, u, v: s**2)
    between = b * c * ((first - mean) ** 2).sum()
    if nested:
        return [(a - 1, between, lambda s, u, v: s**2 + c * v**2 + b * c * u**2),
                (a * (b - 1), c * ((both - first[:, None]) ** 2).sum(), lambda s, u, v: s**2 + c * v**2), within]
    second = cells.mean((0, 2))
    rest = c * ((both - first[:, None] - second[None] + mean) ** 2).sum()
    return [(a - 1, between, lambda s, u, v: s**2 + b * c * u**2),
            (b - 1, a * c * ((second - mean) ** 2).sum(), lambda s, u, v: s**2 + a * c * v**2),
            ((a - 1) * (b - 1), rest, lambda s, u, v: s**2), within]


def posterior(cells, nested, priors, points=(90, 140, 400)):
    """Means and sds of the intercept, sigma and the two sds."""
    location, spread, _, scale, rate = priors
    a, b, c = cells.shape
    parts = strata(cells, nested)
    ranges = ((-1.2, 0.8), (-9, 4.5), (-9, 4.5))  # checked below
    for _ in range(2):  # then where the mass is
        grids = np.meshgrid(*(np.linspace(*edges, count) for edges, count in zip(ranges, points)), indexing="ij")
        s, u, v = (np.exp(grid) for grid in grids)
        density = -rate * s + sum(grids) - 2 * np.log1p((u / scale) ** 2 / 3) - 2 * np.log1p((v / scale) ** 2 / 3)
        for freedom, squares, variance in parts:
            if freedom > 0:
                density -= 0.5 * (freedom * np.log(variance(s, u, v)) + squares / variance(s, u, v))
        of_mean = s**2 / (a * b * c) + u**2 / a + v**2 / (a * b if nested else b)
        density -= 0.5 * (np.log(of_mean + spread**2) + (cells.mean() - location) ** 2 / (of_mean + spread**2))
        weight = np.exp(density - density.max())
        weight /= weight.sum()
        narrower = []
        for axis, (low, high) in enumerate(ranges):
            mass = weight.sum(tuple(k for k in range(3) if k != axis))
            kept = np.flatnonzero(mass > 1e-9)
            step = (high - low) / (len(mass) - 1)
            narrower.append((low + step * max(0, kept[0] - 1), low + step * min(len(mass) - 1, kept[-1] + 1)))
            assert axis > 0 or max(mass[0], mass[-1]) < 1e-4, "sigma is outside of the grid"
        ranges = narrower
    variance = 1 / (1 / of_mean + 1 / spread**2)
    mean = variance * (cells.mean() / of_mean + location / spread**2)

    def moments(first, second):
        expected = (weight * first).sum()
        return expected, np.sqrt((weight * second).sum() - expected**2)
    return [moments(mean, variance + mean**2)] + [moments(x, x**2) for x in (s, u, v)]


def of_file(path, response, first, second, nested, priors):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    cells = {}
    for row in rows:
        cells.setdefault(row[first], {}).setdefault(row[second], []).append(float(row[response]))
    array = np.array([[of[name] for name in sorted(of)] for of in (cells[name] for name in sorted(cells))])
    names = ("b_Intercept", "sigma", f"sd_{first}__Intercept", f"sd_{second}__Intercept")
    return dict(zip(names, posterior(array, nested, priors)))


if __name__ == "__main__":
    print(json.dumps(of_file(*sys.argv[1:5], sys.argv[5] == "nested", [float(number) for number in sys.argv[6].split(",")])))
