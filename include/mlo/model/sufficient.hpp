// Copyright (c) the mlo authors. BSD-3-Clause.
// Gaussian models, whose log-likelihood of all rows is a function of a few sums: X'X, X'y, y'y. The pass that
// found the mode has them already, so a step of a chain costs O(p^2) and no row at all.
#pragma once

#include <cmath>

#include "mlo/base/thread_pool.hpp"
#include "mlo/model/gaussian_precision.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/model/mode.hpp"

namespace mlo {

// The log-likelihood of all rows, from its value, gradient and information where the mode was last evaluated.
// Specialised for the models that have sufficient statistics.
template <class M>
class Summary;

// sigma known: a quadratic function of the coefficients.
template <>
class Summary<Glm<GaussianMean>> {
 public:
  Summary(const Glm<GaussianMean>& /*model*/, const Mode& mode)
      : at_(mode.evaluated_at), d_(mode.likelihood) {}
  [[nodiscard]] double operator()(Params theta) const {
    const Eigen::VectorXd delta = vector(theta) - at_;
    return d_.value + d_.gradient.dot(delta) - 0.5 * delta.dot(d_.information * delta);
  }

 private:
  Eigen::VectorXd at_;
  Derivatives d_;
};

// a = log sigma: -n a - e^(-2a) (residuals' sum of squares) / 2, the latter quadratic in the coefficients.
template <>
class Summary<Glm<Gaussian>> {
 public:
  Summary(const Glm<Gaussian>& model, const Mode& mode) : rows_(static_cast<double>(model.rows())) {
    const auto p = static_cast<Eigen::Index>(model.dim()) - 1;
    log_sigma_ = mode.evaluated_at[p];
    const double variance = std::exp(2 * log_sigma_);
    at_ = mode.evaluated_at.head(p);
    value_ = mode.likelihood.value;
    residual_products_ = variance * mode.likelihood.gradient.head(p);
    products_ = variance * mode.likelihood.information.topLeftCorner(p, p);
    residual_squares_ = variance * (mode.likelihood.gradient[p] + rows_);
  }
  [[nodiscard]] double operator()(Params theta) const {
    const Eigen::VectorXd delta = vector(theta).head(at_.size()) - at_;
    const double squares =
        residual_squares_ - 2 * residual_products_.dot(delta) + delta.dot(products_ * delta);
    const double a = theta.back();
    return value_ - rows_ * (a - log_sigma_) - 0.5 * std::exp(-2 * a) * squares +
           0.5 * std::exp(-2 * log_sigma_) * residual_squares_;
  }

 private:
  double rows_, log_sigma_ = 0, value_ = 0, residual_squares_ = 0;
  Eigen::VectorXd at_, residual_products_;
  Eigen::MatrixXd products_;
};

// n log(tau) / 2 - tau S.
template <>
class Summary<GaussianPrecision> {
 public:
  Summary(const GaussianPrecision& model, const Mode& mode)
      : half_rows_(0.5 * static_cast<double>(model.rows())),
        tau_(mode.evaluated_at[0]),
        value_(mode.likelihood.value),
        half_squares_(half_rows_ / tau_ - mode.likelihood.gradient[0]) {}
  [[nodiscard]] double operator()(Params theta) const {
    return value_ + half_rows_ * std::log(theta[0] / tau_) - (theta[0] - tau_) * half_squares_;
  }

 private:
  double half_rows_, tau_, value_, half_squares_;
};

template <class M>
concept SufficientStatistics = requires(const M& model, const Mode& mode) {
  Summary<M>(model, mode);
};

// A model that has forgotten its rows.
template <SufficientStatistics M>
class Summarised {
 public:
  Summarised(const M& model, const Mode& mode) : model_(&model), summary_(model, mode) {}
  [[nodiscard]] std::size_t dim() const noexcept { return model_->dim(); }
  [[nodiscard]] std::size_t rows() const noexcept { return 0; }
  [[nodiscard]] double log_prior(Params theta) const noexcept { return model_->log_prior(theta); }
  [[nodiscard]] double log_likelihood(Params theta) const { return summary_(theta); }

 private:
  const M* model_;
  Summary<M> summary_;
};

template <SufficientStatistics M>
[[nodiscard]] double log_likelihood(const Summarised<M>& model, ThreadPool& /*pool*/, Params theta) {
  return model.log_likelihood(theta);
}

}  // namespace mlo
