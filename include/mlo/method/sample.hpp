// Copyright (c) the mlo authors. BSD-3-Clause.
// From a model to draws: the one place where a model and a plan become a kernel and chains.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
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

// A chain that its owner steps by hand.
class SteppedChain {
 public:
  SteppedChain() = default;
  virtual ~SteppedChain() = default;
  SteppedChain(const SteppedChain&) = delete;
  SteppedChain& operator=(const SteppedChain&) = delete;

  virtual StepInfo step() = 0;
  virtual void freeze() = 0;  // ends adaptation
  [[nodiscard]] virtual Promise promise() const = 0;
  [[nodiscard]] virtual const ChainState& state() const = 0;
  // Moves the chain; theta in working coordinates.
  virtual void set(Eigen::VectorXd theta) = 0;
  [[nodiscard]] virtual std::uint64_t steps() const = 0;  // made so far
};

// How a run is saved, if it is.
struct Keeping {
  CheckpointOptions checkpoint;
  std::vector<ChainRecord> records;       // of chains to be continued; empty: new chains
  std::function<void()> before_sampling;  // called when only the sampling itself can still fail
  // Not null: no chain is run; this one is made, as the chain number `stepped_chain` of the run would be.
  std::unique_ptr<SteppedChain>* stepped = nullptr;
  std::size_t stepped_chain = 0;
};

// Throws UsageError if the model lacks what the method needs, ModelError if there is no mode, Interrupted.
[[nodiscard]] Samples sample(const AnyModel& model, const Plan& plan, const SampleWatcher& watcher = {},
                             Keeping keeping = {});

// The same for a model of the user's own, whose terms are checked first: if one is not a number, the error
// names its row.
[[nodiscard]] Samples sample(const AnyModel& model, const MethodOptions& options,
                             const SampleWatcher& watcher = {});
// Rows are drawn in proportion to row_weights, one per row, if there are any.
[[nodiscard]] Samples sample(const AnyModel& model, const MethodOptions& options,
                             std::vector<double> row_weights, const SampleWatcher& watcher);
// A chain of `full`, or of a method that reads some of the rows, stepped by hand: its steps are those of the
// chain of that number in a run. The model must outlive it. Throws as sample() does, and UsageError for other
// methods.
[[nodiscard]] std::unique_ptr<SteppedChain> stepped_chain(const AnyModel& model, const MethodOptions& options,
                                                          std::vector<double> row_weights, std::size_t chain);
template <SampledModel M>
requires(!std::derived_from<M, AnyModel>) [[nodiscard]] Samples
    sample(const M& model, const MethodOptions& options, const SampleWatcher& watcher = {}) {
  return sample(ModelOf<M>(&model), options, watcher);
}

}  // namespace mlo
