// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/holdout.hpp"

#include <algorithm>
#include <variant>

#include "mlo/base/random.hpp"

namespace mlo {
namespace {

// Moves the cells of the marked rows from one vector to another, which is returned.
template <class Cell>
std::vector<Cell> take_cells(std::vector<Cell>& cells, const std::vector<char>& marked, std::size_t count) {
  std::vector<Cell> out;
  out.reserve(count);
  std::size_t kept = 0;
  for (std::size_t row = 0; row < cells.size(); ++row) {
    if (marked[row] != 0) {
      out.push_back(cells[row]);
    } else {
      cells[kept++] = cells[row];
    }
  }
  cells.resize(kept);
  return out;
}

// Which cell first made the column text, among the rows that are not marked. Not known if its row is marked.
void keep_words(Text& text, const std::vector<char>& marked) {
  if (!text.words) return;
  const std::size_t first = text.words->first;
  if (first >= marked.size()) return;
  if (marked[first] != 0) {
    text.words = {};
    return;
  }
  const auto end = marked.begin() + static_cast<std::ptrdiff_t>(first);
  text.words->first -=
      static_cast<std::size_t>(std::count_if(marked.begin(), end, [](char c) { return c != 0; }));
}

// The source of every row whose mark is `wanted`.
Source source_of(const Source& all, const std::vector<char>& marked, bool wanted) {
  Source out{.name = all.name, .unit = all.unit, .shifts = {}};
  std::size_t row = 0, moved = 0;  // how far the number of the row is from that of a row without gaps
  for (std::size_t from = 0; from < marked.size(); ++from) {
    if ((marked[from] != 0) != wanted) continue;
    const std::size_t here = all.number(from) - (out.unit == Source::Unit::line ? 2 : 1) - row;
    if (here > moved) out.shift(row, here - moved);
    moved = here;
    ++row;
  }
  return out;
}

}  // namespace

bool held_out(std::uint64_t seed, double share, std::size_t row) {
  Stream stream({.seed = seed, .chain = 0, .purpose = Purpose::holdout, .iteration = row});
  return uniform(stream) < share;
}

Table hold_out(Table& table, std::uint64_t seed, double share) {
  std::vector<char> marked(table.rows);
  std::size_t count = 0;
  for (std::size_t row = 0; row < table.rows; ++row) {
    marked[row] = held_out(seed, share, row) ? 1 : 0;
    count += marked[row] != 0 ? 1 : 0;
  }
  Table out;
  out.rows = count;
  out.source = source_of(table.source, marked, true);
  for (Column& column : table.columns) {
    if (column.is_text()) {
      Text& text = column.text();
      Text held = text;
      held.codes = take_cells(text.codes, marked, count);
      held.words = {};  // they name a row of all rows
      keep_words(text, marked);
      out.columns.emplace_back(column.name, std::move(held));
    } else {
      column.make_doubles();
      if (const auto* const borrowed = std::get_if<BorrowedNumbers>(&column.cells))
        column.cells = Numbers(borrowed->cells.begin(), borrowed->cells.end());
      out.columns.emplace_back(column.name, take_cells(column.numbers(), marked, count));
      out.columns.back().logical = column.logical;
    }
  }
  table.source = source_of(table.source, marked, false);
  table.rows -= count;
  return out;
}

}  // namespace mlo
