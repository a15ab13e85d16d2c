// Copyright (c) the mlo authors. BSD-3-Clause.
// Second parameters of models with group effects whose rows are surfaces: the expansion against all rows, and
// draws by bounds against those of `full` where the parameter is barely known, so that its posterior reaches
// beyond the box that has bounds.
//
// Error budget: 40 means with |z| < 5: 3e-5.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "mlo/data/outcome.hpp"
#include "mlo/diagnose/summary.hpp"
#include "mlo/fit/fit.hpp"
#include "support/designs.hpp"

namespace mlo {
namespace {

struct GroupCase {
  std::string family;
  double (*draw)(Stream&, double);
  std::size_t rows = 400, levels = 10;
  double intercept = 0.3;
  friend void PrintTo(const GroupCase& c, std::ostream* out) { *out << c.family; }
};

// y, x1 and a group g with effects of sd 0.8.
Table table_of(const GroupCase& c, std::uint64_t seed) {
  std::vector<double> effects;
  Stream levels({.seed = seed, .chain = 1, .purpose = Purpose::simulate, .iteration = 0});
  for (std::size_t l = 0; l < c.levels; ++l) effects.push_back(0.8 * normal(levels));
  std::size_t row = 0;
  Table t = testing::regression_table(c.rows, c.intercept, {0.5}, seed, [&](Stream& s, double eta) {
    return c.draw(s, eta + effects[row++ % c.levels]);
  });
  Numbers g;
  for (std::size_t i = 0; i < c.rows; ++i) g.push_back(static_cast<double>(i % c.levels));
  if (c.family == "beta-binomial") {
    Numbers failures;
    for (double& y : t.columns[0].numbers()) {
      const Outcome at = Outcome::of(y);
      y = at.successes;
      failures.push_back(at.trials - at.successes);
    }
    t.columns.emplace_back("failures", std::move(failures));
  }
  t.columns.emplace_back("g", std::move(g));
  return t;
}

FitOptions options(const GroupCase& c, const std::string& method) {
  FitOptions o;
  o.formula = std::string(c.family == "beta-binomial" ? "cbind(y, failures)" : "y") + " ~ x1 + (1 | g)";
  o.family = c.family;
  o.method = method;
  o.seed = 5;
  o.threads = 2;
  return o;
}

FitResult fitted(const GroupCase& c, const std::string& method, std::size_t draws) {
  FitOptions o = options(c, method);
  o.draws = draws;
  return fit(o, table_of(c, 31));
}

class GroupSecond : public ::testing::TestWithParam<GroupCase> {};
INSTANTIATE_TEST_SUITE_P(Families, GroupSecond,
                         ::testing::Values(GroupCase{"student", testing::draw_student},
                                           GroupCase{"negative-binomial", testing::draw_negative_binomial},
                                           GroupCase{"gamma", testing::draw_gamma},
                                           GroupCase{"beta-binomial", testing::draw_outcome_3},
                                           GroupCase{"zero-inflated-poisson", testing::draw_zero_inflated}),
                         [](const auto& test) {
                           std::string name = test.param.family;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST_P(GroupSecond, AnAuditFindsRoundingOnly) {
  FitOptions o = options(GetParam(), "exact");
  o.audit = true;
  o.draws = 500;
  const RunSummary s = fit(o, table_of(GetParam(), 31)).summary;
  EXPECT_GT(s.audit.steps, 20U);
  EXPECT_LT(s.audit.worst_error, 1e-5);
  EXPECT_EQ(s.method.bound_violations, 0U);
  for (const std::string& warning : s.warnings)
    EXPECT_EQ(warning.find("audit"), std::string::npos) << warning;
}

// Sizes and shares that reach far: compared as logarithms and logits, whose means exist and are known well.
class BarelyKnown : public ::testing::TestWithParam<GroupCase> {};
INSTANTIATE_TEST_SUITE_P(
    Families, BarelyKnown,
    ::testing::Values(GroupCase{"negative-binomial", testing::draw_negative_binomial, 600, 20, -2.5},
                      GroupCase{"zero-inflated-poisson", testing::draw_zero_inflated, 110, 9, 0.3},
                      GroupCase{"beta-binomial", testing::draw_outcome_3, 40, 10, 1.5}),
    [](const auto& test) { return test.param.family.substr(0, test.param.family.find('-')); });

TEST_P(BarelyKnown, IsSampledWhollyByBoundsToo) {
  const GroupCase& c = GetParam();
  const auto moments = [&](const std::string& method) {
    FitResult result = fitted(c, method, 6000);
    EXPECT_EQ(result.summary.method.name, method);
    EXPECT_EQ(result.summary.method.bound_violations, 0U);
    const std::size_t dim = result.names.size(), second = 2;
    for (ChainDraws& chain : result.chains)
      for (std::size_t at = second; at < chain.draws.size(); at += dim) {
        double& x = chain.draws[at];
        x = c.family[0] == 'z' ? std::log(x / (1 - x)) : std::log(x);
      }
    // And the squares, about the same place: spreads and tails.
    std::vector<ParameterSummary> out = summarise(result.names, result.chains);
    for (ChainDraws& chain : result.chains)
      for (double& x : chain.draws) x *= x;
    for (const ParameterSummary& p : summarise(result.names, result.chains)) out.push_back(p);
    return out;
  };
  const auto exact = moments("exact"), full = moments("full");
  for (std::size_t j = 0; j < exact.size(); ++j) {
    EXPECT_GT(exact[j].ess_bulk, 60) << exact[j].name;
    EXPECT_LT(std::abs(exact[j].mean - full[j].mean), 5 * std::hypot(exact[j].mcse_mean, full[j].mcse_mean))
        << exact[j].name;
  }
}

TEST(GroupSecondChoice, AutoReadsAllRowsWhereItIsBarelyKnown) {
  const RunSummary s =
      fitted({"negative-binomial", testing::draw_negative_binomial, 600, 20, -2.5}, "auto", 300).summary;
  EXPECT_EQ(s.method.name, "full");
  EXPECT_EQ(fitted({"negative-binomial", testing::draw_negative_binomial, 4000, 10}, "auto", 300)
                .summary.method.name,
            "exact");
}

}  // namespace
}  // namespace mlo
