// Copyright (c) the mlo authors. BSD-3-Clause.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.hpp"
#include "mlo/fit/runs.hpp"
#include "mlo/report/run_summary.hpp"

namespace mlo::cli {

void add_summary(CLI::App& app) {
  struct Command {
    std::string run;
    bool json = false, csv = false;
  };
  auto command = std::make_shared<Command>();
  CLI::App* c = app.add_subcommand("summary", "Show the summary of a run again");
  c->add_option("RUN", command->run, "Run directory, as given to mlo fit --out")->required();
  CLI::Option* json = c->add_flag("--json", command->json, "As JSON");
  c->add_flag("--csv", command->csv, "As CSV")->excludes(json);
  c->footer("Example:\n  mlo summary run1");
  c->callback([command] {
    const RunSummary summary = on_command_line(read_summary(command->run));
    print(command->json ? as_json(summary) : command->csv ? as_csv(summary.parameters) : as_table(summary));
  });
}

}  // namespace mlo::cli
