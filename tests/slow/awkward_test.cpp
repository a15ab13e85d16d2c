// Copyright (c) the mlo authors. BSD-3-Clause.
// A level whose rows nearly all have one outcome, with 12 seeds per prior and method: the spread of its
// coefficient against quadrature, the effective draws and the warnings. Prints a table.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "mlo/fit/fit.hpp"
#include "mlo/model/family.hpp"
#include "mlo/model/glm.hpp"
#include "support/rare_level.hpp"

namespace mlo {
namespace {

using testing::GridLaw;

constexpr std::uint64_t seeds = 12;

struct Spread {
  double low, median, high;
};
Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return {values.front(), (values[half - 1] + values[half]) / 2, values.back()};
}

// Fits with every seed. `heavy`: the posterior has no fourth moment. Then 4,000 independent draws have an sd
// that is off by 15 % in one run of seven, and the median of 12 such sds is below 0.93 in one of five
// (simulated). So q95 - q5 is checked instead, and the sds are only printed.
void expect_spread(const std::string& name, const FitOptions& options, const Table& table, const GridLaw& law,
                   bool heavy) {
  std::vector<double> sds, widths;
  double fewest = std::numeric_limits<double>::infinity(), worst_z = 0, seconds = 0;
  std::size_t warnings = 0;
  std::string words;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    FitOptions o = options;
    o.seed = seed;
    const RunSummary s = fit(o, table).summary;
    for (const ParameterSummary& p : s.parameters) fewest = std::min({fewest, p.ess_bulk, p.ess_tail});
    const ParameterSummary& level = s.parameters[2];
    sds.push_back(level.sd / law.sd());
    widths.push_back((level.q95 - level.q5) / law.width());
    worst_z = std::max(worst_z, std::abs(level.mean - law.mean()) / level.mcse_mean);
    seconds += s.seconds.total / seeds;
    warnings += s.warnings.size();
    for (const std::string& warning : s.warnings) words += warning + "\n";
  }
  const Spread sd = spread_of(sds), width = spread_of(widths);
  std::cout << fmt::format(
      "{:<32} sd/true {:.3f} ({:.3f} to {:.3f}), width/true {:.3f} ({:.3f} to {:.3f}), |z| {:.1f}, ESS {:.0f}, {} "
      "warnings, {:.2f} s\n",
      name, sd.median, sd.low, sd.high, width.median, width.low, width.high, worst_z, fewest, warnings,
      seconds);
  const Spread& checked = heavy ? width : sd;
  EXPECT_GT(checked.median, 0.93) << name;
  EXPECT_LT(checked.median, 1.07) << name;
  EXPECT_GT(checked.low, 0.85) << name;
  EXPECT_LT(checked.high, 1.15) << name;
  EXPECT_GE(fewest, 400) << name;
  EXPECT_LT(worst_z, 5) << name;
  EXPECT_EQ(warnings, 0U) << name << ": " << words;
}

FitOptions of(const std::string& method) {
  FitOptions o;
  o.data = {"test"};
  o.method = method;
  o.formula = "y ~ x1 + level";
  return o;
}

TEST(Awkward, ALevelOfOneOutcome) {
  const Table table = testing::rare_level_table({.rows = 20'000, .level = 15, .ones = 15, .seed = 3});
  const testing::RareLevelLaw laws(table);
  for (const std::string prior : {"student_t(3, 0, 2.5)", "laplace(0, 2.5)", "normal(0, 2.5)"}) {
    const Prior parsed = Prior::parse(prior, "prior");
    const GridLaw law = laws.coefficient({.slope = parsed, .level = parsed});
    for (const std::string method : {"exact", "full"}) {
      FitOptions o = of(method);
      o.prior = prior;
      o.prior_intercept = "normal(0, 10)";
      expect_spread(method + ", " + prior, o, table, law, prior[0] == 's');
    }
  }
}

// All defaults, those of the priors too.
TEST(Awkward, ALevelWithOneSuccess) {
  const Table table = testing::rare_level_table({.rows = 50'000, .level = 30, .ones = 1, .seed = 4});
  const Design design = testing::design_of(table, "y ~ x1 + level");
  const GlmPriors usual = usual_priors(design, *make_family("logistic"));
  const GridLaw law = testing::RareLevelLaw(table).coefficient({.intercept = usual.coefficients[0],
                                                                .at_means = usual.intercept_at_means,
                                                                .slope = usual.coefficients[1],
                                                                .level = usual.coefficients[2]});
  for (const std::string method : {"auto", "exact", "full"})
    expect_spread(method + ", 1 in 30, usual priors", of(method), table, law, false);
}

}  // namespace
}  // namespace mlo
