// Copyright (c) the mlo authors. BSD-3-Clause.
// An estimator that also knows how large a term can be, for rules that ask (Confidence).
#pragma once

#include <Eigen/Dense>
#include <cassert>
#include <memory>
#include <span>
#include <utility>

#include "mlo/kernel/estimator.hpp"
#include "mlo/subsample/row_bounds.hpp"

namespace mlo {

// Law: |terms(from, to)| <= term_bound(from, to) for every row. The bounds have the estimator's order and
// centre.
template <Estimator E>
class Bounded {
 public:
  static constexpr int order = E::order;
  Bounded(E estimator, std::shared_ptr<const RowBounds> bounds)
      : estimator_(std::move(estimator)),
        bounds_(std::move(bounds)),
        shift_(bounds_->centre.size()),
        from_(bounds_->centre.size()),
        to_(bounds_->centre.size()) {
    assert(bounds_->order == order);
  }

  [[nodiscard]] double known(Params from, Params to) { return estimator_.known(from, to); }
  void terms(Params from, Params to, std::span<const RowId> ids, std::span<double> out) {
    estimator_.terms(from, to, ids, out);
  }
  [[nodiscard]] double term_bound(Params from, Params to) {
    whiten(from, from_);
    whiten(to, to_);
    shift_ = to_ - from_;
    return (*bounds_)({.from = from_.norm(),
                       .to = to_.norm(),
                       .step = shift_.norm(),
                       .from_dot = from_.dot(shift_),
                       .to_dot = to_.dot(shift_)});
  }

 private:
  void whiten(Params theta, Eigen::VectorXd& v) {
    shift_ = vector(theta) - bounds_->centre;
    v.noalias() = bounds_->whiten.template triangularView<Eigen::Upper>() * shift_;
  }

  E estimator_;
  std::shared_ptr<const RowBounds> bounds_;
  Eigen::VectorXd shift_, from_, to_;  // workspace
};

}  // namespace mlo
