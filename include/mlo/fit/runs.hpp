// Copyright (c) the mlo authors. BSD-3-Clause.
// Finished runs on disk.
#pragma once

#include <string>
#include <vector>

#include "mlo/chain/draws.hpp"
#include "mlo/fit/fit.hpp"
#include "mlo/method/options.hpp"
#include "mlo/report/run_summary.hpp"

namespace mlo {

// The summary of a run directory. Throws DataError: no such directory, not a run, not finished.
[[nodiscard]] RunSummary read_summary(const std::string& run_directory);

// What the posterior says of the effects of groups. Empty if there are none, or nothing was kept of them.
// Throws as read_summary().
[[nodiscard]] std::vector<GroupEffect> read_group_effects(const std::string& run_directory);

// What a run directory holds, its draws too.
struct KeptRun {
  std::string directory;  // "": it is in memory
  FitOptions options;
  std::vector<std::string> names;  // of the parameters
  std::vector<UsedColumn> columns;
  Recipe recipe;
  std::vector<ChainDraws> chains;  // without their accounts
  RunSummary summary;
  std::vector<GroupEffect> effects;        // of groups; empty if there are none, or nothing was kept
  RunFacts facts;                          // empty for runs of earlier versions
  std::string version, simd, fingerprint;  // of mlo, the instruction set and the data

  [[nodiscard]] std::vector<std::string> column_names() const;
};
// Throws DataError as read_summary() does, and for draws that are damaged or missing.
[[nodiscard]] KeptRun read_run(const std::string& run_directory);

// A fit in memory as a run.
[[nodiscard]] KeptRun run_of(FitResult fit);

// All of a run directory, as fit() returned it; the chains are without their accounts. Throws as read_run().
[[nodiscard]] FitResult read_fit(const std::string& run_directory);

// Writes the run directory that `out` would have made. Throws DataError: the directory is not empty, ...
void save_fit(const FitResult& fit, const std::string& run_directory);

}  // namespace mlo
