// Copyright (c) the mlo authors. BSD-3-Clause.
// Models with group effects and no intercept, or no coefficient at all, against quadrature.
//
// Error budget: a mean is within five of its Monte Carlo errors but for 6e-7; there are some 20 of them.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/fit/fit.hpp"

namespace mlo {
namespace {

constexpr double sd_scale = 2, coefficient_sd = 1.5;

struct Data {
  std::vector<double> y, x, g;
  [[nodiscard]] Table table() const {
    Table t;
    t.source.name = "test";
    t.rows = y.size();
    for (const auto& [name, values] : {std::pair{"y", &y}, std::pair{"x", &x}, std::pair{"g", &g}})
      t.columns.push_back({name, Numbers(values->begin(), values->end())});
    return t;
  }
};

// Levels 1 to 8, with 3 to 6 rows each.
Data data_of(double (*draw)(Stream&, double)) {
  Data out;
  Stream stream({.seed = 11, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
  for (int level = 1; level <= 8; ++level) {
    const double b = 0.9 * normal(stream);
    for (int k = 0; k < 3 + level % 4; ++k) {
      out.x.push_back(static_cast<double>(static_cast<float>(normal(stream))));
      out.g.push_back(level);
      out.y.push_back(draw(stream, b + 0.7 * out.x.back()));
    }
  }
  return out;
}

FitResult fitted(const Data& data, const std::string& formula, const std::string& family,
                 const std::string& method) {
  FitOptions o;
  o.formula = formula;
  o.family = family;
  o.method = method;
  if (formula.find("+ x") != std::string::npos) o.prior = "normal(0, 1.5)";
  o.prior_sd = "student_t(3, 0, 2)";
  if (family == "gaussian") o.prior_for = {{"sigma", "exponential(1)"}};
  o.seed = 4;
  o.draws = 4000;
  o.threads = 2;
  return fit(o, data.table());
}

double log_sd_prior(double sd) { return -2 * std::log1p(sd * sd / (3 * sd_scale * sd_scale)); }

// Posterior means of the coefficient of x (0 if there is none), sigma and the sd. Given sigma and the sd, y
// is normal; these two are summed over a grid of their logs.
std::array<double, 3> gaussian_means(const Data& data, bool column) {
  const auto n = static_cast<Eigen::Index>(data.y.size());
  const Eigen::Map<const Eigen::VectorXd> y(data.y.data(), n), x(data.x.data(), n);
  Eigen::MatrixXd same(n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < n; ++j)
      same(i, j) = data.g[static_cast<std::size_t>(i)] == data.g[static_cast<std::size_t>(j)] ? 1 : 0;
  const double tau = column ? coefficient_sd * coefficient_sd : 0;
  std::vector<std::array<double, 4>> points;
  double most = -1e300;
  for (double u = -7; u <= 3.5; u += 0.1)
    for (double v = -1.6; v <= 1.6; v += 0.05) {
      const double sd = std::exp(u), sigma = std::exp(v);
      const Eigen::MatrixXd variance =
          sigma * sigma * Eigen::MatrixXd::Identity(n, n) + sd * sd * same + tau * x * x.transpose();
      const Eigen::LLT<Eigen::MatrixXd> llt(variance);
      const Eigen::VectorXd solved = llt.solve(y);
      const double log_det = 2 * Eigen::MatrixXd(llt.matrixL()).diagonal().array().log().sum();
      const double log_density =
          -0.5 * (log_det + y.dot(solved)) + log_sd_prior(sd) - sigma + u + v;  // Jacobians of the logs
      points.push_back({log_density, tau * x.dot(solved), sigma, sd});
      most = std::max(most, log_density);
    }
  std::array<double, 3> sums{};
  double weight = 0;
  for (const auto& [log_density, b, sigma, sd] : points) {
    const double w = std::exp(log_density - most);
    weight += w;
    sums[0] += w * b;
    sums[1] += w * sigma;
    sums[2] += w * sd;
  }
  for (double& sum : sums) sum /= weight;
  return sums;
}

void expect_means(const FitResult& found, const std::vector<std::string>& names,
                  const std::vector<double>& means) {
  ASSERT_EQ(found.names, names);
  for (std::size_t j = 0; j < names.size(); ++j) {
    const ParameterSummary& p = found.summary.parameters[j];
    EXPECT_LT(std::abs(p.mean - means[j]) / p.mcse_mean, 5) << p.name << ": " << p.mean << ", " << means[j];
  }
  EXPECT_EQ(found.summary.method.bound_violations, 0U);
  EXPECT_LT(found.summary.parameters.back().rhat, 1.02);
}

double draw_gaussian(Stream& stream, double eta) { return eta + 0.8 * normal(stream); }
double draw_logistic(Stream& stream, double eta) {
  return uniform(stream) < 1 / (1 + std::exp(-eta)) ? 1 : 0;
}
double draw_poisson(Stream& stream, double eta) {
  return static_cast<double>(poisson(stream, std::exp(eta)));
}

class NoCoefficients : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Methods, NoCoefficients, ::testing::Values("exact", "full"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(NoCoefficients, OfGaussianResponsesIsThePosteriorOfQuadrature) {
  const Data data = data_of(draw_gaussian);
  const auto [none, sigma, sd] = gaussian_means(data, false);
  expect_means(fitted(data, "y ~ 0 + (1 | g)", "gaussian", GetParam()), {"sigma", "sd_g__Intercept"},
               {sigma, sd});
}

TEST_P(NoCoefficients, ASlopeWithoutAnInterceptIsThePosteriorOfQuadrature) {
  const Data data = data_of(draw_gaussian);
  const auto [b, sigma, sd] = gaussian_means(data, true);
  expect_means(fitted(data, "y ~ 0 + x + (1 | g)", "gaussian", GetParam()), {"x", "sigma", "sd_g__Intercept"},
               {b, sigma, sd});
}

// The mean of the sd, and of the effect of the first level, by sums over the sd's log and the levels'
// effects.
std::pair<double, double> quadrature(const Data& data,
                                     const std::function<double(double, double)>& log_term) {
  double weight = 0, sd_sum = 0, effect_sum = 0;
  for (double u = -7; u <= 4; u += 0.02) {
    const double sd = std::exp(u);
    double log_density = log_sd_prior(sd) + u, first = 0;
    for (int level = 1; level <= 8; ++level) {
      double integral = 0, moment = 0;
      for (double z = -8; z <= 8; z += 0.05) {
        double log_likelihood = 0;
        for (std::size_t i = 0; i < data.y.size(); ++i)
          if (data.g[i] == level) log_likelihood += log_term(data.y[i], sd * z);
        const double w = std::exp(log_likelihood - 0.5 * z * z);
        integral += w;
        moment += w * sd * z;
      }
      log_density += std::log(integral);
      if (level == 1) first = moment / integral;
    }
    const double w = std::exp(log_density);
    weight += w;
    sd_sum += w * sd;
    effect_sum += w * first;
  }
  return {sd_sum / weight, effect_sum / weight};
}

// The mean of an effect over all draws, and its error by the means of batches.
std::pair<double, double> effect_mean(const FitResult& found, std::size_t effect) {
  const std::size_t count = found.effects.size();
  std::vector<double> means;
  for (const ChainDraws& chain : found.chains) {
    const std::size_t draws = chain.effects.size() / count, batch = draws / 20;
    for (std::size_t b = 0; b < 20; ++b) {
      double sum = 0;
      for (std::size_t k = b * batch; k < (b + 1) * batch; ++k)
        sum += static_cast<double>(chain.effects[k * count + effect]);
      means.push_back(sum / static_cast<double>(batch));
    }
  }
  double mean = 0, square = 0;
  for (const double m : means) mean += m / static_cast<double>(means.size());
  for (const double m : means) square += (m - mean) * (m - mean);
  const auto n = static_cast<double>(means.size());
  return {mean, std::sqrt(square / (n - 1) / n)};
}

TEST_P(NoCoefficients, OfOtherResponsesIsThePosteriorOfQuadrature) {
  struct Case {
    const char* family;
    double (*draw)(Stream&, double);
    double (*log_term)(double, double);
  };
  for (const Case& c :
       {Case{"logistic", draw_logistic,
             [](double y, double eta) { return y * eta - std::log1p(std::exp(eta)); }},
        Case{"poisson", draw_poisson, [](double y, double eta) { return y * eta - std::exp(eta); }}}) {
    SCOPED_TRACE(c.family);
    const Data data = data_of(c.draw);
    const auto [sd, effect] = quadrature(data, c.log_term);
    const FitResult found = fitted(data, "y ~ 0 + (1 | g)", c.family, GetParam());
    expect_means(found, {"sd_g__Intercept"}, {sd});
    const auto [mean, error] = effect_mean(found, 0);
    EXPECT_LT(std::abs(mean - effect) / error, 5) << mean << ", " << effect;
  }
}

}  // namespace
}  // namespace mlo
