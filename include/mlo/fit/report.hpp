// Copyright (c) the mlo authors. BSD-3-Clause.
// What a report shows of a fit, or of a run that was kept.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "mlo/fit/fit.hpp"
#include "mlo/fit/runs.hpp"
#include "mlo/report/html.hpp"

namespace mlo {

// How a front end writes the options that messages name in backquotes; empty: as they are.
using Wording = std::function<std::string(std::string_view message)>;

// The command that makes the same draws: mlo fit data.csv "y ~ x" --seed 1, quoted for a shell.
[[nodiscard]] std::string command_of(const FitOptions& options);

// Both refer to the draws, which must outlive the input. The commands in it are those of the command line;
// another front end may replace them.
[[nodiscard]] ReportInput report_input(const FitResult& result, const Wording& wording = {});
[[nodiscard]] ReportInput report_input(const KeptRun& run, const Wording& wording = {});

}  // namespace mlo
