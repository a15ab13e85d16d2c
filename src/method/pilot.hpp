// Copyright (c) the mlo authors. BSD-3-Clause.
// A short chain before the others, whose draws are not kept. It finds the centre of the posterior, which is
// far closer to most draws than the mode is where there are many levels, and counts the rows that a sweep
// reads.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <utility>

#include "mlo/base/errors.hpp"
#include "mlo/kernel/kernel.hpp"
#include "mlo/method/watcher.hpp"

namespace mlo {

struct PilotPlan {
  std::size_t sweeps = 160, warmup = 80;  // the first `warmup` do not count
  std::uint64_t seed = 0;
};

struct Pilot {
  Eigen::VectorXd mean;
  Eigen::VectorXd last{};  // draw
  double rows = 0;         // read per sweep
};

// `see` is shown the draws that count.
template <Kernel K, class See>
Pilot run_pilot(K& kernel, Eigen::VectorXd start, const PilotPlan& plan, const SampleWatcher& watcher,
                const See& see) {
  constexpr std::uint64_t chain = std::uint64_t{1} << 40U;  // its random numbers are nobody else's
  ChainState state;
  state.theta = std::move(start);
  Pilot out{.mean = Eigen::VectorXd::Zero(state.theta.size())};
  const auto counted = static_cast<double>(plan.sweeps - plan.warmup);
  for (std::size_t sweep = 0; sweep < plan.sweeps; ++sweep) {
    if (watcher.interrupted()) throw Interrupted();
    if (watcher.phase && sweep % 16 == 0)
      watcher.phase("finding the centre", static_cast<double>(sweep) / static_cast<double>(plan.sweeps));
    const StepInfo info = kernel.step(state, {.seed = plan.seed, .chain = chain, .iteration = sweep});
    if (sweep < plan.warmup) continue;
    see(state.theta);
    out.mean += state.theta / counted;
    out.rows += static_cast<double>(info.rows_read) / counted;
  }
  out.last = std::move(state.theta);
  return out;
}

template <Kernel K>
Pilot run_pilot(K& kernel, Eigen::VectorXd start, const PilotPlan& plan, const SampleWatcher& watcher) {
  return run_pilot(kernel, std::move(start), plan, watcher, [](const Eigen::VectorXd& /*draw*/) {});
}

}  // namespace mlo
