// Copyright (c) the mlo authors. BSD-3-Clause.
// Predictions: what a row costs over all draws, in parts and as a whole. The time per row is 1 /
// items_per_second.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "mlo/diagnose/predictions.hpp"
#include "mlo/diagnose/quantile.hpp"
#include "mlo/diagnose/scores.hpp"
#include "mlo/diagnose/summary.hpp"

namespace {

constexpr std::size_t draws = 4000, dim = 11, rows = 1024;

std::vector<double> normals(std::size_t count, double sd, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, sd);
  std::vector<double> out(count);
  for (double& value : out) value = normal(random);
  return out;
}

const std::vector<mlo::ChainDraws>& chains() {
  static const std::vector<mlo::ChainDraws> all = [] {
    std::vector<mlo::ChainDraws> out(4);
    std::uint64_t seed = 1;
    for (mlo::ChainDraws& chain : out) {
      chain.dim = dim;
      const std::vector<double> values = normals(draws / 4 * dim, 0.02, ++seed);
      chain.draws.assign(values.begin(), values.end());
      chain.log_posteriors.resize(draws / 4);
    }
    return out;
  }();
  return all;
}

const mlo::PosteriorDraws& posterior() {
  static const mlo::PosteriorDraws all(chains(), dim, false);
  return all;
}

void predictors(benchmark::State& state) {
  const std::vector<double> x = normals(4 * dim, 1, 7), offsets(4, 0.0);
  const std::size_t stride = mlo::PosteriorDraws::padded(draws);
  std::vector<double> eta(4 * stride);
  for ([[maybe_unused]] const auto _ : state) {
    posterior().predictors(x, offsets, 0, draws, stride, eta);
    benchmark::DoNotOptimize(eta.data());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(4 * state.iterations()));
}

void spread(benchmark::State& state) {
  const std::vector<double> values = normals(draws, 1, 8);
  for ([[maybe_unused]] const auto _ : state) benchmark::DoNotOptimize(mlo::spread_of(values));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

void quantiles(benchmark::State& state, bool selected) {
  const std::vector<double> values = normals(draws, 1, 9);
  const mlo::Spread guess = mlo::spread_of(values);
  mlo::QuantileFinder finder(draws, {0.05, 0.95});
  std::array<mlo::OrderPair, 2> found;
  std::vector<double> sorted(draws);
  for ([[maybe_unused]] const auto _ : state) {
    if (selected) {
      finder.find(values, guess, found);
      benchmark::DoNotOptimize(found);
    } else {
      sorted = values;
      std::sort(sorted.begin(), sorted.end());
      benchmark::DoNotOptimize(mlo::quantile(sorted, 0.05) + mlo::quantile(sorted, 0.95));
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

void predictions(benchmark::State& state, const char* family, mlo::PredictionType type) {
  const std::vector<double> x = normals(rows * dim, 1, 10), offsets(rows, 0.0);
  const mlo::Predictor predictor(*mlo::find_family(family), {}, posterior(), {.type = type});
  mlo::ThreadPool pool(1);
  std::vector<mlo::Prediction> out(rows);
  for ([[maybe_unused]] const auto _ : state) {
    predictor.predict(pool, 0, x, offsets, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(rows * state.iterations()));
}

void scores(benchmark::State& state, const char* name) {
  const std::shared_ptr<const mlo::Family> family = mlo::make_family(name);
  const std::vector<double> columns = normals(rows * dim, 1, 11);
  mlo::ScoredRows data;
  data.complete.assign(rows, 1);
  for (std::size_t k = 0; k < rows; ++k) data.y.push_back(static_cast<double>(k % 2));
  data.fill = [&](std::size_t first, std::span<double> x, std::span<double> offsets) {
    std::copy_n(columns.data() + first * dim, x.size(), x.begin());
    std::fill(offsets.begin(), offsets.end(), 0.0);
  };
  mlo::ThreadPool pool(1);
  for ([[maybe_unused]] const auto _ : state)
    benchmark::DoNotOptimize(mlo::score(*family, posterior(), data, pool));
  state.SetItemsProcessed(static_cast<std::int64_t>(rows * state.iterations()));
}

const bool registered = [] {
  const std::string size = "/draws:4000/dim:11";
  using benchmark::RegisterBenchmark;
  using mlo::PredictionType;
  RegisterBenchmark(("predict/predictors" + size).c_str(), predictors);
  RegisterBenchmark("predict/spread/draws:4000", spread);
  RegisterBenchmark("predict/quantiles/draws:4000", quantiles, true);
  RegisterBenchmark("predict/quantiles/draws:4000/sorted", quantiles, false);
  RegisterBenchmark(("predict/link" + size).c_str(), predictions, "logistic", PredictionType::link);
  RegisterBenchmark(("predict/response/logistic" + size).c_str(), predictions, "logistic",
                    PredictionType::response);
  RegisterBenchmark(("predict/response/poisson" + size).c_str(), predictions, "poisson",
                    PredictionType::response);
  RegisterBenchmark(("predict/draw/logistic" + size).c_str(), predictions, "logistic", PredictionType::draw);
  RegisterBenchmark(("score/logistic" + size).c_str(), scores, "logistic");
  RegisterBenchmark(("score/poisson" + size).c_str(), scores, "poisson");
  return true;
}();

}  // namespace
