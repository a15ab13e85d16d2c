// Copyright (c) the mlo authors. BSD-3-Clause.
// What each kernel samples: draws against a closed form, quadrature or the exact target. Errors are z scores:
// error divided by the Monte Carlo standard error from batch means; |z| < 5 is one false alarm in a million.
// Seeds are fixed.
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
using testing::small_glm;

// A kernel must say what it promises.
struct Silent {
  StepInfo step(ChainState& /*state*/, const StepId& /*id*/) { return {}; }
  void freeze() {}
  void save(std::vector<double>& /*out*/) const {}
  void load(std::span<const double> /*in*/) {}
};
struct Promising : Silent {
  [[nodiscard]] Promise promise() const { return Promise::approximate; }
};
static_assert(!Kernel<Silent> && Kernel<Promising>);
static_assert(Kernel<FullKernel<Glm, LaplaceProposal>> &&
              FullKernel<Glm, LaplaceProposal>::promise() == Promise::exact);

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

// With the weights of mlo, taken at the mode.
template <class M>
std::shared_ptr<const WeightedRows> mlo_rows(const M& model, const Mode& mode, ThreadPool& pool) {
  return std::make_shared<const WeightedRows>(
      subsampling_probabilities(model, pool, Weights::mlo, params(mode.theta), mode.information, 1e-3));
}

