// Copyright (c) the mlo authors. BSD-3-Clause.
// A mixture of independent draws and random walks: the proposal of methods that see all rows.
#pragma once

#include <Eigen/Dense>
#include <cstdint>
#include <span>
#include <vector>

#include "mlo/kernel/proposal.hpp"

namespace mlo {

// Where the posterior is close to its Laplace fit (many rows), nine steps in ten draw from the fit and the
// others are walks. Where it is not (few rows, a tail of separated data, an outlying cell), such draws would
// get stuck in the tails or never reach them. Warm-up finds out by trying, and learns the posterior's own
// mean and covariance. Then half of the steps are draws from Student's t about this mean, with this
// covariance as its scale matrix, because its tails are heavier than normal ones, and half are walks of all
// lengths; if the Laplace fit's draws were accepted more often than these all the same, half are still from
// the fit. Every kind of step leaves the posterior invariant, so any mixture of them does.
class MixedProposal {
 public:
  explicit MixedProposal(Laplace fit);

  double propose(Stream& stream, Params theta, std::span<double> out);
  void adapt(Params theta);
  void freeze() noexcept;
  void save(std::vector<double>& out) const;
  void load(std::span<const double> in);
  // After freeze(): whether the independent draws come from the Laplace fit.
  [[nodiscard]] bool near_laplace() const noexcept { return laplace_share_ > student_share_; }

 private:
  enum class Kind : std::uint8_t { laplace, student, walk };
  double propose_laplace(std::span<double> out, Params theta);
  double propose_student(Stream& stream, std::span<double> out, Params theta);
  void refactor();

  Laplace fit_;
  double laplace_share_, student_share_;  // of the steps; the others are walks
  bool frozen_ = false;
  Kind kind_ = Kind::walk;  // of the last step
  struct Tally {
    double tried = 0, accepted = 0;
    [[nodiscard]] double share() const noexcept { return tried > 0 ? accepted / tried : 0; }
  };
  Tally laplace_, student_;  // independent draws in warm-up
  RunningMoments past_;
  Eigen::VectorXd mean_;    // as learnt
  Eigen::MatrixXd factor_;  // F, lower triangular; F F' is the scale matrix, as learnt
  Eigen::VectorXd noise_, white_, proposed_;
};
static_assert(Proposal<MixedProposal>);

}  // namespace mlo
