// Copyright (c) the mlo authors. BSD-3-Clause.
// Gaussian responses with few rows per level, against closed forms: with normal priors of the coefficients
// all but sigma and the effects' sd is integrated out, and these two are summed over a grid. |z| < 5; and
// enough effective draws, where sigma and sd are known by their sum of squares mostly.
#include <gtest/gtest.h>

#include <cmath>

#include "support/grouped_quadrature.hpp"

namespace mlo {
namespace {

using testing::GroupedData;
using testing::GroupedPriors;
using testing::GroupedRecipe;
using testing::KernelDraws;
using testing::KernelRun;
using testing::PlainGroup;
using testing::Worst;

// y ~ 1 + (1 | g): moments of the intercept, log sigma, log sd and the effects that are watched.
testing::ExactMoments integrate_gaussian(const GroupedData& data, const GroupedPriors& priors) {
  const std::size_t levels = data.groups[0].levels;
  std::vector<double> size(levels, 0), mean(levels, 0);
  double within = 0;
  for (std::size_t i = 0; i < data.rows; ++i) {
    ++size[data.groups[0].codes[i]];
    mean[data.groups[0].codes[i]] += data.y[i];
  }
  for (std::size_t l = 0; l < levels; ++l) mean[l] /= size[l];
  for (std::size_t i = 0; i < data.rows; ++i)
    within += std::pow(data.y[i] - mean[data.groups[0].codes[i]], 2);
  const std::vector<std::size_t> seen = testing::watched(levels);
  const std::size_t count = 3 + seen.size();
  std::vector<double> first(count, 0), second(count, 0), value(count), square(count);
  double total = 0;
  for (double log_sigma = -11; log_sigma < 2; log_sigma += 0.04)
    for (double log_sd = -11; log_sd < 2.5; log_sd += 0.04) {
      const double noise = std::exp(2 * log_sigma), spread = std::exp(2 * log_sd);
      double density = testing::prior_of_log_second(log_sigma) + testing::prior_of_log_sd(priors, log_sd) -
                       (static_cast<double>(data.rows - levels)) * log_sigma - 0.5 * within / noise;
      double information = 1 / (priors.scale * priors.scale), slope = 0;
      for (std::size_t l = 0; l < levels; ++l) {
        const double v = spread + noise / size[l];
        density -= 0.5 * (std::log(v) + mean[l] * mean[l] / v);
        information += 1 / v;
        slope += mean[l] / v;
      }
      const double a = slope / information;
      density += 0.5 * (a * slope - std::log(information));
      const double weight = std::exp(density);
      value[0] = a;
      square[0] = a * a + 1 / information;
      value[1] = log_sigma;
      value[2] = log_sd;
      for (std::size_t j = 1; j < 3; ++j) square[j] = value[j] * value[j];
      for (std::size_t s = 0; s < seen.size(); ++s) {
        const double n = size[seen[s]], v = spread + noise / n, share = spread / v;
        value[3 + s] = share * (mean[seen[s]] - a);
        square[3 + s] = value[3 + s] * value[3 + s] + share * noise / n + share * share / information;
      }
      total += weight;
      for (std::size_t j = 0; j < count; ++j) {
        first[j] += weight * value[j];
        second[j] += weight * square[j];
      }
    }
  testing::ExactMoments out;
  for (std::size_t j = 0; j < count; ++j) {
    out.mean.push_back(first[j] / total);
    out.variance.push_back(second[j] / total - std::pow(first[j] / total, 2));
  }
  return out;
}

void expect_law(const char* what, const GroupedRecipe& recipe, double least_share) {
  const GroupedData data = testing::make_grouped(recipe);
  const KernelRun run{.sweeps = 20000};
  const KernelDraws kernel = testing::run_kernel(data, run);
  const testing::ExactMoments exact = integrate_gaussian(data, run.priors);
  const Worst worst = testing::compare(kernel, exact.mean, exact.variance);
  testing::report(what, kernel, worst);
  EXPECT_LT(worst.z, 5) << what << ": " << worst.what;
  for (std::size_t j = 0; j < exact.mean.size(); ++j) {
    // The Monte Carlo error that as many independent draws would have.
    const double error = testing::mean_of(kernel.draws[j], [](double x) { return x; }).error;
    EXPECT_GT(exact.variance[j] / (error * error), least_share * 20000) << what << ": " << kernel.names[j];
  }
}

GroupedRecipe recipe_of(std::size_t rows, std::size_t levels) {
  GroupedRecipe out;
  out.family = "gaussian";
  out.rows = rows;
  out.groups = {PlainGroup{.levels = levels}};
  out.a = {0.4};
  return out;
}

TEST(GaussianLevels, HaveTheLawOfClosedFormsWhereEveryRowIsALevel) {
  expect_law("a row per level", recipe_of(40, 40), 0.05);
}

TEST(GaussianLevels, HaveTheLawOfClosedFormsWhereOneLevelHasHalfTheRows) {
  GroupedRecipe recipe = recipe_of(120, 61);
  recipe.sizes = {60};
  expect_law("half the rows, and one each", recipe, 0.2);
}

TEST(GaussianLevels, HaveTheLawOfClosedFormsWithTwoRowsPerLevel) {
  expect_law("two rows per level", recipe_of(100, 50), 0.2);
}

// Priors of the coefficients that are not normal: given the coefficients.
TEST(GaussianLevels, HaveTheLawOfQuadratureWithAStudentPrior) {
  GroupedRecipe recipe = recipe_of(80, 12);
  recipe.a = {0.4, 0.5};
  const GroupedData data = testing::make_grouped(recipe);
  const KernelRun run{.priors = {.scale = 0.3, .freedom = 2}, .sweeps = 20000};
  const KernelDraws kernel = testing::run_kernel(data, run);
  const testing::ExactMoments exact = testing::integrate(data, run.priors, kernel, 0.65);
  const Worst worst = testing::compare(kernel, exact.mean, exact.variance);
  testing::report("student prior", kernel, worst);
  EXPECT_LT(worst.z, 5) << worst.what;
}

}  // namespace
}  // namespace mlo
