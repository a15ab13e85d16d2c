// Copyright (c) the mlo authors. BSD-3-Clause.
#pragma once

#include <span>

namespace mlo::diagnostics {

// Each value becomes the normal quantile of its rank r among all S, z = Phi^-1((r - 3/8) / (S + 1/4)), where
// equal values share their average rank [Vehtari et al. 2021; Blom 1958]. Values must not be NaN.
void rank_normalise(std::span<double> values);

}  // namespace mlo::diagnostics
