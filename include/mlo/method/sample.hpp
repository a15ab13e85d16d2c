// Copyright (c) the mlo authors. BSD-3-Clause.
// From a model to draws: the one place where a model and a plan become a kernel and chains.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "mlo/chain/control.hpp"
#include "mlo/chain/run.hpp"
#include "mlo/diagnose/audit.hpp"
#include "mlo/diagnose/noise.hpp"
#include "mlo/method/options.hpp"
#include "mlo/method/plan.hpp"
#include "mlo/method/watcher.hpp"
#include "mlo/model/any_model.hpp"
#include "mlo/model/mode.hpp"

namespace mlo {

struct Samples {
  const MethodSpec* method = nullptr;      // what was run; for auto, what it chose
  Promise promise = Promise::approximate;  // the kernel's own
  NoiseEffect noise = NoiseEffect::widens;
  std::vector<ChainRecord> chains;  // draws in the user's parameters
  std::string log_posterior;        // what ChainDraws::log_posteriors are, in words
  Mode mode;
  std::vector<double> laplace_sd;  // of the user's parameters
  AuditReport audit;
  double passes = 0;  // over the data, before the first step
  double mode_seconds = 0, sample_seconds = 0;
  std::vector<std::string> notes;     // what was chosen for the user
  std::vector<std::string> warnings;  // what went wrong on the way
};

// How a run is saved, if it is.
struct Keeping {
  CheckpointOptions checkpoint;
  std::vector<ChainRecord> records;       // of chains to be continued; empty: new chains
  std::function<void()> before_sampling;  // called when only the sampling itself can still fail
};

// Throws UsageError if the model lacks what the method needs, ModelError if there is no mode, Interrupted.
[[nodiscard]] Samples sample(const AnyModel& model, const Plan& plan, const SampleWatcher& watcher = {},
                             Keeping keeping = {});

// The same for a model of the user's own, whose terms are checked first: if one is not a number, the error
// names its row.
[[nodiscard]] Samples sample(const AnyModel& model, const MethodOptions& options,
                             const SampleWatcher& watcher = {});
template <SampledModel M>
requires(!std::derived_from<M, AnyModel>) [[nodiscard]] Samples
    sample(const M& model, const MethodOptions& options, const SampleWatcher& watcher = {}) {
  return sample(ModelOf<M>(&model), options, watcher);
}

}  // namespace mlo
