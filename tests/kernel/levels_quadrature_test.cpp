// Copyright (c) the mlo authors. BSD-3-Clause.
// The kernel of group effects with one grouping, at a displaced reference, against quadrature: means and
// variances of the coefficients, the second parameter, log sd and three effects; |z| < 5, one false alarm in
// a million each, about 300 of them.
#include <gtest/gtest.h>

#include <cmath>

#include "support/grouped_quadrature.hpp"

namespace mlo {
namespace {

using testing::GroupedData;
using testing::GroupedRecipe;
using testing::KernelDraws;
using testing::KernelRun;
using testing::PlainGroup;
using testing::Worst;

// Rows are drawn as seldom as the bounds allow, so that the decisions are as noisy as they can be.
constexpr LevelOptions few_rows{.most_boost = 1};
constexpr LevelOptions every_row{.all_rows = true};

GroupedRecipe recipe_of(const char* family, std::size_t rows = 2000, std::size_t levels = 10) {
  GroupedRecipe out;
  out.family = family;
  out.rows = rows;
  out.groups = {PlainGroup{.levels = levels}};
  return out;
}
GroupedRecipe known(const char* family, double second) {
  GroupedRecipe out = recipe_of(family);
  out.known = true;
  out.second = second;
  return out;
}

Worst worst_of(const char* what, const GroupedRecipe& recipe, const KernelRun& run, double fine = 1) {
  const GroupedData data = testing::make_grouped(recipe);
  const KernelDraws kernel = testing::run_kernel(data, run);
  const testing::ExactMoments exact = testing::integrate(data, run.priors, kernel, fine);
  EXPECT_LT(exact.border, 1e-3) << what;
  const Worst worst = testing::compare(kernel, exact.mean, exact.variance);
  testing::report(what, kernel, worst);
  EXPECT_EQ(kernel.violations, 0) << what;
  return worst;
}
void expect_law(const char* what, const GroupedRecipe& recipe, const KernelRun& run, double fine = 1) {
  const Worst worst = worst_of(what, recipe, run, fine);
  EXPECT_LT(worst.z, 5) << what << ": " << worst.what;
}

TEST(LevelKernel, HasTheLawOfQuadratureWhereRowsAreDrawn) {
  expect_law("logistic", recipe_of("logistic"), {.options = few_rows, .sweeps = 40000});
  expect_law("logistic, usual options", recipe_of("logistic"), {.sweeps = 10000});
  expect_law("logistic, 400 rows", recipe_of("logistic", 400), {.options = few_rows, .sweeps = 20000});
  expect_law("probit", recipe_of("probit"), {.options = few_rows, .sweeps = 30000});
  expect_law("poisson", recipe_of("poisson", 1000), {.options = few_rows, .sweeps = 10000});
  expect_law("poisson, usual options", recipe_of("poisson", 400), {.sweeps = 10000});
}

TEST(LevelKernel, HasTheLawOfQuadratureWithAKnownSecondParameter) {
  expect_law("negative-binomial, size 2", known("negative-binomial", 2),
             {.options = few_rows, .sweeps = 20000});
  expect_law("student, sigma 0.5", known("student", 0.5), {.options = few_rows, .sweeps = 20000});
  expect_law("student, sigma 0.5, all rows", known("student", 0.5), {.options = every_row, .sweeps = 10000});
  expect_law("gamma, shape 2", known("gamma", 2), {.options = few_rows, .sweeps = 15000});
}

TEST(LevelKernel, HasTheLawOfQuadratureWithASecondParameterEstimated) {
  constexpr double fine = 0.65;
  expect_law("gaussian", recipe_of("gaussian", 400, 7), {.sweeps = 60000}, fine);
  expect_law("gaussian, all rows", recipe_of("gaussian", 300, 6), {.options = every_row, .sweeps = 15000},
             fine);
  expect_law("student", recipe_of("student", 800, 8), {.options = few_rows, .sweeps = 30000}, fine);
  expect_law("student, all rows", recipe_of("student", 300, 6), {.options = every_row, .sweeps = 15000},
             fine);
  expect_law("negative-binomial", recipe_of("negative-binomial", 800, 8),
             {.options = few_rows, .sweeps = 20000}, fine);
  expect_law("negative-binomial, 200 rows", recipe_of("negative-binomial", 200, 6),
             {.options = few_rows, .sweeps = 30000}, fine);
  expect_law("negative-binomial, all rows", recipe_of("negative-binomial", 300, 6),
             {.options = every_row, .sweeps = 15000}, fine);
  expect_law("gamma", recipe_of("gamma", 1000, 8), {.options = few_rows, .sweeps = 20000}, fine);
  expect_law("gamma, 200 rows", recipe_of("gamma", 200, 6), {.options = few_rows, .sweeps = 30000}, fine);
  expect_law("gamma, all rows", recipe_of("gamma", 300, 6), {.options = every_row, .sweeps = 15000}, fine);
}

TEST(LevelKernel, HasTheLawOfQuadratureWhereAllRowsAreRead) {
  expect_law("logistic", recipe_of("logistic", 400), {.options = every_row, .sweeps = 20000});
  expect_law("poisson", recipe_of("poisson", 400), {.options = every_row, .sweeps = 20000});
}

// (0 + x | g)
TEST(LevelKernel, HasTheLawOfQuadratureWithSlopesAlone) {
  for (const char* family : {"logistic", "gaussian"}) {
    GroupedRecipe recipe = recipe_of(family, family[0] == 'g' ? 300 : 1500, 8);
    recipe.groups[0].intercept = false;
    recipe.groups[0].slopes = 1;
    expect_law(family, recipe, {.options = few_rows, .sweeps = 20000}, family[0] == 'g' ? 0.65 : 1);
    recipe.rows = 300;
    if (family[0] == 'l') expect_law("all rows", recipe, {.options = every_row, .sweeps = 20000});
  }
}

TEST(LevelKernel, HasTheLawOfQuadratureWithWeightsAnOffsetAndAStudentPrior) {
  GroupedRecipe recipe = recipe_of("logistic", 1200);
  recipe.weight = recipe.offset = true;
  const testing::GroupedPriors heavy{.scale = 0.3, .freedom = 2};
  expect_law("weights and offset", recipe, {.options = few_rows, .sweeps = 20000});
  expect_law("student prior", recipe_of("logistic", 300, 6),
             {.options = few_rows, .priors = heavy, .sweeps = 20000});
  recipe.rows = 300;
  expect_law("all of them", recipe, {.options = every_row, .priors = heavy, .sweeps = 20000});
  recipe.family = "poisson";
  expect_law("poisson", recipe, {.options = few_rows, .priors = heavy, .sweeps = 10000});
  recipe.family = "gaussian";
  expect_law("gaussian", recipe, {.priors = heavy, .sweeps = 20000}, 0.65);
}

// Two levels with a row each, one with 15 rows of one outcome: far from normal, so sliced.
TEST(LevelKernel, HasTheLawOfQuadratureWithTinyLevels) {
  GroupedRecipe recipe = recipe_of("logistic", 500, 9);
  recipe.sizes = {1, 1, 15, 2, 3};
  GroupedData data = testing::make_grouped(recipe);
  for (std::size_t i = 0; i < data.rows; ++i)
    if (data.groups[0].codes[i] == 2) data.y[i] = 1;
  // The watched levels are 0, in the middle and the last: codes 2 and 4 change places.
  for (auto& code : data.groups[0].codes) code = code == 2 ? 4 : code == 4 ? 2 : code;
  for (const LevelOptions& options : {few_rows, every_row}) {
    const KernelRun run{.options = options, .sweeps = 30000};
    const KernelDraws kernel = testing::run_kernel(data, run);
    const testing::ExactMoments exact = testing::integrate(data, run.priors, kernel);
    const Worst worst = testing::compare(kernel, exact.mean, exact.variance);
    testing::report("tiny levels", kernel, worst);
    EXPECT_LT(worst.z, 5) << worst.what;
    EXPECT_EQ(kernel.violations, 0);
  }
}

// Levels of one row or two, far from all others: their terms are not concave, and the precision of the effect
// at the reference may be negative.
TEST(LevelKernel, HasTheLawOfQuadratureWithOutlyingLevelsOfAStudentResponse) {
  GroupedRecipe recipe = recipe_of("student", 200, 7);
  recipe.second = 0.3;
  recipe.sizes = {1, 2, 1, 1};
  GroupedData data = testing::make_grouped(recipe);
  for (std::size_t i = 0; i < data.rows; ++i)
    if (data.groups[0].codes[i] < 4) data.y[i] += i % 2 == 0 ? 3 : -2;
  for (const LevelOptions& options : {few_rows, every_row}) {
    const KernelRun run{.options = options, .priors = {.sd_scale = 0.5}, .sweeps = 12000};
    const KernelDraws kernel = testing::run_kernel(data, run);
    const testing::ExactMoments exact = testing::integrate(data, run.priors, kernel, 0.8, 500);
    const Worst worst = testing::compare(kernel, exact.mean, exact.variance);
    testing::report("outlying levels", kernel, worst);
    EXPECT_LT(worst.z, 5) << worst.what;
    EXPECT_EQ(kernel.violations, 0);
  }
}

// References so far off that levels and coefficients leave their boxes, and the rows' second derivatives at
// the reference are no information matrix.
TEST(LevelKernel, HasTheLawOfQuadratureOutsideTheBoxOfAStudentResponse) {
  GroupedRecipe recipe = recipe_of("student", 150, 6);
  for (const double displaced : {3.5, 5.0})
    expect_law("far off", recipe, {.options = few_rows, .sweeps = 10000, .displaced = displaced}, 0.65);
  recipe.known = true;
  expect_law("far off, known", recipe, {.options = few_rows, .sweeps = 10000, .displaced = 3.5}, 0.65);
}

// y ~ 1 + (1 | g) with one level or two, of which little is known: log sigma has a long tail to the left, so
// the effect is integrated over b / sigma.
TEST(LevelKernel, HasTheLawOfQuadratureWithOneLevelOrTwo) {
  for (const std::size_t levels : {1U, 2U})
    for (const LevelOptions& options : {few_rows, every_row}) {
      GroupedRecipe recipe = recipe_of("logistic", 150, levels);
      recipe.a = {0.8};
      const GroupedData data = testing::make_grouped(recipe);
      const KernelRun run{.options = options, .sweeps = 40000};
      const KernelDraws kernel = testing::run_kernel(data, run);
      std::vector<double> ones(levels, 0), sizes(levels, 0);
      for (std::size_t i = 0; i < data.rows; ++i) {
        ones[data.groups[0].codes[i]] += data.y[i];
        ++sizes[data.groups[0].codes[i]];
      }
      double total = 0;
      std::vector<double> mean(2 + levels, 0), square(2 + levels, 0), value(2 + levels), moment(2 + levels);
      for (double a = -7; a <= 7; a += 0.12)
        for (double log_sd = -11; log_sd <= 4; log_sd += 0.15) {
          const double sd = std::exp(log_sd);
          double density = std::exp(testing::prior_of_coefficient(run.priors, a) +
                                    testing::prior_of_log_sd(run.priors, log_sd));
          value[0] = a;
          value[1] = log_sd;
          for (std::size_t j = 0; j < 2; ++j) moment[j] = value[j] * value[j];
          for (std::size_t l = 0; l < levels; ++l) {
            double sum = 0, first = 0, second = 0;
            // sigma z moves in steps of 0.15 at most.
            const double step = std::min(0.25, 0.15 / sd);
            for (double z = -8; z <= 8; z += step) {
              const double b = sd * z, eta = a + b;
              const double p =
                  step * std::exp(ones[l] * (eta - 1) - sizes[l] * (std::log1p(std::exp(eta)) - 1.2) -
                                  0.5 * z * z - 0.5 * sizes[l]);
              sum += p;
              first += b * p;
              second += b * b * p;
            }
            density *= sum;
            value[2 + l] = first / std::max(sum, 1e-300);
            moment[2 + l] = second / std::max(sum, 1e-300);
          }
          total += density;
          for (std::size_t j = 0; j < value.size(); ++j) {
            mean[j] += density * value[j];
            square[j] += density * moment[j];
          }
        }
      for (std::size_t j = 0; j < mean.size(); ++j) {
        mean[j] /= total;
        square[j] = square[j] / total - mean[j] * mean[j];
      }
      const Worst worst = testing::compare(kernel, mean, square);
      testing::report(levels == 1 ? "one level" : "two levels", kernel, worst);
      EXPECT_LT(worst.z, 5) << worst.what;
    }
}

// What shows that the tests above see the rows' remainders: without them they fail.
TEST(LevelKernel, IsWrongWithoutTheRowsRemainders) {
  KernelRun run{.options = few_rows, .sweeps = 20000};
  run.options.remainders = false;
  for (const char* family : {"logistic", "probit", "poisson"}) {
    const Worst worst = worst_of(family, recipe_of(family, 600), run);
    EXPECT_FALSE(worst.z < 8) << family;  // or the chain has gone astray, and z is not a number
  }
  for (const char* family : {"gamma", "negative-binomial", "student"})
    EXPECT_FALSE(worst_of(family, recipe_of(family, 200, 6), run, 0.65).z < 8) << family;
}

// The same of the moves of a second parameter alone, from a reference that is further off.
TEST(LevelKernel, IsWrongWithoutTheRowsRemaindersInMovesOfTheSecondParameter) {
  for (const char* family : {"gamma", "negative-binomial", "student"}) {
    const GroupedRecipe recipe = recipe_of(family, 200, 6);
    KernelRun run{.options = few_rows, .sweeps = 20000, .displaced = 1.8};
    expect_law("further off", recipe, run, 0.65);
    run.options.remainders_of_second = false;
    EXPECT_FALSE(worst_of("not decided by rows", recipe, run, 0.65).z < 8) << family;
  }
}

TEST(LevelKernel, CountsRowsThatBreakTheirBounds) {
  KernelRun run{.options = few_rows, .sweeps = 2000};
  run.options.bound_factor = 0.1;
  for (const char* family : {"logistic", "probit", "poisson", "gamma", "negative-binomial", "student"})
    EXPECT_GT(testing::run_kernel(testing::make_grouped(recipe_of(family)), run).violations, 50) << family;
}

}  // namespace
}  // namespace mlo
