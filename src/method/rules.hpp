// Copyright (c) the mlo authors. BSD-3-Clause.
// Decision rules as the table of methods names them.
#pragma once

#include <cstdint>
#include <string>

#include "method/parts.hpp"
#include "mlo/diagnose/noise.hpp"
#include "mlo/method/plan.hpp"

namespace mlo {

// Rows of the first look, the most rows per step, and the smallest number that makes sense.
struct UsualSizes {
  std::int64_t size, max, least;
};

struct RuleSpec {
  NoiseEffect noise = NoiseEffect::widens;
  // Which options it has.
  bool grows = false;  // max-subsample-size
  bool delta = false, noise_sd = false, bound = false;
  double usual_delta = 0;
  double largest_delta = 1;                                // exclusive
  double usual_noise_sd = 1, usual_variates_noise_sd = 1;  // with plain differences, with control variates
  bool needs_bounds = false;  // of the terms of all rows: uniform weights without replacement
  // The default sizes for n rows, before they are limited to n.
  UsualSizes (*usual_sizes)(std::int64_t n, bool variates);
  AnyRule (*make)(const SubsamplePlan& plan, std::size_t rows);
  // "100 to 5000 rows per step, delta 0.05"
  std::string (*words)(const SubsamplePlan& plan);
};

}  // namespace mlo
