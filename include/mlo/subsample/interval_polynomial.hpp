// Copyright (c) the mlo authors. BSD-3-Clause.
// A function of one number as a polynomial over an interval about 0: for functions that take long to
// evaluate, are needed at every step of a chain and are smooth where the chain is.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

namespace mlo {

class IntervalPolynomial {
 public:
  // Covers nothing.
  IntervalPolynomial() = default;
  // Over |x| <= width, by interpolation in Chebyshev's points. Where no polynomial of degree 16 is within
  // `error` of f, it covers nothing: a kink, or an interval that is too wide.
  IntervalPolynomial(const std::function<double(double)>& f, double width, double error);

  [[nodiscard]] bool covers(double x) const noexcept { return std::abs(x) <= width_; }
  [[nodiscard]] double operator()(double x) const noexcept {
    double sum = 0;
    for (const double c : coefficients_) sum = sum * x + c;
    return sum;
  }

 private:
  double width_ = -1;
  std::vector<double> coefficients_;  // of powers of x, the highest first
};

}  // namespace mlo
