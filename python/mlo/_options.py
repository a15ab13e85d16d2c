# Copyright (c) the mlo authors. BSD-3-Clause.
"""Keyword arguments as the options of the library's table, which also makes the help."""
from __future__ import annotations

import numbers
import os
import textwrap
from collections.abc import Mapping

import numpy as np

from . import _core
from ._errors import nearest, usage

TABLE = {row["name"].replace("-", "_"): row for row in _core.option_table()}
OPTIONS = {name: row for name, row in TABLE.items() if row["group"] != "argument"}
# They say how a file is read: data in memory have been read already.
OF_FILES = ("delimiter", "decimal", "comment", "sql")


# What other programs call these options.
ELSEWHERE = {
    **dict.fromkeys(("iter", "n_iter", "iter_sampling", "num_samples", "samples"), "draws is the number of draws per chain"),
    **dict.fromkeys(("tune", "burnin", "iter_warmup", "num_warmup"), "warmup is the number of steps before the first draw"),
    **dict.fromkeys(("cores", "n_jobs"), "threads is the number of threads"),
    **dict.fromkeys(("random_seed", "random_state"), "seed makes a run repeatable"),
    **dict.fromkeys(("sample_weight", "freq_weights"), "row_weights is the name of a column of frequencies"),
    "offset": "write it in the formula, as in y ~ x + offset(log(years))",
}


def _show(value) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _text(name: str, value) -> str:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str):
        if name in ("row_weights", "trials"):
            raise usage(f"{name} must be the name of a column (got {_show(value)})", "put the values into the data")
        raise usage(f"{name} must be a string (got {_show(value)})",
                    "row_weights is for frequencies of rows" if name == "weights" else "")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise usage(f"{name} is not Unicode (got {_show(value)})") from None
    if "\0" in value:
        raise usage(f"{name} must not have a null character (got {_show(value)})")
    return str(value)


def whole(name: str, value) -> str:
    """A whole number as text; True is not one."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise usage(f"{name} must be a whole number (got {_show(value)})")
    if abs(int(value)) >= 2**64:
        raise usage(f"{name} must have fewer than 20 digits")
    return str(int(value))


def real(name: str, value) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise usage(f"{name} must be a number (got {_show(value)})")
    try:
        return float(value)
    except OverflowError:
        raise usage(f"{name} is too large for double precision") from None


def reals(name: str, value) -> list[float]:
    if isinstance(value, (str, bytes, Mapping)):
        raise usage(f"{name} must be a list of numbers (got {_show(value)})")
    try:
        return [real(name, v) for v in value]
    except TypeError:
        raise usage(f"{name} must be a list of numbers (got {_show(value)})") from None


def _values(name: str, row: dict, value) -> list[str]:
    kind = row["type"]
    if kind == "integer":
        return [whole(name, value)]
    if kind == "real":
        return [repr(real(name, value))]
    if kind == "flag":
        if not isinstance(value, (bool, np.bool_)):
            raise usage(f"{name} must be True or False (got {_show(value)})")
        return ["true" if value else "false"]
    if kind == "pairs":
        if not isinstance(value, Mapping):
            example = '{"x": "normal(0, 1)"}' if row["prior"] else '{"zip": "text"}'
            raise usage(f"{name} must be a dict such as {example} (got {_show(value)})")
        return [f"{_text(name, k)}\0{_text(f'{name}[{k!r}]', v)}" for k, v in value.items()]
    if name == "replacement" and isinstance(value, (bool, np.bool_)):
        return ["yes" if value else "no"]
    if name in ("weights_at", "na") and not isinstance(value, (str, os.PathLike)):
        items = reals(name, value) if name == "weights_at" else _list(name, value)
        return [",".join(repr(v) if isinstance(v, float) else v for v in items)]
    return [_text(name, value)]


def texts(name: str, value) -> list[str]:
    """One string, or several."""
    return [value] if isinstance(value, str) else _list(name, value)


def _list(name: str, value) -> list[str]:
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise usage(f"{name} must be a string or a list of strings (got {_show(value)})")
    return [_text(name, v) for v in value]


def given(function: str, keywords: Mapping, allowed=None, extra=()) -> list[tuple[str, str]]:
    """The keyword arguments as (name, text) pairs. None means: not given."""
    allowed = OPTIONS if allowed is None else {name: OPTIONS[name] for name in allowed}
    out = []
    for name, value in keywords.items():
        row = allowed.get(name)
        if row is None:
            guess = (ELSEWHERE.get(name) if function == "fit" else "") or nearest(name, [*allowed, *extra])
            raise usage(f"{function}() has no argument \"{name}\"", guess or f"help(mlo.{function}) lists all")
        if value is not None:
            out += [(row["name"], text) for text in _values(name, row, value)]
    return out


def of_memory(function: str, keywords: Mapping) -> None:
    """Refuses what only files have."""
    for name in OF_FILES:
        if keywords.get(name) is not None:
            raise usage(f"{name} is about files, but {function}() has data in memory",
                        "leave it out, or give the path of the file")


def _type_words(row: dict) -> str:
    if row["words"] and row["type"] == "text":
        return " | ".join(f'"{word}"' for word in row["words"])
    kinds = {"text": "str", "texts": "str or list", "integer": "int", "real": "float", "flag": "bool", "pairs": "dict"}
    return kinds[row["type"]]


def help_text(names) -> str:
    """The options as a section of a docstring."""
    out, group = [], None
    titles = {"model": "The model and its data", "method": "The method", "run": "The run"}
    for name in names:
        row = OPTIONS[name]
        if row["group"] != group:
            group = row["group"]
            out += ["", f"{titles[group]}:", ""]
        usual = row["usual"]
        default = "False" if row["type"] == "flag" else usual if row["type"] in ("integer", "real") and usual else \
            f'"{usual}"' if usual else "None"
        out.append(f"{name} : {_type_words(row)}, default {default}")
        words = row["help"].replace("NAME PRIOR: prior of one parameter; may be repeated",
                                    'A dict of priors, {"x": "normal(0, 1)"}')
        words = words.replace("COLUMN=text or COLUMN=number: the type of a column; may be repeated",
                              'A dict of types, {"zip": "text"}, where a type is "text" or "number"')
        out += textwrap.wrap(words + ".", 100, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(out)


def with_options(function, names=None):
    """Puts the help of the options where the docstring says {options}."""
    names = list(OPTIONS) if names is None else names
    indent = "    "
    function.__doc__ = function.__doc__.replace("{options}", textwrap.indent(help_text(names), indent).strip())
    return function
