// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/fit.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <thread>

#include "mlo/base/errors.hpp"
#include "mlo/base/files.hpp"
#include "mlo/fit/runs.hpp"
#include "mlo/fit/simulate.hpp"
#include "mlo/method/methods.hpp"
#include "mlo/method/plan.hpp"
#include "mlo/model/family.hpp"

namespace mlo {
namespace {

namespace fs = std::filesystem;

FitOptions options(const std::string& family, const std::string& method, const std::string& formula) {
  FitOptions o;
  o.data = {"simulated"};
  o.family = family;
  o.method = method;
  o.formula = formula;
  o.seed = 5;
  o.threads = 2;
  return o;
}

// From a table to intervals, for every family: the true parameters lie within 5 posterior sds of the means
// (the data are random too, so this is one false alarm in a million), and the sds are within 15 % of those of
// the Laplace fit: 4000 draws give an sd to within about 3 %, and thousands of rows make the posterior nearly
// normal.
TEST(Fit, FindsTheTrueParametersOfEveryFamily) {
  for (const FamilySpec* const spec : families()) {
    const FamilySpec& family = *spec;
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
    if (family.name == "gaussian" || family.name == "student") truth.push_back(1);         // sigma
    if (family.name == "negative-binomial" || family.name == "gamma") truth.push_back(1);  // size, shape
    if (family.name == "zero-inflated-poisson") truth.push_back(0.3);                      // zi
    if (family.counted) truth.push_back(5);                                                // phi
    if (family.counted) formula = "cbind(y, failures) ~ x1 + x2";
    if (family.classes) truth.insert(truth.end(), {0.6, 1.6, -0.8});  // of the third class
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
TEST(Fit, TakesAKnownScaleSizeOrShape) {
  for (const std::string family :
       {"student", "negative-binomial", "gamma", "zero-inflated-poisson", "beta-binomial"}) {
    SimulateOptions data;
    data.family = family;
    data.rows = 4000;
    data.intercept = 0.3;
    data.coefficients = {0.8, -0.4};
    const bool counted = find_family(family)->counted;
    FitOptions o = options(family, "full", counted ? "cbind(y, failures) ~ x1 + x2" : "y ~ x1 + x2");
    if (family == "student") {
      data.numbers = {{"sigma", 2.5}, {"freedom", 3}};
      o.numbers = {{"known-sigma", 2.5}, {"freedom", 3}};
    } else {
      data.numbers = o.numbers = {{std::string(find_family(family)->second->known_by), 0.6}};
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

// Where steps are often refused, several make a draw, unless `thin` is given.
TEST(Fit, TakesSeveralStepsPerDrawWhereRowsAreFew) {
  const FitOptions exact = options("gaussian", "auto", "y ~ x1 + x2");
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
  const FitResult usual = fit_with({}), one = fit_with(1);
  EXPECT_NE(usual.chains[3].draws, one.chains[3].draws);
  // The draws are nearly independent, although single steps are not; 4000 draws give the effective number to
  // within about a tenth.
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
  o.numbers = {{"size", 3}};  // known: it has no prior
  EXPECT_THROW(static_cast<void>(fit(o, counts)), UsageError);

  // The median is 2 and the median distance from it is 2: the outlier 30 does not matter.
  o = options("student", "full", "y ~ 1");
  EXPECT_EQ(priors_used(o, counts), "priors: (Intercept) ~ normal(2, 29.652); sigma ~ exponential(0.337245)");
  o.numbers = {{"known-sigma", 1}};
  EXPECT_EQ(priors_used(o, counts), "priors: (Intercept) ~ normal(2, 29.652)");
}

TEST(Fit, WorksForEveryMethodAndProposal) {
  SimulateOptions data;
  data.rows = 3000;
  const Table table = simulate(data);
  for (const MethodSpec& method : methods())
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
      // Options are named in backquotes; how they are written is up to the front end.
      EXPECT_EQ(as_table(result.summary).find("--"), std::string::npos) << as_table(result.summary);
      if (method.promise == Promise::exact) {
        EXPECT_EQ(result.summary.method.noise_sd, 0);
      }
      // The location is right even where the spread is not: within 3 of the draws' own sds.
      EXPECT_LT(std::abs(result.summary.parameters[0].mean - 1), 3 * result.summary.parameters[0].sd + 0.1)
          << method.name;
    }
}

// Plain differences leave noise. The location is right all the same (the true coefficients are 1 and 0.5),
// and the spread is that of the posterior or more. These chains have 50 effective draws or more, which give
// an sd to within 10 %: 0.6 is four of these errors below 1. The upper limits are not a law: they are loose,
// and tell a wide chain from a lost one.
void expect_plain(const RunSummary& s, const testing::Message& what) {
  EXPECT_LT(std::abs(s.parameters[0].mean - 1), 5 * s.parameters[0].sd) << what;
  EXPECT_LT(std::abs(s.parameters[1].mean - 0.5), 5 * s.parameters[1].sd) << what;
  const bool fixed = s.method.name == "uniform" || s.method.name == "mlo";
  if (fixed) {
    EXPECT_EQ(s.method.rows_per_step, 1000) << what;  // the default
  }
  // Rules that do not look at the noise before they decide.
  const bool blind = fixed || s.method.name == "mlo-adaptive";
  if (blind) {
    EXPECT_GT(s.method.noise_sd, 1) << what;
  }
  for (const double ratio : s.noise.sd_ratio) {
    EXPECT_GT(ratio, blind ? 1 : 0.6) << what;
    EXPECT_LT(ratio, blind ? 4 : 1.6) << what;
  }
}

// A rule, an estimator and weights can be combined in any way that makes sense. With control variates there
// is hardly any noise, so the spread is the posterior's whatever the rule: within 15 %, of which 5 % is the
// Monte Carlo error of 4 x 500 draws from chains that mix like these.
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
        const RunSummary& s = result.summary;
        EXPECT_LE(s.method.rows_per_step, 3000) << what;
        if (estimator == "plain") {
          expect_plain(s, what);
          continue;
        }
        for (const double ratio : s.noise.sd_ratio) EXPECT_NEAR(ratio, 1, 0.15) << what;
        EXPECT_LT(s.method.noise_sd, 1) << what;
        EXPECT_LT(s.method.rows_per_step, 3000) << what;
      }
}

// `confidence` refuses families without a bound, and says so.
TEST(Fit, ConfidenceIsRefusedWithoutABound) {
  SimulateOptions data;
  data.rows = 500;
  for (const std::string family : {"gaussian", "negative-binomial", "gamma"}) {
    data.family = family;
    EXPECT_THROW(static_cast<void>(fit(options(family, "confidence", "y ~ x1"), simulate(data))), UsageError);
  }
}

// auto takes exact wherever there are bounds or sufficient statistics, and says why.
TEST(Fit, AutoTakesExactWhereItCan) {
  for (const char* family :
       {"logistic", "probit", "poisson", "gaussian", "student", "negative-binomial", "gamma"}) {
    SimulateOptions data;
    data.family = family;
    data.rows = 4000;
    const FitResult result = fit(options(family, "auto", "y ~ x1 + x2"), simulate(data));
    const RunSummary& s = result.summary;
    EXPECT_EQ(s.method.name, "exact") << family;
    EXPECT_EQ(s.method.promise, Promise::exact);
    EXPECT_EQ(s.method.bound_violations, 0U);
    if (std::string(family) == "gaussian") {
      EXPECT_EQ(s.method.rows_per_step, 0);
    }
    EXPECT_TRUE(std::any_of(s.notes.begin(), s.notes.end(), [&](const std::string& note) {
      return note.rfind("method " + s.method.name + ": ", 0) == 0;
    })) << family;
  }
  // If the bounds ask for more rows than there are, all rows are read instead.
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
  EXPECT_EQ(s.audit.full_draws, 1600U);
  EXPECT_GT(s.audit.sd_ratio_low(), 0.85);
  EXPECT_LT(s.audit.sd_ratio_high(), 1.15);
  EXPECT_LT(s.audit.worst_z(), 5);
  const RunSummary again = summary_from_json(as_json(s), "test");
  EXPECT_EQ(as_table(again), as_table(s));
}

// 20 of 20,000 responses lie 1e5 to 1e6 sigmas from the rest. Their remainders are tiny beside their terms,
// and must not lose so many digits that they exceed their bounds.
TEST(Fit, OutliersDoNotBreakTheirBounds) {
  SimulateOptions data;
  data.family = "student";
  data.rows = 20'000;
  Table table = simulate(data);
  Numbers& y = table.columns[0].numbers();
  for (std::size_t i = 0; i < 20; ++i)
    y[1000 * i] = (i % 2 == 0 ? 1 : -1) * std::pow(10.0, 5 + static_cast<double>(i) / 19);
  for (const int order : {2, 3}) {
    FitOptions o = options("student", "exact", "y ~ x1 + x2");
    o.numbers["known-sigma"] = 1;
    o.order = order;
    o.draws = 200;
    o.audit = true;
    o.audit_every = 10;
    const RunSummary s = fit(o, table).summary;
    EXPECT_GT(s.audit.steps, 40U);
    EXPECT_EQ(s.method.bound_violations, 0U) << "order " << order;
    EXPECT_LT(s.audit.worst_error, 1e-5);
  }
}

// The scale of the columns changes the coefficients' units and nothing else.
TEST(Fit, ScaleChangesUnitsOnly) {
  SimulateOptions data;
  data.rows = 3000;
  Table table = simulate(data);
  for (double& x : table.columns[1].numbers()) x = 500 + 20 * x;
  FitOptions o = options("logistic", "full", "y ~ x1 + x2");
  const FitResult none = fit(o, table);
  o.scale = "sd";
  const FitResult sd = fit(o, table);
  o.scale = "standard";
  const FitResult standard = fit(o, table);
  const auto& x = table.columns[1].numbers();
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

class TableRun : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              (std::string("mlo-fit-") + testing::UnitTest::GetInstance()->current_test_info()->name() + "-" +
               std::to_string(::getpid()));
    fs::remove_all(folder_);
    SimulateOptions data;
    data.rows = 500;
    table_ = simulate(data);
    options_ = options("logistic", "full", "y ~ x1 + x2");
    options_.chains = 2;
    options_.warmup = 100;
    options_.draws = 40'000;  // long enough to be interrupted
    options_.thin = 1;
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] FitOptions kept() const {
    FitOptions o = options_;
    o.out = folder_ / "run";
    return o;
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "run"))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  // Ends when both chains have made some of their draws.
  FitResult interrupted_fit() {
    std::atomic<bool> interrupt{false};
    std::thread watching;
    FitWatcher watcher;
    watcher.interrupt = &interrupt;
    watcher.sampling = [&](const RunControl& control, const ChainOptions&) {
      watching = std::thread([&] {
        const auto enough = [](const RunControl::Chain& chain) { return chain.steps.load() >= 1000; };
        while (!control.stopped() && !std::all_of(control.chains.begin(), control.chains.end(), enough))
          std::this_thread::yield();
        interrupt = true;
      });
    };
    watcher.sampled = [&] { watching.join(); };
    return fit(kept(), table_, watcher);
  }

  fs::path folder_;
  Table table_;
  FitOptions options_;
};

// A directory for a table in memory was once ignored without a word.
TEST_F(TableRun, IsKeptLikeThatOfAFile) {
  options_.draws = 200;
  const FitResult result = fit(kept(), table_);
  EXPECT_EQ(files(), (std::vector<std::string>{"draws-1.csv", "draws-2.csv", "run.json", "statistics.csv",
                                               "summary.csv"}));
  EXPECT_EQ(as_table(read_summary(kept().out)), as_table(result.summary));
  EXPECT_EQ(read_file(kept().out + "/summary.csv"), as_csv(result.summary.parameters));
  const FitResult unkept = fit(options_, table_);
  for (std::size_t c = 0; c < 2; ++c) EXPECT_EQ(unkept.chains[c].draws, result.chains[c].draws);
  // And is not overwritten.
  EXPECT_THROW(static_cast<void>(fit(kept(), table_)), DataError);
}

TEST_F(TableRun, IsResumedToTheDrawsItWouldHaveHad) {
  const FitResult part = interrupted_fit();
  ASSERT_TRUE(part.summary.interrupted);
  EXPECT_LT(part.summary.draws, 40'000U);
  FitOptions resume;  // all other options are in the directory
  resume.out = kept().out;
  resume.resume = true;
  resume.threads = 1;
  Table other = table_;
  other.columns[1].numbers()[7] += 1;
  EXPECT_THROW(static_cast<void>(fit(resume, other)), DataError);
  const FitResult whole = fit(options_, table_), resumed = fit(resume, table_);
  EXPECT_FALSE(resumed.summary.interrupted);
  for (std::size_t c = 0; c < 2; ++c) EXPECT_EQ(resumed.chains[c].draws, whole.chains[c].draws);
  EXPECT_EQ(files(), (std::vector<std::string>{"draws-1.csv", "draws-2.csv", "run.json", "statistics.csv",
                                               "summary.csv"}));
  EXPECT_THROW(static_cast<void>(fit(resume, table_)), UsageError);  // it is finished
}

TEST_F(TableRun, IsNotResumedWithOtherOptions) {
  static_cast<void>(interrupted_fit());
  FitOptions other = kept();
  other.resume = true;
  other.draws = 39'999;
  EXPECT_THROW(static_cast<void>(fit(other, table_)), UsageError);
  other.draws = 40'000;
  EXPECT_NO_THROW(static_cast<void>(fit(other, table_)));
}

TEST(Fit, TitleCountsTheRowsUsed) {
  SimulateOptions data;
  data.rows = 1200;
  Table table = simulate(data);
  for (const std::size_t i : {3U, 700U}) table.columns[1].numbers()[i] = std::nan("");  // a missing cell
  FitOptions o = options("logistic", "full", "y ~ x1");
  o.warmup = o.draws = 20;
  const RunSummary s = fit(o, table).summary;
  EXPECT_EQ(s.title, "logistic model of y, 1,198 rows, 2 parameters");
  EXPECT_NE(as_table(s).find("reads 1,198 rows per step (of 1,198)"), std::string::npos) << as_table(s);
}

TEST(Simulate, RowsDependOnTheSeedAndTheirNumberAlone) {
  for (const char* family : {"logistic", "student", "negative-binomial", "gamma"}) {
    SimulateOptions few, many;
    few.family = many.family = family;
    few.rows = 10;
    many.rows = 100;
    const Table a = simulate(few), b = simulate(many);
    for (std::size_t j = 0; j < a.columns.size(); ++j)
      for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(a.columns[j].numbers()[i], b.columns[j].numbers()[i]);
  }
}

}  // namespace
}  // namespace mlo
