// Copyright (c) the mlo authors. BSD-3-Clause.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>

#include "cli/command.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/names.hpp"
#include "mlo/method/option_table.hpp"
#include "mlo/report/comparison.hpp"
#include "mlo/report/run_summary.hpp"

namespace mlo::cli {
namespace {

const CLI::App* speaking = nullptr;  // the command that was called

bool is_flag_of_command(std::string_view name) {
  return speaking != nullptr && speaking->get_option_no_throw("--" + std::string(name)) != nullptr;
}

// Whether an option can have that value. A column called `order date` is not the option `order`.
bool takes(const Option& option, const std::string& value) {
  FitOptions options;
  try {
    if (option.type() != Option::Type::pairs) set_option(options, option.name, value);
    check_values(options);
  } catch (const UsageError&) {
    return false;
  }
  return true;
}

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char ch) { return std::toupper(ch); });
  return out;
}

// Quoted for a shell.
std::string shell_quoted(std::string_view value) {
  const auto has = [&](std::string_view any) { return value.find_first_of(any) != std::string_view::npos; };
  if (!has(" ()\"'`$&;|<>*?#~\\")) return std::string(value);
  const char mark = has("\"`$\\") && !has("'") ? '\'' : '"';
  return mark + std::string(value) + mark;
}

// The value is a parameter's name, or a name and its prior, which are two arguments.
std::string quoted_pair(const Option& option, std::string_view value) {
  FitOptions options;
  try {
    set_option(options, option.name, std::string(value));
    check_values(options);
  } catch (const UsageError&) {
    return shell_quoted(value);
  }
  const auto& [name, prior] = options.prior_for.front();
  return shell_quoted(name) + ' ' + shell_quoted(prior);
}

std::string spelling(std::string_view name, std::string_view value) {
  // The only command that messages name. `summary` may also begin a column's name, such as `summary score`.
  if (name == "summary" && std::filesystem::exists(std::string(value) + "/run.json"))
    return "mlo summary " + shell_quoted(value);
  const bool flag_of_command = is_flag_of_command(name);
  const Option* const option = find_option(name);
  const bool known =
      option != nullptr ? value.empty() || takes(*option, std::string(value)) : flag_of_command;
  if (!known) return {};
  // `data` is an argument of fit, but an option of reproduce.
  const bool argument = option != nullptr && option->group == Option::Group::argument && !flag_of_command;
  if (argument && !value.empty()) return {};
  std::string flag = argument ? upper(name) : "--" + std::string(name);
  if (value.empty()) return flag;
  const bool pair = option != nullptr && option->type() == Option::Type::pairs && option->rule.prior;
  return flag + ' ' + (pair ? quoted_pair(*option, value) : shell_quoted(value));
}

}  // namespace

void speak_for(const CLI::App& command) { speaking = &command; }

std::string option_instead(const CLI::App& command, std::string_view unknown) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  if (!unknown.starts_with("--")) return {};
  const std::string near = nearest_name(unknown.substr(0, unknown.find('=')), names);
  return near.empty() ? std::string() : "; did you mean " + near + "?";
}

std::string on_command_line(std::string_view message) {
  std::string out = spelled(message, spelling);
  // How to continue a run is shown as a command to copy, whichever command the message comes from.
  constexpr std::string_view options = "--resume and --out ", command = "mlo fit --resume --out ";
  if (const std::size_t at = out.find(options); at != std::string::npos)
    out.replace(at, options.size(), command);
  return out;
}

RunSummary on_command_line(RunSummary summary) {
  for (std::string& note : summary.notes)  // not in the note on priors, where `order 2` is a column
    if (!note.starts_with("priors: ")) note = on_command_line(note);
  for (std::string& warning : summary.warnings) warning = on_command_line(warning);
  summary.noise.words = on_command_line(summary.noise.words);
  return summary;
}

Comparison on_command_line(Comparison comparison) {
  for (MethodResult& method : comparison.methods) method.failure = on_command_line(method.failure);
  return comparison;
}

}  // namespace mlo::cli
