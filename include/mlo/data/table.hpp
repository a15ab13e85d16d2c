// Copyright (c) the mlo authors. BSD-3-Clause.
// Columns read from a file: only those that were asked for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace mlo {

// The line of a row when rows are on consecutive lines from line 2 on, but for shifts (first row affected,
// total shift).
[[nodiscard]] inline std::size_t line_of(const std::vector<std::pair<std::size_t, std::size_t>>& shifts,
                                         std::size_t row) {
  const auto after = std::upper_bound(shifts.begin(), shifts.end(), row,
                                      [](std::size_t r, const auto& shift) { return r < shift.first; });
  return row + 2 + (after == shifts.begin() ? 0 : std::prev(after)->second);
}

struct Column {
  std::string name;
  std::vector<double> values;  // NaN where the cell was missing; no other value is non-finite
};

struct Table {
  std::string file;             // as the user named it, for messages
  std::vector<Column> columns;  // in the order they were asked for
  std::size_t rows = 0;

  // The line of the file (1-based) on which a row starts. Usually row + 2; rows after a blank line or a
  // quoted line break are shifted by the amounts kept here, as (first row affected, total shift), ascending.
  std::vector<std::pair<std::size_t, std::size_t>> line_shifts;
  [[nodiscard]] std::size_t line_of(std::size_t row) const { return mlo::line_of(line_shifts, row); }
};

}  // namespace mlo
