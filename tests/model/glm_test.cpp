// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/glm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "mlo/base/errors.hpp"
#include "mlo/base/special.hpp"
#include "mlo/model/gaussian_precision.hpp"
#include "support/designs.hpp"
#include "support/families.hpp"

namespace mlo {
namespace {

using testing::design_of;
using testing::FamilyCase;
using testing::regression_table;

GlmPriors some_priors(const Design& design, bool at_means) {
  GlmPriors priors;
  priors.coefficients.assign(design.dim, Prior::normal(0.3, 2));
  if (design.dim > 1) priors.coefficients.back() = Prior::student_t(4, 0.1, 1.5);
  priors.intercept_at_means = at_means;
  priors.second = Prior::gamma(2, 0.7);
  return priors;
}

// Reference densities straight from their textbook formulas, in long double.
long double reference_logistic(long double eta, long double y) {
  const long double p = 1 / (1 + std::exp(-eta));
  return y == 1 ? std::log(p) : std::log1p(-p);
}
long double reference_probit(long double eta, long double y) {
  const long double s = 2 * y - 1;
  return std::log(0.5L * std::erfc(-s * eta / std::sqrt(2.0L)));
}
long double reference_poisson(long double eta, long double y) {
  return y * eta - std::exp(eta) - std::lgamma(y + 1);
}
long double reference_gaussian(long double s, long double residual) {
  return -0.5L * residual * residual / (s * s) - std::log(s * std::sqrt(2 * std::numbers::pi_v<long double>));
}
long double reference_student(long double nu, long double sigma, long double residual) {
  const long double z = residual / sigma;
  return std::lgamma((nu + 1) / 2) - std::lgamma(nu / 2) -
         std::log(sigma * std::sqrt(nu * std::numbers::pi_v<long double>)) -
         (nu + 1) / 2 * std::log1p(z * z / nu);
}
// y failures before the k-th success of probability k / (k + mu).
long double reference_negative_binomial(long double k, long double mu, long double y) {
  return std::lgamma(y + k) - std::lgamma(k) - std::lgamma(y + 1) + k * std::log(k / (k + mu)) +
         y * std::log(mu / (k + mu));
}
// Shape k and rate k / mu.
long double reference_gamma(long double k, long double mu, long double y) {
  return k * std::log(k / mu) + (k - 1) * std::log(y) - k * y / mu - std::lgamma(k);
}
long double reference_zero_inflated(long double zi, long double mu, long double y) {
  if (y == 0) return std::log(zi + (1 - zi) * std::exp(-mu));
  return std::log1p(-zi) + y * std::log(mu) - mu - std::lgamma(y + 1);
}
// `a`: the log of the second parameter, or its logit, if it is estimated.
long double reference(const FamilyCase& f, long double eta, long double y, long double a) {
  const auto second = [&](const char* known) {
    return f.numbers.contains(known) ? static_cast<long double>(f.numbers.at(known)) : std::exp(a);
  };
  if (f.name == "logistic") return reference_logistic(eta, y);
  if (f.name == "probit") return reference_probit(eta, y);
  if (f.name == "poisson") return reference_poisson(eta, y);
  if (f.name == "student") return reference_student(f.numbers.at("freedom"), second("known-sigma"), y - eta);
  if (f.name == "negative-binomial") return reference_negative_binomial(second("size"), std::exp(eta), y);
  if (f.name == "gamma") return reference_gamma(second("shape"), std::exp(eta), y);
  if (f.name == "zero-inflated-poisson")
    return reference_zero_inflated(f.numbers.contains("zi") ? f.numbers.at("zi") : 1 / (1 + std::exp(-a)),
                                   std::exp(eta), y);
  return reference_gaussian(second("known-sigma"), y - eta);
}

class GlmTest : public testing::OnFamily {
 protected:
  static Design design(std::size_t rows = 1003) {
    Table table = regression_table(rows, 0.4, {0.7, -0.5, 0.2}, 11, GetParam().draw);
    for (double& x : table.columns[2].numbers()) x = 1000 + 30 * x;  // badly scaled on purpose
    return design_of(std::move(table), "y ~ x1 + x2 + x3 + offset(0.1 * x3)");
  }
  static Glm model(bool at_means = false) {
    Design d = design();
    GlmPriors priors = some_priors(d, at_means);
    return {std::move(d), GetParam().make(), std::move(priors)};
  }
  static std::vector<double> point(const Glm& m) {
    std::vector<double> theta(m.dim());
    for (std::size_t j = 0; j < theta.size(); ++j) theta[j] = 0.3 - 0.17 * static_cast<double>(j);
    return theta;
  }
};
MLO_ON_FAMILIES(GlmTest, testing::all_families());

TEST_P(GlmTest, TermsAreTheLogDensityAtTheUsersParameters) {
  const Glm glm = model();
  const auto theta = point(glm);
  // The reference works on the raw table and the user's coefficients, not on the working columns.
  Table table = regression_table(1003, 0.4, {0.7, -0.5, 0.2}, 11, GetParam().draw);
  std::vector<double> user(glm.dim());
  glm.to_user(theta, user);
  std::vector<double> terms(glm.rows());
  glm.log_likelihoods(theta, Rows::range(0, glm.rows()), terms);
  for (std::size_t i = 0; i < glm.rows(); ++i) {
    const long double x1 = table.columns[1].numbers()[i], x2 = 1000 + 30 * table.columns[2].numbers()[i],
                      x3 = table.columns[3].numbers()[i];
    const long double eta = user[0] + user[1] * x1 + user[2] * x2 + user[3] * x3 + 0.1L * x3;
    const long double expected = reference(GetParam(), eta, table.columns[0].numbers()[i], theta.back());
    // eta is a sum of terms of size 10 here: 1e-15 of that, times a slope of up to a few.
    ASSERT_NEAR(terms[i], static_cast<double>(expected),
                1e-11 * (1 + std::abs(static_cast<double>(expected))))
        << i;
  }
}

TEST_P(GlmTest, ATermDoesNotDependOnHowRowsAreBatched) {
  const Glm glm = model();
  const auto theta = point(glm);
  std::vector<double> all(glm.rows());
  glm.log_likelihoods(theta, Rows::range(0, glm.rows()), all);
  std::vector<RowId> ids(777);
  std::mt19937 random(5);
  for (RowId& id : ids) id = static_cast<RowId>(random() % glm.rows());
  std::vector<double> some(ids.size());
  glm.log_likelihoods(theta, Rows(ids), some);
  for (std::size_t k = 0; k < ids.size(); ++k) ASSERT_EQ(some[k], all[ids[k]]) << k;
  for (std::size_t i = 0; i < 20; ++i) {
    double one = 0;
    glm.log_likelihoods(theta, Rows::range(i, 1), {&one, 1});
    ASSERT_EQ(one, all[i]);
  }
}

TEST_P(GlmTest, TheSumDiffersFromTheTermsByAConstantThatCancels) {
  const Glm glm = model();
  const auto theta = point(glm);
  std::vector<double> other = theta;
  other[0] += 0.05;
  std::vector<double> a(glm.rows()), b(glm.rows());
  const Rows rows = Rows::range(0, glm.rows());
  glm.log_likelihoods(theta, rows, a);
  glm.log_likelihoods(other, rows, b);
  long double difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference += static_cast<long double>(b[i]) - a[i];
  EXPECT_NEAR(glm.log_likelihood(other, rows) - glm.log_likelihood(theta, rows),
              static_cast<double>(difference), 1e-9);
}

TEST_P(GlmTest, DerivativesAreThoseOfTheSum) {
  const Glm glm = model();
  const auto theta = point(glm);
  const Rows rows = Rows::range(3, 500);
  Derivatives d(glm.dim());
  glm.add_derivatives(theta, rows, d);
  EXPECT_NEAR(d.value, glm.log_likelihood(theta, rows), 1e-9 * std::abs(d.value));
  const double h = 1e-4;
  const auto shifted = [&](std::size_t j, double a, std::size_t k, double b) {
    std::vector<double> t = theta;
    t[j] += a;
    t[k] += b;
    return glm.log_likelihood(t, rows);
  };
  for (std::size_t j = 0; j < glm.dim(); ++j) {
    const auto row = static_cast<Eigen::Index>(j);
    const double slope = (shifted(j, h, j, 0) - shifted(j, -h, j, 0)) / (2 * h);
    EXPECT_NEAR(d.gradient[row], slope, 1e-4 * (1 + std::abs(slope)));
    for (std::size_t k = 0; k < glm.dim(); ++k) {
      const double mixed =
          -(shifted(j, h, k, h) - shifted(j, h, k, -h) - shifted(j, -h, k, h) + shifted(j, -h, k, -h)) /
          (4 * h * h);
      EXPECT_NEAR(d.information(row, static_cast<Eigen::Index>(k)), mixed, 2e-3 * (1 + std::abs(mixed)));
    }
  }
}

TEST_P(GlmTest, DerivativesOfScatteredRowsAreTheSame) {
  const Glm glm = model();
  const auto theta = point(glm);
  std::vector<RowId> ids(600);
  for (std::size_t k = 0; k < ids.size(); ++k) ids[k] = static_cast<RowId>(k);
  Derivatives a(glm.dim()), b(glm.dim());
  glm.add_derivatives(theta, Rows::range(0, ids.size()), a);
  glm.add_derivatives(theta, Rows(ids), b);
  EXPECT_EQ(a.value, b.value);
  EXPECT_TRUE(a.gradient == b.gradient);
  EXPECT_TRUE(a.information == b.information);
}

TEST_P(GlmTest, GradientsOfRowsAddUpToTheGradient) {
  const Glm glm = model();
  const auto theta = point(glm);
  const Rows rows = Rows::range(0, 600);
  Derivatives d(glm.dim());
  glm.add_derivatives(theta, rows, d);
  Eigen::MatrixXd gradients;
  glm.gradients(theta, rows, gradients);
  EXPECT_LT((gradients.colwise().sum().transpose() - d.gradient).cwiseAbs().maxCoeff(),
            1e-10 * (1 + d.gradient.cwiseAbs().maxCoeff()));
}

TEST_P(GlmTest, CoordinatesGoThereAndBack) {
  const Glm glm = model();
  const auto theta = point(glm);
  std::vector<double> user(glm.dim()), back(glm.dim());
  glm.to_user(theta, user);
  glm.to_working(user, back);
  for (std::size_t j = 0; j < theta.size(); ++j) EXPECT_NEAR(back[j], theta[j], 1e-12);
  const Eigen::MatrixXd jacobian = glm.user_jacobian(theta);
  const double h = 1e-6;
  for (std::size_t j = 0; j < theta.size(); ++j) {
    std::vector<double> moved = theta, up(glm.dim());
    moved[j] += h;
    glm.to_user(moved, up);
    for (std::size_t k = 0; k < theta.size(); ++k)
      EXPECT_NEAR(jacobian(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(j)), (up[k] - user[k]) / h,
                  1e-5);
  }
}

TEST_P(GlmTest, PriorIsThatOfTheUsersParametersWithTheJacobianOfTheScale) {
  for (const bool at_means : {false, true}) {
    const Glm glm = model(at_means);
    const auto theta = point(glm);
    std::vector<double> user(glm.dim());
    glm.to_user(theta, user);
    double expected = Prior::normal(0.3, 2).log_density(at_means ? theta[0] : user[0]);
    expected += Prior::normal(0.3, 2).log_density(user[1]) + Prior::normal(0.3, 2).log_density(user[2]);
    expected += Prior::student_t(4, 0.1, 1.5).log_density(user[3]);
    if (glm.family().estimates_second())
      expected += Prior::gamma(2, 0.7).log_density(user.back()) + std::log(user.back()) +
                  (glm.family().spec().second->share ? std::log1p(-user.back()) : 0);
    EXPECT_NEAR(glm.log_prior(theta), expected, 1e-12 * std::abs(expected));
  }
}

TEST_P(GlmTest, PriorDerivativesAreThoseOfThePrior) {
  for (const bool at_means : {false, true}) {
    const Glm glm = model(at_means);
    const auto theta = point(glm);
    Derivatives d(glm.dim());
    glm.add_prior_derivatives(theta, d);
    const double h = 1e-5;
    for (std::size_t j = 0; j < glm.dim(); ++j) {
      std::vector<double> up = theta, down = theta;
      up[j] += h;
      down[j] -= h;
      const double slope = (glm.log_prior(up) - glm.log_prior(down)) / (2 * h);
      EXPECT_NEAR(d.gradient[static_cast<Eigen::Index>(j)], slope, 1e-5 * (1 + std::abs(slope)));
      Derivatives a(glm.dim()), b(glm.dim());
      glm.add_prior_derivatives(up, a);
      glm.add_prior_derivatives(down, b);
      const Eigen::VectorXd column = -(a.gradient - b.gradient) / (2 * h);
      EXPECT_LT((d.information.col(static_cast<Eigen::Index>(j)) - column).cwiseAbs().maxCoeff(),
                1e-4 * (1 + column.cwiseAbs().maxCoeff()));
    }
  }
}

TEST(LogNormalCdf, IsRightInTheCentreAndInBothTails) {
  for (double z = -37; z < 8; z += 0.173) {
    const long double root = static_cast<long double>(z) / std::sqrt(2.0L);
    const long double expected =
        z > 0 ? std::log1p(-0.5L * std::erfc(root)) : std::log(0.5L * std::erfc(-root));
    EXPECT_NEAR(log_normal_cdf(z), static_cast<double>(expected),
                4e-14 * std::abs(static_cast<double>(expected)) + 1e-300)
        << z;
  }
  // Far out, against the continued fraction of the Mills ratio, an expansion of another kind.
  for (const double z : {-40.0, -100.0, -1e4}) {
    long double fraction = 0;
    for (int k = 60; k >= 1; --k) fraction = k / (-static_cast<long double>(z) + fraction);
    const long double mills = 1 / (-static_cast<long double>(z) + fraction);
    const long double expected =
        -0.5L * z * z - 0.5L * std::log(2 * std::numbers::pi_v<long double>) + std::log(mills);
    EXPECT_NEAR(log_normal_cdf(z) / static_cast<double>(expected), 1, 1e-14) << z;
    EXPECT_NEAR(inverse_mills(z) / static_cast<double>(1 / mills), 1, 1e-7) << z;
  }
}

TEST(GaussianPrecision, TermsAndDerivativesMatchTheirFormulas) {
  Table table = regression_table(200, 1.0, {}, 3, testing::draw_gaussian);
  const std::vector<double> y = table.columns[0].numbers();
  const GaussianPrecision model(design_of(std::move(table), "y ~ 1"), 0.5, Prior::gamma(0.01, 0.01));
  const std::vector<double> theta{0.7};
  std::vector<double> terms(200);
  model.log_likelihoods(theta, Rows::range(0, 200), terms);
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    const double expected = 0.5 * std::log(0.7 / (2 * std::numbers::pi)) - 0.35 * (y[i] - 0.5) * (y[i] - 0.5);
    ASSERT_NEAR(terms[i], expected, 1e-13 * std::abs(expected));
    sum += expected;
    squares += (y[i] - 0.5) * (y[i] - 0.5);
  }
  Derivatives d(1);
  model.add_derivatives(theta, Rows::range(0, 200), d);
  EXPECT_NEAR(d.value, sum, 1e-10 * std::abs(sum));
  EXPECT_NEAR(d.gradient[0], 100 / 0.7 - squares / 2, 1e-10 * squares);
  EXPECT_NEAR(d.information(0, 0), 100 / 0.49, 1e-10);
  EXPECT_EQ(model.log_prior(std::vector<double>{-0.1}), -std::numeric_limits<double>::infinity());
}

std::string refusal(const std::string& family, const std::vector<double>& y,
                    const FamilyNumbers& numbers = {}) {
  Table table;
  table.source = {.name = "d.csv", .unit = Source::Unit::line};
  table.rows = y.size();
  table.columns.push_back({"y", y});
  try {
    const Design design = design_of(std::move(table), "y ~ 1");
    const GlmPriors priors = some_priors(design, true);
    Glm(design, make_family(family, numbers), priors);
  } catch (const DataError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Families, RefuseResponsesThatBreakTheirRuleWithTheLine) {
  EXPECT_EQ(
      refusal("logistic", {0, 1, 2}),
      "d.csv:4: response \"y\": a logistic model needs 0 or 1 (got 2); `family gaussian` is for any number, `family poisson` for counts, `family softmax` for classes");
  EXPECT_EQ(
      refusal("logistic", {0, std::nan(""), 0.5}),
      "d.csv:4: response \"y\": a logistic model needs 0 or 1 (got 0.5); `family gaussian` is for any number, `family poisson` for counts, `family softmax` for classes");
  EXPECT_EQ(refusal("logistic", {1, 1, 1}),
            "d.csv: response \"y\": all 3 rows are 1; a logistic model needs both 0 and 1");
  EXPECT_EQ(refusal("poisson", {1, -1}),
            "d.csv:3: response \"y\": a poisson model needs counts 0, 1, 2, ... (got -1)");
  EXPECT_EQ(refusal("poisson", {1.5, 1}),
            "d.csv:2: response \"y\": a poisson model needs counts 0, 1, 2, ... (got 1.5)");
  EXPECT_EQ(refusal("poisson", {0, 0}),
            "d.csv: response \"y\": all 2 rows are 0; a poisson model needs some counts above 0");
  EXPECT_EQ(refusal("gaussian", {3, 3}),
            "d.csv: response \"y\": all 2 rows are 3; a gaussian model needs values that differ");
  EXPECT_EQ(refusal("student", {3, 3}),
            "d.csv: response \"y\": all 2 rows are 3; a student model needs values that differ");
  for (const FamilyNumbers& numbers : {FamilyNumbers{}, FamilyNumbers{{"size", 1}}}) {
    EXPECT_EQ(refusal("negative-binomial", {1, -1}, numbers),
              "d.csv:3: response \"y\": a negative-binomial model needs counts 0, 1, 2, ... (got -1)");
    EXPECT_EQ(refusal("negative-binomial", {0, 0}, numbers),
              "d.csv: response \"y\": all 2 rows are 0; a negative-binomial model needs some counts above 0");
  }
  for (const FamilyNumbers& numbers : {FamilyNumbers{}, FamilyNumbers{{"shape", 1}}}) {
    EXPECT_EQ(refusal("gamma", {1, 0}, numbers),
              "d.csv:3: response \"y\": a gamma model needs numbers above 0 (got 0)");
    EXPECT_EQ(refusal("gamma", {-2.5, 1}, numbers),
              "d.csv:2: response \"y\": a gamma model needs numbers above 0 (got -2.5)");
  }
  EXPECT_EQ(refusal("gamma", {3, 3}),
            "d.csv: response \"y\": all 2 rows are 3; a gamma model needs values that differ");
  EXPECT_EQ(refusal("gamma", {3, 3}, {{"shape", 1}}), "no error");
}

}  // namespace
}  // namespace mlo
