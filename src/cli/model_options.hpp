// Copyright (c) the mlo authors. BSD-3-Clause.
// The options that say what model is fitted: the same for every command that fits one.
#pragma once

#include "mlo/registry/options.hpp"

namespace CLI {
class App;
}

namespace mlo::cli {

void add_data_arguments(CLI::App& c, FitOptions& o);
void add_model_options(CLI::App& c, FitOptions& o);

}  // namespace mlo::cli
