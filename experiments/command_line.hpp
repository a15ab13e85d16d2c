// Copyright (c) the mlo authors. BSD-3-Clause.
// Options as the command line that has the same effect, so that every number can be reproduced by hand.
#pragma once

#include <string>

#include "mlo/fit/simulate.hpp"
#include "mlo/method/options.hpp"

namespace mlo::experiments {

// Only options that differ from the defaults, quoted for a shell.
[[nodiscard]] std::string command_line(const FitOptions& options);
// `seed` stands for --seed: a number, or a placeholder for one.
[[nodiscard]] std::string command_line(const SimulateOptions& options, const std::string& seed);

}  // namespace mlo::experiments
