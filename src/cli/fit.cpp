// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/fit.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/checks.hpp"
#include "cli/command.hpp"
#include "cli/fit_options.hpp"
#include "cli/progress.hpp"
#include "mlo/base/errors.hpp"

namespace mlo::cli {
namespace {

struct FitCommand {
  FitOptions options;
  bool json = false;
  bool quiet = false;
  bool dry_run = false;
  std::string config;  // not used: the file is read before the options are parsed, see config.hpp
};

// A resumed run takes its options from its directory. Other options without the data would be ignored, so
// they are refused.
void check_resume(const CLI::App& c, const FitCommand& command) {
  if (!command.options.resume || !command.options.data.empty()) return;
  for (const CLI::Option* option : c.get_options()) {
    const std::string name = option->get_name();
    const bool allowed = name == "--resume" || name == "--out" || name == "--threads" || name == "--json" ||
                         name == "--quiet" || name == "--help" || name == "--config" || name == "--report";
    if (option->count() > 0 && !allowed)
      throw UsageError(
          fmt::format("{} cannot be given with --resume: the options of the run are in {}/run.json", name,
                      command.options.out));
  }
}

void run(const FitCommand& command, int& exit_code) {
  const FitOptions& o = command.options;
  if (!o.resume && ((o.data.empty() && !o.sql) || o.formula.empty()))
    throw UsageError("DATA and FORMULA are required, e.g. mlo fit data.csv \"y ~ x1 + x2\"");
  if (command.dry_run) {
    if (o.resume) throw UsageError("--dry-run cannot be given with --resume: the run has begun");
    return show_description(o, command.json, command.quiet);
  }
  catch_interrupts();
  Progress progress(command.quiet);
  FitWatcher watcher = progress.watcher();
  watcher.wording = [](std::string_view message) { return on_command_line(message); };
  const FitResult result = fit(o, watcher);
  const RunSummary summary = on_command_line(result.summary);
  print(command.json ? as_json(summary) : as_table(summary));
  if (command.json && !command.quiet)
    for (const std::string& warning : summary.warnings) fmt::print(stderr, "mlo fit: warning: {}\n", warning);
  if (o.out.empty() && !summary.interrupted && !command.quiet)
    fmt::print(stderr, "mlo fit: the draws are not kept; to keep them, fit with --out DIR\n");
  if (o.report && !command.quiet) fmt::print(stderr, "mlo fit: the report is in {}/report.html\n", o.out);
  if (summary.interrupted) {
    exit_code = static_cast<int>(ExitCode::interrupted);
    if (!command.quiet)
      fmt::print(stderr, "mlo fit: interrupted; {}\n",
                 o.out.empty() ? "without --out the draws are not kept on disk"
                               : fmt::format("continue with: mlo fit --resume --out {}", o.out));
  }
}

}  // namespace

void add_fit(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<FitCommand>();
  CLI::App* c = app.add_subcommand("fit", "Fit a model to data: CSV, Parquet, JSON lines, .npy, a query");
  add_options(*c, command->options, [](const Option&) { return true; });
  c->add_flag("--json", command->json, "Print the summary as JSON")->group("Run");
  c->add_flag("-q,--quiet", command->quiet, "No progress, no notes on stderr")->group("Run");
  c->add_flag("--dry-run", command->dry_run,
              "Show the data and the design, as mlo describe does; fit nothing")
      ->group("Run");
  c->add_option(
       "--config", command->config,
       "TOML file with options of this command, e.g.  family = \"poisson\". DATA and FORMULA go on the command "
       "line, whose options override those of the file")
      ->check(not_empty())
      ->type_name("FILE")
      ->group("Run");
  c->footer(
      "Formula: R's, with + - : * ^ / %in% ( ) 0 1 .  Text columns are factors. (1 + x | g) gives each\n"
      "level of g an intercept and a slope of its own, as in lme4 and brms. factor relevel C cut poly bs ns scale\n"
      "ifelse pmin pmax log exp sqrt year month wday hour and more; arithmetic inside I(), comparisons inside\n"
      "parentheses; any expression, or cbind(successes, failures), as response. See docs/formula.md.\n"
      "\n"
      "Example:\n"
      "  mlo simulate logistic --rows 100000 --out data.csv\n"
      "  mlo fit data.csv \"y ~ x1 + x2\" --family logistic --seed 1 --out run1\n"
      "  mlo fit data.csv \"y ~ x1 * (x2 > 0)\" --holdout 0.1 --out run2\n"
      "  mlo fit data.csv \"y ~ x1 + x2\" --method mlo --subsample-size 1000\n"
      "  mlo fit \"data*.csv\" \"y ~ x1 + x2\"");
  c->callback([command, c, &exit_code] {
    check_resume(*c, *command);
    run(*command, exit_code);
  });
}

}  // namespace mlo::cli
