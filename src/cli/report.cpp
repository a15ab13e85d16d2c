// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/report.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/checks.hpp"
#include "cli/command.hpp"
#include "mlo/base/files.hpp"

namespace mlo::cli {

void add_report(CLI::App& app) {
  struct Command {
    std::string run, out;
    bool quiet = false;
  };
  auto command = std::make_shared<Command>();
  CLI::App* c = app.add_subcommand("report", "Write a run as one HTML page: verdict, table, pictures");
  c->add_option("RUN", command->run, "Run directory, as given to mlo fit --out")->required();
  c->add_option("-o,--out", command->out,
                "File to write; an existing file is replaced. Default: RUN/report.html")
      ->check(not_empty())
      ->type_name("FILE");
  c->add_flag("-q,--quiet", command->quiet, "No notes on stderr");
  c->footer(
      "The page needs no network. It opens in any browser, and on a phone.\n"
      "\n"
      "Example:\n"
      "  mlo fit data.csv \"y ~ x1 + x2\" --seed 1 --out run1\n"
      "  mlo report run1 --out report.html");
  c->callback([command] {
    const KeptRun run = read_run(command->run);
    const std::string page =
        html_report(report_input(run, [](std::string_view message) { return on_command_line(message); }));
    const std::string file = command->out.empty() ? command->run + "/report.html" : command->out;
    write_file(file, page);
    if (!command->quiet)
      fmt::print(stderr, "mlo report: {}, {:.1f} MB\n", file, static_cast<double>(page.size()) / 1e6);
  });
}

}  // namespace mlo::cli
