// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/autodiff.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "mlo/base/errors.hpp"
#include "mlo/model/check_terms.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/model/mode.hpp"
#include "support/designs.hpp"

namespace mlo {
namespace {

using ad::HyperDual;

// f(x, y) with both arguments seeded: along x and, lane by lane, along x and y.
template <class F>
HyperDual<2> at(const F& f, double x, double y) {
  HyperDual<2> a(x), b(y);
  a.along = 1;
  a.first = {1, 0};
  b.first = {0, 1};
  return f(a, b);
}

TEST(HyperDual, HasTheDerivativesOfProductsQuotientsAndPowers) {
  const double x = 0.7, y = 1.9;
  // f = x^2 y / (1 + y) - 3 / x + x^y
  const auto f = [](auto a, auto b) { return a * a * b / (1 + b) - 3 / a + pow(a, b); };
  const HyperDual<2> d = at(f, x, y);
  const double power = std::pow(x, y);
  EXPECT_NEAR(d.value, x * x * y / (1 + y) - 3 / x + power, 1e-15);
  EXPECT_NEAR(d.along, 2 * x * y / (1 + y) + 3 / (x * x) + y * power / x, 1e-14);
  EXPECT_NEAR(d.first[0], d.along, 1e-14);
  EXPECT_NEAR(d.first[1], x * x / ((1 + y) * (1 + y)) + power * std::log(x), 1e-15);
  EXPECT_NEAR(d.second[0], 2 * y / (1 + y) - 6 / (x * x * x) + y * (y - 1) * power / (x * x), 1e-13);
  EXPECT_NEAR(d.second[1], 2 * x / ((1 + y) * (1 + y)) + power / x * (1 + y * std::log(x)), 1e-14);
  const auto g = [](auto a, auto b) {
    a /= b;
    a -= 2.0 * b;
    a *= a;
    return -a / 2;
  };
  const HyperDual<2> e = at(g, x, y);
  const double u = x / y - 2 * y;
  EXPECT_NEAR(e.value, -u * u / 2, 1e-15);
  EXPECT_NEAR(e.along, -u / y, 1e-15);
  EXPECT_NEAR(e.second[0], -1 / (y * y), 1e-15);
  EXPECT_NEAR(e.second[1], u / (y * y) - (-x / (y * y) - 2) / y, 1e-15);
}

// First and second derivatives of every function against central differences of the double version.
TEST(HyperDual, FunctionsHaveTheDerivativesOfTheirDoubles) {
  using namespace ad;
  const auto check = [](const char* name, auto f, double x) {
    HyperDual<1> a(x);
    a.along = 1;
    a.first[0] = 1;
    const HyperDual<1> d = f(a);
    const double h = 1e-4, value = f(x);
    EXPECT_NEAR(d.value, value, 1e-15 * (1 + std::abs(value))) << name;
    // The error of the differences: h^2 times a higher derivative, plus rounding divided by h^2.
    EXPECT_NEAR(d.along, (f(x + h) - f(x - h)) / (2 * h), 1e-7 * (1 + std::abs(d.along))) << name;
    EXPECT_NEAR(d.second[0], (f(x + h) - 2 * value + f(x - h)) / (h * h), 2e-6 * (1 + std::abs(d.second[0])))
        << name;
  };
  for (const double x : {0.3, 1.7}) {
    check(
        "exp", [](auto a) { return exp(a); }, x);
    check(
        "expm1", [](auto a) { return expm1(a); }, x);
    check(
        "log", [](auto a) { return log(a); }, x);
    check(
        "log1p", [](auto a) { return log1p(a); }, x);
    check(
        "sqrt", [](auto a) { return sqrt(a); }, x);
    check(
        "square", [](auto a) { return square(a); }, x);
    check(
        "pow", [](auto a) { return pow(a, 2.5); }, x);
    check(
        "pow of a number", [](auto a) { return pow(2.5, a); }, x);
    check(
        "sin", [](auto a) { return sin(a); }, x);
    check(
        "cos", [](auto a) { return cos(a); }, x);
    check(
        "tan", [](auto a) { return tan(a); }, 0.5 * x);
    check(
        "atan", [](auto a) { return atan(a); }, x);
    check(
        "tanh", [](auto a) { return tanh(a); }, x);
    check(
        "erf", [](auto a) { return erf(a); }, x);
    check(
        "erfc", [](auto a) { return erfc(a); }, x);
    check(
        "log_gamma", [](auto a) { return log_gamma(a); }, x);
    for (const double side : {-x, x}) {
      check(
          "abs", [](auto a) { return abs(a); }, side);
      check(
          "sigmoid", [](auto a) { return sigmoid(a); }, side);
      check(
          "softplus", [](auto a) { return softplus(a); }, side);
      check(
          "log_normal_cdf", [](auto a) { return log_normal_cdf(a); }, side);
    }
  }
  EXPECT_EQ(softplus(800.0), 800.0);
  EXPECT_GT(softplus(-700.0), 0);
  EXPECT_TRUE(HyperDual<1>(2) > 1 && HyperDual<1>(2) < HyperDual<1>(3) && HyperDual<1>(2) == 2.0);
}

// The logistic model as a user would write it, over the working columns of a design.
struct UserLogistic {
  const Design* design;
  std::vector<std::string> names() const { return design->names; }
  std::size_t rows() const { return design->rows; }
  template <class Scalar>
  Scalar log_prior(std::span<const Scalar> theta) const {
    Scalar total = 0;
    for (std::size_t j = 0; j < theta.size(); ++j) {
      const Scalar user = theta[j] / design->scale[j];
      total -= 0.5 * user * user / 6.25;
    }
    return total;
  }
  template <class Scalar>
  Scalar term(std::span<const Scalar> theta, std::size_t i) const {
    Scalar eta = 0;
    for (std::size_t j = 0; j < theta.size(); ++j) eta += theta[j] * design->row(i)[j];
    return design->y(i) * eta - ad::softplus(eta);
  }
};
using Autodiff = AutodiffModel<UserLogistic>;
static_assert(SummableModel<Autodiff> && Differentiable<Autodiff> && TwiceDifferentiable<Autodiff> &&
              NamedModel<Autodiff> && ExpandableModel<Autodiff>);

class AsGlm : public ::testing::TestWithParam<int> {
 protected:
  static Glm make(int columns) {
    std::vector<double> beta;
    std::string formula = "y ~ 1";
    for (int j = 0; j < columns; ++j) {
      beta.push_back(0.3);
      formula += " + x" + std::to_string(j + 1);
    }
    Design design =
        testing::design_of(testing::regression_table(700, 0.2, beta, 4, testing::draw_logistic), formula);
    const std::vector<Prior> priors(design.dim, Prior::normal(0, 2.5));
    return {std::move(design), make_family("logistic"),
            GlmPriors{.coefficients = priors, .intercept_at_means = true}};
  }
  const Glm glm = make(GetParam());
  const Autodiff model{UserLogistic{&glm.design()}};
};

TEST_P(AsGlm, ReproducesTheClosedFormDerivatives) {
  std::vector<double> theta(glm.dim());
  for (std::size_t j = 0; j < theta.size(); ++j) theta[j] = 0.2 - 0.05 * static_cast<double>(j);
  const Rows rows = Rows::range(3, 690);
  Derivatives a(glm.dim()), b(glm.dim());
  glm.add_derivatives(theta, rows, a);
  model.add_derivatives(theta, rows, b);
  EXPECT_NEAR(a.value, b.value, 1e-11);
  EXPECT_LT((a.gradient - b.gradient).norm(), 1e-11);
  EXPECT_LT((a.information - b.information).norm(), 1e-11);
  Eigen::MatrixXd ga, gb;
  glm.gradients(theta, rows, ga);
  model.gradients(theta, rows, gb);
  EXPECT_LT((ga - gb).norm(), 1e-12);
  std::vector<double> ta(690), tb(690);
  glm.log_likelihoods(theta, rows, ta);
  model.log_likelihoods(theta, rows, tb);
  for (std::size_t k = 0; k < ta.size(); ++k) ASSERT_NEAR(ta[k], tb[k], 1e-14);
  EXPECT_NEAR(model.log_likelihood(theta, rows), glm.log_likelihood(theta, rows), 1e-11);
}

TEST_P(AsGlm, ReproducesTheRemaindersAndTheMode) {
  ThreadPool pool(1);
  const Mode ma = find_mode(glm, pool), mb = find_mode(model, pool);
  const Eigen::LLT<Eigen::MatrixXd> chol(ma.information);
  const Eigen::MatrixXd cholesky = chol.matrixL();
  EXPECT_LT((cholesky.transpose() * (ma.theta - mb.theta)).norm(), 1e-5);  // posterior standard deviations
  EXPECT_LT((ma.information - mb.information).norm(), 1e-2 * ma.information.norm());
  const Params centre = params(ma.theta);
  const Eigen::VectorXd from = probe(centre, cholesky, 0, 1.5), to = probe(centre, cholesky, 1, 1.0);
  std::vector<double> ra(700), rb(700);
  log_likelihood_remainders(glm, centre, params(from), params(to), 0, 1, ra);
  log_likelihood_remainders(model, centre, params(from), params(to), 0, 1, rb);
  double largest = 0;
  for (std::size_t k = 0; k < ra.size(); ++k) {
    ASSERT_NEAR(ra[k], rb[k], 2e-15);
    largest = std::max(largest, std::abs(ra[k]));
  }
  EXPECT_GT(largest, 1e-6);  // there is something to compare
  check_terms(model, pool, centre, "the mode");
  check_expansion(model, pool, centre, cholesky);
}

// One group of directions, a group and a part, and more parameters than fit on the stack.
INSTANTIATE_TEST_SUITE_P(Columns, AsGlm, ::testing::Values(2, 5, 39));

// y_i ~ Student's t with 4 degrees of freedom about mu, log scale: not concave far from its mode.
struct Student {
  std::vector<double> y;
  std::vector<double> first = {0, 0};
  std::vector<std::string> names() const { return {"mu", "log_scale"}; }
  std::size_t rows() const { return y.size(); }
  std::vector<double> start() const { return first; }
  // For doubles only.
  double log_prior(Params theta) const {
    return -0.5 * (theta[0] * theta[0] / 100 + theta[1] * theta[1] / 4);
  }
  template <class Scalar>
  Scalar term(std::span<const Scalar> theta, std::size_t i) const {
    using namespace ad;
    return -2.5 * log1p(square((y[i] - theta[0]) * exp(-theta[1])) / 4) - theta[1];
  }
};

Student student_data() {
  Student data;
  for (std::size_t i = 0; i < 400; ++i) {
    Stream stream({.seed = 7, .chain = 0, .purpose = Purpose::simulate, .iteration = i});
    data.y.push_back(20 + 2 * normal(stream) / std::sqrt(exponential(stream)));
  }
  return data;
}

TEST(AutodiffModel, TakesThePriorsDerivativesByDifferencesIfItIsOfDoublesAlone) {
  const AutodiffModel<Student> model(student_data());
  Derivatives d(2);
  model.add_prior_derivatives(std::vector<double>{3, -0.5}, d);
  EXPECT_NEAR(d.value, -0.5 * (0.09 + 0.0625), 1e-15);
  EXPECT_NEAR(d.gradient[0], -0.03, 1e-8);
  EXPECT_NEAR(d.gradient[1], 0.125, 1e-8);
  EXPECT_NEAR(d.information(0, 0), 0.01, 1e-6);
  EXPECT_NEAR(d.information(1, 1), 0.25, 1e-6);
  EXPECT_NEAR(d.information(0, 1), 0, 1e-6);
}

// From (0, 0) the data are 20 scales away, where the curvature in mu is negative.
TEST(AutodiffModel, FindsTheModeFromWhereTheLogPosteriorIsNotConcave) {
  const AutodiffModel<Student> model(student_data());
  ThreadPool pool(1);
  Derivatives far(2);
  model.add_derivatives(std::vector<double>{0, 0}, Rows::range(0, 400), far);
  ASSERT_LT(far.information(0, 0), 0);
  const Mode mode = find_mode(model, pool);
  EXPECT_NEAR(mode.theta[0], 20, 0.5);
  // It is a maximum: the log posterior falls on every side.
  const auto log_posterior = [&](const Eigen::VectorXd& t) {
    return model.log_likelihood(params(t), Rows::range(0, 400)) + model.log_prior(params(t));
  };
  const Eigen::MatrixXd cholesky = Eigen::LLT<Eigen::MatrixXd>(mode.information).matrixL();
  for (std::uint64_t k = 0; k < 8; ++k)
    EXPECT_LT(log_posterior(probe(params(mode.theta), cholesky, k, 0.3)), log_posterior(mode.theta));
  check_expansion(model, pool, params(mode.evaluated_at), cholesky);
}

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const ModelError& e) {
    return e.what();
  }
  return "";
}

