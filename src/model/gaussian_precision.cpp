// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/gaussian_precision.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "mlo/base/errors.hpp"

namespace mlo {
namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}

GaussianPrecision::GaussianPrecision(const Design& design, double mean, Prior prior) : prior_(prior) {
  half_squares_.reserve(design.rows);
  double total = 0;
  for (std::size_t i = 0; i < design.rows; ++i) {
    const double residual = design.y(i) - mean;
    half_squares_.push_back(0.5 * residual * residual);
    total += half_squares_.back();
  }
  if (!(total > 0))
    throw DataError(design.file,
                    "response \"" + design.response +
                        "\": every row equals the known mean, so that the precision is infinite");
}

double GaussianPrecision::log_prior(Params theta) const noexcept {
  return theta[0] > 0 ? prior_.log_density(theta[0]) : -infinity;
}

void GaussianPrecision::log_likelihoods(Params theta, Rows rows, std::span<double> terms) const noexcept {
  const double constant = 0.5 * std::log(theta[0] / (2 * std::numbers::pi));
  for (std::size_t k = 0; k < rows.size(); ++k) terms[k] = constant - theta[0] * half_squares_[rows[k]];
}

double GaussianPrecision::log_likelihood(Params theta, Rows rows) const noexcept {
  double total = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) total += half_squares_[rows[k]];
  return static_cast<double>(rows.size()) * 0.5 * std::log(theta[0] / (2 * std::numbers::pi)) -
         theta[0] * total;
}

void GaussianPrecision::log_likelihood_remainders(Params centre, Params from, Params to,
                                                  std::span<const RowId> /*ids*/,
                                                  std::span<double> remainders) const noexcept {
  // l_i = log(tau)/2 - tau h_i: what depends on the row is linear, so that the remainder is the same for all.
  // With x = tau / centre - 1 it is half of log(1 + x) - x + x^2 / 2.
  const double a = (from[0] - centre[0]) / centre[0], b = (to[0] - centre[0]) / centre[0];
  const double remainder = 0.5 * (std::log1p(b) - std::log1p(a) - (b - a) * (1 - 0.5 * (a + b)));
  std::fill(remainders.begin(), remainders.end(), remainder);
}

void GaussianPrecision::gradients(Params theta, Rows rows, Eigen::MatrixXd& out) const {
  out.resize(static_cast<Eigen::Index>(rows.size()), 1);
  for (std::size_t k = 0; k < rows.size(); ++k)
    out(static_cast<Eigen::Index>(k), 0) = 0.5 / theta[0] - half_squares_[rows[k]];
}

void GaussianPrecision::add_derivatives(Params theta, Rows rows, Derivatives& d) const {
  if (!(theta[0] > 0)) {
    d.value = -infinity;
    return;
  }
  const auto n = static_cast<double>(rows.size());
  d.value += log_likelihood(theta, rows);
  for (std::size_t k = 0; k < rows.size(); ++k) d.gradient[0] -= half_squares_[rows[k]];
  d.gradient[0] += 0.5 * n / theta[0];
  d.information(0, 0) += 0.5 * n / (theta[0] * theta[0]);
}

void GaussianPrecision::add_prior_derivatives(Params theta, Derivatives& d) const {
  if (!(theta[0] > 0)) {
    d.value = -infinity;
    return;
  }
  const Prior::Smooth s = prior_.smooth(theta[0]);
  d.value += s.value;
  d.gradient[0] += s.slope;
  d.information(0, 0) += s.curvature;
}

Eigen::VectorXd GaussianPrecision::start() const {
  double total = 0;
  for (const double h : half_squares_) total += h;
  return Eigen::VectorXd::Constant(1, 0.5 * static_cast<double>(rows()) / total);
}

void GaussianPrecision::to_working(Params user, std::span<double> out) const {
  if (!(user[0] > 0)) throw UsageError("tau must be positive (got " + std::to_string(user[0]) + ")");
  out[0] = user[0];
}

}  // namespace mlo
