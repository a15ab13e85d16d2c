// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/layout.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

using Kind = Block::Kind;
constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

Block coefficients(bool at_means = false) {
  return {.kind = Kind::coefficients,
          .names = {"(Intercept)", "x1", "x2"},
          .priors = {Prior::normal(0.5, 3), Prior::student_t(4, 0.2, 0.8), Prior::normal(-1, 9)},
          .intercept = true,
          .intercept_at_means = at_means,
          .centre = {0, 3, -200},
          .scale = {1, 2, 0.05}};
}
Block slopes() {
  return {.kind = Kind::coefficients,
          .names = {"u", "v"},
          .priors = {Prior::normal(0, 1), Prior::normal(0, 2)},
          .centre = {0, 0},
          .scale = {4, 0.5}};
}
Block sigma() { return {.kind = Kind::log_positive, .names = {"sigma"}, .priors = {Prior::gamma(2, 0.7)}}; }
Block zi() { return {.kind = Kind::logit_share, .names = {"zi"}, .priors = {Prior::beta(1.7, 0.6)}}; }
Block tau() { return {.kind = Kind::positive, .names = {"tau"}, .priors = {Prior::gamma(3, 2)}}; }

// All three kinds, and coefficients with and without an intercept.
Layout all_kinds(bool at_means = false) { return Layout({coefficients(at_means), sigma(), slopes(), tau()}); }
const std::vector<std::vector<double>> points{
    {0.3, -0.7, 0.02, 0.4, 1.1, -0.6, 0.9}, {-2.0, 0.1, -0.08, -1.3, 0.2, 0.3, 0.05}, {0, 0, 0, 0, 0, 0, 1}};

std::vector<double> user_of(const Layout& layout, const std::vector<double>& theta) {
  std::vector<double> user(theta.size());
  layout.to_user(theta, user);
  return user;
}

TEST(Layout, HasTheBlocksNamesInTheirOrder) {
  const Layout layout = all_kinds();
  EXPECT_EQ(layout.dim(), 7U);
  EXPECT_EQ(layout.names(), (std::vector<std::string>{"(Intercept)", "x1", "x2", "sigma", "u", "v", "tau"}));
  ASSERT_EQ(layout.blocks().size(), 4U);
  EXPECT_EQ(layout.blocks()[0].first, 0U);
  EXPECT_EQ(layout.blocks()[1].first, 3U);
  EXPECT_EQ(layout.blocks()[2].first, 4U);
  EXPECT_EQ(layout.blocks()[3].first, 6U);
  EXPECT_EQ(Layout().dim(), 0U);
}

TEST(Layout, GivesTheUserTheParametersOfTheColumnsAsTheyWere) {
  const Layout layout = all_kinds();
  for (const auto& theta : points) {
    const std::vector<double> user = user_of(layout, theta);
    // The predictor is the same: working columns are (x - centre) / scale.
    for (const double x1 : {-1.0, 4.0})
      for (const double x2 : {-210.0, 7.0}) {
        const double working = theta[0] + theta[1] * (x1 - 3) / 2 + theta[2] * (x2 + 200) / 0.05;
        EXPECT_NEAR(user[0] + user[1] * x1 + user[2] * x2, working, 1e-11 * (1 + std::abs(working)));
      }
    EXPECT_DOUBLE_EQ(user[3], std::exp(theta[3]));
    EXPECT_DOUBLE_EQ(user[4], theta[4] / 4);
    EXPECT_DOUBLE_EQ(user[5], theta[5] / 0.5);
    EXPECT_EQ(user[6], theta[6]);
  }
}

TEST(Layout, CoordinatesGoThereAndBack) {
  const Layout layout = all_kinds();
  for (const auto& theta : points) {
    const std::vector<double> user = user_of(layout, theta);
    std::vector<double> back(theta.size());
    layout.to_working(user, back);
    for (std::size_t j = 0; j < theta.size(); ++j) EXPECT_NEAR(back[j], theta[j], 1e-12) << j;
  }
}

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Layout, RefusesAPositiveParameterThatIsNot) {
  const auto with = [](std::size_t at, double value) {
    const Layout layout = all_kinds();
    std::vector<double> user = user_of(layout, points[0]), out(user.size());
    user[at] = value;
    return refusal([&] { layout.to_working(user, out); });
  };
  EXPECT_EQ(with(3, 0), "sigma must be positive (got 0)");
  EXPECT_EQ(with(3, nan), "sigma must be positive (got nan)");
  EXPECT_EQ(with(6, -1.5), "tau must be positive (got -1.5)");
  EXPECT_EQ(with(0, -1.5), "no error");
}

