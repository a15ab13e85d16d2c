// Copyright (c) the mlo authors. BSD-3-Clause.
#include <fmt/format.h>

#include <algorithm>

#include "data/csv_parser.hpp"
#include "data/csv_text.hpp"

namespace mlo::csv {

// The first bad cell ends the reading, but the message depends on the column: if most of its first cells are
// text, it is a text column; otherwise this cell is a mistake. So read on until enough cells are known.
void Parser::bad_cell(const Step& step, const Cell& cell, CellKind kind) {
  constexpr std::size_t sample = 100;  // non-missing cells
  const double* const staged = tile_.data() + step.column * tile_rows_;
  const auto is_number = [](double value) { return value == value; };
  const Numbers& values = table_.columns[step.column].numbers();
  std::size_t numbers = static_cast<std::size_t>(std::count_if(values.begin(), values.end(), is_number) +
                                                 std::count_if(staged, staged + staged_, is_number));
  const std::string name = quoted(header_[step.index]);
  const std::size_t bad_line = cell.line;
  const std::string bad_value = quoted(cell.contents());
  std::size_t text_line = 0;
  std::string text_value;
  std::size_t seen = numbers;
  const auto count = [&](const Cell& next, CellKind next_kind) {
    if (next_kind == CellKind::missing) return;
    ++seen;
    if (next_kind != CellKind::text) {
      ++numbers;
    } else if (text_line == 0) {
      text_line = next.line;
      text_value = quoted(next.contents());
    }
  };
  count(cell, kind);
  try {
    while (seen < sample) {
      if (p_ == lines_.end() && !read_more(0)) break;
      if (skip_blank_line()) continue;
      Cells cells(p_, lines_.end(), delimiter_, line_);
      Cell wanted;
      std::size_t index = 0;
      for (Cell next; cells.next(next); ++index) {
        if (index == step.index) wanted = next;
      }
      if (cells.open_quote() != 0) {
        if (!read_more(cells.open_quote())) break;
        continue;
      }
      if (index != header_.size()) break;
      p_ = cells.position();
      line_ = cells.line();
      double value;
      count(wanted, read_cell(wanted.text, value));
    }
  } catch (const DataError&) {  // NOLINT(bugprone-empty-catch): only the first error is reported
  }

  if (2 * numbers < seen) {
    fail(text_line,
         fmt::format("column {} holds text ({}); text columns cannot be used in a formula yet, numbers can",
                     name, text_value));
  }
  if (kind == CellKind::not_finite) {
    fail(bad_line,
         fmt::format("column {}: {} is not a finite number; leave the cell empty or write NA if the value is "
                     "missing",
                     name, bad_value));
  }
  fail(bad_line, fmt::format("column {}: not a number ({})", name, bad_value));
}

}  // namespace mlo::csv
