# Copyright (c) the mlo authors. BSD-3-Clause.
"""Data of every kind as the extension module reads them: a list of paths, an Arrow stream, or columns of NumPy."""
from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import numpy as np

from . import _errors


def _pandas():
    """pandas, if somebody has imported it: only then can data be a data frame."""
    return sys.modules.get("pandas")


class Columns:
    """Columns in memory. ``column(index)`` is called for those that the formula uses only."""

    def __init__(self, name: str, header: list[str], rows: int, get):
        self.name, self.header, self.rows, self._get = name, header, rows, get

    def column(self, index: int):
        """A 1-D array that the extension module can read, or a tuple: ("factor", levels, codes), where -1 is missing;
        ("microseconds", numbers) or ("days", numbers) since 1970."""
        cells = _cells(self, self.header[index], self._get(index))
        rows = len(cells[-1]) if isinstance(cells, tuple) else len(cells)
        if rows != self.rows:
            raise _errors.data(self.name, f'column "{self.header[index]}" has {rows} cells, but the first has {self.rows}')
        return cells


class Stream:
    """What has ``__arrow_c_stream__``, or a record batch with ``__arrow_c_array__``."""

    def __init__(self, name: str, source):
        self.name, self._source = name, source

    def stream(self):
        return self._source.__arrow_c_stream__()


def _refuse(columns: Columns, column: str, what: str, remedy: str = ""):
    raise _errors.data(columns.name, f'column "{column}" {what}', remedy)


def _cells(columns: Columns, column: str, values):
    pandas = _pandas()
    if pandas is not None and isinstance(values, (pandas.Series, pandas.Index, pandas.api.extensions.ExtensionArray)):
        return _series(columns, column, pandas.Series(values))
    return _array(columns, column, values)


def _series(columns: Columns, column: str, series):
    pandas = _pandas()
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return _array(columns, column, series.to_numpy())
    if isinstance(dtype, pandas.CategoricalDtype):
        words = [_word(columns, column, level) for level in dtype.categories]
        return "factor", words, np.asarray(series.cat.codes)
    if isinstance(dtype, pandas.DatetimeTZDtype):  # the time on the wall, as it is printed
        return _array(columns, column, series.dt.tz_localize(None).to_numpy())
    if isinstance(dtype, (pandas.PeriodDtype, pandas.IntervalDtype)):
        return _array(columns, column, series.astype(object).map(str, na_action="ignore").to_numpy())
    if isinstance(dtype, pandas.SparseDtype):
        return _array(columns, column, np.asarray(series.sparse.to_dense()))
    if pandas.api.types.is_bool_dtype(dtype) or not pandas.api.types.is_numeric_dtype(dtype):
        return _array(columns, column, series.to_numpy(dtype=object))
    missing = series.isna().to_numpy()
    if not missing.any():
        return _array(columns, column, series.to_numpy(dtype=getattr(dtype, "numpy_dtype", None)))
    if pandas.api.types.is_integer_dtype(dtype) and (series.abs() > 2**53).fillna(False).any():
        return _array(columns, column, series.to_numpy(dtype=object))  # which refuses it, with its place
    return _array(columns, column, series.to_numpy(dtype=np.float64, na_value=np.nan))


def _word(columns: Columns, column: str, level) -> str:
    if isinstance(level, float) and level.is_integer():
        return str(int(level))
    word = str(level)
    try:
        word.encode()
    except UnicodeEncodeError:
        _refuse(columns, column, "has a level that is not Unicode (it has a lone surrogate)")
    return word


def _array(columns: Columns, column: str, values):
    try:
        array = _as_array(values)
    except _errors.Error:
        raise
    except Exception as error:  # whatever an object's own conversion raises
        _refuse(columns, column, f"is not an array ({type(error).__name__}: {error})")
    if array.ndim != 1:
        _refuse(columns, column, f"has the shape {array.shape}", "a column has one dimension")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "f" and size not in (4, 8):
        with np.errstate(over="ignore"):
            return array.astype(np.float64)
    if kind == "S":
        try:
            return np.char.decode(array, "utf-8")
        except UnicodeDecodeError:
            _refuse(columns, column, "holds bytes that are not UTF-8")
    if kind == "M":
        unit = np.datetime_data(array.dtype)[0]
        if unit in ("Y", "M", "W", "D"):
            return "days", array.astype("M8[D]").view(np.int64)
        return "microseconds", array.astype("M8[us]").view(np.int64)
    if kind == "m":
        _refuse(columns, column, "holds durations, which are neither numbers nor text",
                "divide them by a unit, such as np.timedelta64(1, 's')")
    if kind == "c":
        _refuse(columns, column, "holds complex numbers")
    return array


