// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/group_covariance.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mlo {
namespace {

// log(1 - tanh(x)^2) without cancellation.
double log_sech_squared(double x) noexcept {
  const double a = std::abs(x);
  return 2 * (std::log(2.0) - a - std::log1p(std::exp(-2 * a)));
}

}  // namespace

GroupCovariance::GroupCovariance(std::vector<Prior> priors, bool correlated, double lkj)
    : priors_(std::move(priors)), correlated_(correlated), lkj_(lkj) {}

// Row i of the correlations' triangle: partial correlations times what the earlier ones have left over.
Eigen::MatrixXd GroupCovariance::factor(std::span<const double> working) const {
  const auto d = static_cast<Eigen::Index>(dim());
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(d, d);
  std::size_t at = dim();
  for (Eigen::Index i = 0; i < d; ++i) {
    double left = 1;
    const double sd = std::exp(working[static_cast<std::size_t>(i)]);
    if (correlated())
      for (Eigen::Index j = 0; j < i; ++j) {
        const double z = std::tanh(working[at++]);
        out(i, j) = sd * z * std::sqrt(left);
        left *= 1 - z * z;
      }
    out(i, i) = sd * std::sqrt(left);
  }
  return out;
}

Eigen::MatrixXd GroupCovariance::precision(std::span<const double> working) const {
  const Eigen::MatrixXd l = factor(working);
  const Eigen::MatrixXd inverse =
      l.triangularView<Eigen::Lower>().solve(Eigen::MatrixXd::Identity(l.rows(), l.cols()));
  return inverse.transpose() * inverse;
}

void GroupCovariance::from_covariance(const Eigen::MatrixXd& covariance, std::span<double> working) const {
  const auto d = static_cast<Eigen::Index>(dim());
  for (Eigen::Index i = 0; i < d; ++i)
    working[static_cast<std::size_t>(i)] = 0.5 * std::log(covariance(i, i));
  if (!correlated()) return;
  const Eigen::VectorXd sd = covariance.diagonal().cwiseSqrt();
  const Eigen::MatrixXd correlation =
      sd.cwiseInverse().asDiagonal() * covariance * sd.cwiseInverse().asDiagonal();
  const Eigen::MatrixXd l = correlation.llt().matrixL();
  std::size_t at = dim();
  for (Eigen::Index i = 0; i < d; ++i) {
    double left = 1;
    for (Eigen::Index j = 0; j < i; ++j) {
      const double z = std::clamp(l(i, j) / std::sqrt(left), -1 + 1e-15, 1 - 1e-15);
      working[at++] = std::atanh(z);
      left = std::max(left - l(i, j) * l(i, j), 1e-300);
    }
  }
}

void GroupCovariance::to_user(std::span<const double> working, std::span<double> out) const {
  for (std::size_t i = 0; i < dim(); ++i) out[i] = std::exp(working[i]);
  if (!correlated()) return;
  const Eigen::MatrixXd l = factor(working);
  std::size_t at = dim();
  for (Eigen::Index i = 1; i < l.rows(); ++i)
    for (Eigen::Index j = 0; j < i; ++j)
      out[at++] = l.row(i).dot(l.row(j)) / (l.row(i).norm() * l.row(j).norm());
}

void GroupCovariance::to_working(std::span<const double> user, std::span<double> out) const {
  const auto d = static_cast<Eigen::Index>(dim());
  Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(d, d);
  std::size_t at = dim();
  for (Eigen::Index i = 0; i < d; ++i) {
    const double sd = user[static_cast<std::size_t>(i)];
    covariance(i, i) = sd * sd;
    if (correlated())
      for (Eigen::Index j = 0; j < i; ++j)
        covariance(i, j) = covariance(j, i) = user[at++] * sd * user[static_cast<std::size_t>(j)];
  }
  from_covariance(covariance, out);
}

// With i counted from 0, the partial correlation z of i and j < i given 0..j-1 has the density
// (1 - z^2)^(lkj - 1 + (d - 2 - j) / 2) under the law LKJ(lkj); tanh adds one more 1 - z^2.
double GroupCovariance::log_prior(std::span<const double> working) const noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < dim(); ++i) sum += priors_[i].log_density(std::exp(working[i])) + working[i];
  if (!correlated()) return sum;
  std::size_t at = dim();
  const auto d = static_cast<double>(dim());
  for (std::size_t i = 0; i < dim(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      sum += (lkj_ + 0.5 * (d - 2 - static_cast<double>(j))) * log_sech_squared(working[at++]);
  return sum;
}

// Sigma_ij = s_i s_j R_ij: d Sigma = prod_i s_i^d ds dR, ds = prod s_i d(log s); the correlations' matrix in
// terms of partial correlations has the Jacobian prod (1 - z^2)^((d - 2 - j) / 2).
double GroupCovariance::log_volume(std::span<const double> working) const noexcept {
  double sum = 0;
  const auto d = static_cast<double>(dim());
  if (!correlated()) {
    for (std::size_t i = 0; i < dim(); ++i) sum -= 2 * working[i];
    return sum;
  }
  for (std::size_t i = 0; i < dim(); ++i) sum -= (d + 1) * working[i];
  std::size_t at = dim();
  for (std::size_t i = 0; i < dim(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      sum -= (1 + 0.5 * (d - 2 - static_cast<double>(j))) * log_sech_squared(working[at++]);
  return sum;
}

}  // namespace mlo
