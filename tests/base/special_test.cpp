// Copyright (c) the mlo authors. BSD-3-Clause.
// Every test runs on each instruction set this machine has. The reference is long double, whose 64-bit
// significand leaves its own error below 0.001 ULP of a double.
#include "mlo/base/special.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "support/simd_targets.hpp"

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kSmallestNormal = std::numeric_limits<double>::min();
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
constexpr double kLargest = std::numeric_limits<double>::max();

using Array = void (*)(std::span<const double>, std::span<double>) noexcept;
using Reference = long double (*)(long double);

long double exp_reference(long double x) { return std::exp(x); }
long double log_reference(long double x) { return std::log(x); }
long double softplus_reference(long double x) {
  return std::max(x, 0.0L) + std::log1p(std::exp(-std::abs(x)));
}
long double sigmoid_reference(long double x) {
  const long double t = std::exp(-std::abs(x));
  return (x < 0 ? t : 1) / (1 + t);
}

// softplus(b) - softplus(a) for a <= b: log((1 + e^b) / (1 + e^a)) = log(1 + sigmoid(a) (e^(b - a) - 1)).
long double softplus_rise(long double a, long double b) {
  return b - a < 1 ? std::log1p(sigmoid_reference(a) * std::expm1(b - a))
                   : softplus_reference(b) - softplus_reference(a);
}
long double softplus_difference_reference(long double a, long double b) {
  return a <= b ? softplus_rise(a, b) : -softplus_rise(b, a);
}

// |got - expected| in spacings of the doubles at expected; 0 if both are the same infinity.
double ulps(double got, long double expected) {
  const double nearest = static_cast<double>(expected);
  if (std::isinf(nearest) || std::isinf(got)) return got == nearest ? 0 : kInf;
  const int exponent = std::abs(nearest) < kSmallestNormal ? -1022 : std::ilogb(nearest);
  return static_cast<double>(std::abs(got - expected) / std::ldexp(1.0L, exponent - 52));
}

std::vector<double> values_of(Array f, const std::vector<double>& x) {
  std::vector<double> out(x.size());
  f(x, out);
  return out;
}

double value_of(Array f, double x) { return values_of(f, std::vector<double>{x}).front(); }

void expect_within(double bound, Array f, Reference reference, const std::vector<double>& x) {
  const std::vector<double> out = values_of(f, x);
  double worst = 0;
  double at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = ulps(out[i], reference(x[i]));
    if (!(error <= worst)) {
      worst = error;
      at = x[i];
    }
  }
  EXPECT_LE(worst, bound) << "at " << at;
}

void append_uniform(std::vector<double>& x, double low, double high, int count) {
  std::mt19937_64 generator(x.size() + 1);
  std::uniform_real_distribution<double> uniform(low, high);
  for (int k = 0; k < count; ++k) x.push_back(uniform(generator));
}

// Every exponent and sign.
void append_bit_patterns(std::vector<double>& x, int count) {
  std::mt19937_64 generator(x.size() + 1);
  while (count > 0) {
    const double v = std::bit_cast<double>(generator());
    if (!std::isfinite(v)) continue;
    x.push_back(v);
    --count;
  }
}

