// Copyright (c) the mlo authors. BSD-3-Clause.
// Runs chains: warm-up, thinning, parallel chains, interrupts and checkpoints. It prints nothing.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/chain/control.hpp"
#include "mlo/chain/record.hpp"
#include "mlo/kernel/kernel.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

// Where records are saved from time to time; empty: nowhere.
struct CheckpointOptions {
  std::function<void(std::size_t chain, const ChainRecord&)> save;
  std::chrono::milliseconds every{5000};
};

// A running chain, whatever its kernel.
class AnyChain {
 public:
  using Clock = std::chrono::steady_clock;
  AnyChain() = default;
  virtual ~AnyChain() = default;
  AnyChain(const AnyChain&) = delete;
  AnyChain& operator=(const AnyChain&) = delete;

  // Advances the chain. Returns true if the chain has ended or was asked to stop, false if the time slice is
  // over.
  virtual bool advance(Clock::duration slice) = 0;
  // What the kernel promises.
  [[nodiscard]] virtual Promise promise() const = 0;
};

// What a chain needs besides its kernel. All of it outlives the chain.
struct ChainContext {
  ChainRecord* record;
  std::size_t chain;
  const ChainOptions* options;
  RunControl* control;
  const CheckpointOptions* checkpoint;
};

// The loop over steps knows its kernel, and the model that draws are translated by: a step of `exact` takes
// less time than a few calls through a pointer. The rest of a run is compiled once.
template <Kernel K, class M>
class ChainOf final : public AnyChain {
 public:
  ChainOf(K kernel, const M& model, const ChainContext& context)
      : kernel_(std::move(kernel)), model_(&model), c_(context) {
    ChainRecord& record = *c_.record;
    if (record.iteration > 0) kernel_.load(record.kernel);
    c_.control->chains[c_.chain].steps = record.iteration;
    // Room for all draws, up to a size that is no burden if the run ends early.
    const std::size_t room = std::min<std::size_t>(c_.options->draws, 1'000'000);
    record.log_posteriors.reserve(room);
    record.statistics.reserve(room);
    record.draws.reserve(room * record.dim);
  }

  [[nodiscard]] Promise promise() const override { return kernel_.promise(); }

  bool advance(Clock::duration slice) override {
    ChainRecord& record = *c_.record;
    const std::uint64_t steps = c_.options->steps(), warmup = c_.options->warmup, thin = c_.options->thin;
    auto& progress = c_.control->chains[c_.chain];
    since_ = Clock::now();
    const auto until = since_ + slice;
    while (record.iteration < steps && !c_.control->stopped()) {
      if (record.iteration == warmup) {
        count_time(Clock::now());
        kernel_.freeze();
      }
      const StepInfo info = kernel_.step(
          record.state, {.seed = c_.options->seed, .chain = c_.chain, .iteration = record.iteration});
      ++record.iteration;
      // Plain stores: only this thread writes them, and a step may take less time than a locked addition.
      progress.steps.store(record.iteration, std::memory_order_relaxed);
      if (info.steps == 1) {
        accepted_ += info.accepted ? 1 : 0;
      } else {
        share_ += static_cast<double>(info.accepted_steps) / info.steps;
        accepted_ = static_cast<std::uint64_t>(share_);
      }
      progress.accepted.store(accepted_, std::memory_order_relaxed);
      if (record.iteration > warmup) {
        record.account.count(info);
        if (thin == 1) {
          emit(record);
          record.statistics.push_back(DrawStatistics::of(info));
        } else if ((record.iteration - warmup) % thin == 0) {
          emit(record);
          record.statistics.push_back(record.account.since_last_draw());
        }
      } else {
        record.account.bound_violations += info.bound_violations;
      }
      // The clock is read only now and then: a step may take less time than reading it.
      if (record.iteration % 64 == 0 || info.rows_read > 10'000) {
        const auto now = Clock::now();
        count_time(now);
        if (c_.checkpoint->save && now - last_save_ >= c_.checkpoint->every) {
          save();
          last_save_ = now;
        }
        if (now >= until) return false;
      }
    }
    count_time(Clock::now());
    save();
    return true;
  }

 private:
  // The time since the last call is warm-up's or the draws'. The step that follows warm-up is not made yet.
  void count_time(Clock::time_point now) {
    ChainRecord& record = *c_.record;
    const double seconds = std::chrono::duration<double>(now - since_).count();
    (record.iteration > c_.options->warmup ? record.sample_seconds : record.warmup_seconds) += seconds;
    since_ = now;
  }
  // Appends a draw.
  void emit(ChainRecord& record) const {
    const std::size_t at = record.draws.size();
    record.draws.resize(at + record.dim);
    const Params theta = params(record.state.theta);
    model_->to_user(theta, {record.draws.data() + at, record.dim});
    if constexpr (requires { model_->keep_effects(theta, record.effects); })
      model_->keep_effects(theta, record.effects);
    // A kernel that has a polynomial has it for every draw, the likelihood only where it has read all rows:
    // the two are never mixed. NaN where the kernel knows neither: then the prior need not be evaluated.
    const double polynomial = record.state.polynomial, likelihood = record.state.log_likelihood;
    record.log_posteriors.push_back(!std::isnan(polynomial)  ? polynomial
                                    : std::isnan(likelihood) ? likelihood
                                                             : likelihood + model_->log_prior(theta));
  }
  void save() {
    c_.record->kernel.clear();
    kernel_.save(c_.record->kernel);
    if (c_.checkpoint->save) c_.checkpoint->save(c_.chain, *c_.record);
  }

  K kernel_;
  const M* model_;
  ChainContext c_;
  std::uint64_t accepted_ = 0;
  double share_ = 0;  // accepted_, where several steps count as one
  Clock::time_point last_save_ = Clock::now();
  Clock::time_point since_ = last_save_;
};

// Makes a chain; `pool` is for its passes over the rows.
using MakeChain = std::function<std::unique_ptr<AnyChain>(ThreadPool& pool, const ChainContext& context)>;

// Runs chains in parallel on `threads` threads. If there are fewer chains than threads, the other threads
// share the chains' passes over the rows; if there are more, threads take turns with the chains, so that all
// of them have draws whenever the run is stopped. start(chain) is a chain's first state, of `dim` parameters;
// the records are continued from where they are (an empty record is a new chain). Returns what the kernel
// promises about the draws.
Promise run_chains(std::size_t dim, std::size_t threads, const ChainOptions& options,
                   std::vector<ChainRecord>& records, RunControl& control,
                   const CheckpointOptions& checkpoint, const MakeChain& make_chain,
                   const std::function<Eigen::VectorXd(std::size_t chain)>& start);

// The same for the chains of a model. make_kernel(pool) makes a chain's kernel.
template <NamedModel M, class MakeKernel, class Start>
Promise run_chains(const M& model, std::size_t threads, const ChainOptions& options,
                   std::vector<ChainRecord>& records, RunControl& control,
                   const CheckpointOptions& checkpoint, const MakeKernel& make_kernel, const Start& start) {
  using K = decltype(make_kernel(std::declval<ThreadPool&>()));
  const auto make_chain = [&](ThreadPool& pool, const ChainContext& context) -> std::unique_ptr<AnyChain> {
    return std::make_unique<ChainOf<K, M>>(make_kernel(pool), model, context);
  };
  return run_chains(model.dim(), threads, options, records, control, checkpoint, make_chain, start);
}

}  // namespace mlo
