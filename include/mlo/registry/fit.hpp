// Copyright (c) the mlo authors. BSD-3-Clause.
// From a file or a table to a posterior: the one function behind every front end.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/chain/run.hpp"
#include "mlo/data/table.hpp"
#include "mlo/registry/options.hpp"
#include "mlo/report/run_summary.hpp"

namespace mlo {

// How a front end watches a fit. Every member may be empty.
struct FitWatcher {
  std::function<void(const std::string& phase, double share)> phase;     // "reading flights.csv", 0..1
  std::function<void(const RunControl&, const ChainOptions&)> sampling;  // before the first step
  std::function<void()> sampled;                                         // after the last
  std::function<void(const std::string& note)> note;                     // e.g. the seed that was drawn
  const std::atomic<bool>* interrupt = nullptr;  // set: end early, keep what was drawn
};

struct FitResult {
  std::vector<std::string> names;
  std::vector<ChainRecord> chains;
  RunSummary summary;
};

// Thrown when an interrupt came before there was anything to keep.
class Interrupted : public Error {
 public:
  explicit Interrupted(const std::string& message = "interrupted before the first draw: nothing to keep")
      : Error(ExitCode::interrupted, message) {}
};

// Reads options.data. With options.out, writes the run directory there (or continues it, with
// options.resume).
[[nodiscard]] FitResult fit(const FitOptions& options, const FitWatcher& watcher = {});

// The same for columns in memory; options.data is only a name, options.out must be empty.
[[nodiscard]] FitResult fit(const FitOptions& options, Table table, const FitWatcher& watcher = {});

[[nodiscard]] const char* version();

}  // namespace mlo
