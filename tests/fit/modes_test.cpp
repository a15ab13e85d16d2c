// Copyright (c) the mlo authors. BSD-3-Clause.
// Data whose posterior has two modes, from a table to a summary, against quadrature.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "mlo/base/errors.hpp"
#include "mlo/fit/fit.hpp"
#include "mlo/fit/simulate.hpp"
#include "support/clusters.hpp"

namespace mlo {
namespace {

FitOptions options(const std::string& method, const std::string& formula, double sigma) {
  FitOptions o;
  o.data = {"clusters"};
  o.family = "student";
  o.method = method;
  o.formula = formula;
  o.numbers = {{"freedom", 1}, {"known-sigma", sigma}};
  const std::string prior = "normal(0, 10)";
  (formula == "y ~ 1" ? o.prior_intercept : o.prior) = prior;
  o.seed = 5;
  o.threads = 2;
  o.draws = 5000;
  return o;
}

bool warns_of_modes(const FitResult& result) {
  return std::any_of(
      result.summary.warnings.begin(), result.summary.warnings.end(),
      [](const std::string& w) { return w.find("the posterior has 2 modes") != std::string::npos; });
}

// z = error / MCSE of the mean of x and of its square about the mean, for all draws of a parameter; the MCSE
// from 25 batch means per chain.
void expect_law(const FitResult& result, std::size_t j, double mean, double sd, const std::string& what) {
  for (const bool square : {false, true}) {
    const double expected = square ? sd * sd : mean;
    std::vector<double> batches;
    for (const ChainDraws& chain : result.chains) {
      const auto draws = chain.parameter(j);
      const std::size_t count = draws.size() / 25;
      for (std::size_t b = 0; b < 25; ++b) {
        double sum = 0;
        for (std::size_t k = b * count; k < (b + 1) * count; ++k)
          sum += square ? (draws[k] - mean) * (draws[k] - mean) : draws[k];
        batches.push_back(sum / static_cast<double>(count));
      }
    }
    const auto n = static_cast<double>(batches.size());
    double average = 0, squares = 0;
    for (const double b : batches) average += b / n;
    for (const double b : batches) squares += (b - average) * (b - average);
    const double z = (average - expected) / std::sqrt(squares / (n * (n - 1)));
    EXPECT_LT(std::abs(z), 5) << what << (square ? ": variance, " : ": mean, ") << average << " for "
                              << expected;
  }
}

TEST(SeveralModes, HaveTheirSharesOfTheDrawsOfNineRows) {
  const testing::Law1 law = testing::location_law(testing::nine_rows().columns[0].numbers(), 1, 1, 10);
  for (const std::string method : {"auto", "full"})
    for (const std::string proposal : {"laplace", "adaptive"}) {
      FitOptions o = options(method, "y ~ 1", 1);
      if (method == "auto" && proposal == "adaptive") continue;
      o.proposal = proposal;
      const FitResult result = fit(o, testing::nine_rows());
      EXPECT_EQ(result.summary.method.name, "full");
      EXPECT_TRUE(warns_of_modes(result)) << method;
      EXPECT_LT(result.summary.parameters[0].rhat, 1.01);
      expect_law(result, 0, law.mean, law.sd, method + " " + proposal);
    }
}

TEST(SeveralModes, HaveTheirSharesOfTheDrawsOfTwoPlanes) {
  const Table table = testing::two_planes();
  // The trapezoid rule over a square that has all but 1e-6 of the posterior: its tails are those of a normal
  // prior times eleven Cauchy laws.
  double total = 0;
  std::array<double, 2> first{}, second{};
  for (double a = -6; a <= 6; a += 0.01)
    for (double b = -6; b <= 6; b += 0.01) {
      double log_density = -0.5 * (a * a + b * b) / 100;
      for (std::size_t i = 0; i < table.rows; ++i) {
        const double r = (table.columns[0].numbers()[i] - a * table.columns[1].numbers()[i] -
                          b * table.columns[2].numbers()[i]) /
                         0.2;
        log_density -= std::log1p(r * r);
      }
      const double density = std::exp(log_density);
      total += density;
      first[0] += density * a;
      first[1] += density * b;
      second[0] += density * a * a;
      second[1] += density * b * b;
    }
  const FitResult result = fit(options("auto", "y ~ 0 + x1 + x2", 0.2), table);
  EXPECT_TRUE(warns_of_modes(result));
  for (std::size_t j = 0; j < 2; ++j) {
    const double mean = first[j] / total;
    expect_law(result, j, mean, std::sqrt(second[j] / total - mean * mean), result.names[j]);
    EXPECT_LT(result.summary.parameters[j].rhat, 1.01);
  }
}

TEST(SeveralModes, AreRefusedByExact) {
  try {
    static_cast<void>(fit(options("exact", "y ~ 1", 1), testing::nine_rows()));
    FAIL() << "not refused";
  } catch (const UsageError& e) {
    const std::string message = e.what();
    EXPECT_EQ(
        message.find("`method exact` explores one mode, and the posterior has 2 modes: \"(Intercept)\" 0."),
        0U)
        << message;
    EXPECT_NE(message.find(" lower; use `method full` or `method auto`"), std::string::npos) << message;
  }
}

// Chains of approximate methods start at both modes: either they mix or R-hat says that they do not.
TEST(SeveralModes, NeverGoUnsaid) {
  for (const std::string method :
       {"mlo", "uniform", "difference", "block", "penalty", "barker", "austerity"}) {
    FitOptions o = options(method, "y ~ 1", 1);
    o.draws = 500;
    o.warmup = 200;
    EXPECT_TRUE(warns_of_modes(fit(o, testing::nine_rows()))) << method;
  }
}

TEST(SeveralModes, AreNotSeenWhereThereIsOne) {
  SimulateOptions data;
  data.family = "student";
  data.rows = 500;
  data.coefficients = {0.8, -0.4};
  FitOptions o = options("auto", "y ~ x1 + x2", 1);
  for (const double freedom : {1.0, 4.0}) {
    o.numbers["freedom"] = data.numbers["freedom"] = freedom;
    EXPECT_FALSE(warns_of_modes(fit(o, simulate(data))));
  }
}

}  // namespace
}  // namespace mlo
