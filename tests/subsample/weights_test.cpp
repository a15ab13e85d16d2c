// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/weights.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "mlo/base/errors.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/subsample/row_source.hpp"
#include "support/designs.hpp"

namespace mlo {
namespace {

Glm logistic(std::size_t rows) {
  Design design = testing::design_of(
      testing::regression_table(rows, 0.2, {1.0, 0.5}, 4, testing::draw_logistic), "y ~ x1 + x2");
  GlmPriors priors;
  priors.coefficients.assign(design.dim, Prior::normal(0, 3));
  return {std::move(design), make_family("logistic"), std::move(priors)};
}

TEST(SubsamplingProbabilities, AreTheirFormulasPlusTheUniformShare) {
  const auto model = logistic(5000);
  ThreadPool pool(2);
  const Mode mode = find_mode(model, pool);
  const double share = 0.01;
  std::vector<double> terms(5000);
  model.log_likelihoods(params(mode.theta), Rows::range(0, 5000), terms);
  double total = 0;
  for (const double t : terms) total += std::abs(t);
  const auto mlo =
      subsampling_probabilities(model, pool, Weights::mlo, params(mode.theta), mode.information, share);
  for (std::size_t i = 0; i < 5000; ++i)
    ASSERT_NEAR(mlo[i], share / 5000 + (1 - share) * std::abs(terms[i]) / total, 1e-17);

  // |f'| |L^-1 x|, with f' = y - p worked out here.
  const Eigen::LLT<Eigen::MatrixXd> chol(mode.information);
  std::vector<double> sizes(5000);
  double sum = 0;
  for (std::size_t i = 0; i < 5000; ++i) {
    const Eigen::Map<const Eigen::VectorXd> x(model.design().row(i), 3);
    const double p = 1 / (1 + std::exp(-x.dot(mode.theta)));
    const Eigen::VectorXd white = chol.matrixL().solve(x);
    sum += sizes[i] = std::abs(model.design().y(i) - p) * white.norm();
  }
  const auto score =
      subsampling_probabilities(model, pool, Weights::score, params(mode.theta), mode.information, share);
  for (std::size_t i = 0; i < 5000; ++i)
    ASSERT_NEAR(score[i], share / 5000 + (1 - share) * sizes[i] / sum, 1e-13 * score[i]);
  const auto uniform = subsampling_probabilities(model, pool, Weights::uniform, {}, mode.information, share);
  for (const double p : uniform) ASSERT_DOUBLE_EQ(p, 1.0 / 5000);
}

TEST(SubsamplingProbabilities, RefuseAZeroWithoutAUniformShare) {
  std::vector<double> sizes{1, 0, 2};
  EXPECT_THROW(to_probabilities(sizes, 0), ModelError);
  std::vector<double> mixed{1, 0, 2};
  to_probabilities(mixed, 0.3);
  EXPECT_DOUBLE_EQ(mixed[1], 0.1);
  EXPECT_DOUBLE_EQ(std::accumulate(mixed.begin(), mixed.end(), 0.0), 1);
}

// The paper's Lambda*: unbiased, and with the variance in docs/methods/mlo.md (the printed formula lacks -
// Lambda^2), for every kind of weights and for the uniform subsample without replacement.
TEST(LambdaStar, IsUnbiasedWithTheVarianceOfTheFormula) {
  constexpr std::size_t n = 2000, r = 50, repeats = 20'000;
  const auto model = logistic(n);
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const Eigen::VectorXd from = mode.theta, to = mode.theta + Eigen::Vector3d(0.2, -0.1, 0.15);
  std::vector<double> a(n), d(n);
  model.log_likelihoods(params(from), Rows::range(0, n), a);
  model.log_likelihoods(params(to), Rows::range(0, n), d);
  double lambda = 0;
  for (std::size_t i = 0; i < n; ++i) lambda += (d[i] -= a[i]) / n;

  const auto check = [&](auto source, double variance, const char* what) {
    double sum = 0, squares = 0, fourth = 0;
    std::vector<RowId> ids(r);
    std::vector<double> factors(r), at_to(r), at_from(r);
    for (std::size_t k = 0; k < repeats; ++k) {
      Stream s({.seed = 8, .chain = 0, .purpose = Purpose::rows, .iteration = k});
      source.begin();
      source.draw(s, ids, factors);
      model.log_likelihoods(params(to), Rows(ids), at_to);
      model.log_likelihoods(params(from), Rows(ids), at_from);
      double estimate = 0;
      for (std::size_t j = 0; j < r; ++j) estimate += (at_to[j] - at_from[j]) * factors[j] / r;
      const double e = estimate - lambda;
      sum += e;
      squares += e * e;
      fourth += e * e * e * e;
    }
    const double m = repeats;
    // z scores; 5 standard errors: one false alarm in a million.
    EXPECT_LT(std::abs(sum / m) / std::sqrt(variance / m), 5) << what;
    const double variance_se = std::sqrt((fourth / m - (squares / m) * (squares / m)) / m);
    EXPECT_LT(std::abs(squares / m - variance) / variance_se, 5) << what;
  };
  for (const Weights scheme : {Weights::uniform, Weights::mlo, Weights::score}) {
    const auto eta =
        subsampling_probabilities(model, pool, scheme, params(mode.theta), mode.information, 1e-3);
    double second = 0;
    for (std::size_t i = 0; i < n; ++i) second += d[i] * d[i] / eta[i] / (static_cast<double>(n) * n);
    check(WithReplacement(std::make_shared<const WeightedRows>(eta)), (second - lambda * lambda) / r,
          "with replacement");
  }
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) squares += (d[i] - lambda) * (d[i] - lambda);
  check(WithoutReplacement(n), squares / (n - 1) / r * (1 - static_cast<double>(r) / n),
        "without replacement");
}

// The second moment of one weighted remainder, sum r_i^2 / eta_i, over posterior-sized moves other than the
// probes, computed from all rows. Columns with heavy tails are where weights matter; with normal columns
// there is little to gain.
// `curved`: weights from the curves of the rows, or else by probes.
double expect_reduced_variance(bool heavy, bool curved) {
  Table table =
      testing::regression_table(5000, -1.0, std::vector<double>(10, 0.2), 21, testing::draw_logistic);
  if (heavy)
    for (std::size_t j = 1; j < table.columns.size(); ++j)
      for (double& x : table.columns[j].numbers()) x = std::sinh(2 * x);
  Design design = testing::design_of(std::move(table), "y ~ .");
  GlmPriors priors{.coefficients = std::vector<Prior>(design.dim, Prior::normal(0, 3))};
  const Glm model(std::move(design), make_family("logistic"), std::move(priors));
  ThreadPool one(1), two(2);
  const Mode mode = find_mode(model, one);
  const Eigen::MatrixXd cholesky = Eigen::LLT<Eigen::MatrixXd>(mode.information).matrixL();
  const Params centre = params(mode.evaluated_at);
  const double share = 0.2;
  const auto probabilities = [&](ThreadPool& pool) {
    return curved ? remainder_probabilities(*model.curved(), pool, centre, cholesky, share)
                  : remainder_probabilities(model, pool, centre, cholesky, share);
  };
  const auto eta = probabilities(one);
  EXPECT_EQ(eta, probabilities(two));
  EXPECT_NEAR(std::accumulate(eta.begin(), eta.end(), 0.0), 1, 1e-12);
  double weighted = 0, uniform = 0;
  std::vector<double> r(5000);
  const double length = std::sqrt(static_cast<double>(model.dim()));
  for (std::uint64_t k = 100; k < 200; k += 2) {
    const Eigen::VectorXd from = probe(centre, cholesky, k, length),
                          to = probe(centre, cholesky, k + 1, length);
    log_likelihood_remainders(model, centre, params(from), params(to), 0, 1, r);
    double mine = 0, theirs = 0;
    for (std::size_t i = 0; i < r.size(); ++i) {
      mine += r[i] * r[i] / eta[i];
      theirs += r[i] * r[i] * 5000;
    }
    EXPECT_LE(mine, theirs / share);  // whatever the weights missed
    weighted += mine;
    uniform += theirs;
  }
  EXPECT_LT(weighted, (heavy ? 0.05 : 1.0) * uniform);
  return weighted;
}

// The integral reduces it further than the probes do.
TEST(RemainderProbabilities, ReduceTheVarianceOfTheRemainders) {
  for (const bool heavy : {true, false}) {
    const double integrated = expect_reduced_variance(heavy, true);
    EXPECT_LT(integrated, 0.9 * expect_reduced_variance(heavy, false)) << heavy;
  }
}

// The root mean square of a row's remainder over the Laplace fit, by adaptive trapezoids in the test.
TEST(RemainderProbabilities, AreTheRootMeanSquaresOfTheRemainders) {
  const auto model = logistic(200);
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const Eigen::LLT<Eigen::MatrixXd> chol(mode.information);
  const Eigen::MatrixXd cholesky = chol.matrixL();
  std::vector<double> sizes(200);
  double total = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    const Eigen::Map<const Eigen::VectorXd> x(model.design().row(i), 3);
    const double length = chol.matrixL().solve(x).norm(), e = x.dot(mode.evaluated_at);
    const double p = 1 / (1 + std::exp(-e));
    double sum = 0;
    constexpr double step = 0.01;
    for (double z = -9; z <= 9; z += step) {
      const double t = z * length;
      const double d =
          -std::log1p(std::exp(e + t)) + std::log1p(std::exp(e)) + p * t + p * (1 - p) * t * t / 2;
      sum += step * d * d * std::exp(-z * z / 2) / std::sqrt(2 * M_PI);
    }
    total += sizes[i] = std::sqrt(sum);
  }
  const double share = 0.01;
  const auto eta = remainder_probabilities(*model.curved(), pool, params(mode.evaluated_at), cholesky, share);
  for (std::size_t i = 0; i < 200; ++i)
    EXPECT_NEAR(eta[i], share / 200 + (1 - share) * sizes[i] / total, 1e-3 * eta[i]);
}

}  // namespace
}  // namespace mlo
