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

// Continues one chain to its end, or until control.stop. The record's draws are in the user's parameters.
template <Kernel K, class Emit>
void run_chain(K& kernel, ChainRecord& record, std::size_t chain, const ChainOptions& options,
               RunControl& control, const CheckpointOptions& checkpoint, const Emit& emit) {
  if (record.iteration > 0) kernel.load(record.kernel);
  auto& progress = control.chains[chain];
  progress.steps = record.iteration;
  const auto save = [&] {
    record.kernel.clear();
    kernel.save(record.kernel);
    if (checkpoint.save) checkpoint.save(chain, record);
  };
  auto last_save = std::chrono::steady_clock::now();
  std::uint64_t accepted = 0;
  const std::uint64_t steps = options.steps();
  // Room for all draws, up to a size that is no burden if the run ends early.
  const std::size_t room = std::min<std::size_t>(options.draws, 1'000'000);
  record.log_posteriors.reserve(room);
  record.draws.reserve(room * record.dim);
  while (record.iteration < steps && !control.stopped()) {
    if (record.iteration == options.warmup) kernel.freeze();
    const StepInfo info =
        kernel.step(record.state, {.seed = options.seed, .chain = chain, .iteration = record.iteration});
    ++record.iteration;
    // Plain stores: only this thread writes them, and a step may take less time than a locked addition.
    progress.steps.store(record.iteration, std::memory_order_relaxed);
    accepted += info.accepted ? 1 : 0;
    progress.accepted.store(accepted, std::memory_order_relaxed);
    if (record.iteration > options.warmup) {
      record.account.count(info);
      if ((record.iteration - options.warmup) % options.thin == 0) emit(record);
    }
    // The clock is asked only now and then: a step may take less time than asking.
    if (checkpoint.save && (record.iteration % 64 == 0 || info.rows_read > 10'000)) {
      const auto now = std::chrono::steady_clock::now();
      if (now - last_save >= checkpoint.every) {
        save();
        last_save = now;
      }
    }
  }
  save();
}

// Chains side by side on `threads` threads. If there are fewer chains than threads, each chain's passes over
// the rows share what is left. make_kernel(pool) makes a chain's kernel; start(chain) its first state; the
// records are continued where they stand (an empty record is a new chain).
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
  chains_pool.run(options.chains, [&](std::size_t chain) {
    ChainRecord& record = records[chain];
    if (record.iteration == 0) {
      record.dim = model.dim();
      record.state.theta = start(chain);
    }
    auto kernel = make_kernel(*inner[chain]);
    try {
      run_chain(kernel, record, chain, options, control, checkpoint, emit);
    } catch (...) {
      control.stop = true;  // e.g. the disk is full: the other chains end too, with what they have
      throw;
    }
  });
}

}  // namespace mlo
