// Copyright (c) the mlo authors. BSD-3-Clause.
// What a sweep depends on: not on the number of threads, and on nothing that save() does not save.
#include <gtest/gtest.h>

#include "support/grouped_laws.hpp"

namespace mlo {
namespace {

using testing::GroupedRecipe;
using testing::PlainGroup;

struct Case {
  const char* family;
  bool all_rows;
  std::vector<std::size_t> levels;
  std::size_t slopes;  // of the first grouping
  bool odds = false;   // whether all rows are read as odds
  [[nodiscard]] LevelReference::Options reference() const { return {.bounds = !all_rows, .odds = odds}; }
  [[nodiscard]] LevelOptions kernel() const { return {.all_rows = all_rows, .odds = odds}; }
};
const std::vector<Case> cases{{"logistic", false, {300}, 0},      {"logistic", false, {40}, 1},
                              {"poisson", false, {150, 20}, 0},   {"gaussian", false, {200, 30}, 0},
                              {"student", true, {200}, 1},        {"logistic", true, {150, 20}, 0},
                              {"logistic", true, {150}, 0, true}, {"logistic", true, {3000, 20, 7}, 0, true},
                              {"gamma", false, {300}, 0},         {"gamma", false, {150, 20}, 0},
                              {"gamma", false, {40}, 1},          {"negative-binomial", false, {300}, 0},
                              {"student", false, {200}, 1},       {"gaussian", false, {2000}, 1}};

std::unique_ptr<GroupedModel> model_of(const Case& c) {
  GroupedRecipe recipe;
  recipe.family = c.family;
  recipe.rows = 5000;
  recipe.sd.clear();
  for (std::size_t k = 0; k < c.levels.size(); ++k) {
    recipe.groups.push_back(PlainGroup{.levels = c.levels[k], .slopes = k == 0 ? c.slopes : 0});
    recipe.sd.emplace_back(recipe.groups[k].dim(), 0.6);
  }
  return testing::model_of(testing::make_grouped(recipe), {});
}

// The point after each of the sweeps first..last-1.
std::vector<Eigen::VectorXd> sweeps(LevelKernel& kernel, ChainState& state, std::size_t first,
                                    std::size_t last) {
  std::vector<Eigen::VectorXd> out;
  for (std::size_t k = first; k < last; ++k) {
    if (k == 130) kernel.freeze();
    static_cast<void>(kernel.step(state, {.seed = 9, .chain = 2, .iteration = k}));
    out.push_back(state.theta);
  }
  return out;
}

ChainState start_of(const GroupedModel& model, const GroupedPoint& at) {
  ChainState state;
  state.theta.resize(static_cast<Eigen::Index>(model.dim()));
  model.pack(at, {state.theta.data(), model.dim()});
  return state;
}

TEST(LevelKernel, MakesTheSameDrawsWithAnyNumberOfThreads) {
  for (const Case& c : cases) {
    const auto model = model_of(c);
    std::vector<std::vector<Eigen::VectorXd>> draws;
    for (const std::size_t threads : {1U, 2U, 3U}) {
      ThreadPool pool(threads);
      double passes = 0;
      const GroupedPoint at = find_reference(*model, pool, passes);
      const auto reference = std::make_shared<const LevelReference>(*model, at, pool, c.reference());
      LevelKernel kernel(reference, c.kernel(), pool);
      ChainState state = start_of(*model, at);
      draws.push_back(sweeps(kernel, state, 0, 150));
    }
    for (std::size_t t = 1; t < draws.size(); ++t)
      for (std::size_t k = 0; k < draws[0].size(); ++k)
        ASSERT_TRUE(draws[0][k] == draws[t][k]) << c.family << ", sweep " << k << ", case " << t;
  }
}

// Stopped in warm-up, and after it: what comes next is the same, bit by bit.
TEST(LevelKernel, GoesOnFromWhatItHasSaved) {
  ThreadPool pool(1);
  for (const Case& c : cases) {
    const auto model = model_of(c);
    double passes = 0;
    const GroupedPoint at = find_reference(*model, pool, passes);
    const auto reference = std::make_shared<const LevelReference>(*model, at, pool, c.reference());
    for (const std::size_t stop : {70U, 115U, 140U}) {
      LevelKernel kernel(reference, c.kernel(), pool);
      ChainState state = start_of(*model, at);
      sweeps(kernel, state, 0, stop);
      std::vector<double> saved, end, resumed_end;
      kernel.save(saved);
      LevelKernel fresh(reference, c.kernel(), pool);
      fresh.load(saved);
      ChainState again;
      again.theta = state.theta;
      const auto expected = sweeps(kernel, state, stop, 160), got = sweeps(fresh, again, stop, 160);
      for (std::size_t k = 0; k < got.size(); ++k)
        ASSERT_TRUE(got[k] == expected[k]) << c.family << ", stopped at " << stop << ", sweep " << stop + k;
      kernel.save(end);
      fresh.save(resumed_end);
      EXPECT_EQ(end, resumed_end);
    }
  }
}

// The moments that save() keeps are those of the draws after warm-up.
TEST(LevelKernel, KeepsTheMomentsOfTheEffects) {
  ThreadPool pool(1);
  const auto model = model_of(cases[2]);
  double passes = 0;
  const GroupedPoint at = find_reference(*model, pool, passes);
  LevelKernel kernel(std::make_shared<const LevelReference>(*model, at, pool, LevelReference::Options{}), {},
                     pool);
  ChainState state = start_of(*model, at);
  const auto draws = sweeps(kernel, state, 0, 230);
  std::vector<double> saved;
  kernel.save(saved);
  const LevelKernel::EffectMoments moments = LevelKernel::moments(*model, saved);
  EXPECT_EQ(moments.draws, 100);
  ASSERT_EQ(moments.mean.size(), model->effects());
  for (std::size_t r = 0; r < moments.mean.size(); ++r) {
    double sum = 0, squares = 0;
    for (std::size_t k = 130; k < 230; ++k) {
      const double b = draws[k][static_cast<Eigen::Index>(model->main_parameters() + r)];
      sum += b / 100;
      squares += b * b / 100;
    }
    EXPECT_NEAR(moments.mean[r], sum, 1e-12);
    EXPECT_NEAR(moments.sd[r], std::sqrt(squares - sum * sum), 1e-7);
  }
}

}  // namespace
}  // namespace mlo
