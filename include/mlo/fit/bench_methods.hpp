// Copyright (c) the mlo authors. BSD-3-Clause.
// Methods side by side on the same data, each for the same time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mlo/data/reader.hpp"
#include "mlo/data/table.hpp"
#include "mlo/method/options.hpp"
#include "mlo/report/comparison.hpp"

namespace mlo {

struct BenchOptions {
  // What the methods share: data, model, chains, and warmup and draws as upper limits. Its method is not
  // used.
  FitOptions fit;
  // "mlo", or with options of its own "mlo:subsample-size=5000:weights=score"; empty: all methods.
  std::vector<std::string> methods;
  double seconds = 10;                    // of sampling, at most, for each method
  std::int64_t reference_draws = 25'000;  // per chain, of the posterior that the methods are compared with

  BenchOptions() {
    fit.warmup = 500;
    fit.draws = 50'000;
  }
};

// Both may be empty.
struct BenchWatcher {
  std::function<void(const std::string& method, std::size_t index, std::size_t count)>
      method;                                    // 0: reference
  const std::atomic<bool>* interrupt = nullptr;  // set: end early, keep what is there
};

// Reads options.fit.data, once. If the model or the options do not allow a method, its result says why; an
// error that concerns all methods is thrown, as by fit(). The draws of a method depend on the seed alone, but
// how many there are in the given time depends on the machine.
[[nodiscard]] Comparison bench_methods(const BenchOptions& options, const BenchWatcher& watcher = {});
[[nodiscard]] Comparison bench_methods(const BenchOptions& options, const Table& table,
                                       const BenchWatcher& watcher = {});
// The same for any reader, which must not have read yet.
[[nodiscard]] Comparison bench_methods(const BenchOptions& options, Reader& reader,
                                       const BenchWatcher& watcher = {});

}  // namespace mlo
