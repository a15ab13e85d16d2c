// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/simulate.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "cli/checks.hpp"
#include "cli/command.hpp"
#include "cli/out_file.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/fit/fit.hpp"
#include "mlo/model/family.hpp"

namespace mlo::cli {
namespace {

struct SimulateCommand {
  SimulateOptions options;
  std::vector<std::string> groups;
  std::string out;
};

// Refuses the options of columns for families that have one parameter and no columns: they would be ignored.
void check_given(const CLI::App& c, const FamilySpec& family) {
  for (const char* option : {"--intercept", "--correlation"})
    if (!family.simulation.columns && c.count(option) > 0)
      throw UsageError(fmt::format("{} has no meaning with the family {}", option, family.name));
}

// Adds options for the numbers of all families; a number that several families share is one option.
void add_numbers(CLI::App& c, SimulateOptions& o) {
  std::map<std::string, std::string> help;
  for (const FamilySpec* family : families())
    for (const FamilyNumber& n : family->simulation.numbers) {
      std::string& text = help[std::string(n.name)];
      text += fmt::format("{}{}: {} (default {})", text.empty() ? "" : "; ", family->name, n.help, *n.usual);
    }
  for (const auto& [name, text] : help)
    c.add_option_function<double>(
        "--" + name, [&o, its_name = name](double value) { o.numbers[its_name] = value; }, text);
}

void run(const CLI::App& c, SimulateCommand& command) {
  SimulateOptions& o = command.options;
  const FamilySpec* const family = find_family(o.family);
  if (family != nullptr) check_given(c, *family);
  if (o.coefficients.empty())
    o.coefficients = family != nullptr && !family->simulation.columns ? std::vector<double>{1}
                                                                      : SimulateOptions{}.coefficients;
  for (const std::string& group : command.groups) o.groups.push_back(simulated_group(group));
  for (const std::string& line : group_lines(o)) fmt::print(stderr, "mlo simulate: {}\n", line);
  if (command.out.empty()) return simulate_csv(o, [](std::string_view text) { print(text); });
  OutFile file(command.out);
  simulate_csv(o, [&](std::string_view text) { file.write(text); });
  file.finish();
}

}  // namespace

void add_simulate(CLI::App& app) {
  auto command = std::make_shared<SimulateCommand>();
  SimulateOptions& o = command->options;
  o.coefficients.clear();
  CLI::App* c = app.add_subcommand("simulate", "Write data with known parameters, as CSV");
  c->add_option("FAMILY", o.family, fmt::format("One of {}", family_names()))->required();
  c->add_option("--rows", o.rows, "Rows")->check(integer())->capture_default_str();
  c->add_option("--coefficients", o.coefficients,
                "Coefficients of the standard normal columns x1, x2, ...; mu for gaussian-mean, tau for "
                "gaussian-precision. Default: 1,0.5; mu and tau 1")
      ->delimiter(',')
      ->check(not_empty());
  c->add_option("--intercept", o.intercept, "Intercept")->check(not_empty())->capture_default_str();
  c->add_option("--correlation", o.correlation, "Correlation of neighbouring columns (AR(1))")
      ->check(not_empty())
      ->capture_default_str();
  c->add_option(
       "--group", command->groups,
       "A column of groups: NAME:LEVELS:SD, as in g:1000:0.5. Rows get a group at random, and a group an effect "
       "on the intercept with this sd. With slopes: g:1000:0.5:x1=0.3,cor=0.4. May be repeated; what was "
       "drawn is said on standard error")
      ->allow_extra_args(false)
      ->check(not_empty())
      ->type_name("GROUP");
  add_numbers(*c, o);
  c->add_option("--seed", o.seed, "Seed: same seed, same data")->check(whole_number())->capture_default_str();
  c->add_option(
       "-o,--out", command->out,
       "File to write; an existing file is replaced when the new one is complete. Default: standard output")
      ->check(not_empty())
      ->type_name("FILE");
  c->footer(
      "Example:\n  mlo simulate logistic --rows 100000 --coefficients 1,0.5 --seed 7 --out data.csv\n"
      "  mlo simulate logistic --group g:1000:0.5 --group h:500:0.7:x1=0.3,cor=0.4 --out data.csv");
  c->callback([command, c] { run(*c, *command); });
}

}  // namespace mlo::cli
