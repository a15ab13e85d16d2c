// Copyright (c) the mlo authors. BSD-3-Clause.
// mlo fit --config FILE: the file's options are put on the command line, where they are parsed like all
// others.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mlo::cli {

// The arguments (without the program's name) with the options of the file that --config names, if any,
// inserted after the command. An option that is on the command line already is left as it is there. Throws
// DataError if the file cannot be read, UsageError if it is not TOML or names an option that `fit` has not.
[[nodiscard]] std::vector<std::string> with_config(std::vector<std::string> arguments, const CLI::App& fit);

}  // namespace mlo::cli
