// Copyright (c) the mlo authors. BSD-3-Clause.
// What a finished run says: one plain struct, written as a table for people, as JSON and as CSV.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mlo/diagnose/noise.hpp"
#include "mlo/diagnose/summary.hpp"
#include "mlo/kernel/kernel.hpp"

namespace mlo {

struct MethodAccount {
  std::string name;
  Promise promise = Promise::exact;
  double acceptance = 0;
  double rows_per_step = 0;
  double median_rows_per_step = 0;
  double noise_sd = 0;
  std::uint64_t bound_violations = 0;
  std::uint64_t not_finite = 0;
};

// What --audit found: steps compared with all rows, and the draws with those of a short chain on all rows.
struct AuditReport {
  bool done = false;
  std::uint64_t steps = 0;                     // that were compared
  double worst_error = 0;                      // of the log acceptance ratio's ingredients against all rows
  std::uint64_t full_draws = 0;                // of the chain on all rows
  double sd_ratio_low = 0, sd_ratio_high = 0;  // sd of the draws / sd of that chain, over the parameters
  double worst_z = 0;                          // of the means' differences, in their Monte Carlo errors
};

struct RunSummary {
  std::string title;               // "logistic regression of y, 581012 rows"
  std::vector<std::string> notes;  // what a reader must know to read the numbers: priors, scale, seed
  std::vector<ParameterSummary> parameters;
  MethodAccount method;
  NoiseReport noise;
  AuditReport audit;
  struct Data {
    std::uint64_t rows = 0, used = 0, dropped = 0;
  } data;
  struct Seconds {
    double read = 0, mode = 0, sample = 0, total = 0;
  } seconds;
  double passes = 0;                    // over the data, mode finding and weights
  std::uint64_t chains = 0, draws = 0;  // draws kept, of each chain
  bool interrupted = false;
  std::vector<std::string> warnings;
};

[[nodiscard]] std::string promise_name(Promise promise);

[[nodiscard]] std::string as_table(const RunSummary& summary);
[[nodiscard]] std::string as_json(const RunSummary& summary);
[[nodiscard]] std::string as_csv(const std::vector<ParameterSummary>& parameters);

// The inverse of as_json, for `mlo summary`. Throws DataError naming `file`.
[[nodiscard]] RunSummary summary_from_json(const std::string& json, const std::string& file);

}  // namespace mlo
