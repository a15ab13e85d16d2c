// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/describe.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.hpp"
#include "cli/fit_options.hpp"
#include "cli/progress.hpp"
#include "mlo/base/errors.hpp"

namespace mlo::cli {

void show_description(const FitOptions& options, bool json, bool quiet) {
  catch_interrupts();
  Progress progress(quiet);
  const FitWatcher watcher = progress.watcher();
  const Description description = describe(options, [&](const std::string& what, double share) {
    if (watcher.interrupted()) throw Interrupted("interrupted before all rows were read");
    if (watcher.phase) watcher.phase(what, share);
  });
  progress.clear();
  print(json ? as_json(description) : as_table(description));
}

void add_describe(CLI::App& app) {
  struct Command {
    FitOptions options;
    bool json = false, quiet = false;
  };
  auto command = std::make_shared<Command>();
  CLI::App* c = app.add_subcommand("describe", "Show what is in a file, and what a formula makes of it");
  // What decides which rows and columns there are; nothing is sampled.
  add_options(*c, command->options, [](const Option& option) {
    return option.group == Option::Group::argument || option.group == Option::Group::model ||
           option.name == "seed";
  });
  c->add_flag("--json", command->json, "As JSON")->group("Run");
  c->add_flag("-q,--quiet", command->quiet, "No progress on stderr")->group("Run");
  c->footer(
      "Without FORMULA: all columns of the file. With it: its columns, and the design; nothing is fitted.\n"
      "\n"
      "Example:\n"
      "  mlo describe data.csv\n"
      "  mlo describe data.csv \"y ~ x1 + x2\" --family poisson");
  c->callback([command] {
    FitOptions& o = command->options;
    // The last argument is a formula or, without one, a file.
    if (!o.formula.empty() && o.formula.find('~') == std::string::npos) {
      o.data.push_back(o.formula);
      o.formula.clear();
    }
    if (o.data.empty() && !o.sql) throw UsageError("DATA is required, e.g. mlo describe data.csv");
    show_description(command->options, command->json, command->quiet);
  });
}

}  // namespace mlo::cli
