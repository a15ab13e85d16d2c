// Copyright (c) the mlo authors. BSD-3-Clause.
// What an audit of `exact` found.
#pragma once

#include <cstdint>

namespace mlo {

// Steps are compared with all rows, and the draws with those of a short chain on all rows.
struct AuditReport {
  bool done = false;
  std::uint64_t steps = 0;       // compared with all rows
  double worst_error = 0;        // of the log ratio's polynomial and remainders, against all rows
  std::uint64_t full_draws = 0;  // of the chain on all rows
  double sd_ratio_low = 0, sd_ratio_high = 0;  // sd of the draws / sd of that chain, over the parameters
  double worst_z = 0;                          // of the differences in means, in Monte Carlo errors
};

}  // namespace mlo