TEST(Layout, AShareMovesInItsLogit) {
  const Layout layout({zi()});
  const double h = 1e-5;
  const auto at = [&](double s) { return user_of(layout, {s})[0]; };
  for (const double s : {-7.0, -0.4, 0.0, 3.0}) {
    const double x = at(s);
    EXPECT_NEAR(x, 1 / (1 + std::exp(-s)), 1e-15);
    std::vector<double> back(1);
    layout.to_working(std::vector{x}, back);
    EXPECT_NEAR(back[0], s, 1e-12);
    EXPECT_NEAR(layout.user_jacobian(std::vector{s})(0, 0), (at(s + h) - at(s - h)) / (2 * h), 1e-9);
    // The density of x times dx/ds.
    const auto prior = [&](double v) { return layout.log_prior(std::vector{v}); };
    EXPECT_NEAR(prior(s), Prior::beta(1.7, 0.6).log_density(x) + std::log(x * (1 - x)), 1e-12);
    EXPECT_EQ(layout.log_prior_at(0, s), prior(s));
    Derivatives d(1);
    layout.add_prior_derivatives(std::vector{s}, d);
    EXPECT_NEAR(d.value, prior(s), 1e-12);
    EXPECT_NEAR(d.gradient[0], (prior(s + h) - prior(s - h)) / (2 * h), 1e-8);
  }
  // Far out too, where x is 1 in double precision.
  EXPECT_TRUE(std::isfinite(layout.log_prior(std::vector{60.0})));
  EXPECT_TRUE(layout.proper_prior());
  std::vector<double> out(1);
  EXPECT_EQ(refusal([&] { layout.to_working(std::vector{1.0}, out); }), "zi must be below 1 (got 1)");
  EXPECT_EQ(refusal([&] { layout.to_working(std::vector{0.0}, out); }), "zi must be positive (got 0)");
}

TEST(Layout, ABetaPriorIsForSharesOnly) {
  const auto with = [](Block block, const std::string& name) {
    Layout layout({std::move(block)});
    return refusal([&] { layout.set_priors({.prior_for = {{name, "beta(2, 3)"}}}); });
  };
  EXPECT_EQ(with(zi(), "zi"), "no error");
  EXPECT_EQ(with(sigma(), "sigma"),
            "`prior-for sigma` \"beta(2, 3)\": a beta prior is for parameters between 0 and 1, such as `zi`");
}

TEST(Layout, UserJacobianIsTheDerivativeOfToUser) {
  const Layout layout = all_kinds();
  const double h = 1e-5;
  for (const auto& theta : points) {
    const Eigen::MatrixXd jacobian = layout.user_jacobian(theta);
    ASSERT_EQ(jacobian.rows(), 7);
    ASSERT_EQ(jacobian.cols(), 7);
    for (std::size_t j = 0; j < theta.size(); ++j) {
      std::vector<double> up = theta, down = theta;
      up[j] += h;
      down[j] -= h;
      const std::vector<double> a = user_of(layout, up), b = user_of(layout, down);
      for (std::size_t k = 0; k < theta.size(); ++k) {
        const double slope = (a[k] - b[k]) / (2 * h);
        EXPECT_NEAR(jacobian(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(j)), slope,
                    1e-7 * (1 + std::abs(slope)))
            << k << ", " << j;
      }
    }
  }
}

// ---- priors

// The prior density in the user's coordinates, with |det| of the Jacobian. log_prior may leave out constants.
double density_of_user(const Layout& layout, const std::vector<double>& theta) {
  const std::vector<double> user = user_of(layout, theta);
  double total = std::log(std::abs(layout.user_jacobian(theta).determinant()));
  for (const Block& block : layout.blocks())
    for (std::size_t j = 0; j < block.size(); ++j) {
      const std::size_t at = block.first + j;
      const bool centred = block.intercept && block.intercept_at_means && j == 0;
      total += block.priors[j].log_density(centred ? theta[at] : user[at]);
    }
  return total;
}

