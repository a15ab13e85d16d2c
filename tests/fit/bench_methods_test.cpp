// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/bench_methods.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "mlo/base/errors.hpp"
#include "mlo/fit/fit.hpp"
#include "mlo/fit/simulate.hpp"

namespace mlo {
namespace {

BenchOptions options() {
  BenchOptions o;
  o.fit.data = {"simulated"};
  o.fit.formula = "y ~ x1 + x2";
  o.fit.draws = 4000;
  o.fit.threads = 2;
  o.reference_draws = 5000;
  return o;
}

Table data() {
  SimulateOptions o;
  o.rows = 2000;
  return simulate(o);
}

TEST(BenchMethods, ComparesWithThePosterior) {
  BenchOptions o = options();
  o.methods = {"exact", "full", "mlo:subsample-size=100", "difference"};
  o.seconds = 500;  // all draws, however slow the machine
  const Comparison c = bench_methods(o, data());
  ASSERT_EQ(c.methods.size(), 4U);
  EXPECT_FALSE(c.interrupted);
  for (const MethodResult& m : c.methods) {
    EXPECT_EQ(m.failure, "") << m.name;
    EXPECT_EQ(m.draws, 16'000U) << m.name;
    EXPECT_GT(m.ess_per_second, 0) << m.name;
    const double steps = 16'000;
    EXPECT_NEAR(m.ess_per_million_rows, 1e6 * m.ess / (m.rows_per_step * steps),
                1e-9 * m.ess_per_million_rows);
  }
  // 16,000 nearly uncorrelated draws give an sd to within 1 % and a mean to within 0.01 sds.
  for (const std::size_t k : {0U, 1U, 3U}) {
    EXPECT_NEAR(c.methods[k].sd_ratio, 1, 0.06) << c.methods[k].name;
    EXPECT_LT(c.methods[k].mean_error, 5 * c.methods[k].mean_error_mcse + 0.02) << c.methods[k].name;
  }
  EXPECT_EQ(c.methods[1].rows_per_step, 2000);
  EXPECT_EQ(c.methods[2].rows_per_step, 100);
  EXPECT_GT(c.methods[2].sd_ratio, 1.5);  // the paper's method, with a twentieth of the rows
}

TEST(BenchMethods, TimeEndsAMethod) {
  BenchOptions o = options();
  o.methods = {"full"};
  o.seconds = 0.3;
  o.fit.warmup = 0;  // so that there is a draw in that time, however slow the machine
  o.fit.draws = 100'000'000;
  const Comparison c = bench_methods(o, data());
  EXPECT_EQ(c.methods[0].failure, "");
  EXPECT_GT(c.methods[0].draws, 0U);
  EXPECT_LT(c.methods[0].draws, 400'000'000U);
  EXPECT_FALSE(c.interrupted);
}

TEST(BenchMethods, AMethodThatIsNotAvailableSaysWhy) {
  BenchOptions o = options();
  o.fit.family = "negative-binomial";
  o.methods = {"exact", "confidence", "full:thinning=balanced"};
  o.fit.draws = 50;
  SimulateOptions counts;
  counts.family = "negative-binomial";
  counts.rows = 300;
  o.reference_draws = 200;
  const Comparison c = bench_methods(o, simulate(counts));
  EXPECT_EQ(c.methods[0].failure, "");
  EXPECT_NE(c.methods[1].failure.find("`method confidence` needs a bound"), std::string::npos);
  EXPECT_NE(c.methods[2].failure.find("`thinning` has no meaning"), std::string::npos);
}

// The reference and all methods use the rows without missing cells, so the title counts those.
TEST(BenchMethods, TitleCountsTheRowsUsed) {
  BenchOptions o = options();
  o.methods = {"full"};
  o.fit.draws = o.reference_draws = 100;
  Table table = data();
  for (std::size_t i = 0; i < 100; ++i) table.columns[2].numbers()[i] = std::nan("");
  const Comparison c = bench_methods(o, table);
  EXPECT_EQ(c.title, "logistic model of y, 1,900 rows, 3 parameters");
  EXPECT_EQ(c.methods[0].rows_per_step, 1900);
}

TEST(BenchMethods, WhatIsMisspeltIsRefused) {
  for (const char* method : {"fill", "mlo:subsample=10", "mlo:subsample-size", "mlo:subsample-size=ten"}) {
    BenchOptions o = options();
    o.methods = {method};
    EXPECT_THROW(static_cast<void>(bench_methods(o, data())), UsageError) << method;
  }
}

TEST(BenchMethods, AnInterruptEndsIt) {
  BenchOptions o = options();
  const std::atomic<bool> now{true};
  EXPECT_THROW(static_cast<void>(bench_methods(o, data(), {.method = {}, .interrupt = &now})), Interrupted);
}

}  // namespace
}  // namespace mlo
