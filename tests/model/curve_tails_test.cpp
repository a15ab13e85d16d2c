// Copyright (c) the mlo authors. BSD-3-Clause.
// Remainders and suprema far out, to |e| = 1e6, where the values of f are 1e20 times its remainders.
// The references are in long double and do not cancel: short steps by the integral form
//   d(t) = t^(k+1) / k! * integral over 0..1 of (1 - u)^k f^(k+1)(e + u t) du,
// long ones by subtraction, from a function that differs from f by a polynomial of degree 2 at most.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "mlo/model/curve.hpp"
#include "mlo/model/family.hpp"

namespace mlo {
namespace {

using Long = long double;

// The bound that curve.hpp states for the error of a remainder, relative to its own bound.
constexpr double stated = 3e-7;

const Long pi = std::acos(static_cast<Long>(-1));
const Long root2 = std::sqrt(static_cast<Long>(2));

// Nodes and weights on [0, 1], by Newton's method on the Legendre polynomial.
struct GaussRule {
  static constexpr int count = 16;
  std::array<Long, count> node{}, weight{};
  GaussRule() {
    for (int i = 0; i < count; ++i) {
      Long x = std::cos(pi * (i + static_cast<Long>(0.75)) / (count + static_cast<Long>(0.5))), slope = 0;
      for (int iteration = 0; iteration < 20; ++iteration) {
        Long before = 1, here = x;
        for (int k = 2; k <= count; ++k) {
          const Long next = ((2 * k - 1) * x * here - (k - 1) * before) / k;
          before = here;
          here = next;
        }
        slope = count * (x * here - before) / (x * x - 1);
        x -= here / slope;
      }
      const auto at = static_cast<std::size_t>(i);
      node[at] = (1 + x) / 2;
      weight[at] = 1 / ((1 - x * x) * slope * slope);
    }
  }
};

// ---- For each curve: f''' and f'''', f up to a polynomial of degree 2 that suits e, and the length on which
// f'''(e + t) changes.

Long derivative(const SoftplusCurve&, int k, Long x) {
  const Long s = 1 / (1 + std::exp(-x)), q = 1 / (1 + std::exp(x)), a = s * q;
  return k == 3 ? -a * (q - s) : -a * (1 - 6 * a);
}
Long value(const SoftplusCurve&, Long e, Long x) {  // f or f + x, whichever is small at e
  return e < 0 ? -std::max(x, static_cast<Long>(0)) - std::log1p(std::exp(-std::abs(x)))
               : std::min(x, static_cast<Long>(0)) - std::log1p(std::exp(-std::abs(x)));
}
Long length(const SoftplusCurve&, Long) { return 1; }

Long derivative(const ExpCurve&, int, Long x) { return -std::exp(x); }
Long value(const ExpCurve&, Long, Long x) { return -std::exp(x); }
Long length(const ExpCurve&, Long) { return 1; }

Long derivative(const StudentCurve& c, int k, Long x) {
  const Long nu = c.freedom, q = nu + x * x;
  return k == 3 ? -(nu + 1) * 2 * x * (x * x - 3 * nu) / (q * q * q)
                : (nu + 1) * 6 * (x * x * x * x - 6 * nu * x * x + nu * nu) / (q * q * q * q);
}
Long value(const StudentCurve& c, Long, Long x) {
  return -(c.freedom + static_cast<Long>(1)) / 2 * std::log1p(x * x / c.freedom);
}
Long length(const StudentCurve& c, Long e) { return std::sqrt(c.freedom + e * e); }

// log Phi(z) = -z^2 / 2 - log(2 pi) / 2 + log R(z), R(z) the integral of e^(zu - u^2/2) over u > 0. So the
// derivatives of log R are the cumulants of the law with that density: sums of positive terms, or nearly.
struct Cumulants {
  Long log_r, mean, second, third, fourth;
};
struct HalfLineRule {  // v = e^(y - e^-y): the trapezoidal rule in y is good to 1e-17
  std::array<Long, 80> node{}, weight{};
  HalfLineRule() {
    for (std::size_t i = 0; i < node.size(); ++i) {
      const Long step = 0.125L, y = step * (static_cast<Long>(i) - 40);
      node[i] = std::exp(y - std::exp(-y));
      weight[i] = step * node[i] * (1 + std::exp(-y));
    }
  }
};
Cumulants cumulants(Long z) {
  static const HalfLineRule rule;
  const Long unit = std::max(static_cast<Long>(1), -z);  // u = v / unit
  std::array<Long, 80> density;
  Long mass = 0, first = 0;
  for (std::size_t i = 0; i < density.size(); ++i) {
    const Long u = rule.node[i] / unit;
    density[i] = std::exp(z * u - u * u / 2) * rule.weight[i] / unit;
    mass += density[i];
    first += density[i] * u;
  }
  const Long mean = first / mass;
  Long c2 = 0, c3 = 0, c4 = 0;
  for (std::size_t i = 0; i < density.size(); ++i) {
    const Long d = rule.node[i] / unit - mean, w = density[i];
    c2 += w * d * d;
    c3 += w * d * d * d;
    c4 += w * d * d * d * d;
  }
  c2 /= mass;
  return {std::log(mass), mean, c2, c3 / mass, c4 / mass - 3 * c2 * c2};
}

Long derivative(const LogPhiCurve&, int k, Long z) {
  if (z < 0) return k == 3 ? cumulants(z).third : cumulants(z).fourth;
  const Long m = std::exp(-z * z / 2) / std::sqrt(2 * pi) / (std::erfc(-z / root2) / 2), s = z + m;
  if (k == 3) return m * (s * s + m * s - 1);
  const Long ds = 1 - m * s;
  return -m * s * (s * s + m * s - 1) + m * (2 * s * ds - m * s * s + m * ds);
}
Long value(const LogPhiCurve&, Long e, Long z) {  // without -z^2/2 where e < 0
  const Long constant = std::log(2 * pi) / 2;
  const Long square = z * z / 2;
  if (z > 0) return std::log1p(-std::erfc(z / root2) / 2) + (e < 0 ? constant + square : 0);
  return cumulants(z).log_r - (e < 0 ? 0 : constant + square);
}
Long length(const LogPhiCurve&, Long e) { return e < 0 ? std::max(static_cast<Long>(1), -e) : 1 / (1 + e); }

// f'(e) and f''(e) of value(), for the subtraction.
std::array<Long, 2> slopes(const SoftplusCurve&, Long e) {
  const Long s = 1 / (1 + std::exp(-e)), q = 1 / (1 + std::exp(e));
  return {e < 0 ? -s : q, -s * q};
}
std::array<Long, 2> slopes(const ExpCurve&, Long e) { return {-std::exp(e), -std::exp(e)}; }
std::array<Long, 2> slopes(const LogPhiCurve&, Long e) {
  if (e < 0) {
    const Cumulants c = cumulants(e);
    return {c.mean, c.second};
  }
  const Long m = std::exp(-e * e / 2) / std::sqrt(2 * pi) / (std::erfc(-e / root2) / 2);
  return {m, -m * (e + m)};
}
std::array<Long, 2> slopes(const StudentCurve& c, Long e) {
  const Long nu = c.freedom, q = nu + e * e;
  return {-(nu + 1) * e / q, -(nu + 1) * (nu - e * e) / (q * q)};
}

template <class C>
Long reference(const C& curve, int order, Long e, Long t) {
  if (std::abs(t) > length(curve, e) / 2) {
    const auto [first, second] = slopes(curve, e);
    const Long cubic = order == 3 ? derivative(curve, 3, e) / 6 : 0;
    return value(curve, e, e + t) - value(curve, e, e) - t * (first + t * (second / 2 + t * cubic));
  }
  static const GaussRule rule;
  Long sum = 0;
  for (std::size_t i = 0; i < rule.node.size(); ++i)
    sum += rule.weight[i] * std::pow(1 - rule.node[i], static_cast<Long>(order)) *
           derivative(curve, order + 1, e + rule.node[i] * t);
  return std::pow(t, static_cast<Long>(order + 1)) / (order == 2 ? 2 : 6) * sum;
}

// ---- The grids.

// 0 and both signs from 1e-3 on: `per_decade` points in each power of 10.
std::vector<double> centres(double largest, int per_decade) {
  std::vector<double> out{0};
  for (int i = -3 * per_decade; std::pow(10.0, static_cast<double>(i) / per_decade) <= largest * 1.001; ++i)
    for (const int sign : {-1, 1}) out.push_back(sign * std::pow(10.0, static_cast<double>(i) / per_decade));
  return out;
}

struct Worst {
  double value = 0, e = 0, t = 0;
  void take(double candidate, double at, double step) {
    if (!(candidate <= value)) *this = {candidate, at, step};
  }
};

// Below this, denormal numbers have fewer digits.
constexpr double tiny = 1e-290;

template <int order, class C>
void expect_remainders(const C& curve, const std::vector<double>& at, double longest, const char* name) {
  Worst error, ratio;
  for (const double e : at) {
    std::vector<double> sizes;
    for (double size = 1e-12; size < longest; size *= std::sqrt(10.0)) sizes.push_back(size);
    for (const double share : {0.9, 0.999999, 1.000001, 1.1})  // about the switch
      sizes.push_back(share * series_share * curve.convergence(e));
    for (const double size : sizes)
      for (const double t : {size, -size}) {
        const double bound =
            supremum(curve, order + 1, e, size) * std::pow(size, order + 1) / (order == 2 ? 6 : 24);
        const double d = remainder<order>(curve, e, t);
        const Long truth = reference(curve, order, e, t);
        if (bound < tiny) {
          EXPECT_LT(std::abs(d), 2 * tiny);
          continue;
        }
        error.take(static_cast<double>(std::abs(d - truth)) / bound, e, t);
        ratio.take(std::abs(d) / bound, e, t);
      }
  }
  EXPECT_LT(error.value, stated) << name << ", order " << order << ", e = " << error.e << ", t = " << error.t;
  EXPECT_LT(ratio.value, 1 + stated) << name << ", order " << order << ", e = " << ratio.e
                                     << ", t = " << ratio.t;
}

template <class C>
void expect_both(const C& curve, const std::vector<double>& at, double longest, const char* name) {
  expect_remainders<2>(curve, at, longest, name);
  expect_remainders<3>(curve, at, longest, name);
}

TEST(RemainderInTheTails, OfSoftplusKeepsItsDigits) {
  expect_both(SoftplusCurve{}, centres(1e6, 7), 1e7, "softplus");
}
TEST(RemainderInTheTails, OfLogPhiKeepsItsDigits) {
  expect_both(LogPhiCurve{}, centres(1e6, 9), 1e7, "log Phi");
}
TEST(RemainderInTheTails, OfTheExponentialKeepsItsDigits) {
  expect_both(ExpCurve{}, centres(100, 7), 100, "exp");
}
TEST(RemainderInTheTails, OfStudentsLawKeepsItsDigits) {
  for (const double freedom : {0.1, 1.0, 4.0, 30.0, 1e4})
    expect_both(StudentCurve(freedom), centres(1e6, 7), 1e7, "student");
}

// The largest of many values of |f^(k)|: no more than the supremum, and not much less.
template <class C>
void expect_suprema(const C& curve, const std::vector<double>& at, const char* name) {
  for (const int k : {3, 4}) {
    Worst low, high;
    for (const double e : at)
      for (const double share : {1e-6, 0.1, 0.5}) {
        const auto radius = static_cast<double>(length(curve, e)) * share;
        Long largest = 0;
        for (int i = -50; i <= 50; ++i)
          largest =
              std::max(largest, std::abs(derivative(curve, k, e + radius * (static_cast<Long>(i) / 50))));
        if (largest < static_cast<Long>(tiny)) continue;
        const double sup = supremum(curve, k, e, radius);
        low.take(static_cast<double>(1 - sup / largest), e, radius);
        high.take(static_cast<double>(sup / largest - 1), e, radius);
      }
    EXPECT_LT(low.value, 1e-8) << name << ", derivative " << k << " at " << low.e << " +- " << low.t;
    EXPECT_LT(high.value, 1e-2) << name << ", derivative " << k << " at " << high.e << " +- " << high.t;
  }
}

TEST(SupremumInTheTails, IsAnUpperBound) {
  expect_suprema(SoftplusCurve{}, centres(1e6, 7), "softplus");
  expect_suprema(LogPhiCurve{}, centres(1e6, 9), "log Phi");
  expect_suprema(ExpCurve{}, centres(100, 7), "exp");
  for (const double freedom : {0.1, 1.0, 4.0, 30.0, 1e4})
    expect_suprema(StudentCurve(freedom), centres(1e6, 7), "student");
}

// As `exact` sees them: a batch of rows, each with a move from `from` to `to`. The change of a remainder is
// at most the sum of the bounds of its ends.
void expect_changes_within_bounds(std::string_view name, const FamilyNumbers& numbers, double largest,
                                  std::span<const double> responses) {
  const std::shared_ptr<const RowCurve> curve = make_family(name, numbers)->curve();
  for (const double eta : centres(largest, 7))
    for (const double y : responses) {
      RowShape row;
      curve->shapes({&eta, 1}, {&y, 1}, {&row, 1});
      std::vector<double> e, from, to, reach;
      for (double size = 1e-8; size < 10 + 2 * largest; size *= 1.5)
        for (const double share : {0.9, 0.0, -1.0})
          for (const int sign : {-1, 1}) {
            e.push_back(row.e);
            to.push_back(sign * size);
            from.push_back(share * to.back());
            reach.push_back(size);
          }
      std::vector<double> change(e.size()), sup(e.size());
      for (const int order : {2, 3}) {
        curve->changes(order, e, from, to, change);
        curve->suprema(order + 1, e, reach, sup);
        for (std::size_t i = 0; i < e.size(); ++i) {
          const double bound =
              sup[i] / (order == 2 ? 6 : 24) *
              (std::pow(std::abs(from[i]), order + 1) + std::pow(std::abs(to[i]), order + 1));
          if (bound < tiny) continue;
          EXPECT_LT(std::abs(change[i]) / bound, 1 + stated)
              << name << ", order " << order << ", eta = " << eta << ", y = " << y << ", from " << from[i]
              << " to " << to[i];
        }
      }
    }
}

TEST(RemainderInTheTails, OfNoFamilyIsAboveItsBound) {
  const std::vector<double> binary{0.0, 1.0}, counts{0.0, 3.0, 1e6}, positive{1e-6, 1.0, 1e6},
      any{-1e6, 0.0, 40.0};
  expect_changes_within_bounds("logistic", {}, 1e6, binary);
  expect_changes_within_bounds("probit", {}, 1e6, binary);
  expect_changes_within_bounds("poisson", {}, 100, counts);
  expect_changes_within_bounds("negative-binomial", {{"size", 2}}, 1e6, counts);
  expect_changes_within_bounds("gamma", {{"shape", 2}}, 100, positive);
  expect_changes_within_bounds("student", {{"freedom", 4}, {"known-sigma", 1}}, 1e6, any);
}

}  // namespace
}  // namespace mlo
