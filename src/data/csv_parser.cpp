// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/csv_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <unordered_map>
#include <utility>

#include "data/csv_scan.hpp"
#include "data/csv_text.hpp"

namespace mlo::csv {

Parser::Parser(std::string file, std::size_t buffer_bytes)
    : file_(std::move(file)), lines_(file_, buffer_bytes), p_(lines_.begin()) {
  read_header();
}

void Parser::read_header() {
  for (std::size_t open_quote = 0;;) {
    if ((p_ == lines_.end() || open_quote != 0) && !read_more(open_quote)) {
      throw DataError(file_, "the file is empty");
    }
    if (skip_blank_line()) continue;
    delimiter_ = sniff_delimiter({p_, static_cast<std::size_t>(lines_.end() - p_)});
    header_.clear();
    header_line_ = line_;
    Cells cells(p_, lines_.end(), delimiter_, line_);
    for (Cell cell; cells.next(cell);) {
      if (!cell.quoted && cell.text.find('\r') != std::string_view::npos) {
        fail(cell.line,
             "a carriage return inside the header; save the file with \\n or \\r\\n at the ends of lines");
      }
      header_.emplace_back(trim(cell.contents()));
    }
    open_quote = cells.open_quote();
    if (open_quote != 0) continue;
    p_ = cells.position();
    line_ = cells.line();
    return;
  }
}

Table Parser::read(std::span<const std::string> wanted, const std::function<void(double)>& progress) {
  constexpr double progress_step = 1.0 / 256;
  plan(wanted);
  double reported = 0.0;
  std::size_t open_quote = 0;
  do {
    open_quote = 0;
    while (p_ != lines_.end()) {
      if (skip_blank_line()) {
        table_.source.shift(table_.rows + staged_, 1);
        continue;
      }
      if (const char* const next = fast_row(p_)) {
        p_ = next;
        ++line_;
      } else if ((open_quote = careful_row()) != 0) {
        break;
      }
      if (++staged_ == tile_rows_) flush();
    }
    if (const double share = lines_.share(); progress && share < 1.0 && share >= reported + progress_step) {
      reported = share;
      progress(share);
    }
  } while (read_more(open_quote));
  flush();

  if (table_.rows == 0) throw DataError(file_, "no data rows, only a header line");
  auto& shifts = table_.source.shifts;
  if (!shifts.empty() && shifts.back().first >= table_.rows) shifts.pop_back();
  if (progress) progress(1.0);
  return std::move(table_);
}

void Parser::plan(std::span<const std::string> wanted) {
  assert(table_.source.name.empty() && "a reader reads once");
  table_.source = {.name = file_, .unit = Source::Unit::line};
  if (line_ > 2) table_.source.shift(0, line_ - 2);

  constexpr std::size_t twice = std::numeric_limits<std::size_t>::max();
  std::unordered_map<std::string_view, std::size_t> index_of;
  for (std::size_t i = 0; i < header_.size(); ++i) {
    const auto [at, is_new] = index_of.emplace(header_[i], i);
    if (!is_new) at->second = twice;
  }
  for (const std::string& name : wanted) {
    const auto found = index_of.find(name);
    assert(found != index_of.end() && "the caller checks names against header()");
    if (found->second == twice) {
      fail(header_line_, fmt::format("the header has more than one column {}", quoted(name)));
    }
    steps_.push_back({.skip = 0, .index = found->second, .column = table_.columns.size(), .last = false});
    table_.columns.push_back({name, {}});
  }

  std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) { return a.index < b.index; });
  std::size_t next = 0;
  for (Step& step : steps_) {
    assert(step.index >= next && "each wanted column once");
    step.skip = step.index - next;
    next = step.index + 1;
    step.last = next == header_.size();
  }
  tail_ = header_.size() - next;

  constexpr std::size_t tile_values = std::size_t{1} << 15;  // 256 KB: stays in the second-level cache
  tile_rows_ = std::clamp<std::size_t>(tile_values / std::max<std::size_t>(steps_.size(), 1), 16, 512);
  tile_.resize(tile_rows_ * steps_.size());
}

// Reads more lines into the window; false at the end of the file. open_quote: the line of a quote that is not
// closed within the window, or 0.
bool Parser::read_more(std::size_t open_quote) {
  const Lines::More more = lines_.more(p_);
  p_ = lines_.begin();
  switch (more) {
    case Lines::More::yes:
      return true;
    case Lines::More::end:
      if (open_quote != 0) fail(open_quote, "the quote that starts here is never closed");
      return false;
    case Lines::More::too_long:
      static_assert(Lines::max_record == std::size_t{8} << 20);
      if (open_quote != 0) fail(open_quote, "the quote that starts here is not closed within 8 MiB");
      fail(line_, "the line is longer than 8 MiB; is this a CSV file?");
    case Lines::More::nul:
      break;
  }
  const auto breaks = static_cast<std::size_t>(std::count(p_, lines_.end(), '\n'));
  fail(line_ + breaks, "a NUL byte; is this UTF-16 text or a binary file? Save it as UTF-8 text");
}

