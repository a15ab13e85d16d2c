// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/interval_polynomial.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mlo {
namespace {

TEST(IntervalPolynomial, IsWithinItsErrorOfASmoothFunction) {
  for (const double width : {1e-3, 0.05, 0.8})
    for (const double error : {1e-6, 1e-12}) {
      const auto f = [](double x) { return std::exp(x) - std::log(3 + x); };
      const IntervalPolynomial polynomial(f, width, error);
      for (int k = -1000; k <= 1000; ++k) {
        const double x = width * k / 1000;
        ASSERT_TRUE(polynomial.covers(x));
        ASSERT_NEAR(polynomial(x), f(x), error + 1e-15) << x;
      }
      EXPECT_FALSE(polynomial.covers(1.001 * width));
      EXPECT_FALSE(polynomial.covers(-1.001 * width));
      EXPECT_FALSE(polynomial.covers(std::numeric_limits<double>::quiet_NaN()));
    }
}

TEST(IntervalPolynomial, IsExactForPolynomials) {
  const IntervalPolynomial polynomial([](double x) { return 2 + x * (3 - x * x * x); }, 2, 1e-12);
  EXPECT_NEAR(polynomial(0), 2, 1e-13);
  EXPECT_NEAR(polynomial(-1.7), 2 - 1.7 * (3 + 1.7 * 1.7 * 1.7), 1e-12);
}

TEST(IntervalPolynomial, CoversNothingWhereNoPolynomialIsCloseEnough) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(IntervalPolynomial([](double x) { return std::abs(x - 0.1); }, 1, 1e-6).covers(0));
  EXPECT_FALSE(IntervalPolynomial([](double x) { return 1 / (1 + 100 * x * x); }, 1, 1e-6).covers(0));
  EXPECT_FALSE(IntervalPolynomial([](double x) { return std::log(0.5 + x); }, 1, 1e-6).covers(0));  // NaN
  EXPECT_FALSE(IntervalPolynomial([](double) { return 1.0; }, 0, 1e-6).covers(0));
  EXPECT_FALSE(IntervalPolynomial([](double) { return 1.0; }, infinity, 1e-6).covers(0));
  EXPECT_FALSE(IntervalPolynomial().covers(0));
}

}  // namespace
}  // namespace mlo
