// Copyright (c) the mlo authors. BSD-3-Clause.
// Logistic data with a level of few rows, nearly all of one outcome, and the posterior of its coefficient by
// quadrature.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "mlo/model/prior.hpp"
#include "support/designs.hpp"

namespace mlo::testing {

// A distribution of one number, on a grid: weights need not add up to 1.
class GridLaw {
 public:
  GridLaw(std::vector<double> points, std::vector<double> weights)
      : points_(std::move(points)), weights_(std::move(weights)) {
    double total = 0;
    for (const double w : weights_) total += w;
    for (double& w : weights_) w /= total;
    for (std::size_t k = 0; k < points_.size(); ++k) mean_ += weights_[k] * points_[k];
    double fourth = 0, square = 0;
    for (std::size_t k = 0; k < points_.size(); ++k) {
      const double d = points_[k] - mean_;
      square += weights_[k] * d * d;
      fourth += weights_[k] * d * d * d * d;
    }
    sd_ = std::sqrt(square);
    kurtosis_ = fourth / (square * square);
  }
  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] double sd() const { return sd_; }
  [[nodiscard]] double quantile(double probability) const { return at(probability).point; }
  [[nodiscard]] double width() const { return quantile(0.95) - quantile(0.05); }
  // Standard errors of what `draws` independent draws say of the sd and of the width. The sd's has no meaning
  // where the fourth moment is infinite.
  [[nodiscard]] double sd_error(double draws) const { return sd_ * std::sqrt((kurtosis_ - 1) / (4 * draws)); }
  [[nodiscard]] double width_error(double draws) const {
    constexpr double p = 0.05;
    const double low = at(p).density, high = at(1 - p).density;
    return std::sqrt((p * (1 - p) * (1 / (low * low) + 1 / (high * high)) - 2 * p * p / (low * high)) /
                     draws);
  }

 private:
  struct Place {
    double point, density;
  };
  [[nodiscard]] Place at(double probability) const {
    double below = 0;
    std::size_t k = 0;
    // A point's weight is that of the cell around it.
    while (k + 2 < points_.size() && below + weights_[k] < probability) below += weights_[k++];
    const double low = (points_[std::max<std::size_t>(k, 1) - 1] + points_[k]) / 2;
    const double high = (points_[k] + points_[k + 1]) / 2;
    return {low + (high - low) * (probability - below) / weights_[k], weights_[k] / (high - low)};
  }
  std::vector<double> points_, weights_;
  double mean_ = 0, sd_ = 0, kurtosis_ = 0;
};

struct RareLevel {
  std::size_t rows = 20'000;  // in all
  std::size_t level = 15;     // of the level,
  std::size_t ones = 15;      // and of these, with y = 1
  std::uint64_t seed = 1;
};

// y ~ x1 + level, with an intercept of -0.5 and a slope of 0.7.
inline Table rare_level_table(const RareLevel& data) {
  Table table = regression_table(data.rows, -0.5, {0.7}, data.seed, draw_logistic);
  Numbers level(data.rows);
  const std::size_t every = data.rows / data.level;
  for (std::size_t k = 0; k < data.level; ++k) {
    level[every / 3 + k * every] = 1;
    table.columns[0].numbers()[every / 3 + k * every] = k < data.ones ? 1 : 0;
  }
  table.columns.push_back({"level", std::move(level)});
  return table;
}

struct RareLevelPriors {
  Prior intercept = Prior::normal(0, 10);
  bool at_means = false;  // the intercept's prior speaks of the predictor at the columns' means
  Prior slope, level;
};

// The rows that are not of the level: their posterior of intercept and slope is close to normal, so its grid
// is one of whole sds of its Laplace fit, 5 to either side; by the trapezoid rule, whose error for a normal
// density is exp(-2 pi^2). The level's coefficient is sinh(u), for tails like a power.
class RareLevelLaw {
 public:
  explicit RareLevelLaw(const Table& table) {
    const Numbers &y = table.columns[0].numbers(), &x = table.columns[1].numbers();
    const Numbers& level = table.columns[2].numbers();
    const auto n = static_cast<double>(table.rows);
    for (std::size_t i = 0; i < table.rows; ++i) {
      (level[i] != 0 ? on_ : off_).push_back({x[i], y[i]});
      x_mean_ += x[i] / n;
      level_mean_ += level[i] / n;
    }
    Eigen::Vector2d mode(0, 0);
    Eigen::Matrix2d information;
    for (int k = 0; k < 8; ++k) {
      Eigen::Vector2d gradient(0, 0);
      information.setZero();
      for (const Row& row : off_) {
        const Eigen::Vector2d v(1, row.x);
        const double p = 1 / (1 + std::exp(-v.dot(mode)));
        gradient += (row.y - p) * v;
        information += p * (1 - p) * v * v.transpose();
      }
      mode += information.ldlt().solve(gradient);
    }
    const Eigen::LLT<Eigen::Matrix2d> factor(information);
    const double top = log_likelihood_off(mode);
    for (int i = -5; i <= 5; ++i)
      for (int j = -5; j <= 5; ++j) {
        const Eigen::Vector2d beta = mode + factor.matrixU().solve(Eigen::Vector2d(i, j));
        nodes_.push_back({beta, log_likelihood_off(beta) - top});
      }
  }

  // Of the level's coefficient.
  [[nodiscard]] GridLaw coefficient(const RareLevelPriors& priors) const {
    std::vector<double> points, weights;
    for (double u = -4.5; u <= 12; u += 0.02) {
      const double b = std::sinh(u);
      double sum = 0;
      for (const Node& node : nodes_) {
        const double centre = priors.at_means ? node.beta[1] * x_mean_ + b * level_mean_ : 0;
        double height = node.log_likelihood + priors.intercept.log_density(node.beta[0] + centre) +
                        priors.slope.log_density(node.beta[1]);
        for (const Row& row : on_) height += term(node.beta[0] + node.beta[1] * row.x + b, row.y);
        sum += std::exp(height);
      }
      points.push_back(b);
      weights.push_back(sum * std::exp(priors.level.log_density(b)) * std::cosh(u));
    }
    return {std::move(points), std::move(weights)};
  }

 private:
  struct Row {
    double x, y;
  };
  struct Node {
    Eigen::Vector2d beta;
    double log_likelihood;
  };
  static double term(double eta, double y) {
    return y * eta - (eta > 0 ? eta + std::log1p(std::exp(-eta)) : std::log1p(std::exp(eta)));
  }
  [[nodiscard]] double log_likelihood_off(const Eigen::Vector2d& beta) const {
    double sum = 0;
    for (const Row& row : off_) sum += term(beta[0] + beta[1] * row.x, row.y);
    return sum;
  }
  std::vector<Row> off_, on_;
  std::vector<Node> nodes_;
  double x_mean_ = 0, level_mean_ = 0;
};

}  // namespace mlo::testing
