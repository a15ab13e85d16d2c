// Copyright (c) the mlo authors. BSD-3-Clause.
// Levels with few events, whose log-likelihoods are curves of their own: at a displaced reference, against a
// random walk on all rows. |z| < 5, one false alarm in a million each, about 80 of them.
#include <gtest/gtest.h>

#include "support/grouped_walk.hpp"

namespace mlo {
namespace {

using testing::GroupedData;
using testing::GroupedRecipe;
using testing::KernelDraws;
using testing::PlainGroup;
using testing::Worst;

constexpr LevelOptions few_rows{.most_boost = 1};

// About one row in eight is a success.
GroupedRecipe rare(std::size_t rows, const std::vector<std::size_t>& levels) {
  GroupedRecipe out;
  out.family = "logistic";
  out.rows = rows;
  out.sd.clear();
  for (const std::size_t count : levels) {
    out.groups.push_back(PlainGroup{.levels = count});
    out.sd.push_back({1.4});
  }
  out.a = {-2.3, 0.5};
  return out;
}

// The share of the levels of the first grouping that have curves.
double share_of_curves(const GroupedData& data) {
  const auto model = testing::model_of(data, {});
  ThreadPool pool(1);
  double passes = 0;
  const LevelReference reference(*model, find_reference(*model, pool, passes), pool, {});
  double count = 0;
  const LevelTable& table = reference.table(0);
  for (std::size_t l = 0; l < table.levels(); ++l) count += table.has_curve(l) ? 1 : 0;
  return count / static_cast<double>(table.levels());
}

TEST(LevelCurves, HaveTheLawOfAWalk) {
  for (const std::vector<std::size_t>& levels : {std::vector<std::size_t>{25}, {25, 4}}) {
    const GroupedData data = testing::make_grouped(rare(400, levels));
    EXPECT_GT(share_of_curves(data), 0.5);
    const testing::Draws walk = testing::PlainWalk(data, {}).run(2000, 20000);
    const KernelDraws kernel = testing::run_kernel(data, {.options = few_rows, .sweeps = 12000});
    const Worst worst = testing::compare(kernel, walk);
    testing::report("rare events", kernel, worst);
    EXPECT_LT(worst.z, 5) << worst.what;
    EXPECT_EQ(kernel.violations, 0);
  }
}

// Without the rows that say what the columns change, the same comparison fails.
TEST(LevelCurves, AreWrongWithoutTheRowsRemainders) {
  const GroupedData data = testing::make_grouped(rare(400, {25}));
  const testing::Draws walk = testing::PlainWalk(data, {}).run(2000, 10000);
  const KernelDraws kernel = testing::run_kernel(data, {.options = {.remainders = false}, .sweeps = 12000});
  const Worst worst = testing::compare(kernel, walk);
  testing::report("without remainders", kernel, worst);
  EXPECT_FALSE(worst.z < 5);
}

TEST(LevelCurves, CountRowsThatBreakTheirBounds) {
  const GroupedData data = testing::make_grouped(rare(400, {25}));
  const KernelDraws kernel =
      testing::run_kernel(data, {.options = {.most_boost = 1, .bound_factor = 0.02}, .sweeps = 2000});
  EXPECT_GT(kernel.violations, 20);
}

// phi and value() against sums over rows, in long double.
TEST(LevelCurves, AreTheRowsSums) {
  const std::vector<double> e{-4.5, -3.9, -2.2, -5.1, 0.3, -1, -2.5, -3}, scale{1, 1, 2, 1, 1, 0.5, 1, 3};
  LevelCurve curve;
  constexpr double slope = 0.7;
  ASSERT_TRUE(make_curve({e, scale, slope}, 0.2, 1.3, curve));
  EXPECT_GT(curve.radius, 2);
  using Long = long double;
  const auto sigmoid = [](Long x) { return 1 / (1 + std::exp(-x)); };
  Long at_zero = 0, bend = 0;
  for (std::size_t i = 0; i < e.size(); ++i) {
    at_zero -= scale[i] * sigmoid(e[i]);
    bend -= scale[i] * sigmoid(e[i]) * sigmoid(-static_cast<Long>(e[i]));
  }
  EXPECT_NEAR(curve.tilt, static_cast<double>(slope - at_zero), 1e-12);
  for (double x = -0.999; x < 1; x += 0.037) {
    const Long b = x * curve.radius;
    Long value = curve.tilt * b, here = 0;
    for (std::size_t i = 0; i < e.size(); ++i) {
      value -= scale[i] * (std::log1p(std::exp(e[i] + b)) - std::log1p(std::exp(static_cast<Long>(e[i]))));
      here -= scale[i] * sigmoid(e[i] + b);
    }
    EXPECT_NEAR(curve.value(static_cast<double>(b)), static_cast<double>(value), 1e-8);
    EXPECT_NEAR(curve.phi(static_cast<double>(b)), static_cast<double>((here - at_zero) / bend), 1e-5);
  }
  // The mode with the prior N(0.2, 1 / 1.3).
  Long at_mode = curve.tilt - 1.3 * (curve.start - 0.2);
  for (std::size_t i = 0; i < e.size(); ++i)
    at_mode -= scale[i] * sigmoid(e[i] + static_cast<Long>(curve.start));
  EXPECT_NEAR(static_cast<double>(at_mode), 0, 1e-6);
}

}  // namespace
}  // namespace mlo
