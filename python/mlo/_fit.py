# Copyright (c) the mlo authors. BSD-3-Clause.
"""Fits: made, kept, read again, and what can be asked of them."""
from __future__ import annotations

import html
import importlib
import json
import os
import shutil
import tempfile
from types import SimpleNamespace

import numpy as np

from . import _core, _options, _plot
from ._data import data_of
from ._errors import nearest, usage
from ._progress import watched

FIGURES = ("mean", "sd", "mcse_mean", "hpd_2.5", "hpd_97.5", "median", "q5", "q95", "ess_bulk", "ess_tail", "rhat")


def optional(module: str):
    """The module, or None if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


def frame_of(columns: dict, index=None, index_name: str | None = None):
    """A DataFrame if pandas is there, otherwise a structured array, with the index as its first column."""
    pandas = optional("pandas")
    if pandas is not None:
        frame = pandas.DataFrame(columns, index=index)
        if index_name:
            frame.index.name = index_name
        return frame
    if index_name:
        columns = {index_name: np.asarray(index), **columns}
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    rows = len(next(iter(arrays.values()), ()))
    out = np.empty(rows, dtype=[(name, array.dtype) for name, array in arrays.items()])
    for name, array in arrays.items():
        out[name] = array
    return out


def _numbers(value):
    """JSON has no NaN: it writes null."""
    return float("nan") if value is None else value


def _directory(path, what: str = "directory") -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise usage(f"the {what} must be a path (got {path!r})")
    text = os.fsdecode(os.fspath(path))
    if not text or "\0" in text:
        raise usage(f"the {what} must be a path (got {text!r})")
    return text


class Fit:
    """The posterior of a model: its draws, and what they say.

    Made by :func:`mlo.fit`, :func:`mlo.load` and :func:`mlo.sample`. It prints as a table.

    >>> import mlo
    >>> data = mlo.simulate("logistic", rows=2000, seed=1)
    >>> fit = mlo.fit("y ~ x1 + x2", data, seed=1)
    >>> fit.names
    ['(Intercept)', 'x1', 'x2']
    >>> fit.draws.shape
    (4, 1000, 3)
    >>> bool(abs(fit["x1"].mean() - 1) < 0.3)
    True
    """

    def __init__(self, core):
        if not isinstance(core, _core.Fit):
            raise usage("a Fit is made by mlo.fit(), mlo.load() or mlo.sample()")
        self._core = core
        self._info = json.loads(core.json)
        self._options = json.loads(core.options)

    # ---- draws

    @property
    def names(self) -> list[str]:
        """The names of the parameters."""
        return self._core.names

    @property
    def draws(self) -> np.ndarray:
        """All draws: chain x draw x parameter. A view of the fit's own memory, which cannot be written to."""
        return self._core.draws

    def __getitem__(self, name: str) -> np.ndarray:
        """The draws of one parameter: chain x draw, a view."""
        if not isinstance(name, str):
            raise usage(f'a parameter is asked for by its name, as in fit["x"] (got {name!r})')
        names = self.names
        if name not in names:
            remedy = nearest(name, names) or f"there are {', '.join(names[:10])}{', ...' if len(names) > 10 else ''}"
            raise usage(f'the fit has no parameter "{name}"', remedy)
        return self.draws[:, :, names.index(name)]

    def __contains__(self, name) -> bool:
        return name in self.names

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self):
        return iter(self.names)

    def keys(self) -> list[str]:
        return self.names

    # ---- what the draws say

    def summary(self):
        """Mean, spread, intervals and convergence of each parameter: a DataFrame, or a structured array without pandas."""
        parameters = self._info["parameters"]
        columns = {figure: [_numbers(p[figure]) for p in parameters.values()] for figure in FIGURES}
        return frame_of(columns, list(parameters), "parameter")

    @property
    def effects(self) -> np.ndarray | None:
        """All draws of group effects: chain x draw x effect, in the order of :meth:`groups`. A view of the fit's own memory.

        None if the formula has no groups, or their draws were not kept (``save_groups``).
        """
        return self._core.effects

    def groups(self, group: str | None = None):
        """What the posterior says of the effects of levels: group, level, effect, mean, sd, q5, q95, rhat.

        A DataFrame, or a structured array without pandas. With ``group``, of this grouping alone; the index then still
        counts the effects as :attr:`effects` does.

        >>> import mlo
        >>> data = mlo.simulate("logistic", rows=2000, groups=["g:20:0.5"], seed=1)
        >>> fit = mlo.fit("y ~ x1 + (1 | g)", data, seed=1)
        >>> len(fit.groups()), fit.effects.shape
        (20, (4, 1000, 20))
        """
        columns = self._core.groups()
        names = list(dict.fromkeys(columns["group"]))
        if not names:
            raise usage("the fit has no group effects, or they were not kept", 'save_groups="yes" keeps them')
        if group is None:
            return frame_of(columns)
        if group not in names:
            raise usage(f"there is no grouping {group!r}", f"there are {', '.join(names)}")
        chosen = [k for k, name in enumerate(columns["group"]) if name == group]
        columns = {name: [values[k] for k in chosen] for name, values in columns.items()}
        return frame_of(columns, chosen if optional("pandas") is not None else None)

    @property
    def title(self) -> str:
        return self._info["title"]

    @property
    def notes(self) -> list[str]:
        """What a reader needs to interpret the numbers: priors, scale, levels, seed."""
        return list(self._info["notes"])

    @property
    def warnings(self) -> list[str]:
        """What went wrong, or may mislead."""
        return list(self._info["warnings"])

    @property
    def method(self) -> SimpleNamespace:
        """What was run and how it went: name, promise, acceptance, rows_per_step, noise_sd, ..."""
        return SimpleNamespace(**{k: _numbers(v) for k, v in self._info["method"].items()})

    @property
    def promise(self) -> str:
        """"exact", "bounded error" or "approximate": what the method says about the law of its draws."""
        return self._info["method"]["promise"]

    @property
    def seconds(self) -> SimpleNamespace:
        """The time of each phase: read, mode, sample, total."""
        return SimpleNamespace(**self._info["seconds"])

    @property
    def holdout(self) -> dict | None:
        """The scores on rows that were held out, or None."""
        scores = self._info.get("holdout")
        return None if scores is None else dict(scores)

    @property
    def noise(self) -> dict:
        """How the spread of the draws compares with that of the Laplace fit."""
        return dict(self._info["noise"])

    @property
    def audit(self) -> dict | None:
        """What an audit found (``audit=True``), or None."""
        found = self._info.get("audit")
        return None if found is None else dict(found)

    @property
    def rows(self) -> SimpleNamespace:
        """How many rows there were: rows, used, dropped."""
        return SimpleNamespace(**self._info["data"])

    @property
    def interrupted(self) -> bool:
        """Whether the fit was interrupted: then it has fewer draws than were asked for."""
        return self._info["interrupted"]

    @property
    def seed(self) -> int:
        return self._options["seed"]

    @property
    def formula(self) -> str:
        return self._options["formula"]

    @property
    def family(self) -> str:
        return self._options["family"]

    @property
    def options(self) -> dict:
        """The options in force, by the names of :func:`mlo.fit`."""
        return {name.replace("-", "_"): value for name, value in self._options.items()}

    def __repr__(self) -> str:
        return self._core.table.rstrip("\n")

    def _repr_html_(self) -> str:
        return _html_table(self)

    # ---- what follows from them

    def predict(self, data, *, type: str = "response", interval: float = 0.9, missing: str = "empty",
                new_levels: str = "sample", seed: int | None = None, threads: int = 0, progress=None, **reading):
        """Predict rows of other data: a DataFrame with mean, sd and two quantiles, by the index of the data.

        With ``family="softmax"`` these are the probabilities of each class: columns ``CLASS:mean`` and so on.

        Parameters
        ----------
        data : as in mlo.fit
            Rows with the columns of the formula; the response need not be there.
        type : "response" | "link" | "draw"
            The mean of the response; the linear predictor; or a response, simulated for each draw.
        interval : float
            The share of the draws between the two quantiles, equal tails.
        missing : "empty" | "error"
            What to do with rows that have a missing cell: NaN, or raise DataError.
        new_levels : "sample" | "population" | "error" | "missing"
            Levels that the data of the fit did not have. Of a grouping: draw their effects from its law, leave the effects
            out, raise DataError, or NaN. Of a factor: NaN with "missing", otherwise raise DataError.
        seed : int
            Of ``type="draw"`` and of ``new_levels="sample"``; otherwise the fit's.
        threads : int
            0: as many as the machine has.
        progress : None, bool or callable
            As in mlo.fit.
        delimiter, decimal, comment, na
            How a file is read, if not as that of the fit was.

        >>> import mlo
        >>> fit = mlo.fit("y ~ x1 + x2", mlo.simulate("logistic", rows=2000, seed=1), seed=1)
        >>> new = fit.predict({"x1": [0.0, 1.0], "x2": [0.0, 0.0]})
        >>> list(new.columns)
        ['mean', 'sd', 'q5', 'q95']
        >>> bool(new["mean"][0] < new["mean"][1])
        True
        """
        for name in reading:
            if name not in ("delimiter", "decimal", "comment", "na"):
                known = ["type", "interval", "missing", "new_levels", "seed", "threads", "progress", "delimiter", "decimal",
                         "comment", "na"]
                raise usage(f'predict() has no argument "{name}"', nearest(name, known) or "help(mlo.Fit.predict) lists all")
        source = data_of(data, "predict")
        if not source:
            raise usage("predict() needs data: a path, a DataFrame, a dict of arrays, ...")
        if isinstance(source, list) and len(source) > 1:
            raise usage("predict() takes one file at a time")
        if not isinstance(source, list):
            _options.of_memory("predict", reading)
        given = {"interval": _options.real("interval", interval), "threads": int(_options.whole("threads", threads))}
        if abs(given["threads"]) >= 2**63:
            raise usage("threads must be between 0 and 1024")
        for name, value in (("type", type), ("missing", missing), ("new_levels", new_levels)):
            given[name] = _options._text(name, value)
        if seed is not None:
            number = int(_options.whole("seed", seed))
            if number < 0:
                raise usage(f"seed must be a whole number from 0 to 18446744073709551615 (got {number})")
            given["seed"] = number
        for name, text in _options.given("predict", reading):
            given[name] = text
        found = watched(progress, lambda callback: self._core.predict(source, given, callback))
        outputs = found["outputs"]  # one, or one per class
        columns = {}
        for k, output in enumerate(outputs):
            for figure, key in (("mean", "mean"), ("sd", "sd"), (found["low_name"], "low"), (found["high_name"], "high")):
                columns[f"{output}:{figure}" if output else figure] = found[key][k::len(outputs)]
        return frame_of(columns, getattr(data, "index", None) if hasattr(data, "iloc") else None)

    def save(self, directory) -> None:
        """Write the run directory that ``out`` would have made: mlo.load() and the command mlo read it."""
        self._needs_formula("save")
        self._core.save(_directory(directory))

    def _needs_formula(self, what: str) -> None:
        if not self.formula:
            raise usage(f"{what}() is for fits of a formula; keep draws with numpy.save(file, fit.draws)")

    def to_netcdf(self, file) -> None:
        """Write a netCDF file in the layout of ArviZ's InferenceData: posterior and sample_stats."""
        self._core.to_netcdf(_directory(file, "file"))

    def report(self, file="report.html") -> str:
        """Write one HTML file with the verdict, the table and the pictures; it opens without a network. Returns its path."""
        self._needs_formula("report")
        path = _directory(file, "file")
        self._core.report(path, self._call())
        return path

    def _call(self) -> str:
        """The call that makes the same draws, with the options that are not the usual ones."""
        usual = {name: row["usual"] for name, row in _options.TABLE.items()}
        words = [json.dumps(self.formula, ensure_ascii=False), "data"]
        for name, value in self.options.items():
            if name in ("formula", "data") or value in (None, [], {}, False) or str(value) == usual.get(name):
                continue
            if isinstance(value, list) and all(isinstance(pair, list) for pair in value):
                value = dict(value)
            words.append(f"{name}={value!r}")
        return f"mlo.fit({', '.join(words)})"

    def to_arviz(self):
        """An arviz.InferenceData if ArviZ is installed, otherwise an xarray.Dataset with the same posterior.

        The names are those in the file of :meth:`to_netcdf`: the intercept is ``Intercept``, and the effects of a grouping g
        are the variable ``r_g``, with the dimensions chain, draw, ``g`` (the levels) and ``g_effect``, unless their draws
        were not kept. A name that a parameter has gets "_2" at its end. The attribute ``long_name`` is the name in the fit.
        """
        groupings = list(self._effects_by_group())
        names = _core.netcdf_names([*self.names, *(name for grouping in groupings for name in grouping[0])])
        posterior = {variable: self[name] for variable, name in zip(names, self.names)}
        dims, coords = {}, {}
        for k, (_, axes, values) in enumerate(groupings):
            variable, *its_dims = names[len(self.names) + 3 * k:][:3]
            posterior[variable] = values
            dims[variable] = its_dims
            coords.update(zip(its_dims, axes))
        attributes = {"inference_library": "mlo", "inference_library_version": _core.version()}
        arviz = optional("arviz")
        if arviz is not None:
            found = arviz.from_dict(posterior=posterior, dims=dims, coords=coords, attrs=attributes)
            self._add_long_names(found.posterior, names)
            return found
        xarray = optional("xarray")
        if xarray is None:
            raise ImportError("to_arviz() needs ArviZ, or xarray")
        chains, draws = self.draws.shape[:2]
        found = xarray.Dataset({name: (("chain", "draw", *dims.get(name, ())), values) for name, values in posterior.items()},
                               {"chain": np.arange(chains), "draw": np.arange(draws), **coords}, attributes)
        self._add_long_names(found, names)
        return found

    def _add_long_names(self, dataset, variables: list[str]) -> None:
        for variable, name in zip(variables, self.names):
            dataset[variable].attrs["long_name"] = name

    def _effects_by_group(self):
        """Of each grouping: names for its effects and their two dimensions, the names along these, chain x draw x level x effect.

        Terms such as (1 | g) and (0 + x | g) are one grouping. Every effect has the levels in the same order.
        """
        if self.effects is None:
            return
        columns = self._core.groups()
        places = {}  # of the effects of a grouping
        for k, (group, effect) in enumerate(zip(columns["group"], columns["effect"])):
            places.setdefault(group, {}).setdefault(effect, []).append(k)
        for group, effects in places.items():
            levels = [columns["level"][k] for k in next(iter(effects.values()))]
            values = self.effects[:, :, np.array(list(effects.values())).T]
            yield (f"r_{group}", group, f"{group}_effect"), (levels, list(effects)), values

    def plot(self, kind: str = "trace", parameters=None, **keywords):
        """Draw the posterior with matplotlib: kind is "trace", "density", "forest", "pairs" or "rank". Returns the figure."""
        return _plot.plot(self, kind, parameters, **keywords)

    # ---- pickling: a run directory as bytes

    def __reduce__(self):
        self._needs_formula("pickle")
        with tempfile.TemporaryDirectory() as place:
            run = os.path.join(place, "run")
            self.save(run)
            files = {}
            for name in sorted(os.listdir(run)):
                with open(os.path.join(run, name), "rb") as file:
                    files[name] = file.read()
        return _from_files, (files,)