std::vector<double> arguments() {
  std::vector<double> x = {0.0,
                           -0.0,
                           kSmallest,
                           -kSmallest,
                           kSmallestNormal,
                           -kSmallestNormal,
                           kLargest,
                           -kLargest,
                           709.78271289,
                           709.782712893384,
                           709.7827128934,
                           710.0,
                           -708.3964,
                           -745.0,
                           -745.133219101,
                           -745.13321911,
                           -746.0,
                           -1e308,
                           0x1p-1074L,
                           36.7,
                           -36.7,
                           37.5,
                           -37.5,
                           1e308};
  // Where the reduction switches to the next power of two, and the neighbours.
  for (int k = -1076; k <= 1025; ++k) {
    const double edge = (k + 0.5) * 0.693147180559945309;
    x.insert(x.end(),
             {std::nextafter(edge, -kInf), edge, std::nextafter(edge, kInf), k * 0.693147180559945309});
  }
  append_uniform(x, -1, 1, 200'000);
  append_uniform(x, -1e-6, 1e-6, 20'000);
  append_uniform(x, -40, 40, 300'000);
  append_uniform(x, -750, 715, 200'000);
  append_uniform(x, -746, -707, 50'000);
  append_bit_patterns(x, 100'000);
  return x;
}

std::vector<double> positive_arguments() {
  std::vector<double> x = {kSmallest, 2 * kSmallest, kSmallestNormal, kLargest, 1.0, 0x1.6a09e667f3bcdp-1,
                           2.0};
  for (int k = -1074; k <= 1023; ++k) {
    for (const double m : {1.0, std::sqrt(2.0)}) {
      const double edge = std::ldexp(m, k);
      x.insert(x.end(), {std::nextafter(edge, 0.0), edge, std::nextafter(edge, kInf)});
    }
  }
  append_uniform(x, 0.5, 2, 300'000);
  append_uniform(x, 1 - 1e-6, 1 + 1e-6, 50'000);
  append_uniform(x, 0, 1000, 100'000);
  append_uniform(x, 0, kSmallestNormal, 50'000);
  append_bit_patterns(x, 100'000);
  for (double& v : x) v = std::abs(v);
  x.erase(std::remove(x.begin(), x.end(), 0.0), x.end());
  return x;
}

class SpecialOnTarget : public mlo::testing::OnTarget {};

TEST_P(SpecialOnTarget, NamesTheInstructionSet) {
  EXPECT_STREQ(mlo::simd_target(), hwy::TargetName(GetParam()));
}

TEST_P(SpecialOnTarget, ExpIsWithinItsBound) { expect_within(1.25, mlo::exp, exp_reference, arguments()); }

TEST_P(SpecialOnTarget, LogIsWithinItsBound) {
  expect_within(1.0, mlo::log, log_reference, positive_arguments());
}

TEST_P(SpecialOnTarget, SoftplusIsWithinItsBound) {
  expect_within(2.25, mlo::softplus, softplus_reference, arguments());
}

// Pairs far apart and pairs close together: the error beyond 1 ULP of the result, in units of the spacing of
// the doubles at 1 times the smaller of 1 and e^max(a, b).
TEST_P(SpecialOnTarget, SoftplusDifferenceIsWithinItsBound) {
  std::vector<double> a, b;
  append_uniform(a, -40, 40, 200'000);
  append_uniform(b, -40, 40, 200'000);
  append_uniform(a, -3, 3, 100'000);
  append_uniform(b, -3, 3, 100'000);
  append_uniform(a, -740, 740, 50'000);
  append_uniform(b, -740, 740, 50'000);
  std::vector<double> base, step;
  append_uniform(base, -40, 40, 200'000);
  append_uniform(step, -20, 0, 200'000);
  for (std::size_t i = 0; i < base.size(); ++i) {
    a.push_back(base[i]);
    b.push_back(base[i] + (i % 2 == 0 ? 1 : -1) * std::exp2(step[i]));
  }
  std::vector<double> out(a.size());
  mlo::softplus_difference(a, b, out);
  double worst = 0, at_a = 0, at_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const long double expected = softplus_difference_reference(a[i], b[i]);
    const double nearest = static_cast<double>(expected);
    const double ulp = std::nextafter(std::abs(nearest), kInf) - std::abs(nearest);
    const double size = std::max(std::exp(std::min(0.0, std::max(a[i], b[i]))), kSmallestNormal);
    const double error = static_cast<double>((std::abs(out[i] - expected) - ulp) /
                                             (static_cast<long double>(size) * 0x1p-52L));
    if (!(error <= worst)) worst = error, at_a = a[i], at_b = b[i];
  }
  RecordProperty("largest_error", std::to_string(worst));
  EXPECT_LE(worst, 1.25) << at_a << " " << at_b;
}

TEST_P(SpecialOnTarget, SoftplusDifferenceHasItsLimits) {
  const auto value = [](double from, double to) {
    const std::vector<double> a{from}, b{to};
    std::vector<double> out(1);
    mlo::softplus_difference(a, b, out);
    return out[0];
  };
  EXPECT_EQ(value(-kInf, kInf), kInf);
  EXPECT_EQ(value(kInf, 0.0), -kInf);
  EXPECT_EQ(value(-kInf, -kInf), 0.0);
  EXPECT_EQ(value(3.0, 3.0), 0.0);
  EXPECT_EQ(value(-kLargest, kLargest), kLargest);
  EXPECT_TRUE(std::isnan(value(kNaN, 1.0)));
  EXPECT_TRUE(std::isnan(value(1.0, kNaN)));
}

TEST_P(SpecialOnTarget, ASoftplusDifferenceDoesNotDependOnItsPlace) {
  std::vector<double> a, b;
  append_uniform(a, -5, 5, 40);
  append_uniform(b, -5, 5, 40);
  std::vector<double> all(a.size());
  mlo::softplus_difference(a, b, all);
  for (std::size_t first = 0; first < 9; ++first)
    for (std::size_t length = 0; length <= 17; ++length) {
      std::vector<double> part(length + 1, -7.0);
      mlo::softplus_difference(std::span(a).subspan(first, length), std::span(b).subspan(first, length),
                               std::span(part).first(length));
      for (std::size_t k = 0; k < length; ++k) EXPECT_EQ(part[k], all[first + k]) << first << " " << length;
      EXPECT_EQ(part[length], -7.0);
    }
}

TEST_P(SpecialOnTarget, SigmoidIsWithinItsBound) {
  expect_within(2.5, mlo::sigmoid, sigmoid_reference, arguments());
}

TEST_P(SpecialOnTarget, ExpHasItsLimits) {
  EXPECT_EQ(value_of(mlo::exp, kInf), kInf);
  EXPECT_EQ(value_of(mlo::exp, -kInf), 0.0);
  EXPECT_EQ(value_of(mlo::exp, 0.0), 1.0);
  EXPECT_TRUE(std::isnan(value_of(mlo::exp, kNaN)));
}

TEST_P(SpecialOnTarget, LogHasItsLimits) {
  EXPECT_EQ(value_of(mlo::log, kInf), kInf);
  EXPECT_EQ(value_of(mlo::log, 0.0), -kInf);
  EXPECT_EQ(value_of(mlo::log, -0.0), -kInf);
  EXPECT_EQ(value_of(mlo::log, 1.0), 0.0);
  for (const double x : {-kSmallest, -1.0, -kLargest, -kInf, kNaN}) {
    EXPECT_TRUE(std::isnan(value_of(mlo::log, x))) << x;
  }
}

TEST_P(SpecialOnTarget, SoftplusHasItsLimits) {
  EXPECT_EQ(value_of(mlo::softplus, kInf), kInf);
  EXPECT_EQ(value_of(mlo::softplus, -kInf), 0.0);
  EXPECT_EQ(value_of(mlo::softplus, kLargest), kLargest);
  EXPECT_TRUE(std::isnan(value_of(mlo::softplus, kNaN)));
  EXPECT_TRUE(std::isnan(value_of(mlo::softplus, -kNaN)));
}

TEST_P(SpecialOnTarget, SigmoidHasItsLimits) {
  EXPECT_EQ(value_of(mlo::sigmoid, kInf), 1.0);
  EXPECT_EQ(value_of(mlo::sigmoid, -kInf), 0.0);
  EXPECT_EQ(value_of(mlo::sigmoid, 0.0), 0.5);
  EXPECT_TRUE(std::isnan(value_of(mlo::sigmoid, kNaN)));
}

TEST(LogGamma, IsThatOfClosedForms) {
  EXPECT_EQ(mlo::log_gamma(1), 0);
  EXPECT_EQ(mlo::log_gamma(2), 0);
  EXPECT_NEAR(mlo::log_gamma(0.5), std::log(std::acos(-1.0)) / 2, 1e-15);
  double log_factorial = 0;
  for (int k = 2; k < 170; ++k) {
    log_factorial += std::log(k);
    EXPECT_NEAR(mlo::log_gamma(k + 1), log_factorial, 1e-13 * log_factorial);
  }
}

// A NaN or an infinity in one lane does not affect its neighbours; results do not depend on position or
// length, to the last bit; nothing is written past the end; out may be x itself.
TEST_P(SpecialOnTarget, AnElementDoesNotDependOnItsPlaceOrNeighbours) {
  std::vector<double> values = {0.3, -2.5, kNaN, 40.0, -700.0, kInf, 1e-310, 0.0, -kInf};
  append_uniform(values, -5, 5, 40);
  for (const Array f : {Array{mlo::exp}, Array{mlo::log}, Array{mlo::softplus}, Array{mlo::sigmoid}}) {
    for (std::size_t first = 0; first < 9; ++first) {
      for (std::size_t length = 0; length <= 17; ++length) {
        std::vector<double> x(values.begin() + static_cast<std::ptrdiff_t>(first),
                              values.begin() + static_cast<std::ptrdiff_t>(first + length + 1));
        const double guard = x.back();
        f(std::span(x).first(length), std::span(x).first(length));
        EXPECT_EQ(std::bit_cast<std::uint64_t>(x.back()), std::bit_cast<std::uint64_t>(guard));
        for (std::size_t i = 0; i < length; ++i) {
          const double alone = value_of(f, values[first + i]);
          EXPECT_TRUE(x[i] == alone || (std::isnan(x[i]) && std::isnan(alone))) << values[first + i];
        }
      }
    }
  }
}

void expect_sum(const std::vector<double>& x) {
  long double expected = 0;
  for (const double v : x) expected += softplus_reference(v);
  EXPECT_LE(std::abs(mlo::sum_softplus(x) - expected), 1e-14L * expected) << x.size();
}

TEST_P(SpecialOnTarget, SumSoftplusIsWithinItsBoundForEveryLength) {
  std::vector<double> values;
  append_uniform(values, -8, 8, 600);
  for (std::size_t n = 0; n <= values.size(); ++n) {
    expect_sum({values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n)});
  }
}

// Far below zero, 1 + e^x is 1 and only e^x counts; far above, only x does. Long sums must not drift.
TEST_P(SpecialOnTarget, SumSoftplusIsWithinItsBoundOnEveryScaleAndForLongArrays) {
  for (const double centre : {-700.0, -300.0, -40.0, -20.0, -5.0, 0.0, 5.0, 40.0, 1e6, 1e300}) {
    SCOPED_TRACE(centre);
    std::vector<double> x;
    append_uniform(x, centre - 1, centre + 1, 1001);
    expect_sum(x);
  }
  std::vector<double> mixed;
  for (const double scale : {1e-3, 1.0, 30.0, 600.0}) append_uniform(mixed, -scale, scale, 5000);
  expect_sum(mixed);
  std::vector<double> with_a_giant;
  append_uniform(with_a_giant, -600, -20, 1000);
  with_a_giant.push_back(1e15);
  append_uniform(with_a_giant, 0, 1, 1000);
  expect_sum(with_a_giant);
  std::vector<double> a_million;
  append_uniform(a_million, -3, 3, 1'000'000);
  expect_sum(a_million);
}

TEST_P(SpecialOnTarget, SumSoftplusHasItsLimits) {
  EXPECT_EQ(mlo::sum_softplus({}), 0.0);
  EXPECT_EQ(mlo::sum_softplus(std::vector<double>(100, -kInf)), 0.0);
  for (const std::size_t place : {0, 70, 299}) {
    std::vector<double> x(300, 0.5);
    x[place] = kInf;
    EXPECT_EQ(mlo::sum_softplus(x), kInf);
    x[place] = kNaN;
    EXPECT_TRUE(std::isnan(mlo::sum_softplus(x)));
  }
}

TEST_P(SpecialOnTarget, SigmoidAndSumSoftplusHaveTheBitsOfBoth) {
  std::vector<double> values{kInf, -kInf, 0.0, -0.0, 800, -800};
  append_uniform(values, -8, 8, 600);
  append_uniform(values, -900, 900, 100);
  for (std::size_t n = 0; n <= values.size(); n += n < 40 ? 1 : 37) {
    const std::vector<double> x(values.end() - static_cast<std::ptrdiff_t>(n), values.end());
    std::vector<double> out(n + 1, -7), expected(n);
    const double sum = mlo::sigmoid_and_sum_softplus(x, std::span(out).first(n));
    mlo::sigmoid(x, expected);
    EXPECT_EQ(sum, mlo::sum_softplus(x)) << n;
    EXPECT_EQ(out.back(), -7) << "written past the end";
    out.pop_back();
    EXPECT_EQ(out, expected) << n;
    std::vector<double> same = x;  // in place
    mlo::sigmoid_and_sum_softplus(same, same);
    EXPECT_EQ(same, expected) << n;
  }
}

MLO_ON_EVERY_TARGET(SpecialOnTarget);

}  // namespace
