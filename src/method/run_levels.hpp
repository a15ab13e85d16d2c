// Copyright (c) the mlo authors. BSD-3-Clause.
// exact for models whose factors have many levels: level by level, where that is cheaper than one move of all
// coefficients.
#pragma once

#include <memory>

#include "method/sampler.hpp"
#include "mlo/model/factor_glm.hpp"
#include "mlo/subsample/level_reference.hpp"

namespace mlo {

struct LevelRun {
  std::shared_ptr<const FactorGlm> model;
  std::shared_ptr<const LevelReference> reference;
  double rows = 0;  // read per sweep
  std::size_t levels = 0, factors = 0;
  double nanoseconds = 0;  // of a sweep without its rows
};

// Empty: the model has no such factors, an option is about moves of all coefficients, or those are cheaper.
[[nodiscard]] std::unique_ptr<LevelRun> level_run(Sampler& sampler);
void run_levels(Sampler& sampler, const LevelRun& run);

}  // namespace mlo
