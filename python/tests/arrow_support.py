# Copyright (c) the mlo authors. BSD-3-Clause.
"""Arrow streams without a library of Python's: made by DuckDB's C functions, or by hand with ctypes."""
import ctypes
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "cli"))
import duckdb_library  # noqa: E402
from support import absent  # noqa: E402


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class ArrayStream(ctypes.Structure):
    pass


ReleaseSchema = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
ReleaseArray = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
                   ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
                   ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", ctypes.POINTER(Schema)),
                   ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]
Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                  ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
                  ("children", ctypes.POINTER(ctypes.POINTER(Array))), ("dictionary", ctypes.POINTER(Array)),
                  ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]
GetSchema = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrayStream), ctypes.POINTER(Schema))
GetNext = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrayStream), ctypes.POINTER(Array))
LastError = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(ArrayStream))
ReleaseStream = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrayStream))
ArrayStream._fields_ = [("get_schema", GetSchema), ("get_next", GetNext), ("get_last_error", LastError),
                        ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Source:
    """An object with ``__arrow_c_stream__``, of two functions that fill a schema and the next array."""

    def __init__(self, get_schema, get_next, error=None):
        self.released = False
        self._words = ctypes.create_string_buffer((error or "no words").encode())
        self._kept = (GetSchema(lambda _, out: get_schema(out)), GetNext(lambda _, out: get_next(out)),
                      LastError(lambda _: ctypes.addressof(self._words)), ReleaseStream(self._release))
        self._stream = ArrayStream(*self._kept[:3], ctypes.cast(self._kept[3], ctypes.c_void_p), None)

    def _release(self, stream):
        self.released = True
        stream.contents.release = None

    def __arrow_c_stream__(self, requested_schema=None):
        return _new_capsule(ctypes.addressof(self._stream), b"arrow_array_stream", None)


class DuckDb(Source):
    """The rows of a query."""

    def __init__(self, query):
        if duckdb_library.find() is None:
            absent("DuckDB's library")
        self._library = lib = ctypes.CDLL(duckdb_library.find())
        lib.duckdb_query_arrow_error.restype = ctypes.c_char_p
        self._base, self._connection, self._result = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        assert lib.duckdb_open(None, ctypes.byref(self._base)) == 0
        assert lib.duckdb_connect(self._base, ctypes.byref(self._connection)) == 0
        if lib.duckdb_query_arrow(self._connection, query.encode(), ctypes.byref(self._result)) != 0:
            raise RuntimeError(lib.duckdb_query_arrow_error(self._result).decode())

        def get_schema(out):
            place = ctypes.cast(out, ctypes.c_void_p)
            return lib.duckdb_query_arrow_schema(self._result, ctypes.byref(place))

        def get_next(out):
            ctypes.memset(out, 0, ctypes.sizeof(Array))
            place = ctypes.cast(out, ctypes.c_void_p)
            return lib.duckdb_query_arrow_array(self._result, ctypes.byref(place))

        super().__init__(get_schema, get_next)

    def __del__(self):
        self._library.duckdb_destroy_arrow(ctypes.byref(self._result))
        self._library.duckdb_disconnect(ctypes.byref(self._connection))
        self._library.duckdb_close(ctypes.byref(self._base))


class Column:
    """A column by hand: a format, buffers (bytes or None) and, for dictionaries, another column."""

    def __init__(self, format, length, buffers, nulls=0, offset=0, dictionary=None, flags=2):
        self.format, self.length, self.nulls, self.offset, self.flags = format, length, nulls, offset, flags
        self.buffers, self.dictionary = buffers, dictionary


class ByHand(Source):
    """Batches of columns by hand: [{"x": Column, ...}, ...]. Counts what is released."""

    def __init__(self, batches, error_at=None):
        self.batches, self.kept, self.at, self.releases = batches, [], 0, 0
        release_schema = ReleaseSchema(lambda s: setattr(s.contents, "release", None))

        def count(array):
            self.releases += 1
            array.contents.release = None

        release_array = ReleaseArray(count)
        self.kept += [release_schema, release_array]

        def schema_of(column, name, release):
            out = Schema(column.format.encode(), name.encode(), None, column.flags, 0, None, None, release, None)
            if column.dictionary is not None:
                words = schema_of(column.dictionary, "", release)
                out.dictionary = ctypes.pointer(words)
                self.kept.append(words)
            self.kept.append(out)
            return out

        def array_of(column, release):
            memory = [None if b is None else ctypes.create_string_buffer(b, max(len(b), 1)) for b in column.buffers]
            pointers = (ctypes.c_void_p * max(len(memory), 1))(*[None if m is None else ctypes.addressof(m) for m in memory])
            out = Array(column.length, column.nulls, column.offset, len(memory), 0, pointers, None, None, release, None)
            if column.dictionary is not None:
                words = array_of(column.dictionary, release)
                out.dictionary = ctypes.pointer(words)
            self.kept += [memory, pointers, out]
            return out

        def get_schema(out):
            release = ctypes.cast(release_schema, ctypes.c_void_p)
            children = [schema_of(c, n, release) for n, c in batches[0].items()]
            pointers = (ctypes.POINTER(Schema) * len(children))(*[ctypes.pointer(c) for c in children])
            self.kept.append(pointers)
            out[0] = Schema(b"+s", b"", None, 0, len(children), pointers, None, release, None)
            return 0

        def get_next(out):
            if self.at == error_at:
                return 5
            ctypes.memset(out, 0, ctypes.sizeof(Array))
            if self.at < len(batches):
                release = ctypes.cast(release_array, ctypes.c_void_p)
                batch = batches[self.at]
                children = [array_of(c, release) for c in batch.values()]
                pointers = (ctypes.POINTER(Array) * len(children))(*[ctypes.pointer(c) for c in children])
                nothing = (ctypes.c_void_p * 1)(None)
                self.kept += [pointers, nothing]
                rows = next(iter(batch.values())).length
                out[0] = Array(rows, 0, 0, 1, len(children), nothing, pointers, None, release, None)
            self.at += 1
            return 0

        super().__init__(get_schema, get_next, "the disk is on fire")
