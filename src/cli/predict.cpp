// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/predict.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "cli/checks.hpp"
#include "cli/command.hpp"
#include "cli/out_file.hpp"
#include "cli/progress.hpp"
#include "mlo/base/text.hpp"
#include "mlo/data/parquet_writer.hpp"
#include "mlo/method/option_table.hpp"

namespace mlo::cli {
namespace {

struct PredictCommand {
  PredictOptions options;
  std::uint64_t seed = 0;
  std::string out;
  bool quiet = false;
};

// Removes a file in the end, whatever happens.
class Temporary {
 public:
  explicit Temporary(std::string file) : file_(std::move(file)) {}
  ~Temporary() { std::remove(file_.c_str()); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  std::string file_;
};

PredictAccount predict_to(const std::string& name, const PredictOptions& options,
                          const PredictWatcher& watcher) {
  OutFile file(name);
  const PredictAccount account = predict_csv(
      options, [&](std::string_view text) { file.write(text); }, watcher);
  file.finish();
  return account;
}

PredictAccount predict_parquet(const std::string& name, const PredictOptions& options,
                               const PredictWatcher& watcher) {
  check_parquet_writer();
  const Temporary csv(name + ".csv");
  const PredictAccount account = predict_to(csv.file(), options, watcher);
  std::vector<ParquetColumn> columns;
  for (const std::string& column : prediction_columns(options, read_run(options.run)))
    columns.push_back({column, columns.empty()});
  parquet_from_csv(csv.file(), columns, name);
  return account;
}

void run(const PredictCommand& command) {
  check(command.options);
  catch_interrupts();
  PredictAccount account;
  {
    Progress progress(command.quiet || command.out.empty());  // not between the rows on a terminal
    const FitWatcher watcher = progress.watcher();
    const PredictWatcher predicting{.phase = watcher.phase, .interrupt = watcher.interrupt};
    account = command.out.empty()
                  ? predict_csv(
                        command.options, [](std::string_view text) { print(text); }, predicting)
              : command.out.ends_with(".parquet") ? predict_parquet(command.out, command.options, predicting)
                                                  : predict_to(command.out, command.options, predicting);
  }
  if (command.quiet) return;
  if (account.missing > 0)
    fmt::print(stderr,
               "mlo predict: {} of {} rows have a missing cell or a new level: their predictions are empty\n",
               grouped(account.missing), grouped(account.rows));
  if (account.new_groups > 0)
    fmt::print(
        stderr,
        "mlo predict: {} of {} rows have a group that the data of the fit did not have: its effects are "
        "{} (--new-levels {})\n",
        grouped(account.new_groups), grouped(account.rows),
        command.options.new_levels == "sample" ? "drawn from the law of all groups" : "left out",
        command.options.new_levels);
  if (account.without_effects > 0)
    fmt::print(
        stderr,
        "mlo predict: {} of {} rows have groups of the fit, but their effects were not kept and are left "
        "out (mlo fit --save-groups yes keeps them)\n",
        grouped(account.without_effects), grouped(account.rows));
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
  c->add_option(
       "--new-levels", o.new_levels,
       "Levels that the data of the fit did not have. Of a grouping: sample (effects drawn from its "
       "law), population (no effects), error, or missing (empty fields); of a factor: missing, or an "
       "error otherwise")
      ->capture_default_str();
  // The words of the options of fit.
  const auto file_option = [&](const char* name, std::optional<std::string>& value) {
    c->add_option_function<std::string>(
         fmt::format("--{}", name), [&value](const std::string& text) { value = text; },
         on_command_line(find_option(name)->help) + ". Default here: as in the run")
        ->type_name("TEXT");
  };
  file_option("delimiter", o.delimiter);
  file_option("decimal", o.decimal);
  file_option("comment", o.comment);
  file_option("na", o.na);
  CLI::Option* seed = c->add_option("--seed", command->seed,
                                    "Seed of --type draw and of --new-levels sample. Default: the run's")
                          ->check(whole_number());
  c->add_option("--threads", o.threads, "Number of threads; 0 = all that the machine has")
      ->check(integer())
      ->capture_default_str();
  c->add_option(
       "-o,--out", command->out,
       "File to write, CSV, or Parquet if its name ends with .parquet; an existing file is replaced when the "
       "new one is complete. Default: CSV to standard output")
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
