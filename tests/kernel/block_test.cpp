// Copyright (c) the mlo authors. BSD-3-Clause.
// The block pseudo-marginal kernel: its perturbed target, worked out over all subsamples, and the posterior
// where the perturbation does not matter. |z| < 5 is one false alarm in a million; seeds are fixed.
#include "mlo/kernel/block.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "mlo/model/glm.hpp"
#include "mlo/model/mode.hpp"
#include "support/designs.hpp"
#include "support/laws.hpp"

namespace mlo {
namespace {

using testing::BatchMean;
using testing::expect_moments;
using testing::integrate;
using testing::Quadrature;
using testing::small_glm;

static_assert(Kernel<BlockKernel<Glm, LaplaceProposal>> &&
              BlockKernel<Glm, LaplaceProposal>::promise() == Promise::approximate);

template <class M>
struct Prepared : testing::Fitted<M> {
  explicit Prepared(const M& m) : testing::Fitted<M>(m) {}
  template <class P>
  auto kernel(P proposal, BlockOptions options) const {
    return BlockKernel(this->model, this->mode.evaluated_at, this->mode.likelihood, std::move(proposal),
                       options);
  }
};

Eigen::MatrixXd walk(const Laplace& fit) {
  const Eigen::Index p = fit.mode.size();
  return 2.38 / std::sqrt(static_cast<double>(p)) *
         fit.cholesky.transpose().triangularView<Eigen::Upper>().solve(
             Eigen::MatrixXd(Eigen::MatrixXd::Identity(p, p)));
}

void expect_posterior(std::string_view family, double (*draw)(Stream&, double), std::size_t rows) {
  const auto model = small_glm(family, rows, draw);
  const Quadrature q = integrate(model);
  const Prepared set(model);
  auto independent = set.kernel(LaplaceProposal(set.fit, {}), {});
  expect_moments(independent, set.mode.theta, q.mean, q.covariance, 50'000, "independent proposals");
  auto random_walk = set.kernel(RandomWalkProposal(walk(set.fit)), {.subsample_size = 107, .blocks = 10});
  expect_moments(random_walk, set.mode.theta, q.mean, q.covariance, 50'000,
                 "random walk, blocks of 10 and 11");
}

TEST(Block, LogisticMatchesQuadrature) { expect_posterior("logistic", testing::draw_logistic, 300); }
TEST(Block, PoissonMatchesQuadrature) { expect_posterior("poisson", testing::draw_poisson, 600); }

// l_i(t) = -t^2 / 20 + a_i sin t: the expansion about 0 leaves d_i = a_i (sin t - t), which grows no faster
// than t, so that the perturbed target is a proper distribution even for subsamples of two.
struct Waves {
  static constexpr std::size_t n = 20;
  [[nodiscard]] static double a(std::size_t i) {
    return 0.05 + 0.12 * std::sin(7.0 * static_cast<double>(i));
  }
  [[nodiscard]] std::size_t dim() const { return 1; }
  [[nodiscard]] std::size_t rows() const { return n; }
  [[nodiscard]] double log_prior(Params /*theta*/) const { return 0; }
  void log_likelihoods(Params theta, Rows rows, std::span<double> out) const {
    for (std::size_t k = 0; k < rows.size(); ++k)
      out[k] = -0.05 * theta[0] * theta[0] + a(rows[k]) * std::sin(theta[0]);
  }
  void log_likelihood_remainders(Params centre, Params from, Params to, std::span<const RowId> ids,
                                 std::span<double> out) const {
    ASSERT_EQ(centre[0], 0);
    for (std::size_t k = 0; k < ids.size(); ++k)
      out[k] = a(ids[k]) * ((std::sin(to[0]) - to[0]) - (std::sin(from[0]) - from[0]));
  }
};

// The density of theta under the chain is exp(q(theta)) sum_{i,j} exp( n (d_i + d_j) / 2 - n^2 (d_i - d_j)^2
// / 8 ), a sum over 400 subsamples. Its variance is 14 % above the posterior's, and would be 25 % without the
// correction.
TEST(Block, TinySubsamplesHaveThePerturbedLawOfAllPairs) {
  const Waves model;
  constexpr double n = Waves::n;
  Derivatives sums(1);
  for (std::size_t i = 0; i < Waves::n; ++i) sums.gradient[0] += Waves::a(i);
  sums.information(0, 0) = 2;
  std::array<double, 3> perturbed{}, posterior{};  // moments 0, 1 and 2
  for (double t = -8; t <= 8; t += 0.02) {
    const double bend = std::sin(t) - t;
    double pairs = 0;
    for (std::size_t i = 0; i < Waves::n; ++i)
      for (std::size_t j = 0; j < Waves::n; ++j) {
        const double both = n / 2 * (Waves::a(i) + Waves::a(j)) * bend;
        const double apart = n * (Waves::a(i) - Waves::a(j)) * bend;
        pairs += std::exp(both - apart * apart / 8) / (n * n);
      }
    const double known = std::exp(sums.gradient[0] * t - t * t);
    const double exact = known * std::exp(sums.gradient[0] * bend);
    for (std::size_t k = 0; k < 3; ++k) {
      perturbed[k] += known * pairs * std::pow(t, static_cast<double>(k));
      posterior[k] += exact * std::pow(t, static_cast<double>(k));
    }
  }
  for (const std::size_t blocks : {1U, 2U}) {
    BlockKernel kernel(model, Eigen::VectorXd::Zero(1), sums,
                       RandomWalkProposal(Eigen::MatrixXd::Constant(1, 1, 1.5)),
                       {.subsample_size = 2, .blocks = blocks});
    constexpr std::size_t steps = 400'000;
    BatchMean first(steps), second(steps);
    testing::run(kernel, Eigen::VectorXd::Zero(1), 2000, steps,
                 [&](const Eigen::VectorXd& theta, const StepInfo&) {
                   first.add(theta[0]);
                   second.add(theta[0] * theta[0]);
                 });
    EXPECT_LT(std::abs(first.z(perturbed[1] / perturbed[0])), 5);
    EXPECT_LT(std::abs(second.z(perturbed[2] / perturbed[0])), 5);
    EXPECT_GT(std::abs(second.z(posterior[2] / posterior[0])), 10);
  }
}

// Stays where it is, so that only the subsample moves.
struct Stay {
  double propose(Stream& /*stream*/, Params theta, std::span<double> out) const {
    std::copy(theta.begin(), theta.end(), out.begin());
    return 0;
  }
  void adapt(Params /*theta*/) {}
  void freeze() {}
  void save(std::vector<double>& /*out*/) const {}
  void load(std::span<const double> /*in*/) {}
};

// (n/m) sum d_i over a kernel's subsample, from what it saves: the flag, m rows, m remainders.
template <class K>
double estimate(const K& kernel, std::size_t m, double n) {
  std::vector<double> saved;
  kernel.save(saved);
  return n / static_cast<double>(m) *
         std::accumulate(saved.end() - static_cast<std::ptrdiff_t>(m), saved.end(), 0.0);
}

TEST(Block, SuccessiveEstimatesAreCorrelatedByOneMinusOneOverG) {
  const auto model = small_glm("logistic", 2000, testing::draw_logistic);
  const Prepared set(model);
  constexpr std::size_t m = 40, blocks = 10, steps = 20'000;
  auto kernel = set.kernel(Stay{}, {.subsample_size = m, .blocks = blocks});
  ChainState state{.theta = set.fit.from_white(Eigen::Vector2d(1, -0.5))};
  std::vector<double> estimates;
  double accepted = 0, noise = 0;
  for (std::size_t k = 0; k < steps; ++k) {
    const StepInfo info = kernel.step(state, {.seed = 3, .chain = 0, .iteration = k});
    accepted += info.accepted ? 1 : 0;
    noise += info.noise_sd * info.noise_sd / steps;
    estimates.push_back(estimate(kernel, m, 2000));
  }
  ASSERT_GT(accepted, 0.95 * steps);  // at one theta the noise alone decides, and it is small
  const double mean = std::accumulate(estimates.begin(), estimates.end(), 0.0) / steps;
  double variance = 0, lagged = 0, changes = 0;
  for (std::size_t k = 1; k < steps; ++k) {
    variance += std::pow(estimates[k] - mean, 2) / steps;
    lagged += (estimates[k] - mean) * (estimates[k - 1] - mean) / steps;
    changes += std::pow(estimates[k] - estimates[k - 1], 2) / accepted;
  }
  // Five standard errors, sqrt((1 - r^2) / steps), plus an allowance for the few rejections.
  EXPECT_NEAR(lagged / variance, 1 - 1.0 / blocks, 0.016 + 0.1 * (1 - accepted / steps));
  // The reported noise is that of the change; 10 %: the changes' tails are heavier than a normal's.
  EXPECT_NEAR(noise / changes, 1, 0.1);
}

// lhat(theta', u') - lhat(theta, u) about its expectation, over many subsamples and one move.
TEST(Block, TheNoiseItReportsIsThatOfTheLogRatioForAMove) {
  const auto model = small_glm("logistic", 2000, testing::draw_logistic);
  const Prepared set(model);
  constexpr std::size_t m = 40;
  struct Jump : Stay {
    Eigen::VectorXd to;
    double propose(Stream& /*stream*/, Params /*theta*/, std::span<double> out) const {
      std::copy(to.begin(), to.end(), out.begin());
      return 0;
    }
  };
  Jump jump;
  jump.to = set.fit.from_white(Eigen::Vector2d(1.6, -1.5));
  const Eigen::VectorXd from = set.fit.from_white(Eigen::Vector2d(1, -0.5));
  double sum = 0, squares = 0, noise = 0;
  constexpr std::size_t repeats = 5000;
  for (std::size_t k = 0; k < repeats; ++k) {
    auto kernel = set.kernel(jump, {.subsample_size = m, .blocks = 10});
    ChainState state{.theta = from};
    const StepInfo info = kernel.step(state, {.seed = 3, .chain = k, .iteration = 0});
    sum += info.log_ratio / repeats;
    squares += info.log_ratio * info.log_ratio / repeats;
    noise += info.noise_sd * info.noise_sd / repeats;
  }
  // The variance of 5,000 ratios has an error of 2 %; the change of s2/2 adds a little noise.
  EXPECT_NEAR(noise / (squares - sum * sum), 1, 0.1);
}

// The remainders it keeps are those of the rows it keeps, at theta, whether a step was accepted or rejected.
TEST(Block, RefusedStepsPutTheBlockBack) {
  const auto model = small_glm("logistic", 500, testing::draw_logistic);
  const Prepared set(model);
  constexpr std::size_t m = 12;
  auto kernel = set.kernel(RandomWalkProposal(walk(set.fit)), {.subsample_size = m, .blocks = 4});
  ChainState state{.theta = set.mode.theta};
  std::size_t refused = 0;
  std::vector<double> before;
  for (std::size_t k = 0; k < 300; ++k) {
    const bool accepted = kernel.step(state, {.seed = 9, .chain = 0, .iteration = k}).accepted;
    std::vector<double> saved;
    kernel.save(saved);
    const std::vector<RowId> ids(saved.begin() + 1, saved.begin() + 1 + m);
    std::vector<double> remainders(m);
    const Params centre = params(set.mode.evaluated_at);
    model.log_likelihood_remainders(centre, centre, params(state.theta), ids, remainders);
    EXPECT_EQ(remainders, std::vector<double>(saved.begin() + 1 + m, saved.end()));
    if (!accepted && k > 0) {
      ++refused;
      EXPECT_EQ(saved, before);
    } else if (k > 0) {  // all but a block of three stay
      std::size_t kept = 0;
      for (std::size_t j = 0; j < m; ++j) kept += saved[1 + j] == before[1 + j] ? 1 : 0;
      EXPECT_GE(kept, 9U);
      EXPECT_LT(kept, 12U);  // drawing the same three rows of 500 again does not happen in these 300 steps
    }
    before = saved;
  }
  EXPECT_GT(refused, 50U);
  EXPECT_LT(refused, 250U);
}

TEST(Block, ResumesBitForBit) {
  const auto model = small_glm("logistic", 500, testing::draw_logistic);
  const Prepared set(model);
  const auto make = [&] {
    return set.kernel(AdaptiveProposal(walk(set.fit), 1.7), {.subsample_size = 300, .blocks = 7});
  };
  using Seen = std::vector<double>;  // log ratios too, because a wrong one seldom changes a decision
  const auto advance = [](auto& kernel, ChainState& state, Seen& seen, std::size_t first, std::size_t last) {
    std::uint64_t rows = 0;
    for (std::size_t k = first; k < last; ++k) {
      const StepInfo info = kernel.step(state, {.seed = 9, .chain = 2, .iteration = k});
      rows += info.rows_read;
      seen.insert(seen.end(), {info.log_ratio, info.noise_sd, state.theta[0], state.theta[1]});
    }
    return rows;
  };
  Seen seen_one, seen_two;
  auto whole = make(), before = make(), after = make();
  ChainState one{.theta = set.mode.theta}, two{.theta = set.mode.theta};
  const std::uint64_t rows_one = advance(whole, one, seen_one, 0, 400);
  std::uint64_t rows_two = advance(before, two, seen_two, 0, 150);
  std::vector<double> saved;
  before.save(saved);
  after.load(saved);
  rows_two += advance(after, two, seen_two, 150, 400);
  EXPECT_EQ(seen_one, seen_two);
  EXPECT_EQ(rows_one, rows_two);
  EXPECT_EQ(rows_one, 401U * 300U);  // 300 per step, and 300 for the start
  std::vector<double> end_one, end_two;
  whole.save(end_one);
  after.save(end_two);
  EXPECT_EQ(end_one, end_two);
}

// log p = y log theta - theta, without a prior that forbids theta <= 0: terms are NaN there.
struct Counts {
  std::vector<double> y = std::vector<double>(50, 3.0);
  [[nodiscard]] std::size_t dim() const { return 1; }
  [[nodiscard]] std::size_t rows() const { return y.size(); }
  [[nodiscard]] double log_prior(Params /*theta*/) const { return 0; }
  [[nodiscard]] double term(double theta, std::size_t i) const {
    return theta > 0 ? y[i] * std::log(theta) - theta : -std::numeric_limits<double>::infinity();
  }
  void log_likelihoods(Params theta, Rows rows, std::span<double> out) const {
    for (std::size_t k = 0; k < rows.size(); ++k) out[k] = term(theta[0], rows[k]);
  }
  void log_likelihood_remainders(Params centre, Params from, Params to, std::span<const RowId> ids,
                                 std::span<double> out) const {
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const double a = from[0] - centre[0], b = to[0] - centre[0], c = centre[0], y_k = y[ids[k]];
      out[k] = term(to[0], ids[k]) - term(from[0], ids[k]) -
               ((y_k / c - 1) * (b - a) - y_k / (2 * c * c) * (b * b - a * a));
    }
  }
};

TEST(Block, RefusesAndCountsPointsWithoutADensityAndLeavesThemWhenItStartsThere) {
  const Counts model;
  Derivatives sums(1);
  sums.information(0, 0) = 50.0 / 3;
  const Eigen::VectorXd centre = Eigen::VectorXd::Constant(1, 3.0);
  BlockKernel kernel(model, centre, sums, RandomWalkProposal(Eigen::MatrixXd::Constant(1, 1, 4.0)), {});
  ChainState state{.theta = Eigen::VectorXd::Constant(1, -0.5)};
  std::size_t refused = 0;
  for (std::size_t k = 0; k < 2000; ++k) {
    const StepInfo info = kernel.step(state, {.seed = 1, .chain = 0, .iteration = k});
    EXPECT_TRUE(std::isfinite(info.noise_sd));
    if (!info.finite) {
      ++refused;
      EXPECT_FALSE(info.accepted);
    }
  }
  EXPECT_GT(state.theta[0], 0);
  EXPECT_GT(refused, 100U);
}

TEST(Block, SaysWhatIsWrongWithItsSizes) {
  const auto model = small_glm("logistic", 50, testing::draw_logistic);
  const Prepared set(model);
  const LaplaceProposal proposal(set.fit, {});
  EXPECT_THROW((void)set.kernel(proposal, {.subsample_size = 1, .blocks = 1}), UsageError);
  EXPECT_THROW((void)set.kernel(proposal, {.subsample_size = 10, .blocks = 11}), UsageError);
  EXPECT_THROW((void)set.kernel(proposal, {.subsample_size = 10, .blocks = 0}), UsageError);
  EXPECT_NO_THROW((void)set.kernel(proposal, {.subsample_size = 10, .blocks = 10}));
}

}  // namespace
}  // namespace mlo
