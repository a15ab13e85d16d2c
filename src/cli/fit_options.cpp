// Copyright (c) the mlo authors. BSD-3-Clause.
#include "cli/fit_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "cli/checks.hpp"
#include "cli/command.hpp"
#include "mlo/base/errors.hpp"

namespace mlo::cli {
namespace {

const char* type_name(const Option& option) {
  switch (option.type()) {
    case Option::Type::integer:
      return "INT";
    case Option::Type::natural:
      return "UINT";
    case Option::Type::real:
      return "FLOAT";
    case Option::Type::pairs:
      return option.rule.prior ? "NAME PRIOR" : "COLUMN=TYPE";
    case Option::Type::flag:
      return "";
    case Option::Type::text:
    case Option::Type::texts:
      break;
  }
  return option.name == "out" ? "DIR" : "TEXT";
}

// DATA ... FORMULA: a shell may have made several files of one pattern, so the last argument is the formula.
void take_arguments(const CLI::App& c, FitOptions& options, const std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), "") != words.end())
    throw UsageError("DATA and FORMULA must not be empty");
  const auto is_formula = [](const std::string& word) { return word.find('~') != std::string::npos; };
  if (words.size() > 1 && !is_formula(words.back()) && is_formula(words[words.size() - 2])) {
    // It may be the value of an option that does not exist.
    if (const std::vector<std::string> unknown = c.remaining(); !unknown.empty()) {
      const std::string near = option_instead(c, unknown[0]);
      throw UsageError(
          fmt::format("unknown option {}{}", unknown[0],
                      near.empty() ? fmt::format("; mlo {} --help shows all", c.get_name()) : near));
    }
    throw UsageError(
        fmt::format("extra argument after the formula: {}; the formula comes last", words.back()));
  }
  options.data.assign(words.begin(), words.end() - 1);
  options.formula = words.back();
}

CLI::Option* add(CLI::App& c, const std::string& name, const Option& option, FitOptions& options) {
  const std::string help = on_command_line(option.help);
  const auto set = [&options, its_name = option.name](const std::string& text) {
    set_option(options, its_name, text);
  };
  switch (option.type()) {
    case Option::Type::flag:
      return c.add_flag_callback(
          name, [set] { set("true"); }, help);
    case Option::Type::texts:
      if (option.name == "data")
        return c.add_option_function<std::vector<std::string>>(
            name, [&c, &options](const auto& words) { take_arguments(c, options, words); }, help);
      return c.add_option_function<std::vector<std::string>>(
          name,
          [set](const auto& words) {
            for (const std::string& word : words) set(word);
          },
          help);
    case Option::Type::pairs:
      if (!option.rule.prior)
        return c
            .add_option_function<std::vector<std::string>>(
                name, [set](const auto& texts) { std::for_each(texts.begin(), texts.end(), set); }, help)
            ->allow_extra_args(false);
      return c.add_option_function<std::vector<std::pair<std::string, std::string>>>(
          name, [&options](const auto& pairs) { options.prior_for = pairs; }, help);
    default:
      return c.add_option_function<std::string>(name, set, help);
  }
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char ch) { return std::toupper(ch); });
  return text;
}

}  // namespace

void add_options(CLI::App& c, FitOptions& options, const std::function<bool(const Option&)>& wanted) {
  for (const Option& option : option_table()) {
    if (!wanted(option)) continue;
    const bool argument = option.group == Option::Group::argument;
    const std::string name =
        argument ? upper(option.name) : (option.name == "out" ? "-o,--" : "--") + option.name;
    CLI::Option* const added = add(c, name, option, options);
    if (argument) continue;
    added->group(option.group == Option::Group::model    ? "Model"
                 : option.group == Option::Group::method ? "Method"
                                                         : "Run");
    if (option.type() != Option::Type::flag) added->type_name(type_name(option));
    if (option.name == "out") added->check(not_empty());
    if (!option.usual.empty()) added->default_str(option.usual);
  }
}

}  // namespace mlo::cli
