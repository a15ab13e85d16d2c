// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/csv_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "data/csv_scan.hpp"
#include "data/csv_text.hpp"

namespace mlo::csv {
namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// What a word is when it is text: a quoted cell as it stands, any other without blanks around it.
std::string_view word_of(const Cell& cell, std::string& scratch) {
  if (!cell.quoted) return trim(cell.text);
  if (cell.text.find('"') == std::string_view::npos) return cell.text;
  scratch = undouble_quotes(cell.text);
  return scratch;
}

}  // namespace

Rows::Rows(const Layout& layout, std::span<std::atomic<bool>> is_text)
    : layout_(layout), is_text_(is_text), columns_(layout.steps.size()), text_(layout.steps.size()) {}

void Rows::parse(const Chunk& chunk, const char* from) {
  // Every row has a newline, so this many are enough.
  const auto most = static_cast<std::size_t>(std::count(from, chunk.end(), '\n'));
  if (most > capacity_) {
    capacity_ = most + most / 8;
    values_.resize(capacity_ * columns_.size());
    codes_.resize(capacity_ * columns_.size());
  }
  // A column with as many words as rows would fill the memory once per thread, so start afresh now and then.
  constexpr std::size_t many_words = std::size_t{1} << 16U;
  for (Column& column : columns_) {
    if (column.words.size() < many_words) continue;
    column.words.clear();
    column.hashes.clear();
    column.codes.clear();
  }
  while (!try_parse(chunk, from)) {
  }
}

// False if a column has turned out to hold text.
bool Rows::try_parse(const Chunk& chunk, const char* from) {
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    text_[k] = is_text_[k].load(std::memory_order_relaxed) ? 1 : 0;
    columns_[k].not_finite.reset();
    columns_[k].logicals = 0;
  }
  rows_ = 0;
  line_ = 0;
  shifts_.clear();
  problem_.reset();
  const char comment = layout_.dialect.comment;  // 0 if there are none; the text has no zeros
  const auto skip_to = [&](const char* next) {
    if (shifts_.empty() || shifts_.back().first != rows_) shifts_.emplace_back(rows_, 0);
    ++shifts_.back().second;
    ++line_;
    return next;
  };
  const char* const end = chunk.end();
  for (const char* p = from; p != end;) {
    if (*p == '\n' || (*p == '\r' && p[1] == '\n')) {
      p = skip_to(p + (*p == '\r' ? 2 : 1));
    } else if (*p == comment) {
      p = skip_to(std::find(p, end, '\n') + 1);
    } else if (const char* const next = fast_row_of(p)) {
      p = next;
      ++line_;
      ++rows_;
    } else {
      if (!careful_row(p, end)) return false;
      if (problem_) return true;
    }
  }
  return true;
}

const char* Rows::fast_row_of(const char* p) {
  return layout_.dialect.decimal == ',' ? fast_row<','>(p) : fast_row<'.'>(p);
}

// Reads the row at p; returns the start of the next line, or nullptr if the row needs careful_row().
template <char Point>
const char* Rows::fast_row(const char* p) {
  const char delimiter = layout_.dialect.delimiter;
  const CellRules& rules = layout_.rules;
  const bool all_numbers = rules.na_numbers.empty();  // whether every number is one, and none means missing
  const std::size_t steps = layout_.steps.size();
  double* out = steps == 0 ? nullptr : values_.data() + rows_;
  for (std::size_t k = 0; k < steps; ++k, out += capacity_) {
    const Step& step = layout_.steps[k];
    if (step.skip > 0) {
      p = skip_cells(p, step.skip, delimiter);
      if (p == nullptr) return nullptr;
    }
    // Indicators, counts and grades: most cells of many files are a single digit.
    if (const unsigned digit = static_cast<unsigned char>(*p) - static_cast<unsigned>('0');
        digit < 10 && p[1] == delimiter && text_[k] == 0 && all_numbers && !step.last) {
      *out = digit;
      p += 2;
      continue;
    }
    while (*p == ' ') ++p;
    if (text_[k] != 0) {
      if (*p == '"') return nullptr;
      const char* const stop = find_end_of_cell(p, delimiter);
      if ((*stop == '\n') != step.last) return nullptr;
      std::string_view cell(p, static_cast<std::size_t>(stop - p));
      if (step.last && cell.ends_with('\r')) cell.remove_suffix(1);
      if (!word(columns_[k], trim(cell), codes(k)[rows_])) return nullptr;
      p = stop + 1;
      continue;
    }
    double value = 0;
    const char* after = fast_number<Point>(p, value);
    if (after != nullptr) {
      if (!all_numbers && rules.is_missing(value)) value = nan_value;
    } else if (*p == delimiter || *p == '\n' || *p == '\r') {
      after = p;
      value = nan_value;
    } else if (p[0] == 'N' && p[1] == 'A' && rules.na_is_missing) {
      after = p + 2;
      value = nan_value;
    } else {
      if (*p == '"') return nullptr;
      after = find_end_of_cell(p, delimiter);
      std::string_view cell(p, static_cast<std::size_t>(after - p));
      if (*after == '\n' && cell.ends_with('\r')) {
        cell.remove_suffix(1);
        --after;
      }
      const CellKind kind = read_cell(cell, value, rules);
      if (kind == CellKind::logical) {
        count_logical(columns_[k]);
      } else if (kind != CellKind::number && kind != CellKind::missing) {
        return nullptr;
      }
    }
    while (*after == ' ') ++after;
    if (step.last) {
      if (*after == '\r') ++after;
      if (*after != '\n') return nullptr;
    } else if (*after != delimiter) {
      return nullptr;
    }
    *out = value;
    p = after + 1;
  }
  return layout_.tail > 0 ? skip_line(p, layout_.tail, delimiter) : p;
}

