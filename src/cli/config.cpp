// Copyright (c) the mlo authors. BSD-3-Clause.
#include "cli/config.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "mlo/base/errors.hpp"
#include "mlo/base/files.hpp"

namespace mlo::cli {
namespace {

std::string config_file(const std::vector<std::string>& arguments) {
  const std::string option = "--config";
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    if (arguments[k] == option && k + 1 < arguments.size()) return arguments[k + 1];
    if (arguments[k].rfind(option + "=", 0) == 0) return arguments[k].substr(option.size() + 1);
  }
  return {};
}

bool given(const std::vector<std::string>& arguments, const std::string& option) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    return argument == option || argument.rfind(option + "=", 0) == 0;
  });
}

}  // namespace

std::vector<std::string> with_config(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments[0] != "fit") return arguments;
  const std::string file = config_file(arguments);
  if (file.empty()) return arguments;
  std::istringstream text(read_file(file));
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(text);
  } catch (const CLI::Error& e) {
    throw UsageError(file + ": " + e.what());
  }
  std::vector<std::string> added;
  for (const CLI::ConfigItem& item : items) {
    if (item.name == "++" || item.name == "--") continue;  // how the parser marks a section's begin and end
    if (!item.parents.empty() && item.parents != std::vector<std::string>{"fit"})
      throw UsageError(file + ": unknown section [" + item.parents[0] +
                       "]; options stand at the top or under [fit]");
    const std::string option = "--" + item.name;
    if (item.inputs.empty() || item.name.empty())
      throw UsageError(file + ": \"" + item.name + "\" has no value; write name = value");
    if (given(arguments, option)) continue;
    const bool flag = item.inputs.size() == 1 && (item.inputs[0] == "true" || item.inputs[0] == "false");
    if (flag && item.inputs[0] == "false") continue;
    added.push_back(option);
    if (!flag) added.insert(added.end(), item.inputs.begin(), item.inputs.end());
  }
  arguments.insert(arguments.begin() + 1, added.begin(), added.end());
  return arguments;
}

}  // namespace mlo::cli
