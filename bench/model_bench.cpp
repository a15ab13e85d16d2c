// Copyright (c) the mlo authors. BSD-3-Clause.
// A pass over the data, and finding the mode in units of passes.
#include <benchmark/benchmark.h>

#include "data.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/model/mode.hpp"

namespace mlo::bench {
namespace {

const Glm& covertype() {
  static const Glm model = logistic(d2());
  return model;
}

Eigen::VectorXd some_point() { return Eigen::VectorXd::Constant(covertype_dim, 0.1); }

void pass(benchmark::State& state) {
  const auto& model = covertype();
  ThreadPool pool(static_cast<std::size_t>(state.range(0)));
  const Eigen::VectorXd theta = some_point();
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(log_likelihood(model, pool, params(theta)));
  state.counters["ns_per_row"] =
      benchmark::Counter(static_cast<double>(covertype_rows) * 1e-9,
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(pass)
    ->Name("model/pass/logistic/rows:581012/dim:11/threads")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void derivatives(benchmark::State& state) {
  const auto& model = covertype();
  ThreadPool pool(static_cast<std::size_t>(state.range(0)));
  const Eigen::VectorXd theta = some_point();
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(sum_derivatives(model, pool, params(theta), Rows::range(0, model.rows())).value);
  }
}
BENCHMARK(derivatives)
    ->Name("model/derivatives/logistic/rows:581012/dim:11/threads")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void mode(benchmark::State& state) {
  const auto& model = covertype();
  ThreadPool pool(static_cast<std::size_t>(state.range(0)));
  double passes = 0;
  for ([[maybe_unused]] auto _ : state) passes = find_mode(model, pool).passes;
  state.counters["passes_with_derivatives"] = passes;
}
BENCHMARK(mode)
    ->Name("model/mode/logistic/rows:581012/dim:11/threads")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mlo::bench
