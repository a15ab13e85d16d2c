// Copyright (c) the mlo authors. BSD-3-Clause.
// The terms that a subsampled kernel adds up over rows, and the part of the sum that it knows without reading
// any.
#pragma once

#include <Eigen/Dense>
#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

#include "mlo/model/model.hpp"

namespace mlo {

// Rows that an estimator is shown at a time: few enough to be still in the second-level cache when they are
// read again at another point, many enough that waiting for the first ones does not matter.
inline constexpr std::size_t row_batch = 1024;

// Law: known(from, to) + the sum over all rows of terms(from, to) = sum_i l_i(to) - sum_i l_i(from). known()
// may be minus infinity or NaN where the model has no finite density at `to`. At most row_batch rows per
// call.
template <class E>
concept Estimator = requires(E& e, Params from, Params to, std::span<const RowId> ids,
                             std::span<double> out) {
  { e.known(from, to) } -> std::same_as<double>;
  { e.terms(from, to, ids, out) } -> std::same_as<void>;
};

// Nothing is known, and the terms are the differences D_i = l_i(to) - l_i(from). [paper, section 3]
template <Model M>
class PlainDifference {
 public:
  static constexpr int order = 0;  // of the expansion that is subtracted from the terms
  explicit PlainDifference(const M& model) : model_(&model) {}

  [[nodiscard]] double known(Params /*from*/, Params /*to*/) const noexcept { return 0; }

  void terms(Params from, Params to, std::span<const RowId> ids, std::span<double> out) {
    if constexpr (PairwiseModel<M>) {
      model_->log_likelihood_differences(from, to, ids, out);
    } else {
      assert(ids.size() <= row_batch);
      const std::span<double> before(before_.data(), ids.size());
      model_->log_likelihoods(to, Rows(ids), out);
      model_->log_likelihoods(from, Rows(ids), before);
      for (std::size_t k = 0; k < ids.size(); ++k) out[k] -= before[k];
    }
  }

 private:
  const M* model_;
  std::array<double, row_batch> before_;
};

// Control variates of order 2: the quadratic expansions q_i of the terms about a centre add up to a quadratic
// form that is known after one pass over the rows, and the terms are the remainders of the D_i. Over
// posterior-sized moves with n rows, each D_i varies by about n^-1/2 and each remainder by n^-3/2.
template <ExpandableModel M>
class ControlVariates {
 public:
  static constexpr int order = 2;
  // `sums`: of the log-likelihood of all rows, at the centre. Mode has both: evaluated_at and likelihood.
  ControlVariates(const M& model, Eigen::VectorXd centre, const Derivatives& sums)
      : model_(&model),
        centre_(std::move(centre)),
        gradient_(sums.gradient),
        information_(sums.information),
        middle_(centre_.size()),
        slope_(centre_.size()) {}

  // g'(to - from) - (b'Hb - a'Ha) / 2 with a = from - centre, b = to - centre, computed as the slope halfway
  // times the change, with one product with H.
  [[nodiscard]] double known(Params from, Params to) {
    middle_ = 0.5 * ((vector(to) - centre_) + (vector(from) - centre_));
    slope_ = gradient_;
    slope_.noalias() -= information_ * middle_;
    return slope_.dot(vector(to) - vector(from));
  }

  void terms(Params from, Params to, std::span<const RowId> ids, std::span<double> out) const {
    model_->log_likelihood_remainders(params(centre_), from, to, ids, out);
  }

 private:
  const M* model_;
  Eigen::VectorXd centre_, gradient_;
  Eigen::MatrixXd information_;
  Eigen::VectorXd middle_, slope_;  // workspace
};

}  // namespace mlo
