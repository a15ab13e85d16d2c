// Copyright (c) the mlo authors. BSD-3-Clause.
// Independent draws and random walks by turns: the proposal of methods that see all rows.
#pragma once

#include <Eigen/Dense>
#include <cstdint>
#include <span>
#include <vector>

#include "mlo/kernel/proposal.hpp"

namespace mlo {

// Nine steps in ten draw from the Laplace fit where that is what the posterior looks like: many rows. Where
// it does not (few rows, a tail of separated data, one far-out cell), such draws would stay stuck in the
// tails or never come there. Warm-up finds out by trying, and learns the posterior's own mean and covariance.
// Then half of the steps are draws from Student's law with these, whose tails are heavier than a normal
// law's, and half are walks of all lengths. Every kind leaves the posterior invariant, so any mixture of them
// does.
class MixedProposal {
 public:
  explicit MixedProposal(Laplace fit);

  double propose(Stream& stream, Params theta, std::span<double> out);
  void adapt(Params theta);
  void freeze() noexcept;
  void save(std::vector<double>& out) const;
  void load(std::span<const double> in);
  // Whether the draws are those of the Laplace fit, after freeze().
  [[nodiscard]] bool near_laplace() const noexcept { return laplace_share_ > student_share_; }

 private:
  enum class Kind : std::uint8_t { laplace, student, walk };
  double propose_laplace(std::span<double> out, Params theta);
  double propose_student(Stream& stream, std::span<double> out, Params theta);
  void refactor();

  Laplace fit_;
  double laplace_share_, student_share_;  // of the steps; the others are walks
  bool frozen_ = false;
  Kind kind_ = Kind::walk;           // of the last step
  double tried_ = 0, accepted_ = 0;  // draws from the Laplace fit
  RunningMoments past_;
  Eigen::VectorXd mean_;    // of the draws, as learnt
  Eigen::MatrixXd factor_;  // F, lower triangular, F F' the draws' scale matrix
  Eigen::VectorXd noise_, white_, proposed_;
};
static_assert(Proposal<MixedProposal>);

}  // namespace mlo
