// Copyright (c) the mlo authors. BSD-3-Clause.
// Reads CSV files, plain or gzip. The file is streamed: memory holds the wanted columns and a few buffers.
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
  // Opens the file and reads its header line. Throws DataError if it does not exist, is a directory, is
  // empty, ...
  explicit CsvReader(const std::string& file, const ReadOptions& options = {});
  ~CsvReader() override;

  [[nodiscard]] const std::vector<std::string>& header() const noexcept override;
  // A hash of the whole text, after decompression.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept override;

 private:
  [[nodiscard]] Table read_columns(std::span<const std::string> wanted, const Progress& progress) override;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mlo
