// Copyright (c) the mlo authors. BSD-3-Clause.
#include "model/family_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "mlo/base/errors.hpp"
#include "mlo/base/special.hpp"

namespace mlo {

void refuse_response(const Design& design, std::size_t row, std::string_view rule) {
  throw DataError(design.file, design.line_of(row),
                  fmt::format("response \"{}\": {} (got {})", design.response, rule, design.y(row)));
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
    throw DataError(design.file,
                    fmt::format("response \"{}\": all {} rows are 0; a {} model needs some counts above 0",
                                design.response, design.rows, family));
}

void check_varies(const Design& design, std::string_view family) {
  for (std::size_t i = 1; i < design.rows; ++i)
    if (design.y(i) != design.y(0)) return;
  throw DataError(design.file,
                  fmt::format("response \"{}\": all {} rows are {}; a {} model needs values that differ",
                              design.response, design.rows, design.y(0), family));
}

double mean_response(const Design& design) {
  double sum = 0;
  for (std::size_t i = 0; i < design.rows; ++i) sum += design.y(i);
  return sum / static_cast<double>(design.rows);
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

bool negligible_scale(const Design& design, double aux) {
  // Residuals of 1e-12 of the response's size are rounding errors, not noise.
  double largest = 0;
  for (std::size_t i = 0; i < design.rows; ++i) largest = std::max(largest, std::abs(design.y(i)));
  return std::exp(aux) < 1e-12 * largest;
}

double log_factorial(double y) noexcept {
  // The small ones, which are nearly all, from a table.
  static const std::array<double, 256> table = [] {
    std::array<double, 256> t{};
    for (std::size_t k = 2; k < t.size(); ++k) t[k] = t[k - 1] + std::log(static_cast<double>(k));
    return t;
  }();
  if (y < static_cast<double>(table.size())) return table[static_cast<std::size_t>(y)];
  return log_gamma(y + 1);
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
