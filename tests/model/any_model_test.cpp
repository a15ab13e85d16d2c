// Copyright (c) the mlo authors. BSD-3-Clause.
// ModelOf<M> gives the same as M, to the last bit, and sensible defaults for the optional parts that M lacks.
#include "mlo/model/any_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "mlo/model/gaussian_precision.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/model/mode.hpp"
#include "support/designs.hpp"
#include "support/families.hpp"

namespace mlo {
namespace {

constexpr std::size_t rows = 700;  // more than two batches

// In no order, with repeats.
std::vector<RowId> scattered() {
  std::vector<RowId> ids;
  for (std::size_t k = 0; k < 900; ++k) ids.push_back(static_cast<RowId>(k * 37 % rows));
  return ids;
}

bool same(const Derivatives& a, const Derivatives& b) {
  return a.value == b.value && a.gradient == b.gradient && a.information == b.information;
}

// What every model has.
template <class M>
void expect_the_same(const AnyModel& any, const M& model, const std::vector<double>& theta) {
  ASSERT_EQ(any.dim(), model.dim());
  ASSERT_EQ(any.rows(), model.rows());
  EXPECT_EQ(any.log_prior(theta), model.log_prior(theta));
  const std::vector<RowId> ids = scattered();
  any.prefetch(ids);  // changes nothing
  for (const Rows part : {Rows::range(3, 600), Rows(ids)}) {
    std::vector<double> a(part.size()), b(part.size());
    any.log_likelihoods(theta, part, a);
    model.log_likelihoods(theta, part, b);
    EXPECT_EQ(a, b);
    Derivatives da(model.dim()), db(model.dim());
    any.add_derivatives(theta, part, da);
    model.add_derivatives(theta, part, db);
    EXPECT_TRUE(same(da, db));
  }
  Derivatives da(model.dim()), db(model.dim());
  any.add_prior_derivatives(theta, da);
  model.add_prior_derivatives(theta, db);
  EXPECT_TRUE(same(da, db));
  EXPECT_EQ(any.start(), model.start());
  EXPECT_EQ(any.names(), model.names());
  std::vector<double> a(model.dim()), b(model.dim());
  any.to_user(theta, a);
  model.to_user(theta, b);
  EXPECT_EQ(a, b);
  std::vector<double> c(model.dim());
  any.to_working(b, a);
  model.to_working(b, c);
  EXPECT_EQ(a, c);
  EXPECT_EQ(any.user_jacobian(theta), model.user_jacobian(theta));
}

std::vector<double> moved(std::vector<double> theta, double by) {
  for (double& t : theta) t += by;
  return theta;
}

class AnyGlm : public testing::OnFamily {
 protected:
  static Glm make() {
    Design d = testing::design_of(testing::regression_table(rows, 0.4, {0.7, -0.5, 0.2}, 11, GetParam().draw),
                                  "y ~ x1 + x2 + offset(0.1 * x3)");
    GlmPriors priors{.coefficients = std::vector<Prior>(d.dim, Prior::normal(0, 2)),
                     .second = Prior::gamma(2, 0.7)};
    return {std::move(d), GetParam().make(), std::move(priors)};
  }
  const Glm glm = make();
  const ModelOf<Glm> any{&glm};
};
MLO_ON_FAMILIES(AnyGlm, testing::all_families());

TEST_P(AnyGlm, SaysWhatTheModelSays) {
  std::vector<double> theta(glm.dim());
  for (std::size_t j = 0; j < theta.size(); ++j) theta[j] = 0.3 - 0.17 * static_cast<double>(j);
  const std::vector<double> from = moved(theta, 0.1), to = moved(theta, -0.15);
  expect_the_same(any, glm, theta);

  const std::vector<RowId> ids = scattered();
  for (const Rows part : {Rows::range(3, 600), Rows(ids)}) {
    EXPECT_EQ(any.log_likelihood(theta, part), glm.log_likelihood(theta, part));
    Eigen::MatrixXd a, b;
    any.gradients(theta, part, a);
    glm.gradients(theta, part, b);
    EXPECT_EQ(a, b);
    EXPECT_EQ(any.recedes(theta, part), glm.recedes(theta, part));
  }
  std::vector<double> a(ids.size()), b(ids.size());
  any.log_likelihood_differences(from, to, ids, a);
  glm.log_likelihood_differences(from, to, ids, b);
  EXPECT_EQ(a, b);
  any.log_likelihood_remainders(theta, from, to, ids, a);
  glm.log_likelihood_remainders(theta, from, to, ids, b);
  EXPECT_EQ(a, b);
  EXPECT_TRUE(any.has_gradients());
  EXPECT_TRUE(any.has_remainders());

  EXPECT_EQ(any.columns(), glm.columns());
  EXPECT_EQ(any.columns(), glm.design().dim);
  EXPECT_EQ(any.proper_prior(), glm.proper_prior());
  EXPECT_EQ(any.quadratic_prior(), glm.quadratic_prior());
  Derivatives at(glm.dim());
  std::vector<double> far = theta;
  far.back() = -60;  // a scale of practically 0
  for (const bool with_prior : {false, true})
    for (const auto& point : {theta, far})
      EXPECT_EQ(any.degenerate(point, at, with_prior), glm.degenerate(point, at, with_prior));
}

TEST_P(AnyGlm, HasTheSameModeCurvesAndSums) {
  ThreadPool pool(1);
  const Mode a = find_mode(static_cast<const AnyModel&>(any), pool), b = find_mode(glm, pool);
  EXPECT_EQ(a.theta, b.theta);
  EXPECT_EQ(a.information, b.information);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.passes, b.passes);
  ASSERT_EQ(any.curved().has_value(), glm.curved().has_value());
  if (any.curved()) {
    EXPECT_EQ(any.curved()->rows, &glm.store());
    EXPECT_EQ(any.curved()->curve, glm.curved()->curve);
  }
  const SummedLikelihood sums = any.summed(b);
  ASSERT_EQ(static_cast<bool>(sums), glm.family().spec().sums);
  if (sums) {
    EXPECT_EQ(sums(params(b.theta)), glm.summed(b)(params(b.theta)));
  }
}

// A model without coefficients, pairs of points and curves.
TEST(ModelOf, OfAGaussianPrecisionSaysWhatTheModelSays) {
  const GaussianPrecision model(
      testing::design_of(testing::regression_table(rows, 0.0, {}, 3, testing::draw_gaussian), "y ~ 1"), 0.2,
      Prior::gamma(2, 0.7));
  const ModelOf<GaussianPrecision> any(&model);
  const std::vector<double> theta{0.6}, from{0.5}, to{0.8};
  expect_the_same(any, model, theta);
  const std::vector<RowId> ids = scattered();
  EXPECT_EQ(any.log_likelihood(theta, Rows(ids)), model.log_likelihood(theta, Rows(ids)));
  std::vector<double> a(ids.size()), b(ids.size()), differences(ids.size());
  any.log_likelihood_differences(from, to, ids, differences);
  model.log_likelihoods(from, Rows(ids), a);
  model.log_likelihoods(to, Rows(ids), b);
  for (std::size_t k = 0; k < ids.size(); ++k) ASSERT_EQ(differences[k], b[k] - a[k]);
  any.log_likelihood_remainders(theta, from, to, ids, a);
  model.log_likelihood_remainders(theta, from, to, ids, b);
  EXPECT_EQ(a, b);
  EXPECT_TRUE(any.has_gradients());
  EXPECT_TRUE(any.has_remainders());
  EXPECT_TRUE(any.proper_prior());
  EXPECT_FALSE(any.quadratic_prior());
  EXPECT_EQ(any.columns(), 1U);
  EXPECT_FALSE(any.curved().has_value());
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  EXPECT_EQ(any.summed(mode)(theta), model.summed(mode)(theta));
}

// y_i ~ N(mu, 1), with what a user must write and nothing else.
struct Minimal {
  std::vector<double> y;
  std::vector<std::string> label{"mu"};

