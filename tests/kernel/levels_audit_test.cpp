// Copyright (c) the mlo authors. BSD-3-Clause.
// The audit of a sweep: it changes no draw, agrees where all is right, and sees what is broken.
#include <gtest/gtest.h>

#include "support/grouped_laws.hpp"

namespace mlo {
namespace {

using testing::GroupedRecipe;
using testing::PlainGroup;

struct Case {
  const char* family;
  std::vector<std::size_t> levels;
  std::size_t slopes;  // of the first grouping
};
// Many levels have few rows: some are sliced.
const std::vector<Case> cases{{"logistic", {300}, 0},
                              {"logistic", {40}, 1},
                              {"poisson", {150}, 0},
                              {"poisson", {40}, 1},
                              {"poisson", {150, 20}, 0},
                              {"gaussian", {200, 30}, 0},
                              {"gaussian", {40}, 1},
                              {"gamma", {150}, 0},
                              {"gamma", {40}, 1},
                              {"gamma", {150, 20}, 0},
                              {"negative-binomial", {150}, 0},
                              {"negative-binomial", {40}, 1},
                              {"student", {150}, 0},
                              {"student", {40}, 1}};

struct Audited {
  std::vector<Eigen::VectorXd> draws;
  std::size_t audited = 0;
  double error = 0;
  std::uint64_t violations = 0;
};

Audited run(const GroupedModel& model, const LevelOptions& options) {
  ThreadPool pool(2);
  double passes = 0;
  const GroupedPoint at = find_reference(model, pool, passes);
  LevelKernel kernel(std::make_shared<const LevelReference>(model, at, pool, LevelReference::Options{}),
                     options, pool);
  ChainState state;
  state.theta.resize(static_cast<Eigen::Index>(model.dim()));
  model.pack(at, {state.theta.data(), model.dim()});
  Audited out;
  for (std::size_t k = 0; k < 60; ++k) {
    if (k == 20) kernel.freeze();
    const StepInfo info = kernel.step(state, {.seed = 9, .chain = 2, .iteration = k});
    out.draws.push_back(state.theta);
    out.audited += info.audited ? 1 : 0;
    out.error = std::max(out.error, info.audit_error);
    out.violations += info.bound_violations;
  }
  return out;
}

std::unique_ptr<GroupedModel> model_of(const Case& c) {
  GroupedRecipe recipe;
  recipe.family = c.family;
  recipe.rows = 5000;
  recipe.weight = recipe.offset = true;
  recipe.sd.clear();
  for (std::size_t k = 0; k < c.levels.size(); ++k) {
    recipe.groups.push_back(PlainGroup{.levels = c.levels[k], .slopes = k == 0 ? c.slopes : 0});
    recipe.sd.emplace_back(recipe.groups[k].dim(), 0.6);
  }
  return testing::model_of(testing::make_grouped(recipe), {});
}

TEST(LevelKernel, IsTheSameChainWhenItIsAuditedAndAgreesWithAllRows) {
  for (const Case& c : cases) {
    const auto model = model_of(c);
    const Audited plain = run(*model, {}), some = run(*model, {.audit_share = 0.4}),
                  all = run(*model, {.audit_share = 1});
    EXPECT_EQ(plain.audited, 0U);
    EXPECT_EQ(all.audited, 40U);
    EXPECT_GT(some.audited, 5U);
    EXPECT_LT(some.audited, 30U);
    for (std::size_t k = 0; k < plain.draws.size(); ++k) {
      ASSERT_TRUE(all.draws[k] == plain.draws[k]) << c.family << ", sweep " << k;
      ASSERT_TRUE(some.draws[k] == plain.draws[k]) << c.family << ", sweep " << k;
    }
    // Rows are floats: the error of 5,000 of them, with changes of the log-likelihood of up to hundreds.
    EXPECT_LT(all.error, 1e-4) << c.family;
    EXPECT_GT(all.error, 0) << c.family;
    EXPECT_EQ(all.violations, 0U) << c.family;
    std::printf("%s, %zu levels: largest error %.1e\n", c.family, c.levels[0], all.error);
  }
}

TEST(LevelKernel, AnAuditSeesRemaindersThatAreLeftOutAndBoundsThatAreTooSmall) {
  for (const Case& c : cases) {
    if (std::string(c.family) == "gaussian") continue;  // there are neither
    const auto model = model_of(c);
    EXPECT_GT(run(*model, {.audit_share = 1, .remainders = false}).error, 1e-2) << c.family;
    EXPECT_GT(run(*model, {.audit_share = 1, .bound_factor = 0.1}).violations, 20U) << c.family;
  }
}

}  // namespace
}  // namespace mlo
