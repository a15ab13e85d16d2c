// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/netcdf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fit/data_source.hpp"
#include "mlo/fit/fit.hpp"

namespace mlo {

namespace {

// The terms (1 | g) and (0 + x | g) are one grouping: both have an effect of every level of g. Each effect
// has the levels in the same order. Their names need not differ: of a:b, "1_2" and "3" give the name of "1"
// and "2_3".
std::vector<NetcdfEffects> groupings_of(std::span<const GroupEffect> effects) {
  std::vector<NetcdfEffects> out;
  std::vector<std::vector<std::vector<std::size_t>>> places;  // by grouping and effect, of all levels
  const auto found = [](const auto& list, const auto& is_it) {
    return static_cast<std::size_t>(std::find_if(list.begin(), list.end(), is_it) - list.begin());
  };
  for (std::size_t k = 0; k < effects.size(); ++k) {
    const GroupEffect& e = effects[k];
    const std::size_t at = found(out, [&](const NetcdfEffects& g) { return g.group == e.group; });
    if (at == out.size()) {
      out.push_back({.group = e.group, .levels = {}, .effects = {}, .places = {}});
      places.emplace_back();
    }
    NetcdfEffects& g = out[at];
    const std::size_t which = found(g.effects, [&](const std::string& name) { return name == e.effect; });
    if (which == g.effects.size()) {
      g.effects.push_back(e.effect);
      places[at].emplace_back();
    }
    if (which == 0) g.levels.push_back(e.level);
    places[at][which].push_back(k);
  }
  for (std::size_t g = 0; g < out.size(); ++g)
    for (std::size_t level = 0; level < out[g].levels.size(); ++level)
      for (const std::vector<std::size_t>& effect : places[g]) out[g].places.push_back(effect.at(level));
  return out;
}

}  // namespace

NetcdfInput netcdf_input(const FitOptions& options, const RunSummary& summary,
                         std::span<const ChainDraws> chains, std::span<const GroupEffect> effects) {
  NetcdfInput input;
  for (const ParameterSummary& p : summary.parameters) input.names.push_back(p.name);
  input.chains = chains;
  input.version = version();
  input.texts = {{"formula", options.formula},
                 {"family", options.family},
                 {"data", data_words(options)},
                 {"method", summary.method.name},
                 {"promise", promise_name(summary.method.promise)}};
  if (!summary.method.log_posterior.empty())
    input.texts.emplace_back(
        "lp", fmt::format("the log posterior {}, up to a constant", summary.method.log_posterior));
  input.numbers = {{"seed", options.seed.value_or(0)},
                   {"tuning_steps", static_cast<std::uint64_t>(options.warmup.value_or(0))},
                   {"thin", static_cast<std::uint64_t>(options.thin.value_or(1))}};
  const bool kept = !effects.empty() && std::all_of(chains.begin(), chains.end(), [&](const ChainDraws& c) {
    return c.effects.size() == c.size() * effects.size();
  });
  if (kept) input.groupings = groupings_of(effects);
  return input;
}

}  // namespace mlo
