// Copyright (c) the mlo authors. BSD-3-Clause.
// A model that no longer needs its rows: the log-likelihood of all of them is a function of a few sums, such
// as X'X, X'y and y'y. The search for the mode has computed these, so a step of a chain costs O(p^2) and
// reads no row.
#pragma once

#include <utility>

#include "mlo/base/thread_pool.hpp"
#include "mlo/model/family.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

// Law: summed(theta) is the log-likelihood of all rows, as log_likelihood() gives it, up to rounding.
template <Model M>
class Summarised {
 public:
  Summarised(const M& model, SummedLikelihood summed) : model_(&model), summed_(std::move(summed)) {}
  [[nodiscard]] std::size_t dim() const noexcept { return model_->dim(); }
  [[nodiscard]] std::size_t rows() const noexcept { return 0; }
  [[nodiscard]] double log_prior(Params theta) const { return model_->log_prior(theta); }
  [[nodiscard]] double log_likelihood(Params theta) const { return summed_(theta); }

 private:
  const M* model_;
  SummedLikelihood summed_;
};

template <Model M>
[[nodiscard]] double log_likelihood(const Summarised<M>& model, ThreadPool& /*pool*/, Params theta) {
  return model.log_likelihood(theta);
}

}  // namespace mlo
