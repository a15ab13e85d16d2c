# Copyright (c) the mlo authors. BSD-3-Clause.
"""mlo: Bayesian regression for tall data.

>>> import mlo
>>> data = mlo.simulate("logistic", rows=2000, seed=1)
>>> fit = mlo.fit("y ~ x1 + x2", data, family="logistic", seed=1)

``fit`` prints as a table; ``fit.summary()``, ``fit.draws``, ``fit["x1"]``, ``fit.predict(new)`` and ``fit.save(directory)`` go
on from there. ``help(mlo.fit)`` lists all options. ``mlo.Model`` and ``mlo.sample`` are for models of your own.
"""
from . import _core
from ._errors import DataError, Error, ModelError, UsageError
from ._fit import Fit, fit, load, resume
from ._model import Kernel, Model, kernel, sample
from ._tools import Comparison, Description, compare_methods, describe, families, methods, simulate

__version__ = _core.version()
__all__ = [
    "Comparison", "DataError", "Description", "Error", "Fit", "Kernel", "Model", "ModelError", "UsageError",
    "compare_methods", "describe", "families", "fit", "kernel", "load", "methods", "resume", "sample", "simulate",
]
for _name in __all__:  # as users know them, also in tracebacks
    globals()[_name].__module__ = "mlo"
del _name
