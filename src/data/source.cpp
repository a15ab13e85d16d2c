// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/source.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace mlo {

std::size_t Source::number(std::size_t row) const noexcept {
  const std::size_t first = unit == Unit::line ? 2 : 1;
  // While rows are being added, callers usually ask about the last one.
  if (shifts.empty()) return row + first;
  if (row >= shifts.back().first) return row + first + shifts.back().second;
  const auto after = std::upper_bound(shifts.begin(), shifts.end(), row,
                                      [](std::size_t r, const auto& entry) { return r < entry.first; });
  return row + first + (after == shifts.begin() ? 0 : std::prev(after)->second);
}

std::string Source::place(std::size_t row) const {
  return name + (unit == Unit::line ? ":" : ", row ") + std::to_string(number(row));
}

void Source::shift(std::size_t row, std::size_t by) {
  assert(shifts.empty() || shifts.back().first <= row);
  if (shifts.empty() || shifts.back().first != row) {
    shifts.emplace_back(row, shifts.empty() ? 0 : shifts.back().second);
  }
  shifts.back().second += by;
}

}  // namespace mlo
