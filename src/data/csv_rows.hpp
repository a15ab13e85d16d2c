// Copyright (c) the mlo authors. BSD-3-Clause.
// The rows of one chunk. There are two ways to read a row: the fast one reads ordinary rows and gives up on
// anything odd (a quote, a word among numbers, a wrong number of cells); the careful one then reads the same
// row from its start.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "csv_chunks.hpp"
#include "csv_dialect.hpp"
#include "csv_number.hpp"
#include "csv_record.hpp"
#include "csv_words.hpp"
#include "mlo/data/table.hpp"

namespace mlo::csv {

// One wanted column, in the order of the file.
struct Step {
  std::size_t skip = 0;   // cells between the previous wanted one and this one
  std::size_t index = 0;  // of the column in the header
  bool last = false;      // the header's last column: the line ends after it
  std::optional<ColumnType> type{};
};

// What all threads know about a file.
struct Layout {
  Dialect dialect;
  CellRules rules;
  std::vector<std::string> header;
  std::vector<Step> steps;
  std::size_t tail = 0;  // cells after the last wanted one
};

// The wanted cells of a chunk, and the words that this thread has met. Each thread has one and uses it for
// one chunk after another.
class Rows {
 public:
  // is_text: by step, whether some thread has found that the column holds text.
  Rows(const Layout& layout, std::span<std::atomic<bool>> is_text);

  // Parses the chunk from `from` on. A column in which a word is found is read again, as text, from the
  // start of the chunk.
  void parse(const Chunk& chunk, const char* from);

  [[nodiscard]] std::size_t count() const noexcept { return rows_; }
  [[nodiscard]] std::size_t lines() const noexcept { return line_; }
  // (row, lines): blank lines, comments and line breaks in quotes; see Source::shift.
  [[nodiscard]] const std::vector<std::pair<std::size_t, std::size_t>>& shifts() const noexcept {
    return shifts_;
  }
  struct Problem {
    std::size_t line = 0;  // 0-based, within the chunk
    std::string rule;
  };
  [[nodiscard]] const std::optional<Problem>& problem() const noexcept { return problem_; }

  // By step:
  [[nodiscard]] bool is_text(std::size_t k) const noexcept { return text_[k] != 0; }
  [[nodiscard]] std::span<const double> numbers(std::size_t k) const noexcept {
    return {values_.data() + k * capacity_, rows_};
  }
  // The first number that is not finite; its cell reads as missing.
  [[nodiscard]] const std::optional<Problem>& not_finite(std::size_t k) const noexcept {
    return columns_[k].not_finite;
  }
  // Of numbers: how many cells are true or false.
  [[nodiscard]] std::size_t logicals(std::size_t k) const noexcept { return columns_[k].logicals; }

  // Turns the codes of this thread into those of the whole column as far as they are known, so that few are
  // left for append_codes(), which threads call one at a time.
  void translate();
  // Appends the codes of the whole column, whose words so far are `words`. Returns false if there are more
  // than max_words.
  [[nodiscard]] bool append_codes(std::size_t k, Words& words, std::vector<std::uint32_t>& codes);
  static constexpr std::size_t max_words = std::size_t{1} << 24;

 private:
  // The words of one column that this thread has met: far fewer than rows in most files, so the whole
  // column's codes are looked up once per word, not once per row.
  struct Column {
    std::optional<Problem> not_finite{};
    std::size_t logicals = 0;      // rows with true or false
    std::size_t last_logical = 0;  // the last of them
    Words words{};
    std::vector<std::uint32_t> hashes{};  // by word
    std::vector<std::uint32_t> codes{};   // of the whole column, by word; missing; or unknown
  };
  static constexpr std::uint32_t unknown = 0x80000000U;  // and, in a cell, the word's number

  [[nodiscard]] bool try_parse(const Chunk& chunk, const char* from);
  template <char Point>
  [[nodiscard]] const char* fast_row(const char* p);
  [[nodiscard]] const char* fast_row_of(const char* p);
  [[nodiscard]] bool careful_row(const char*& p, const char* end);
  void count_logical(Column& column) noexcept;
  [[nodiscard]] bool word(Column& column, std::string_view text, std::uint32_t& code);
  [[nodiscard]] std::uint32_t* codes(std::size_t k) noexcept { return codes_.data() + k * capacity_; }

  const Layout& layout_;
  std::span<std::atomic<bool>> is_text_;
  std::vector<Column> columns_;  // by step
  std::vector<char> text_;       // by step: whether the column is read as text
  std::size_t capacity_ = 0;     // rows that fit
  std::vector<double> values_;   // by step and row
  std::vector<std::uint32_t> codes_;
  std::size_t rows_ = 0;
  std::size_t line_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> shifts_;
  std::optional<Problem> problem_;
  std::vector<Cell> cells_;  // scratch of careful_row
};

}  // namespace mlo::csv
