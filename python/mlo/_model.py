# Copyright (c) the mlo authors. BSD-3-Clause.
"""Models of one's own, written with NumPy, and kernels stepped by hand."""
from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from . import _core, _options
from ._errors import nearest, usage
from ._fit import Fit
from ._progress import watched

METHODS = ("full", "uniform", "mlo", "mlo-adaptive", "austerity", "barker", "penalty")
# Options of chains on any model: not those of formulas, files and run directories.
_SAMPLED = [name for name, row in _options.OPTIONS.items()
            if row["group"] in ("method", "run") and name not in ("out", "resume", "audit", "audit_every", "thinning", "order",
                                                                   "blocks", "shards", "bandwidth", "bound", "estimator")]


class Model:
    """A model written in Python.

    Parameters
    ----------
    log_likelihoods : callable
        ``log_likelihoods(theta, rows)``: the log-likelihood of each row. theta is an array of ``dim`` numbers, rows an array
        of row numbers from 0 to ``rows - 1``, in any order and with repeats. It must return an array of ``len(rows)``
        numbers, those of a row being the same whichever other rows are asked for.
    rows, dim : int
        How many rows and parameters there are.
    log_prior : callable
        ``log_prior(theta)``: the log prior density, up to a constant; ``-inf`` outside the support. Default: flat.
    gradients : callable
        ``gradients(theta, rows)``: the gradients of the log-likelihoods, an array of shape ``(len(rows), dim)``. They make the
        search for the mode faster, and ``weights="score"`` possible. Default: by differences.
    names : list of str
        Default: theta[0], theta[1], ...
    start : list of float
        Where the search for the mode starts. Default: zeros.
    sizes : list of float
        The size of each parameter, of which a difference is a small part. Default: ones.

    >>> import mlo, numpy as np
    >>> y = np.random.default_rng(1).normal(2.0, 1.0, 5000)
    >>> model = mlo.Model(lambda theta, rows: -0.5 * (y[rows] - theta[0]) ** 2, rows=5000, dim=1, names=["mu"])
    >>> fit = mlo.sample(model, method="full", seed=1)
    >>> bool(abs(fit["mu"].mean() - y.mean()) < 0.002)
    True
    """

    def __init__(self, log_likelihoods, rows: int, dim: int, *, log_prior=None, gradients=None, names=None, start=None,
                 sizes=None):
        if not callable(log_likelihoods):
            raise usage(f"log_likelihoods must be a function of theta and rows (got {log_likelihoods!r:.60})")
        for name, value in (("log_prior", log_prior), ("gradients", gradients)):
            if value is not None and not callable(value):
                raise usage(f"{name} must be a function (got {value!r:.60})")
        self.rows, self.dim = int(_options.whole("rows", rows)), int(_options.whole("dim", dim))
        if not 1 <= self.rows < 2**32 - 1:
            raise usage(f"rows must be between 1 and 4,294,967,294 (got {self.rows})")
        if not 1 <= self.dim <= 4000:
            raise usage(f"dim must be between 1 and 4000 (got {self.dim})")
        if names is None:
            names = [f"theta[{j}]" for j in range(self.dim)]
        if isinstance(names, str) or not isinstance(names, (list, tuple)):
            raise usage(f"names must be a list of strings (got {names!r:.60})")
        self.names = [_options._text("names", name) for name in names]
        if len(self.names) != self.dim or len(set(self.names)) != self.dim:
            raise usage(f"names must be {self.dim} different names (got {len(self.names)}, {len(set(self.names))} of them "
                        "different)")
        self._core = _core.Model(log_likelihoods, log_prior, gradients, self.rows, self.names,
                                 self._vector("start", start, 0.0), self._vector("sizes", sizes, 1.0, positive=True))

    def __repr__(self) -> str:
        names = ", ".join(self.names[:6]) + (", ..." if self.dim > 6 else "")
        return f"<mlo.Model of {self.rows:,} row{'' if self.rows == 1 else 's'} with the parameters {names}>"

    def _vector(self, name: str, value, usual: float, positive: bool = False) -> list[float]:
        if value is None:
            return [usual] * self.dim
        out = _options.reals(name, value)
        if len(out) != self.dim:
            raise usage(f"{name} must have {self.dim} numbers, one per parameter (got {len(out)})")
        if not np.all(np.isfinite(out)) or (positive and min(out) <= 0):
            raise usage(f"{name} must be finite{' and positive' if positive else ''} (got {out!r:.60})")
        return out


