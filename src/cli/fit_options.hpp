// Copyright (c) the mlo authors. BSD-3-Clause.
// Puts the table of options on the command line.
#pragma once

#include <functional>
#include <memory>

#include "mlo/method/option_table.hpp"

namespace CLI {
class App;
}

namespace mlo::cli {

// Adds the options of the table for which `wanted` holds. `options` must outlive the parsing.
void add_options(CLI::App& c, FitOptions& options, const std::function<bool(const Option&)>& wanted);

}  // namespace mlo::cli
