// Copyright (c) the mlo authors. BSD-3-Clause.
// Metropolis-Hastings on all rows. [paper, Algorithm 1]
#pragma once

#include <cmath>
#include <utility>

#include "mlo/base/thread_pool.hpp"
#include "mlo/kernel/kernel.hpp"
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

// What the kernel asks of a model: any Model, or one that knows the sum over its rows in another way.
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
  static constexpr Promise promise = Promise::exact;
  FullKernel(const M& model, P proposal, ThreadPool& pool)
      : model_(&model), proposal_(std::move(proposal)), pool_(&pool), proposed_(model.dim()) {}

  StepInfo step(ChainState& state, const StepId& id) {
    if (std::isnan(state.log_likelihood))
      state.log_likelihood = log_likelihood(*model_, *pool_, params(state.theta));
    StepInfo info;
    Stream proposal_stream = id.stream(Purpose::proposal);
    const double log_q = proposal_.propose(proposal_stream, params(state.theta), proposed_);
    const double log_prior = model_->log_prior(proposed_);
    if (std::isfinite(log_prior)) {
      const double proposed = log_likelihood(*model_, *pool_, proposed_);
      info.rows_read = model_->rows();
      info.log_ratio =
          proposed - state.log_likelihood + log_prior - model_->log_prior(params(state.theta)) + log_q;
      info.finite = !std::isnan(info.log_ratio) && proposed > -std::numeric_limits<double>::infinity();
      Stream decision_stream = id.stream(Purpose::decision);
      info.accepted = info.finite && std::log(uniform(decision_stream)) < info.log_ratio;
      if (info.accepted) {
        state.theta = vector(proposed_);
        state.log_likelihood = proposed;
      }
    } else {
      info.finite = false;
      info.log_ratio = -std::numeric_limits<double>::infinity();
    }
    proposal_.adapt(params(state.theta));
    return info;
  }

  void freeze() { proposal_.freeze(); }
  void save(std::vector<double>& out) const { proposal_.save(out); }
  void load(std::span<const double> in) { proposal_.load(in); }

 private:
  const M* model_;
  P proposal_;
  ThreadPool* pool_;
  std::vector<double> proposed_;
};

}  // namespace mlo
