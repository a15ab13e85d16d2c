// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/diagnose/predictive_check.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "support/designs.hpp"

namespace mlo {
namespace {

using testing::design_of;
using testing::regression_table;

Glm model_of(const std::string& family, Table table, const std::string& formula) {
  std::shared_ptr<const Family> made = make_family(family, {});
  Design design = design_of(std::move(table), formula);
  GlmPriors priors = usual_priors(design, *made);
  return {std::move(design), made, std::move(priors)};
}

// Chains whose draws are all at one point, so that the law of the simulated responses is known.
std::vector<ChainDraws> at(const std::vector<double>& point, std::size_t draws = 50) {
  ChainDraws chain;
  chain.dim = point.size();
  for (std::size_t k = 0; k < draws; ++k) {
    chain.draws.insert(chain.draws.end(), point.begin(), point.end());
    chain.log_posteriors.push_back(0);
  }
  return {chain, chain};
}

const PredictiveCheck::Statistic& named(const PredictiveCheck& check, const std::string& name) {
  for (const PredictiveCheck::Statistic& s : check.statistics)
    if (s.name == name) return s;
  throw std::runtime_error("no statistic " + name);
}

// 2,000 responses with mean 2 and sd 3: the mean of a simulated set has the sd 3 / sqrt(2000), and its 5 %
// and 95 % quantiles, over 100 sets, errors of about 0.2 of that. The observed mean is the one of the data.
TEST(PredictiveCheck, SimulatesFromTheLawOfTheDraws) {
  Table table = regression_table(2000, 0, {0}, 3, [](Stream& s, double) { return 2 + 3 * normal(s); });
  const std::vector<double> y = table.columns[0].numbers();
  const Glm model = model_of("gaussian", std::move(table), "y ~ x1");
  const auto check = predictive_check(model, {}, at({2, 0, 3}), {.seed = 9});
  ASSERT_TRUE(check.has_value());
  EXPECT_EQ(check->rows, 2000);
  EXPECT_EQ(check->draws, 100);
  EXPECT_FALSE(check->binary);
  const double error = 3 / std::sqrt(2000.0);
  const PredictiveCheck::Statistic& mean = named(*check, "mean");
  EXPECT_NEAR(mean.observed, std::accumulate(y.begin(), y.end(), 0.0) / 2000, 1e-9);
  EXPECT_NEAR(mean.predicted, 2, 5 * error / 10);  // of 100 sets
  EXPECT_NEAR(mean.q5, 2 - 1.645 * error, error);
  EXPECT_NEAR(mean.q95, 2 + 1.645 * error, error);
  EXPECT_NEAR(named(*check, "sd").predicted, 3, 0.05);
  // Shares of all bins add up to 1, and the middle ones are those of the normal law.
  double observed = 0, predicted = 0;
  for (const PredictiveCheck::Group& g : check->groups) {
    observed += g.observed;
    predicted += g.predicted;
    const auto cdf = [](double x) { return 0.5 * std::erfc(-(x - 2) / 3 / std::sqrt(2)); };
    if (&g != &check->groups.front() && &g != &check->groups.back()) {
      const double share = cdf(g.high) - cdf(g.low);
      EXPECT_NEAR(g.predicted, share, 5 * std::sqrt(share / 200'000));
    }
  }
  EXPECT_NEAR(observed, 1, 1e-9);
  EXPECT_NEAR(predicted, 1, 1e-9);
}

TEST(PredictiveCheck, SeesWhatTheModelDoesNotImitate) {
  // Counts with twice as many zeros as their Poisson law has.
  Table table = regression_table(3000, 1, {0.5}, 4, [](Stream& s, double eta) {
    return uniform(s) < 0.3 ? 0.0 : static_cast<double>(poisson(s, std::exp(eta)));
  });
  const Glm model = model_of("poisson", std::move(table), "y ~ x1");
  const auto check = predictive_check(model, {}, at({1, 0.5}), {.seed = 9});
  ASSERT_TRUE(check.has_value());
  EXPECT_EQ(check->rows, 2000);  // of 3,000
  const PredictiveCheck::Statistic& zeros = named(*check, "share of zeros");
  EXPECT_GT(zeros.observed, zeros.q95);
  EXPECT_EQ(zeros.below, 1);
  // Counts have bins around whole numbers.
  EXPECT_EQ(check->groups.front().low, -0.5);
  EXPECT_EQ(check->groups.front().high, 0.5);
}

// Without columns all rows have the same prediction: one group, whose share has a binomial law.
TEST(PredictiveCheck, OfBinaryResponsesIsACalibration) {
  Table table = regression_table(1000, 0, {1}, 5, [](Stream& s, double) { return uniform(s) < 0.3 ? 1 : 0; });
  const Glm constant = model_of("logistic", table, "y ~ 1");
  const auto one = predictive_check(constant, {}, at({std::log(0.3 / 0.7)}), {.seed = 2});
  ASSERT_TRUE(one.has_value());
  EXPECT_TRUE(one->binary);
  ASSERT_EQ(one->groups.size(), 1);
  const double sd = std::sqrt(0.3 * 0.7 / 1000);
  EXPECT_NEAR(one->groups[0].predicted, 0.3, 1e-12);
  EXPECT_NEAR(one->groups[0].observed, 0.3, 5 * sd);
  EXPECT_NEAR(one->groups[0].q5, 0.3 - 1.645 * sd, sd);
  EXPECT_NEAR(one->groups[0].q95, 0.3 + 1.645 * sd, sd);

  const Glm slope = model_of("logistic", std::move(table), "y ~ x1");
  const auto ten = predictive_check(slope, {}, at({-1, 2}), {.seed = 2});
  ASSERT_EQ(ten->groups.size(), 10);
  for (std::size_t g = 1; g < 10; ++g) EXPECT_GE(ten->groups[g].low, ten->groups[g - 1].high);
}

TEST(PredictiveCheck, DependsOnTheSeedAlone) {
  const Table table = regression_table(5000, 0, {1}, 6, testing::draw_logistic);
  const Glm model = model_of("logistic", table, "y ~ x1");
  const auto check = [&](std::uint64_t seed) {
    return predictive_check(model, {}, at({0, 1}), {.seed = seed})->groups;
  };
  const auto a = check(1), b = check(1), c = check(2);
  EXPECT_EQ(a[3].q5, b[3].q5);
  EXPECT_EQ(a[3].observed, b[3].observed);
  EXPECT_NE(a[3].observed, c[3].observed);  // other rows
}

TEST(PredictiveCheck, IsLeftOutForWeightedRows) {
  Table table = regression_table(100, 0, {1}, 7, testing::draw_logistic);
  table.columns.emplace_back("w", std::vector<double>(100, 2.0));
  const std::shared_ptr<const Family> family = make_family("logistic", {});
  Design design = design_of(std::move(table), "y ~ x1", {.row_weights = "w"});
  GlmPriors priors = usual_priors(design, *family);
  const Glm model(std::move(design), family, std::move(priors));
  EXPECT_FALSE(predictive_check(model, {}, at({0, 1}), {}).has_value());
}

}  // namespace
}  // namespace mlo
