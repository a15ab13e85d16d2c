// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/runs.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "fit/group_files.hpp"
#include "fit/run_directory.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/files.hpp"
#include "mlo/base/special.hpp"
#include "mlo/report/stan_csv.hpp"

namespace mlo {

RunSummary read_summary(const std::string& run_directory) {
  return summary_from_json(RunDirectory::open(run_directory).summary_json(), run_directory + "/run.json");
}

std::vector<std::string> KeptRun::column_names() const {
  std::vector<std::string> out;
  for (const UsedColumn& column : columns) out.push_back(column.name);
  return out;
}

std::vector<GroupEffect> read_group_effects(const std::string& run_directory) {
  static_cast<void>(RunDirectory::open(run_directory).summary_json());  // it must be finished
  return read_groups(run_directory);
}

KeptRun read_run(const std::string& run_directory) {
  const RunDirectory directory = RunDirectory::open(run_directory);
  KeptRun run;
  run.directory = run_directory;
  run.summary = summary_from_json(directory.summary_json(), run_directory + "/run.json");
  run.options = directory.options();
  if (!run.options.seed)
    throw DataError(run_directory + "/run.json", "not a run of mlo: its options have no seed");
  for (const ParameterSummary& p : run.summary.parameters) run.names.push_back(p.name);
  run.columns = directory.columns();
  run.recipe = directory.recipe();
  run.facts = directory.facts(run.names.size());
  run.version = directory.version();
  run.simd = directory.simd();
  run.fingerprint = fmt::format("{:016x}", directory.fingerprint());
  for (std::uint64_t chain = 0; chain < run.summary.chains; ++chain) {
    const std::string file = fmt::format("{}/draws-{}.csv", run_directory, chain + 1);
    run.chains.push_back(draws_of_stan_csv(read_file(file), file, run.names.size()));
  }
  run.effects = read_groups(run_directory);
  read_effects(run_directory, run.effects.size(), run.chains);
  // Runs of mlo 0.1 have none.
  if (const std::string file = run_directory + "/statistics.csv"; std::filesystem::exists(file))
    add_statistics(read_file(file), file, run.chains);
  return run;
}

KeptRun run_of(FitResult fit) {
  return {.directory = {},
          .options = std::move(fit.options),
          .names = std::move(fit.names),
          .columns = std::move(fit.columns),
          .recipe = std::move(fit.recipe),
          .chains = std::move(fit.chains),
          .summary = std::move(fit.summary),
          .effects = std::move(fit.effects),
          .facts = std::move(fit.facts),
          .version = version(),
          .simd = simd_target(),
          .fingerprint = fmt::format("{:016x}", fit.fingerprint)};
}

FitResult read_fit(const std::string& run_directory) {
  const RunDirectory directory = RunDirectory::open(run_directory);
  KeptRun run = read_run(run_directory);
  FitResult fit;
  fit.names = std::move(run.names);
  fit.columns = std::move(run.columns);
  fit.recipe = std::move(run.recipe);
  fit.chains = std::move(run.chains);
  fit.summary = std::move(run.summary);
  fit.effects = std::move(run.effects);
  fit.facts = std::move(run.facts);
  fit.options = std::move(run.options);
  fit.fingerprint = directory.fingerprint();
  return fit;
}

void save_fit(const FitResult& fit, const std::string& run_directory) {
  RunDirectory::create(run_directory, RunDirectory::Purpose::save).finish(fit.options, fit.fingerprint, fit);
}

}  // namespace mlo
