// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/diagnose/summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/chains.hpp"
#include "diagnose/naive.hpp"

namespace mlo::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

std::vector<double> sorted_draws(const Chains& chains) {
  std::vector<double> all = pool(chains);
  std::sort(all.begin(), all.end());
  return all;
}

TEST(Quantile, InterpolatesBetweenTheDraws) {
  for (const std::size_t size : {1, 2, 5, 10, 37, 1000}) {
    const std::vector<double> sorted = sorted_draws(ar1({.chains = 1, .draws = size}));
    for (const double p : {0.0, 0.001, 0.05, 0.3, 0.5, 0.77, 0.95, 1.0}) {
      // The position rounds by up to 1e-13 of a step between draws of order 1.
      EXPECT_NEAR(quantile(sorted, p), naive::quantile(sorted, p), 1e-12) << size << " " << p;
    }
  }
}

TEST(Quantile, IsADrawWhereThePositionIsWhole) {
  for (std::size_t step = 1; step <= 200; ++step) {
    const std::vector<double> sorted = sorted_draws(ar1({.chains = 1, .draws = 20 * step + 1}));
    EXPECT_EQ(quantile(sorted, 0.05), sorted[step]);
    EXPECT_EQ(quantile(sorted, 0.5), sorted[10 * step]);
    EXPECT_EQ(quantile(sorted, 0.95), sorted[19 * step]);
  }
}

TEST(Quantile, EndsAreTheSmallestAndTheLargestDraw) {
  const std::vector<double> sorted{-3, 1, 8};
  EXPECT_EQ(quantile(sorted, 0), -3);
  EXPECT_EQ(quantile(sorted, 1), 8);
}

TEST(Hpd, IsTheShortestOfAllIntervalsThatHoldTheMass) {
  for (const std::size_t size : {1, 2, 19, 20, 21, 100, 101}) {
    for (const bool ties : {false, true}) {
      Chains chains = ar1({.chains = 1, .draws = size, .seed = size});
      if (ties) chains = map(chains, [](double x, double) { return std::round(3 * x); });
      const std::vector<double> sorted = sorted_draws(chains);
      for (std::size_t percent = 1; percent <= 100; ++percent) {  // whole, so that "at least" is exact
        Interval shortest{-inf, inf};
        for (std::size_t i = 0; i < size; ++i) {
          for (std::size_t j = i; j < size; ++j) {
            const bool holds = 100 * (j - i + 1) >= percent * size;
            if (holds && sorted[j] - sorted[i] < shortest.high - shortest.low)
              shortest = {sorted[i], sorted[j]};
          }
        }
        const Interval found = hpd(sorted, static_cast<double>(percent) / 100);
        EXPECT_EQ(found.low, shortest.low) << size << " " << percent;
        EXPECT_EQ(found.high, shortest.high) << size << " " << percent;
      }
    }
  }
}

// "Draws" at the quantiles (i + 1/2) / S: the interval's ends err by at most the distance between two of
// them, 1 / (S density).
constexpr std::size_t grid = 100'000;
double grid_probability(std::size_t i) { return (static_cast<double>(i) + 0.5) / grid; }

TEST(Hpd, OfAnExponentialLawStartsAtZero) {
  std::vector<double> sorted(grid);
  for (std::size_t i = 0; i < grid; ++i) sorted[i] = -std::log1p(-grid_probability(i));
  const Interval interval = hpd(sorted, 0.95);
  EXPECT_NEAR(interval.low, 0, 1.0 / grid);                        // density 1
  EXPECT_NEAR(interval.high, -std::log(0.05), 1 / (0.05 * grid));  // density 0.05
}

TEST(Hpd, OfASymmetricLawIsCentral) {
  std::vector<double> sorted(grid);
  for (std::size_t i = 0; i < grid; ++i)
    sorted[i] = std::log(grid_probability(i) / (1 - grid_probability(i)));
  const Interval interval = hpd(sorted, 0.95);
  const double end =
      std::log(0.975 / 0.025);  // of the logistic distribution, whose density there is 0.975 x 0.025
  EXPECT_NEAR(interval.low, -end, 1 / (0.975 * 0.025 * grid));
  EXPECT_NEAR(interval.high, end, 1 / (0.975 * 0.025 * grid));
}

TEST(Hpd, OfAllTheMassIsTheRange) {
  const std::vector<double> sorted{-3, 1, 1, 8};
  EXPECT_EQ(hpd(sorted, 1).low, -3);
  EXPECT_EQ(hpd(sorted, 1).high, 8);
}