TEST(Layout, LogPriorIsTheDensityOfTheUsersParametersUpToAConstant) {
  for (const bool at_means : {false, true}) {
    const Layout layout = all_kinds(at_means);
    const double constant = layout.log_prior(points[0]) - density_of_user(layout, points[0]);
    for (const auto& theta : points)
      EXPECT_NEAR(layout.log_prior(theta), density_of_user(layout, theta) + constant,
                  1e-12 * (1 + std::abs(layout.log_prior(theta))));
  }
}

// Whichever the working coordinate, the law of the user's parameter is the prior: P(x < 1.3) of gamma(2, 0.7)
// is 1 - (1 + 0.91) e^-0.91. By the trapezoid and the midpoint rule.
TEST(Layout, APositiveParameterHasItsPriorInEitherCoordinate) {
  const double expected = 1 - 1.91 * std::exp(-0.91), step = 1e-3;
  const Layout logs({sigma()});
  double total = 0, below = 0;
  for (double a = -40; a < 6; a += step) {
    const double density = step * std::exp(logs.log_prior(std::vector<double>{a}));
    total += density;
    if (std::exp(a) < 1.3) below += density;
  }
  EXPECT_NEAR(total, 1, 1e-9);
  EXPECT_NEAR(below, expected, step);  // the step that contains the limit

  Block plain = tau();
  plain.priors = {Prior::gamma(2, 0.7)};
  const Layout itself({plain});
  total = below = 0;
  for (double x = step / 2; x < 60; x += step) {
    const double density = step * std::exp(itself.log_prior(std::vector<double>{x}));
    total += density;
    if (x < 1.3) below += density;
  }
  EXPECT_NEAR(total, 1, 1e-6);
  EXPECT_NEAR(below, expected, 1e-6);
}

TEST(Layout, APointOutsideTheSupportHasNoDensity) {
  Block flat = tau();
  flat.priors = {Prior::flat()};
  for (const Layout& layout : {Layout({tau()}), Layout({flat})})
    for (const double value : {0.0, -0.1, nan}) {
      EXPECT_EQ(layout.log_prior(std::vector<double>{value}), -infinity);
      Derivatives d(1);
      layout.add_prior_derivatives(std::vector<double>{value}, d);
      EXPECT_EQ(d.value, -infinity);
    }
}

TEST(Layout, PriorDerivativesAreThoseOfThePriorAddedToWhatIsThere) {
  const double h = 1e-5;
  for (const bool at_means : {false, true}) {
    const Layout layout = all_kinds(at_means);
    for (const auto& theta : points) {
      Derivatives d(layout.dim());
      layout.add_prior_derivatives(theta, d);
      EXPECT_NEAR(d.value, layout.log_prior(theta), 1e-12 * (1 + std::abs(d.value)));
      for (std::size_t j = 0; j < layout.dim(); ++j) {
        std::vector<double> up = theta, down = theta;
        up[j] += h;
        down[j] -= h;
        const double slope = (layout.log_prior(up) - layout.log_prior(down)) / (2 * h);
        EXPECT_NEAR(d.gradient[static_cast<Eigen::Index>(j)], slope, 1e-5 * (1 + std::abs(slope))) << j;
        Derivatives a(layout.dim()), b(layout.dim());
        layout.add_prior_derivatives(up, a);
        layout.add_prior_derivatives(down, b);
        const Eigen::VectorXd column = -(a.gradient - b.gradient) / (2 * h);
        EXPECT_LT((d.information.col(static_cast<Eigen::Index>(j)) - column).cwiseAbs().maxCoeff(),
                  1e-4 * (1 + column.cwiseAbs().maxCoeff()))
            << j;
      }
      Derivatives twice = d;
      layout.add_prior_derivatives(theta, twice);
      EXPECT_DOUBLE_EQ(twice.value, 2 * d.value);
      EXPECT_LT((twice.gradient - 2 * d.gradient).norm(), 1e-12 * (1 + d.gradient.norm()));
      EXPECT_LT((twice.information - 2 * d.information).norm(), 1e-12 * (1 + d.information.norm()));
    }
  }
}

