// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/registry/fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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
    if (family.name == "gaussian" || family.name == "student") truth.push_back(1);  // sigma
    if (family.name == "negative-binomial") truth.push_back(1);                     // size
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

// The same where the second parameter is known.
TEST(Fit, TakesAKnownScaleOrSize) {
  for (const std::string family : {"student", "negative-binomial"}) {
    SimulateOptions data;
    data.family = family;
    data.rows = 4000;
    data.intercept = 0.3;
    data.coefficients = {0.8, -0.4};
    data.sigma = 2.5;
    data.freedom = 3;
    data.size = 0.6;
    FitOptions o = options(family, "full", "y ~ x1 + x2");
    if (family == "student") {
      o.known_sigma = 2.5;
      o.freedom = 3;
    } else {
      o.size = 0.6;
    }
    const FitResult result = fit(o, simulate(data));
    const std::vector<double> truth{0.3, 0.8, -0.4};
    ASSERT_EQ(result.summary.parameters.size(), truth.size()) << family;
    for (std::size_t j = 0; j < truth.size(); ++j) {
      const ParameterSummary& p = result.summary.parameters[j];
      EXPECT_LT(std::abs(p.mean - truth[j]) / p.sd, 5) << family << " " << p.name;
      EXPECT_NEAR(result.summary.noise.sd_ratio[j], 1, 0.15) << family << " " << p.name;
    }
  }
}

