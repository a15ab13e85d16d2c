// Copyright (c) the mlo authors. BSD-3-Clause.
#include "method/jumps.hpp"

#include <fmt/format.h>

#include "mlo/kernel/jump_proposal.hpp"

namespace mlo {

AnyProposal with_jumps(AnyProposal base, const Modes& modes) {
  if (!modes.several()) return base;
  std::vector<ModeMixture::Component> components;
  components.reserve(modes.found.size());
  double total = 0;
  for (const FoundMode& m : modes.found) total += m.share;
  // Half by their shares, half evenly: shares are those of Laplace fits, which may be far from the truth, and
  // a mode that is proposed too seldom is one in which chains get stuck.
  const double even = 1 / static_cast<double>(modes.found.size());
  for (const FoundMode& m : modes.found)
    components.push_back({Laplace(m.mode.theta, m.mode.information), 0.5 * (m.share / total + even)});
  return JumpProposal<AnyProposal>(std::move(base), ModeMixture(std::move(components)));
}

std::string jump_words(const Modes& modes) {
  if (!modes.several()) return {};
  return fmt::format("half of the steps are draws from a mixture of fits to the {} modes: jumps between them",
                     modes.found.size());
}

}  // namespace mlo
