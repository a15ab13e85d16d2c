// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/registry/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "mlo/base/errors.hpp"
#include "mlo/registry/simulate.hpp"

namespace mlo {
namespace {

FitOptions options(const std::string& family, const std::string& method, const std::string& formula) {
  FitOptions o;
  o.data = "simulated";
  o.family = family;
  o.method = method;
  o.formula = formula;
  o.seed = 5;
  o.threads = 2;
  return o;
}

// From a table to intervals, for every family: the true parameters lie within 5 posterior sds of the means
// (the data are random too, so this is one false alarm in a million), and the sds are those of the Laplace
// fit within 15 %: 4000 draws know an sd to 3 % or so, and thousands of rows make the posterior nearly
// normal.
TEST(Fit, FindsTheTrueParametersOfEveryFamily) {
  for (const FamilyEntry& family : families()) {
    SimulateOptions data;
    data.family = std::string(family.name);
    data.rows = 4000;
    data.seed = 11;
    std::vector<double> truth{0.3, 0.8, -0.4};
    std::string formula = "y ~ x1 + x2";
    if (family.name == "gaussian-mean" || family.name == "gaussian-precision") {
      data.coefficients = {2.5};
      truth = {2.5};
      formula = "y ~ 1";
    } else {
      data.intercept = 0.3;
      data.coefficients = {0.8, -0.4};
    }
    if (family.name == "gaussian") truth.push_back(1);
    const FitResult result = fit(options(data.family, "full", formula), simulate(data));
    ASSERT_EQ(result.summary.parameters.size(), truth.size()) << family.name;
    for (std::size_t j = 0; j < truth.size(); ++j) {
      const ParameterSummary& p = result.summary.parameters[j];
      EXPECT_LT(std::abs(p.mean - truth[j]) / p.sd, 5) << family.name << " " << p.name;
      EXPECT_NEAR(result.summary.noise.sd_ratio[j], 1, 0.15) << family.name << " " << p.name;
      EXPECT_LT(p.rhat, 1.02);
    }
  }
}

TEST(Fit, WorksForEveryMethodAndProposal) {
  SimulateOptions data;
  data.rows = 3000;
  const Table table = simulate(data);
  for (const MethodEntry& method : methods())
    for (const char* proposal : {"laplace", "random-walk", "adaptive"}) {
      FitOptions o = options("logistic", std::string(method.name), "y ~ 0 + x1 + x2");
      o.proposal = proposal;
      o.warmup = 300;
      o.draws = 300;
      const FitResult result = fit(o, table);
      EXPECT_EQ(result.summary.method.promise, method.promise) << method.name;
      EXPECT_EQ(result.chains[0].size(), 300U);
      EXPECT_EQ(result.summary.method.noise_sd > 0, method.promise != Promise::exact);
      // The place is right even where the spread is not: within 3 of the draws' own sds.
      EXPECT_LT(std::abs(result.summary.parameters[0].mean - 1), 3 * result.summary.parameters[0].sd + 0.1);
    }
}

// The scale of the columns changes the coefficients' units and nothing else.
TEST(Fit, ScaleChangesUnitsOnly) {
  SimulateOptions data;
  data.rows = 3000;
  Table table = simulate(data);
  for (double& x : table.columns[1].values) x = 500 + 20 * x;
  FitOptions o = options("logistic", "full", "y ~ x1 + x2");
  const FitResult none = fit(o, table);
  o.scale = "sd";
  const FitResult sd = fit(o, table);
  o.scale = "standard";
  const FitResult standard = fit(o, table);
  const auto& x = table.columns[1].values;
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / 3000;
  double squares = 0;
  for (const double v : x) squares += (v - mean) * (v - mean);
  const double unit = std::sqrt(squares / 2999);
  // Same seed, same working coordinates, and priors that scale along: the same draws up to units.
  EXPECT_NEAR(sd.summary.parameters[1].mean, none.summary.parameters[1].mean * unit, 1e-9);
  EXPECT_NEAR(standard.summary.parameters[1].mean, none.summary.parameters[1].mean * unit, 1e-9);
  EXPECT_NEAR(sd.summary.parameters[0].mean, none.summary.parameters[0].mean, 1e-9);
}

TEST(Fit, AStatedPriorHoldsAsStated) {
  SimulateOptions data;
  data.rows = 200;
  FitOptions o = options("logistic", "full", "y ~ 0 + x1 + x2");
  o.prior_for = {{"x1", "normal(-3, 0.001)"}};
  const FitResult result = fit(o, simulate(data));
  EXPECT_NEAR(result.summary.parameters[0].mean, -3, 0.01);
  o.prior_for = {{"x9", "normal(0, 1)"}};
  EXPECT_THROW(static_cast<void>(fit(o, simulate(data))), UsageError);
  o.prior_for = {{"x1", "gamma(1, 1)"}};
  EXPECT_THROW(static_cast<void>(fit(o, simulate(data))), UsageError);
}

TEST(Options, ComeBackFromJsonAsTheyWere) {
  FitOptions o = options("poisson", "mlo-adaptive", "y ~ x");
  o.prior = "normal(0, 1)";
  o.prior_for = {{"x", "flat"}, {"sigma", "gamma(1,2)"}};
  o.delta = 0.1;
  o.subsample_size = 12;
  EXPECT_EQ(options_to_json(options_from_json(options_to_json(o), "run.json")), options_to_json(o));
  EXPECT_THROW(static_cast<void>(options_from_json("{}", "run.json")), DataError);
}

TEST(Simulate, RowsDependOnTheSeedAndTheirNumberAlone) {
  SimulateOptions few, many;
  few.rows = 10;
  many.rows = 100;
  const Table a = simulate(few), b = simulate(many);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(a.columns[1].values[i], b.columns[1].values[i]);
}

}  // namespace
}  // namespace mlo
