// Copyright (c) the mlo authors. BSD-3-Clause.
// Remainders against their integral form in long double, which does not cancel:
//   d(t) = t^(k+1) / k! * integral over 0..1 of (1 - u)^k f^(k+1)(e + u t) du.
#include "mlo/model/curve.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace mlo {
namespace {

using Long = long double;

// f''' and f'''' written out, independently of the Taylor coefficients that the library uses.
Long exact(const SoftplusCurve&, int k, Long x) {
  const Long s = 1 / (1 + std::exp(-x)), q = 1 / (1 + std::exp(x)), a = s * q;
  return k == 3 ? -a * (q - s) : -a * (1 - 6 * a);
}
Long exact(const ExpCurve&, int, Long x) { return -std::exp(x); }
Long exact(const StudentCurve& c, int k, Long x) {
  const Long nu = c.freedom, q = nu + x * x;
  return k == 3 ? -(nu + 1) * 2 * x * (x * x - 3 * nu) / (q * q * q)
                : (nu + 1) * 6 * (x * x * x * x - 6 * nu * x * x + nu * nu) / (q * q * q * q);
}
Long exact(const LogPhiCurve&, int k, Long z) {
  const Long root2 = std::sqrt(static_cast<Long>(2));
  const Long density = std::exp(-z * z / 2) / std::sqrt(2 * std::acos(static_cast<Long>(-1)));
  const Long m = density / (std::erfc(-z / root2) / 2), s = z + m;
  if (k == 3) return m * (s * s + m * s - 1);
  const Long ds = 1 - m * s;
  return -m * s * (s * s + m * s - 1) + m * (2 * s * ds - m * s * s + m * ds);
}

template <class C>
Long integral(const C& curve, int order, Long e, Long t) {
  // Simpson's rule on 2000 intervals: the integrand is analytic on a scale of 1, so its error is below 1e-13.
  constexpr int n = 2000;
  Long sum = 0;
  for (int i = 0; i <= n; ++i) {
    const Long u = static_cast<Long>(i) / n;
    const int weight = i == 0 || i == n ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight * std::pow(1 - u, static_cast<Long>(order)) * exact(curve, order + 1, e + u * t);
  }
  const Long factorial = order == 2 ? 2 : 6;
  return std::pow(t, static_cast<Long>(order + 1)) / factorial * sum / (3 * n);
}

template <int order, class C>
void expect_remainders(const C& curve, const std::vector<double>& centres, const char* name) {
  for (const double e : centres)
    for (double size = 1e-8; size < 4; size *= std::sqrt(10.0))
      for (const double t : {size, -size}) {
        const Long reference = integral(curve, order, e, t);
        const double leading = supremum(curve, order + 1, e, std::abs(t)) * std::pow(std::abs(t), order + 1) /
                               (order == 2 ? 6 : 24);
        EXPECT_NEAR(remainder<order>(curve, e, t), static_cast<double>(reference), 2e-7 * leading)
            << name << ": order " << order << ", e = " << e << ", t = " << t;
        EXPECT_LE(std::abs(static_cast<double>(reference)), leading * (1 + 1e-9))
            << name << " " << e << " " << t;
      }
}

template <class C>
void expect_both(const C& curve, const std::vector<double>& centres, const char* name) {
  expect_remainders<2>(curve, centres, name);
  expect_remainders<3>(curve, centres, name);
}

TEST(Remainder, AgreesWithLongDoubleDownToTinySteps) {
  expect_both(SoftplusCurve{}, {-12, -3, -1.3, 0, 0.4, 2.2, 15}, "softplus");
  expect_both(LogPhiCurve{}, {-4.8, -2, 0, 0.9, 3}, "log Phi");
  expect_both(ExpCurve{}, {0, -2, 1.5}, "exp");
  expect_both(StudentCurve(4), {-7, -1, 0, 0.8, 3}, "student 4");
  expect_both(StudentCurve(1), {-3, 0, 0.5, 20}, "student 1");
}

// Far out the terms of log Phi are those of -z^2/2 - log|z| + ...: f''' = 2 / |z|^3 (1 - 9 / z^2 + O(z^-4)).
TEST(Remainder, OfLogPhiHoldsInTheFarTail) {
  for (const double z : {-10.0, -20.0, -35.0}) {
    const double series = 2 / std::pow(-z, 3);
    EXPECT_NEAR(LogPhiCurve{}.derivative(3, z) / series, 1, 20 / (z * z));
    EXPECT_NEAR(remainder<2>(LogPhiCurve{}, z, 1e-3) / (LogPhiCurve{}.derivative(3, z) * 1e-9 / 6), 1, 1e-3);
  }
}

template <class C>
void expect_suprema(const C& curve, const char* name) {
  for (const int k : {3, 4})
    for (double e = -6; e <= 6; e += 0.37)
      for (const double radius : {0.01, 0.5, 1.7, 4.0}) {
        double largest = 0;
        for (int i = 0; i <= 4000; ++i)
          largest = std::max(largest, std::abs(static_cast<double>(exact(
                                          curve, k, static_cast<Long>(e + radius * (i / 2000.0 - 1))))));
        const double sup = supremum(curve, k, e, radius);
        EXPECT_GE(sup, largest * (1 - 1e-9)) << name << " " << k << " at " << e << " +- " << radius;
        EXPECT_LE(sup, largest * (1 + 1e-4)) << name << " " << k << " at " << e << " +- " << radius;
      }
}

TEST(Supremum, IsThatOfAFineGrid) {
  expect_suprema(SoftplusCurve{}, "softplus");
  expect_suprema(LogPhiCurve{}, "log Phi");
  expect_suprema(ExpCurve{}, "exp");
  expect_suprema(StudentCurve(4), "student 4");
  expect_suprema(StudentCurve(1.5), "student 1.5");
}

// The third derivative of softplus is largest where its fourth is 0: sqrt(3)/18 in closed form.
TEST(Supremum, OfSoftplusHasItsClosedForm) {
  EXPECT_NEAR(supremum(SoftplusCurve{}, 3, 0, 50), std::sqrt(3.0) / 18, 1e-14);
  EXPECT_NEAR(supremum(SoftplusCurve{}, 4, 0, 50), 0.125, 1e-14);
}

}  // namespace
}  // namespace mlo
