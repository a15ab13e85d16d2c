// Copyright (c) the mlo authors. BSD-3-Clause.
// Reads a table in memory as if it were a file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mlo/data/reader.hpp"

namespace mlo {

class TableReader final : public Reader {
 public:
  // Owns the table: read() moves the wanted columns out and frees the others.
  explicit TableReader(Table table);
  // Borrows the table, which must live until read() returns: read() copies the wanted columns.
  explicit TableReader(const Table* table);

  [[nodiscard]] const std::vector<std::string>& header() const noexcept override { return header_; }
  // A hash of the names and cells of the wanted columns; 0 before read().
  [[nodiscard]] std::uint64_t fingerprint() const noexcept override { return fingerprint_; }

 private:
  // Throws DataError: two columns with the same name, a column with more or fewer cells than the table has
  // rows, a code without a level.
  [[nodiscard]] Table read_columns(std::span<const std::string> wanted, const Progress& progress) override;
  [[nodiscard]] std::size_t find(const std::string& name) const;

  Table owned_;
  const Table* table_;  // &owned_, or the borrowed table
  std::vector<std::string> header_;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace mlo
