# Copyright (c) the mlo authors. BSD-3-Clause.
"""A look at data, simulated data, and methods side by side."""
from __future__ import annotations

import base64
import html
import json

from . import _core, _options
from ._data import data_of
from ._errors import nearest, usage
from ._fit import frame_of, optional
from ._progress import watched

# What decides which rows and columns there are; nothing is sampled.
_DESCRIBED = [name for name, row in _options.OPTIONS.items() if row["group"] == "model" or name == "seed"]
# What all methods of a comparison share.
_SHARED = [name for name, row in _options.OPTIONS.items()
           if not row["of_method"] and name not in ("method", "out", "resume")]


def _preformatted(table: str) -> str:
    # A notebook breaks the lines of a pre that are too long for it, and the columns with them.
    return f"<pre style='white-space:pre; overflow-x:auto; width:0; min-width:100%'>{html.escape(table)}</pre>"


class Description:
    """What is in data, and what a formula makes of them. It prints as a table.

    ``columns`` has a row per column; ``design`` is a dict, or None without a formula; ``rows`` is the number of rows.
    """

    def __init__(self, found: dict):
        self._table = found["table"].rstrip("\n")
        self.info = json.loads(found["json"])

    def __repr__(self) -> str:
        return self._table

    def _repr_html_(self) -> str:
        return _preformatted(self._table)

    @property
    def rows(self) -> int:
        return self.info["rows"]

    @property
    def columns(self):
        """A DataFrame (or a structured array) with the columns' figures."""
        entries = self.info["columns"]
        nan = float("nan")

        def number(entry, figure):
            value = entry.get(figure)
            return nan if value is None else value

        columns = {"type": [e["type"] for e in entries.values()], "missing": [e["missing"] for e in entries.values()]}
        for figure in ("least", "mean", "sd", "most", "distinct"):
            columns[figure] = [number(e, figure) for e in entries.values()]
        return frame_of(columns, list(entries), "column")

    @property
    def design(self) -> dict | None:
        return self.info.get("design")


def describe(data=None, formula: str | None = None, *, progress=None, **options) -> Description:
    """Show what is in data, and what a formula makes of them. Nothing is fitted.

    Parameters
    ----------
    data : as in mlo.fit
    formula : str
        Without it: all columns. With it: those that it uses, and the columns of the design.
    progress : as in mlo.fit

    {options}

    >>> import mlo
    >>> found = mlo.describe({"y": [0, 1, 1, 0], "colour": ["red", "blue", None, "red"]})
    >>> found.rows
    4
    """
    if formula is not None and not isinstance(formula, str):
        raise usage(f'formula must be a string such as "y ~ x" (got {formula!r:.60})')
    given = _options.given("describe", options, _DESCRIBED, extra=("progress", "data", "formula"))
    formula = _options._text("formula", formula or "")
    source = data_of(data, "describe")
    if not isinstance(source, list):
        _options.of_memory("describe", options)
    elif not source and options.get("sql") is None:
        raise usage("describe() needs data: a path, a DataFrame, a dict of arrays, ..., or sql")
    return Description(watched(progress, lambda callback: _core.describe(source, formula, given, callback)))


_options.with_options(describe, _DESCRIBED)


def simulate(family: str = "logistic", rows: int = 100_000, coefficients=None, *, intercept: float = 0,
             correlation: float = 0, groups=(), seed: int = 1, **numbers):
    """Data with known parameters: columns y, x1, x2, ... and those of the groups; a DataFrame, or a dict of arrays without
    pandas.

    Parameters
    ----------
    family : str
        See mlo.families().
    rows : int
    coefficients : list of float
        Of the standard normal columns x1, x2, ...; mu of gaussian-mean and tau of gaussian-precision. Default: 1 and 0.5;
        mu and tau 1.
    intercept, correlation : float
        correlation is that of neighbouring columns.
    groups : list of str
        Columns of groups, "NAME:LEVELS:SD": rows get one of the groups 1, 2, ... at random, and a group an effect on the
        intercept with this sd. "g:1000:0.5:x1=0.3,cor=0.4" also has effects on the coefficient of x1 with the sd 0.3, and
        the correlation 0.4 of the two.
    seed : int
        Same seed, same data.
    **numbers : float
        Of the family: sigma, freedom, size, shape, zi, phi, trials.

    >>> import mlo
    >>> data = mlo.simulate("poisson", rows=5, coefficients=[0.3], seed=2)
    >>> list(data)
    ['y', 'x1']
    >>> list(mlo.simulate("logistic", rows=5, groups=["origin:20:0.5", "airline:8:0.3:x1=0.2"]))
    ['y', 'x1', 'x2', 'origin', 'airline']
    """
    families = {row["name"]: row for row in _core.families()}
    family = _options._text("family", family)
    if family not in families:
        raise usage(f"family must be one of {', '.join(families)} (got \"{family}\")", nearest(family, families))
    known = families[family]
    allowed = {name.replace("-", "_"): name for name in known["simulation"]}
    for name in numbers:
        if name not in allowed:
            raise usage(f'simulate("{family}") has no argument "{name}"',
                        nearest(name, [*allowed, "rows", "coefficients", "intercept", "correlation", "groups", "seed"]))
    if coefficients is None:
        coefficients = [1.0] if not known["columns"] else None
    else:
        coefficients = _options.reals("coefficients", coefficients)
    if not known["columns"]:
        for name, value in (("intercept", intercept), ("correlation", correlation)):
            if value != 0:
                raise usage(f"{name} has no meaning with family=\"{family}\"")
    groups = _options.texts("groups", groups)
    if groups and not known["columns"]:
        raise usage(f"groups has no meaning with family=\"{family}\"")
    count, its_seed = int(_options.whole("rows", rows)), int(_options.whole("seed", seed))
    if not 1 <= count <= 10**9:
        raise usage(f"rows must be between 1 and 1,000,000,000 (got {count})")
    if its_seed < 0:
        raise usage(f"seed must not be negative (got {its_seed})")
    columns = _core.simulate(family, count, coefficients, _options.real("intercept", intercept),
                             _options.real("correlation", correlation),
                             {allowed[k]: _options.real(k, v) for k, v in numbers.items()}, groups, its_seed)
    for group in groups:
        name = group.split(":")[0]
        columns[name] = columns[name].astype("int64")
    pandas = optional("pandas")
    return columns if pandas is None else pandas.DataFrame(columns, copy=False)