// y_i ~ N(mu, sigma^2), mu ~ N(m, s^2): the posterior is normal with precision n / sigma^2 + 1 / s^2.
TEST(Full, GaussianMeanMatchesItsClosedForm) {
  Table table = regression_table(50, 1.0, {}, 3, testing::draw_gaussian);
  const double sum =
      std::accumulate(table.columns[0].numbers().begin(), table.columns[0].numbers().end(), 0.0);
  Design design = design_of(std::move(table), "y ~ 1");
  const Glm model(std::move(design), make_family("gaussian-mean", {{"known-sigma", 1.5}}),
                  GlmPriors{{Prior::normal(3, 0.4)}});
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
  for (const double y : table.columns[0].numbers()) squares += (y - 0.5) * (y - 0.5);
  const GaussianPrecision model(design_of(std::move(table), "y ~ 1"), 0.5, Prior::gamma(2, 0.7));
  const double shape = 2 + 4, rate = 0.7 + squares / 2;
  ThreadPool pool(1);
  with_each_proposal(model, [&](auto proposal, const Mode& mode, const char* what) {
    FullKernel kernel(model, proposal, pool);
    expect_moments(kernel, mode.theta, Eigen::VectorXd::Constant(1, shape / rate),
                   Eigen::MatrixXd::Constant(1, 1, shape / (rate * rate)), 200'000, what);
  });
}

void expect_full_matches_quadrature(const Glm& model) {
  const Quadrature q = integrate(model);
  ThreadPool pool(1);
  with_each_proposal(model, [&](auto proposal, const Mode& mode, const char* what) {
    FullKernel kernel(model, proposal, pool);
    expect_moments(kernel, mode.theta, q.mean, q.covariance, 100'000, what);
  });
}

// An intercept and a column; a second parameter of the family is known.
void expect_full_matches_quadrature(std::string_view family, double (*draw)(Stream&, double),
                                    const Prior& prior, const FamilyNumbers& numbers = {}) {
  expect_full_matches_quadrature(small_glm(family, 60, draw, prior, numbers));
}

// An intercept and the family's second parameter, if any, with its prior.
void expect_full_with_second_matches_quadrature(std::string_view family, double (*draw)(Stream&, double),
                                                std::size_t rows, const Prior& second) {
  Design design = design_of(regression_table(rows, 2.0, {}, 5, draw), "y ~ 1");
  expect_full_matches_quadrature(
      Glm(std::move(design), make_family(family), {{Prior::normal(1, 2)}, false, second}));
}

TEST(Full, LogisticMatchesQuadrature) {
  expect_full_matches_quadrature("logistic", testing::draw_logistic, Prior::normal(0.5, 1.5));
}
TEST(Full, LogisticWithStudentPriorMatchesQuadrature) {
  expect_full_matches_quadrature("logistic", testing::draw_logistic, Prior::student_t(3, 1, 0.3));
}
TEST(Full, LogisticWithLaplacePriorMatchesQuadrature) {
  expect_full_matches_quadrature("logistic", testing::draw_logistic, Prior::laplace(0.2, 0.3));
}
TEST(Full, ProbitMatchesQuadrature) {
  expect_full_matches_quadrature("probit", testing::draw_probit, Prior::normal(0, 2));
}
TEST(Full, PoissonMatchesQuadrature) {
  expect_full_matches_quadrature("poisson", testing::draw_poisson, Prior::cauchy(0, 1));
}
TEST(Full, StudentWithKnownScaleMatchesQuadrature) {
  expect_full_matches_quadrature("student", testing::draw_student, Prior::normal(0, 2),
                                 {{"freedom", 4}, {"known-sigma", 1.5}});
}
TEST(Full, NegativeBinomialWithKnownSizeMatchesQuadrature) {
  expect_full_matches_quadrature("negative-binomial", testing::draw_negative_binomial, Prior::normal(0, 2),
                                 {{"size", 2}});
}
TEST(Full, GammaWithKnownShapeMatchesQuadrature) {
  expect_full_matches_quadrature("gamma", testing::draw_gamma, Prior::normal(0, 2), {{"shape", 2}});
}
TEST(Full, GaussianWithUnknownSigmaMatchesQuadrature) {
  expect_full_with_second_matches_quadrature("gaussian", testing::draw_gaussian, 12, Prior::gamma(2, 1));
}
TEST(Full, StudentWithUnknownScaleMatchesQuadrature) {
  expect_full_with_second_matches_quadrature("student", testing::draw_student, 20, Prior::gamma(2, 1));
}
TEST(Full, NegativeBinomialWithUnknownSizeMatchesQuadrature) {
  expect_full_with_second_matches_quadrature("negative-binomial", testing::draw_negative_binomial, 40,
                                             Prior::gamma(2, 0.1));
}
TEST(Full, GammaWithUnknownShapeMatchesQuadrature) {
  expect_full_with_second_matches_quadrature("gamma", testing::draw_gamma, 20, Prior::gamma(2, 1));
}

// Five dimensions are too many for a grid: long chains with different proposals must agree.
void expect_proposals_agree(std::string_view family, double (*draw)(Stream&, double)) {
  Design design =
      design_of(regression_table(300, 0.3, {0.9, -0.5, 0.4, 0.0}, 21, draw), "y ~ x1 + x2 + x3 + x4");
  const Glm model(std::move(design), make_family(family),
                  GlmPriors{std::vector<Prior>(5, Prior::normal(0, 2.5))});
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
          << family << ": proposal " << a << ", moment " << k;
}

TEST(Full, ProposalsAgreeInFiveDimensions) {
  expect_proposals_agree("logistic", testing::draw_logistic);
  expect_proposals_agree("probit", testing::draw_probit);
  expect_proposals_agree("poisson", testing::draw_poisson);
}

// With all rows in the subsample the uniform kernel without replacement is Algorithm 1: the same decisions.
TEST(Uniform, ReadingAllRowsMakesTheDecisionsOfFull) {
  const auto model = small_glm("logistic", 500, testing::draw_logistic);
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

// The noise that a subsampled chain with a symmetric proposal reports is the standard deviation of its log
// ratio. Checked against the exact log ratio of all rows over many steps.
TEST(Mlo, ReportsTheNoiseItHas) {
  const auto model = small_glm("logistic", 2000, testing::draw_logistic);
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const auto rows = mlo_rows(model, mode, pool);
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
  EXPECT_GT(reported / steps, 0.5);  // the noise is not negligible
  // The mean of (error^2 - reported variance) is 0: within 5 of its own standard errors.
  EXPECT_LT(std::abs(squares / steps) / std::sqrt(fourth / steps / steps), 5);
}

// Noise in the log ratio of a symmetric random walk inflates the spread of its draws; the smaller r is, the
// wider they are.
TEST(Mlo, SpreadsWiderThanThePosteriorWhenItsNoiseIsLarge) {
  Design design = design_of(regression_table(5000, 0.0, {1.0}, 2, testing::draw_logistic), "y ~ 0 + x1");
  const Glm model(std::move(design), make_family("logistic"), GlmPriors{{Prior::normal(0, 3)}});
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const double sd = 1 / std::sqrt(mode.information(0, 0));
  const auto rows = mlo_rows(model, mode, pool);
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
  const auto model = small_glm("logistic", 3000, testing::draw_logistic);
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  SubsampledKernel kernel(model, RandomWalkProposal(0.3 * Eigen::Matrix2d::Identity()),
                          WithReplacement(mlo_rows(model, mode, pool)),
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
  const Glm model(std::move(design), make_family("gaussian-mean", {{"known-sigma", 1.5}}),
                  GlmPriors{std::vector<Prior>(2, Prior::normal(0, 2))});
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  FullKernel kernel(model, LaplaceProposal(Laplace(mode.theta, mode.information), {}), pool);
  run(kernel, mode.theta, 0, 5000,
      [](const Eigen::VectorXd&, const StepInfo& info) { ASSERT_NEAR(info.log_ratio, 0, 1e-9); });
}

TEST(AdaptiveProposal, LearnsTheShapeOfThePosterior) {
  const auto model = small_glm("logistic", 400, testing::draw_logistic);
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  // Starts with steps a hundred times too short; after warm-up it must accept about as often as a tuned walk
  // does.
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