TEST(Summary, AgreesWithEachFigureOnItsOwn) {
  for (const std::size_t chains : {1, 4}) {
    const Chains draws = ar1({.coefficient = 0.5, .chains = chains, .draws = 301});
    const std::vector<double> sorted = sorted_draws(draws);
    const ParameterSummary summary = summarise("x1:x2", view(draws));
    EXPECT_EQ(summary.name, "x1:x2");
    // Sums of some 1000 terms of order 1.
    EXPECT_NEAR(summary.mean, naive::mean(sorted), 1e-13);
    EXPECT_NEAR(summary.sd, std::sqrt(naive::variance(sorted)), 1e-13);
    EXPECT_EQ(summary.hpd_low, hpd(sorted, 0.95).low);
    EXPECT_EQ(summary.hpd_high, hpd(sorted, 0.95).high);
    EXPECT_EQ(summary.median, quantile(sorted, 0.5));
    EXPECT_EQ(summary.q5, quantile(sorted, 0.05));
    EXPECT_EQ(summary.q95, quantile(sorted, 0.95));
    EXPECT_EQ(summary.mcse_mean, mcse_mean(view(draws)));
    EXPECT_EQ(summary.ess_bulk, ess_bulk(view(draws)));
    EXPECT_EQ(summary.ess_tail, ess_tail(view(draws)));
    EXPECT_EQ(summary.rhat, rhat(view(draws)));
  }
}

// A summary needs only the chains' draws, where a parameter is every dim-th number.
TEST(Summary, OfChainsUsesAsManyDrawsOfEachAsTheShortestHas) {
  const Chains first = ar1({.coefficient = 0.5, .chains = 2, .draws = 60, .seed = 1}),
               second = ar1({.coefficient = 0.5, .chains = 2, .draws = 60, .seed = 2});
  std::vector<ChainDraws> chains(2);
  for (std::size_t c = 0; c < 2; ++c) {
    chains[c].dim = 2;
    chains[c].log_posteriors.resize(c == 0 ? 60 : 50);
    for (std::size_t k = 0; k < chains[c].size(); ++k) {
      chains[c].draws.push_back(first[c][k]);
      chains[c].draws.push_back(second[c][k]);
    }
  }
  const auto cut = [](Chains draws) {
    for (auto& chain : draws) chain.resize(50);
    return draws;
  };
  const Chains short_first = cut(first), short_second = cut(second);
  const std::vector<ParameterSummary> all = summarise(std::vector<std::string>{"a", "b"}, chains);
  ASSERT_EQ(all.size(), 2U);
  for (const auto& [found, alone] : {std::pair(all[0], summarise("a", view(short_first))),
                                     std::pair(all[1], summarise("b", view(short_second)))}) {
    EXPECT_EQ(found.name, alone.name);
    EXPECT_EQ(found.mean, alone.mean);
    EXPECT_EQ(found.sd, alone.sd);
    EXPECT_EQ(found.hpd_low, alone.hpd_low);
    EXPECT_EQ(found.ess_bulk, alone.ess_bulk);
    EXPECT_EQ(found.rhat, alone.rhat);
  }
}

void expect_all_nan(const ParameterSummary& s) {
  for (const double figure : {s.mean, s.sd, s.mcse_mean, s.hpd_low, s.hpd_high, s.median, s.q5, s.q95,
                              s.ess_bulk, s.ess_tail, s.rhat}) {
    EXPECT_TRUE(std::isnan(figure));
  }
}

TEST(Summary, OfNoDrawsIsNan) {
  expect_all_nan(summarise("x", {}));
  expect_all_nan(summarise("x", view(Chains(4))));
}

TEST(Summary, WithADrawThatIsNotFiniteIsNan) {
  for (const double bad : {nan, inf, -inf}) {
    Chains draws = ar1({.draws = 20});
    draws[1][7] = bad;
    expect_all_nan(summarise("x", view(draws)));
  }
}

TEST(Summary, OfFewDrawsHasWhatIsDefined) {
  for (std::size_t chains = 1; chains <= 4; ++chains) {
    for (std::size_t length = 1; length <= 6; ++length) {
      const Chains draws = ar1({.chains = chains, .draws = length});
      const ParameterSummary s = summarise("x", view(draws));
      EXPECT_NEAR(s.mean, naive::mean(pool(draws)), 1e-15);
      EXPECT_EQ(std::isnan(s.sd), chains * length == 1);
      EXPECT_LE(s.hpd_low, s.hpd_high);
      EXPECT_LE(s.q5, s.median);
      EXPECT_LE(s.median, s.q95);
      EXPECT_EQ(std::isnan(s.rhat), length < 4);
      EXPECT_EQ(std::isnan(s.mcse_mean), length < 6);
      EXPECT_EQ(std::isnan(s.ess_bulk), length < 6);
      EXPECT_EQ(std::isnan(s.ess_tail), length < 6);
    }
  }
}

TEST(Summary, OfAConstantIsThatConstantWithoutDiagnostics) {
  const Chains draws(3, std::vector<double>(10, 0.1));
  const ParameterSummary s = summarise("x", view(draws));
  EXPECT_EQ(s.mean, 0.1);
  EXPECT_EQ(s.sd, 0);
  for (const double figure : {s.hpd_low, s.hpd_high, s.median, s.q5, s.q95}) EXPECT_EQ(figure, 0.1);
  for (const double figure : {s.mcse_mean, s.ess_bulk, s.ess_tail, s.rhat}) EXPECT_TRUE(std::isnan(figure));
}

}  // namespace
}  // namespace mlo::test
