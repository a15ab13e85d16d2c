// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/diagnose/convergence.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "diagnose/chains.hpp"
#include "diagnose/naive.hpp"

namespace mlo::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

struct Case {
  std::string name;
  Chains chains;
};

// Odd and even lengths, halves of odd and of prime length (503), starting with the shortest that has an ESS.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::size_t draws : {6, 7, 11, 12, 13, 50, 101, 1006}) {
    for (const std::size_t chains : {1, 4}) {
      const std::string size = std::to_string(chains) + " x " + std::to_string(draws);
      for (const double coefficient : {-0.9, -0.4, 0.0, 0.6, 0.97}) {
        const std::uint64_t seed = draws + chains;
        all.push_back({"AR(1) " + std::to_string(coefficient) + ", " + size,
                       ar1({.coefficient = coefficient, .chains = chains, .draws = draws, .seed = seed})});
      }
      const Chains plain = ar1({.coefficient = 0.3, .chains = chains, .draws = draws, .seed = draws});
      all.push_back({"different means, " + size, map(plain, [](double x, double c) { return x + c; })});
      all.push_back(
          {"different scales, " + size, map(plain, [](double x, double c) { return x * (1 + c); })});
      all.push_back({"ties, " + size, map(plain, [](double x, double) { return std::round(4 * x); })});
      all.push_back({"heavy tails, " + size, map(plain, [](double x, double) { return std::sinh(3 * x); })});
    }
  }
  return all;
}

using Diagnostic = double (*)(ChainsView);

// Each sum over S draws rounds by at most S eps = 1e-12 in relative terms, and an ESS beyond S divides by a
// tau near 1/4 made of terms near 1: 1e-10 leaves a factor of 25.
void expect_equal_to_naive(Diagnostic fast, const std::function<double(const Chains&)>& naive) {
  for (const Case& c : cases()) {
    const double expected = naive(c.chains);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(fast(view(c.chains)))) << c.name;
      continue;
    }
    EXPECT_NEAR(fast(view(c.chains)), expected, 1e-10 * std::abs(expected)) << c.name;
  }
}

TEST(Convergence, RhatIsTheLargerOfBulkAndFolded) {
  expect_equal_to_naive(rhat,
                        [](const Chains& x) { return std::max(naive::rhat_bulk(x), naive::rhat_folded(x)); });
}

TEST(Convergence, EssBulkIsThatOfTheRankNormalisedHalves) {
  expect_equal_to_naive(ess_bulk, naive::ess_bulk);
}

TEST(Convergence, EssTailIsTheSmallerOfTheTwoTailQuantiles) {
  expect_equal_to_naive(ess_tail, naive::ess_tail);
}

TEST(Convergence, EssMeanIsThatOfTheDrawsAsTheyAre) { expect_equal_to_naive(ess_mean, naive::ess_mean); }

TEST(Convergence, McseMeanIsTheSdOverTheRootOfEssMean) { expect_equal_to_naive(mcse_mean, naive::mcse_mean); }

TEST(Convergence, McseSdComesFromTheEssOfTheSquaredCentredDraws) {
  expect_equal_to_naive(mcse_sd, naive::mcse_sd);
}

// Budget: the autocorrelations are summed over some T lags, which leaves a relative sd of
// sqrt(2 (2 T + 1) / S) in tau (Sokal 1997). Geyer's rule stops where phi^T meets the noise 1 / sqrt(S); 4
// sd.
double ess_budget(double phi, double size) {
  const double lags = phi == 0 ? 2 : 2 + 0.5 * std::log(size) / -std::log(std::abs(phi));
  return 4 * std::sqrt(2 * (2 * lags + 1) / size);
}

