// Copyright (c) the mlo authors. BSD-3-Clause.
// A long fit that is made once: its run directory is used if it is finished and continued if it is not.
#pragma once

#include "mlo/registry/fit.hpp"

namespace mlo::experiments {

// Whether options.out holds the finished run of these options. Throws UsageError if it is a run of others.
[[nodiscard]] bool is_finished(const FitOptions& options);

// Throws Interrupted when the fit was; the same call then goes on from where it was.
[[nodiscard]] RunSummary fit_or_continue(FitOptions options, const FitWatcher& watcher);

}  // namespace mlo::experiments
