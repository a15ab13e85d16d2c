// Copyright (c) the mlo authors. BSD-3-Clause.
// Chains whose steps are timed: what the benchmarks of `exact` share. One thread is timed by its CPU time, so
// that other users of the machine count for less; several by the clock.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "mlo/base/timer.hpp"
#include "mlo/chain/run.hpp"
#include "mlo/diagnose/summary.hpp"
#include "mlo/model/mode.hpp"

namespace mlo::bench {

// CPU seconds of this program, all threads together.
class CpuTimer {
 public:
  [[nodiscard]] double seconds() const { return now() - started_; }

 private:
  static double now() {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  double started_ = now();
};

struct Figures {
  double step_us = 0, rows = 0, acceptance = 0, ess_per_second = 0, ess_per_step = 0;
  std::uint64_t violations = 0;
};

template <class M, class MakeKernel>
Figures measure(const M& model, const Mode& mode, std::size_t threads, std::size_t chains, std::size_t warmup,
                std::size_t draws, const MakeKernel& make_kernel, bool rehearse = true) {
  RunControl control(chains);
  const ChainOptions warm{.seed = 1, .chains = chains, .warmup = warmup, .draws = 0};
  ChainOptions options = warm;
  options.draws = draws;
  const auto start = [&](std::size_t) { return mode.theta; };
  std::vector<ChainRecord> records;
  if (rehearse) {
    // The measured run reuses the memory of a trial run: at 0.1 us per step, the time that the system takes
    // to clear new pages would be a third of the result.
    run_chains(model, threads, options, records, control, {}, make_kernel, start);
    for (ChainRecord& record : records) {
      ChainRecord fresh;
      fresh.draws = std::move(record.draws);
      fresh.log_posteriors = std::move(record.log_posteriors);
      fresh.statistics = std::move(record.statistics);
      fresh.draws.clear();
      fresh.statistics.clear();
      fresh.log_posteriors.clear();
      record = std::move(fresh);
    }
  }
  run_chains(model, threads, warm, records, control, {}, make_kernel, start);
  const CpuTimer cpu;
  const Timer elapsed;
  run_chains(model, threads, options, records, control, {}, make_kernel, start);
  const double seconds = threads == 1 ? cpu.seconds() : elapsed.seconds();
  Figures f;
  double ess = INFINITY;
  for (const ParameterSummary& p : summarise(std::vector<std::string>(model.dim()), records))
    ess = std::min(ess, p.ess_bulk);
  double steps = 0;
  for (const ChainRecord& record : records) {
    const ChainAccount& a = record.account;
    steps += static_cast<double>(a.steps);
    f.rows += static_cast<double>(a.rows_read);
    f.acceptance += static_cast<double>(a.accepted);
    f.violations += a.bound_violations;
  }
  f.rows /= steps;
  f.acceptance /= steps;
  f.step_us = 1e6 * seconds * static_cast<double>(std::min(threads, chains)) / steps;
  f.ess_per_second = ess / seconds;
  f.ess_per_step = ess / steps;
  return f;
}

inline void print(const std::string& name, const std::string& method, const Figures& f) {
  fmt::print(
      "{:<28} {:<22} {:>10.3f} us/step {:>10.3f} rows/step  acceptance {:.3f}  ESS/step {:.3f}  {:>12.0f} "
      "ESS/s  violations {}\n",
      name, method, f.step_us, f.rows, f.acceptance, f.ess_per_step, f.ess_per_second, f.violations);
  std::fflush(stdout);
}

}  // namespace mlo::bench
