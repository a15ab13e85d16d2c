// Copyright (c) the mlo authors. BSD-3-Clause.
// What is kept of a fit for its report.
#pragma once

#include <span>
#include <vector>

#include "mlo/data/design.hpp"
#include "mlo/method/options.hpp"
#include "mlo/model/any_model.hpp"
#include "mlo/model/grouped.hpp"
#include "mlo/model/mode.hpp"
#include "mlo/report/facts.hpp"

namespace mlo {

// Of chains alone.
[[nodiscard]] RunFacts facts_of(std::span<const ChainDraws> chains);
// Of a model with group effects.
[[nodiscard]] RunFacts facts_of(const GroupedModel& model, const std::vector<FactorLevels>& factors,
                                std::span<const ChainDraws> chains, const FitOptions& options);
// The seed of the options must have been drawn.
[[nodiscard]] RunFacts facts_of(const AnyModel& model, const std::vector<FactorLevels>& factors,
                                const Mode& mode, std::span<const ChainDraws> chains,
                                const FitOptions& options);

}  // namespace mlo
