// Copyright (c) the mlo authors. BSD-3-Clause.
#include "method/proposals.hpp"

#include <fmt/format.h>

#include "mlo/kernel/mixed_proposal.hpp"

namespace mlo {
namespace {

// F of theta' = theta + F z, in working coordinates.
Eigen::MatrixXd walk_factor(const ProposalPlan& plan, const Laplace& laplace,
                            const Eigen::MatrixXd& user_jacobian) {
  if (plan.shape == ProposalPlan::Shape::identity) return user_jacobian.inverse() * plan.scale;
  const Eigen::Index p = laplace.mode.size();
  return plan.scale * laplace.cholesky.transpose().triangularView<Eigen::Upper>().solve(
                          Eigen::MatrixXd(Eigen::MatrixXd::Identity(p, p)));
}

}  // namespace

AnyProposal make_proposal(const ProposalPlan& plan, const Laplace& laplace,
                          const Eigen::MatrixXd& user_jacobian) {
  switch (plan.kind) {
    case ProposalPlan::Kind::mixed:
      return MixedProposal(laplace);
    case ProposalPlan::Kind::laplace:
      return LaplaceProposal(laplace, {.step = plan.scale});
    case ProposalPlan::Kind::random_walk:
      return RandomWalkProposal(walk_factor(plan, laplace, user_jacobian));
    case ProposalPlan::Kind::gamma:
      return GammaProposal(plan.scale);
    case ProposalPlan::Kind::adaptive:
      break;
  }
  return AdaptiveProposal(walk_factor(plan, laplace, user_jacobian), plan.learnt_scale);
}

std::string proposal_words(const ProposalPlan& plan) {
  switch (plan.kind) {
    case ProposalPlan::Kind::mixed:
      return "proposal: laplace (draws from the Laplace fit, or from what warm-up learns; some random walks)";
    case ProposalPlan::Kind::laplace:
      return "proposal: laplace (pCN around the Laplace fit)";
    case ProposalPlan::Kind::gamma:
      return fmt::format("proposal: gamma, sd {:.3g} times the parameter", plan.scale);
    case ProposalPlan::Kind::random_walk:
    case ProposalPlan::Kind::adaptive:
      break;
  }
  return fmt::format("proposal: {}, scale {:.3g}, {}",
                     plan.kind == ProposalPlan::Kind::adaptive ? "adaptive" : "random-walk", plan.scale,
                     plan.shape == ProposalPlan::Shape::identity ? "the same for every parameter"
                                                                 : "shaped like the Laplace fit");
}

}  // namespace mlo
