// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/source.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace mlo {
namespace {

std::size_t first_number(Source::Unit unit) noexcept { return unit == Source::Unit::line ? 2 : 1; }

}  // namespace

std::size_t Source::number(std::size_t row) const noexcept {
  const std::size_t first = first_number(unit);
  // While rows are being added, callers usually ask about the last one.
  if (shifts.empty()) return row + first;
  if (row >= shifts.back().first) return row + first + shifts.back().second;
  const auto after = std::upper_bound(shifts.begin(), shifts.end(), row,
                                      [](std::size_t r, const auto& entry) { return r < entry.first; });
  return row + first + (after == shifts.begin() ? 0 : std::prev(after)->second);
}

std::string Source::place(std::size_t row) const {
  const auto words = [](const std::string& file, Unit its_unit, std::size_t its_number) {
    return file + (its_unit == Unit::line ? ":" : ", row ") + std::to_string(its_number);
  };
  const std::size_t place = number(row);
  if (parts.empty()) return words(name, unit, place);
  const auto after = std::lower_bound(parts.begin(), parts.end(), place,
                                      [](const Part& part, std::size_t n) { return part.before < n; });
  const Part& part = *std::prev(after);  // the first part has the numbers after 0
  return words(part.name, part.unit, place - part.before);
}

void Source::shift(std::size_t row, std::size_t by) {
  assert(shifts.empty() || shifts.back().first <= row);
  if (shifts.empty() || shifts.back().first != row) {
    shifts.emplace_back(row, shifts.empty() ? 0 : shifts.back().second);
  }
  shifts.back().second += by;
}

Source joined(std::string name, std::span<const std::pair<Source, std::size_t>> sources) {
  assert(!sources.empty());
  Source out{.name = std::move(name), .unit = Source::Unit::row};
  std::size_t before = 0, start = 0;  // the last number and the rows of the files so far
  for (const auto& [source, rows] : sources) {
    assert(source.parts.empty());
    out.parts.push_back({before, source.name, source.unit});
    // A row has the number `before` plus its own, which is at least its position in the file plus
    // first_number: so shifts never go back.
    const std::size_t base = before + first_number(source.unit) - start - first_number(out.unit);
    const auto shift_to = [&](std::size_t row, std::size_t total) {
      const std::size_t now = out.shifts.empty() ? 0 : out.shifts.back().second;
      if (total > now) out.shift(row, total - now);
    };
    if (rows > 0) shift_to(start, base);
    for (const auto& [row, total] : source.shifts)
      if (row < rows) shift_to(start + row, base + total);
    if (rows > 0) before += source.number(rows - 1);
    start += rows;
  }
  return out;
}

}  // namespace mlo
