// Copyright (c) the mlo authors. BSD-3-Clause.
// From a model with group effects to draws.
#pragma once

#include "mlo/method/sample.hpp"
#include "mlo/model/grouped.hpp"

namespace mlo {

// What is kept of the effects of single levels.
enum class KeptEffects : std::uint8_t { none, summary, draws };

// The draws are of the main parameters; with KeptEffects::draws those of the effects are beside them. `auto`
// and `exact` draw rows by their bounds where the family has them, `full` reads all rows. Throws UsageError
// for other methods, for options that have no meaning here, and if `exact` has no bounds; ModelError if there
// is no mode; Interrupted.
[[nodiscard]] Samples sample(const GroupedModel& model, const Plan& plan, KeptEffects kept,
                             const SampleWatcher& watcher = {}, Keeping keeping = {});

// Mean, sd and 90 % interval of one effect of one level.
struct EffectSummary {
  std::size_t group = 0, level = 0, effect = 0;
  double mean = 0, sd = 0, q5 = 0, q95 = 0;
  double rhat = 0;  // of the chains' means and variances, without ranks
};
// Of all effects, in the order of the packed point. Intervals are those of a normal law if the effects' draws
// were not kept.
[[nodiscard]] std::vector<EffectSummary> effect_summaries(const GroupedModel& model,
                                                          std::span<const ChainRecord> chains,
                                                          ThreadPool& pool);

}  // namespace mlo
