// Copyright (c) the mlo authors. BSD-3-Clause.
// Comparing a chain's draws with a known distribution: errors are z scores, error divided by the Monte Carlo
// standard error from batch means. Seeds are fixed.
#pragma once

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <vector>

#include "mlo/kernel/full.hpp"
#include "mlo/kernel/kernel.hpp"
#include "mlo/kernel/proposal.hpp"
#include "mlo/model/family.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/model/mode.hpp"
#include "support/designs.hpp"

namespace mlo::testing {

template <class K, class Visit>
void run(K& kernel, Eigen::VectorXd start, std::size_t warmup, std::size_t steps, const Visit& visit) {
  ChainState state;
  state.theta = std::move(start);
  for (std::size_t k = 0; k < warmup + steps; ++k) {
    if (k == warmup) kernel.freeze();
    const StepInfo info = kernel.step(state, {.seed = 42, .chain = 0, .iteration = k});
    if (k >= warmup) visit(state.theta, info);
  }
}

// Mean of f over a chain and its standard error, from 50 batches.
class BatchMean {
 public:
  explicit BatchMean(std::size_t steps) : per_batch_(steps / batches) {}
  void add(double value) { sums_[std::min(count_++ / per_batch_, batches - 1)] += value; }
  [[nodiscard]] double mean() const {
    return std::accumulate(sums_.begin(), sums_.end(), 0.0) / static_cast<double>(count_);
  }
  [[nodiscard]] double error() const {
    double squares = 0;
    for (const double s : sums_) squares += std::pow(s / static_cast<double>(per_batch_) - mean(), 2);
    return std::sqrt(squares / (batches * (batches - 1)));
  }
  [[nodiscard]] double z(double expected) const { return (mean() - expected) / error(); }

 private:
  static constexpr std::size_t batches = 50;
  std::size_t per_batch_;
  std::size_t count_ = 0;
  std::array<double, batches> sums_{};
};

// Runs the kernel and compares each parameter's mean and second central moment.
template <class K>
void expect_moments(K& kernel, const Eigen::VectorXd& start, const Eigen::VectorXd& mean,
                    const Eigen::MatrixXd& covariance, std::size_t steps, const char* what) {
  std::vector<BatchMean> first, second;
  for (Eigen::Index j = 0; j < mean.size(); ++j) {
    first.emplace_back(steps);
    second.emplace_back(steps);
  }
  run(kernel, start, 2000, steps, [&](const Eigen::VectorXd& theta, const StepInfo&) {
    for (Eigen::Index j = 0; j < mean.size(); ++j) {
      const auto k = static_cast<std::size_t>(j);
      first[k].add(theta[j]);
      second[k].add((theta[j] - mean[j]) * (theta[j] - mean[j]));
    }
  });
  for (Eigen::Index j = 0; j < mean.size(); ++j) {
    const auto k = static_cast<std::size_t>(j);
    EXPECT_LT(std::abs(first[k].z(mean[j])), 5) << what << ": mean of parameter " << j;
    EXPECT_LT(std::abs(second[k].z(covariance(j, j))), 5) << what << ": variance of parameter " << j;
  }
}

// Moments of a two-parameter posterior by the trapezoid rule, on a grid that extends a given number of sds of
// its Laplace fit. For a smooth density that vanishes at the border, the error falls faster than any power of
// the step.
struct Quadrature {
  Eigen::Vector2d mean = Eigen::Vector2d::Zero();
  Eigen::Matrix2d covariance = Eigen::Matrix2d::Zero();
};
template <class M>
Quadrature integrate(const M& model, double width = 9) {
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const Laplace laplace(mode.theta, mode.information);
  Quadrature q;
  double total = 0;
  const double top = log_likelihood(model, pool, params(mode.theta)) + model.log_prior(params(mode.theta));
  Eigen::Matrix2d second = Eigen::Matrix2d::Zero();
  for (double a = -width; a <= width; a += 0.15)
    for (double b = -width; b <= width; b += 0.15) {
      const Eigen::VectorXd theta = laplace.from_white(Eigen::Vector2d(a, b));
      const double density =
          std::exp(log_likelihood(model, pool, params(theta)) + model.log_prior(params(theta)) - top);
      total += density;
      q.mean += density * theta.head<2>();
      second += density * theta.head<2>() * theta.head<2>().transpose();
    }
  q.mean /= total;
  q.covariance = second / total - q.mean * q.mean.transpose();
  return q;
}

// What every chain on a model starts from.
template <class M>
struct Fitted {
  explicit Fitted(const M& m) : model(m) {}
  const M& model;
  ThreadPool pool{1};
  Mode mode = find_mode(model, pool);
  Laplace fit{mode.theta, mode.information};
};

// The mode moved to a point in the Laplace fit's white coordinates, as if the search had stopped there.
inline Mode displaced(const Glm& model, ThreadPool& pool, const Eigen::VectorXd& white) {
  Mode mode = find_mode(model, pool);
  mode.evaluated_at = Laplace(mode.theta, mode.information).from_white(white);
  mode.likelihood = sum_derivatives(model, pool, params(mode.evaluated_at), Rows::range(0, model.rows()));
  Derivatives posterior = mode.likelihood;
  model.add_prior_derivatives(params(mode.evaluated_at), posterior);
  mode.information = posterior.information;
  return mode;
}

// y ~ x1 with a slope of 0.9: the small model of many law tests.
inline Glm small_glm(std::string_view family, std::size_t rows, double (*draw)(Stream&, double),
                     const Prior& prior = Prior::normal(0, 2.5), const FamilyNumbers& numbers = {}) {
  return {design_of(regression_table(rows, 0.3, {0.9}, 21, draw), "y ~ x1"), make_family(family, numbers),
          GlmPriors{.coefficients = {prior, prior}}};
}

}  // namespace mlo::testing