TEST(CheckTerms, NamesTheRowAndTheParametersOfATermThatIsNoNumber) {
  Student data = student_data();
  data.y[136] = std::numeric_limits<double>::quiet_NaN();
  const AutodiffModel<Student> model(data);
  ThreadPool pool(2);
  EXPECT_EQ(refusal([&] {
              check_terms(model, pool, std::vector<double>{1.5, 0.25}, "the starting point");
            }),
            "row 137: the log density is nan at the starting point, mu = 1.5, log_scale = 0.25");
}

// sqrt has a value at 0 but no derivative.
struct Rooted {
  std::vector<std::string> names() const { return {"a", "b"}; }
  std::size_t rows() const { return 10; }
  template <class Scalar>
  Scalar log_prior(std::span<const Scalar> theta) const {
    return -ad::abs(theta[1]);
  }
  template <class Scalar>
  Scalar term(std::span<const Scalar> theta, std::size_t i) const {
    using namespace ad;
    const Scalar shifted = theta[0] + static_cast<double>(i) - 4.0;
    return sqrt(shifted * shifted) * -1.0 - theta[1] * theta[1];
  }
};

TEST(CheckTerms, NamesTheDerivativeThatIsNoNumber) {
  const AutodiffModel<Rooted> model(Rooted{});
  ThreadPool pool(1);
  const std::string row = refusal([&] {
    check_terms(model, pool, std::vector<double>{0, 0.5}, "the starting point");
  });
  EXPECT_EQ(row.find("row 5: the log density is -0.25, but its derivative is"), 0U) << row;
  EXPECT_NE(row.find("at the starting point, a = 0, b = 0.5"), std::string::npos) << row;
  const std::string prior = refusal([&] {
    check_terms(model, pool, std::vector<double>{0.5, 0}, "the starting point");
  });
  EXPECT_EQ(prior.find("the prior: the log density is 0, but its derivative is nan at"), 0U) << prior;
}