// The law of add_prior_derivatives: a curvature that would be negative is 0. That of normal(5, 1) is, in the
// log of its parameter, below 2.5.
TEST(Layout, PriorInformationIsNeverNegative) {
  Block block = sigma();
  for (const Prior& prior : {Prior::student_t(1, 0, 1), Prior::normal(5, 1)}) {
    block.priors = {prior};
    const Layout layout({block});
    for (double a = -6; a < 6; a += 0.1) {
      Derivatives d(1);
      layout.add_prior_derivatives(std::vector<double>{a}, d);
      EXPECT_GE(d.information(0, 0), 0) << a;
    }
  }
  Derivatives d(1);
  Layout({block}).add_prior_derivatives(std::vector<double>{0}, d);
  EXPECT_EQ(d.information(0, 0), 0);
}

TEST(Layout, SaysWhetherThePriorIsProperAndQuadratic) {
  const auto of = [](Block block, const Prior& prior) {
    block.priors.assign(block.size(), prior);
    return Layout({std::move(block)});
  };
  EXPECT_TRUE(of(coefficients(), Prior::normal(0, 1)).proper_prior());
  EXPECT_TRUE(of(coefficients(), Prior::normal(0, 1)).quadratic_prior());
  EXPECT_FALSE(of(coefficients(), Prior::flat()).proper_prior());
  EXPECT_TRUE(of(coefficients(), Prior::flat()).quadratic_prior());
  for (const Prior& prior : {Prior::student_t(3, 0, 1), Prior::cauchy(0, 1), Prior::laplace(0, 1)}) {
    EXPECT_TRUE(of(coefficients(), prior).proper_prior());
    EXPECT_FALSE(of(coefficients(), prior).quadratic_prior());
  }
  // The log of a scale needs no proper prior; a parameter that is its own coordinate does.
  EXPECT_TRUE(of(sigma(), Prior::flat()).proper_prior());
  EXPECT_FALSE(of(tau(), Prior::flat()).proper_prior());
  EXPECT_FALSE(of(sigma(), Prior::normal(0, 1)).quadratic_prior());
  EXPECT_FALSE(of(tau(), Prior::normal(0, 1)).quadratic_prior());
  // One improper prior is enough.
  Block mixed = slopes();
  mixed.priors[1] = Prior::flat();
  EXPECT_FALSE(Layout({coefficients(), mixed}).proper_prior());
  EXPECT_FALSE(Layout({slopes(), coefficients()}).quadratic_prior());
  EXPECT_TRUE(Layout({slopes()}).quadratic_prior());
}

// Differences between points that differ in these parameters alone are those of the whole.
TEST(Layout, LogPriorOfSomeParametersChangesAsTheWholePriorDoes) {
  const std::vector<std::vector<std::size_t>> subsets{
      {0},    {1},    {2},    {3},    {4},    {5},    {6},
      {0, 1}, {2, 0}, {1, 2}, {4, 5}, {0, 6}, {3, 1}, {0, 1, 2, 3, 4, 5, 6}};
  for (const bool at_means : {false, true})
    for (const Layout& layout :
         {all_kinds(at_means), Layout({slopes(), tau(), coefficients(at_means), sigma()})})
      for (const auto& subset : subsets) {
        std::vector<double> from(7, 0.4);
        const std::vector<double> steps{0.3, -0.7, 0.02, 0.4, 1.1, -0.35, 0.9};
        std::vector<double> to = from;
        for (const std::size_t j : subset) to[j] += steps[j];
        EXPECT_NEAR(layout.log_prior_of(subset, to) - layout.log_prior_of(subset, from),
                    layout.log_prior(to) - layout.log_prior(from), 1e-10 * std::abs(layout.log_prior(to)))
            << "at means " << at_means << ", parameter " << subset[0] << " of " << subset.size();
        EXPECT_NE(layout.log_prior(to), layout.log_prior(from));
      }
}

TEST(Layout, LogPriorOfAPositiveParameterThatIsNotIsMinusInfinity) {
  const Layout layout = all_kinds();
  std::vector<double> theta = points[0];
  theta[6] = -0.1;
  EXPECT_EQ(layout.log_prior_of(std::vector<std::size_t>{6}, theta), -infinity);
  EXPECT_GT(layout.log_prior_of(std::vector<std::size_t>{0, 1}, theta), -infinity);
}

