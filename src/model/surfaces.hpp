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

// e^x - sum_{k <= degree} x^k / k!, without cancellation.
[[nodiscard]] inline double exp_remainder(int degree, double x) noexcept {
  if (std::abs(x) > 1) {
    double sum = 1, term = 1;
    for (int k = 1; k <= degree; ++k) sum += term *= x / k;
    return degree < 0 ? std::exp(x) : std::exp(x) - sum;
  }
  // The first term that is left times 1 + x / (degree + 2) (1 + x / (degree + 3) (1 + ...)).
  double tail = 1;
  for (int k = degree + 18; k > degree + 1; --k) tail = 1 + tail * x / k;
  double term = 1;
  for (int k = 1; k <= degree + 1; ++k) term *= x / k;
  return term * tail;
}

// The integral of (1 - s)^3 / 6 g(s) over [0, 1], by the Gauss-Legendre rule with eight nodes: remainders of
// degree 3 from fourth derivatives along a line.
struct LineRule {
  static constexpr std::size_t count = 8;
  std::array<double, count> node, weight;
};
[[nodiscard]] const LineRule& line_rule() noexcept;

}  // namespace mlo
