// Copyright (c) the mlo authors. BSD-3-Clause.
// Each kernel's law: draws against a closed form, quadrature or the exact target. Errors are z scores: error
// divided by the Monte Carlo standard error from batch means; |z| < 5 is one false alarm in a million. Seeds
// are fixed.
#include "support/laws.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "mlo/kernel/decision.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/kernel/proposal.hpp"
#include "mlo/kernel/subsampled.hpp"
#include "mlo/model/gaussian_precision.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/subsample/row_source.hpp"
#include "mlo/subsample/weights.hpp"
#include "support/designs.hpp"
#include "support/trials.hpp"

namespace mlo {
namespace {

using testing::BatchMean;
using testing::design_of;
using testing::expect_moments;
using testing::integrate;
using testing::Quadrature;
using testing::regression_table;
using testing::run;

// The three proposals around a fit, to run the same law test with each.
template <class M, class Test>
void with_each_proposal(const M& model, const Test& test) {
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const Laplace laplace(mode.theta, mode.information);
  const auto p = static_cast<Eigen::Index>(model.dim());
  const Eigen::MatrixXd factor = 2.38 / std::sqrt(static_cast<double>(p)) *
                                 laplace.cholesky.transpose().triangularView<Eigen::Upper>().solve(
                                     Eigen::MatrixXd(Eigen::MatrixXd::Identity(p, p)));
  test(LaplaceProposal(laplace, {}), mode, "laplace");
  test(LaplaceProposal(laplace, {.step = 0.5}), mode, "laplace with step 0.5");
  test(RandomWalkProposal(factor), mode, "random walk");
  test(AdaptiveProposal(5 * factor, 2.38 / std::sqrt(static_cast<double>(p))), mode, "adaptive");
}

// y_i ~ N(mu, sigma^2), mu ~ N(m, s^2): the posterior is normal with precision n / sigma^2 + 1 / s^2.
TEST(Full, GaussianMeanMatchesItsClosedForm) {
  Table table = regression_table(50, 1.0, {}, 3, testing::draw_gaussian);
  const double sum = std::accumulate(table.columns[0].values.begin(), table.columns[0].values.end(), 0.0);
  Design design = design_of(std::move(table), "y ~ 1");
  GlmPriors priors{{Prior::normal(3, 0.4)}, false, Prior::flat()};
  const Glm<GaussianMean> model(std::move(design), {.sigma = 1.5}, priors);
  const double precision = 50 / 2.25 + 1 / 0.16;
  const double mean = (sum / 2.25 + 3 / 0.16) / precision;
  ThreadPool pool(1);
  with_each_proposal(model, [&](auto proposal, const Mode& mode, const char* what) {
    FullKernel kernel(model, proposal, pool);
    expect_moments(kernel, mode.theta, Eigen::VectorXd::Constant(1, mean),
                   Eigen::MatrixXd::Constant(1, 1, 1 / precision), 100'000, what);
  });
}

// tau ~ Gamma(a, b): the posterior is Gamma(a + n/2, b + sum (y - m)^2 / 2). n = 8 makes it visibly skewed.
TEST(Full, GaussianPrecisionMatchesItsClosedForm) {
  Table table = regression_table(8, 0.0, {}, 3, testing::draw_gaussian);
  double squares = 0;
  for (const double y : table.columns[0].values) squares += (y - 0.5) * (y - 0.5);
  const GaussianPrecision model(design_of(std::move(table), "y ~ 1"), 0.5, Prior::gamma(2, 0.7));
  const double shape = 2 + 4, rate = 0.7 + squares / 2;
  ThreadPool pool(1);
  with_each_proposal(model, [&](auto proposal, const Mode& mode, const char* what) {
    FullKernel kernel(model, proposal, pool);
    expect_moments(kernel, mode.theta, Eigen::VectorXd::Constant(1, shape / rate),
                   Eigen::MatrixXd::Constant(1, 1, shape / (rate * rate)), 200'000, what);
  });
}

template <class M>
void expect_full_matches_quadrature(const M& model) {
  const Quadrature q = integrate(model);
  ThreadPool pool(1);
  with_each_proposal(model, [&](auto proposal, const Mode& mode, const char* what) {
    FullKernel kernel(model, proposal, pool);
    expect_moments(kernel, mode.theta, q.mean, q.covariance, 100'000, what);
  });
}

// An intercept and a column; what else the family has is known.
template <class F>
void expect_full_matches_quadrature(double (*draw)(Stream&, double), const Prior& prior, F family = {}) {
  Design design = design_of(regression_table(60, 0.3, {0.9}, 21, draw), "y ~ x1");
  GlmPriors priors{{prior, prior}, false, Prior::flat()};
  expect_full_matches_quadrature(Glm<F>(std::move(design), family, priors));
}

// An intercept and what else the family has, with its prior.
template <class F>
void expect_full_with_aux_matches_quadrature(double (*draw)(Stream&, double), std::size_t rows,
                                             const Prior& aux, F family = {}) {
  Design design = design_of(regression_table(rows, 2.0, {}, 5, draw), "y ~ 1");
  expect_full_matches_quadrature(Glm<F>(std::move(design), family, {{Prior::normal(1, 2)}, false, aux}));
}

TEST(Full, LogisticMatchesQuadrature) {
  expect_full_matches_quadrature<Logistic>(testing::draw_logistic, Prior::normal(0.5, 1.5));
}
TEST(Full, LogisticWithStudentPriorMatchesQuadrature) {
  expect_full_matches_quadrature<Logistic>(testing::draw_logistic, Prior::student_t(3, 1, 0.3));
}
TEST(Full, LogisticWithLaplacePriorMatchesQuadrature) {
  expect_full_matches_quadrature<Logistic>(testing::draw_logistic, Prior::laplace(0.2, 0.3));
}
TEST(Full, ProbitMatchesQuadrature) {
  expect_full_matches_quadrature<Probit>(testing::draw_probit, Prior::normal(0, 2));
}
TEST(Full, PoissonMatchesQuadrature) {
  expect_full_matches_quadrature<Poisson>(testing::draw_poisson, Prior::cauchy(0, 1));
}
TEST(Full, StudentWithKnownScaleMatchesQuadrature) {
  expect_full_matches_quadrature<StudentKnownScale>(testing::draw_student, Prior::normal(0, 2),
                                                    {.freedom = 4, .sigma = 1.5});
}
TEST(Full, NegativeBinomialWithKnownSizeMatchesQuadrature) {
  expect_full_matches_quadrature<NegativeBinomialKnownSize>(testing::draw_negative_binomial,
                                                            Prior::normal(0, 2), {.size = 2});
}
TEST(Full, GaussianWithUnknownSigmaMatchesQuadrature) {
  expect_full_with_aux_matches_quadrature<Gaussian>(testing::draw_gaussian, 12, Prior::gamma(2, 1));
}
TEST(Full, StudentWithUnknownScaleMatchesQuadrature) {
  expect_full_with_aux_matches_quadrature<Student>(testing::draw_student, 20, Prior::gamma(2, 1));
}
TEST(Full, NegativeBinomialWithUnknownSizeMatchesQuadrature) {
  expect_full_with_aux_matches_quadrature<NegativeBinomial>(testing::draw_negative_binomial, 40,
                                                            Prior::gamma(2, 0.1));
}

// In five dimensions there is no grid: long chains with unlike proposals must agree.
template <class F>
void expect_proposals_agree(double (*draw)(Stream&, double)) {
  Design design =
      design_of(regression_table(300, 0.3, {0.9, -0.5, 0.4, 0.0}, 21, draw), "y ~ x1 + x2 + x3 + x4");
  const Glm<F> model(std::move(design), F{},
                     {std::vector<Prior>(5, Prior::normal(0, 2.5)), false, Prior::flat()});
  ThreadPool pool(1);
  constexpr std::size_t steps = 100'000;
  std::vector<std::vector<BatchMean>> means;
  with_each_proposal(model, [&](auto proposal, const Mode& mode, const char*) {
    FullKernel kernel(model, proposal, pool);
    std::vector<BatchMean> chain(10, BatchMean(steps));
    run(kernel, mode.theta, 2000, steps, [&](const Eigen::VectorXd& theta, const StepInfo&) {
      for (Eigen::Index j = 0; j < 5; ++j) {
        chain[static_cast<std::size_t>(j)].add(theta[j]);
        chain[static_cast<std::size_t>(5 + j)].add((theta[j] - mode.theta[j]) * (theta[j] - mode.theta[j]));
      }
    });
    means.push_back(chain);
  });
  for (std::size_t a = 1; a < means.size(); ++a)
    for (std::size_t k = 0; k < 10; ++k)
      EXPECT_LT(std::abs(means[0][k].mean() - means[a][k].mean()) /
                    std::hypot(means[0][k].error(), means[a][k].error()),
                5)
          << F::name << ": proposal " << a << ", moment " << k;
}

TEST(Full, ProposalsAgreeInFiveDimensions) {
  expect_proposals_agree<Logistic>(testing::draw_logistic);
  expect_proposals_agree<Probit>(testing::draw_probit);
  expect_proposals_agree<Poisson>(testing::draw_poisson);
}

// With all rows in the subsample the uniform kernel without replacement is Algorithm 1: the same decisions.
TEST(Uniform, ReadingAllRowsMakesTheDecisionsOfFull) {
  Design design = design_of(regression_table(500, 0.3, {0.9}, 21, testing::draw_logistic), "y ~ x1");
  const Glm<Logistic> model(std::move(design), {},
                            {std::vector<Prior>(2, Prior::normal(0, 2.5)), false, Prior::flat()});
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const RandomWalkProposal proposal(0.2 * Eigen::Matrix2d::Identity());
  FullKernel full(model, proposal, pool);
  SubsampledKernel all(model, proposal, WithoutReplacement(500), FixedSize(500));
  std::vector<double> a, b;
  run(full, mode.theta, 0, 2000, [&](const Eigen::VectorXd& t, const StepInfo&) { a.push_back(t[1]); });
  run(all, mode.theta, 0, 2000, [&](const Eigen::VectorXd& t, const StepInfo& info) {
    b.push_back(t[1]);
    EXPECT_EQ(info.rows_read, 500U);
    EXPECT_EQ(info.noise_sd, 0);
  });
  EXPECT_EQ(a, b);
}

// A subsampled chain with a proposal that is symmetric and terms of known spread: its reported noise is the
// standard deviation of its log ratio. Checked against the exact log ratio of all rows over many steps.
TEST(Mlo, ReportsTheNoiseItHas) {
  Design design = design_of(regression_table(2000, 0.3, {0.9}, 21, testing::draw_logistic), "y ~ x1");
  const Glm<Logistic> model(std::move(design), {},
                            {std::vector<Prior>(2, Prior::normal(0, 2.5)), false, Prior::flat()});
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const auto eta =
      subsampling_probabilities(model, pool, Weights::mlo, params(mode.theta), mode.information, 1e-3);
  const auto rows = std::make_shared<const WeightedRows>(eta);
  // Every step starts at the mode, so that the exact ratio is that of the step's own proposal.
  const RandomWalkProposal proposal(0.05 * Eigen::Matrix2d::Identity());
  SubsampledKernel kernel(model, proposal, WithReplacement(rows), FixedSize(200));
  constexpr std::size_t steps = 4000;
  double squares = 0, reported = 0, fourth = 0;
  const double at_mode =
      log_likelihood(model, pool, params(mode.theta)) + model.log_prior(params(mode.theta));
  for (std::size_t k = 0; k < steps; ++k) {
    ChainState state;
    state.theta = mode.theta;
    const StepId id{.seed = 3, .chain = 0, .iteration = k};
    const StepInfo info = kernel.step(state, id);
    RandomWalkProposal again = proposal;
    Stream stream = id.stream(Purpose::proposal);
    std::vector<double> proposed(2);
    static_cast<void>(again.propose(stream, params(mode.theta), proposed));
    const double exact = log_likelihood(model, pool, proposed) + model.log_prior(proposed) - at_mode;
    const double e2 = std::pow(info.log_ratio - exact, 2) - info.noise_sd * info.noise_sd;
    squares += e2;
    fourth += e2 * e2;
    reported += info.noise_sd * info.noise_sd;
  }
  EXPECT_GT(reported / steps, 0.5);  // there is noise to speak of
  // The mean of (error^2 - reported variance) is 0: within 5 of its own standard errors.
  EXPECT_LT(std::abs(squares / steps) / std::sqrt(fourth / steps / steps), 5);
}

// Known Gaussian noise of sd s in the log ratio of a symmetric random walk on N(0,1)-like target inflates the
// spread; the smaller r is, the wider: the honest measurement the project is built on.
TEST(Mlo, SpreadsWiderThanThePosteriorWhenItsNoiseIsLarge) {
  Design design = design_of(regression_table(5000, 0.0, {1.0}, 2, testing::draw_logistic), "y ~ 0 + x1");
  const Glm<Logistic> model(std::move(design), {}, {{Prior::normal(0, 3)}, false, Prior::flat()});
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const double sd = 1 / std::sqrt(mode.information(0, 0));
  const auto eta =
      subsampling_probabilities(model, pool, Weights::mlo, params(mode.theta), mode.information, 1e-3);
  const auto rows = std::make_shared<const WeightedRows>(eta);
  double last = 1e9;
  for (const std::size_t r : {20U, 200U, 2000U}) {
    SubsampledKernel kernel(model, RandomWalkProposal(Eigen::MatrixXd::Constant(1, 1, 2.4 * sd)),
                            WithReplacement(rows), FixedSize(r));
    double squares = 0, noise = 0;
    constexpr std::size_t steps = 20'000;
    run(kernel, mode.theta, 1000, steps, [&](const Eigen::VectorXd& t, const StepInfo& info) {
      squares += std::pow(t[0] - mode.theta[0], 2) / steps;
      noise += info.noise_sd / steps;
    });
    const double ratio = std::sqrt(squares) / sd;
    EXPECT_LT(ratio, last);
    last = ratio;
    if (r == 20) {
      EXPECT_GT(ratio, 3);
    }
    if (r == 2000) {
      EXPECT_LT(ratio, 2);
    }
    EXPECT_GT(noise, 0);
  }
}

TEST(AdaptiveSize, DrawsMinOfCeilRaAndRmax) {
  // Terms whose pilot mean and mean square are known: r_a = (z / c)^2 mean_square, c = |mean - psi| / 2.
  const double z = 1.959963984540054;  // upper 2.5 % point of the standard normal
  std::vector<double> pilot(100);
  for (std::size_t k = 0; k < pilot.size(); ++k) pilot[k] = 0.3 + 0.1 * static_cast<double>(k % 5);
  const double mean = 0.5;
  double mean_square = 0;
  for (const double x : pilot) mean_square += x * x / 100;
  for (const double psi : {-3.0, 0.0, 0.2, 0.4, 0.45, 0.49, 0.4999, 0.8, 5.0}) {
    AdaptiveSize rule({.pilot = 100, .max = 5000});
    Stream stream({.seed = 1, .chain = 0, .purpose = Purpose::decision, .iteration = 0});
    rule.begin(testing::trial_at(psi, stream));
    ASSERT_EQ(rule.wants(), 100U);
    rule.see(std::span(pilot).first(40));
    ASSERT_EQ(rule.wants(), 60U);
    rule.see(std::span(pilot).subspan(40));
    const double c = std::abs(mean - psi) / 2;
    const double needed = std::ceil(z * z / (c * c) * mean_square);
    const double expected = std::max(100.0, std::min(needed, 5000.0));
    EXPECT_EQ(static_cast<double>(100 + rule.wants()), expected) << psi;
  }
  // c = 0: r_max.
  AdaptiveSize rule({.pilot = 2, .max = 77});
  Stream stream({.seed = 1, .chain = 0, .purpose = Purpose::decision, .iteration = 0});
  rule.begin(testing::trial_at(1.0, stream));
  rule.see(std::vector<double>{0.5, 1.5});
  EXPECT_EQ(rule.wants(), 75U);
}

TEST(AdaptiveSize, NeverReadsFewerThanThePilotNorMoreThanTheLimit) {
  Design design = design_of(regression_table(3000, 0.3, {0.9}, 21, testing::draw_logistic), "y ~ x1");
  const Glm<Logistic> model(std::move(design), {},
                            {std::vector<Prior>(2, Prior::normal(0, 2.5)), false, Prior::flat()});
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const auto eta =
      subsampling_probabilities(model, pool, Weights::mlo, params(mode.theta), mode.information, 1e-3);
  SubsampledKernel kernel(model, RandomWalkProposal(0.3 * Eigen::Matrix2d::Identity()),
                          WithReplacement(std::make_shared<const WeightedRows>(eta)),
                          AdaptiveSize({.pilot = 50, .max = 700}));
  std::size_t least = 0, most = 0, between = 0;
  run(kernel, mode.theta, 0, 3000, [&](const Eigen::VectorXd&, const StepInfo& info) {
    ASSERT_GE(info.rows_read, 50U);
    ASSERT_LE(info.rows_read, 700U);
    ++(info.rows_read == 50 ? least : info.rows_read == 700 ? most : between);
  });
  EXPECT_GT(least, 0U);
  EXPECT_GT(most, 0U);
  EXPECT_GT(between, 0U);
}

// pCN leaves the Laplace fit invariant: on a Gaussian target every proposal is accepted.
TEST(LaplaceProposal, IsAlwaysAcceptedOnAGaussianTarget) {
  Design design = design_of(regression_table(100, 1.0, {0.5}, 3, testing::draw_gaussian), "y ~ x1");
  const Glm<GaussianMean> model(std::move(design), {.sigma = 1.5},
                                {std::vector<Prior>(2, Prior::normal(0, 2)), false, Prior::flat()});
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  FullKernel kernel(model, LaplaceProposal(Laplace(mode.theta, mode.information), {}), pool);
  run(kernel, mode.theta, 0, 5000,
      [](const Eigen::VectorXd&, const StepInfo& info) { ASSERT_NEAR(info.log_ratio, 0, 1e-9); });
}

TEST(AdaptiveProposal, LearnsTheShapeOfThePosterior) {
  Design design = design_of(regression_table(400, 0.3, {0.9}, 21, testing::draw_logistic), "y ~ x1");
  const Glm<Logistic> model(std::move(design), {},
                            {std::vector<Prior>(2, Prior::normal(0, 2.5)), false, Prior::flat()});
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  // Starts with steps a hundred times too short; after warm-up it must accept about as a tuned walk does.
  AdaptiveProposal proposal(0.001 * Eigen::Matrix2d::Identity(), 2.38 / std::sqrt(2.0));
  FullKernel kernel(model, proposal, pool);
  double accepted = 0;
  run(kernel, mode.theta, 5000, 5000,
      [&](const Eigen::VectorXd&, const StepInfo& info) { accepted += info.accepted ? 1 : 0; });
  EXPECT_GT(accepted / 5000, 0.2);
  EXPECT_LT(accepted / 5000, 0.6);
}

TEST(AdaptiveProposal, ContinuesFromWhatItSaved) {
  AdaptiveProposal a(0.1 * Eigen::Matrix2d::Identity(), 1.7), b(0.1 * Eigen::Matrix2d::Identity(), 1.7);
  Stream stream({.seed = 1, .chain = 0, .purpose = Purpose::start, .iteration = 0});
  std::vector<double> theta(2), out_a(2), out_b(2);
  const auto feed = [&](AdaptiveProposal& p, std::size_t steps, Stream& s) {
    for (std::size_t k = 0; k < steps; ++k) {
      normals(s, theta);
      p.adapt(theta);
    }
  };
  feed(a, 333, stream);
  std::vector<double> saved;
  a.save(saved);
  b.load(saved);
  Stream sa = stream, sb = stream;
  feed(a, 100, sa);
  feed(b, 100, sb);
  static_cast<void>(a.propose(sa, theta, out_a));
  static_cast<void>(b.propose(sb, theta, out_b));
  EXPECT_EQ(out_a, out_b);
}

}  // namespace
}  // namespace mlo
