// Copyright (c) the mlo authors. BSD-3-Clause.
#include "cli/config.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <sstream>

#include "cli/command.hpp"
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

bool given(const std::vector<std::string>& arguments, const CLI::Option& option) {
  const auto is_option = [&](const std::string& argument) {
    const auto is_long = [&](const std::string& name) {
      return argument == "--" + name || argument.rfind("--" + name + "=", 0) == 0;
    };
    const auto is_short = [&](const std::string& name) { return argument.rfind("-" + name, 0) == 0; };
    const auto &names = option.get_lnames(), &letters = option.get_snames();
    return std::any_of(names.begin(), names.end(), is_long) ||
           std::any_of(letters.begin(), letters.end(), is_short);
  };
  return std::any_of(arguments.begin(), arguments.end(), is_option);
}

}  // namespace

std::string Config::explain(std::string message) const {
  const auto named = [&](const std::string& option) {
    const std::size_t at = message.find(option);
    if (at == std::string::npos) return false;
    const std::size_t end = at + option.size();  // --prior must not match within --prior-for
    return end == message.size() ||
           (std::isalnum(static_cast<unsigned char>(message[end])) == 0 && message[end] != '-');
  };
  const auto option = std::find_if(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    return argument.rfind("--", 0) == 0 && named(argument);
  });
  return option == arguments.end() ? message : file + ": " + message;
}

Config read_config(const std::vector<std::string>& typed, const CLI::App& fit) {
  if (typed.empty() || typed[0] != "fit") return {};
  const std::string file = config_file(typed);
  if (file.empty()) return {};
  std::istringstream text(read_file(file));
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(text);
  } catch (const CLI::Error& e) {
    throw UsageError(file + ": " + e.what());
  }
  Config config{file, {}};
  for (const CLI::ConfigItem& item : items) {
    if (item.name == "++" || item.name == "--") continue;  // the start and end of a section
    if (!item.parents.empty() && item.parents != std::vector<std::string>{"fit"})
      throw UsageError(file + ": unknown section [" + item.parents[0] +
                       "]; options go at the top or under [fit]");
    if (item.name == "data" || item.name == "formula")
      throw UsageError(file + ": \"" + item.name +
                       "\" is not an option: DATA and FORMULA go on the command line");
    const std::string name = "--" + item.name;
    const CLI::Option* option = fit.get_option_no_throw(name);
    if (option == nullptr) {
      const std::string near = option_instead(fit, name);
      throw UsageError(file + ": unknown option \"" + item.name + '"' +
                       (near.empty() ? "; mlo fit --help shows all" : near));
    }
    if (item.inputs.empty() || item.name.empty())
      throw UsageError(file + ": \"" + item.name + "\" has no value; write name = value");
    if (given(typed, *option)) continue;
    const bool flag = item.inputs.size() == 1 && (item.inputs[0] == "true" || item.inputs[0] == "false");
    if (flag && item.inputs[0] == "false") continue;
    if (option->get_allow_extra_args() || flag || item.inputs.size() < 2) {
      config.arguments.push_back(name);
    } else {  // an option that is repeated, with one value each time
      for (const std::string& input : item.inputs)
        config.arguments.insert(config.arguments.end(), {name, input});
      continue;
    }
    if (!flag) config.arguments.insert(config.arguments.end(), item.inputs.begin(), item.inputs.end());
  }
  return config;
}

}  // namespace mlo::cli
