// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/breaks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string_view>

#include "mlo/base/errors.hpp"
#include "mlo/base/text.hpp"

namespace mlo::breaks {
namespace {

constexpr double most_intervals = 10'000;
constexpr int most_digits = 12;

std::vector<double> equal_widths(std::span<const double> x, double number) {
  if (!(number >= 2 && number <= most_intervals && std::floor(number) == number)) {
    throw UsageError(fmt::format(
        "cut(): the number of intervals must be a whole number between 2 and {} (got {}); for break points write "
        "c(...) with at least two of them",
        grouped(static_cast<std::uint64_t>(most_intervals)), number));
  }
  if (x.empty()) throw UsageError("cut(): there are no values: all are missing");
  const auto [smallest, largest] = std::minmax_element(x.begin(), x.end());
  double low = *smallest, high = *largest;
  if (!std::isfinite(low) || !std::isfinite(high)) {
    throw UsageError(fmt::format("cut(): all values must be finite to choose {} intervals (got {})", number,
                                 std::isfinite(low) ? high : low));
  }
  double width = high - low;
  if (!std::isfinite(width)) throw UsageError("cut(): the range of the values is too large for a double");
  const bool constant = width == 0;
  if (constant) {  // R: intervals around the one value
    width = low == 0 ? 1 : std::fabs(low);
    low -= width / 1000;
    high += width / 1000;
  }
  const auto count = static_cast<std::size_t>(number);
  const double step = (high - low) / number;
  std::vector<double> points(count + 1);
  for (std::size_t k = 0; k < count; ++k) points[k] = low + static_cast<double>(k) * step;
  points[count] = high;
  if (!constant) {
    points[0] = low - width / 1000;
    points[count] = high + width / 1000;
  }
  return points;
}

std::string point_text(double point, int digits) {
  if (std::isinf(point)) return point > 0 ? "Inf" : "-Inf";
  return fmt::format("{:.{}g}", point + 0.0, digits);  // + 0.0: -0 is written as 0
}

// With as few digits as make neighbouring points look different, but at least `digits`; if 12 are not enough,
// Range_1, Range_2, ..., as in R.
std::vector<std::string> interval_labels(const State& state, int digits) {
  const std::size_t count = state.points.size() - 1;
  std::vector<std::string> text(count + 1), labels(count);
  // R pads the infinite points to one width: "(1, Inf]" where there is a -Inf too.
  const bool padded = std::isinf(state.points[0]);
  bool differ = false;
  for (int d = digits; !differ && d <= std::max(digits, most_digits); ++d) {
    for (std::size_t k = 0; k <= count; ++k) text[k] = point_text(state.points[k], d);
    if (padded && text[count] == "Inf") text[count] = " Inf";
    differ = std::adjacent_find(text.begin(), text.end()) == text.end();
  }
  for (std::size_t k = 0; k < count; ++k) {
    if (!differ) {
      labels[k] = fmt::format("Range_{}", k + 1);
      continue;
    }
    const bool closed_left = !state.right || (state.include_lowest && k == 0);
    const bool closed_right = state.right || (state.include_lowest && k + 1 == count);
    labels[k] =
        fmt::format("{}{},{}{}", closed_left ? '[' : '(', text[k], text[k + 1], closed_right ? ']' : ')');
  }
  return labels;
}

}  // namespace

State learn(std::span<const double> x, const Options& options) {
  State state{.points = options.breaks,
              .labels = {},
              .right = options.right,
              .include_lowest = options.include_lowest};
  if (!(options.digits >= 1 && options.digits <= 17 && std::floor(options.digits) == options.digits)) {
    throw UsageError(
        fmt::format("cut(): dig.lab must be a whole number between 1 and 17 (got {})", options.digits));
  }
  if (state.points.empty()) {
    throw UsageError("cut(): breaks must be a number of intervals or at least two break points (got none)");
  }
  if (state.points.size() == 1) {
    state.points = equal_widths(x, options.breaks[0]);
  } else {
    for (const double point : state.points) {
      if (std::isnan(point))
        throw UsageError(fmt::format("cut(): a break point must be a number (got {})", point));
    }
    std::sort(state.points.begin(), state.points.end());
  }
  if (const auto same = std::adjacent_find(state.points.begin(), state.points.end());
      same != state.points.end()) {
    throw UsageError(fmt::format("cut(): break points must be different (got {} twice)", *same));
  }
  const std::size_t count = state.points.size() - 1;
  if (!options.labels) {
    state.labels = interval_labels(state, static_cast<int>(options.digits));
    return state;
  }
  state.labels = *options.labels;
  if (state.labels.size() != count) {
    throw UsageError(
        fmt::format("cut(): there must be one label per interval, {} (got {})", count, state.labels.size()));
  }
  std::vector<std::string_view> sorted(state.labels.begin(), state.labels.end());
  std::sort(sorted.begin(), sorted.end());
  if (const auto same = std::adjacent_find(sorted.begin(), sorted.end()); same != sorted.end()) {
    throw UsageError(fmt::format("cut(): labels must be different (got \"{}\" twice)", *same));
  }
  return state;
}

void apply(const State& state, std::span<const double> x, std::span<std::uint32_t> codes) {
  assert(codes.size() == x.size());
  const std::vector<double>& points = state.points;
  if (points.size() < 2 || state.labels.size() + 1 != points.size() ||
      std::adjacent_find(points.begin(), points.end(), [](double a, double b) { return !(a < b); }) !=
          points.end()) {
    throw DataError("the state of cut() in this run is damaged; fit the model again");
  }
  const auto first = points.begin(), last = points.end();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = x[i];
    std::uint32_t code = outside;
    if (value >= points.front() && value <= points.back()) {  // false for NaN
      // (a, b]: a is the last point below the value. [a, b): the last point not above it.
      const auto above =
          state.right ? std::lower_bound(first, last, value) : std::upper_bound(first, last, value);
      if (above == first) {  // right, and value is the lowest point
        if (state.include_lowest) code = 0;
      } else if (above == last) {  // not right, and value is the highest point
        if (state.include_lowest) code = static_cast<std::uint32_t>(points.size() - 2);
      } else {
        code = static_cast<std::uint32_t>(above - first - 1);
      }
    }
    codes[i] = code;
  }
}

}  // namespace mlo::breaks