// Up to 20,000 rows the methods that leave the posterior as it is take several steps a draw; as many as
// --thin would, and never where it says otherwise.
TEST(Fit, TakesSeveralStepsADrawWhereRowsAreFew) {
  const FitOptions exact = options("gaussian", "auto", "y ~ x1 + x2");
  EXPECT_EQ(default_thin(exact, 0), 10);
  EXPECT_EQ(default_thin(exact, 2000), 10);
  EXPECT_EQ(default_thin(exact, 2001), 9);
  EXPECT_EQ(default_thin(exact, 10'000), 2);
  EXPECT_EQ(default_thin(exact, 20'000), 1);
  EXPECT_EQ(default_thin(exact, 10'000'000), 1);
  EXPECT_EQ(default_thin(options("gaussian", "mlo", "y ~ x1 + x2"), 100), 1);

  SimulateOptions data;
  data.family = "gaussian";
  data.rows = 150;
  data.seed = 3;
  data.coefficients = {0.8, -0.4};
  const auto fit_with = [&](std::optional<std::int64_t> thin) {
    FitOptions o = exact;
    o.thin = thin;
    return fit(o, simulate(data));
  };
  const auto fewest = [](const FitResult& result) {
    double least = 4000;
    for (const ParameterSummary& p : result.summary.parameters) least = std::min(least, p.ess_bulk);
    return least;
  };
  const FitResult usual = fit_with({}), ten = fit_with(10), one = fit_with(1);
  EXPECT_EQ(usual.chains[3].draws, ten.chains[3].draws);
  EXPECT_NE(usual.chains[3].draws, one.chains[3].draws);
  // Nearly independent draws, where single steps are not: 4000 draws know their number to a tenth or so.
  EXPECT_GT(fewest(usual), 3000);
  EXPECT_LT(fewest(one), 2000);
  EXPECT_TRUE(usual.summary.warnings.empty());
}

std::string priors_used(const FitOptions& o, const Table& table) {
  FitOptions quick = o;
  quick.warmup = 10;
  quick.draws = 10;
  for (const std::string& note : fit(quick, table).summary.notes)
    if (note.rfind("priors: ", 0) == 0) return note;
  return "none";
}

TEST(Fit, PrintsThePriorOfTheSecondParameter) {
  Table counts;
  counts.rows = 7;
  counts.columns.push_back({"y", {0, 4, 1, 9, 2, 0, 30}});
  FitOptions o = options("negative-binomial", "full", "y ~ 1");
  EXPECT_EQ(priors_used(o, counts), "priors: (Intercept) ~ normal(0, 10); size ~ gamma(2, 0.1)");
  o.prior_for = {{"size", "exponential(0.5)"}};
  EXPECT_EQ(priors_used(o, counts), "priors: (Intercept) ~ normal(0, 10); size ~ exponential(0.5)");
  o.prior_for = {{"size", "flat"}};
  EXPECT_THROW(static_cast<void>(fit(o, counts)), ModelError);
  o.prior_for = {{"size", "gamma(2, 1)"}};
  o.size = 3;  // known: it has no prior
  EXPECT_THROW(static_cast<void>(fit(o, counts)), UsageError);

  // The median is 2 and the median distance from it 2: 30 counts for nothing.
  o = options("student", "full", "y ~ 1");
  EXPECT_EQ(priors_used(o, counts), "priors: (Intercept) ~ normal(2, 29.652); sigma ~ exponential(0.337245)");
  o.known_sigma = 1;
  EXPECT_EQ(priors_used(o, counts), "priors: (Intercept) ~ normal(2, 29.652)");
}

TEST(Fit, WorksForEveryMethodAndProposal) {
  SimulateOptions data;
  data.rows = 3000;
  const Table table = simulate(data);
  for (const MethodEntry& method : methods())
    for (const char* proposal : {"laplace", "random-walk", "adaptive"}) {
      FitOptions o = options("logistic", std::string(method.name), "y ~ 0 + x1 + x2");
      o.proposal = proposal;
      const bool sharded = method.name == "consensus" || method.name == "weierstrass";
      if (sharded || ((method.name == "exact" || method.name == "auto") && o.proposal == "adaptive")) {
        EXPECT_THROW(static_cast<void>(fit(o, table)), UsageError);
        if (!sharded) continue;
        o.proposal.reset();
      }
      o.warmup = 300;
      o.draws = 300;
      const FitResult result = fit(o, table);
      EXPECT_EQ(result.summary.method.promise, method.promise) << method.name;
      EXPECT_EQ(result.chains[0].size(), 300U);
      if (method.promise == Promise::exact) {
        EXPECT_EQ(result.summary.method.noise_sd, 0);
      }
      // The place is right even where the spread is not: within 3 of the draws' own sds.
      EXPECT_LT(std::abs(result.summary.parameters[0].mean - 1), 3 * result.summary.parameters[0].sd + 0.1)
          << method.name;
    }
}

// A rule, an estimator and weights can be had in any combination that makes sense; with control variates
// there is hardly any noise left, so the spread is the posterior's whatever the rule: within 15 %, of which 4
// x 500 draws of a chain that mixes as these do know 5 %.
TEST(Fit, RulesEstimatorsAndWeightsCombine) {
  SimulateOptions data;
  data.rows = 3000;
  const Table table = simulate(data);
  for (const std::string method :
       {"uniform", "mlo", "mlo-adaptive", "austerity", "confidence", "barker", "penalty"})
    for (const std::string estimator : {"plain", "control-variates"})
      for (const std::string weights : {"uniform", "mlo", "score", "remainder"}) {
        FitOptions o = options("logistic", method, "y ~ 0 + x1 + x2");
        o.estimator = estimator;
        o.weights = weights;
        o.warmup = 300;
        o.draws = 500;
        const bool refused = (weights != "uniform" && (method == "uniform" || method == "confidence")) ||
                             (weights == "remainder" && estimator == "plain");
        if (refused) {
          EXPECT_THROW(static_cast<void>(fit(o, table)), UsageError);
          continue;
        }
        const FitResult result = fit(o, table);
        const testing::Message what = testing::Message() << method << ", " << estimator << ", " << weights;
        EXPECT_EQ(result.summary.method.name, method);
        if (estimator == "plain") continue;
        for (const double ratio : result.summary.noise.sd_ratio) EXPECT_NEAR(ratio, 1, 0.15) << what;
        EXPECT_LT(result.summary.method.noise_sd, 1) << what;
        EXPECT_LT(result.summary.method.rows_per_step, 3000) << what;
      }
}

// What has no bound cannot be had by confidence, and says so.
TEST(Fit, ConfidenceIsRefusedWithoutABound) {
  SimulateOptions data;
  data.rows = 500;
  for (const std::string family : {"gaussian", "negative-binomial"}) {
    data.family = family;
    EXPECT_THROW(static_cast<void>(fit(options(family, "confidence", "y ~ x1"), simulate(data))), UsageError);
  }
}

// auto takes exact wherever there are bounds or sufficient statistics, and says why.
TEST(Fit, AutoTakesExactWhereItCan) {
  for (const char* family : {"logistic", "probit", "poisson", "gaussian", "student", "negative-binomial"}) {
    SimulateOptions data;
    data.family = family;
    data.rows = 4000;
    const FitResult result = fit(options(family, "auto", "y ~ x1 + x2"), simulate(data));
    const RunSummary& s = result.summary;
    const bool estimated = std::string(family) == "student" || std::string(family) == "negative-binomial";
    EXPECT_EQ(s.method.name, estimated ? "full" : "exact") << family;
    EXPECT_EQ(s.method.promise, Promise::exact);
    EXPECT_EQ(s.method.bound_violations, 0U);
    if (std::string(family) == "gaussian") {
      EXPECT_EQ(s.method.rows_per_step, 0);
    }
    EXPECT_TRUE(std::any_of(s.notes.begin(), s.notes.end(), [&](const std::string& note) {
      return note.rfind("method " + s.method.name + ": ", 0) == 0;
    })) << family;
  }
  // Bounds that ask for more rows than there are: all rows instead.
  SimulateOptions few;
  few.rows = 25;
  EXPECT_EQ(fit(options("logistic", "auto", "y ~ x1 + x2"), simulate(few)).summary.method.name, "full");
}

TEST(Fit, AnAuditComparesWithAllRows) {
  SimulateOptions data;
  data.rows = 3000;
  FitOptions o = options("logistic", "exact", "y ~ x1 + x2");
  o.audit = true;
  o.audit_every = 20;
  o.thin = 1;
  const RunSummary s = fit(o, simulate(data)).summary;
  EXPECT_TRUE(s.audit.done);
  const double steps = static_cast<double>(s.chains * s.draws);
  EXPECT_NEAR(static_cast<double>(s.audit.steps), steps / 20, 5 * std::sqrt(steps / 20));
  EXPECT_LT(s.audit.worst_error, 1e-5);
  EXPECT_EQ(s.method.bound_violations, 0U);
  EXPECT_EQ(s.audit.full_draws, 1000U);
  EXPECT_GT(s.audit.sd_ratio_low, 0.85);
  EXPECT_LT(s.audit.sd_ratio_high, 1.15);
  EXPECT_LT(s.audit.worst_z, 5);
  const RunSummary again = summary_from_json(as_json(s), "test");
  EXPECT_EQ(as_table(again), as_table(s));
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
  o.freedom = 2.5;
  o.size = 7;
  EXPECT_EQ(options_to_json(options_from_json(options_to_json(o), "run.json")), options_to_json(o));
  EXPECT_THROW(static_cast<void>(options_from_json("{}", "run.json")), DataError);
}

TEST(Simulate, RowsDependOnTheSeedAndTheirNumberAlone) {
  for (const char* family : {"logistic", "student", "negative-binomial"}) {
    SimulateOptions few, many;
    few.family = many.family = family;
    few.rows = 10;
    many.rows = 100;
    const Table a = simulate(few), b = simulate(many);
    for (std::size_t j = 0; j < a.columns.size(); ++j)
      for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(a.columns[j].values[i], b.columns[j].values[i]);
  }
}

}  // namespace
}  // namespace mlo