// ---- priors that the user states

std::string words_with(Layout layout, const PriorOptions& options) {
  layout.set_priors(options);
  return layout.prior_words();
}
Layout regression() { return Layout({coefficients(true), sigma()}); }

TEST(PriorWords, OfManyColumnsNameTheRangeOfTheScales) {
  Block block{.kind = Kind::coefficients};
  for (int k = 1; k <= 22; ++k) {
    block.names.push_back("x" + std::to_string(k));
    block.priors.push_back(Prior::normal(0, 2 + 0.01 * k));
  }
  EXPECT_EQ(Layout({block, sigma()}).prior_words(),
            "x1 to x22 (22 coefficients) ~ normal(0, 2.01 to 2.22); sigma ~ gamma(2, 0.7)");
  // A prior of another kind stands alone; fewer than twenty are all named.
  block.priors[20] = Prior::normal(1, 1);
  EXPECT_EQ(
      Layout({block}).prior_words(),
      "x1 to x20 (20 coefficients) ~ normal(0, 2.01 to 2.2); x21 ~ normal(1, 1); x22 ~ normal(0, 2.22)");
  block.priors[10] = Prior::cauchy(0, 1);
  EXPECT_TRUE(Layout({block}).prior_words().starts_with("x1 ~ normal(0, 2.01); x2 ~ normal(0, 2.02);"));
  // Levels of a factor have one prior, which says more than a range with that of a number before them.
  for (std::size_t k = 1; k < 22; ++k) block.priors[k] = Prior::normal(0, 2.5);
  EXPECT_EQ(Layout({block}).prior_words(),
            "x1 ~ normal(0, 2.01); x2 to x22 (21 coefficients) ~ normal(0, 2.5)");
}

TEST(SetPriors, WithoutOptionsLeavesEveryPriorAsItWas) {
  EXPECT_EQ(
      words_with(regression(), {}),
      "(Intercept) ~ normal(0.5, 3) at the columns' means; x1 ~ student_t(4, 0.2, 0.8); x2 ~ normal(-1, "
      "9); sigma ~ gamma(2, 0.7)");
}

TEST(SetPriors, PriorIsForTheCoefficientsOfColumns) {
  EXPECT_EQ(words_with(regression(), {.prior = "cauchy(0, 1)"}),
            "(Intercept) ~ normal(0.5, 3) at the columns' means; x1 ~ cauchy(0, 1); x2 ~ cauchy(0, 1); sigma "
            "~ gamma(2, 0.7)");
  EXPECT_EQ(words_with(Layout({slopes()}), {.prior = "flat"}), "u ~ flat; v ~ flat");
}

// A prior that the user states is for the intercept itself, not for the predictor at the columns' means.
TEST(SetPriors, PriorInterceptIsForTheInterceptItself) {
  Layout layout = regression();
  layout.set_priors({.prior_intercept = "normal(1, 2)"});
  EXPECT_EQ(layout.prior_words(),
            "(Intercept) ~ normal(1, 2); x1 ~ student_t(4, 0.2, 0.8); x2 ~ normal(-1, 9); sigma ~ gamma(2, "
            "0.7)");
  const std::vector<double> theta{0.3, -0.7, 0.02, 0.4};
  const std::vector<double> user = user_of(layout, theta);
  EXPECT_NEAR(layout.log_prior(theta),
              Prior::normal(1, 2).log_density(user[0]) + Prior::student_t(4, 0.2, 0.8).log_density(user[1]) +
                  Prior::normal(-1, 9).log_density(user[2]) + Prior::gamma(2, 0.7).log_density(user[3]) +
                  theta[3],
              1e-11);
}

TEST(SetPriors, PriorForIsForOneParameterAndComesLast) {
  EXPECT_EQ(words_with(regression(), {.prior = "normal(0, 1)",
                                      .prior_intercept = "flat",
                                      .prior_for = {{"x2", "laplace(0, 2)"},
                                                    {"sigma", "exponential(3)"},
                                                    {"(Intercept)", "normal(0, 7)"},
                                                    {"x2", "laplace(0, 3)"}}}),
            "(Intercept) ~ normal(0, 7); x1 ~ normal(0, 1); x2 ~ laplace(0, 3); sigma ~ exponential(3)");
}

