// Copyright (c) the mlo authors. BSD-3-Clause.
// CSV files, plain or gzip. Streams: memory is the wanted columns plus a few buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mlo/data/table.hpp"

namespace mlo {

class CsvReader {
 public:
  // Opens the file and reads its header line. Throws DataError: no such file, directory, empty file, ...
  explicit CsvReader(const std::string& file);
  ~CsvReader();
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  [[nodiscard]] const std::vector<std::string>& header() const noexcept;

  // Called now and then with the share of the file read so far, 0..1. May throw to stop the reading.
  using Progress = std::function<void(double)>;

  // Reads all rows, only the wanted columns (names of the header, each once). Once per reader.
  // Throws DataError naming file, line, column, rule and value.
  [[nodiscard]] Table read(std::span<const std::string> wanted, const Progress& progress = {});

  // 64-bit hash of the bytes read (of the text, after decompression), to tell a changed file on resume.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mlo
