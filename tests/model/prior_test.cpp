// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/prior.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

std::vector<Prior> all_proper() {
  return {Prior::normal(0.5, 2),     Prior::student_t(3, -1, 1.5), Prior::cauchy(0.3, 0.7),
          Prior::laplace(-0.2, 1.3), Prior::gamma(2.5, 1.7),       Prior::beta(1.6, 2.3)};
}

// The integral over the line, by the trapezoid rule after a sinh substitution, which converges fast even for
// Cauchy tails.
TEST(Prior, DensitiesIntegrateToOne) {
  for (const Prior& prior : all_proper()) {
    const bool positive = prior.kind() == Prior::Kind::gamma || prior.kind() == Prior::Kind::beta;
    double total = 0;
    constexpr double h = 1e-3;
    // x = sinh(pi/2 sinh t) on the line, x = exp(pi/2 sinh t) on the half line: double exponential
    // quadrature.
    for (double t = -6; t <= 6; t += h) {
      const double s = 1.5707963267948966 * std::sinh(t), ds = 1.5707963267948966 * std::cosh(t);
      if (std::abs(s) > 690) continue;
      const double x = positive ? std::exp(s) : prior.location() + std::sinh(s);
      const double dx = (positive ? std::exp(s) : std::cosh(s)) * ds;
      const double f = prior.log_density(x) + std::log(dx);
      total += std::exp(f) * h;
    }
    // Because of the kink of the Laplace density, the trapezoid rule converges only like h^2.
    EXPECT_NEAR(total, 1, 1e-5) << prior.text();
  }
}

TEST(Prior, TheShareAboveZeroIsTheIntegralOfTheDensityThere) {
  std::vector<Prior> priors = all_proper();
  priors.push_back(Prior::student_t(3, 0, 2.5));
  priors.push_back(Prior::normal(-3, 1));
  for (const Prior& prior : priors) {
    double total = 0;
    constexpr double h = 1e-4;
    for (double t = -6; t <= 6; t += h) {
      const double s = 1.5707963267948966 * std::sinh(t);
      if (std::abs(s) > 300) continue;
      total += h * 1.5707963267948966 * std::cosh(t) * std::exp(s + prior.log_density(std::exp(s)));
    }
    EXPECT_NEAR(prior.share_above_zero(), total, 1e-6) << prior.text();
  }
}

TEST(Prior, SlopeAndCurvatureAreTheDerivativesOfTheSmoothValue) {
  constexpr double h = 1e-5;
  for (const Prior& prior : all_proper())
    for (const double x : {0.1, 0.4, 0.9, 1.7, 3.0}) {
      if (prior.kind() == Prior::Kind::beta && x > 1) continue;
      const auto at = prior.smooth(x), up = prior.smooth(x + h), down = prior.smooth(x - h);
      EXPECT_NEAR(at.slope, (up.value - down.value) / (2 * h), 1e-6 * (1 + std::abs(at.slope)))
          << prior.text() << x;
      const double second = -(up.value - 2 * at.value + down.value) / (h * h);
      EXPECT_NEAR(at.curvature, std::max(second, 0.0), 1e-4 * (1 + std::abs(second)))
          << prior.text() << " at " << x;
    }
}

TEST(Prior, SmoothAgreesWithTheDensityAwayFromAKink) {
  for (const Prior& prior : all_proper()) {
    // sqrt(z^2 + 1) - |z| is about 1 / (2 |z|).
    const double far = prior.kind() == Prior::Kind::laplace ? 1e6
                       : prior.kind() == Prior::Kind::beta  ? 0.7
                                                            : 2;
    EXPECT_NEAR(prior.smooth(far).value, prior.log_density(far), 1e-6) << prior.text();
  }
}

TEST(Prior, GammaHasNoMassAtOrBelowZero) {
  EXPECT_EQ(Prior::gamma(2, 1).log_density(0), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(Prior::gamma(2, 1).log_density(-1), -std::numeric_limits<double>::infinity());
}

TEST(Prior, BetaHasItsMassBetweenZeroAndOne) {
  for (const double x : {-0.1, 0.0, 1.0, 1.5})
    EXPECT_EQ(Prior::beta(2, 1).log_density(x), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(Prior::beta(1, 1).log_density(0.3), 0);
  EXPECT_NEAR(Prior::beta(3, 2).log_density(0.25), std::log(12 * 0.25 * 0.25 * 0.75), 1e-14);
}

TEST(Prior, ReadsWhatItWrites) {
  for (const Prior& prior : all_proper()) {
    const Prior again = Prior::parse(prior.text(), "--prior");
    EXPECT_EQ(again.text(), prior.text());
    EXPECT_EQ(again.log_density(0.7), prior.log_density(0.7));
  }
  EXPECT_EQ(Prior::parse(" exponential( 2 ) ", "--prior").text(), "exponential(2)");
  EXPECT_EQ(Prior::parse("flat", "--prior").log_density(3), 0);
}

// With many degrees of freedom Student's law is the normal one; the constant must not lose its digits.
TEST(Prior, StudentWithManyDegreesOfFreedomIsNormal) {
  for (const double freedom : {1e5, 1e9, 1e20, 1e50})
    EXPECT_NEAR(Prior::student_t(freedom, 1, 2).log_density(2.5), Prior::normal(1, 2).log_density(2.5),
                1 / freedom + 1e-12)
        << freedom;
}

std::string message_of(const std::string& text) {
  try {
    static_cast<void>(Prior::parse(text, "--prior"));
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Prior, RefusesWithTheRuleAndTheValue) {
  EXPECT_EQ(message_of("normal(0,-1)"), "--prior \"normal(0,-1)\": the scale must be positive (got -1)");
  EXPECT_EQ(message_of("normal(0)"),
            "--prior \"normal(0)\": normal needs 2 numbers (got 1); write normal(location, scale)");
  EXPECT_EQ(message_of("normal(0,1"), "--prior \"normal(0,1\": missing ')'; write normal(location, scale)");
  EXPECT_EQ(message_of("normal(0,x)"), "--prior \"normal(0,x)\": \"x\" is not a number");
  EXPECT_EQ(message_of("beta(1,0)"), "--prior \"beta(1,0)\": the second number must be positive (got 0)");
  EXPECT_EQ(message_of("gamma(0,1)"), "--prior \"gamma(0,1)\": the shape must be positive (got 0)");
  EXPECT_EQ(message_of("student_t(0,0,1)"),
            "--prior \"student_t(0,0,1)\": the degrees of freedom must be positive (got 0)");
  EXPECT_EQ(message_of("normal(1 2, 3)"), "--prior \"normal(1 2, 3)\": \"1 2\" is not a number");
  EXPECT_EQ(message_of("normal(0,1,)"), "--prior \"normal(0,1,)\": \"\" is not a number");
  EXPECT_EQ(
      message_of("cauchy(0,1e-300)"),
      "--prior \"cauchy(0,1e-300)\": numbers must be between 1e-50 and 1e+50 in size, or 0 (got 1e-300)");
  EXPECT_NE(
      message_of("lkj(2)").find("lkj is for correlations of group effects, all of them: `prior-cor lkj(2)`"),
      std::string::npos);
  EXPECT_NE(message_of("gauss(0,1)").find("unknown prior; known are flat, normal(location, scale)"),
            std::string::npos);
}

}  // namespace
}  // namespace mlo
