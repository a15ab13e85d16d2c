// Copyright (c) the mlo authors. BSD-3-Clause.
// Remainders of quadratic expansions against long double, and against the sums that mode finding uses.
#include "mlo/model/check_terms.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "mlo/model/gaussian_precision.hpp"
#include "mlo/model/glm.hpp"
#include "support/designs.hpp"

namespace mlo {
namespace {

using Long = long double;

// A row's term and its derivatives at (eta, a), from the textbook, in long double.
struct Taylor {
  Long f, e, ee, a = 0, ea = 0, aa = 0;
};
Taylor taylor(const Logistic&, Long eta, Long y, Long) {
  const Long p = 1 / (1 + std::exp(-eta));
  return {y == 1 ? -std::log1p(std::exp(-eta)) : -std::log1p(std::exp(eta)), y - p, -p * (1 - p)};
}
Taylor taylor(const Probit&, Long eta, Long y, Long) {
  const Long s = 2 * y - 1, z = s * eta, cdf = 0.5L * std::erfc(-z / std::sqrt(2.0L));
  const Long mills = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi_v<Long>) / cdf;
  return {std::log(cdf), s * mills, -mills * (z + mills)};
}
Taylor taylor(const Poisson&, Long eta, Long y, Long) {
  return {y * eta - std::exp(eta) - std::lgamma(y + 1), y - std::exp(eta), -std::exp(eta)};
}
Taylor taylor(const GaussianMean& g, Long eta, Long y, Long) {
  const Long s2 = static_cast<Long>(g.sigma) * g.sigma;
  return {-(y - eta) * (y - eta) / (2 * s2) - std::log(2 * std::numbers::pi_v<Long> * s2) / 2, (y - eta) / s2,
          -1 / s2};
}
Taylor taylor(const Gaussian&, Long eta, Long y, Long a) {
  const Long w = std::exp(-2 * a), r = y - eta;
  return {-r * r * w / 2 - a - std::log(2 * std::numbers::pi_v<Long>) / 2,
          r * w,
          -w,
          r * r * w - 1,
          -2 * r * w,
          -2 * r * r * w};
}

double draw(const Logistic&, Stream& s, double eta) { return testing::draw_logistic(s, eta); }
double draw(const Probit&, Stream& s, double eta) { return testing::draw_probit(s, eta); }
double draw(const Poisson&, Stream& s, double eta) { return testing::draw_poisson(s, eta); }
double draw(const GaussianMean&, Stream& s, double eta) { return testing::draw_gaussian(s, eta); }
double draw(const Gaussian&, Stream& s, double eta) { return testing::draw_gaussian(s, eta); }

template <class F>
class Remainders : public ::testing::Test {
 protected:
  static Glm<F> model() {
    Design d =
        testing::design_of(testing::regression_table(700, 0.4, {0.7, -0.5, 0.2}, 11,
                                                     [](Stream& s, double eta) { return draw(F{}, s, eta); }),
                           "y ~ x1 + x2 + offset(0.1 * x3)");
    GlmPriors priors{std::vector<Prior>(d.dim, Prior::normal(0, 2)), false, Prior::gamma(2, 0.7)};
    return {std::move(d), F{}, priors};
  }
};
using Families = ::testing::Types<Logistic, Probit, Poisson, GaussianMean, Gaussian>;
TYPED_TEST_SUITE(Remainders, Families);

TYPED_TEST(Remainders, AreThoseOfTheTextbookInLongDouble) {
  using F = TypeParam;
  const auto model = this->model();
  const std::size_t p = model.design().dim;
  std::vector<double> centre(model.dim()), from(model.dim()), to(model.dim());
  for (const double size : {1e-6, 1e-3, 0.1, 1.0}) {
    for (std::size_t j = 0; j < model.dim(); ++j) {
      const auto k = static_cast<double>(j);
      centre[j] = 0.3 - 0.17 * k;
      from[j] = centre[j] + size * std::sin(1 + k);
      to[j] = centre[j] + size * std::cos(2 + 3 * k);
    }
    std::vector<RowId> ids;  // more than one block, in no order, with repeats
    for (std::size_t k = 0; k < 900; ++k) ids.push_back(static_cast<RowId>(k * 37 % 700));
    std::vector<double> out(ids.size());
    model.log_likelihood_remainders(centre, from, to, ids, out);
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const double* x = model.design().row(ids[k]);
      const Long y = model.design().y(ids[k]);
      const auto eta = [&](const std::vector<double>& theta) {
        Long sum = model.design().offset(ids[k]);
        for (std::size_t j = 0; j < p; ++j) sum += static_cast<Long>(theta[j]) * x[j];
        return sum;
      };
      const auto aux = [&](const std::vector<double>& theta) -> Long {
        return F::has_aux ? theta.back() : 0;
      };
      const Taylor c = taylor(F{}, eta(centre), y, aux(centre));
      const auto remainder = [&](const std::vector<double>& theta) {
        const Long t = eta(theta) - eta(centre), a = aux(theta) - aux(centre);
        return taylor(F{}, eta(theta), y, aux(theta)).f - c.e * t - c.a * a -
               (c.ee * t * t + 2 * c.ea * t * a + c.aa * a * a) / 2;
      };
      const Long expected = remainder(to) - remainder(from);
      // The terms' own rounding: some units of the last place of numbers as large as they are.
      const double scale = 1 + std::abs(static_cast<double>(c.f)) + std::abs(static_cast<double>(c.ee));
      ASSERT_NEAR(out[k], static_cast<double>(expected), 3e-14 * scale)
          << "row " << ids[k] << " size " << size;
    }
  }
}