// A model whose one parameter is not called an intercept: every option that can mean that parameter does.
TEST(SetPriors, OfASingleParameter) {
  const auto mean = [](const char* name) {
    return Layout({{.kind = Kind::coefficients,
                    .names = {name},
                    .priors = {Prior::normal(5, 1)},
                    .intercept = true,
                    .intercept_at_means = true,
                    .centre = {0},
                    .scale = {1}}});
  };
  Layout mu = mean("mu");
  mu.set_priors({.prior = "normal(0, 2)"});
  EXPECT_FALSE(mu.blocks()[0].intercept_at_means);
  EXPECT_EQ(words_with(mean("mu"), {}), "mu ~ normal(5, 1)");
  EXPECT_EQ(words_with(mean("mu"), {.prior = "normal(0, 2)"}), "mu ~ normal(0, 2)");
  EXPECT_EQ(words_with(mean("mu"), {.prior_intercept = "normal(0, 2)"}), "mu ~ normal(0, 2)");
  EXPECT_EQ(words_with(mean("mu"), {.prior_for = {{"mu", "normal(0, 2)"}}}), "mu ~ normal(0, 2)");
  EXPECT_EQ(words_with(mean("(Intercept)"), {.prior_intercept = "normal(0, 2)"}),
            "(Intercept) ~ normal(0, 2)");
  EXPECT_EQ(words_with(Layout({tau()}), {.prior = "gamma(1, 2)"}), "tau ~ exponential(2)");
  EXPECT_EQ(words_with(Layout({tau()}), {.prior_for = {{"tau", "gamma(4, 2)"}}}), "tau ~ gamma(4, 2)");
  EXPECT_EQ(refusal([&] { words_with(mean("(Intercept)"), {.prior = "normal(0, 2)"}); }),
            "`prior` is for the coefficients of columns, and the formula has none; use `prior-intercept`");
}

TEST(SetPriors, RefusesWithTheOption) {
  const auto with = [](const Layout& layout, const PriorOptions& options) {
    return refusal([&] { words_with(layout, options); });
  };
  EXPECT_EQ(with(Layout({tau()}), {.prior_intercept = "flat"}),
            "`prior-intercept` has no meaning for a model whose parameter is tau");
  EXPECT_EQ(with(Layout({slopes()}), {.prior_intercept = "flat"}),
            "`prior-intercept`: the formula has no intercept");
  EXPECT_EQ(with(regression(), {.prior_for = {{"x3", "flat"}}}),
            "`prior-for x3`: there is no such parameter; there are (Intercept), x1, x2, sigma");
  const std::string gamma =
      " \"gamma(2, 1)\": a gamma prior is for parameters that are positive; a coefficient can be negative";
  EXPECT_EQ(with(regression(), {.prior = "gamma(2, 1)"}), "`prior`" + gamma);
  EXPECT_EQ(with(regression(), {.prior_intercept = "gamma(2, 1)"}), "`prior-intercept`" + gamma);
  EXPECT_EQ(with(regression(), {.prior_for = {{"x1", "gamma(2, 1)"}}}), "`prior-for x1`" + gamma);
  EXPECT_EQ(with(regression(), {.prior_for = {{"sigma", "gamma(2, 1)"}}}), "no error");
  // Text that is not a prior: tests/model/prior_test.cpp has all of these; here, that the option is named.
  EXPECT_EQ(with(regression(), {.prior = "normal(0)"}),
            "`prior` \"normal(0)\": normal needs 2 numbers (got 1); write normal(location, scale)");
  EXPECT_EQ(with(regression(), {.prior_intercept = "normal(0, -1)"}),
            "`prior-intercept` \"normal(0, -1)\": the scale must be positive (got -1)");
  EXPECT_EQ(with(regression(), {.prior_for = {{"sigma", "normal(0, 1"}}}),
            "`prior-for sigma` \"normal(0, 1\": missing ')'; write normal(location, scale)");
}

}  // namespace
}  // namespace mlo
