// Copyright (c) the mlo authors. BSD-3-Clause.
// Jumps between the modes of a posterior, beside the steps of another proposal.
#pragma once

#include <Eigen/Dense>
#include <span>
#include <utility>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/kernel/proposal.hpp"

namespace mlo {

// A mixture of Student's t laws with the Laplace fits of several modes as places and scale matrices. Their
// tails are heavier than normal ones: between the modes and beyond them a posterior has more than its fits
// say.
class ModeMixture {
 public:
  struct Component {
    Laplace fit;
    double weight;
  };
  // The weights add up to 1. No weight is 0.
  explicit ModeMixture(std::vector<Component> components);

  void draw(Stream& stream, std::span<double> out);
  // Up to a constant.
  [[nodiscard]] double log_density(Params theta);

 private:
  std::vector<Component> components_;
  std::vector<double> log_heights_;  // of the weighted densities at their centres, up to a constant
  Eigen::VectorXd noise_, white_;
};

// A share of the steps draws from the mixture, wherever the chain is; the others are those of `base`. Both
// kinds of step leave the posterior invariant, so their mixture does.
template <Proposal Base>
class JumpProposal {
 public:
  JumpProposal(Base base, ModeMixture mixture) : base_(std::move(base)), mixture_(std::move(mixture)) {}

  double propose(Stream& stream, Params theta, std::span<double> out) {
    jumped_ = uniform(stream) < share;
    if (!jumped_) return base_.propose(stream, theta, out);
    mixture_.draw(stream, out);
    return mixture_.log_density(theta) - mixture_.log_density(out);
  }
  // Base learns from its own steps.
  void adapt(Params theta) {
    if (!jumped_) base_.adapt(theta);
  }
  void freeze() { base_.freeze(); }
  void save(std::vector<double>& out) const { base_.save(out); }
  void load(std::span<const double> in) { base_.load(in); }

 private:
  static constexpr double share = 0.5;
  Base base_;
  ModeMixture mixture_;
  bool jumped_ = false;  // in the last step
};
static_assert(Proposal<JumpProposal<LaplaceProposal>>);

}  // namespace mlo
