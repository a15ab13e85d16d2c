// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/registry/fit.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/checks.hpp"
#include "cli/command.hpp"
#include "cli/model_options.hpp"
#include "cli/progress.hpp"
#include "mlo/base/errors.hpp"

namespace mlo::cli {
namespace {

struct FitCommand {
  FitOptions options;
  bool json = false;
  bool quiet = false;
  std::string config;  // was read before the options were parsed: see config.hpp
};

// A resumed run takes its options from its directory. Naming others without the data would be ignored:
// refuse.
void check_resume(const CLI::App& c, const FitCommand& command) {
  if (!command.options.resume || !command.options.data.empty()) return;
  for (const CLI::Option* option : c.get_options()) {
    const std::string name = option->get_name();
    const bool allowed = name == "--resume" || name == "--out" || name == "--threads" || name == "--json" ||
                         name == "--quiet" || name == "--help" || name == "--config";
    if (option->count() > 0 && !allowed)
      throw UsageError(fmt::format("{} cannot be given with --resume: the run's options are in {}/run.json",
                                   name, command.options.out));
  }
}

void add_method_options(CLI::App& c, FitOptions& o) {
  c.add_option("--method", o.method, fmt::format("Method: {}. See mlo methods", method_names()))
      ->capture_default_str()
      ->group("Method");
  c.add_option("--subsample-size", o.subsample_size,
               "Rows read each step; the first look of methods that may read more. Default: 1 % of the rows, "
               "at least 1000 (mlo-adaptive 0.1 %, at least 100; austerity 500; confidence, barker and block "
               "100; penalty with control variates and difference 20), at most all")
      ->check(integer())
      ->group("Method");
  c.add_option(
       "--max-subsample-size", o.max_subsample_size,
       "mlo-adaptive, penalty, difference, austerity, barker: most rows of a step. Default: 5 % of the "
       "rows, and at least --subsample-size (difference 1000); austerity, barker and penalty all")
      ->check(integer())
      ->group("Method");
  c.add_option("--delta", o.delta,
               "mlo-adaptive, austerity, confidence: aimed-at probability of a wrong decision. Default: 0.05 "
               "(confidence 0.1)")
      ->group("Method");
  c.add_option(
       "--estimator", o.estimator,
       "What is added up over the rows that are read: plain differences of the log-likelihood, or what "
       "control-variates leave of them. Default: plain (control-variates for difference)")
      ->group("Method");
  c.add_option(
       "--weights", o.weights,
       "Subsampling weights: uniform, mlo, score; remainder with control variates. Default: mlo for mlo, "
       "mlo-adaptive and penalty, remainder for difference, else uniform")
      ->group("Method");
  c.add_option("--weights-at", o.weights_at,
               "Where the weights are taken: mle, map, or \"v1,v2,...\". Default: mle")
      ->group("Method");
  c.add_option(
       "--uniform-share", o.uniform_share,
       "Share of uniform weight mixed in, so that no row has weight 0. Default: 0.001 (remainder weights "
       "0.2)")
      ->group("Method");
  c.add_option("--replacement", o.replacement,
               "Draw rows with replacement: yes or no. Default: no for uniform, austerity, confidence and "
               "barker, else yes")
      ->group("Method");
  c.add_option(
       "--noise-sd", o.noise_sd,
       "penalty, difference: rows are read until the noise of the log acceptance ratio is below this. "
       "Default: 1 (penalty), 0.1 (difference)")
      ->group("Method");
  c.add_option("--bound", o.bound, "confidence: bernstein (default) or hoeffding")->group("Method");
  c.add_option("--blocks", o.blocks, "block: the subsample is replaced by one block in so many. Default: 50")
      ->check(integer())
      ->group("Method");
  c.add_option("--shards", o.shards, "consensus, weierstrass: parts the rows are divided into. Default: 8")
      ->check(integer())
      ->group("Method");
  c.add_option(
       "--bandwidth", o.bandwidth,
       "weierstrass: width of the kernel that ties the shards together, in sds of a shard's posterior. "
       "Default: 0.3")
      ->group("Method");
  c.add_option("--thinning", o.thinning,
               "exact: the rule about the rows that are read, balanced (default) or factorised")
      ->group("Method");
  c.add_option("--order", o.order,
               "exact: order of the control variates, 2 or 3. Default: whichever takes less time")
      ->check(integer())
      ->group("Method");
  c.add_flag("--audit", o.audit,
             "exact: compare a random share of the steps, and the result, with all rows; takes longer")
      ->group("Method");
  c.add_option("--audit-every", o.audit_every, "One in so many steps is compared. Default: about 50 a chain")
      ->check(integer())
      ->group("Method");
  c.add_option(
       "--proposal", o.proposal,
       "Proposal: laplace, random-walk, adaptive. Default: random-walk for methods that read some rows "
       "without control variates, else laplace")
      ->group("Method");
  c.add_option("--proposal-scale", o.proposal_scale,
               "Step of the proposal. laplace: in (0,1], default 1 (exact: tuned in warm-up); others: times "
               "the shape, default 2.38/sqrt(p)")
      ->group("Method");
  c.add_option("--proposal-shape", o.proposal_shape,
               "Shape of random-walk and (at first) adaptive: laplace (the fit's covariance, default) or "
               "identity (the same sd, --proposal-scale, for every parameter)")
      ->group("Method");
  c.add_option("--start", o.start, "Where chains start: laplace (a draw from the fit, overdispersed) or mode")
      ->capture_default_str()
      ->group("Method");
}

void add_run_options(CLI::App& c, FitCommand& f) {
  FitOptions& o = f.options;
  c.add_option("--chains", o.chains, "Chains")->check(integer())->capture_default_str()->group("Run");
  c.add_option("--warmup", o.warmup, "Steps of each chain before the first draw")
      ->check(integer())
      ->capture_default_str()
      ->group("Run");
  c.add_option("--draws", o.draws, "Draws kept of each chain")
      ->check(integer())
      ->capture_default_str()
      ->group("Run");
  c.add_option("--thin", o.thin,
               "Steps per draw that is kept. Default: 1; with full and exact 20,000 / rows, from 1 to 10")
      ->check(integer())
      ->group("Run");
  c.add_option("--seed", o.seed,
               "Seed: same seed, same draws, for any number of threads. Default: drawn and printed")
      ->check(whole_number())
      ->group("Run");
  c.add_option("--threads", o.threads, "Threads; 0 = all the machine has")
      ->check(integer())
      ->capture_default_str()
      ->group("Run");
  c.add_option("-o,--out", o.out, "Directory for draws, summary and the run's record; must be new or empty")
      ->check(not_empty())
      ->type_name("DIR")
      ->group("Run");
  c.add_flag("--resume", o.resume, "Continue the interrupted run in --out, to the draws it would have had")
      ->group("Run");
  c.add_flag("--json", f.json, "Print the summary as JSON")->group("Run");
  c.add_flag("-q,--quiet", f.quiet, "No progress, no notes on stderr")->group("Run");
}

void run(const FitCommand& command, int& exit_code) {
  const FitOptions& o = command.options;
  if (o.resume && o.out.empty())
    throw UsageError("--resume needs --out: the directory of the run to continue");
  if (!o.resume && (o.data.empty() || o.formula.empty()))
    throw UsageError("DATA and FORMULA are required, e.g. mlo fit data.csv \"y ~ x1 + x2\"");
  catch_interrupts();
  Progress progress(command.quiet);
  const FitResult result = fit(o, progress.watcher());
  print(command.json ? as_json(result.summary) : as_table(result.summary));
  if (command.json && !command.quiet)
    for (const std::string& warning : result.summary.warnings)
      fmt::print(stderr, "mlo fit: warning: {}\n", warning);
  if (result.summary.interrupted) {
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
  CLI::App* c = app.add_subcommand("fit", "Fit a model to a CSV file (plain or gzip)");
  add_data_arguments(*c, command->options);
  add_model_options(*c, command->options);
  add_method_options(*c, command->options);
  add_run_options(*c, *command);
  c->add_option(
       "--config", command->config,
       "TOML file with options of this command, e.g.  family = \"poisson\"; DATA and FORMULA are not "
       "among them, and the command line has the last word")
      ->check(not_empty())
      ->type_name("FILE")
      ->group("Run");
  c->footer(
      "Formula: + - : * ^ ( ) 0 1 .  log log2 log10 log1p exp sqrt abs I() offset(); arithmetic and\n"
      "comparisons inside I() and parentheses; any expression as response.\n"
      "\n"
      "Example:\n"
      "  mlo simulate logistic --rows 100000 --out data.csv\n"
      "  mlo fit data.csv \"y ~ x1 + x2\" --family logistic --seed 1 --out run1\n"
      "  mlo fit data.csv \"y ~ x1 + x2\" --method mlo --subsample-size 1000");
  c->callback([command, c, &exit_code] {
    check_resume(*c, *command);
    run(*command, exit_code);
  });
}

}  // namespace mlo::cli