bool Parser::skip_blank_line() {
  if (*p_ != '\n' && (*p_ != '\r' || p_[1] != '\n')) return false;
  p_ += *p_ == '\r' ? 2 : 1;
  ++line_;
  return true;
}

// Reads the row at p into the tile; returns the start of the next line, or nullptr if the row needs
// careful_row().
const char* Parser::fast_row(const char* p) noexcept {
  const char delimiter = delimiter_;
  double* const out = tile_.data() + staged_;
  for (const Step& step : steps_) {
    if (step.skip > 0) {
      p = skip_cells(p, step.skip, delimiter);
      if (p == nullptr) return nullptr;
    }
    while (*p == ' ') ++p;
    double value;
    const char* after = fast_number(p, value);
    if (after == nullptr) {
      if (*p == delimiter || *p == '\n' || *p == '\r') {
        after = p;
        value = std::numeric_limits<double>::quiet_NaN();
      } else if (p[0] == 'N' && p[1] == 'A') {
        after = p + 2;
        value = std::numeric_limits<double>::quiet_NaN();
      } else {
        after = general_number(p, lines_.end(), value);
        if (after == nullptr) return nullptr;
      }
    }
    while (*after == ' ') ++after;
    if (step.last) {
      if (*after == '\r') ++after;
      if (*after != '\n') return nullptr;
    } else if (*after != delimiter) {
      return nullptr;
    }
    out[step.column * tile_rows_] = value;
    p = after + 1;
  }
  return tail_ > 0 ? skip_line(p, tail_, delimiter) : p;
}

// Reads the row at p_ into the tile and moves on. Returns 0, or the line of a quote that is not closed within
// the window; in that case nothing has changed. Throws DataError.
std::size_t Parser::careful_row() {
  Cells cells(p_, lines_.end(), delimiter_, line_);
  cells_.clear();
  std::size_t count = 0;
  auto step = steps_.begin();
  for (Cell cell; cells.next(cell); ++count) {
    if (step != steps_.end() && step->index == count) {
      cells_.push_back(cell);
      ++step;
    }
  }
  if (cells.open_quote() != 0) return cells.open_quote();
  // Checked before the cells: in a row with a cell too many or too few, cells are under the wrong names.
  if (count != header_.size()) {
    fail(line_,
         fmt::format("{} {}, but the header has {}", count, count == 1 ? "cell" : "cells", header_.size()));
  }
  const std::size_t breaks = cells.line() - line_ - 1;
  if (breaks > 0) table_.source.shift(table_.rows + staged_ + 1, breaks);
  p_ = cells.position();
  line_ = cells.line();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    double value;
    const CellKind kind = read_cell(cells_[i].text, value);
    if (kind == CellKind::not_finite || kind == CellKind::text) bad_cell(steps_[i], cells_[i], kind);
    tile_[steps_[i].column * tile_rows_ + staged_] = value;
  }
  return 0;
}

void Parser::flush() {
  const std::size_t rows = table_.rows + staged_;
  for (Column& column : table_.columns) {
    Numbers& values = column.numbers();
    if (values.capacity() < rows) values.reserve(expected_rows(rows));
    const double* const from =
        tile_.data() + static_cast<std::size_t>(&column - table_.columns.data()) * tile_rows_;
    values.insert(values.end(), from, from + staged_);
  }
  table_.rows = rows;
  staged_ = 0;
}

// How many rows to make room for when there are `rows` already: a little more than the share of the file read
// so far suggests, within limits because that guess may be wrong. Room that is never filled is never touched,
// so it costs no memory. Columns grow one after the other, so peak memory is the table plus one column.
std::size_t Parser::expected_rows(std::size_t rows) const noexcept {
  const auto now = static_cast<double>(rows);
  const double text_share =
      static_cast<double>(lines_.bytes_before(p_)) / static_cast<double>(lines_.bytes_read());
  const double share = text_share * lines_.share();
  const double expected = share > 0.0 ? 1.03 * now / share + 1024.0 : 2.0 * now;
  return static_cast<std::size_t>(std::clamp(expected, 1.5 * now, 8.0 * now)) + 1;
}

}  // namespace mlo::csv