// Reads the row at p and moves on. False if a column has turned out to hold text. May set problem_.
bool Rows::careful_row(const char*& p, const char* end) {
  const std::vector<Step>& steps = layout_.steps;
  Cells cells(p, end, layout_.dialect.delimiter, line_);
  cells_.clear();
  std::size_t count = 0;
  for (Cell cell; cells.next(cell); ++count) {
    if (cells_.size() < steps.size() && steps[cells_.size()].index == count) cells_.push_back(cell);
  }
  // Checked before the cells: in a row with a cell too many or too few, cells are under the wrong names.
  if (count != layout_.header.size()) {
    problem_ = {line_, fmt::format("{} {}, but the header has {}", count, count == 1 ? "cell" : "cells",
                                   layout_.header.size())};
    return true;
  }
  bool all_as_expected = true;
  std::string scratch;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const Cell& cell = cells_[k];
    const auto name = [&] { return quoted(layout_.header[steps[k].index]); };
    if (text_[k] != 0) {
      const std::string_view text = word_of(cell, scratch);
      if (word(columns_[k], text, codes(k)[rows_])) continue;
      problem_ = {cell.line,
                  fmt::format("column {}: {} is not UTF-8 text; save the file as UTF-8, for example "
                              "with iconv -f WINDOWS-1252 -t UTF-8",
                              name(), quoted(text))};
      return true;
    }
    double value = nan_value;
    switch (read_cell(cell.text, value, layout_.rules)) {
      case CellKind::number:
      case CellKind::missing:
        break;
      case CellKind::logical:
        count_logical(columns_[k]);
        break;
      case CellKind::not_finite:
        if (!columns_[k].not_finite)
          columns_[k].not_finite = {
              cell.line,
              fmt::format("column {}: {} is not a finite number; leave the cell empty or write NA if "
                          "the value is missing, or list its spelling with `na`",
                          name(), quoted(cell.contents()))};
        value = nan_value;
        break;
      case CellKind::text:
        if (steps[k].type == ColumnType::number) {
          problem_ = {
              cell.line,
              fmt::format("column {}: {} is not a number, but `type` says that the column holds numbers; "
                          "correct the cell, or list its spelling with `na` if it means missing",
                          name(), quoted(cell.contents()))};
          return true;
        }
        is_text_[k].store(true, std::memory_order_relaxed);
        all_as_expected = false;
    }
    values_[k * capacity_ + rows_] = value;
  }
  if (!all_as_expected) return false;
  p = cells.position();
  ++rows_;
  if (const std::size_t breaks = cells.line() - line_ - 1; breaks > 0) shifts_.emplace_back(rows_, breaks);
  line_ = cells.line();
  return true;
}

// Once per row: a row that fast_row() has given up is read again.
void Rows::count_logical(Column& column) noexcept {
  if (column.logicals > 0 && column.last_logical == rows_) return;
  ++column.logicals;
  column.last_logical = rows_;
}

// The code of a word in the cells of this thread; false if a new word is not UTF-8.
bool Rows::word(Column& column, std::string_view text, std::uint32_t& code) {
  const std::uint32_t hash = hash_word(text);
  std::uint32_t index = column.words.find(text, hash);
  if (index == Words::none) {
    if (!is_utf8(text)) return false;
    double value;
    const bool missing = read_cell(text, value, layout_.rules) == CellKind::missing;
    index = column.words.add(text, hash);
    column.hashes.push_back(hash);
    column.codes.push_back(missing ? Text::missing : unknown);
  }
  code = index;
  return true;
}

void Rows::translate() {
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    if (text_[k] == 0) continue;
    const std::vector<std::uint32_t>& known = columns_[k].codes;
    std::uint32_t* const cells = codes(k);
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::uint32_t code = known[cells[i]];
      cells[i] = code == unknown ? unknown | cells[i] : code;
    }
  }
}

bool Rows::append_codes(std::size_t k, Words& words, std::vector<std::uint32_t>& to) {
  Column& column = columns_[k];
  std::uint32_t* const cells = codes(k);
  for (std::size_t i = 0; i < rows_; ++i) {
    if (cells[i] < unknown || cells[i] == Text::missing) continue;
    const std::uint32_t index = cells[i] & ~unknown;
    std::uint32_t& code = column.codes[index];
    if (code == unknown) {
      const std::string& text = column.words[index];
      code = words.find(text, column.hashes[index]);
      if (code == Words::none) {
        if (words.size() == max_words) return false;
        code = words.add(text, column.hashes[index]);
      }
    }
    cells[i] = code;
  }
  to.insert(to.end(), cells, cells + rows_);
  return true;
}

}  // namespace mlo::csv