def _as_array(values):
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        if not mask.any():
            return values.data
        out = values.data.astype(np.float64 if values.dtype.kind == "f" else object)
        out[mask] = np.nan if values.dtype.kind == "f" else None
        return out
    if isinstance(values, np.ndarray):
        return values
    array = np.asarray(values)
    # NumPy makes text of a mixture such as [1, "a"]: the extension module looks at each object instead.
    if array.dtype.kind in "US" and not all(isinstance(v, str) for v in values):
        array = np.array(values, dtype=object)
    return array


def _names(name: str, keys) -> list[str]:
    out = []
    for key in keys:
        word = str(key)
        try:
            word.encode()
        except UnicodeEncodeError:
            raise _errors.data(name, f"the column {word!r} has a name that is not Unicode") from None
        out.append(word)
    return out


def _is_path(value) -> bool:
    return isinstance(value, (str, os.PathLike))


def _path(value) -> str:
    text = os.fspath(value)
    if not isinstance(text, str):
        text = os.fsdecode(text)
    if not text or "\0" in text:
        raise _errors.usage(f"data: a path must not be empty or have a null character (got {text!r})")
    return os.fsdecode(os.fsencode(text))


def _columns_of_mapping(data) -> Columns:
    name = "the data"
    keys = list(data.keys())
    if not keys:
        raise _errors.data(name, "no columns")
    first = data[keys[0]]
    if isinstance(first, (str, bytes)) or not hasattr(first, "__len__"):
        raise _errors.data(name, f'column "{keys[0]}" is not an array (got {type(first).__name__})',
                           "each column is an array or a list")
    values = [data[key] for key in keys]
    for key, value in zip(keys, values):
        if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
            raise _errors.data(name, f'column "{key}" is not an array (got {type(value).__name__})',
                               "each column is an array or a list")
        try:
            length = len(value)
        except TypeError:
            raise _errors.data(name, f'column "{key}" is a single value', "each column is an array or a list") from None
        if length != len(first):
            raise _errors.data(name, f'column "{key}" has {length} cells, but "{keys[0]}" has {len(first)}')
    return Columns(name, _names(name, keys), len(first), values.__getitem__)


def _has_stream(data) -> bool:
    try:
        return hasattr(data, "__arrow_c_stream__")
    except Exception:  # of the object's own attributes
        return False


def data_of(data, function: str = "fit"):
    """What the extension module takes as data."""
    if data is None:
        return []
    if _is_path(data):
        return [_path(data)]
    if isinstance(data, (list, tuple)) and data and all(_is_path(item) for item in data):
        return [_path(item) for item in data]
    pandas = _pandas()
    if pandas is not None and isinstance(data, pandas.DataFrame):
        name = "the data frame"
        return Columns(name, _names(name, data.columns), len(data), lambda index: data.iloc[:, index])
    if _has_stream(data):
        return Stream("the data", data)
    if isinstance(data, np.ndarray) and data.dtype.names is not None:
        name = "the array"
        if data.ndim != 1:
            raise _errors.data(name, f"a structured array of shape {data.shape}", "it must have one dimension")
        return Columns(name, _names(name, data.dtype.names), len(data), lambda index: data[data.dtype.names[index]])
    if isinstance(data, Mapping):
        return _columns_of_mapping(data)
    what = f"an array of shape {data.shape}" if isinstance(data, np.ndarray) else f"an object of type {type(data).__name__}"
    raise _errors.usage(f"{function}(): data must be a path, a list of paths, a pandas.DataFrame, a dict of arrays, a NumPy "
                        f"structured array or an object with __arrow_c_stream__ (got {what})",
                        'its columns need names, as in {"y": y, "x": x}' if isinstance(data, np.ndarray) else "")
