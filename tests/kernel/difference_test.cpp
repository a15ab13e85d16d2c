// Copyright (c) the mlo authors. BSD-3-Clause.
// The method `difference`: control variates, remainder weights, penalty. Errors are z scores; |z| < 5 is one
// false alarm in a million. Seeds are fixed.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "mlo/kernel/estimator.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/kernel/penalty.hpp"
#include "mlo/kernel/proposal.hpp"
#include "mlo/kernel/subsampled.hpp"
#include "mlo/model/autodiff.hpp"
#include "mlo/model/gaussian_precision.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/subsample/row_source.hpp"
#include "mlo/subsample/weights.hpp"
#include "support/designs.hpp"
#include "support/laws.hpp"
#include "support/trials.hpp"

namespace mlo {
namespace {

using testing::design_of;
using testing::expect_moments;
using testing::integrate;
using testing::Quadrature;
using testing::regression_table;
using testing::small_glm;

static_assert(Estimator<PlainDifference<Glm>> && Estimator<ControlVariates<Glm>>);

// What every chain of the method shares.
template <class M>
struct Prepared : testing::Fitted<M> {
  explicit Prepared(const M& m) : testing::Fitted<M>(m) {}
  ControlVariates<M> estimator{this->model, this->mode.evaluated_at, this->mode.likelihood};
  std::vector<double> eta = weights();
  std::shared_ptr<const WeightedRows> rows = std::make_shared<const WeightedRows>(eta);

  // By the integral where the rows are curves with bounds, by probing where they are not.
  [[nodiscard]] std::vector<double> weights() {
    const Params centre = params(this->mode.evaluated_at);
    if constexpr (requires { this->model.curved(); })
      if (const auto curved = this->model.curved())
        return remainder_probabilities(*curved, this->pool, centre, this->fit.cholesky);
    return remainder_probabilities(this->model, this->pool, centre, this->fit.cholesky);
  }

