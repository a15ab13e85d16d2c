// Copyright (c) the mlo authors. BSD-3-Clause.
// The diagnostics in terms of shared parts: a summary sorts and ranks the draws once for all of them. The
// draws are finite and not empty throughout; `sorted` has all of them in ascending order.
#pragma once

#include <span>

#include "diagnose/draws.hpp"

namespace mlo::diagnostics {

[[nodiscard]] Halves rank_normalised(ChainsView draws);

[[nodiscard]] double rhat(ChainsView draws, const Halves& rank_normalised, std::span<const double> sorted);
[[nodiscard]] double ess(const Halves& x);
[[nodiscard]] double ess_tail(ChainsView draws, std::span<const double> sorted);

}  // namespace mlo::diagnostics