TEST(Convergence, EssOfAnAr1ChainApproachesItsClosedForm) {
  constexpr double size = 4 * 50'000;
  for (const double phi : {-0.3, 0.0, 0.3, 0.6, 0.9, 0.98}) {
    const Chains chains = ar1({.coefficient = phi, .draws = 50'000, .seed = 20});
    const double expected = size * (1 - phi) / (1 + phi);
    const double budget = ess_budget(phi, size);
    EXPECT_NEAR(ess_mean(view(chains)) / expected, 1, budget) << phi;
    EXPECT_NEAR(ess_bulk(view(chains)) / expected, 1, budget)
        << phi;  // normal draws are their own normal scores
    EXPECT_NEAR(mcse_mean(view(chains)) * std::sqrt(expected), 1, budget) << phi;
  }
}

// The squares of a normal AR(1) chain have autocorrelation phi^(2 lag) and variance 2.
TEST(Convergence, McseSdOfAnAr1ChainApproachesItsClosedForm) {
  constexpr double size = 4 * 50'000;
  for (const double phi : {-0.5, 0.0, 0.6, 0.9}) {
    const Chains chains = ar1({.coefficient = phi, .draws = 50'000, .seed = 21});
    const double ess = size * (1 - phi * phi) / (1 + phi * phi);
    EXPECT_NEAR(mcse_sd(view(chains)) * std::sqrt(2 * ess), 1, ess_budget(phi * phi, size)) << phi;
  }
}

TEST(Convergence, AntitheticChainsHaveMoreEssThanDraws) {
  const Chains chains = ar1({.coefficient = -0.4});
  EXPECT_GT(ess_mean(view(chains)), 4000);
  EXPECT_GT(ess_bulk(view(chains)), 4000);
}

TEST(Convergence, EssIsNeverAboveSLog10S) {
  // The closed form, 39 S, is far above the cap of 3.6 S.
  const Chains chains = ar1({.coefficient = -0.95});
  EXPECT_DOUBLE_EQ(ess_mean(view(chains)), 4000 * std::log10(4000));
}

TEST(Convergence, RhatOfWellMixedChainsIsNearOne) {
  EXPECT_LT(rhat(view(ar1({.coefficient = 0.3}))), 1.01);  // the paper's threshold
}

TEST(Convergence, RhatSeesAChainInAnotherPlace) {
  const Chains chains = map(ar1({.coefficient = 0.3}), [](double x, double c) { return c == 3 ? x + 2 : x; });
  EXPECT_GT(rhat(view(chains)), 1.1);
  EXPECT_LT(ess_bulk(view(chains)), 40);  // chains in four places, however many draws
}

TEST(Convergence, RhatSeesADriftWithinEveryChain) {
  Chains chains = ar1({.coefficient = 0.3});
  for (auto& chain : chains) {
    for (std::size_t i = 0; i < chain.size(); ++i) chain[i] += 0.003 * static_cast<double>(i);
  }
  EXPECT_GT(rhat(view(chains)), 1.1);
}

TEST(Convergence, RhatSeesDifferentScalesThroughFoldingAlone) {
  const Chains chains = map(ar1({.coefficient = 0.3}), [](double x, double c) { return c == 3 ? 4 * x : x; });
  EXPECT_LT(naive::rhat_bulk(chains), 1.01);
  EXPECT_GT(rhat(view(chains)), 1.1);
}

TEST(Convergence, RhatOfChainsThatNeverMoveFromDifferentPlacesIsInfinite) {
  const Chains chains = map(ar1({.draws = 101}), [](double, double c) { return 0.1 * c; });
  EXPECT_EQ(rhat(view(chains)), inf);
}

TEST(Convergence, BulkAndTailEssDoNotChangeUnderAnIncreasingMap) {
  const Chains chains = ar1({.coefficient = 0.6, .draws = 501});
  const Chains mapped = map(chains, [](double x, double) { return std::exp(x); });
  EXPECT_EQ(ess_bulk(view(mapped)), ess_bulk(view(chains)));
  EXPECT_EQ(ess_tail(view(mapped)), ess_tail(view(chains)));
}

TEST(Convergence, ALargeOffsetDoesNotCostPrecision) {
  const Chains chains =
      map(ar1({.coefficient = 0.6}), [](double x, double) { return std::round(x * 1024) / 1024; });
  const Chains moved = map(chains, [](double x, double) { return x + 1e9; });
  // The means of halves, near 1e9, have rounding errors of 1e-7; the variance between them is near 1e-3.
  EXPECT_NEAR(ess_mean(view(moved)) / ess_mean(view(chains)), 1, 1e-5);
  EXPECT_NEAR(mcse_mean(view(moved)) / mcse_mean(view(chains)), 1, 1e-5);
}

TEST(Convergence, FollowsPosteriorWherePairsOfLagsAreAllNegative) {
  // Draws that alternate: no pair to sum, and tau = -1 + 2 rho_0 + rho_0.
  const Chains chains(2, {1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1});
  EXPECT_DOUBLE_EQ(ess_mean(view(chains)), 16);
}

TEST(Convergence, IsNanForWhatTakesOneValue) {
  const Chains chains = map(ar1({.draws = 101}), [](double, double) { return 0.1; });
  for (const Diagnostic diagnostic : {rhat, ess_bulk, ess_tail, ess_mean, mcse_mean, mcse_sd}) {
    EXPECT_TRUE(std::isnan(diagnostic(view(chains))));
  }
}

TEST(Convergence, TailEssIsNanWhenTheLargestValueIsCommon) {
  const Chains chains = map(ar1({.draws = 101}), [](double x, double) { return x > 0 ? 1.0 : 0.0; });
  EXPECT_TRUE(std::isnan(ess_tail(view(chains))));
  EXPECT_FALSE(std::isnan(ess_bulk(view(chains))));
}

TEST(Convergence, RhatIsNanWhenTwoValuesAreEquallyCommon) {
  EXPECT_TRUE(std::isnan(rhat(view(Chains(2, {0, 1, 1, 0, 1, 0, 0, 1})))));
}

TEST(Convergence, IsNanForADrawThatIsNotFinite) {
  for (const double bad : {nan, inf, -inf}) {
    for (const std::size_t at : {0, 50, 100}) {  // 50: the middle draw, which splitting leaves out
      Chains chains = ar1({.draws = 101});
      chains[2][at] = bad;
      for (const Diagnostic diagnostic : {rhat, ess_bulk, ess_tail, ess_mean, mcse_mean, mcse_sd}) {
        EXPECT_TRUE(std::isnan(diagnostic(view(chains)))) << bad << " at " << at;
      }
    }
  }
}

TEST(Convergence, IsNanForTooFewDraws) {
  for (const std::size_t chains : {0, 1, 4}) {
    for (const std::size_t draws : {0, 1, 2, 3, 4, 5, 6}) {
      const Chains few = ar1({.chains = chains, .draws = draws});
      EXPECT_EQ(std::isnan(rhat(view(few))), chains == 0 || draws < 4) << chains << " x " << draws;
      for (const Diagnostic diagnostic : {ess_bulk, ess_tail, ess_mean, mcse_mean, mcse_sd}) {
        EXPECT_EQ(std::isnan(diagnostic(view(few))), chains == 0 || draws < 6) << chains << " x " << draws;
      }
    }
  }
}

TEST(Convergence, IsNanWhereSquaresOverflow) {
  const Chains chains = map(ar1({.draws = 101}), [](double x, double) { return x * 1e300; });
  EXPECT_TRUE(std::isnan(ess_mean(view(chains))));
  EXPECT_TRUE(std::isnan(mcse_sd(view(chains))));
  EXPECT_FALSE(std::isnan(ess_bulk(view(chains))));  // ranks are not affected
}

TEST(Convergence, IsNanWhereSquaresUnderflow) {
  const Chains chains = map(ar1({.draws = 101}), [](double x, double) { return x * 1e-200; });
  EXPECT_TRUE(std::isnan(ess_mean(view(chains))));
  EXPECT_TRUE(std::isnan(mcse_sd(view(chains))));
  EXPECT_FALSE(std::isnan(ess_bulk(view(chains))));
}

}  // namespace
}  // namespace mlo::test
