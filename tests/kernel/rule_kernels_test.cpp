// Copyright (c) the mlo authors. BSD-3-Clause.
// Kernels with each decision rule, plain or with control variates: against quadrature where the rule's
// promise allows it, and against Metropolis-Hastings on all rows. |z| < 5 is one false alarm in a million.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "mlo/kernel/austerity.hpp"
#include "mlo/kernel/barker.hpp"
#include "mlo/kernel/bounded_estimator.hpp"
#include "mlo/kernel/confidence.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/kernel/penalty.hpp"
#include "mlo/kernel/subsampled.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/subsample/row_source.hpp"
#include "mlo/subsample/weights.hpp"
#include "support/designs.hpp"
#include "support/laws.hpp"

namespace mlo {
namespace {

using testing::design_of;
using testing::expect_moments;
using testing::Quadrature;
using testing::regression_table;

constexpr std::size_t rows = 500;

// A logistic posterior and what all kernels on it share.
struct Setting {
  explicit Setting(std::size_t n) : size(n) {}

  std::size_t size;
  Glm model = testing::small_glm("logistic", size, testing::draw_logistic, Prior::normal(0.5, 1.5));
  ThreadPool pool{1};
  Mode mode = find_mode(model, pool);
  Laplace fit{mode.theta, mode.information};
  // Steps of the posterior's size, for most of which the decision depends on more than rounding.
  RandomWalkProposal proposal{1.7 * fit.cholesky.transpose().triangularView<Eigen::Upper>().solve(
                                        Eigen::MatrixXd(Eigen::MatrixXd::Identity(2, 2)))};
  Bounded<PlainDifference<Glm>> plain{PlainDifference(model), bounds(0)};
  Bounded<ControlVariates<Glm>> control_variates{ControlVariates(model, mode.evaluated_at, mode.likelihood),
                                                 bounds(2)};
  std::shared_ptr<const WeightedRows> remainder_rows = std::make_shared<const WeightedRows>(
      remainder_probabilities(*model.curved(), pool, params(mode.evaluated_at), fit.cholesky));

