// Copyright (c) the mlo authors. BSD-3-Clause.
#pragma once

#include "method/parts.hpp"
#include "mlo/model/modes.hpp"

namespace mlo {

// The proposal itself where there is one mode; where there are several, with jumps between them.
[[nodiscard]] AnyProposal with_jumps(AnyProposal base, const Modes& modes);
// What is said of it, or "".
[[nodiscard]] std::string jump_words(const Modes& modes);

}  // namespace mlo