class Comparison:
    """Methods side by side: what each cost, and how far its draws are from the posterior. It prints as a table and shows
    as a table and a plot in a notebook."""

    def __init__(self, found: dict):
        self._found = found
        self.info = json.loads(found["json"])

    def __repr__(self) -> str:
        return self._found["table"].rstrip("\n")

    def _repr_html_(self) -> str:
        # The plot as an image: inside a page, SVG is emptied by nbconvert, and its styles would be those of the page.
        plot = base64.b64encode(self.svg.encode()).decode()
        return (f"{_preformatted(repr(self))}"
                f"<img alt='effective draws per second, and the spread of the draws' style='max-width:100%' "
                f"src='data:image/svg+xml;base64,{plot}'>")

    def _repr_svg_(self) -> str:
        return self.svg

    @property
    def svg(self) -> str:
        """The plot: effective draws per second, and the spread of the draws."""
        return self._found["svg"]

    @property
    def interrupted(self) -> bool:
        return self.info["interrupted"]

    def summary(self):
        """A DataFrame (or a structured array) with a row per method."""
        import csv
        import io

        rows = list(csv.DictReader(io.StringIO(self._found["csv"])))
        names = list(rows[0]) if rows else []

        def value(text):
            try:
                return float(text)
            except ValueError:
                return text

        columns = {name: [value(row[name]) for row in rows] for name in names}
        index = columns.pop(names[0]) if names else []
        return frame_of(columns, index, names[0] if names else None)


def compare_methods(formula: str, data=None, methods=None, *, seconds: float = 10, reference_draws: int = 25_000,
                    progress=None, **options) -> Comparison:
    """Run methods side by side and compare them with the posterior.

    Parameters
    ----------
    formula, data : as in mlo.fit
    methods : list of str
        Methods, each with options of its own after colons: ``["exact", "mlo:subsample-size=5000:weights=score"]``.
        Default: all.
    seconds : float
        The most seconds of sampling per method.
    reference_draws : int
        Draws per chain of the posterior that the methods are compared with.
    progress : as in mlo.fit

    {options}

    Here the defaults are seed=1, warmup=500, draws=50000 (at most), thin=1.
    """
    if not isinstance(formula, str):
        raise usage(f'formula must be a string such as "y ~ x" (got {formula!r:.60})')
    given = _options.given("compare_methods", options, _SHARED, extra=("methods", "seconds", "reference_draws", "progress"))
    formula = _options._text("formula", formula)
    if isinstance(methods, str):
        methods = methods.split(",")
    if methods is not None and not isinstance(methods, (list, tuple)):
        raise usage(f"methods must be a list of names (got {methods!r:.60})")
    names = [] if methods is None else [_options._text("methods", name) for name in methods]
    if methods is not None and not names:
        raise usage("methods must have a name; leave it out for all methods")
    source = data_of(data, "compare_methods")
    if not isinstance(source, list):
        _options.of_memory("compare_methods", options)
    elif not source and options.get("sql") is None:
        raise usage("compare_methods() needs data: a path, a DataFrame, a dict of arrays, ..., or sql")
    draws = int(_options.whole("reference_draws", reference_draws))
    if not 0 <= draws <= 10**9:
        raise usage(f"reference_draws must be between 100 and 1,000,000,000 (got {draws})")
    length = _options.real("seconds", seconds)
    found = Comparison(watched(progress, lambda callback: _core.compare_methods(formula, source, names, length, draws, given,
                                                                                callback)))
    failures = [method["failure"] for method in found.info["methods"] if "failure" in method]
    if failures and len(failures) == len(found.info["methods"]) and not found.interrupted:
        raise usage(f"none of the methods could be compared: {failures[0]}")
    return found


_options.with_options(compare_methods, _SHARED)


def methods():
    """What each method promises and costs: a DataFrame (or a structured array) with a row per method.

    >>> import mlo
    >>> mlo.methods().loc["exact", "promise"]
    'exact'
    """
    return _listed(_core.methods())


def families():
    """The families of the response: a DataFrame (or a structured array) with a row per family."""
    return _listed([{k: row[k] for k in ("name", "response", "parameters")} for row in _core.families()])


def _listed(rows: list[dict]):
    columns = {key: [row[key] for row in rows] for key in rows[0] if key != "name"}
    return frame_of(columns, [row["name"] for row in rows], "name")
