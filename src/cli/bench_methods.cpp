// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/bench_methods.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "cli/checks.hpp"
#include "cli/command.hpp"
#include "cli/fit_options.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/files.hpp"

namespace mlo::cli {
namespace {

struct BenchCommand {
  BenchOptions options;
  std::string out;
  bool json = false;
  bool quiet = false;
};

void write(const std::string& directory, const Comparison& comparison) {
  write_file(directory + "/methods.csv", as_csv(comparison));
  write_file(directory + "/methods.json", as_json(comparison));
  write_file(directory + "/methods.txt", as_table(comparison));
  write_file(directory + "/methods.svg", as_svg(comparison));
}

void run(const BenchCommand& command, int& exit_code) {
  const BenchOptions& o = command.options;
  if ((o.fit.data.empty() && !o.fit.sql) || o.fit.formula.empty())
    throw UsageError("DATA and FORMULA are required, e.g. mlo bench-methods data.csv \"y ~ x1 + x2\"");
  // Before anything is run, so that no results are lost if the directory cannot be made.
  std::optional<ResultDirectory> directory;
  if (!command.out.empty()) directory.emplace(command.out);
  catch_interrupts();
  BenchWatcher watcher;
  watcher.interrupt = &interrupt_flag();
  if (!command.quiet)
    watcher.method = [&](const std::string& method, std::size_t index, std::size_t count) {
      fmt::print(stderr, "mlo bench-methods: {}{}\n", index == 0 ? "" : fmt::format("{}/{} ", index, count),
                 method);
    };
  const Comparison comparison = on_command_line(bench_methods(o, watcher));
  if (!command.out.empty()) write(command.out, comparison);
  print(command.json ? as_json(comparison) : as_table(comparison));
  if (!command.out.empty() && !command.quiet)
    fmt::print(stderr,
               "mlo bench-methods: written to {}: methods.csv, methods.json, methods.txt, methods.svg\n",
               command.out);
  const auto failed = [](const MethodResult& method) { return !method.failure.empty(); };
  if (std::all_of(comparison.methods.begin(), comparison.methods.end(), failed) && !comparison.interrupted)
    throw UsageError("none of the methods could be compared; the table says why");
  if (comparison.interrupted) exit_code = static_cast<int>(ExitCode::interrupted);
}

}  // namespace

void add_bench_methods(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<BenchCommand>();
  BenchOptions& o = command->options;
  CLI::App* c =
      app.add_subcommand("bench-methods", "Run methods side by side and compare them with the posterior");
  // Options of the model, and those that all methods share; a method's own options are given in --methods.
  add_options(*c, o.fit, [](const Option& option) {
    return !option.of_method && option.name != "method" && option.name != "out" && option.name != "format" &&
           option.name != "resume" && option.name != "report";
  });
  c->get_option("--warmup")
      ->default_str(std::to_string(o.fit.warmup.value_or(0)))
      ->description("Steps per chain before the first draw");
  c->get_option("--draws")->default_str(std::to_string(o.fit.draws))->description("The most draws per chain");
  c->get_option("--seed")->description("Seed. Default: 1");
  c->add_option("--methods", o.methods,
                "Methods, separated by commas, each with options of its own after colons: "
                "exact,full,mlo:subsample-size=5000:weights=score. Default: all")
      ->delimiter(',')
      ->group("Comparison");
  c->add_option("--seconds", o.seconds, "The most seconds of sampling per method")
      ->capture_default_str()
      ->group("Comparison");
  c->add_option(
       "--reference-draws", o.reference_draws,
       "Draws per chain of the posterior that the methods are compared with; they come from exact, or from "
       "full if exact cannot handle the model")
      ->check(integer())
      ->capture_default_str()
      ->group("Comparison");
  c->add_option("-o,--out", command->out,
                "Directory for the table as CSV, JSON and text, and a plot (SVG); must be new or empty")
      ->check(not_empty())
      ->type_name("DIR")
      ->group("Run");
  c->add_flag("--json", command->json, "Print the table as JSON")->group("Run");
  c->add_flag("-q,--quiet", command->quiet, "No progress on stderr")->group("Run");
  c->footer(
      "A method that runs out of time is compared by what it has drawn; rhat shows if its chains have not mixed.\n"
      "\n"
      "Example:\n"
      "  mlo simulate logistic --rows 100000 --out data.csv\n"
      "  mlo bench-methods data.csv \"y ~ x1 + x2\" --methods exact,difference,full,mlo:subsample-size=1000 "
      "--out "
      "bench");
  c->callback([command, &exit_code] { run(*command, exit_code); });
}

}  // namespace mlo::cli
