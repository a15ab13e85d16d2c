// Copyright (c) the mlo authors. BSD-3-Clause.
#pragma once

#include <string>

#include "method/parts.hpp"
#include "mlo/method/plan.hpp"

namespace mlo {

// `user_jacobian`: the derivative of the user's parameters at the mode.
[[nodiscard]] AnyProposal make_proposal(const ProposalPlan& plan, const Laplace& laplace,
                                        const Eigen::MatrixXd& user_jacobian);
// "proposal: random-walk, scale 1.7, shaped like the Laplace fit"
[[nodiscard]] std::string proposal_words(const ProposalPlan& plan);

}  // namespace mlo
