// Copyright (c) the mlo authors. BSD-3-Clause.
// How full moves: its proposal, and slices along lines where the posterior is far from its Laplace fit. exact
// keeps the same lines apart.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "method/sampler.hpp"
#include "mlo/kernel/line_slices.hpp"
#include "mlo/model/lines.hpp"

namespace mlo {

using Lines = std::vector<AwkwardLine>;

// The awkward lines of few rows, if there are other coefficients and most rows are on none of them.
[[nodiscard]] Lines apart_of(const Sampler& sampler);
[[nodiscard]] LineSlices slices_of(const Glm& model, const Lines& lines);
// "\"a\", \"b\" and 3 more"
[[nodiscard]] std::string listed(const AnyModel& model, const Lines& lines);

// Whether an accepted step forgets where the chain was.
[[nodiscard]] bool draws_independently(const ProposalPlan& plan);

struct FullParts {
  AnyProposal proposal;
  std::optional<LineSlices> slices;
  std::string note;  // on the slices; "" if there are none
};
[[nodiscard]] FullParts full_parts(const Sampler& sampler, const ProposalPlan& plan);

}  // namespace mlo
