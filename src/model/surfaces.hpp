// Copyright (c) the mlo authors. BSD-3-Clause.
// The row terms of families as surfaces over the predictor and the log of the second parameter.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <memory>

#include "mlo/model/surface.hpp"

namespace mlo {

[[nodiscard]] std::shared_ptr<const RowSurface> student_surface(double freedom, double log_sigma);
[[nodiscard]] std::shared_ptr<const RowSurface> gamma_surface(double log_shape);
// `largest`: no response is larger.
[[nodiscard]] std::shared_ptr<const RowSurface> negative_binomial_surface(double log_size, double largest);

// 1 / k!
inline constexpr auto inverse_factorials = [] {
  std::array<double, 24> out{1};
  for (std::size_t k = 1; k < out.size(); ++k) out[k] = out[k - 1] / static_cast<double>(k);
  return out;
}();

// e^x - sum_{k <= degree} x^k / k!, without cancellation; degree from -1 to 4.
[[nodiscard]] inline double exp_remainder(int degree, double x) noexcept {
  const double size = std::abs(x);
  if (size > 1) {
    double sum = 0, power = 1;
    for (int k = 0; k <= degree; ++k, power *= x)
      sum += power * inverse_factorials[static_cast<std::size_t>(k)];
    return std::exp(x) - sum;
  }
  // The terms that are left: as many as it takes to 1e-16 of the first of them.
  const auto first = static_cast<std::size_t>(degree) + 1, terms = std::size_t{size < 0.0625 ? 9U : 18U};
  double sum = 0, power = 1;
  for (std::size_t k = first + terms; k-- > first;) sum = sum * x + inverse_factorials[k];
  for (std::size_t k = 0; k < first; ++k) power *= x;
  return power * sum;
}

// The integral of (1 - s)^3 / 6 g(s) over [0, 1], by the Gauss-Jacobi rule with that many nodes, exact for
// polynomials g of degree 2 count - 1: remainders of degree 3 from fourth derivatives along a line.
template <std::size_t count>
struct LineRule {
  std::array<double, count> node, weight;
};
template <std::size_t count>
[[nodiscard]] const LineRule<count>& line_rule();  // for 3 and 8

}  // namespace mlo
