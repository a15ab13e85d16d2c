// Copyright (c) the mlo authors. BSD-3-Clause.
// Methods side by side on the same data: what each cost, and how far its draws are from the posterior.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mlo/diagnose/summary.hpp"
#include "mlo/kernel/step.hpp"

namespace mlo {

struct MethodResult {
  std::string name;                        // as the user wrote it: "mlo:subsample-size=5000"
  std::string failure;                     // why there are no figures; empty if there are
  Promise promise = Promise::approximate;  // until a method says otherwise
  double setup_seconds = 0;                // mode, weights, expansions
  double sample_seconds = 0;               // warm-up included
  std::uint64_t draws = 0;                 // of all chains together
  double rows_per_step = 0;
  double acceptance = 0;
  double noise_sd = 0;
  double rhat = 0;                  // the largest over the parameters
  double ess = 0;                   // the smallest bulk ESS over the parameters
  double ess_per_second = 0;        // of sample_seconds
  double ess_per_million_rows = 0;  // rows read by the steps after warm-up; infinite if there were none
  // Against the reference, over the parameters: sd / its sd; and |mean - its mean| / its sd of the parameter
  // that is furthest off, with its Monte Carlo error.
  double sd_ratio_low = 0, sd_ratio = 0, sd_ratio_high = 0;
  double mean_error = 0, mean_error_mcse = 0;
  std::uint64_t rows = 0;  // of the data, those without a missing cell
  std::vector<ParameterSummary> parameters;
};

struct Comparison {
  std::string title;
  std::vector<std::string> notes;  // how the methods were run
  std::string reference;           // the method whose draws stand for the posterior
  std::vector<ParameterSummary> posterior;
  std::vector<MethodResult> methods;
  bool interrupted = false;
};

// Fills in the figures relative to the reference. result.parameters and posterior have the same parameters.
void compare_with(const std::vector<ParameterSummary>& posterior, MethodResult& result);

[[nodiscard]] std::string as_table(const Comparison& comparison);
[[nodiscard]] std::string as_csv(const Comparison& comparison);
[[nodiscard]] std::string as_json(const Comparison& comparison);
// A plot: each method's effective draws per second, and the spread of its draws.
[[nodiscard]] std::string as_svg(const Comparison& comparison);

}  // namespace mlo
