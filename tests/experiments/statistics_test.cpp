// Copyright (c) the mlo authors. BSD-3-Clause.
#include "experiments/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "experiments/claims.hpp"
#include "mlo/base/random.hpp"

namespace mlo::experiments {
namespace {

// By hand: mean 3; squares about it 4, 1, 0, 9; fourth powers 16, 1, 0, 81.
const std::vector<double> four{1, 2, 3, 6};

TEST(Statistics, AgreeWithAComputationByHand) {
  EXPECT_DOUBLE_EQ(mean(four).value, 3);
  EXPECT_DOUBLE_EQ(mean(four).se, std::sqrt(14.0 / 3 / 4));
  EXPECT_DOUBLE_EQ(bias(four, 2.5).value, 0.5);
  EXPECT_DOUBLE_EQ(bias(four, 2.5).se, mean(four).se);
  EXPECT_DOUBLE_EQ(standard_deviation(four).value, std::sqrt(14.0 / 3));
  EXPECT_NEAR(standard_deviation(four).se, std::sqrt((24.5 - 196.0 / 9) / 4) / (2 * std::sqrt(14.0 / 3)),
              1e-14);
  // About 2: squares 1, 0, 1, 16, whose mean is 4.5 and variance 59.
  EXPECT_DOUBLE_EQ(mean_squared_error(four, 2).value, 4.5);
  EXPECT_DOUBLE_EQ(mean_squared_error(four, 2).se, std::sqrt(59.0 / 4));
  EXPECT_DOUBLE_EQ(root_mean_squared_error(four, 2).value, std::sqrt(4.5));
  EXPECT_DOUBLE_EQ(root_mean_squared_error(four, 2).se, std::sqrt(59.0 / 4) / (2 * std::sqrt(4.5)));
}

TEST(Statistics, ErrorOfAnSdOfNormalsIsSdOverRootOf2B) {
  std::vector<double> draws(200'000);
  Stream stream({.seed = 3, .purpose = Purpose::start});
  normals(stream, draws);
  const auto b = static_cast<double>(draws.size());
  // The fourth moment of 200,000 normals has a relative error of about sqrt(96 / 200,000) / 3 < 1 %.
  EXPECT_NEAR(standard_deviation(draws).se * std::sqrt(2 * b), 1, 0.05);
}

TEST(Statistics, ErrorsTowardsTheBiasAverageToItsSize) {
  EXPECT_EQ(errors_towards_bias(four, 2), (std::vector<double>{-1, 0, 1, 4}));
  EXPECT_EQ(errors_towards_bias(four, 5), (std::vector<double>{4, 3, 2, -1}));
  EXPECT_DOUBLE_EQ(mean(errors_towards_bias(four, 5)).value, 2);
}

TEST(Claims, ZIsThatOfThePairedDifference) {
  // Differences 1, 2, 3: mean 2, standard error 1 / sqrt(3). Unpaired, the two would overlap.
  const std::vector<double> a{11, 52, 93}, b{12, 54, 96};
  EXPECT_DOUBLE_EQ(paired_z(b, a), 2 * std::sqrt(3.0));
  EXPECT_DOUBLE_EQ(paired_z(a, b), -2 * std::sqrt(3.0));
  EXPECT_DOUBLE_EQ(paired_z(a, a), 0);
  const std::vector<double> higher{12, 53, 94};
  EXPECT_EQ(paired_z(higher, a), std::numeric_limits<double>::infinity());
}

TEST(Claims, AreGivenWhicheverWayTheyComeOut) {
  const std::vector<double> a{11, 52, 93}, b{12, 54, 96};
  const Claim good = below("a below b", a, b), bad = below("b below a", b, a);
  EXPECT_TRUE(good.holds);
  EXPECT_EQ(good.verdict, "holds");
  EXPECT_DOUBLE_EQ(good.z, 2 * std::sqrt(3.0));
  EXPECT_FALSE(bad.holds);
  EXPECT_EQ(bad.verdict, "does not hold");
  EXPECT_DOUBLE_EQ(bad.z, -2 * std::sqrt(3.0));
  // Differences 1, -1, 1: mean 1/3, standard error 2/3.
  const std::vector<double> c{0, 1, 0}, d{1, 0, 1};
  EXPECT_NEAR(below("c below d", c, d).z, 0.5, 1e-12);
  EXPECT_EQ(below("c below d", c, d).verdict, "holds, within Monte Carlo error");
  EXPECT_EQ(below("d below c", d, c).verdict, "does not hold, within Monte Carlo error");
  EXPECT_TRUE(similar("c as d", c, d).holds);
  EXPECT_FALSE(similar("a as b", a, b).holds);
  EXPECT_FALSE(below("the same", a, a).holds);
}

}  // namespace
}  // namespace mlo::experiments