// sum_i r_i = sum_i D_i - Q, with Q from the sums of derivatives: the expansions of the rows add up to that
// of the sum.
TYPED_TEST(Remainders, AndTheQuadraticFormAddUpToTheDifferenceOfTheSums) {
  const auto model = this->model();
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const Eigen::LLT<Eigen::MatrixXd> chol(mode.information);
  const Eigen::MatrixXd cholesky = chol.matrixL();
  const Params centre = params(mode.evaluated_at);
  const Eigen::VectorXd from = probe(centre, cholesky, 0, 1.0), to = probe(centre, cholesky, 1, 2.0);
  std::vector<double> r(model.rows());
  log_likelihood_remainders(model, centre, params(from), params(to), 0, 1, r);
  const auto form = [&](const Eigen::VectorXd& theta) {
    const Eigen::VectorXd d = theta - mode.evaluated_at;
    return mode.likelihood.gradient.dot(d) - 0.5 * d.dot(mode.likelihood.information * d);
  };
  const Rows all = Rows::range(0, model.rows());
  const double difference = model.log_likelihood(params(to), all) - model.log_likelihood(params(from), all);
  EXPECT_NEAR(std::accumulate(r.begin(), r.end(), 0.0), difference - (form(to) - form(from)), 1e-10);
}

TEST(GaussianPrecisionRemainders, AreThoseOfTheTextbook) {
  const GaussianPrecision model(
      testing::design_of(testing::regression_table(50, 0.0, {}, 3, testing::draw_gaussian), "y ~ 1"), 0.5,
      Prior::gamma(2, 0.7));
  const std::vector<double> centre{0.7}, from{0.55}, to{0.9};
  std::vector<double> out(50);
  log_likelihood_remainders(model, centre, from, to, 0, 1, out);
  const auto d = [&](Long tau) {
    const Long x = tau / 0.7L - 1;
    return 0.5L * (std::log(tau / 0.7L) - x + x * x / 2);
  };
  for (const double r : out) EXPECT_NEAR(r, static_cast<double>(d(0.9) - d(0.55)), 1e-15);
}

TEST(Probes, AreOrthogonalAndOfTheGivenLengthInWhitenedCoordinates) {
  Eigen::Matrix3d information;
  information << 4, 1, 0.5, 1, 3, -0.2, 0.5, -0.2, 2;
  const Eigen::MatrixXd cholesky = Eigen::LLT<Eigen::MatrixXd>(information).matrixL();
  const std::vector<double> centre{1, 2, 3};
  Eigen::Matrix3d white;
  for (int k = 0; k < 3; ++k)
    white.col(k) = cholesky.transpose() *
                   (probe(centre, cholesky, static_cast<std::uint64_t>(k), 0.7) - Eigen::Vector3d(1, 2, 3));
  EXPECT_LT((white.transpose() * white - 0.49 * Eigen::Matrix3d::Identity()).norm(), 1e-14);
  EXPECT_GT((probe(centre, cholesky, 0, 0.7) - probe(centre, cholesky, 3, 0.7)).norm(), 1e-3);
}

}  // namespace
}  // namespace mlo