def _from_files(files: dict) -> Fit:
    place = tempfile.mkdtemp()
    try:
        for name, contents in files.items():
            with open(os.path.join(place, name), "wb") as file:
                file.write(contents)
        return load(place)
    finally:
        shutil.rmtree(place)


def _html_table(fit: Fit) -> str:
    cell = html.escape
    figures = ("mean", "sd", "hpd_2.5", "hpd_97.5", "median", "ess_bulk", "ess_tail", "rhat")
    head = "".join(f"<th>{cell(name)}</th>" for name in ("parameter", *figures))
    rows = []
    parameters = fit._info["parameters"]
    for name, p in list(parameters.items())[:100]:
        numbers = "".join(f"<td>{_number(p, figure)}</td>" for figure in figures)
        rows.append(f"<tr><th style='text-align:left'>{cell(name)}</th>{numbers}</tr>")
    if len(parameters) > 100:
        rows.append(f"<tr><td colspan='{len(figures) + 1}'>and {len(parameters) - 100} more: fit.summary()</td></tr>")
    method = fit.method
    words = f"method {method.name} ({method.promise}): acceptance {method.acceptance:.3f}, reads {_count(method.rows_per_step)} " \
            f"rows per step; {fit.draws.shape[0]} chains x {fit.draws.shape[1]:,} draws; {fit.seconds.total:.2f} s"
    if fit.interrupted:
        words += "; INTERRUPTED"
    notes = "".join(f"<li>{cell(note)}</li>" for note in fit.notes)
    warnings = "".join(f"<p><b>Warning:</b> {cell(text)}</p>" for text in fit.warnings)
    return (f"<div><p><b>{cell(fit.title)}</b></p><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
            f"<p>{cell(words)}</p>{warnings}<details><summary>notes</summary><ul>{notes}</ul></details></div>")


