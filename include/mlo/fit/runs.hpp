// Copyright (c) the mlo authors. BSD-3-Clause.
// Finished runs on disk.
#pragma once

#include <string>

#include "mlo/report/run_summary.hpp"

namespace mlo {

// The summary of a run directory. Throws DataError: no such directory, not a run, not finished.
[[nodiscard]] RunSummary read_summary(const std::string& run_directory);

}  // namespace mlo
