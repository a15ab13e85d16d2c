// Copyright (c) the mlo authors. BSD-3-Clause.
#include "model/family_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "mlo/base/errors.hpp"
#include "mlo/base/special.hpp"

namespace mlo {

void refuse_response(const Design& design, std::size_t row, std::string_view rule, std::string_view remedy) {
  throw DataError(design.place(row), fmt::format("response \"{}\": {} (got {}){}{}", design.response, rule,
                                                 design.y(row), remedy.empty() ? "" : "; ", remedy));
}

void check_binary(const Design& design, std::string_view family) {
  bool zero = false, one = false;
  for (std::size_t i = 0; i < design.rows; ++i) {
    const double y = design.y(i);
    if (design.shares ? !(y >= 0 && y <= 1) : y != 0 && y != 1)
      refuse_response(
          design, i,
          design.shares ? "a share of trials must be from 0 to 1"
                        : fmt::format("a {} model needs 0 or 1", family),
          design.shares
              ? ""
              : "`family gaussian` is for any number, `family poisson` for counts, `family softmax` for classes");
    zero = zero || y < 1;
    one = one || y > 0;
  }
  if (!zero || !one)
    throw DataError(design.source.name,
                    fmt::format("response \"{}\": all {} rows are {}; a {} model needs both 0 and 1",
                                design.response, design.rows, zero ? 0 : 1, family));
}

void check_counts(const Design& design, std::string_view family) {
  bool positive = false;
  for (std::size_t i = 0; i < design.rows; ++i) {
    const double y = design.y(i);
    if (y < 0 || y != std::floor(y))
      refuse_response(design, i, fmt::format("a {} model needs counts 0, 1, 2, ...", family));
    positive = positive || y > 0;
  }
  if (!positive)
    throw DataError(design.source.name,
                    fmt::format("response \"{}\": all {} rows are 0; a {} model needs some counts above 0",
                                design.response, design.rows, family));
}

void check_varies(const Design& design, std::string_view family) {
  for (std::size_t i = 1; i < design.rows; ++i)
    if (design.y(i) != design.y(0)) return;
  throw DataError(design.source.name,
                  fmt::format("response \"{}\": all {} rows are {}; a {} model needs values that differ",
                              design.response, design.rows, design.y(0), family));
}

double mean_response(const Design& design) {
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < design.rows; ++i) {
    sum += design.weight(i) * design.y(i);
    weight += design.weight(i);
  }
  return sum / weight;
}

ResponseScale plain_scale(const Design& design) {
  double n = static_cast<double>(design.rows);
  if (design.has_weight) {
    n = 0;
    for (std::size_t i = 0; i < design.rows; ++i) n += design.weight(i);
  }
  double mean = 0, squares = 0;
  for (std::size_t i = 0; i < design.rows; ++i) mean += design.weight(i) * (design.y(i) / n);
  for (std::size_t i = 0; i < design.rows; ++i)
    squares += design.weight(i) * ((design.y(i) - mean) * (design.y(i) - mean));
  const double sd = std::sqrt(squares / std::max(1.0, n - 1));
  return {mean, sd > 0 ? sd : 1};
}

ResponseScale robust_scale(const Design& design) {
  std::vector<double> y(design.rows);
  for (std::size_t i = 0; i < design.rows; ++i) y[i] = design.y(i);
  const RobustSpread spread = robust_spread(std::move(y));
  return {spread.centre, spread.scale > 0 ? spread.scale : 1};
}

StartingPoint start_at(const Design& design, double eta) {
  StartingPoint point;
  point.coefficients.assign(design.dim, 0.0);
  double offsets = 0;
  if (design.has_offset)
    for (std::size_t i = 0; i < design.rows; ++i) offsets += design.offset(i);
  if (design.intercept) point.coefficients[0] = eta - offsets / static_cast<double>(design.rows);
  return point;
}

bool binary_recedes(std::span<const double> y, std::span<const double> t, double tolerance) noexcept {
  for (std::size_t k = 0; k < y.size(); ++k) {
    if (y[k] > 0 && !(t[k] >= -tolerance)) return false;
    if (y[k] < 1 && !(t[k] <= tolerance)) return false;
  }
  return true;
}

bool counts_recede(std::span<const double> y, std::span<const double> t, double tolerance) noexcept {
  for (std::size_t k = 0; k < y.size(); ++k)
    if (!(y[k] > 0 ? t[k] >= -tolerance && t[k] <= tolerance : t[k] <= tolerance)) return false;
  return true;
}

bool negligible_scale(const Design& design, double log_scale) {
  // Residuals of 1e-12 of the response's size are rounding errors, not noise.
  double largest = 0;
  for (std::size_t i = 0; i < design.rows; ++i) largest = std::max(largest, std::abs(design.y(i)));
  return std::exp(log_scale) < 1e-12 * largest;
}

double log_factorial(double y) noexcept {
  // Small counts, the vast majority, come from a table.
  static const std::array<double, 256> table = [] {
    std::array<double, 256> t{};
    for (std::size_t k = 2; k < t.size(); ++k) t[k] = t[k - 1] + std::log(static_cast<double>(k));
    return t;
  }();
  if (y < static_cast<double>(table.size())) return table[static_cast<std::size_t>(y)];
  return log_gamma(y + 1);
}

std::optional<double> stated(const FamilyNumbers& numbers, std::string_view name) {
  const auto at = numbers.find(name);
  return at == numbers.end() ? std::nullopt : std::optional(at->second);
}

double number(const FamilyNumbers& numbers, std::string_view name) { return stated(numbers, name).value(); }

double draw_count(Stream& stream, double log_rate) {
  if (!(log_rate < 34))  // e^34 = 6e14: larger counts are not whole numbers in double precision
    throw UsageError(fmt::format(
        "`intercept` and `coefficients` give a row the rate e^{:.4g}, which is too large for a count",
        log_rate));
  return static_cast<double>(poisson(stream, std::exp(log_rate)));
}

RobustSpread robust_spread(std::vector<double> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  const auto median = [&] {
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  };
  RobustSpread spread;
  spread.centre = median();
  double sum = 0;
  for (double& v : values) {
    v = std::abs(v - spread.centre);
    sum += v;
  }
  spread.scale = 1.4826 * median();
  if (!(spread.scale > 0)) spread.scale = sum / static_cast<double>(values.size());
  return spread;
}

}  // namespace mlo
