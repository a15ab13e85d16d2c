// Copyright (c) the mlo authors. BSD-3-Clause.
// The reader behind CsvReader. There are two ways to read a row: the fast one reads ordinary rows and gives
// up on anything odd (a quote, a word, a wrong number of cells); the careful one then reads the same row from
// its start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "csv_lines.hpp"
#include "csv_number.hpp"
#include "csv_record.hpp"
#include "mlo/data/table.hpp"

namespace mlo::csv {

class Parser {
 public:
  static constexpr std::size_t default_buffer = std::size_t{1} << 20;

  // Reads the header. The size of the buffer affects only the speed.
  explicit Parser(std::string file, std::size_t buffer_bytes = default_buffer);

  [[nodiscard]] const std::vector<std::string>& header() const noexcept { return header_; }
  [[nodiscard]] Table read(std::span<const std::string> wanted, const std::function<void(double)>& progress);
  [[nodiscard]] std::uint64_t fingerprint() const noexcept { return lines_.fingerprint(); }

 private:
  // One wanted column, in the order of the file.
  struct Step {
    std::size_t skip;    // cells between the previous wanted one and this one
    std::size_t index;   // of the column in the header
    std::size_t column;  // of the table
    bool last;           // the header's last column: the line ends after it
  };

  void read_header();
  void plan(std::span<const std::string> wanted);
  bool read_more(std::size_t open_quote);
  [[nodiscard]] bool skip_blank_line();
  [[nodiscard]] const char* fast_row(const char* p) noexcept;
  [[nodiscard]] std::size_t careful_row();
  void flush();
  [[nodiscard]] std::size_t expected_rows(std::size_t rows) const noexcept;

  [[noreturn]] void fail(std::size_t line, const std::string& rule) const {
    throw DataError(file_ + ":" + std::to_string(line), rule);
  }
  [[noreturn]] void bad_cell(const Step& step, const Cell& cell, CellKind kind);

  std::string file_;
  Lines lines_;
  char delimiter_ = ',';
  std::vector<std::string> header_;
  std::size_t header_line_ = 0;

  const char* p_;         // the next record
  std::size_t line_ = 1;  // its line

  std::vector<Step> steps_;
  std::size_t tail_ = 0;  // cells after the last wanted one
  Table table_;
  // Rows are gathered in a tile, column by column, and then appended to the columns in one go: one check of
  // the capacity for many rows, and no page of a column is touched before it is filled.
  std::vector<double> tile_;
  std::size_t tile_rows_ = 0;
  std::size_t staged_ = 0;   // rows in the tile
  std::vector<Cell> cells_;  // scratch of careful_row
};

}  // namespace mlo::csv
