// Copyright (c) the mlo authors. BSD-3-Clause.
// Softmax regression on Covertype: 581,012 rows, 7 classes, 10 numeric columns, 66 parameters. Effective
// draws per second of `exact` at both orders, and of `full` with the same proposal in the same run; one core,
// by the processor's time, because machines are shared.
//   bench_softmax FILE.csv.gz [--steps N] [--full-steps N]
#include "mlo/model/softmax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/chain/run.hpp"
#include "mlo/data/csv.hpp"
#include "mlo/data/reader.hpp"
#include "mlo/diagnose/summary.hpp"
#include "mlo/kernel/exact.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/subsample/class_expansion.hpp"

namespace mlo::bench {
namespace {

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Figures {
  double step_us = 0, rows = 0, acceptance = 0, least_ess = 0, median_ess = 0;  // effective draws per second
  double worst_rhat = 0;
  std::uint64_t violations = 0;
};

template <class MakeKernel>
Figures measure(const Softmax& model, const Mode& mode, std::size_t warmup, std::size_t draws,
                const MakeKernel& make_kernel) {
  RunControl control(1);
  const ChainOptions warm{.seed = 1, .chains = 1, .warmup = warmup, .draws = 0};
  ChainOptions options = warm;
  options.draws = draws;
  const auto start = [&](std::size_t) { return mode.theta; };
  std::vector<ChainRecord> records;
  run_chains(model, 1, warm, records, control, {}, make_kernel, start);
  const double before = processor_seconds();
  run_chains(model, 1, options, records, control, {}, make_kernel, start);
  const double seconds = processor_seconds() - before;
  Figures f;
  std::vector<double> ess;
  for (const ParameterSummary& p : summarise(model.names(), records)) {
    ess.push_back(p.ess_bulk);
    f.worst_rhat = std::max(f.worst_rhat, p.rhat);
  }
  std::sort(ess.begin(), ess.end());
  const ChainAccount& a = records[0].account;
  const auto steps = static_cast<double>(a.steps);
  f.rows = static_cast<double>(a.rows_read) / steps;
  f.acceptance = static_cast<double>(a.accepted) / steps;
  f.violations = a.bound_violations;
  f.step_us = 1e6 * seconds / steps;
  f.least_ess = ess.front() / seconds;
  f.median_ess = ess[ess.size() / 2] / seconds;
  return f;
}

void print(const std::string& method, const Figures& f) {
  fmt::print(
      "{:<8} {:>10.2f} us/step {:>10.1f} rows/step  acceptance {:.3f}  ESS/s least {:.0f}, median {:.0f}  "
      "R-hat at most {:.3f}  violations {}\n",
      method, f.step_us, f.rows, f.acceptance, f.least_ess, f.median_ess, f.worst_rhat, f.violations);
  std::fflush(stdout);
}

int main(int argc, char** argv) {
  std::string file;
  std::size_t steps = 100'000, full_steps = 300;
  for (int k = 1; k < argc; ++k) {
    const std::string argument = argv[k];
    if (argument == "--steps" && k + 1 < argc) {
      steps = std::strtoull(argv[++k], nullptr, 10);
    } else if (argument == "--full-steps" && k + 1 < argc) {
      full_steps = std::strtoull(argv[++k], nullptr, 10);
    } else {
      file = argument;
    }
  }
  if (file.empty()) {
    fmt::print(stderr, "bench_softmax FILE.csv.gz [--steps N] [--full-steps N]\n");
    return 2;
  }
  const auto reader = open_reader({file});
  std::string right;
  for (std::size_t j = 0; j < 10; ++j) right += (j == 0 ? "" : " + ") + reader->header().at(j);
  const Formula formula = parse_formula(reader->header().back() + " ~ " + right, reader->header());
  Design design = build_design(formula, reader->read(formula.columns()), {});
  ResponseClasses classes = classes_of(design);
  Layout layout = Softmax::layout_of(design, classes.names);
  const Softmax model(std::move(design), std::move(classes), std::move(layout));
  ThreadPool pool(1);
  double before = processor_seconds();
  const Mode mode = find_mode(model, pool);
  fmt::print("n = {}, {} classes, {} parameters; mode {:.2f} s, {:.2f} passes\n", model.rows(),
             model.others() + 1, model.dim(), processor_seconds() - before, mode.passes);
  Figures best;
  for (const int order : {2, 3}) {
    before = processor_seconds();
    const auto expansion = std::make_shared<const ClassExpansion>(
        expand_classes(model, pool, mode, {.order = order, .steps = static_cast<double>(steps)}));
    fmt::print("order {}: set-up {:.2f} s; {:.1f} rows drawn and {} always read expected\n", order,
               processor_seconds() - before, expansion->expected_draws(), expansion->always_read());
    const Figures f = measure(model, mode, 2000, steps, [&](ThreadPool& chain_pool) {
      return ExactKernel(model, expansion, {.proposal = {.most_walks = most_class_walks}}, chain_pool);
    });
    print(fmt::format("exact {}", order), f);
    if (f.least_ess > best.least_ess) best = f;
  }
  const Laplace laplace(mode.theta, mode.information);
  const Figures full = measure(model, mode, 50, full_steps, [&](ThreadPool& chain_pool) {
    return FullKernel(model, LaplaceProposal(laplace, {.step = 1, .local_share = 0.01}), chain_pool);
  });
  print("full", full);
  fmt::print("exact / full: {:.0f} by step, {:.0f} by the median of effective draws\n",
             full.step_us / best.step_us, best.median_ess / full.median_ess);
  return 0;
}

}  // namespace
}  // namespace mlo::bench

int main(int argc, char** argv) { return mlo::bench::main(argc, argv); }
