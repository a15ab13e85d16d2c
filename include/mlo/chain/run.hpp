// Copyright (c) the mlo authors. BSD-3-Clause.
// Runs chains: warm-up, thinning, parallel chains, interrupts and checkpoints. It prints nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/base/thread_pool.hpp"
#include "mlo/chain/record.hpp"
#include "mlo/kernel/kernel.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

struct ChainOptions {
  std::uint64_t seed = 0;
  std::size_t chains = 4;
  std::size_t warmup = 1000;
  std::size_t draws = 1000;  // kept, of each chain
  std::size_t thin = 1;      // steps per kept draw
  [[nodiscard]] std::uint64_t steps() const noexcept { return warmup + draws * thin; }
};

// Shared between the run and whoever watches it; every member may be read and set from any thread.
struct RunControl {
  std::atomic<bool> stop{false};  // set: the chains end after their current step and keep what they have
  const std::atomic<bool>* interrupt =
      nullptr;                // the same, owned by the front end (a signal handler sets it)
  struct alignas(64) Chain {  // a cache line each: they are written every step, by different threads
    std::atomic<std::uint64_t> steps{0}, accepted{0};
  };
  std::vector<Chain> chains;
  explicit RunControl(std::size_t n, const std::atomic<bool>* interrupted = nullptr)
      : interrupt(interrupted), chains(n) {}
  [[nodiscard]] bool stopped() const noexcept {
    return stop.load(std::memory_order_relaxed) ||
           (interrupt != nullptr && interrupt->load(std::memory_order_relaxed));
  }
};

// Where records are saved now and then; empty: nowhere.
struct CheckpointOptions {
  std::function<void(std::size_t chain, const ChainRecord&)> save;
  std::chrono::milliseconds every{5000};
};

// One chain on its way. The record's draws are in the user's parameters.
template <Kernel K, class Emit>
class ChainRun {
 public:
  using Clock = std::chrono::steady_clock;

  ChainRun(K kernel, ChainRecord& record, std::size_t chain, const ChainOptions& options, RunControl& control,
           const CheckpointOptions& checkpoint, const Emit& emit)
      : kernel_(std::move(kernel)),
        record_(&record),
        chain_(chain),
        options_(&options),
        control_(&control),
        checkpoint_(&checkpoint),
        emit_(&emit) {
    if (record.iteration > 0) kernel_.load(record.kernel);
    control.chains[chain].steps = record.iteration;
    // Room for all draws, up to a size that is no burden if the run ends early.
    const std::size_t room = std::min<std::size_t>(options.draws, 1'000'000);
    record.log_posteriors.reserve(room);
    record.draws.reserve(room * record.dim);
  }

  // Continues until the chain is at its end, or someone wants it to stop: true. Or, false, until some time
  // has passed.
  bool advance(Clock::duration slice) {
    ChainRecord& record = *record_;
    const std::uint64_t steps = options_->steps(), warmup = options_->warmup;
    auto& progress = control_->chains[chain_];
    const auto until = Clock::now() + slice;
    while (record.iteration < steps && !control_->stopped()) {
      if (record.iteration == warmup) kernel_.freeze();
      const StepInfo info = kernel_.step(
          record.state, {.seed = options_->seed, .chain = chain_, .iteration = record.iteration});
      ++record.iteration;
      // Plain stores: only this thread writes them, and a step may take less time than a locked addition.
      progress.steps.store(record.iteration, std::memory_order_relaxed);
      accepted_ += info.accepted ? 1 : 0;
      progress.accepted.store(accepted_, std::memory_order_relaxed);
      if (record.iteration > warmup) {
        record.account.count(info);
        if ((record.iteration - warmup) % options_->thin == 0) (*emit_)(record);
      }
      // The clock is asked only now and then: a step may take less time than asking.
      if (record.iteration % 64 == 0 || info.rows_read > 10'000) {
        const auto now = Clock::now();
        if (checkpoint_->save && now - last_save_ >= checkpoint_->every) {
          save();
          last_save_ = now;
        }
        if (now >= until) return false;
      }
    }
    save();
    return true;
  }

 private:
  void save() {
    record_->kernel.clear();
    kernel_.save(record_->kernel);
    if (checkpoint_->save) checkpoint_->save(chain_, *record_);
  }

  K kernel_;
  ChainRecord* record_;
  std::size_t chain_;
  const ChainOptions* options_;
  RunControl* control_;
  const CheckpointOptions* checkpoint_;
  const Emit* emit_;
  std::uint64_t accepted_ = 0;
  Clock::time_point last_save_ = Clock::now();
};

// Chains side by side on `threads` threads. If there are fewer chains than threads, each chain's passes over
// the rows share what is left; if there are more, a thread takes turns with its chains, so that all of them
// have draws whenever the run is stopped. make_kernel(pool) makes a chain's kernel; start(chain) its first
// state; the records are continued where they stand (an empty record is a new chain).
template <NamedModel M, class MakeKernel, class Start>
void run_chains(const M& model, std::size_t threads, const ChainOptions& options,
                std::vector<ChainRecord>& records, RunControl& control, const CheckpointOptions& checkpoint,
                const MakeKernel& make_kernel, const Start& start) {
  records.resize(options.chains);
  const std::size_t side_by_side = std::min(threads, options.chains);
  ThreadPool chains_pool(side_by_side);
  std::vector<std::unique_ptr<ThreadPool>> inner(options.chains);
  for (auto& pool : inner)
    pool = std::make_unique<ThreadPool>(std::max<std::size_t>(1, threads / side_by_side));
  const auto emit = [&](ChainRecord& record) {
    const std::size_t at = record.draws.size();
    record.draws.resize(at + record.dim);
    const Params theta = params(record.state.theta);
    model.to_user(theta, {record.draws.data() + at, record.dim});
    // NaN where the kernel does not know the likelihood: then the prior need not be evaluated.
    const double likelihood = record.state.log_likelihood;
    record.log_posteriors.push_back(std::isnan(likelihood) ? likelihood
                                                           : likelihood + model.log_prior(theta));
  };
  chains_pool.run(side_by_side, [&](std::size_t thread) {
    using Run = ChainRun<decltype(make_kernel(*inner[0])), decltype(emit)>;
    constexpr std::chrono::milliseconds turn{50};
    std::vector<std::unique_ptr<Run>> runs;
    try {
      for (std::size_t chain = thread; chain < options.chains; chain += side_by_side) {
        ChainRecord& record = records[chain];
        if (record.iteration == 0) {
          record.dim = model.dim();
          record.state.theta = start(chain);
        }
        runs.push_back(std::make_unique<Run>(make_kernel(*inner[chain]), record, chain, options, control,
                                             checkpoint, emit));
      }
      while (!runs.empty()) std::erase_if(runs, [&](const auto& run) { return run->advance(turn); });
    } catch (...) {
      // E.g. the disk is full: the other chains end too, with what they have, if they can still save it.
      control.stop = true;
      for (const auto& run : runs) {
        try {
          run->advance(turn);
        } catch (const Error&) {
          continue;  // the first failure is the one to tell
        }
      }
      throw;
    }
  });
}

}  // namespace mlo
