// Copyright (c) the mlo authors. BSD-3-Clause.
// CSV files, plain or gzip. Streams: memory is the wanted columns plus a few buffers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mlo/data/reader.hpp"

namespace mlo {

class CsvReader final : public Reader {
 public:
  // Opens the file and reads its header line. Throws DataError: no such file, directory, empty file, ...
  explicit CsvReader(const std::string& file);
  ~CsvReader() override;

  [[nodiscard]] const std::vector<std::string>& header() const noexcept override;
  // Of the whole text, after decompression.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept override;

 private:
  [[nodiscard]] Table read_columns(std::span<const std::string> wanted, const Progress& progress) override;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mlo
