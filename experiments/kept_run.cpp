// Copyright (c) the mlo authors. BSD-3-Clause.
#include "experiments/kept_run.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "mlo/base/errors.hpp"
#include "mlo/base/files.hpp"
#include "mlo/base/json.hpp"
#include "mlo/fit/runs.hpp"
#include "mlo/method/option_table.hpp"

namespace mlo::experiments {
namespace {

// The status in run.json; empty if there is none. The first option that differs is named.
std::optional<std::string> status_of(const FitOptions& options) {
  const std::string file = options.out + "/run.json";
  if (!std::filesystem::exists(file)) return {};
  try {
    const Json run = Json::parse(read_file(file));
    const Json ours = Json::parse(options_to_json(options)), &theirs = run.at("options");
    for (const auto& [name, value] : ours.members())
      if (!theirs.contains(name) || theirs.at(name) != value)
        throw UsageError(fmt::format(
            "`out`: {} is a run with other settings ({}: {} there, {} here); choose another directory or "
            "remove it",
            options.out, name, theirs.contains(name) ? theirs.at(name).dump() : "nothing", value.dump()));
    return run.get<std::string>("status");
  } catch (const JsonError& e) {
    throw DataError(file, std::string("not a run of mlo: ") + e.what());
  }
}

}  // namespace

bool is_finished(const FitOptions& options) { return status_of(options) == "finished"; }

RunSummary fit_or_continue(FitOptions options, const FitWatcher& watcher) {
  const auto status = status_of(options);
  if (status == "finished") return read_summary(options.out);
  options.resume = status.has_value();
  const std::string go_on = fmt::format(
      "interrupted; what was drawn is kept in {}, and the same command goes on from there", options.out);
  try {
    FitResult result = fit(options, watcher);
    if (result.summary.interrupted) throw Interrupted(go_on);
    return std::move(result.summary);
  } catch (const Interrupted&) {
    throw Interrupted(go_on);
  }
}

}  // namespace mlo::experiments
