// Copyright (c) the mlo authors. BSD-3-Clause.
// Where rows came from, in words for messages.
#pragma once

#include <cstddef>
#include <span>
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

  // Several files as one table: their numbers go on from file to file, so that they ascend with the rows. A
  // file has the numbers after `before`; subtracting that gives its own. Empty: one file.
  struct Part {
    std::size_t before;
    std::string name;
    Unit unit;
  };
  std::vector<Part> parts{};

  // The line on which a row starts, or the number of the row; 1-based. Of several files: see `parts`.
  [[nodiscard]] std::size_t number(std::size_t row) const noexcept;

  // "data.csv:17" or "simulated data, row 5".
  [[nodiscard]] std::string place(std::size_t row) const;

  // Shifts `row` and all rows after it by `by` more than the rows before. A call must not name an earlier row
  // than the call before it.
  void shift(std::size_t row, std::size_t by);

  // The same files before any row is added: the start of a source whose rows are some of this one's.
  [[nodiscard]] Source without_rows() const { return {name, unit, {}, parts}; }
};

// The source of a table that has the rows of several, in order: (source, its number of rows). Each is one
// file.
[[nodiscard]] Source joined(std::string name, std::span<const std::pair<Source, std::size_t>> sources);

}  // namespace mlo
