// Copyright (c) the mlo authors. BSD-3-Clause.
// Posteriors with two modes, against quadrature: z = error / MCSE with |z| < 5, one false alarm in some
// 100,000 seeds.
#include "mlo/kernel/jump_proposal.hpp"

#include <gtest/gtest.h>

#include "mlo/kernel/full.hpp"
#include "mlo/kernel/mixed_proposal.hpp"
#include "mlo/model/modes.hpp"
#include "support/clusters.hpp"
#include "support/laws.hpp"

namespace mlo {
namespace {

Glm nine_rows() {
  return {testing::design_of(testing::nine_rows(), "y ~ 1"),
          make_family("student", {{"freedom", 1}, {"known-sigma", 1}}), GlmPriors{{Prior::normal(0, 10)}}};
}

ModeMixture mixture(const Modes& modes) {
  std::vector<ModeMixture::Component> components;
  for (const FoundMode& m : modes.found)
    components.push_back(
        {Laplace(m.mode.theta, m.mode.information), 1.0 / static_cast<double>(modes.found.size())});
  return ModeMixture(std::move(components));
}

// The mean of a chain that starts at the first mode.
template <class P>
testing::BatchMean chain_mean(const Glm& model, const Mode& mode, P proposal, std::size_t steps) {
  ThreadPool pool(1);
  FullKernel kernel(model, std::move(proposal), pool);
  testing::BatchMean mean(steps);
  testing::run(kernel, mode.theta, 1000, steps,
               [&](const Eigen::VectorXd& theta, const StepInfo&) { mean.add(theta[0]); });
  return mean;
}

TEST(JumpProposal, GivesTheLawOfTwoClusters) {
  const Glm model = nine_rows();
  const testing::Law1 law = testing::location_law(testing::nine_rows().columns[0].numbers(), 1, 1, 10);
  ThreadPool pool(1);
  const Modes modes = find_modes(ModelOf<Glm>(&model), pool);
  ASSERT_EQ(modes.found.size(), 2U);
  const Laplace fit(modes.found[0].mode.theta, modes.found[0].mode.information);
  FullKernel kernel(model, JumpProposal(MixedProposal(fit), mixture(modes)), pool);
  testing::expect_moments(kernel, fit.mode, Eigen::VectorXd::Constant(1, law.mean),
                          Eigen::MatrixXd::Constant(1, 1, law.sd * law.sd), 100'000, "nine rows");
}

// What the jumps are for: without them a chain stays where it starts, in the lower mode, and is sure of it.
// It is the same chain otherwise.
TEST(JumpProposal, IsNeeded) {
  const std::vector<double> y{-10.2, -10.1, -10, -9.9, -9.8, 9.7, 9.8, 10, 10.1, 10.5};
  Table table = testing::nine_rows();
  table.rows = y.size();
  table.columns[0].numbers() = y;
  const Glm model{testing::design_of(std::move(table), "y ~ 1"),
                  make_family("student", {{"freedom", 1}, {"known-sigma", 0.5}}),
                  GlmPriors{{Prior::normal(0, 10)}}};
  const testing::Law1 law = testing::location_law(y, 1, 0.5, 10);
  ThreadPool pool(1);
  const Modes modes = find_modes(ModelOf<Glm>(&model), pool);
  ASSERT_EQ(modes.found.size(), 2U);
  const Laplace fit(modes.found[0].mode.theta, modes.found[0].mode.information);
  const Mode& lower = modes.found[1].mode;
  const MixedProposal base{Laplace(lower.theta, lower.information)};
  EXPECT_GT(std::abs(chain_mean(model, lower, base, 2000).z(law.mean)), 20);
  EXPECT_LT(std::abs(chain_mean(model, lower, JumpProposal(base, mixture(modes)), 50'000).z(law.mean)), 5);
}

TEST(JumpProposal, ResumesBitForBit) {
  const Glm model = nine_rows();
  ThreadPool pool(1);
  const Modes modes = find_modes(ModelOf<Glm>(&model), pool);
  const Laplace fit(modes.found[0].mode.theta, modes.found[0].mode.information);
  const FullKernel fresh(model, JumpProposal(MixedProposal(fit), mixture(modes)), pool);
  auto whole = fresh, before = fresh, after = fresh;
  ChainState one{.theta = fit.mode}, two{.theta = fit.mode};
  const auto advance = [&](auto& kernel, ChainState& state, std::size_t first, std::size_t last) {
    for (std::size_t k = first; k < last; ++k) {
      if (k == 250) kernel.freeze();
      kernel.step(state, {.seed = 9, .chain = 2, .iteration = k});
    }
  };
  advance(whole, one, 0, 400);
  advance(before, two, 0, 200);
  std::vector<double> saved;
  before.save(saved);
  after.load(saved);
  advance(after, two, 200, 400);
  EXPECT_EQ(one.theta, two.theta);
}

// The density is that of the draws: by the trapezoid rule it has the mean and the variance of the mixture,
// and so have the draws.
TEST(ModeMixture, DrawsFromItsDensity) {
  const auto fit = [](double at, double sd) {
    return Laplace(Eigen::VectorXd::Constant(1, at), Eigen::MatrixXd::Constant(1, 1, 1 / (sd * sd)));
  };
  ModeMixture mixture({{fit(-2, 0.5), 0.3}, {fit(3, 2), 0.7}});
  // t with 6 degrees of freedom has the variance 6/4.
  const double mean = 0.3 * -2 + 0.7 * 3;
  const double variance = 0.3 * (1.5 * 0.25 + 4) + 0.7 * (1.5 * 4 + 9) - mean * mean;
  double total = 0, first = 0, second = 0;
  for (double x = -400; x <= 400; x += 0.01) {
    const double density = std::exp(mixture.log_density({&x, 1}));
    total += density;
    first += density * x;
    second += density * x * x;
  }
  EXPECT_NEAR(first / total, mean, 1e-6);
  EXPECT_NEAR(second / total - mean * mean, variance, 1e-4);  // the tails beyond 400: 400^-4
  constexpr int draws = 200'000;
  double sum = 0;
  for (int k = 0; k < draws; ++k) {
    Stream stream(
        {.seed = 1, .chain = 0, .purpose = Purpose::proposal, .iteration = static_cast<std::uint64_t>(k)});
    double x = 0;
    mixture.draw(stream, {&x, 1});
    sum += x;
  }
  EXPECT_LT(std::abs(sum / draws - mean) / std::sqrt(variance / draws), 5);
}

}  // namespace
}  // namespace mlo
