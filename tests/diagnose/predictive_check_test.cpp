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

GroupedModel grouped_model(const std::string& family, Table table, const std::string& formula) {
  return {design_of(std::move(table), formula), make_family(family, {}), {}};
}

// Sigma is nearly 0, so that the simulated responses are the predictors.
TEST(PredictiveCheck, AddsTheEffectsOfARowsGroups) {
  constexpr std::size_t rows = 60;
  Table table = regression_table(rows, 0, {1}, 8, [](Stream& s, double) { return normal(s); });
  const std::vector<double> x = table.columns[1].numbers();
  std::vector<double> g(rows), h(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    g[i] = static_cast<double>(i * 7 % 3);
    h[i] = static_cast<double>(i % 4);
  }
  table.columns.emplace_back("g", g);
  table.columns.emplace_back("h", h);
  const GroupedModel model = grouped_model("gaussian", std::move(table), "y ~ x1 + (1 | g) + (x1 | h)");
  // (Intercept), x1, sigma, sd of g, two sds of h and their correlation; the effects of g, then of h.
  const std::vector<float> effects{0.5F, -1, 0.25F, 1, 2, -3, 0.5F, 0.125F, -0.25F, 4, 1.5F};
  std::vector<ChainDraws> chains = at({0.75, -0.5, 1e-9, 1, 1, 1, 0});
  for (ChainDraws& chain : chains)
    for (std::size_t k = 0; k < chain.size(); ++k)
      chain.effects.insert(chain.effects.end(), effects.begin(), effects.end());
  const auto check = predictive_check(model, {}, chains, {});
  ASSERT_TRUE(check.has_value());
  double least = 1e9, most = -1e9, sum = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto a = static_cast<std::size_t>(g[i]), b = 3 + 2 * static_cast<std::size_t>(h[i]);
    const double eta = 0.75 - 0.5 * x[i] + effects[a] + effects[b] + effects[b + 1] * x[i];
    least = std::min(least, eta);
    most = std::max(most, eta);
    sum += eta;
  }
  // Columns are floats.
  EXPECT_NEAR(named(*check, "smallest").predicted, least, 1e-5);
  EXPECT_NEAR(named(*check, "largest").predicted, most, 1e-5);
  EXPECT_NEAR(named(*check, "mean").predicted, sum / rows, 1e-5);

  for (ChainDraws& chain : chains) chain.effects.clear();
  EXPECT_FALSE(predictive_check(model, {}, chains, {}).has_value());
}

// 1,000 groups of two rows whose effects have the sd 2, and draws of the effects' exact posterior, by
// rejection. A tenth of 200 rows has an sd of at most sqrt(0.25 / 200) = 0.035 about its prediction; tenths
// by the mean of the draws would differ by 0.2 at either end.
TEST(PredictiveCheck, OfGroupsThatAreRightHasNoAlarm) {
  constexpr std::size_t groups = 1000, draws = 50;
  Stream stream({.seed = 4, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
  const auto p = [](double b) { return 1 / (1 + std::exp(-b)); };
  std::vector<double> y, g;
  std::vector<std::vector<double>> of(draws);
  for (std::size_t l = 0; l < groups; ++l) {
    const double b = 2 * normal(stream);
    int ones = 0;
    for (int k = 0; k < 2; ++k) {
      y.push_back(uniform(stream) < p(b) ? 1 : 0);
      g.push_back(static_cast<double>(l));
      ones += static_cast<int>(y.back());
    }
    for (std::vector<double>& draw : of)
      for (;;) {
        const double c = 2 * normal(stream);
        if (uniform(stream) < std::pow(p(c), ones) * std::pow(p(-c), 2 - ones)) {
          draw.push_back(c);
          break;
        }
      }
  }
  Table table;
  table.rows = 2 * groups;
  table.columns.emplace_back("y", y);
  table.columns.emplace_back("g", g);
  const GroupedModel model = grouped_model("logistic", std::move(table), "y ~ 1 + (1 | g)");
  std::vector<ChainDraws> chains = at({0, 2}, draws);
  for (ChainDraws& chain : chains)
    for (const std::vector<double>& draw : of)
      for (const double b : draw) chain.effects.push_back(static_cast<float>(b));
  const auto check = predictive_check(model, {}, chains, {.seed = 3});
  ASSERT_TRUE(check.has_value());
  ASSERT_EQ(check->groups.size(), 10);
  for (const PredictiveCheck::Group& tenth : check->groups) {
    const double sd = std::sqrt(tenth.predicted * (1 - tenth.predicted) / 200);
    EXPECT_NEAR(tenth.observed, tenth.predicted, 5 * sd);
    EXPECT_LT(tenth.q5, tenth.predicted);
    EXPECT_GT(tenth.q95, tenth.predicted);
  }
  EXPECT_LT(check->groups.front().predicted, 0.1);  // the draws differ, not only their means
  EXPECT_GT(check->groups.back().predicted, 0.9);
}

}  // namespace
}  // namespace mlo
