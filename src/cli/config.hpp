// Copyright (c) the mlo authors. BSD-3-Clause.
// mlo fit --config FILE: the file's options are added to the command line, where they are parsed like all
// others.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mlo::cli {

// The options of the file that --config names; empty without it.
struct Config {
  std::string file;
  std::vector<std::string> arguments;  // as on the command line, without those that are there already

  // If a message is about one of these options, puts the file's name before it.
  [[nodiscard]] std::string explain(std::string message) const;
};

// `typed` is the command line without the program's name. Throws DataError if the file cannot be read,
// UsageError if it is not TOML or names an option that `fit` does not have.
[[nodiscard]] Config read_config(const std::vector<std::string>& typed, const CLI::App& fit);

}  // namespace mlo::cli