  template <class P, class R>
  auto kernel(P proposal, R rule) const {
    return SubsampledKernel(this->model, std::move(proposal), WithReplacement(rows), std::move(rule),
                            estimator);
  }
};

// The estimate from rows drawn from eta is unbiased; its variance is (sum r_i^2 / eta_i - (sum r_i)^2) / r.
// Both are computed here from all rows; the draws of the row source must agree.
TEST(ControlVariates, AreUnbiasedWithTheVarianceOfTheRemainders) {
  const auto model = small_glm("poisson", 3000, testing::draw_poisson);
  Prepared set(model);
  const Params centre = params(set.mode.evaluated_at);
  const Eigen::VectorXd from = probe(centre, set.fit.cholesky, 10, 1.4),
                        to = probe(centre, set.fit.cholesky, 13, 1.4);
  const double exact =
      log_likelihood(model, set.pool, params(to)) - log_likelihood(model, set.pool, params(from));
  const double known = set.estimator.known(params(from), params(to));
  double sum = 0, second = 0;
  for (std::size_t i = 0; i < model.rows(); ++i) {
    const std::array<RowId, 1> id{static_cast<RowId>(i)};
    std::array<double, 1> term{};
    set.estimator.terms(params(from), params(to), id, term);
    sum += term[0];
    second += term[0] * term[0] / set.eta[i];
  }
  EXPECT_NEAR(known + sum, exact, 1e-9);
  EXPECT_GT(std::abs(sum), 1e-4);  // the remainders are not negligible

  constexpr std::size_t r = 50, repeats = 20'000;
  const double variance = (second - sum * sum) / r, n = static_cast<double>(model.rows());
  std::vector<RowId> ids(r);
  std::vector<double> factors(r), terms(r);
  double error = 0, squares = 0, fourth = 0;
  WithReplacement source(set.rows);
  for (std::size_t k = 0; k < repeats; ++k) {
    Stream stream({.seed = 8, .chain = 0, .purpose = Purpose::rows, .iteration = k});
    source.begin();
    source.draw(stream, ids, factors);
    set.estimator.terms(params(from), params(to), ids, terms);
    double estimate = known;
    for (std::size_t j = 0; j < r; ++j) estimate += n * factors[j] * terms[j] / r;
    const double e = estimate - exact;
    error += e / repeats;
    squares += e * e / repeats;
    fourth += e * e * e * e / repeats;
  }
  EXPECT_LT(std::abs(error) / std::sqrt(variance / repeats), 5);
  EXPECT_LT(std::abs(squares - variance) / std::sqrt((fourth - squares * squares) / repeats), 5);
}

// The same rows, with and without control variates: the variance of D_i against that of r_i, from all rows.
TEST(ControlVariates, LeaveLittleOfTheVarianceOfTheDifferences) {
  const auto model = small_glm("logistic", 10'000, testing::draw_logistic);
  Prepared set(model);
  PlainDifference plain(model);
  const Params centre = params(set.mode.evaluated_at);
  const Eigen::VectorXd from = probe(centre, set.fit.cholesky, 10, 1.4),
                        to = probe(centre, set.fit.cholesky, 13, 1.4);
  const auto variance = [&](auto& estimator) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < model.rows(); ++i) {
      const std::array<RowId, 1> id{static_cast<RowId>(i)};
      std::array<double, 1> term{};
      estimator.terms(params(from), params(to), id, term);
      sum += term[0];
      squares += term[0] * term[0];
    }
    const double n = static_cast<double>(model.rows());
    return n * squares - sum * sum;
  };
  // D_i ~ n^-1/2 and r_i ~ n^-3/2 times numbers near 1: a ratio of variances of about n^2 = 1e8; far above
  // 1e5.
  EXPECT_GT(variance(plain) / variance(set.estimator), 1e5);
}

template <class M>
void expect_law(const M& model, const Eigen::VectorXd& mean, const Eigen::MatrixXd& covariance,
                const char* what) {
  const Prepared<M> set(model);
  const auto p = static_cast<Eigen::Index>(model.dim());
  const PenaltySize rule(model.rows(), {.pilot = 20, .max = 2000});
  auto independent = set.kernel(LaplaceProposal(set.fit, {}), rule);
  expect_moments(independent, set.mode.theta, mean, covariance, 100'000, what);
  const Eigen::MatrixXd factor = 2.38 / std::sqrt(static_cast<double>(p)) *
                                 set.fit.cholesky.transpose().template triangularView<Eigen::Upper>().solve(
                                     Eigen::MatrixXd(Eigen::MatrixXd::Identity(p, p)));
  auto walk = set.kernel(RandomWalkProposal(factor), rule);
  expect_moments(walk, set.mode.theta, mean, covariance, 100'000, what);
}

TEST(Difference, LogisticMatchesQuadrature) {
  const auto model = small_glm("logistic", 300, testing::draw_logistic, Prior::normal(0.5, 1.5));
  const Quadrature q = integrate(model);
  expect_law(model, q.mean, q.covariance, "logistic");
}
TEST(Difference, LogisticWithStudentPriorMatchesQuadrature) {
  const auto model = small_glm("logistic", 300, testing::draw_logistic, Prior::student_t(3, 1, 0.3));
  const Quadrature q = integrate(model);
  expect_law(model, q.mean, q.covariance, "logistic, Student's t prior");
}
TEST(Difference, PoissonMatchesQuadrature) {
  const auto model = small_glm("poisson", 300, testing::draw_poisson, Prior::cauchy(0, 1));
  const Quadrature q = integrate(model);
  expect_law(model, q.mean, q.covariance, "poisson");
}
TEST(Difference, GaussianWithUnknownSigmaMatchesQuadrature) {
  const Glm model(design_of(regression_table(60, 2.0, {}, 5, testing::draw_gaussian), "y ~ 1"),
                  make_family("gaussian"), {{Prior::normal(1, 2)}, false, Prior::gamma(2, 1)});
  const Quadrature q = integrate(model);
  expect_law(model, q.mean, q.covariance, "gaussian");
}

// The remainder is the same for every row, so there is no noise at all; a proposal below 0 is rejected.
TEST(Difference, GaussianPrecisionMatchesItsClosedForm) {
  Table table = regression_table(8, 0.0, {}, 3, testing::draw_gaussian);
  double squares = 0;
  for (const double y : table.columns[0].numbers()) squares += (y - 0.5) * (y - 0.5);
  const GaussianPrecision model(design_of(std::move(table), "y ~ 1"), 0.5, Prior::gamma(2, 0.7));
  const double shape = 2 + 4, rate = 0.7 + squares / 2;
  expect_law(model, Eigen::VectorXd::Constant(1, shape / rate),
             Eigen::MatrixXd::Constant(1, 1, shape / (rate * rate)), "gaussian precision");
}

// y ~ Student's t with 4 degrees of freedom about mu, with a scale, as a user would write it.
struct Student {
  std::vector<double> y;
  std::vector<std::string> names() const { return {"mu", "log_scale"}; }
  std::size_t rows() const { return y.size(); }
  template <class Scalar>
  Scalar log_prior(std::span<const Scalar> theta) const {
    return -0.5 * (theta[0] * theta[0] / 25 + theta[1] * theta[1]);
  }
  template <class Scalar>
  Scalar term(std::span<const Scalar> theta, std::size_t i) const {
    using namespace ad;
    return -2.5 * log1p(square((y[i] - theta[0]) * exp(-theta[1])) / 4) - theta[1];
  }
};

TEST(Difference, AUserWrittenModelMatchesQuadrature) {
  Student data;
  for (std::size_t i = 0; i < 200; ++i) {
    Stream stream({.seed = 7, .chain = 0, .purpose = Purpose::simulate, .iteration = i});
    data.y.push_back(1 + normal(stream) / std::sqrt(exponential(stream)));
  }
  const AutodiffModel<Student> model(std::move(data));
  const Quadrature q = integrate(model);
  expect_law(model, q.mean, q.covariance, "Student's t errors");
}

TEST(Difference, KeepsItsNoiseBelowTheTargetWithFewRows) {
  const auto model = small_glm("logistic", 20'000, testing::draw_logistic);
  const Prepared set(model);
  auto kernel = set.kernel(LaplaceProposal(set.fit, {}), PenaltySize(model.rows(), {}));
  double noise = 0, rows = 0, accepted = 0;
  testing::run(kernel, set.mode.theta, 100, 5000, [&](const Eigen::VectorXd&, const StepInfo& info) {
    EXPECT_LT(info.noise_sd, 0.1);
    noise += info.noise_sd / 5000;
    rows += static_cast<double>(info.rows_read) / 5000;
    accepted += info.accepted ? 1.0 / 5000 : 0;
  });
  EXPECT_LT(noise, 0.05);
  EXPECT_LT(rows, 25);
  EXPECT_GT(accepted, 0.95);
}

// A random walk on N(0, 1) whose log ratio is known only with normal noise of sd 1, and whose noise is
// estimated from the terms themselves. With as few as ten terms, the higher terms of the penalty matter.
template <class R>
double spread_with_noise(R rule, double sd, std::size_t terms_a_step) {
  constexpr std::size_t steps = 2'000'000;
  constexpr double rows = 1000;
  std::vector<double> terms(terms_a_step);
  double x = 0, squares = 0;
  for (std::size_t k = 0; k < steps; ++k) {
    Stream stream({.seed = 11, .chain = 0, .purpose = Purpose::rows, .iteration = k});
    const double y = x + 2.4 * normal(stream);
    const double ratio = 0.5 * (x * x - y * y);
    rule.begin({.rows = rows, .stream = &stream});
    normals(stream, terms);
    for (double& t : terms) t = (ratio + sd * std::sqrt(static_cast<double>(terms_a_step)) * t) / rows;
    rule.see(terms);
    EXPECT_EQ(rule.wants(), 0U);
    if (rule.accept()) x = y;
    squares += x * x;
  }
  return std::sqrt(squares / steps);
}

TEST(PenaltySize, MakesUpForNormalNoise) {
  const auto penalised = [](std::size_t terms) {
    return PenaltySize(1000, {.pilot = terms, .max = terms, .noise_sd = 1e-9});
  };
  // 2 %: twenty times the Monte Carlo error of two million steps, of which one in ten is effective.
  EXPECT_NEAR(spread_with_noise(penalised(10), 1.0, 10), 1, 0.02);
  EXPECT_NEAR(spread_with_noise(penalised(40), 1.0, 40), 1, 0.02);
  EXPECT_NEAR(spread_with_noise(penalised(10), 0.1, 10), 1, 0.02);
  EXPECT_GT(spread_with_noise(FixedSize(10), 1.0, 10), 1.1);  // without the penalty
}

TEST(PenaltySize, IsTheSeriesOfCeperleyAndDewing) {
  PenaltySize rule(100, {.pilot = 4, .max = 4, .noise_sd = 1e-9});
  Stream stream({.seed = 1, .chain = 0, .purpose = Purpose::decision, .iteration = 0});
  rule.begin(testing::trial_at(0, stream, 100));
  rule.see(std::vector<double>{0.01, 0.03, -0.01, 0.02});
  const double mean = 0.0125;
  double s2 = 0;
  for (const double x : {0.01, 0.03, -0.01, 0.02}) s2 += (x - mean) * (x - mean) / 3 / 4 * 1e4;
  EXPECT_NEAR(rule.noise_variance(), s2, 1e-12);
  EXPECT_NEAR(rule.penalty(), s2 / 2 + s2 * s2 / (4 * 5) + s2 * s2 * s2 / (3 * 5 * 7), 1e-12);
  for (const double margin : {-1e-9, 1e-9}) {  // accepts if and only if n mean - n psi > penalty
    rule.begin(testing::trial_at(mean - (rule.penalty() + margin) / 100, stream, 100));
    rule.see(std::vector<double>{0.01, 0.03, -0.01, 0.02});
    EXPECT_EQ(rule.accept(), margin > 0);
  }
}

TEST(PenaltySize, GrowsUntilTheNoiseIsBelowItsTargetOrTheLimitIsReached) {
  const auto rows_for = [](double sd, std::size_t max) {
    PenaltySize rule(1, {.pilot = 10, .max = max, .noise_sd = 0.1});
    Stream stream({.seed = 5, .chain = 0, .purpose = Purpose::rows, .iteration = 0});
    rule.begin(testing::trial_at(0, stream));
    std::vector<double> terms;
    while (rule.wants() > 0) {
      terms.resize(std::min<std::size_t>(rule.wants(), 7));  // in pieces, as the kernel does
      normals(stream, terms);
      for (double& t : terms) t *= sd;
      rule.see(terms);
    }
    return rule;
  };
  EXPECT_EQ(rows_for(0.1, 10'000).seen().count, 10U);  // 0.1 / sqrt(10): enough at once
  const PenaltySize grown = rows_for(3, 10'000);       // 900 wanted
  EXPECT_LT(grown.noise_variance(), 0.01);
  EXPECT_GT(grown.seen().count, 700U);
  EXPECT_LT(grown.seen().count, 1300U);
  EXPECT_EQ(rows_for(3, 333).seen().count, 333U);
  EXPECT_EQ(rows_for(std::numeric_limits<double>::quiet_NaN(), 333).seen().count, 10U);
  EXPECT_FALSE(rows_for(std::numeric_limits<double>::quiet_NaN(), 333).accept());
  EXPECT_EQ(rows_for(std::numeric_limits<double>::infinity(), 333).seen().count, 10U);
}

}  // namespace
}  // namespace mlo