def _count(value: float) -> str:
    """Three digits of what is small, all of what is large, as in the printed table: not 2.83e+03."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}"


def _number(p: dict, figure: str) -> str:
    """As many digits as the Monte Carlo error supports."""
    value = _numbers(p[figure])
    if value != value:
        return "nan"
    if figure.startswith("ess"):
        return f"{value:.0f}"
    if figure == "rhat":
        return f"{value:.3f}"
    if figure == "sd":
        return f"{value:#.2g}" if abs(value) < 99.5 else f"{value:.4g}"  # 0.20, as there, not 0.2
    digit = max(_numbers(p["mcse_mean"]), _numbers(p["sd"]) / 100)
    if not (digit > 0) or abs(value) >= 1e7:
        return f"{value:.4g}"
    return f"{value:.{min(max(1 - int(np.floor(np.log10(digit))), 0), 8)}f}"


def fit(formula: str, data=None, *, progress=None, **options) -> Fit:
    """Fit a Bayesian regression and return its posterior.

    Parameters
    ----------
    formula : str
        R's formula, e.g. ``"y ~ x1 + log(x2)"`` or ``"I(delay > 15) ~ distance + origin"``. Text is a factor.
    data
        A path or a list of paths (CSV, Parquet, JSON lines, .npy), a pandas.DataFrame, a dict of arrays, a NumPy structured
        array, or anything with ``__arrow_c_stream__`` (polars, pyarrow, DuckDB). None if ``sql`` is given. Only columns that
        the formula uses are read. Text, objects, categoricals and bool are factors; NaN, None and NaT are missing.
    progress : None, bool or callable
        None: a line that changes, in a terminal or a notebook. True or False: always or never. A function: it is called
        ten times a second with a dict: phase, share, steps, of, acceptance.

    {options}

    Returns
    -------
    Fit
        After Ctrl-C: with the draws that were made until then, and ``fit.interrupted`` is True.

    Raises
    ------
    UsageError, DataError, ModelError
        With attributes what, where and remedy.

    Examples
    --------
    >>> import mlo
    >>> data = mlo.simulate("logistic", rows=2000, coefficients=[1, 0.5], seed=1)
    >>> fit = mlo.fit("y ~ x1 + x2", data, family="logistic", seed=1)
    >>> fit.method.name, fit.promise
    ('exact', 'exact')
    >>> mlo.fit("y ~ x9", data)
    Traceback (most recent call last):
        ...
    mlo.UsageError: formula: no column "x9" in the data; its columns are "y", "x1", "x2"
    """
    if not isinstance(formula, str):
        if isinstance(data, str) and "~" in data:
            raise usage("fit() takes the formula first, then the data", "swap them")
        raise usage(f"formula must be a string such as \"y ~ x\" (got {formula!r:.60})")
    if isinstance(data, str) and "~" in data and "~" not in formula:
        raise usage("fit() takes the formula first, then the data", "swap them")
    given = _options.given("fit", options, extra=("progress", "data", "formula"))
    formula = _options._text("formula", formula)
    source = data_of(data)
    if not isinstance(source, list):
        _options.of_memory("fit", options)
    elif not source and options.get("sql") is None:
        raise usage("fit() needs data: a path, a DataFrame, a dict of arrays, ..., or sql")
    if not formula.strip():
        raise usage('formula must not be empty; it is, for example, "y ~ x"')
    return Fit(watched(progress, lambda callback: _core.fit(formula, source, given, callback)))


_options.with_options(fit)


def load(directory) -> Fit:
    """Read a run directory that :meth:`Fit.save`, ``out`` or the command ``mlo fit --out`` made.

    >>> import mlo, os, tempfile
    >>> fit = mlo.fit("y ~ x1", mlo.simulate("gaussian", rows=500, seed=1), family="gaussian", seed=1)
    >>> place = os.path.join(tempfile.mkdtemp(), "run")
    >>> fit.save(place)
    >>> bool((mlo.load(place).draws == fit.draws).all())
    True
    """
    return Fit(_core.load(_directory(directory)))


def resume(directory, data=None, *, threads: int = 0, progress=None) -> Fit:
    """Continue a run that was interrupted; its draws are those of an uninterrupted run.

    directory is what ``out`` was. The run knows its files; data that were in memory are given again.
    """
    given = [("out", _directory(directory)), ("resume", "true"), ("threads", _options.whole("threads", threads))]
    source = data_of(data, "resume")
    if isinstance(source, list) and source:
        raise usage("resume(): the run knows its files", "leave data out")
    return Fit(watched(progress, lambda callback: _core.fit("", source, given, callback)))
