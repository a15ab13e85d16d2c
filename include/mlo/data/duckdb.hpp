// Copyright (c) the mlo authors. BSD-3-Clause.
// Reads what DuckDB reads: Parquet, JSON, and the results of SQL queries over files and databases. DuckDB is
// a library that is loaded when it is needed, not a part of mlo.
//
// Integers, decimals, floats and booleans are numbers; text and enumerations are text; dates and times are
// text in ISO form, "2024-05-01" and "2024-05-01 17:30:00". NULL and NaN are missing; a text NA is a word
// unless ReadOptions::na is given. Rows come in the order of the file, or of the query.
#pragma once

#include <memory>
#include <string>

#include "mlo/data/reader.hpp"

namespace mlo {

// All throw DataError: the library is not there, with how to get it; DuckDB's own words, with the query; a
// wanted column that is neither numbers nor text.
[[nodiscard]] std::unique_ptr<Reader> open_parquet(const std::string& file, const ReadOptions& options = {});

// An object per line, or an array of objects. All of them are looked at to find the type of a column.
[[nodiscard]] std::unique_ptr<Reader> open_json(const std::string& file, const ReadOptions& options = {});

// The rows of options.sql, which may name files: select * from 'data.parquet'. `database` is a DuckDB file,
// or empty.
[[nodiscard]] std::unique_ptr<Reader> open_query(const std::string& database, const ReadOptions& options);

// "v1.4.1 (libduckdb.so)": the library that is used. Throws DataError.
[[nodiscard]] std::string duckdb_library();

// Whether a file is a DuckDB database, by its first bytes.
[[nodiscard]] bool is_duckdb_database(const std::string& file);

// The error that a database without a query is; it names the tables.
[[noreturn]] void refuse_database(const std::string& file);

}  // namespace mlo
