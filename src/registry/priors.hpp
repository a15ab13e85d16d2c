// Copyright (c) the mlo authors. BSD-3-Clause.
// The priors the options ask for, and the defaults: weakly informative and autoscaled, as in rstanarm.
#pragma once

#include <string>
#include <vector>

#include "mlo/data/design.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/registry/options.hpp"

namespace mlo {

// Notes get what was used, in words.
[[nodiscard]] GlmPriors glm_priors(const FitOptions& options, const Design& design,
                                   std::vector<std::string>& notes);
[[nodiscard]] Prior precision_prior(const FitOptions& options, std::vector<std::string>& notes);

}  // namespace mlo
