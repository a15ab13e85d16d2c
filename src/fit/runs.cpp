// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/runs.hpp"

#include "fit/run_directory.hpp"

namespace mlo {

RunSummary read_summary(const std::string& run_directory) {
  return summary_from_json(RunDirectory::open(run_directory).summary_json(), run_directory + "/run.json");
}

}  // namespace mlo
