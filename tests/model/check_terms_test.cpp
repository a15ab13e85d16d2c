// Copyright (c) the mlo authors. BSD-3-Clause.
// Remainders of quadratic expansions against long double, and against the sums that mode finding uses.
#include "mlo/model/check_terms.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "mlo/model/gaussian_precision.hpp"
#include "mlo/model/glm.hpp"
#include "support/designs.hpp"
#include "support/families.hpp"

namespace mlo {
namespace {

using testing::FamilyCase;
using Long = long double;

// A row's term and its derivatives at (eta, a), from the textbook, in long double.
struct Taylor {
  Long f, e, ee, a = 0, ea = 0, aa = 0;
};
Taylor logistic_taylor(Long eta, Long y) {
  const Long p = 1 / (1 + std::exp(-eta));
  return {y == 1 ? -std::log1p(std::exp(-eta)) : -std::log1p(std::exp(eta)), y - p, -p * (1 - p)};
}
Taylor probit_taylor(Long eta, Long y) {
  const Long s = 2 * y - 1, z = s * eta, cdf = 0.5L * std::erfc(-z / std::sqrt(2.0L));
  const Long mills = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi_v<Long>) / cdf;
  return {std::log(cdf), s * mills, -mills * (z + mills)};
}
Taylor poisson_taylor(Long eta, Long y) {
  return {y * eta - std::exp(eta) - std::lgamma(y + 1), y - std::exp(eta), -std::exp(eta)};
}
Taylor gaussian_mean_taylor(Long sigma, Long eta, Long y) {
  const Long s2 = sigma * sigma;
  return {-(y - eta) * (y - eta) / (2 * s2) - std::log(2 * std::numbers::pi_v<Long> * s2) / 2, (y - eta) / s2,
          -1 / s2};
}
Taylor gaussian_taylor(Long eta, Long y, Long a) {
  const Long w = std::exp(-2 * a), r = y - eta;
  return {-r * r * w / 2 - a - std::log(2 * std::numbers::pi_v<Long>) / 2,
          r * w,
          -w,
          r * r * w - 1,
          -2 * r * w,
          -2 * r * r * w};
}

Taylor taylor(const FamilyCase& f, Long eta, Long y, Long a) {
  if (f.name == "logistic") return logistic_taylor(eta, y);
  if (f.name == "probit") return probit_taylor(eta, y);
  if (f.name == "poisson") return poisson_taylor(eta, y);
  if (f.name == "gaussian-mean") return gaussian_mean_taylor(f.numbers.at("known-sigma"), eta, y);
  return gaussian_taylor(eta, y, a);
}

class Remainders : public testing::OnFamily {
 protected:
  static Glm make() {
    Design d = testing::design_of(testing::regression_table(700, 0.4, {0.7, -0.5, 0.2}, 11, GetParam().draw),
                                  "y ~ x1 + x2 + offset(0.1 * x3)");
    GlmPriors priors{.coefficients = std::vector<Prior>(d.dim, Prior::normal(0, 2)),
                     .second = Prior::gamma(2, 0.7)};
    return {std::move(d), GetParam().make(), std::move(priors)};
  }
  const Glm model = make();
};
MLO_ON_FAMILIES(Remainders,
                (std::vector<FamilyCase>{{"logistic", {}, testing::draw_logistic},
                                         {"probit", {}, testing::draw_probit},
                                         {"poisson", {}, testing::draw_poisson},
                                         {"gaussian-mean", {{"known-sigma", 1.3}}, testing::draw_gaussian},
                                         {"gaussian", {}, testing::draw_gaussian}}));

TEST_P(Remainders, AreThoseOfTheTextbookInLongDouble) {
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
        return model.family().estimates_second() ? theta.back() : 0;
      };
      const Taylor c = taylor(GetParam(), eta(centre), y, aux(centre));
      const auto remainder = [&](const std::vector<double>& theta) {
        const Long t = eta(theta) - eta(centre), a = aux(theta) - aux(centre);
        return taylor(GetParam(), eta(theta), y, aux(theta)).f - c.e * t - c.a * a -
               (c.ee * t * t + 2 * c.ea * t * a + c.aa * a * a) / 2;
      };
      const Long expected = remainder(to) - remainder(from);
      // Rounding of the terms: some units in the last place of numbers of their size.
      const double scale = 1 + std::abs(static_cast<double>(c.f)) + std::abs(static_cast<double>(c.ee));
      ASSERT_NEAR(out[k], static_cast<double>(expected), 3e-14 * scale)
          << "row " << ids[k] << " size " << size;
    }
  }
}

// sum_i r_i = sum_i D_i - Q, with Q from the sums of derivatives: the expansions of the rows add up to that
// of the sum.
TEST_P(Remainders, AndTheQuadraticFormAddUpToTheDifferenceOfTheSums) {
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
