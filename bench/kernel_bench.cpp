// Copyright (c) the mlo authors. BSD-3-Clause.
// A step of each of the paper's kernels, on the same data with the same proposal; and the cost of seeing a
// model as an AnyModel.
#include <benchmark/benchmark.h>

#include "data.hpp"
#include "method/parts.hpp"
#include "mlo/kernel/decision.hpp"
#include "mlo/kernel/exact.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/kernel/proposal.hpp"
#include "mlo/kernel/subsampled.hpp"
#include "mlo/model/any_model.hpp"
#include "mlo/model/mode.hpp"
#include "mlo/subsample/expansion.hpp"
#include "mlo/subsample/row_source.hpp"
#include "mlo/subsample/weights.hpp"

namespace mlo::bench {
namespace {

struct Fixture {
  Glm model = logistic(d2());
  ModelOf<Glm> model_of{&model};
  const AnyModel& any = model_of;
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
  std::shared_ptr<const Expansion> expansion =
      std::make_shared<const Expansion>(expand(*model.curved(), pool, mode));
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

// The same, put together from a method's parts at run time, as the command does it.
void parts(benchmark::State& state) {
  auto& f = fixture();
  steps(state, SubsampledKernel(f.any, AnyProposal(f.proposal), AnyRows(WithReplacement(f.rows)),
                                AnyRule(FixedSize(static_cast<std::size_t>(state.range(0)))),
                                AnyEstimator(PlainDifference(f.any))));
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

// ---- the seam: one kernel over the model itself and over an AnyModel

template <class M>
void seam_full(benchmark::State& state, const M& model) {
  steps(state, FullKernel(model, fixture().proposal, fixture().pool));
}
template <class M>
void seam_mlo(benchmark::State& state, const M& model, std::size_t subsample) {
  steps(state,
        SubsampledKernel(model, fixture().proposal, WithReplacement(fixture().rows), FixedSize(subsample)));
}
template <class M>
void seam_exact(benchmark::State& state, const M& model) {
  steps(state, ExactKernel(model, fixture().expansion, {}, fixture().pool));
}

// Calls visit(name, function that gives the model): the data are made when the first benchmark runs.
template <class Visit>
void both_ways(const Visit& visit) {
  visit("static", []() -> const Glm& { return fixture().model; });
  visit("any", []() -> const AnyModel& { return fixture().any; });
}

[[maybe_unused]] const bool seam = [] {
  both_ways([](const std::string& way, auto model) {
    const auto add = [&](const std::string& name, auto body) {
      return benchmark::RegisterBenchmark(("kernel/" + name + "/" + way).c_str(), body);
    };
    add("full", [=](benchmark::State& state) { seam_full(state, model()); })->Unit(benchmark::kMillisecond);
    for (const std::size_t subsample : {10U, 1000U})
      add("mlo/rows:" + std::to_string(subsample), [=](benchmark::State& state) {
        seam_mlo(state, model(), subsample);
      })->Unit(benchmark::kMicrosecond);
    add("exact", [=](benchmark::State& state) { seam_exact(state, model()); })->Unit(benchmark::kMicrosecond);
  });
  return true;
}();

}  // namespace
}  // namespace mlo::bench
