// Copyright (c) the mlo authors. BSD-3-Clause.
// Where rows came from, in words for messages.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace mlo {

// The rows of a file have lines, those of a table in memory have numbers.
struct Source {
  std::string name;  // the file as the user named it, or what the table is: "simulated data"

  enum class Unit { row, line };
  Unit unit = Unit::row;

  // Row r (0-based) is number r + 1, or on line r + 2 because of the header, unless something moved it: a
  // blank line, a line break in quotes, a row that was dropped. Kept as (first row that is moved, by how much
  // in all), ascending.
  std::vector<std::pair<std::size_t, std::size_t>> shifts{};

  // The line on which a row starts, or the number of the row; 1-based.
  [[nodiscard]] std::size_t number(std::size_t row) const noexcept;

  // "data.csv:17" or "simulated data, row 5".
  [[nodiscard]] std::string place(std::size_t row) const;

  // Moves the rows from `row` on by `by` further than those before. Rows must not descend between calls.
  void shift(std::size_t row, std::size_t by);
};

}  // namespace mlo
