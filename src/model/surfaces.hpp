// Copyright (c) the mlo authors. BSD-3-Clause.
// The row terms of families as surfaces over the predictor and the log of the second parameter.
#pragma once

#include <algorithm>
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
[[nodiscard]] std::shared_ptr<const RowSurface> zero_inflated_poisson_surface(double logit_zi);
// `largest`: the outcome with the most trials.
[[nodiscard]] std::shared_ptr<const RowSurface> beta_binomial_surface(double log_phi, double largest);

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

// Derivatives d^j/dt^j d^k/du^k of one order n = j + k, by j; and what they make of a direction (t, u): the
// n-th derivative along it.
template <std::size_t n>
using DerivativesOf = std::array<double, n + 1>;
template <std::size_t n>
[[nodiscard]] double along(const DerivativesOf<n>& f, double t, double u) noexcept {
  double sum = 0, choose = 1, power = 1;  // by Horner's rule in t, from the highest power on
  std::array<double, n + 1> u_powers{};
  for (std::size_t k = 0; k <= n; ++k, power *= u) u_powers[k] = power;
  power = 1;
  for (std::size_t j = 0; j <= n; ++j, power *= t) {
    sum += choose * f[j] * power * u_powers[n - j];
    choose *= static_cast<double>(n - j) / static_cast<double>(j + 1);
  }
  return sum;
}

// The bounds of an order's monomials from bounds on derivatives of one order more: a derivative is nowhere in
// the box further from its value at the centre than the box is wide, times these. `crude` are bounds on the
// derivatives themselves. All by order - 3: `centre` of 3 and 4, `crude` of 3, 4 and 5.
struct SurfaceBounds {
  DerivativesOf<3> centre3{};
  DerivativesOf<4> centre4{};
  DerivativesOf<3> crude3{};
  DerivativesOf<4> crude4{};
  DerivativesOf<5> crude5{};

  [[nodiscard]] double operator()(const Monomial& m, double reach, double width) const noexcept {
    const auto j = static_cast<std::size_t>(m.j);
    if (m.j + m.k == 3)
      return std::min(crude3[j], std::abs(centre3[j]) + reach * crude4[j + 1] + width * crude4[j]);
    return std::min(crude4[j], std::abs(centre4[j]) + reach * crude5[j + 1] + width * crude5[j]);
  }
};

}  // namespace mlo
