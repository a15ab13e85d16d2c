// Copyright (c) the mlo authors. BSD-3-Clause.
// What an audit of `exact` found.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "mlo/diagnose/summary.hpp"

namespace mlo {

// Steps are compared with all rows, and the draws with those of other chains, which read all rows.
struct AuditReport {
  bool done = false;
  std::uint64_t steps = 0;       // compared with all rows
  double worst_error = 0;        // of the log ratio's polynomial and remainders, against all rows
  std::uint64_t full_draws = 0;  // of the chains on all rows
  struct Parameter {
    std::string name;
    double z = 0;         // difference of the means, in Monte Carlo errors
    double sd_ratio = 1;  // sd of the draws / sd of those chains
    // The same for the distance from the 5 % to the 95 % quantile, in Monte Carlo errors: where tails are
    // heavy, it is known far better than the sd.
    double spread_z = 0;
  };
  std::vector<Parameter> parameters;
  std::string warning;  // what does not agree; "" if all does

  // NaN if one of them is.
  [[nodiscard]] double worst_z() const noexcept {
    double worst = 0;
    for (const Parameter& p : parameters)
      if (!(std::abs(p.z) <= worst) && !std::isnan(worst)) worst = std::abs(p.z);
    return worst;
  }
  [[nodiscard]] double sd_ratio_low() const noexcept {
    double low = parameters.empty() ? 1 : parameters[0].sd_ratio;
    for (const Parameter& p : parameters)
      if (!(p.sd_ratio >= low) && !std::isnan(low)) low = p.sd_ratio;
    return low;
  }
  [[nodiscard]] double sd_ratio_high() const noexcept {
    double high = parameters.empty() ? 1 : parameters[0].sd_ratio;
    for (const Parameter& p : parameters)
      if (!(p.sd_ratio <= high) && !std::isnan(high)) high = p.sd_ratio;
    return high;
  }
};

// Fills in parameters and warning.
void compare(const std::vector<ParameterSummary>& found, const std::vector<ParameterSummary>& reference,
             AuditReport& report);

}  // namespace mlo
