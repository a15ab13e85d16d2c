// Copyright (c) the mlo authors. BSD-3-Clause.
// cut(): numbers to intervals, as R defines it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mlo::breaks {

// A number that lies in no interval, or is NaN. The same value as Text::missing.
constexpr std::uint32_t outside = std::numeric_limits<std::uint32_t>::max();

struct Options {
  std::vector<double> breaks;  // one number: how many intervals; several: the break points, in any order
  std::optional<std::vector<std::string>> labels;  // default: made from the break points
  bool right = true;                               // intervals are (a, b]; otherwise [a, b)
  bool include_lowest = false;                     // the first is [a, b]; if not right, the last is
  double digits =
      3;  // R's dig.lab: significant digits of the labels, more if that makes two break points look equal
};

// What a run keeps. points.size() == labels.size() + 1.
struct State {
  std::vector<double> points;  // ascending; the ends may be infinite
  std::vector<std::string> labels;
  bool right = true;
  bool include_lowest = false;
};

// `x`: the values of the column without NaN; looked at only if a number of intervals is given. The intervals
// are then of equal width over the range, whose ends are moved out by 0.1 % of it. Throws UsageError: a
// number of intervals that is not whole or is not between 2 and 10,000; fewer than 2 break points; break
// points that are NaN or equal; not as many labels as intervals, equal labels; no values or infinite ones
// where the range is needed.
[[nodiscard]] State learn(std::span<const double> x, const Options& options);

// The number of its interval for each value, 0-based, or `outside`. Throws DataError for a damaged state.
void apply(const State& state, std::span<const double> x, std::span<std::uint32_t> codes);

}  // namespace mlo::breaks
