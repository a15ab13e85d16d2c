// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/predict.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "cli/checks.hpp"
#include "cli/command.hpp"
#include "cli/out_file.hpp"
#include "cli/progress.hpp"
#include "mlo/base/text.hpp"

namespace mlo::cli {
namespace {

struct PredictCommand {
  PredictOptions options;
  std::uint64_t seed = 0;
  std::string out;
  bool quiet = false;
};

void run(const PredictCommand& command) {
  check(command.options);
  catch_interrupts();
  PredictAccount account;
  {
    Progress progress(command.quiet || command.out.empty());  // not between the rows on a terminal
    const FitWatcher watcher = progress.watcher();
    const PredictWatcher predicting{.phase = watcher.phase, .interrupt = watcher.interrupt};
    std::optional<OutFile> file;
    if (!command.out.empty()) file.emplace(command.out);
    account = predict_csv(
        command.options,
        [&](std::string_view text) {
          if (file) {
            file->write(text);
          } else {
            print(text);
          }
        },
        predicting);
    if (file) file->finish();
  }
  if (command.quiet || account.missing == 0) return;
  fmt::print(stderr,
             "mlo predict: {} of {} rows have a missing cell or a new level: their predictions are empty\n",
             grouped(account.missing), grouped(account.rows));
}

}  // namespace

void add_predict(CLI::App& app) {
  auto command = std::make_shared<PredictCommand>();
  PredictOptions& o = command->options;
  CLI::App* c = app.add_subcommand("predict", "Predict rows of other data from a run, as CSV");
  c->add_option("RUN", o.run, "Run directory, as given to mlo fit --out")->required();
  c->add_option("NEWDATA", o.data, "Data with the columns of the formula; the response need not be there")
      ->required();
  c->add_option("--type", o.type,
                "response: the mean of the response; link: the linear predictor; draw: a response, simulated "
                "for each draw")
      ->capture_default_str();
  c->add_option("--interval", o.interval, "Share of the draws between the two quantiles, equal tails")
      ->capture_default_str();
  c->add_option("--missing", o.missing, "Rows with missing cells: empty (fields) or error")
      ->capture_default_str();
  c->add_option("--new-levels", o.new_levels,
                "Levels of a factor that the data of the fit did not have: error, or missing (empty fields)")
      ->capture_default_str();
  CLI::Option* seed = c->add_option("--seed", command->seed, "Seed of --type draw. Default: the run's")
                          ->check(whole_number());
  c->add_option("--threads", o.threads, "Number of threads; 0 = all that the machine has")
      ->check(integer())
      ->capture_default_str();
  c->add_option("-o,--out", command->out,
                "File to write; an existing file is replaced when the new one is complete. Default: standard "
                "output")
      ->check(not_empty())
      ->type_name("FILE");
  c->add_flag("-q,--quiet", command->quiet, "No progress, no notes on stderr");
  c->footer(
      "One line per row of NEWDATA: its number, mean and sd over all draws, and the two quantiles.\n"
      "\n"
      "Example:\n"
      "  mlo fit data.csv \"y ~ x1 + x2\" --seed 1 --out run1\n"
      "  mlo predict run1 new.csv --interval 0.95 --out predictions.csv");
  c->callback([command, seed] {
    if (seed->count() > 0) command->options.seed = command->seed;
    run(*command);
  });
}

}  // namespace mlo::cli
