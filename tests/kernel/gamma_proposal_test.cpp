// Copyright (c) the mlo authors. BSD-3-Clause.
// The relative step against closed forms. Errors are z scores from 50 batches with |z| < 5: one false
// alarm in some 100,000 per comparison (Student's t with 49 degrees of freedom). Seeds are fixed.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "mlo/kernel/full.hpp"
#include "mlo/kernel/proposal.hpp"
#include "mlo/model/gaussian_precision.hpp"
#include "support/laws.hpp"

namespace mlo {
namespace {

using testing::BatchMean;
using testing::design_of;
using testing::regression_table;
using testing::run;

Stream stream_of(std::uint64_t iteration) {
  return Stream({.seed = 3, .chain = 0, .purpose = Purpose::proposal, .iteration = iteration});
}

TEST(GammaProposal, TheRatioIsThatOfTheTwoDensities) {
  // Gamma with shape k and mean m.
  const auto log_density = [](double x, double k, double m) {
    return k * std::log(k / m) - std::lgamma(k) + (k - 1) * std::log(x) - k * x / m;
  };
  const std::array<double, 2> from{0.3, 40};
  for (const double variation : {0.01, 0.05, 0.5, 1.0}) {
    GammaProposal proposal(variation);
    const double k = 1 / (variation * variation);
    for (std::uint64_t step = 0; step < 100; ++step) {
      Stream stream = stream_of(step);
      std::array<double, 2> to{};
      const double ratio = proposal.propose(stream, from, to);
      double expected = 0;
      for (std::size_t j = 0; j < 2; ++j)
        expected += log_density(from[j], k, to[j]) - log_density(to[j], k, from[j]);
      // Rounding: some ten terms, each of the size k log k or that of the result, times 1e-16 and a margin
      // of 10.
      EXPECT_NEAR(ratio, expected, 1e-14 * (k * std::log(10 + k) + std::abs(expected))) << variation;
    }
  }
}

TEST(GammaProposal, StepsHaveTheParameterAsMeanAndTheirShareOfItAsSd) {
  constexpr std::size_t steps = 100'000;
  for (const double variation : {0.05, 0.5}) {
    GammaProposal proposal(variation);
    for (const double from : {0.3, 40.0}) {
      BatchMean mean(steps), square(steps);
      for (std::uint64_t step = 0; step < steps; ++step) {
        Stream stream = stream_of(step);
        std::array<double, 1> to{};
        static_cast<void>(proposal.propose(stream, std::array{from}, to));
        mean.add(to[0]);
        square.add((to[0] - from) * (to[0] - from));
      }
      EXPECT_LT(std::abs(mean.z(from)), 5) << variation;
      EXPECT_LT(std::abs(square.z(variation * variation * from * from)), 5) << variation;
    }
  }
}

// What a chain has if its author forgets that the proposal is not symmetric.
struct WithoutRatio : GammaProposal {
  using GammaProposal::GammaProposal;
  double propose(Stream& stream, Params theta, std::span<double> out) {
    static_cast<void>(GammaProposal::propose(stream, theta, out));
    return 0;
  }
};
static_assert(Proposal<WithoutRatio>);

struct Scores {
  double mean, variance;
};

// tau ~ Gamma(a, b): the posterior is Gamma(a + n/2, b + sum (y - m)^2 / 2). n = 8 makes it visibly skewed.
template <class P>
Scores precision_scores(P proposal) {
  Table table = regression_table(8, 0.0, {}, 3, testing::draw_gaussian);
  double squares = 0;
  for (const double y : table.columns[0].numbers()) squares += (y - 0.5) * (y - 0.5);
  const GaussianPrecision model(design_of(std::move(table), "y ~ 1"), 0.5, Prior::gamma(2, 0.7));
  const double shape = 2 + 4, rate = 0.7 + squares / 2;
  testing::Fitted set(model);
  FullKernel kernel(model, std::move(proposal), set.pool);
  constexpr std::size_t steps = 200'000;
  BatchMean mean(steps), variance(steps);
  run(kernel, set.mode.theta, 2000, steps, [&](const Eigen::VectorXd& theta, const StepInfo&) {
    mean.add(theta[0]);
    variance.add(std::pow(theta[0] - shape / rate, 2));
  });
  return {mean.z(shape / rate), variance.z(shape / rate / rate)};
}

TEST(GammaProposal, APrecisionMatchesItsClosedForm) {
  for (const double variation : {0.2, 0.5, 1.0}) {
    const Scores z = precision_scores(GammaProposal(variation));
    EXPECT_LT(std::abs(z.mean), 5) << variation;
    EXPECT_LT(std::abs(z.variance), 5) << variation;
  }
}

// The test above can fail.
TEST(GammaProposal, APrecisionMissesItsClosedFormWithoutTheRatio) {
  for (const double variation : {0.2, 0.5, 1.0})
    EXPECT_GT(std::abs(precision_scores(WithoutRatio(variation)).mean), 5) << variation;
}

}  // namespace
}  // namespace mlo
