// Copyright (c) the mlo authors. BSD-3-Clause.
// Where data come from: a file in some format, or a table in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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

// The reader for a file: the one place that knows all formats. Throws DataError: no such file, ...
[[nodiscard]] std::unique_ptr<Reader> open_reader(const std::string& path);

}  // namespace mlo
