# Copyright (c) the mlo authors. BSD-3-Clause.
"""DuckDB in the tests: where its library is, and statements that make files. By its C functions, as no module of
Python's standard library has it."""
import ctypes
import ctypes.util
import os


def find():
    """The library as mlo looks for it; None if there is none."""
    named = os.environ.get("MLO_DUCKDB")
    if named:
        return named
    usual = ctypes.util.find_library("duckdb")
    if usual:
        return usual
    base = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    installed = os.path.join(base, "mlo", "libduckdb.so")
    return installed if os.path.exists(installed) else None


def run(statement, database=None):
    """Runs a statement in memory, or on a database file. Raises RuntimeError with DuckDB's words."""
    library = ctypes.CDLL(find())
    base, connection = ctypes.c_void_p(), ctypes.c_void_p()
    result = (ctypes.c_uint64 * 6)()
    if library.duckdb_open(database.encode() if database else None, ctypes.byref(base)) != 0:
        raise RuntimeError(f"DuckDB cannot open {database}")
    try:
        if library.duckdb_connect(base, ctypes.byref(connection)) != 0:
            raise RuntimeError("no connection")
        failed = library.duckdb_query(connection, statement.encode(), ctypes.byref(result)) != 0
        library.duckdb_result_error.restype = ctypes.c_char_p
        words = library.duckdb_result_error(ctypes.byref(result)) if failed else b""
        library.duckdb_destroy_result(ctypes.byref(result))
        if failed:
            raise RuntimeError(words.decode())
    finally:
        library.duckdb_disconnect(ctypes.byref(connection))
        library.duckdb_close(ctypes.byref(base))
