// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/duckdb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "data/duckdb_cells.hpp"
#include "data/duckdb_query.hpp"
#include "data/typed_cells.hpp"
#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

using duckdb::Chunk;
using duckdb::Query;
using duckdb::ResultColumn;
using duckdb::Rows;
using duckdb::Session;

// 'text' or "name", with the quotes inside doubled.
std::string sql_quoted(std::string_view text, char mark) {
  std::string out(1, mark);
  for (const char c : text) {
    if (c == mark) out += mark;
    out += c;
  }
  return out + mark;
}

// A file of exactly this name: DuckDB would take the special characters for a pattern.
std::string sql_file(std::string_view file) {
  std::string out;
  for (const char c : file) {
    if (c == '*' || c == '?' || c == '[') {
      out += {'[', c, ']'};
    } else {
      out += c;
    }
  }
  return sql_quoted(out, '\'');
}

// What all readers have in common: a session, the header and the way rows become columns.
class DuckdbReader : public Reader {
 public:
  [[nodiscard]] const std::vector<std::string>& header() const noexcept override { return header_; }
  // A hash of the names and cells of the wanted columns; 0 before read().
  [[nodiscard]] std::uint64_t fingerprint() const noexcept override { return fingerprint_; }

 protected:
  // name: of the source, in messages. purpose: what DuckDB is needed for.
  DuckdbReader(const std::string& name, const std::string& purpose, const std::string& database,
               const ReadOptions& options)
      : options_(options),
        source_{.name = name, .unit = Source::Unit::row},
        session_(duckdb::library(purpose), database, options.threads, name) {}

  void set_header(const Query& query) {
    for (const ResultColumn& column : query.columns()) header_.push_back(column.name);
  }

  // Runs the query, whose column positions[k] becomes column wanted[k]. rows: how many there will be, if that
  // is known.
  [[nodiscard]] Table read_rows(const Query& query, std::span<const std::string> wanted,
                                const std::vector<std::size_t>& positions, std::optional<std::size_t> rows,
                                const Progress& progress);

  const ReadOptions options_;
  const Source source_;
  Session session_;
  std::vector<std::string> header_;

 private:
  std::uint64_t fingerprint_ = 0;
};

Table DuckdbReader::read_rows(const Query& query, std::span<const std::string> wanted,
                              const std::vector<std::size_t>& positions, std::optional<std::size_t> rows,
                              const Progress& progress) {
  const duckdb::Library& library = session_.library();
  std::vector<duckdb::CellReader> readers;
  readers.reserve(wanted.size());
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const duckdb::LogicalType type = query.columns()[positions[k]].type.get();
    const bool natural = is_text(library, type, wanted[k], source_.name);
    const std::optional<ColumnType> asked = asked_type(options_, wanted[k]);
    const bool text = asked ? *asked == ColumnType::text : natural;
    TypedColumn cells(wanted[k], text, &source_, asked_na(options_));
    if (!asked && is_boolean(library, type)) cells.mark_logical();
    readers.emplace_back(library, type, std::move(cells));
    if (rows) readers.back().reserve(*rows);
  }

  Table table{.source = source_, .columns = {}, .rows = 0};
  const auto show = [&] {
    if (!progress) return;
    const auto all = static_cast<double>(rows.value_or(0));
    progress(all > 0 ? std::min(1.0, static_cast<double>(table.rows) / all) : 0.0);
  };
  Rows stream(query, show);
  while (const Chunk chunk = stream.next()) {
    const auto count = static_cast<std::size_t>(library.data_chunk_get_size(chunk));
    for (std::size_t k = 0; k < wanted.size(); ++k)
      readers[k].append(library.data_chunk_get_vector(chunk, positions[k]), count);
    table.rows += count;
    show();
  }
  if (table.rows == 0) throw DataError(source_.name, "no rows");
  for (duckdb::CellReader& reader : readers) table.columns.push_back(std::move(reader).take());
  fingerprint_ = fingerprint_of(table.columns);
  if (progress) progress(1.0);
  return table;
}

// ---- files

// Each wanted column is asked for by name, so that DuckDB reads no others.
class ParquetReader final : public DuckdbReader {
 public:
  ParquetReader(const std::string& file, const ReadOptions& options)
      : DuckdbReader(file, file + ": Parquet files are read", "", options), file_(sql_file(file)) {
    set_header(Query(session_, fmt::format("select * from read_parquet({})", file_)));
  }

 private:
  [[nodiscard]] Table read_columns(std::span<const std::string> wanted, const Progress& progress) override {
    std::string names;
    std::vector<std::size_t> positions;
    for (const std::string& name : wanted) {
      static_cast<void>(position_in(header_, name, source_.name));
      positions.push_back(positions.size());
      names += fmt::format("{}{}", names.empty() ? "" : ", ", sql_quoted(name, '"'));
    }
    // A formula without columns, as "y ~ 1" would be without its response, still has rows.
    const Query query(session_,
                      fmt::format("select {} from read_parquet({})", names.empty() ? "1" : names, file_));
    return read_rows(query, wanted, positions, row_count(), progress);
  }