  [[nodiscard]] std::shared_ptr<const RowBounds> bounds(int order) {
    return std::make_shared<const RowBounds>(
        row_bounds(*model.curved(), pool, mode.evaluated_at, fit.cholesky, order));
  }
};

Setting& setting() {
  static Setting shared(rows);
  return shared;
}

template <RowSource S, Decision R, Estimator E>
void expect_law(S source, R rule, E estimator, std::size_t steps, const char* what) {
  static const Quadrature truth = testing::integrate(setting().model);
  const Setting& s = setting();
  SubsampledKernel kernel(s.model, s.proposal, std::move(source), std::move(rule), std::move(estimator));
  expect_moments(kernel, s.mode.theta, truth.mean, truth.covariance, steps, what);
}

// eps and delta are so small that hardly any decision in these chains differs from that of all rows.
TEST(Austerity, WithASmallEpsMatchesQuadrature) {
  const Setting& s = setting();
  const Austerity rule(rows, {.eps = 1e-4, .batch = 50});
  expect_law(WithoutReplacement(rows), rule, s.plain, 20'000, "plain");
  expect_law(WithoutReplacement(rows), rule, s.control_variates, 30'000, "control variates");
  expect_law(WithReplacement(s.remainder_rows), rule, s.control_variates, 30'000, "weights");
}

TEST(Confidence, WithASmallDeltaMatchesQuadrature) {
  const Setting& s = setting();
  for (const auto bound : {Confidence::Bound::hoeffding, Confidence::Bound::bernstein}) {
    const Confidence rule(rows, {.delta = 1e-3, .bound = bound, .batch = 50});
    expect_law(WithoutReplacement(rows), rule, s.plain, 10'000, "plain");
    expect_law(WithoutReplacement(rows), rule, s.control_variates, 30'000, "control variates");
  }
}

TEST(Barker, MatchesQuadrature) {
  const Setting& s = setting();
  const Barker rule(rows, {.max = rows});
  expect_law(WithoutReplacement(rows), rule, s.plain, 40'000, "plain");
  expect_law(WithoutReplacement(rows), rule, s.control_variates, 60'000, "control variates");
  expect_law(WithReplacement(s.remainder_rows), rule, s.control_variates, 60'000, "weights");
}

TEST(PenaltySize, WithoutReplacementMatchesQuadrature) {
  const Setting& s = setting();
  expect_law(WithoutReplacement(rows), PenaltySize(rows, {.max = rows}), s.control_variates, 60'000,
             "control variates");
  expect_law(WithoutReplacement(rows), PenaltySize(rows, {.pilot = 100, .max = rows, .noise_sd = 0.5}),
             s.plain, 20'000, "plain");
}

// The rule decides what the kernel may promise about its draws.
TEST(SubsampledKernel, PromisesWhatItsRulePromises) {
  const Setting& s = setting();
  const auto promise = [&](auto rule) {
    return SubsampledKernel(s.model, s.proposal, WithoutReplacement(rows), rule, s.plain).promise();
  };
  EXPECT_EQ(promise(FixedSize(10)), Promise::approximate);
  EXPECT_EQ(promise(AdaptiveSize({.pilot = 10, .max = 20})), AdaptiveSize::promise());
  EXPECT_EQ(promise(Austerity(rows, {})), Austerity::promise());
  EXPECT_EQ(promise(Confidence(rows, {})), Promise::bounded_error);
  EXPECT_EQ(promise(Barker(rows, {})), Barker::promise());
  EXPECT_EQ(promise(PenaltySize(rows, {})), PenaltySize::promise());
}

// A rule that reads all rows, once each, makes the decisions of Metropolis-Hastings with the same random
// numbers.
TEST(SubsampledKernel, DecidesLikeFullWhereARuleReadsAllRows) {
  const Setting& s = setting();
  const auto path = [&](auto kernel, bool all) {
    std::vector<double> out;
    double read = 0;
    testing::run(kernel, s.mode.theta, 0, 2000, [&](const Eigen::VectorXd& theta, const StepInfo& info) {
      out.push_back(theta[1]);
      read += static_cast<double>(info.rows_read);
      if (all) {
        EXPECT_EQ(info.noise_sd, 0);
      }
    });
    EXPECT_TRUE(all == (read == 2000.0 * rows)) << read;
    return out;
  };
  ThreadPool pool(1);
  const std::vector<double> full = path(FullKernel(s.model, s.proposal, pool), true);
  const auto with = [&](auto rule, auto estimator) {
    return SubsampledKernel(s.model, s.proposal, WithoutReplacement(rows), rule, estimator);
  };
  EXPECT_EQ(path(with(Austerity(rows, {.batch = rows}), s.plain), true), full);
  EXPECT_EQ(path(with(Austerity(rows, {.batch = rows}), s.control_variates), true), full);
  EXPECT_EQ(path(with(PenaltySize(rows, {.pilot = rows}), s.plain), true), full);
  EXPECT_EQ(path(with(Confidence(rows, {}), PlainDifference(s.model)), true), full);  // has no bound
  // Where the rule stops early it errs with probability delta at most: here, not once in 2000 steps.
  EXPECT_EQ(path(with(Confidence(rows, {.delta = 1e-3}), s.control_variates), false), full);
  EXPECT_NE(path(with(FixedSize(rows / 2), s.plain), false), full);
}

// On 20,000 rows, control variates leave terms so small that most decisions need only the first look. Plain
// differences need nearly all rows: their sum is of the size of the posterior's log ratio, but the bound on
// that sum is some sqrt(n) times as large.
TEST(Confidence, NeedsFewRowsWithControlVariates) {
  constexpr std::size_t n = 20'000;
  Setting tall(n);
  for (const auto bound : {Confidence::Bound::hoeffding, Confidence::Bound::bernstein}) {
    const auto rows_of = [&](auto estimator, std::size_t steps) {
      SubsampledKernel kernel(tall.model, tall.proposal, WithoutReplacement(n),
                              Confidence(n, {.bound = bound}), estimator);
      double read = 0;
      testing::run(kernel, tall.mode.theta, 0, steps, [&](const Eigen::VectorXd&, const StepInfo& info) {
        read += static_cast<double>(info.rows_read) / static_cast<double>(steps);
      });
      return read;
    };
    const double cv = rows_of(tall.control_variates, 3000), plain = rows_of(tall.plain, 200);
    EXPECT_LT(cv, 400);
    EXPECT_GT(plain, 0.8 * n);
  }
}

// The mean of (error^2 - reported variance) is 0, with the finite population correction where it belongs.
TEST(SubsampledKernel, ReportsTheNoiseItHasWithoutReplacement) {
  const Setting& s = setting();
  constexpr std::size_t steps = 4000;
  SubsampledKernel kernel(s.model, s.proposal, WithoutReplacement(rows), FixedSize(rows / 2), s.plain);
  const double at_mode =
      log_likelihood(s.model, setting().pool, params(s.mode.theta)) + s.model.log_prior(params(s.mode.theta));
  double sum = 0, squares = 0, reported = 0;
  for (std::size_t k = 0; k < steps; ++k) {
    ChainState state;
    state.theta = s.mode.theta;
    const StepId id{.seed = 3, .chain = 0, .iteration = k};
    const StepInfo info = kernel.step(state, id);
    RandomWalkProposal again = s.proposal;
    Stream stream = id.stream(Purpose::proposal);
    std::vector<double> proposed(2);
    static_cast<void>(again.propose(stream, params(s.mode.theta), proposed));
    const double exact =
        log_likelihood(s.model, setting().pool, proposed) + s.model.log_prior(proposed) - at_mode;
    const double e2 = std::pow(info.log_ratio - exact, 2) - info.noise_sd * info.noise_sd;
    sum += e2;
    squares += e2 * e2;
    reported += info.noise_sd * info.noise_sd / steps;
  }
  EXPECT_GT(reported, 0.5);
  EXPECT_LT(std::abs(sum) / std::sqrt(squares), 5);
}

}  // namespace
}  // namespace mlo
