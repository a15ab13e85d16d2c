// Copyright (c) the mlo authors. BSD-3-Clause.
// All rows of a logistic model as odds: at a displaced reference, against a random walk on all rows and
// against the rows' own terms. |z| < 5, one false alarm in a million each, about 300 of them.
#include <gtest/gtest.h>

#include "support/grouped_walk.hpp"

namespace mlo {
namespace {

using testing::GroupedData;
using testing::GroupedRecipe;
using testing::KernelDraws;
using testing::PlainGroup;
using testing::Worst;

constexpr LevelOptions by_odds{.all_rows = true, .odds = true};

GroupedRecipe recipe_of(std::size_t rows, const std::vector<std::size_t>& levels, double intercept) {
  GroupedRecipe out;
  out.family = "logistic";
  out.rows = rows;
  out.sd.clear();
  for (const std::size_t count : levels) {
    out.groups.push_back(PlainGroup{.levels = count});
    out.sd.push_back({1.2});
  }
  out.a = {intercept, 0.5};
  return out;
}

TEST(LevelOdds, HaveTheLawOfAWalk) {
  struct Case {
    std::vector<std::size_t> levels;
    double intercept;
  };
  // Rare events, common ones, one grouping, three; about a row per cell, and many; a second grouping whose
  // effects move with the coefficients, and one with many levels.
  for (const Case& c : {Case{{25}, -2.3}, Case{{25, 4}, -2.3}, Case{{30, 12}, 0.4}, Case{{12, 5, 4}, -1},
                        Case{{30, 6}, -0.3}, Case{{45, 40}, -1}}) {
    const GroupedData data = testing::make_grouped(recipe_of(400, c.levels, c.intercept));
    const testing::Draws walk = testing::PlainWalk(data, {}).run(2000, 20000);
    const KernelDraws kernel = testing::run_kernel(data, {.options = by_odds, .sweeps = 12000});
    const Worst worst = testing::compare(kernel, walk);
    testing::report("odds", kernel, worst);
    EXPECT_LT(worst.z, 5) << worst.what;
  }
}

TEST(LevelOdds, HaveTheLawOfAWalkWithAnInterceptAlone) {
  GroupedRecipe recipe = recipe_of(300, {30, 5}, -1.5);
  recipe.a = {-1.5};
  const GroupedData data = testing::make_grouped(recipe);
  const testing::Draws walk = testing::PlainWalk(data, {}).run(2000, 20000);
  const KernelDraws kernel = testing::run_kernel(data, {.options = by_odds, .sweeps = 12000});
  const Worst worst = testing::compare(kernel, walk);
  testing::report("odds, no columns", kernel, worst);
  EXPECT_LT(worst.z, 5) << worst.what;
}

TEST(LevelOdds, AreWrongIfJointMovesAreDecidedWithoutTheRows) {
  for (const std::vector<std::size_t>& levels : {std::vector<std::size_t>{25}, {30, 6}}) {
    const GroupedData data = testing::make_grouped(recipe_of(400, levels, levels.size() == 1 ? -2.3 : -0.3));
    const testing::Draws walk = testing::PlainWalk(data, {}).run(2000, 10000);
    LevelOptions broken = by_odds;
    broken.remainders = false;
    const KernelDraws kernel = testing::run_kernel(data, {.options = broken, .sweeps = 12000});
    const Worst worst = testing::compare(kernel, walk);
    testing::report("without rows", kernel, worst);
    EXPECT_FALSE(worst.z < 5);
  }
}

// In the log posterior and in audits: what the odds say, against the rows' own terms. Offsets are in the
// reference's predictors.
TEST(LevelOdds, AgreeWithTheRowsOwnTerms) {
  GroupedRecipe recipe = recipe_of(5000, {300, 20}, -1);
  recipe.offset = true;
  const auto model = testing::model_of(testing::make_grouped(recipe), {});
  ThreadPool pool(2);
  double passes = 0;
  const GroupedPoint at = find_reference(*model, pool, passes);
  const auto reference = std::make_shared<const LevelReference>(
      *model, at, pool, LevelReference::Options{.bounds = false, .odds = true});
  ASSERT_TRUE(reference->odds()->tame());
  for (const bool remainders : {true, false}) {
    LevelOptions options = by_odds;
    options.remainders = remainders;
    options.audit_share = 1;
    LevelKernel kernel(reference, options, pool);
    ChainState state;
    state.theta.resize(static_cast<Eigen::Index>(model->dim()));
    model->pack(at, {state.theta.data(), model->dim()});
    double error = 0;
    for (std::size_t k = 0; k < 60; ++k) {
      if (k == 20) kernel.freeze();
      const StepInfo info = kernel.step(state, {.seed = 9, .chain = 2, .iteration = k});
      EXPECT_EQ(info.audited, k >= 20);
      // The slope, and a proposal for coefficients and twenty effects.
      if (k % 2 == 1) {
        EXPECT_EQ(info.rows_read, 2 * model->rows().size());
      }
      error = std::max(error, info.audit_error);
      if (k % 10 != 0) continue;
      // A reference at the draw has its log-likelihood.
      GroupedPoint here;
      model->unpack({state.theta.data(), model->dim()}, here);
      const LevelReference there(*model, here, pool, {.bounds = false});
      EXPECT_NEAR(state.log_likelihood, there.value(), 1e-4);
    }
    if (remainders) {
      EXPECT_LT(error, 1e-4);
      EXPECT_GT(error, 0);
    } else {
      EXPECT_GT(error, 1e-1);
    }
  }
}

}  // namespace
}  // namespace mlo
