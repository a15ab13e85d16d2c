// Copyright (c) the mlo authors. BSD-3-Clause.
// A proposed move and its prior: how the steps of most kernels begin.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "mlo/kernel/kernel.hpp"
#include "mlo/kernel/proposal.hpp"

namespace mlo {

template <Proposal P>
class Move {
 public:
  Move(P proposal, std::size_t dim) : proposal_(std::move(proposal)), to_(dim) {}

  // Proposes a move from theta. False if the prior has no finite density there: then the step is a rejection
  // that counts as not finite.
  template <class M>
  bool propose(const M& model, Params theta, const StepId& id, StepInfo& info) {
    Stream stream = id.stream(Purpose::proposal);
    log_q_ = proposal_.propose(stream, theta, to_);
    log_prior_ = model.log_prior(to_);
    if (std::isfinite(log_prior_)) return true;
    info.finite = false;
    info.log_ratio = -std::numeric_limits<double>::infinity();
    return false;
  }
  // Of the last proposal: the point, log q(theta|theta') - log q(theta'|theta), and the log prior at the
  // point.
  [[nodiscard]] Params to() const noexcept { return to_; }
  [[nodiscard]] double log_q() const noexcept { return log_q_; }
  [[nodiscard]] double log_prior() const noexcept { return log_prior_; }

  // Tells the proposal where the chain is after the step.
  void adapt(const ChainState& state) { proposal_.adapt(params(state.theta)); }
  void freeze() { proposal_.freeze(); }
  void save(std::vector<double>& out) const { proposal_.save(out); }
  void load(std::span<const double> in) { proposal_.load(in); }

 private:
  P proposal_;
  std::vector<double> to_;
  double log_q_ = 0, log_prior_ = 0;
};

}  // namespace mlo
