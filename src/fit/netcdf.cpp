// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/netcdf.hpp"

#include <fmt/format.h>

#include "fit/data_source.hpp"
#include "mlo/fit/fit.hpp"

namespace mlo {

NetcdfInput netcdf_input(const FitOptions& options, const RunSummary& summary,
                         std::span<const ChainDraws> chains) {
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
                   {"tuning_steps", static_cast<std::uint64_t>(options.warmup)},
                   {"thin", static_cast<std::uint64_t>(options.thin.value_or(1))}};
  return input;
}

}  // namespace mlo
