// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/reader.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "data/byte_source.hpp"
#include "data/csv_text.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/data/csv.hpp"
#include "mlo/data/duckdb.hpp"
#include "mlo/data/many_files.hpp"
#include "mlo/data/npy.hpp"

namespace mlo {
namespace {

namespace fs = std::filesystem;

enum class Format { csv, parquet, json, npy, database };

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

// By the name, then by the first bytes. CSV comes last, because nothing marks a file as CSV. A pipe is never
// looked into: what is read from it is gone.
Format format_of(const std::string& file) {
  std::string name = lower_case(fs::path(file).filename());
  const auto drop = [&](std::string_view end) {
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  };
  if (name.ends_with(".parquet") || name.ends_with(".pq")) return Format::parquet;
  if (name.ends_with(".npy")) return Format::npy;
  drop(".gz");
  drop(".zst");
  if (name.ends_with(".jsonl") || name.ends_with(".ndjson") || name.ends_with(".json")) return Format::json;
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return Format::csv;
  std::array<char, 6> start{};
  std::ifstream(file, std::ios::binary).read(start.data(), start.size());
  const std::string_view first(start.data(), start.size());
  if (first.starts_with("PAR1")) return Format::parquet;
  if (first == "\x93NUMPY") return Format::npy;
  if (is_duckdb_database(file)) return Format::database;
  return Format::csv;
}

// DuckDB opens its files itself, more than once.
void check_file(const std::string& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (!fs::exists(status)) throw file_error(file, error ? error.value() : ENOENT);
  if (fs::is_directory(status))
    throw DataError(file, fmt::format("is a directory, not a file; its files are \"{}/*\"", file));
  if (!fs::is_regular_file(status))
    throw DataError(file, "Parquet and JSON are read from files, not from pipes");
  if (::access(file.c_str(), R_OK) != 0) throw file_error(file, errno);
}

// A misspelt name must not pass for a column whose type was stated.
void check_types(const Reader& reader, const std::string& data, const ReadOptions& options) {
  const std::vector<std::string>& header = reader.header();
  for (const auto& [name, type] : options.types) {
    if (std::find(header.begin(), header.end(), name) == header.end())
      throw UsageError(fmt::format("`type`: {} has no column {}", data, csv::quoted(name)));
  }
}

std::unique_ptr<Reader> open_file(const std::string& file, const ReadOptions& options) {
  const Format format = format_of(file);
  if (format == Format::parquet || format == Format::json) check_file(file);
  switch (format) {
    case Format::parquet:
      return open_parquet(file, options);
    case Format::json:
      return open_json(file, options);
    case Format::npy:
      return open_npy(file, options);
    case Format::database:
      refuse_database(file);
    case Format::csv:
      break;
  }
  return std::make_unique<CsvReader>(file, options);
}

std::unique_ptr<Reader> open_sql(const std::vector<std::string>& paths, const ReadOptions& options) {
  if (paths.size() > 1) throw UsageError("`sql` reads from one database at most; name files in the query");
  if (paths.empty()) return open_query("", options);
  check_file(paths.front());
  if (!is_duckdb_database(paths.front()))
    throw UsageError(
        fmt::format("with `sql`, `data` is a DuckDB database or is left out, and {} is not one; name "
                    "files in the query: select ... from '{}'",
                    paths.front(), paths.front()));
  return open_query(paths.front(), options);
}

}  // namespace

std::unique_ptr<Reader> open_reader(const std::vector<std::string>& paths, const ReadOptions& options) {
  std::unique_ptr<Reader> reader;
  std::string name = "`sql`";
  if (options.sql) {
    reader = open_sql(paths, options);
  } else {
    std::vector<std::string> files = expand_paths(paths);
    name = files.front();
    if (files.size() == 1)
      reader = open_file(name, options);
    else
      reader = std::make_unique<ManyFiles>(std::move(files), options, open_file);
  }
  check_types(*reader, name, options);
  return reader;
}

}  // namespace mlo
