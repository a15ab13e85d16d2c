// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/parquet_writer.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>

#include "data/duckdb_query.hpp"
#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

constexpr const char* purpose = "Parquet files are written";

// Text of a query: in single quotes, with those inside doubled.
std::string sql_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += c;
    out += c;
  }
  return out + '\'';
}

}  // namespace

void check_parquet_writer() { static_cast<void>(duckdb::library(purpose)); }

void parquet_from_csv(const std::string& csv, const std::vector<ParquetColumn>& columns,
                      const std::string& parquet) {
  const std::string part = parquet + ".part";
  std::string types;
  for (const ParquetColumn& column : columns)
    types += fmt::format("{}{}: '{}'", types.empty() ? "" : ", ", sql_text(column.name),
                         column.whole ? "BIGINT" : "DOUBLE");
  try {
    const duckdb::Session session(duckdb::library(purpose), "", 0, parquet);
    const duckdb::Query query(
        session,
        fmt::format("copy (select * from read_csv({}, header = true, auto_detect = false, delim = ',', "
                    "columns = {{{}}})) to {} (format parquet)",
                    sql_text(csv), types, sql_text(part)),
        duckdb::Query::Kind::copy);
    duckdb::Rows rows(query, [] {});
    while (rows.next() != nullptr) {
    }
  } catch (...) {
    std::remove(part.c_str());
    throw;
  }
  if (std::rename(part.c_str(), parquet.c_str()) != 0) {
    const int error = errno;
    std::remove(part.c_str());
    throw DataError(parquet, "cannot be written: " + std::generic_category().message(error));
  }
}

}  // namespace mlo
