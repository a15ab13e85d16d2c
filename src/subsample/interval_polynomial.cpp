// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/interval_polynomial.hpp"

#include <algorithm>
#include <array>
#include <numbers>

namespace mlo {
namespace {

constexpr int degree = 16;
using ChebyshevTerms = std::array<double, degree + 1>;

// f(width cos(angle)) = sum of c_k cos(k angle), exact in degree + 1 points.
ChebyshevTerms chebyshev(const std::function<double(double)>& f, double width) {
  constexpr int points = degree + 1;
  ChebyshevTerms out{};
  for (int i = 0; i < points; ++i) {
    const double angle = std::numbers::pi * (i + 0.5) / points, value = f(width * std::cos(angle));
    for (int k = 0; k <= degree; ++k)
      out[static_cast<std::size_t>(k)] += (k == 0 ? 1.0 : 2.0) / points * value * std::cos(k * angle);
  }
  return out;
}

// The sum of c_k T_k(z), k <= last, as coefficients of the powers of z.
ChebyshevTerms powers(const ChebyshevTerms& c, int last) {
  ChebyshevTerms before{}, current{}, out{};  // T_(k-1) and T_k
  before[0] = 1;
  current[1] = 1;
  out[0] = c[0];
  for (int k = 1; k <= last; ++k) {
    ChebyshevTerms next{};
    for (int i = 0; i <= k; ++i) {
      const auto at = static_cast<std::size_t>(i);
      out[at] += c[static_cast<std::size_t>(k)] * current[at];
      if (k < last) {
        next[at + 1] += 2 * current[at];
        next[at] -= before[at];
      }
    }
    before = current;
    current = next;
  }
  return out;
}

}  // namespace

IntervalPolynomial::IntervalPolynomial(const std::function<double(double)>& f, double width, double error) {
  if (!(width > 0)) return;
  const ChebyshevTerms c = chebyshev(f, width);
  // |T_k| <= 1: what is left out is at most the sum of its coefficients.
  int last = degree;
  double left_out = 0;
  while (last > 1 && left_out + std::abs(c[static_cast<std::size_t>(last)]) < 0.25 * error)
    left_out += std::abs(c[static_cast<std::size_t>(last--)]);
  const ChebyshevTerms z = powers(c, last);
  double scale = 1;
  for (int k = 0; k <= last; ++k, scale /= width)
    coefficients_.push_back(z[static_cast<std::size_t>(k)] * scale);
  std::reverse(coefficients_.begin(), coefficients_.end());
  // Between the points, and at the ends. NaN fails.
  constexpr int checks = 200;
  for (int i = 0; i <= checks; ++i) {
    const double x = width * (2.0 * i / checks - 1);
    if (!(std::abs(f(x) - (*this)(x)) <= error)) {
      coefficients_.clear();
      return;
    }
  }
  width_ = width;
}

}  // namespace mlo
