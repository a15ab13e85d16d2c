// Copyright (c) the mlo authors. BSD-3-Clause.
// `exact` while a second parameter is estimated, on data that are hard for its bounds: outliers, leverage,
// counts that are nearly all 0 or very large, sizes and shapes that are tiny, large or barely known, weights,
// factors. The reference is `full` on the same rows.
//
// Error budget: 150 means, |z| < 5 each: 9e-5. Spreads, from the 5 % to the 95 % quantile, within 20 %: 200
// effective draws of a normal law give them to within 6 % (one standard error), 4,000 to within 1.4 %. Not
// standard deviations: a phi of few trials has a right tail that its prior alone ends, and of 4,000 draws a
// handful make a quarter of the standard deviation.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/data/outcome.hpp"
#include "mlo/fit/fit.hpp"
#include "mlo/model/family.hpp"
#include "support/designs.hpp"

namespace mlo {
namespace {

using Draw = std::function<double(Stream&, double)>;

double any_sign(Stream& s, double size) { return uniform(s) < 0.5 ? size : -size; }
double student(Stream& s) { return normal(s) / std::sqrt(gamma(s, 2) / 2); }
Draw counts(double mean, double size) {
  return [=](Stream& s, double eta) {
    return static_cast<double>(poisson(s, std::min(mean * std::exp(eta), 5000.0) * gamma(s, size) / size));
  };
}
Draw amounts(double shape) {
  return [=](Stream& s, double eta) { return std::max(std::exp(eta) * gamma(s, shape) / shape, 1e-250); };
}

Draw inflated(double mean, double zi) {
  return [=](Stream& s, double eta) {
    const double zero = uniform(s),
                 y = static_cast<double>(poisson(s, std::min(mean * std::exp(eta), 5000.0)));
    return zero < zi ? 0 : y;
  };
}
// Up to `most` trials, of which a share near p succeed.
Draw outcomes(double most, double p, double phi) {
  return [=](Stream& s, double eta) {
    const double trials = 1 + std::floor(most * uniform(s)), mean = 1 / (1 + std::exp(-eta) * (1 - p) / p);
    const double a = gamma(s, std::max(phi * mean, 1e-200)), b = gamma(s, std::max(phi * (1 - mean), 1e-200));
    double successes = 0;
    for (double k = 0; k < trials; ++k) successes += uniform(s) * (a + b) < a ? 1 : 0;
    return Outcome{successes, trials}.packed();
  };
}
constexpr const char* counted = "cbind(y, failures) ~ x1 + x2";

struct HardCase {
  std::string name, family;
  Draw draw;
  double leverage = 1;  // of the first 20 rows
  std::string formula = "y ~ x1 + x2";
  bool weights = false;
  std::size_t rows = 1500;
};
void PrintTo(const HardCase& c, std::ostream* out) { *out << c.family << ", " << c.name; }

std::vector<HardCase> hard_cases() {
  return {
      {"outliers", "student",
       [](Stream& s, double eta) { return eta + student(s) + (uniform(s) < 0.01 ? 1000 * normal(s) : 0.0); }},
      {"leverage", "student", [](Stream& s, double eta) { return eta + student(s); }, 30},
      {"few counts", "negative-binomial", counts(0.4, 0.7)},
      {"large counts", "negative-binomial", counts(300, 1)},
      {"small size", "negative-binomial", counts(1, 0.05)},
      {"large size", "negative-binomial", counts(1, 50)},
      {"tiny shape", "gamma", amounts(0.01)},
      {"large shape", "gamma", amounts(400)},
      {"leverage", "gamma", [](Stream& s, double) { return exponential(s); }, 30},
      {"contradictions", "gamma",
       [](Stream& s, double eta) {
         return std::exp(std::abs(eta) > 6 ? any_sign(s, 6) : eta) * exponential(s);
       },
       30},
      {"zeros", "negative-binomial", counts(0.15, 0.5), 1, "y ~ x1 + x2", false, 6000},
      {"leverage", "negative-binomial", counts(2, 1), 20},
      {"huge counts", "negative-binomial",
       [](Stream& s, double eta) {
         return std::floor(std::min(1e4 * std::exp(eta) * gamma(s, 2) / 2, 99'999.0));
       }},
      {"size hardly known", "negative-binomial", counts(0.3, 1), 1, "y ~ x1 + x2", false, 3000},
      {"factor", "student", [](Stream& s, double eta) { return eta + 2 * student(s); }, 1, "y ~ x1 + g"},
      {"factor", "gamma", amounts(2), 1, "y ~ x1 + g"},
      {"weights", "negative-binomial", counts(2, 2), 1, "y ~ x1 + x2", true},
      {"weights", "gamma", amounts(1.5), 1, "y ~ x1 + x2", true},
      {"few counts", "zero-inflated-poisson", inflated(0.6, 0.3)},
      {"large counts", "zero-inflated-poisson", inflated(300, 0.4)},
      {"mostly zeros", "zero-inflated-poisson", inflated(3, 0.95)},
      {"leverage", "zero-inflated-poisson", inflated(2, 0.3), 12},
      {"factor", "zero-inflated-poisson", inflated(2, 0.3), 1, "y ~ x1 + g"},
      {"weights", "zero-inflated-poisson", inflated(2, 0.3), 1, "y ~ x1 + x2", true},
      {"small phi", "beta-binomial", outcomes(20, 0.5, 0.1), 1, counted, false, 300},
      {"large phi", "beta-binomial", outcomes(20, 0.5, 100), 1, counted, false, 300},
      {"many trials", "beta-binomial", outcomes(300, 0.3, 5), 1, counted, false, 150},
      {"few trials", "beta-binomial", outcomes(2, 0.5, 2), 1, counted, false, 500},
      {"rare successes", "beta-binomial", outcomes(10, 0.02, 5), 1, counted, false, 500},
      {"leverage", "beta-binomial", outcomes(10, 0.5, 4), 30, counted, false, 300},
      {"weights", "beta-binomial", outcomes(10, 0.5, 4), 1, counted, true, 300},
      {"weights", "student", [](Stream& s, double eta) { return eta + student(s); }, 1, "y ~ x1 + x2", true},
  };
}

Table table_of(const HardCase& c, std::size_t rows) {
  // Responses belong to the columns as they are after the leverage.
  Table t = testing::regression_table(rows, 0, {0.3, -0.2}, 31, [](Stream&, double) { return 0.0; });
  Stream stream({.seed = 32, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
  Text g{.levels = {"a", "b", "c", "d"}, .codes = {}};
  Numbers w;
  for (std::size_t i = 0; i < rows; ++i) {
    double& x1 = t.columns[1].numbers()[i];
    double& x2 = t.columns[2].numbers()[i];
    if (i < 20) {
      x1 *= c.leverage;
      x2 *= c.leverage;
    }
    t.columns[0].numbers()[i] = c.draw(stream, 0.3 * x1 - 0.2 * x2);
    g.codes.push_back(static_cast<std::uint32_t>((i * 7 + i / 13) % 4));
    w.push_back(static_cast<double>((i * 11 + i / 7) % 4));
  }
  if (find_family(c.family)->counted) {
    Numbers failures;
    for (double& y : t.columns[0].numbers()) {
      const Outcome at = Outcome::of(y);
      y = at.successes;
      failures.push_back(at.trials - at.successes);
    }
    t.columns.emplace_back("failures", std::move(failures));
  }
  t.columns.emplace_back("g", std::move(g));
  t.columns.emplace_back("w", std::move(w));
  return t;
}

class HardData : public ::testing::TestWithParam<HardCase> {};

TEST_P(HardData, GivesThePosteriorOfFull) {
  const HardCase& c = GetParam();
  FitOptions o;
  o.data = {"simulated"};
  o.family = c.family;
  o.formula = c.formula;
  o.seed = 3;
  o.threads = 2;
  if (c.weights) o.row_weights = "w";
  o.method = "exact";
  const RunSummary exact = fit(o, table_of(c, c.rows)).summary;
  o.method = "full";
  o.seed = 4;
  const RunSummary full = fit(o, table_of(c, c.rows)).summary;
  EXPECT_EQ(exact.method.promise, Promise::exact);
  EXPECT_EQ(exact.method.bound_violations, 0U);
  ASSERT_EQ(exact.parameters.size(), full.parameters.size());
  for (std::size_t j = 0; j < exact.parameters.size(); ++j) {
    const ParameterSummary &a = exact.parameters[j], &b = full.parameters[j];
    EXPECT_GT(a.ess_bulk, 200) << a.name;
    EXPECT_LT(std::abs(a.mean - b.mean), 5 * std::hypot(a.mcse_mean, b.mcse_mean)) << a.name;
    EXPECT_NEAR((a.q95 - a.q5) / (b.q95 - b.q5), 1, 0.2) << a.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, HardData, ::testing::ValuesIn(hard_cases()), [](const auto& c) {
  std::string name = c.param.family + "_" + c.param.name;
  for (char& letter : name)
    if (letter == '-' || letter == ' ') letter = '_';
  return name;
});

// A size that the data hardly tell: its posterior has a tail that no fit at the mode foresees, and reading
// all rows is cheaper.
TEST(SecondParameter, ASizeThatIsBarelyKnownIsForFull) {
  const HardCase c{"few counts", "negative-binomial", counts(0.15, 1)};
  FitOptions o;
  o.data = {"simulated"};
  o.family = c.family;
  o.formula = c.formula;
  o.seed = 3;
  EXPECT_EQ(fit(o, table_of(c, 1500)).summary.method.name, "full");
}

// Means so small that hardly any count is above 1: additional zeros are those of a smaller mean.
TEST(SecondParameter, AZiThatIsBarelyKnownIsForFull) {
  const HardCase c{"few counts", "zero-inflated-poisson", inflated(0.03, 0.3)};
  FitOptions o;
  o.data = {"simulated"};
  o.family = c.family;
  o.formula = c.formula;
  o.seed = 3;
  EXPECT_EQ(fit(o, table_of(c, 1500)).summary.method.name, "full");
}

// No zeros besides those of the Poisson law: zi may as well be 0, and its logit has a long tail.
TEST(SecondParameter, AZiThatMayBeZeroIsForFull) {
  const HardCase c{"no more zeros", "zero-inflated-poisson", inflated(2, 0)};
  FitOptions o;
  o.data = {"simulated"};
  o.family = c.family;
  o.formula = c.formula;
  o.seed = 3;
  const RunSummary found = fit(o, table_of(c, 1500)).summary;
  EXPECT_EQ(found.method.name, "full");
  EXPECT_LT(found.parameters.back().mean, 0.05);
}

TEST(SecondParameter, ExactHasNoBoundsForAZiThatIsStated) {
  const HardCase c{"stated", "zero-inflated-poisson", inflated(2, 0.3)};
  FitOptions o;
  o.data = {"simulated"};
  o.family = c.family;
  o.formula = c.formula;
  o.numbers = {{"zi", 0.3}};
  o.seed = 3;
  o.draws = 100;
  EXPECT_EQ(fit(o, table_of(c, 300)).summary.method.name, "full");
  o.method = "exact";
  EXPECT_THROW(static_cast<void>(fit(o, table_of(c, 300))), UsageError);
}

TEST(SecondParameter, RowsOfOneTrialSayNothingAboutPhi) {
  const HardCase c{"one trial", "beta-binomial", outcomes(1, 0.5, 2), 1, counted};
  FitOptions o;
  o.data = {"simulated"};
  o.family = c.family;
  o.formula = c.formula;
  o.seed = 3;
  EXPECT_THROW(static_cast<void>(fit(o, table_of(c, 300))), DataError);
}

// Counts beyond the table of sums have no bounds: `exact` says so, and `auto` takes `full`.
TEST(SecondParameter, CountsThatAreTooLargeAreForFull) {
  HardCase c{"huge", "negative-binomial",
             [](Stream& s, double eta) { return std::floor(2e5 * std::exp(eta) * gamma(s, 2) / 2); }};
  FitOptions o;
  o.data = {"simulated"};
  o.family = c.family;
  o.formula = c.formula;
  o.seed = 3;
  o.draws = 100;
  EXPECT_EQ(fit(o, table_of(c, 300)).summary.method.name, "full");
  o.method = "exact";
  EXPECT_THROW(static_cast<void>(fit(o, table_of(c, 300))), UsageError);
}

}  // namespace
}  // namespace mlo
