// Copyright (c) the mlo authors. BSD-3-Clause.
// Rank-normalised split R-hat, bulk and tail effective sample size, Monte Carlo standard errors.
// Vehtari, Gelman, Simpson, Carpenter, Buerkner 2021, "Rank-normalization, folding, and localization",
// Bayesian Analysis 16(2); the same conventions as R's package `posterior`, so that figures can be compared.
#pragma once

#include <span>

namespace mlo {

// One parameter's draws, one span per chain, all of the same length.
using ChainsView = std::span<const std::span<const double>>;

// NaN where the quantity is not defined: a non-finite draw, a constant parameter, fewer than 4 draws per
// chain (R-hat) or 6 (all others). As in `posterior`, it is the transformed draws that must not be constant:
// a parameter that takes its largest value in more than 5 % of the draws has no tail ESS, and one that takes
// two values equally often has no R-hat.
[[nodiscard]] double rhat(ChainsView draws);  // max of bulk and folded; infinite if no chain ever moved
[[nodiscard]] double ess_bulk(ChainsView draws);
[[nodiscard]] double ess_tail(ChainsView draws);   // min over the 5 % and 95 % quantiles
[[nodiscard]] double ess_mean(ChainsView draws);   // of the untransformed draws; used by mcse_mean
[[nodiscard]] double mcse_mean(ChainsView draws);  // sd / sqrt(ess_mean)
[[nodiscard]] double mcse_sd(ChainsView draws);    // delta method on the squared centred draws

}  // namespace mlo
