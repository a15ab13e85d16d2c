// Copyright (c) the mlo authors. BSD-3-Clause.
// Where rows came from, in words for messages.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace mlo {

// A row of a file is named by its line, a row of a table in memory by its number.
struct Source {
  std::string name;  // the file as the user named it, or what the table is: "simulated data"

  enum class Unit { row, line };
  Unit unit = Unit::row;

  // Row r (0-based) has the number r + 1, or is on line r + 2 because of the header, unless a blank line, a
  // line break in quotes or a dropped row has shifted it. Each entry is (first row that is shifted, total
  // shift from there on), in ascending order.
  std::vector<std::pair<std::size_t, std::size_t>> shifts{};

  // The line on which a row starts, or the number of the row; 1-based.
  [[nodiscard]] std::size_t number(std::size_t row) const noexcept;

  // "data.csv:17" or "simulated data, row 5".
  [[nodiscard]] std::string place(std::size_t row) const;

  // Shifts `row` and all rows after it by `by` more than the rows before. A call must not name an earlier row
  // than the call before it.
  void shift(std::size_t row, std::size_t by);
};

}  // namespace mlo
