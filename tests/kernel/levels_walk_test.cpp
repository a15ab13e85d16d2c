// Copyright (c) the mlo authors. BSD-3-Clause.
// The kernel of group effects with several groupings and with slopes, at a displaced reference, against a
// random walk on all rows (support/grouped_walk.hpp): means and variances of coefficients, log sds, atanh
// correlations and three levels' effects; |z| < 5, one false alarm in a million each, about 400 of them.
#include <gtest/gtest.h>

#include "support/grouped_walk.hpp"

namespace mlo {
namespace {

using testing::GroupedData;
using testing::GroupedRecipe;
using testing::KernelDraws;
using testing::KernelRun;
using testing::PlainGroup;
using testing::Worst;

constexpr LevelOptions few_rows{.most_boost = 1};
constexpr LevelOptions every_row{.all_rows = true};

GroupedRecipe crossed(const char* family, std::size_t rows, const std::vector<std::size_t>& levels) {
  GroupedRecipe out;
  out.family = family;
  out.rows = rows;
  out.sd.clear();
  double sd = 0.8;
  for (const std::size_t count : levels) {
    out.groups.push_back(PlainGroup{.levels = count});
    out.sd.push_back({sd});
    sd -= 0.2;
  }
  return out;
}

// (1 + x1 + .. | g), with that many columns beside the intercept.
GroupedRecipe sloped(const char* family, std::size_t rows, std::size_t levels, std::size_t slopes) {
  GroupedRecipe out;
  out.family = family;
  out.rows = rows;
  out.groups = {PlainGroup{.levels = levels, .slopes = slopes}};
  out.sd = {std::vector<double>(slopes + 1, 0.7)};
  out.correlation = 0.4;
  out.a = {-0.4, 0.5, -0.3};
  out.a.resize(slopes + 1);
  return out;
}

// The same walk for several ways to run the kernel.
void expect_law(const char* what, const GroupedData& data, const std::vector<KernelRun>& runs,
                std::size_t walk_sweeps) {
  const testing::Draws walk = testing::PlainWalk(data, runs[0].priors).run(2000, walk_sweeps);
  for (const KernelRun& run : runs) {
    const KernelDraws kernel = testing::run_kernel(data, run);
    const Worst worst = testing::compare(kernel, walk);
    testing::report(what, kernel, worst);
    EXPECT_LT(worst.z, 5) << what << ": " << worst.what;
    EXPECT_EQ(kernel.violations, 0) << what;
  }
}

void expect_law(const char* what, const GroupedRecipe& recipe, const std::vector<KernelRun>& runs,
                std::size_t walk_sweeps) {
  expect_law(what, testing::make_grouped(recipe), runs, walk_sweeps);
}

TEST(LevelKernel, HasTheLawOfAWalkWithTwoGroupings) {
  expect_law("logistic, 8 x 6", crossed("logistic", 800, {8, 6}),
             {{.options = few_rows, .sweeps = 8000}, {.options = every_row, .sweeps = 6000}}, 16000);
  expect_law("probit, 8 x 6", crossed("probit", 400, {8, 6}), {{.options = few_rows, .sweeps = 6000}}, 14000);
  expect_law("poisson, 6 x 6", crossed("poisson", 300, {6, 6}),
             {{.options = few_rows, .sweeps = 6000}, {.options = every_row, .sweeps = 6000}}, 16000);
  expect_law("gaussian, 9 x 7", crossed("gaussian", 300, {9, 7}),
             {{.options = few_rows, .sweeps = 20000}, {.options = every_row, .sweeps = 6000}}, 20000);
  expect_law("gamma, 5 x 4", crossed("gamma", 200, {5, 4}),
             {{.options = few_rows, .sweeps = 12000}, {.options = every_row, .sweeps = 8000}}, 24000);
}

// About a row per cell, and tiny levels.
TEST(LevelKernel, HasTheLawOfAWalkWithSparseCells) {
  expect_law("logistic, 50 x 20", crossed("logistic", 400, {50, 20}), {{.options = few_rows, .sweeps = 6000}},
             16000);
}

TEST(LevelKernel, HasTheLawOfAWalkWithThreeGroupings) {
  expect_law("logistic, 7 x 6 x 5", crossed("logistic", 600, {7, 6, 5}),
             {{.options = few_rows, .sweeps = 6000}}, 12000);
  expect_law("gaussian, 7 x 6 x 5", crossed("gaussian", 300, {7, 6, 5}),
             {{.options = few_rows, .sweeps = 20000}}, 16000);
}

TEST(LevelKernel, HasTheLawOfAWalkWithCorrelatedSlopes) {
  expect_law("logistic, two effects", sloped("logistic", 800, 10, 1),
             {{.options = few_rows, .sweeps = 8000}, {.options = every_row, .sweeps = 6000}}, 16000);
  expect_law("poisson, two effects", sloped("poisson", 300, 10, 1), {{.options = few_rows, .sweeps = 5000}},
             20000);
  expect_law("gamma, two effects", sloped("gamma", 250, 10, 1), {{.options = few_rows, .sweeps = 12000}},
             24000);
  expect_law("gaussian, two effects", sloped("gaussian", 300, 12, 1), {{.sweeps = 20000}}, 20000);
  expect_law("student, two effects", sloped("student", 200, 10, 1),
             {{.options = few_rows, .sweeps = 12000}, {.options = every_row, .sweeps = 6000}}, 20000);
  expect_law("negative-binomial, two effects", sloped("negative-binomial", 300, 10, 1),
             {{.options = few_rows, .sweeps = 12000}}, 24000);
  expect_law("gaussian, three effects", sloped("gaussian", 250, 12, 2), {{.sweeps = 20000}}, 20000);
}

TEST(LevelKernel, HasTheLawOfAWalkWithUncorrelatedSlopes) {
  GroupedRecipe recipe = sloped("logistic", 500, 10, 1);
  recipe.correlation = 0;
  recipe.groups[0].correlated = false;
  expect_law("logistic", recipe, {{.options = few_rows, .sweeps = 8000}}, 20000);
  recipe.family = "gaussian";
  recipe.rows = 250;
  expect_law("gaussian", recipe, {{.sweeps = 20000}}, 20000);
}

// Slopes beside another grouping have no cells: all rows are read.
TEST(LevelKernel, HasTheLawOfAWalkWithSlopesAndAnotherGrouping) {
  GroupedRecipe recipe = sloped("logistic", 400, 8, 1);
  recipe.groups.push_back(PlainGroup{.levels = 6});
  recipe.sd.push_back({0.5});
  recipe.weight = recipe.offset = true;
  expect_law("logistic, weights, offset", recipe,
             {{.options = every_row, .priors = {.scale = 0.5, .freedom = 3}, .sweeps = 8000}}, 16000);
}

TEST(LevelKernel, HasTheLawOfAWalkWithFourEffects) {
  expect_law("logistic, four effects", sloped("logistic", 800, 14, 3),
             {{.options = few_rows, .sweeps = 10000}}, 24000);
}

// The posterior of an sd that is nearly 0 reaches down to 0.
TEST(LevelKernel, HasTheLawOfAWalkWhereAnSdIsNearZero) {
  GroupedRecipe recipe = crossed("logistic", 400, {12});
  recipe.sd = {{0.01}};
  expect_law("sd near 0", recipe, {{.options = few_rows, .sweeps = 20000}}, 30000);
}

// Inner levels within outer ones: they trade with each other.
TEST(LevelKernel, HasTheLawOfAWalkWithNestedGroupings) {
  for (const char* const family : {"gaussian", "logistic"}) {
    GroupedData data = testing::make_grouped(crossed(family, 300, {4, 16}));
    for (std::size_t i = 0; i < data.rows; ++i) data.groups[0].codes[i] = data.groups[1].codes[i] / 4;
    expect_law("nested", data, {{.options = few_rows, .sweeps = 12000}}, 30000);
  }
}

TEST(LevelKernel, HasTheLawOfAWalkWhereOneLevelHasHalfTheRows) {
  GroupedData data = testing::make_grouped(crossed("logistic", 500, {9}));
  for (std::size_t i = 0; i < data.rows; i += 2) data.groups[0].codes[i] = 3;
  expect_law("one large level", data, {{.options = few_rows, .sweeps = 10000}}, 16000);
}

// Without the rows' remainders the comparison fails.
TEST(LevelKernel, IsWrongWithoutTheRowsRemaindersWithSlopesOrTwoGroupings) {
  KernelRun run{.options = few_rows, .sweeps = 10000};
  run.options.remainders = false;
  for (const GroupedRecipe& recipe : {crossed("logistic", 400, {8, 6}), sloped("logistic", 400, 10, 1),
                                      crossed("gamma", 200, {5, 4}), sloped("gamma", 250, 10, 1)}) {
    const GroupedData data = testing::make_grouped(recipe);
    const Worst worst = testing::compare(testing::run_kernel(data, run),
                                         testing::PlainWalk(data, run.priors).run(2000, 12000));
    std::printf("without remainders: largest |z| %.1f (%s)\n", worst.z, worst.what.c_str());
    EXPECT_FALSE(worst.z < 6);
  }
}

// The same of the moves of a second parameter alone, from references that are further off.
TEST(LevelKernel, IsWrongWithoutTheRowsRemaindersInMovesOfTheSecondParameterWithSlopesOrTwoGroupings) {
  for (const GroupedRecipe& recipe : {crossed("gamma", 300, {5, 4}), sloped("gamma", 300, 10, 1)}) {
    const GroupedData data = testing::make_grouped(recipe);
    KernelRun run{.options = few_rows, .sweeps = 30000, .displaced = 1.6};
    const testing::Draws walk = testing::PlainWalk(data, run.priors).run(2000, 30000);
    for (const bool remainders : {true, false}) {
      run.options.remainders_of_second = remainders;
      const KernelDraws kernel = testing::run_kernel(data, run);
      const Worst worst = testing::compare(kernel, walk);
      testing::report(remainders ? "gamma, further off" : "gamma, further off, not decided by rows", kernel,
                      worst);
      EXPECT_EQ(remainders, worst.z < 5) << worst.what;
      EXPECT_EQ(kernel.violations, 0);
    }
  }
}

TEST(LevelKernel, CountsRowsThatBreakTheirBoundsWithSlopesOrTwoGroupings) {
  KernelRun run{.options = few_rows, .sweeps = 1000};
  for (const char* const family : {"logistic", "gamma"}) {
    // Exponentials over seven sds have loose bounds.
    run.options.bound_factor = family[0] == 'l' ? 0.1 : 0.01;
    for (const GroupedRecipe& recipe : {crossed(family, 2000, {8, 6}), sloped(family, 2000, 10, 1)})
      EXPECT_GT(testing::run_kernel(testing::make_grouped(recipe), run).violations, 20) << family;
  }
}

}  // namespace
}  // namespace mlo