def _prepared(function: str, model, method: str, weights, options: dict):
    if not isinstance(model, Model):
        raise usage(f"{function}() needs an mlo.Model (got {type(model).__name__})")
    method = _options._text("method", method)
    if method not in METHODS:
        raise usage(f"method must be one of {', '.join(METHODS)} for a model written in Python (got \"{method}\")",
                    nearest(method, METHODS))
    options = dict(options)
    own = []
    if isinstance(weights, str):
        options["weights"] = weights
    elif weights is not None:
        own = _options.reals("weights", weights.tolist() if isinstance(weights, np.ndarray) else weights)
        if not own:
            raise usage(f"weights must have {model.rows} numbers, one per row")
    options.setdefault("threads", 1)  # Python runs one thread at a time anyway
    options.setdefault("thin", 1)  # what a step costs is the model's secret
    given = _options.given(function, options, _SAMPLED, extra=("progress", "chain"))
    return [("method", method), *given], own


def sample(model: Model, method: str = "full", *, weights=None, progress=None, **options) -> Fit:
    """Draw from the posterior of a model written in Python.

    Parameters
    ----------
    model : Model
    method : "full" | "uniform" | "mlo" | "mlo-adaptive" | "austerity" | "barker" | "penalty"
    weights : str or array
        How rows are drawn: "uniform", "mlo", "score" (needs gradients), or your own weights, one per row.
    progress : as in mlo.fit

    {options}

    Here the defaults are threads=1 and thin=1. An exception of the model's functions comes out as it is.
    """
    given, own = _prepared("sample", model, method, weights, options)
    return Fit(watched(progress, lambda callback: model._core.sample(given, own, callback)))


class Kernel:
    """A chain that is stepped by hand. ``step()`` makes one step and says how it went: accepted, finite, rows_read,
    log_ratio, noise_sd. Made by :func:`mlo.kernel`.

    >>> import mlo, numpy as np
    >>> y = np.random.default_rng(1).normal(2.0, 1.0, 5000)
    >>> model = mlo.Model(lambda theta, rows: -0.5 * (y[rows] - theta[0]) ** 2, rows=5000, dim=1)
    >>> kernel = mlo.kernel(model, method="uniform", subsample_size=500, seed=1)
    >>> info = kernel.step()
    >>> info.rows_read
    500
    """

    def __init__(self, core, model: Model):
        self._core, self.model = core, model

    def __repr__(self) -> str:
        place = ", ".join(f"{value:.6g}" for value in self.theta[:6]) + (", ..." if self.model.dim > 6 else "")
        return f"<mlo.Kernel ({self.promise}) after {self.steps:,} step{'' if self.steps == 1 else 's'}, theta [{place}]>"

    def step(self) -> SimpleNamespace:
        """Make one step."""
        return SimpleNamespace(**self._core.step())

    def freeze(self) -> None:
        """End adaptation: from now on the kernel is a fixed Markov kernel."""
        self._core.freeze()

    @property
    def theta(self) -> np.ndarray:
        """Where the chain is. It may be set."""
        return self._core.theta

    @theta.setter
    def theta(self, value) -> None:
        if value is None:
            raise usage(f"theta must have {self.model.dim} numbers, one per parameter (got None)")
        self._core.theta = self.model._vector("theta", value, 0.0)

    @property
    def steps(self) -> int:
        """How many steps were made."""
        return self._core.steps

    @property
    def promise(self) -> str:
        """What the kernel says about the law of its draws."""
        return self._core.promise


def kernel(model: Model, method: str = "full", *, weights=None, chain: int = 0, **options) -> Kernel:
    """A kernel of :func:`mlo.sample`, stepped by hand. Same seed: the same steps as the chain of that number in a run.

    Parameters
    ----------
    model, method, weights : as in mlo.sample
    chain : int
        Which chain of a run.

    {options}
    """
    number = int(_options.whole("chain", chain))
    if not 0 <= number < 10_000:
        raise usage(f"chain must be between 0 and 9999 (got {number})")
    given, own = _prepared("kernel", model, method, weights, options)
    return Kernel(_core.kernel(model._core, given, own, number), model)


_options.with_options(sample, [name for name in _SAMPLED if name not in ("method", "weights")])
_options.with_options(kernel, [name for name in _SAMPLED if name not in ("method", "weights")])