  [[nodiscard]] std::size_t dim() const { return 1; }
  [[nodiscard]] std::size_t rows() const { return y.size(); }
  [[nodiscard]] double log_prior(Params theta) const { return -theta[0] * theta[0] / 50; }
  void log_likelihoods(Params theta, Rows part, std::span<double> terms) const {
    for (std::size_t k = 0; k < part.size(); ++k) terms[k] = -std::pow(y[part[k]] - theta[0], 2) / 2;
  }
  void add_derivatives(Params theta, Rows part, Derivatives& d) const {
    for (std::size_t k = 0; k < part.size(); ++k) {
      d.value -= std::pow(y[part[k]] - theta[0], 2) / 2;
      d.gradient[0] += y[part[k]] - theta[0];
      d.information(0, 0) += 1;
    }
  }
  void add_prior_derivatives(Params theta, Derivatives& d) const {
    d.value += log_prior(theta);
    d.gradient[0] -= theta[0] / 25;
    d.information(0, 0) += 1.0 / 25;
  }
  [[nodiscard]] Eigen::VectorXd start() const { return Eigen::VectorXd::Zero(1); }
  [[nodiscard]] const std::vector<std::string>& names() const { return label; }
  void to_user(Params theta, std::span<double> out) const { out[0] = theta[0]; }
  void to_working(Params user, std::span<double> out) const { out[0] = user[0]; }
  [[nodiscard]] Eigen::MatrixXd user_jacobian(Params /*theta*/) const {
    return Eigen::MatrixXd::Identity(1, 1);
  }
};
static_assert(SampledModel<Minimal> && !SummableModel<Minimal> && !PairwiseModel<Minimal> &&
              !Differentiable<Minimal> && !ExpandableModel<Minimal>);

Minimal minimal() {
  Stream stream({.seed = 4, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
  Minimal model;
  for (std::size_t i = 0; i < rows; ++i) model.y.push_back(2 + normal(stream));
  return model;
}

TEST(ModelOf, AMinimalModelAddsAndSubtractsItsTerms) {
  const Minimal model = minimal();
  const ModelOf<Minimal> any(&model);
  const std::vector<double> theta{1.7}, from{1.6}, to{2.1};
  expect_the_same(any, model, theta);
  const std::vector<RowId> ids = scattered();
  for (const Rows part : {Rows::range(3, 600), Rows(ids), Rows::range(5, 256), Rows::range(5, 0)}) {
    std::vector<double> terms(part.size());
    model.log_likelihoods(theta, part, terms);
    EXPECT_EQ(any.log_likelihood(theta, part), std::accumulate(terms.begin(), terms.end(), 0.0));
  }
  std::vector<double> a(ids.size()), b(ids.size()), differences(ids.size() + 1, -7);
  any.log_likelihood_differences(from, to, ids, std::span(differences).first(ids.size()));
  model.log_likelihoods(from, Rows(ids), a);
  model.log_likelihoods(to, Rows(ids), b);
  for (std::size_t k = 0; k < ids.size(); ++k) ASSERT_EQ(differences[k], b[k] - a[k]);
  EXPECT_EQ(differences.back(), -7) << "written past the end";
}

TEST(ModelOf, AMinimalModelHasNothingThatItDoesNotSay) {
  const ModelOf<Minimal> any(minimal());
  const std::vector<double> theta{1.7};
  EXPECT_EQ(any.columns(), any.dim());
  EXPECT_FALSE(any.proper_prior());
  EXPECT_FALSE(any.quadratic_prior());
  EXPECT_FALSE(any.recedes(theta, Rows::range(0, rows)));
  EXPECT_EQ(any.degenerate(theta, Derivatives(1), true), "");
  EXPECT_FALSE(any.has_gradients());
  EXPECT_FALSE(any.has_remainders());
  EXPECT_FALSE(any.curved().has_value());
  ThreadPool pool(1);
  const Mode mode = find_mode(static_cast<const AnyModel&>(any), pool);
  EXPECT_FALSE(any.summed(mode));
  const Minimal model = minimal();
  const double mean = std::accumulate(model.y.begin(), model.y.end(), 0.0) / (rows + 1.0 / 25);
  EXPECT_NEAR(mode.theta[0], mean, 1e-9);
}

TEST(ModelOf, KeepsAModelThatItIsGivenAndRefersToOneItIsPointedTo) {
  Minimal model = minimal();
  const ModelOf<Minimal> own(model), other(&model);
  const std::vector<double> theta{1.7};
  const double before = own.log_likelihood(theta, Rows::range(0, 1));
  model.y[0] += 1;
  EXPECT_EQ(own.log_likelihood(theta, Rows::range(0, 1)), before);
  EXPECT_NE(other.log_likelihood(theta, Rows::range(0, 1)), before);
}

}  // namespace
}  // namespace mlo
