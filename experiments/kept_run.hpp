// Copyright (c) the mlo authors. BSD-3-Clause.
// A long fit that is made only once: if its run directory holds a finished run, that is used; if an
// unfinished one, it is continued.
#pragma once

#include "mlo/fit/fit.hpp"

namespace mlo::experiments {

// Whether options.out holds the finished run of these options. Throws UsageError if it holds a run with other
// options.
[[nodiscard]] bool is_finished(const FitOptions& options);

// Throws Interrupted if the fit was interrupted; the same call then continues it.
[[nodiscard]] RunSummary fit_or_continue(FitOptions options, const FitWatcher& watcher);

}  // namespace mlo::experiments
