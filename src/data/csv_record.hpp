// Copyright (c) the mlo authors. BSD-3-Clause.
// Splits a record into cells, quoted or not: the careful way, which knows all the rules.
//   A cell is quoted if its first character is a quote; inside, two quotes mean one, and delimiters and line
//   breaks are text. A quote elsewhere is an ordinary character, and so is text between a closing quote and
// the delimiter: then the whole cell is taken literally.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "csv_scan.hpp"
#include "csv_text.hpp"

namespace mlo::csv {

struct Cell {
  std::string_view text;  // of a quoted cell: between the quotes
  bool quoted = false;
  std::size_t line = 0;  // on which it starts

  [[nodiscard]] std::string contents() const { return quoted ? undouble_quotes(text) : std::string(text); }
};

// Reads the cells of records, one record after another.
class Cells {
 public:
  // The record starts at p, on line `line`; the text up to `end` consists of whole lines, and 64 bytes past
  // it may be read.
  Cells(const char* p, const char* end, char delimiter, std::size_t line) noexcept
      : p_(p), end_(end), delimiter_(delimiter), line_(line) {}

  // The next cell; false if the record has no more, or if it does not end before `end`: see open_quote().
  [[nodiscard]] bool next(Cell& cell) noexcept;

  // After the last cell: where the next record starts, and its line.
  [[nodiscard]] const char* position() const noexcept { return p_; }
  [[nodiscard]] std::size_t line() const noexcept { return line_; }
  // The line of a quote that is not closed before `end`, or 0.
  [[nodiscard]] std::size_t open_quote() const noexcept { return open_quote_; }

 private:
  const char* p_;
  const char* end_;
  char delimiter_;
  std::size_t line_;
  bool done_ = false;
  std::size_t open_quote_ = 0;
};

inline bool Cells::next(Cell& cell) noexcept {
  if (done_) return false;
  const char* const start = p_;
  const char* stop = start;
  cell.line = line_;
  cell.quoted = false;
  const char* closing = nullptr;
  if (*start == '"') {
    closing = start + 1;
    for (;;) {
      closing = static_cast<const char*>(std::memchr(closing, '"', static_cast<std::size_t>(end_ - closing)));
      if (closing == nullptr) {
        open_quote_ = line_;
        done_ = true;
        return false;
      }
      if (closing[1] != '"') break;  // a quote is never the last byte: the text ends with a newline
      closing += 2;
    }
    for (const char* c = start;
         (c = static_cast<const char*>(std::memchr(c, '\n', static_cast<std::size_t>(closing - c)))) !=
         nullptr;
         ++c) {
      ++line_;
    }
    stop = closing + 1;
  }
  stop = find_end_of_cell(stop, delimiter_);
  p_ = stop + 1;
  if (*stop == '\n') {
    done_ = true;
    ++line_;
    if (stop > start && stop[-1] == '\r') --stop;
  }
  cell.text = {start, static_cast<std::size_t>(stop - start)};
  if (closing != nullptr) {
    const std::string_view after(closing + 1, static_cast<std::size_t>(stop - closing - 1));
    if (trim(after).empty()) {
      cell.text = {start + 1, static_cast<std::size_t>(closing - start - 1)};
      cell.quoted = true;
    }
  }
  return true;
}

}  // namespace mlo::csv
