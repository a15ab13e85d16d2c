// Copyright (c) the mlo authors. BSD-3-Clause.
// Special functions per element, each beside its scalar version from the standard library, and random numbers
// per draw. The counter "per" is the time for one element or draw.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/base/special.hpp"

namespace {

constexpr std::size_t kSize = 4096;

void report_per(benchmark::State& state, std::size_t items) {
  using benchmark::Counter;
  state.counters["per"] =
      Counter(static_cast<double>(items), Counter::kIsIterationInvariantRate | Counter::kInvert);
}

// Linear predictors as a logistic regression sees them.
std::vector<double> predictors() {
  std::vector<double> x(kSize);
  mlo::Stream stream({.seed = 1});
  for (double& v : x) v = 3 * mlo::normal(stream);
  return x;
}

std::vector<double> positives() {
  std::vector<double> x = predictors();
  for (double& v : x) v = std::exp(v);
  return x;
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

using Array = void (*)(std::span<const double>, std::span<double>) noexcept;
using Scalar = double (*)(double);
using Arguments = std::vector<double> (*)();

void array(benchmark::State& state, Array f, Arguments arguments) {
  const std::vector<double> x = arguments();
  std::vector<double> out(x.size());
  for ([[maybe_unused]] auto _ : state) {
    f(x, out);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  report_per(state, x.size());
  state.SetLabel(mlo::simd_target());
}

void scalar(benchmark::State& state, Scalar f, Arguments arguments) {
  const std::vector<double> x = arguments();
  std::vector<double> out(x.size());
  for ([[maybe_unused]] auto _ : state) {
    std::transform(x.begin(), x.end(), out.begin(), f);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  report_per(state, x.size());
}

BENCHMARK_CAPTURE(array, exp, mlo::exp, predictors)->Name("base/exp/4096");
BENCHMARK_CAPTURE(scalar, exp, std::exp, predictors)->Name("base/exp/std/4096");
BENCHMARK_CAPTURE(array, log, mlo::log, positives)->Name("base/log/4096");
BENCHMARK_CAPTURE(scalar, log, std::log, positives)->Name("base/log/std/4096");
BENCHMARK_CAPTURE(array, softplus, mlo::softplus, predictors)->Name("base/softplus/4096");
BENCHMARK_CAPTURE(scalar, softplus, softplus, predictors)->Name("base/softplus/std/4096");
BENCHMARK_CAPTURE(array, sigmoid, mlo::sigmoid, predictors)->Name("base/sigmoid/4096");
BENCHMARK_CAPTURE(scalar, sigmoid, sigmoid, predictors)->Name("base/sigmoid/std/4096");

void softplus_difference(benchmark::State& state) {
  const std::vector<double> a = predictors();
  std::vector<double> b = a, out(a.size());
  for (double& v : b) v *= 1.01;
  for ([[maybe_unused]] auto _ : state) {
    mlo::softplus_difference(a, b, out);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  report_per(state, a.size());
  state.SetLabel(mlo::simd_target());
}
BENCHMARK(softplus_difference)->Name("base/softplus_difference/4096");

void sum_softplus(benchmark::State& state) {
  const std::vector<double> x = predictors();
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(mlo::sum_softplus(x));
  report_per(state, x.size());
  state.SetLabel(mlo::simd_target());
}
BENCHMARK(sum_softplus)->Name("base/sum_softplus/4096");

void sum_softplus_std(benchmark::State& state) {
  const std::vector<double> x = predictors();
  for ([[maybe_unused]] auto _ : state) {
    double sum = 0;
    for (const double v : x) sum += softplus(v);
    benchmark::DoNotOptimize(sum);
  }
  report_per(state, x.size());
}
BENCHMARK(sum_softplus_std)->Name("base/sum_softplus/std/4096");

void philox_word(benchmark::State& state) {
  mlo::Stream stream({.seed = 1});
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(stream());
  report_per(state, 1);
}
BENCHMARK(philox_word)->Name("base/philox/word");

void philox_fill(benchmark::State& state) {
  mlo::Stream stream({.seed = 1});
  std::vector<std::uint64_t> words(kSize);
  for ([[maybe_unused]] auto _ : state) {
    stream.fill(words);
    benchmark::DoNotOptimize(words.data());
    benchmark::ClobberMemory();
  }
  report_per(state, words.size());
}
BENCHMARK(philox_fill)->Name("base/philox/fill/4096");

template <class Draw>
void draws(benchmark::State& state, Draw draw) {
  mlo::Stream stream({.seed = 1});
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(draw(stream));
  report_per(state, 1);
}
BENCHMARK_CAPTURE(draws, normal, mlo::normal)->Name("base/normal");
BENCHMARK_CAPTURE(draws, exponential, mlo::exponential)->Name("base/exponential");
BENCHMARK_CAPTURE(draws, uniform, mlo::uniform)->Name("base/uniform");
BENCHMARK_CAPTURE(draws, poisson, [](mlo::Stream& s) {
  return mlo::poisson(s, 3.0);
})->Name("base/poisson/mean:3");
BENCHMARK_CAPTURE(draws, poisson_large, [](mlo::Stream& s) {
  return mlo::poisson(s, 1e3);
})->Name("base/poisson/mean:1000");
BENCHMARK_CAPTURE(draws, bounded, [](mlo::Stream& s) {
  return mlo::bounded(s, 581012);
})->Name("base/bounded/581012");

// What a kernel's step pays: a new stream and a few draws from it.
void fresh_stream(benchmark::State& state) {
  std::uint64_t iteration = 0;
  for ([[maybe_unused]] auto _ : state) {
    mlo::Stream stream({.seed = 1, .chain = 0, .purpose = mlo::Purpose::decision, .iteration = ++iteration});
    benchmark::DoNotOptimize(mlo::exponential(stream));
  }
  report_per(state, 1);
}
BENCHMARK(fresh_stream)->Name("base/exponential/fresh_stream");

void normals(benchmark::State& state) {
  mlo::Stream stream({.seed = 1});
  std::vector<double> out(kSize);
  for ([[maybe_unused]] auto _ : state) {
    mlo::normals(stream, out);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  report_per(state, out.size());
}
BENCHMARK(normals)->Name("base/normals/4096");

}  // namespace
