// Copyright (c) the mlo authors. BSD-3-Clause.
// The summary of a run: one plain struct, written as a table for people, as JSON and as CSV.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mlo/diagnose/audit.hpp"
#include "mlo/diagnose/noise.hpp"
#include "mlo/diagnose/scores.hpp"
#include "mlo/diagnose/summary.hpp"
#include "mlo/kernel/step.hpp"

namespace mlo {

struct MethodAccount {
  std::string name;
  Promise promise = Promise::approximate;  // until a method says otherwise
  double acceptance = 0;
  double rows_per_step = 0;
  double median_rows_per_step = 0;
  double noise_sd = 0;
  std::uint64_t bound_violations = 0;
  std::uint64_t not_finite = 0;
  // What `lp__` is, in words: "of all rows", or by what approximation. Empty: a run of an older version.
  std::string log_posterior{};
};

struct RunSummary {
  std::string title;               // "logistic regression of y, 581012 rows"
  std::vector<std::string> notes;  // what a reader needs to interpret the numbers: priors, scale, seed
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
  std::optional<Scores> holdout;        // on rows that the fit has not seen
  double passes = 0;                    // over the data before sampling: mode, weights, bounds
  std::uint64_t chains = 0, draws = 0;  // draws kept per chain
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
