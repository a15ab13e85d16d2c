// Copyright (c) the mlo authors. BSD-3-Clause.
// Metropolis-Hastings on all rows. [paper, Algorithm 1]
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/kernel/kernel.hpp"
#include "mlo/kernel/line_slices.hpp"
#include "mlo/kernel/move.hpp"
#include "mlo/kernel/proposal.hpp"
#include "mlo/model/mode.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

// The log-likelihood of all rows; the same to the last bit for any number of threads.
template <Model M>
[[nodiscard]] double log_likelihood(const M& model, ThreadPool& pool, Params theta) {
  return block_sum(pool, model.rows(), rows_per_block, 0.0, [&](std::size_t first, std::size_t count) {
    const Rows rows = Rows::range(first, count);
    if constexpr (SummableModel<M>) {
      return model.log_likelihood(theta, rows);
    } else {
      std::vector<double> terms(count);
      model.log_likelihoods(theta, rows, terms);
      double total = 0;
      for (const double t : terms) total += t;
      return total;
    }
  });
}

// What the kernel needs from a model: any Model will do, and so will one that knows the sum over its rows in
// another way.
template <class M>
concept SummedModel = requires(const M& model, ThreadPool& pool, Params theta) {
  { model.dim() } -> std::same_as<std::size_t>;
  { model.rows() } -> std::same_as<std::size_t>;
  { model.log_prior(theta) } -> std::same_as<double>;
  { log_likelihood(model, pool, theta) } -> std::same_as<double>;
};

template <SummedModel M, Proposal P>
class FullKernel {
 public:
  [[nodiscard]] static constexpr Promise promise() noexcept { return Promise::exact; }
  // `slices`, if there are any, follow every step.
  FullKernel(const M& model, P proposal, ThreadPool& pool, std::optional<LineSlices> slices = {})
      : model_(&model), move_(std::move(proposal), model.dim()), pool_(&pool), slices_(std::move(slices)) {}

  StepInfo step(ChainState& state, const StepId& id) {
    if (std::isnan(state.log_likelihood))
      state.log_likelihood = log_likelihood(*model_, *pool_, params(state.theta));
    StepInfo info;
    if (move_.propose(*model_, params(state.theta), id, info)) {
      const double proposed = log_likelihood(*model_, *pool_, move_.to());
      info.rows_read = model_->rows();
      info.log_ratio = proposed - state.log_likelihood + move_.log_prior() -
                       model_->log_prior(params(state.theta)) + move_.log_q();
      info.finite = !std::isnan(info.log_ratio) && proposed > -std::numeric_limits<double>::infinity();
      Stream decision_stream = id.stream(Purpose::decision);
      info.accepted = info.finite && std::log(uniform(decision_stream)) < info.log_ratio;
      if (info.accepted) {
        state.theta = vector(move_.to());
        state.log_likelihood = proposed;
      }
    }
    move_.adapt(state);
    if (slices_) {
      Stream stream = id.stream(Purpose::slices);
      state.log_likelihood += slices_->sweep(stream, state.theta, info);
    }
    return info;
  }

  void freeze() { move_.freeze(); }
  void save(std::vector<double>& out) const { move_.save(out); }
  void load(std::span<const double> in) { move_.load(in); }

 private:
  const M* model_;
  Move<P> move_;
  ThreadPool* pool_;
  std::optional<LineSlices> slices_;
};

}  // namespace mlo
