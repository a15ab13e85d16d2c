// Copyright (c) the mlo authors. BSD-3-Clause.
// One run in progress: what every method shares. A method's own part is a function of this (run_*.cpp), named
// by its row in methods.cpp.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "method/jumps.hpp"
#include "method/proposals.hpp"
#include "method/rules.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/timer.hpp"
#include "mlo/chain/run.hpp"
#include "mlo/chain/start.hpp"
#include "mlo/method/sample.hpp"

namespace mlo {

// A kernel with its state and, for its passes over the rows, its threads.
template <Kernel K>
class SteppedOf final : public SteppedChain {
 public:
  template <class MakeKernel>
  SteppedOf(const MakeKernel& make_kernel, std::size_t threads, const StepId& first, Eigen::VectorXd start)
      : pool_(threads), kernel_(make_kernel(pool_)), id_(first) {
    state_.theta = std::move(start);
  }
  StepInfo step() override {
    const StepInfo info = kernel_.step(state_, id_);
    ++id_.iteration;
    return info;
  }
  void freeze() override { kernel_.freeze(); }
  [[nodiscard]] Promise promise() const override { return kernel_.promise(); }
  [[nodiscard]] const ChainState& state() const override { return state_; }
  void set(Eigen::VectorXd theta) override { state_ = {.theta = std::move(theta)}; }
  [[nodiscard]] std::uint64_t steps() const override { return id_.iteration; }

 private:
  ThreadPool pool_;
  K kernel_;
  StepId id_;
  ChainState state_;
};

class Sampler {
 public:
  // Finds the mode, or the modes.
  Sampler(const AnyModel& model, const Plan& plan, const SampleWatcher& watcher, Keeping keeping);

  [[nodiscard]] const AnyModel& model() const noexcept { return model_; }
  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
  [[nodiscard]] const SampleWatcher& watcher() const noexcept { return watcher_; }
  [[nodiscard]] ThreadPool& pool() noexcept { return pool_; }
  [[nodiscard]] const Mode& mode() const noexcept { return map_; }
  // All that were found; mode() is the highest.
  [[nodiscard]] const Modes& modes() const noexcept { return modes_; }
  [[nodiscard]] const Laplace& laplace() const noexcept { return laplace_; }
  // Empty: the likelihood is not a function of a few sums.
  [[nodiscard]] const SummedLikelihood& summed() const noexcept { return summed_; }
  [[nodiscard]] const std::vector<ChainRecord>& records() const noexcept { return keeping_.records; }
  [[nodiscard]] Samples& out() noexcept { return out_; }

  void note(std::string text);
  // With jumps between the modes, if there are several.
  [[nodiscard]] AnyProposal make(const ProposalPlan& plan) const {
    return with_jumps(make_proposal(plan, laplace_, jacobian_), modes_);
  }
  void note_proposal(const ProposalPlan& plan) {
    note(proposal_words(plan));
    if (modes_.several()) note(jump_words(modes_));
  }
  // The same, with a note.
  [[nodiscard]] AnyProposal proposal_of(const ProposalPlan& plan) {
    note_proposal(plan);
    return make(plan);
  }
  // The steps of four chains, however many there are: a chain must not depend on the number of others.
  [[nodiscard]] double steps() const { return 4 * static_cast<double>(plan_.chain.steps()); }
  [[noreturn]] void refuse(const std::string& what) const {
    throw UsageError(fmt::format(
        "`method {}` needs {}, which this model does not have; use `method full` or `method auto`",
        out_.method->name, what));
  }

  // Runs or continues the chains; make_kernel(pool) makes a chain's kernel. From here on only the sampling
  // itself can fail.
  template <class MakeKernel>
  void run(const MakeKernel& make_kernel) {
    before_sampling();
    if (keeping_.stepped != nullptr) {
      using K = decltype(make_kernel(pool_));
      const std::size_t chain = keeping_.stepped_chain;
      *keeping_.stepped = std::make_unique<SteppedOf<K>>(
          make_kernel, plan_.threads, StepId{.seed = plan_.chain.seed, .chain = chain, .iteration = 0},
          start(chain));
      return;
    }
    RunControl control(plan_.chain.chains, watcher_.interrupt);
    for (std::size_t c = 0; c < keeping_.records.size(); ++c)
      control.chains[c].steps = keeping_.records[c].iteration;
    const Timer sampling;
    if (watcher_.sampling) watcher_.sampling(control, plan_.chain);
    const auto finish = [&] {
      if (watcher_.sampled) watcher_.sampled();
      out_.sample_seconds = sampling.seconds();
    };
    try {
      out_.promise =
          run_chains(model_, plan_.threads, plan_.chain, keeping_.records, control, keeping_.checkpoint,
                     make_kernel, [&](std::size_t chain) { return start(chain); });
    } catch (...) {
      finish();
      throw;
    }
    finish();
    complete_log_posteriors();
  }

  [[nodiscard]] Samples finish();

 private:
  void before_sampling();
  // Where the kernel does not know the log posterior of its draws: by the quadratic expansion of the
  // log-likelihood about the mode. No row is read.
  void complete_log_posteriors();
  [[nodiscard]] Eigen::VectorXd start(std::size_t chain) const;

  const Timer timer_;
  const AnyModel& model_;
  const Plan& plan_;
  const SampleWatcher& watcher_;
  Keeping keeping_;
  ThreadPool pool_;
  Modes modes_;
  Mode map_;
  Laplace laplace_;
  Eigen::MatrixXd jacobian_;  // of the user's parameters at the mode
  SummedLikelihood summed_;
  Samples out_;
};

}  // namespace mlo