// Laplace errors: every row has a kink at its own y. A parabola is added so that there is some curvature.
struct Kinked {
  std::vector<double> y;
  double parabola = 0;
  std::vector<std::string> names() const { return {"mu"}; }
  std::size_t rows() const { return y.size(); }
  double log_prior(Params theta) const { return -0.5 * theta[0] * theta[0] / 100; }
  template <class Scalar>
  Scalar term(std::span<const Scalar> theta, std::size_t i) const {
    return -ad::abs(y[i] - theta[0]) - parabola * theta[0] * theta[0];
  }
};

TEST(CheckExpansion, RefusesTermsWithKinksInWords) {
  Kinked data;
  for (std::size_t i = 0; i < 5000; ++i) {
    Stream stream({.seed = 9, .chain = 0, .purpose = Purpose::simulate, .iteration = i});
    data.y.push_back(normal(stream));
  }
  ThreadPool pool(1);
  const std::string flat = refusal([&] { static_cast<void>(find_mode(AutodiffModel<Kinked>(data), pool)); });
  EXPECT_NE(flat.find("has a slope but no curvature in \"mu\""), std::string::npos) << flat;
  data.parabola = 0.1;
  const AutodiffModel<Kinked> model(data);
  // At the median, which is near the mode, with the information according to the derivatives: 0.2 per row,
  // whereas the true one has 2 phi(0) = 0.8 more.
  std::vector<double> centre{1e-9};
  const Eigen::MatrixXd cholesky = Eigen::MatrixXd::Constant(1, 1, std::sqrt(0.2 * 5000));
  const std::string words = refusal([&] { check_expansion(model, pool, centre, cholesky); });
  EXPECT_EQ(
      words.find(
          "the log-likelihood is not smooth at the mode: on a move of 0.25 posterior standard deviations"),
      0U)
      << words;
  EXPECT_NE(words.find(" in mu) it differs by -"), std::string::npos) << words;
  EXPECT_NE(words.find("use `method full`"), std::string::npos) << words;
}

TEST(AutodiffModel, RefusesAStartOfTheWrongLength) {
  Student data = student_data();
  data.first = {1};
  const AutodiffModel<Student> model(data);
  EXPECT_THROW(static_cast<void>(model.start()), UsageError);
}

}  // namespace
}  // namespace mlo
