# Copyright (c) the mlo authors. BSD-3-Clause.
"""Plots of a fit with matplotlib."""
from __future__ import annotations

import functools
import io

import numpy as np

from ._errors import nearest, usage

KINDS = ("trace", "density", "forest", "pairs", "rank")


def _chosen(fit, parameters, most: int) -> list[str]:
    names = fit.names
    if parameters is None:
        return names[:most]
    if isinstance(parameters, str):
        parameters = [parameters]
    try:
        chosen = list(parameters)
    except TypeError:
        raise usage(f"parameters must be a list of names (got {parameters!r})") from None
    for name in chosen:
        fit[name]  # raises, with the nearest name
    if not chosen:
        raise usage("parameters must have a name")
    return chosen


def plot(fit, kind: str, parameters=None, *, figsize=None):
    if not isinstance(kind, str) or kind not in KINDS:
        raise usage(f"kind must be one of {', '.join(KINDS)} (got {kind!r})", nearest(str(kind), KINDS))
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plot() needs matplotlib") from None
    drawn = {"trace": _trace, "density": _density, "forest": _forest, "pairs": _pairs, "rank": _rank}[kind]
    figure = drawn(Figure, fit, _chosen(fit, parameters, {"forest": 60, "pairs": 5}.get(kind, 10)), figsize)
    # A notebook shows a bare Figure as a line of text, until somebody imports pyplot.
    figure._repr_png_ = functools.partial(_png, figure)
    return figure


def _png(figure) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", bbox_inches="tight")
    return out.getvalue()


def _stack(Figure, names, figsize):
    figure = Figure(figsize=figsize or (8, 1.6 * len(names) + 0.6), layout="constrained")
    return figure, figure.subplots(len(names), 1, squeeze=False)[:, 0]


def _trace(Figure, fit, names, figsize):
    figure, axes = _stack(Figure, names, figsize)
    for axis, name in zip(axes, names):
        for chain, draws in enumerate(fit[name]):
            axis.plot(draws, linewidth=0.5, alpha=0.8, label=f"chain {chain + 1}")
        axis.set_title(name, loc="left", fontsize="medium")
    axes[-1].set_xlabel("draw")
    return figure


def smooth(draws: np.ndarray, points: int = 200):
    """A kernel estimate of the density: Gaussian, with Silverman's width."""
    draws = np.asarray(draws, float).ravel()
    spread = min(draws.std(), (np.quantile(draws, 0.75) - np.quantile(draws, 0.25)) / 1.349) or draws.std()
    width = 0.9 * spread * len(draws) ** -0.2 or 1e-12
    low, high = draws.min() - 3 * width, draws.max() + 3 * width
    # On a fine grid of counts, so that it does not matter how many draws there are.
    counts, edges = np.histogram(draws, 4 * points, (low, high))
    centres = (edges[1:] + edges[:-1]) / 2
    x = np.linspace(low, high, points)
    kernel = np.exp(-0.5 * ((x[:, None] - centres) / width) ** 2) / (width * np.sqrt(2 * np.pi))
    return x, kernel @ counts / len(draws)


def _density(Figure, fit, names, figsize):
    figure, axes = _stack(Figure, names, figsize)
    for axis, name in zip(axes, names):
        for draws in fit[name]:
            axis.plot(*smooth(draws), linewidth=1)
        axis.set_title(name, loc="left", fontsize="medium")
        axis.set_yticks([])
    return figure


def _forest(Figure, fit, names, figsize):
    figure = Figure(figsize=figsize or (8, 0.3 * len(names) + 1), layout="constrained")
    axis = figure.subplots()
    places = np.arange(len(names))[::-1]
    for place, name in zip(places, names):
        low, left, middle, right, high = np.quantile(fit[name], [0.025, 0.25, 0.5, 0.75, 0.975])
        axis.plot([low, high], [place, place], color="C0", linewidth=1)
        axis.plot([left, right], [place, place], color="C0", linewidth=3)
        axis.plot(middle, place, "o", color="C0", markersize=4)
    axis.axvline(0, color="grey", linewidth=0.5)
    axis.set_yticks(places, names)
    axis.set_xlabel("median, 50 % and 95 % intervals")
    return figure


def _pairs(Figure, fit, names, figsize):
    size = len(names)
    figure = Figure(figsize=figsize or (1.8 * size + 1, 1.8 * size + 1), layout="constrained")
    axes = figure.subplots(size, size, squeeze=False)
    for row, y in enumerate(names):
        for column, x in enumerate(names):
            axis = axes[row][column]
            if column > row:
                axis.axis("off")
            elif column == row:
                axis.plot(*smooth(fit[x]))
                axis.set_yticks([])
            else:
                axis.plot(fit[x].ravel(), fit[y].ravel(), ".", markersize=1, alpha=0.3)
            if row == size - 1:
                axis.set_xlabel(x)
            if column == 0 and row > 0:
                axis.set_ylabel(y)
    return figure


def _rank(Figure, fit, names, figsize):
    """How the draws of each chain rank among all: level, if the chains have mixed (Vehtari et al. 2021)."""
    figure, axes = _stack(Figure, names, figsize)
    for axis, name in zip(axes, names):
        draws = fit[name]
        ranks = draws.ravel().argsort(kind="stable").argsort(kind="stable").reshape(draws.shape)
        bins = np.linspace(0, draws.size, 21)
        for chain in ranks:
            counts, _ = np.histogram(chain, bins)
            axis.step(bins, np.append(counts, counts[-1]), where="post", linewidth=1)  # the last bin has an end too
        axis.axhline(draws.shape[1] / 20, color="grey", linewidth=0.5)
        axis.set_title(name, loc="left", fontsize="medium")
        axis.set_ylim(bottom=0)
    axes[-1].set_xlabel("rank")
    return figure
