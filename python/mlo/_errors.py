# Copyright (c) the mlo authors. BSD-3-Clause.
"""The errors that mlo raises on purpose."""
from __future__ import annotations

import difflib
import re


class Error(Exception):
    """Base of all errors that mlo raises on purpose. ``str(error)`` is a complete message.

    Attributes
    ----------
    what : str
        What is wrong, with the rule and the value.
    where : str
        The file, its line, the row of a data frame (``"row 17 of the data frame"``) or the place in a formula
        (``"position 6 of the formula"``); "" if there is no place.
    remedy : str
        What may help; "" if there is nothing to suggest.
    row : int or None
        The position of the row in data from memory, counted from 0, so that ``df.iloc[error.row]`` shows it.
    """

    def __init__(self, message: str, *, what: str = "", where: str = "", remedy: str = "", row: int | None = None):
        super().__init__(message)
        self.what = what or message
        self.where = where
        self.remedy = remedy
        self.row = row

    def __reduce__(self):
        return _again, (type(self), str(self), self.what, self.where, self.remedy, self.row)


class UsageError(Error, ValueError):
    """A wrong argument, option or formula."""


class DataError(Error, ValueError):
    """A file that cannot be read or written, or data that break a rule."""


class ModelError(Error, ArithmeticError):
    """The data were read, but the model cannot be fitted to them: collinear columns, separation, no mode."""


def _again(kind, message, what, where, remedy, row):
    return kind(message, what=what, where=where, remedy=remedy, row=row)


_KINDS = {kind.__name__: kind for kind in (Error, UsageError, DataError, ModelError)}
_ROW = re.compile(r"(?s)(the .*), row (\d+)")
# The end of a message about a formula: the formula again, and a caret below the place.
_CARET = re.compile(r"(?s)formula: (.*) \(position (\d+)\)\n  [^\n]*\n *\^")
# What is wrong, and what may help. Semicolons within quotes are those of names and cells.
_REMEDY = re.compile(r"""(?s)((?:"[^"]*"|[^"])*?); (.*)""")


def make(kind: str, message: str, place: str = "") -> Error:
    """The exception for a message of the library, taken apart. Called by the extension module."""
    what, where, row = message, place, None
    if place:
        what = what.removeprefix(place).removeprefix(": ")
        match = _ROW.fullmatch(place)
        if match:
            where, row = f"row {match[2]} of {match[1]}", int(match[2]) - 1
    full = f"{where}: {what}" if where else message
    caret = _CARET.fullmatch(what)
    if caret and not place:
        what, where = caret[1], f"position {caret[2]} of the formula"
    parts = _REMEDY.fullmatch(what)
    what, remedy = (parts[1], parts[2]) if parts else (what, "")
    return _KINDS[kind](full, what=what, where=where, remedy=remedy, row=row)


def usage(what: str, remedy: str = "") -> UsageError:
    return UsageError(f"{what}; {remedy}" if remedy else what, what=what, remedy=remedy)


def data(where: str, what: str, remedy: str = "") -> DataError:
    return DataError(f"{where}: {what}" + (f"; {remedy}" if remedy else ""), what=what, where=where, remedy=remedy)


def nearest(name: str, names) -> str:
    """``did you mean "draws"?``, or ""."""
    close = difflib.get_close_matches(name, list(names), n=3, cutoff=0.7)
    return f"did you mean {' or '.join(close)}?" if close else ""