  [[nodiscard]] std::size_t row_count() const {
    const Query query(
        session_, fmt::format("select cast(sum(num_rows) as bigint) from parquet_file_metadata({})", file_));
    Rows rows(query, [] {});
    const duckdb::Library& library = session_.library();
    const Chunk chunk = rows.next();
    if (chunk == nullptr) return 0;
    return static_cast<std::size_t>(
        *static_cast<const std::int64_t*>(library.vector_get_data(library.data_chunk_get_vector(chunk, 0))));
  }

  std::string file_;  // as DuckDB is given it
};

class JsonReader final : public DuckdbReader {
 public:
  JsonReader(const std::string& file, const ReadOptions& options)
      : DuckdbReader(file, file + ": JSON files are read", "", options),
        file_(sql_file(file)),
        all_(session_, fmt::format("select * from read_json({}, sample_size = -1)", file_)) {
    set_header(all_);
  }

 private:
  // With the types that were found, so that they need not be looked for again. Dates and the like are asked
  // for as text: they keep their spelling.
  [[nodiscard]] Table read_columns(std::span<const std::string> wanted, const Progress& progress) override {
    std::string names, types;
    std::vector<std::size_t> positions;
    for (const std::string& name : wanted) {
      const std::size_t at = position_in(header_, name, source_.name);
      positions.push_back(positions.size());
      const std::string quoted = sql_quoted(name, '"');
      names += fmt::format("{}{}", names.empty() ? "" : ", ", quoted);
      types += fmt::format("{}{}: {}", types.empty() ? "" : ", ", quoted,
                           sql_quoted(sql_type(name, all_.columns()[at].type.get()), '\''));
    }
    const Query query(session_, wanted.empty() ? fmt::format("select 1 from read_json({})", file_)
                                               : fmt::format("select {} from read_json({}, columns = {{{}}})",
                                                             names, file_, types));
    return read_rows(query, wanted, positions, std::nullopt, progress);
  }

  [[nodiscard]] const char* sql_type(const std::string& name, duckdb::LogicalType type) const {
    const duckdb::Library& library = session_.library();
    if (is_text(library, type, name, source_.name)) return "VARCHAR";
    switch (static_cast<duckdb::Type>(library.get_type_id(type))) {
      case duckdb::Type::boolean:
        return "BOOLEAN";
      case duckdb::Type::int64:
        return "BIGINT";
      case duckdb::Type::uint64:
        return "UBIGINT";
      case duckdb::Type::int128:
        return "HUGEINT";
      case duckdb::Type::uint128:
        return "UHUGEINT";
      default:
        return "DOUBLE";
    }
  }

  std::string file_;
  Query all_;
};

// ---- queries

// The query is run as the user wrote it, once; columns that are not wanted are skipped.
class QueryReader final : public DuckdbReader {
 public:
  QueryReader(const std::string& database, const ReadOptions& options)
      : DuckdbReader("`sql`", "`sql`: queries are read", database, options), query_(session_, *options.sql) {
    set_header(query_);
  }

 private:
  [[nodiscard]] Table read_columns(std::span<const std::string> wanted, const Progress& progress) override {
    std::vector<std::size_t> positions;
    for (const std::string& name : wanted) positions.push_back(position_in(header_, name, source_.name));
    return read_rows(query_, wanted, positions, std::nullopt, progress);
  }

  Query query_;
};

}  // namespace

std::unique_ptr<Reader> open_parquet(const std::string& file, const ReadOptions& options) {
  return std::make_unique<ParquetReader>(file, options);
}

std::unique_ptr<Reader> open_json(const std::string& file, const ReadOptions& options) {
  return std::make_unique<JsonReader>(file, options);
}

std::unique_ptr<Reader> open_query(const std::string& database, const ReadOptions& options) {
  assert(options.sql);
  return std::make_unique<QueryReader>(database, options);
}

std::string duckdb_library() {
  const duckdb::Library& library = duckdb::library("Parquet, JSON and SQL are read");
  return fmt::format("{} ({})", library.version, library.file);
}

bool is_duckdb_database(const std::string& file) {
  std::array<char, 12> start{};  // eight bytes of a checksum, then the mark
  std::ifstream stream(file, std::ios::binary);
  return stream.read(start.data(), start.size()) && std::string_view(start.data() + 8, 4) == "DUCK";
}

void refuse_database(const std::string& file) {
  const Session session(duckdb::library(file + ": databases are read"), file, 1, file);
  const Query query(session, "select string_agg(table_name, ', ' order by table_name) from duckdb_tables()");
  const duckdb::Library& library = session.library();
  Rows rows(query, [] {});
  std::string tables;
  if (const Chunk chunk = rows.next()) {
    const Source source{.name = file};
    duckdb::CellReader cells(library, query.columns().front().type.get(), TypedColumn("", true, &source, {}));
    cells.append(library.data_chunk_get_vector(chunk, 0), 1);
    const Column column = std::move(cells).take();
    if (!column.text().levels.empty()) tables = column.text().levels.front();
  }
  throw UsageError(
      fmt::format("{} is a database, with {}; say what to read from it with `sql`, e.g. \"select * from "
                  "{}\"",
                  file, tables.empty() ? "no tables" : "the tables " + tables,
                  tables.empty() ? "t" : tables.substr(0, tables.find(','))));
}

}  // namespace mlo
