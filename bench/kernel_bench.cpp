// Copyright (c) the mlo authors. BSD-3-Clause.
// A step of each of the paper's kernels, on the same data with the same proposal.
#include <benchmark/benchmark.h>

#include "data.hpp"
#include "mlo/kernel/decision.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/kernel/proposal.hpp"
#include "mlo/kernel/subsampled.hpp"
#include "mlo/model/mode.hpp"
#include "mlo/subsample/row_source.hpp"
#include "mlo/subsample/weights.hpp"
#include "registry/parts.hpp"

namespace mlo::bench {
namespace {

struct Fixture {
  Glm<Logistic> model = logistic(d2());
  ThreadPool pool{1};
  Mode mode = find_mode(model, pool);
  std::shared_ptr<const WeightedRows> rows = std::make_shared<const WeightedRows>(
      subsampling_probabilities(model, pool, Weights::mlo, params(mode.theta), mode.information, 1e-3));
  RandomWalkProposal proposal{
      2.38 / std::sqrt(static_cast<double>(covertype_dim)) *
      Laplace(mode.theta, mode.information)
          .cholesky.transpose()
          .triangularView<Eigen::Upper>()
          .solve(Eigen::MatrixXd(Eigen::MatrixXd::Identity(covertype_dim, covertype_dim)))};
};
Fixture& fixture() {
  static Fixture f;
  return f;
}

template <class K>
void steps(benchmark::State& state, K kernel) {
  ChainState chain;
  chain.theta = fixture().mode.theta;
  std::uint64_t k = 0, rows = 0;
  for ([[maybe_unused]] auto _ : state)
    rows += kernel.step(chain, {.seed = 1, .chain = 0, .iteration = k++}).rows_read;
  state.counters["rows_per_step"] = static_cast<double>(rows) / static_cast<double>(k);
}

void full(benchmark::State& state) {
  auto& f = fixture();
  ThreadPool pool(static_cast<std::size_t>(state.range(0)));
  steps(state, FullKernel(f.model, f.proposal, pool));
}
BENCHMARK(full)
    ->Name("kernel/full/logistic/rows:581012/dim:11/threads")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void mlo(benchmark::State& state) {
  auto& f = fixture();
  steps(state, SubsampledKernel(f.model, f.proposal, WithReplacement(f.rows),
                                FixedSize(static_cast<std::size_t>(state.range(0)))));
}
BENCHMARK(mlo)
    ->Name("kernel/mlo/logistic/rows:581012/dim:11/subsample")
    ->Arg(10)
    ->Arg(1000)
    ->Arg(14'000)
    ->Unit(benchmark::kMicrosecond);

// The same, of the registry's parts, which are variants: what it costs to be of any kind.
void parts(benchmark::State& state) {
  auto& f = fixture();
  steps(state, SubsampledKernel(f.model, AnyProposal(f.proposal), AnyRows(WithReplacement(f.rows)),
                                AnyRule(FixedSize(static_cast<std::size_t>(state.range(0)))),
                                AnyEstimator<Glm<Logistic>>(PlainDifference(f.model))));
}
BENCHMARK(parts)
    ->Name("kernel/mlo-of-parts/logistic/rows:581012/dim:11/subsample")
    ->Arg(10)
    ->Arg(1000)
    ->Arg(14'000)
    ->Unit(benchmark::kMicrosecond);

void uniform(benchmark::State& state) {
  auto& f = fixture();
  steps(state, SubsampledKernel(f.model, f.proposal, WithoutReplacement(f.model.rows()),
                                FixedSize(static_cast<std::size_t>(state.range(0)))));
}
BENCHMARK(uniform)
    ->Name("kernel/uniform/logistic/rows:581012/dim:11/subsample")
    ->Arg(14'000)
    ->Unit(benchmark::kMillisecond);

void mlo_adaptive(benchmark::State& state) {
  auto& f = fixture();
  steps(state, SubsampledKernel(f.model, f.proposal, WithReplacement(f.rows),
                                AdaptiveSize({.pilot = 1000, .max = 20'000})));
}
BENCHMARK(mlo_adaptive)
    ->Name("kernel/mlo-adaptive/logistic/rows:581012/dim:11")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mlo::bench
