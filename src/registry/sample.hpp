// Copyright (c) the mlo authors. BSD-3-Clause.
// From a model to draws: mode, weights, and the kernel that the options name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mlo/chain/run.hpp"
#include "mlo/registry/fit.hpp"
#include "mlo/registry/options.hpp"

namespace mlo {

struct SampleJob {
  FitOptions options;
  ChainOptions chain;
  std::size_t threads = 1;
  const FitWatcher* watcher = nullptr;
  CheckpointOptions checkpoint;
  std::function<void()> before_sampling;  // when nothing but the sampling can fail any more
};

struct SampleOutcome {
  std::vector<double> laplace_sd;  // of the user's parameters
  std::string method;              // what was run; for `auto`, what it chose
  Promise promise = Promise::exact;
  NoiseEffect noise = NoiseEffect::widens;
  AuditReport audit;
  double passes = 0;
  double mode_seconds = 0, sample_seconds = 0;
  std::vector<std::string> notes;     // what was chosen for the user
  std::vector<std::string> warnings;  // what went wrong on the way
};

// Continues `records` (empty: new chains). Instantiated for each model in sample_*.cpp.
template <class M>
[[nodiscard]] SampleOutcome sample(const M& model, const SampleJob& job, std::vector<ChainRecord>& records);

}  // namespace mlo
