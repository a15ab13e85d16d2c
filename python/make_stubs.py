#!/usr/bin/env python3
# Copyright (c) the mlo authors. BSD-3-Clause.
"""Writes mlo/__init__.pyi: the signatures with every option spelt out, for editors and type checkers.

PYTHONPATH=build/release/python python3 python/make_stubs.py      writes it; a test compares.
"""
import inspect
import os
import sys

# The package beside this file has no extension module: the build's has.
sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != os.path.dirname(os.path.abspath(__file__))]

import mlo
from mlo import _model, _options, _tools

HEAD = '''# Copyright (c) the mlo authors. BSD-3-Clause.
# Made by python/make_stubs.py from the table of options; a test compares.
from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

__version__: str
__all__: list[str]

_Path = str | os.PathLike[str]
_Progress = bool | Callable[[dict[str, Any]], object] | None
_Numbers = Sequence[float] | npt.NDArray[Any]

'''


def option_type(name: str, row: dict) -> str:
    if name == "out":
        return "_Path | None"
    if name == "replacement":
        return 'Literal["yes", "no"] | bool | None'
    if name == "weights_at":
        return "str | _Numbers | None"
    if name == "na":
        return "str | Sequence[str] | None"
    if row["words"] and row["type"] == "text":
        return f"Literal[{', '.join(repr(w) for w in row['words'])}] | None".replace("'", '"')
    kinds = {"text": "str", "texts": "Sequence[str]", "integer": "int", "real": "float", "flag": "bool", "pairs": "Mapping[str, str]"}
    return kinds[row["type"]] + " | None"


def options(names) -> str:
    return "".join(f"    {name}: {option_type(name, _options.OPTIONS[name])} = ...,\n" for name in names)


def members(kind) -> str:
    """The public members of a class, from their annotations."""
    out = ""
    for name, member in vars(kind).items():
        if name.startswith("_") and name not in ("__init__", "__getitem__", "__len__", "__contains__", "__iter__", "_repr_html_",
                                                 "_repr_svg_"):
            continue
        if isinstance(member, property):
            returns = inspect.signature(member.fget).return_annotation
            out += f"    @property\n    def {name}(self) -> {shown(returns)}: ...\n"
            if member.fset is not None:
                out += f"    @{name}.setter\n    def {name}(self, value: Any) -> None: ...\n"
        elif callable(member):
            out += f"    def {name}{signature(member)}: ...\n"
    return out or "    ...\n"


def shown(annotation) -> str:
    if annotation is inspect.Parameter.empty:
        return "Any"
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return {"np.ndarray": "npt.NDArray[np.float64]", "np.ndarray | None": "npt.NDArray[np.float32] | None",
            "dict": "dict[str, Any]", "dict | None": "dict[str, Any] | None"}.get(text, text)


def signature(function) -> str:
    found = inspect.signature(function)
    parts, star = [], False
    for name, p in found.parameters.items():
        if p.kind is p.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        if p.kind is p.VAR_KEYWORD:
            parts.append(f"**{name}: Any")
            continue
        words = name
        if name != "self":
            words += f": {'_Progress' if name == 'progress' else shown(p.annotation)}"
        if p.default is not p.empty:
            words += " = ..."
        parts.append(words)
    returns = shown(found.return_annotation)
    returns = "None" if function.__name__ == "__init__" else "Iterator[str]" if function.__name__ == "__iter__" else returns
    return f"({', '.join(parts)}) -> {returns}"


def stub() -> str:
    out = HEAD
    out += "class Error(Exception):\n    what: str\n    where: str\n    remedy: str\n    row: int | None\n"
    out += "class UsageError(Error, ValueError): ...\nclass DataError(Error, ValueError): ...\n"
    out += "class ModelError(Error, ArithmeticError): ...\n\n"
    for kind in (mlo.Fit, mlo.Description, mlo.Comparison, mlo.Model, mlo.Kernel):
        attributes = {mlo.Model: "    rows: int\n    dim: int\n    names: list[str]\n",
                      mlo.Description: "    info: dict[str, Any]\n", mlo.Comparison: "    info: dict[str, Any]\n",
                      mlo.Kernel: "    model: Model\n"}.get(kind, "")
        out += f"class {kind.__name__}:\n{attributes}{members(kind)}\n"
    sampled = [n for n in _model._SAMPLED if n not in ("method", "weights")]
    for function, names in ((mlo.fit, list(_options.OPTIONS)), (mlo.describe, _tools._DESCRIBED),
                            (mlo.compare_methods, _tools._SHARED), (mlo.sample, sampled), (mlo.kernel, sampled)):
        head, _, returns = signature(function).rpartition(" -> ")
        head = head.removesuffix(")").removesuffix(", **options: Any")[1:]
        out += f"def {function.__name__}(\n    {head},\n{options(names)}) -> {returns}: ...\n"
    for function in (mlo.load, mlo.resume, mlo.simulate, mlo.methods, mlo.families):
        out += f"def {function.__name__}{signature(function)}: ...\n"
    return out


if __name__ == "__main__":
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mlo", "__init__.pyi")
    with open(place, "w", encoding="utf-8") as file:
        file.write(stub())
