// Copyright (c) the mlo authors. BSD-3-Clause.
#pragma once

#include <vector>

#include "diagnose/draws.hpp"

namespace mlo::diagnostics {

// The autocovariances at lags 0 .. length - 1, each about its own half's mean and with divisor `length` at
// every lag (the biased estimate, Geyer 1992), averaged over the halves: all that is needed for an effective
// sample size.
[[nodiscard]] std::vector<double> mean_autocovariance(const Halves& halves);

}  // namespace mlo::diagnostics
