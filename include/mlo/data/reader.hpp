// Copyright (c) the mlo authors. BSD-3-Clause.
// Where data come from: a file in some format, or a table in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mlo/data/table.hpp"

namespace mlo {

// Reads the wanted columns of one source. Virtual calls are made once per file, never per row.
class Reader {
 public:
  // Called now and then with the share of the data read so far, 0..1. May throw to stop the reading.
  using Progress = std::function<void(double)>;

  virtual ~Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // The names of all columns, in the order of the data. A name may occur twice.
  [[nodiscard]] virtual const std::vector<std::string>& header() const noexcept = 0;

  // Reads all rows of the wanted columns: names from the header, each once. The table has them in that order.
  // To be called once per reader. Throws DataError with the place, the column, the rule and the value.
  [[nodiscard]] Table read(std::span<const std::string> wanted, const Progress& progress = {}) {
    return read_columns(wanted, progress);
  }

  // After read(): a 64-bit hash of the data. It differs if what was read has changed.
  [[nodiscard]] virtual std::uint64_t fingerprint() const noexcept = 0;

 protected:
  Reader() = default;

 private:
  [[nodiscard]] virtual Table read_columns(std::span<const std::string> wanted, const Progress& progress) = 0;
};

enum class ColumnType { number, text };

// How files are read. What is not given is found out from the file itself.
struct ReadOptions {
  std::optional<char> delimiter{};  // of CSV; otherwise the header and the first records show it
  std::optional<char> decimal{};    // '.' or ','; a comma is only looked for where it is not the delimiter
  std::optional<char> comment{};    // lines that start with it are skipped; otherwise there are none
  // Spellings of a missing cell, besides the empty one. A spelling that is a number stands for that number
  // however it is written: "-999" for -999.0 too.
  std::vector<std::string> na = {"NA", "N/A", "NULL", "null"};
  // By column. Otherwise a column holds numbers if all its cells that are not missing are numbers.
  std::map<std::string, ColumnType, std::less<>> types{};
  // The data are the rows of this query (see duckdb.hpp), which the paths are at most a database for.
  std::optional<std::string> sql{};
  std::size_t threads = 0;  // 0: as many as the machine has. They do not affect what is read.

  bool operator==(const ReadOptions&) const = default;
};

// The reader for a data set: the one place that knows all formats. "-" is standard input. Several paths, or a
// pattern with * ? [ ], are one data set: see many_files.hpp. Throws DataError: no such file, ...;
// UsageError: a type for a column that is not there.
[[nodiscard]] std::unique_ptr<Reader> open_reader(const std::vector<std::string>& paths,
                                                  const ReadOptions& options = {});

}  // namespace mlo
