// Copyright (c) the mlo authors. BSD-3-Clause.
// Factors level by level, against a random walk on all rows: |z| < 5 for means and variances of all
// parameters. The reference is displaced by about 1.5 posterior sds in every coefficient, so that without the
// rows' remainders the same comparison fails.
#include "mlo/kernel/factors.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/factor_walk.hpp"
#include "support/grouped_laws.hpp"

namespace mlo {
namespace {

using testing::FactorData;
using testing::FactorRecipe;

struct Setting {
  std::unique_ptr<Glm> glm;
  std::shared_ptr<const FactorGlm> model;
  std::shared_ptr<const LevelReference> reference;
  Eigen::VectorXd mode;
};

// About a point that is `displaced` posterior sds from the mode in every working coefficient.
Setting setting_of(const FactorData& data, double displaced, ThreadPool& pool) {
  Setting out;
  out.glm = testing::glm_of(data);
  const Mode mode = find_mode(*out.glm, pool);
  const Eigen::MatrixXd covariance = mode.information.inverse();
  Eigen::VectorXd at = mode.theta;
  for (Eigen::Index j = 0; j < at.size(); ++j)
    at[j] += displaced * std::sqrt(covariance(j, j)) * (j % 3 == 0 ? -1 : 1);
  out.model = std::make_shared<const FactorGlm>(*out.glm, choose_factors(*out.glm), params(at),
                                                mode.information(0, 0));
  GroupedPoint point;
  out.model->to_groups(params(at), std::vector<double>(out.model->factors() - 1, 0.0), point);
  out.reference =
      std::make_shared<const LevelReference>(out.model->grouped(), point, pool, LevelReference::Options{});
  out.mode = mode.theta;
  return out;
}

testing::KernelDraws run_factors(const FactorData& data, double displaced, const LevelOptions& options,
                                 std::size_t sweeps = 12'000) {
  ThreadPool pool(1);
  const Setting setting = setting_of(data, displaced, pool);
  FactorKernel kernel(setting.model, setting.reference, options, pool);
  testing::KernelDraws out;
  out.names = setting.glm->names();
  out.draws.resize(out.names.size());
  ChainState state;
  state.theta = setting.mode;
  std::vector<double> user(out.names.size());
  constexpr std::size_t warmup = 500;
  const auto count = static_cast<double>(sweeps);
  for (std::size_t k = 0; k < warmup + sweeps; ++k) {
    if (k == warmup) kernel.freeze();
    const StepInfo info = kernel.step(state, {.seed = 6, .chain = 1, .iteration = k});
    out.violations += static_cast<double>(info.bound_violations);
    if (k < warmup) continue;
    out.rows += static_cast<double>(info.rows_read) / count;
    out.accepted += (info.accepted ? 1 : 0) / count;
    setting.glm->to_user(params(state.theta), user);
    for (std::size_t j = 0; j < user.size(); ++j) out.draws[j].push_back(user[j]);
  }
  out.levels_accepted = kernel.of_levels().accepted / kernel.of_levels().tried;
  return out;
}

void expect_law(const char* what, const FactorRecipe& recipe, bool fails_without = true,
                double displaced = 1.5) {
  const FactorData data = testing::make_factors(recipe);
  const auto walk = testing::factor_walk(data, *testing::glm_of(data), 12'000);
  const testing::KernelDraws kernel = run_factors(data, displaced, {});
  const testing::Worst worst = testing::compare(kernel, walk);
  testing::report(what, kernel, worst);
  EXPECT_LT(worst.z, 5) << what << ": " << worst.what;
  EXPECT_EQ(kernel.violations, 0) << what;
  if (!fails_without) return;
  const testing::KernelDraws broken = run_factors(data, displaced, {.remainders = false});
  const testing::Worst wrong = testing::compare(broken, walk);
  testing::report("  without remainders", broken, wrong);
  EXPECT_GT(wrong.z, 5) << what;
}

TEST(Factors, OfOneFactorAreRight) { expect_law("one factor", {.levels = {20}}); }

TEST(Factors, OfTwoFactorsAreRight) {
  expect_law("two factors", {.levels = {20, 16}, .offset = true, .weight = true});
}

// A base of three rows, a level of one row, one of 15 rows of one outcome; priors that are not normal, and an
// intercept whose prior is at zero.
TEST(Factors, WithRareLevelsAndAnyPriorAreRight) {
  FactorRecipe recipe{.levels = {20}, .sizes = {3, 1, 15}, .one_outcome = 2};
  recipe.freedom = 3;
  recipe.scale = 1;
  recipe.at_means = false;
  expect_law("rare levels", recipe);
}

// A base of 70 rows, whose effect the other levels' narrow priors know as well as its rows.
TEST(Factors, WithABaseThatThePriorsHoldAreRight) {
  expect_law("held base", {.levels = {24, 16}, .sizes = {70}, .scale = 0.4, .sd = 1}, true, 2);
}

// Levels with few events, or one outcome, and eight rows or more have curves of their own, and slices that
// leave the curves' intervals.
TEST(Factors, WithCurvedLevelsAreRight) {
  FactorRecipe recipe{.rows = 600, .levels = {20, 18}, .sizes = {40, 1, 15, 2}, .one_outcome = 2};
  recipe.scale = 3;
  expect_law("curved levels, two factors", recipe, true, 2);
  recipe.levels = {40};
  recipe.rows = 1200;
  recipe.sd = 1.5;
  // About a point any further away the level of one outcome would look normal.
  expect_law("curved levels, one factor", recipe, true, 1);
}

TEST(Factors, OfCountsAreRight) {
  // The effects' part is not expanded here, and what is left is too little to be missed.
  expect_law("poisson, one factor", {.family = "poisson", .levels = {20}, .sizes = {4, 1}, .sd = 0.5}, false);
  expect_law("poisson, two factors", {.family = "poisson", .levels = {20, 16}, .sd = 0.4});
}

TEST(Factors, OfOtherFamiliesAreRight) {
  expect_law("probit", {.family = "probit", .levels = {20}, .sd = 0.5});
  expect_law("negative binomial",
             {.family = "negative-binomial", .known = 1.5, .rows = 400, .levels = {16}, .sd = 0.4});
}

TEST(Factors, CountBoundsThatDoNotHold) {
  const FactorData data = testing::make_factors({.levels = {20, 16}});
  EXPECT_GT(run_factors(data, 1, {.bound_factor = 0.05}, 2000).violations, 0);
}

// The expansion's log posterior is the model's, near the reference, up to a constant.
TEST(Factors, KnowTheLogPosterior) {
  ThreadPool pool(1);
  const FactorData data = testing::make_factors({.rows = 40'000, .levels = {20, 16}});
  const Setting setting = setting_of(data, 0, pool);
  FactorKernel kernel(setting.model, setting.reference, {}, pool);
  kernel.freeze();
  ChainState state;
  state.theta = setting.mode;
  std::vector<double> user(setting.glm->dim());
  double least = 1e300, most = -1e300;
  for (std::size_t k = 0; k < 50; ++k) {
    static_cast<void>(kernel.step(state, {.seed = 2, .chain = 0, .iteration = k}));
    setting.glm->to_user(params(state.theta), user);
    const double difference = state.polynomial - testing::FactorPosterior(data, user).value();
    least = std::min(least, difference);
    most = std::max(most, difference);
  }
  EXPECT_LT(most - least, 0.7);  // of a log posterior whose own sd is 4
}

TEST(Factors, MakeTheSameDrawsWithAnyNumberOfThreadsAndAfterASave) {
  const FactorData data =
      testing::make_factors({.rows = 3000, .levels = {300, 16}, .sizes = {3, 1, 15}, .one_outcome = 2});
  std::vector<Eigen::VectorXd> ends;
  for (const std::size_t threads : {1U, 2U, 3U}) {
    ThreadPool pool(threads);
    const Setting setting = setting_of(data, 0, pool);
    FactorKernel kernel(setting.model, setting.reference, {}, pool);
    ChainState state;
    state.theta = setting.mode;
    const auto run = [&](FactorKernel& with, std::size_t first, std::size_t last) {
      for (std::size_t k = first; k < last; ++k) {
        if (k == 60) with.freeze();
        static_cast<void>(with.step(state, {.seed = 9, .chain = 2, .iteration = k}));
      }
    };
    for (const std::size_t stop : {30U, 90U}) {
      run(kernel, stop == 30 ? 0 : 30, stop);
      std::vector<double> saved;
      kernel.save(saved);
      FactorKernel fresh(setting.model, setting.reference, {}, pool);
      fresh.load(saved);
      const ChainState before = state;
      run(fresh, stop, 120);
      ends.push_back(state.theta);
      state = {.theta = before.theta};
    }
    run(kernel, 90, 120);
    ends.push_back(state.theta);
  }
  for (const Eigen::VectorXd& end : ends) EXPECT_TRUE(end == ends[0]);
}

}  // namespace
}  // namespace mlo
