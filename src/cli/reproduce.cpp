// Copyright (c) the mlo authors. BSD-3-Clause.
#include "experiments/reproduce.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/checks.hpp"
#include "cli/command.hpp"
#include "cli/progress.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/files.hpp"

namespace mlo::cli {
namespace {

struct ReproduceCommand {
  experiments::Settings settings;
  std::string target = "all";
  bool quiet = false;
};

std::string target_names() {
  std::string out;
  for (const auto& target : experiments::targets()) out += fmt::format("{}, ", target.name);
  return out + "all";
}

void run(const ReproduceCommand& command) {
  using namespace experiments;
  const Settings& settings = command.settings;
  const bool all = command.target == "all";
  const auto chosen = [&](const Target& target) { return all || target.name == command.target; };
  if (std::none_of(targets().begin(), targets().end(), chosen))
    throw UsageError(
        fmt::format("the table or figure must be one of {} (got \"{}\")", target_names(), command.target));
  check(settings);
  catch_interrupts();
  Progress progress(command.quiet);
  Watcher watcher;
  watcher.interrupt = &interrupt_flag();
  if (!command.quiet)
    watcher.progress = [&](const std::string& what, double done, double of) {
      progress.show_work(what, done, of);
    };
  std::vector<Result> results;
  std::size_t holds = 0, claims = 0;
  for (const Target& target : targets()) {
    if (!chosen(target)) continue;
    if (all && target.name == "table5" && settings.data.empty()) {
      progress.clear();
      print(on_command_line(fmt::format("table5: left out, because it needs `data covertype.csv.gz`.\n{}\n\n",
                                        covertype_source())));
      continue;
    }
    results.push_back(target.run(settings, watcher));
    const Result& result = results.back();
    write(result, settings);
    progress.clear();
    print(as_text(result));
    claims += result.claims.size();
    holds += static_cast<std::size_t>(
        std::count_if(result.claims.begin(), result.claims.end(), [](const Claim& c) { return c.holds; }));
  }
  const std::string page = fmt::format("{}/{}.html", settings.directory(), command.target);
  write_file(page, as_html(results));
  print(fmt::format("{}all numbers and pictures: {}\n",
                    claims > 0 && !settings.quick ? fmt::format("{} of {} claims hold; ", holds, claims) : "",
                    page));
}

}  // namespace

void add_reproduce(CLI::App& app) {
  auto command = std::make_shared<ReproduceCommand>();
  experiments::Settings& s = command->settings;
  CLI::App* c = app.add_subcommand("reproduce", "Reproduce the paper's tables and figures");
  c->add_option("WHAT", command->target, fmt::format("One of {}", target_names()))->capture_default_str();
  c->add_option("--reps", s.reps, "Replications, B. Default: 100 (10 with --quick)")->check(integer());
  c->add_option("--data", s.data, "Table 5: the Covertype data, as CSV with a header line; plain or gzip")
      ->type_name("FILE");
  c->add_flag("--quick", s.quick, "Fewer replications and shorter chains: to see it work");
  c->add_option("--seed", s.seed, "Seed of the data and the chains")
      ->check(whole_number())
      ->capture_default_str();
  c->add_option("--threads", s.threads,
                "Number of threads; 0 = all that the machine has. Results do not depend on it")
      ->check(integer())
      ->capture_default_str();
  c->add_option(
       "-o,--out", s.out,
       "Directory for all replications, tables and figures; what is there already is reused. Default: "
       "mlo-reproduce (mlo-reproduce-quick with --quick)")
      ->check(not_empty())
      ->type_name("DIR");
  c->add_flag("-q,--quiet", command->quiet, "No progress");
  const auto unstated = [&](const char* name, auto& value, const char* help) {
    c->add_option(name, value, help)->capture_default_str()->group("What the paper does not state");
  };
  unstated("--proposal-scale-mean", s.proposal_scale_mean, "Table 1: sd of the random walk of mu");
  unstated("--proposal-precision", s.proposal_precision,
           "Tables 2 and 3, Figure 1: gamma (a step proportional to tau) or random-walk");
  unstated("--proposal-scale-precision", s.proposal_scale_precision,
           "Tables 2 and 3, Figure 1: the step's sd as a share of tau; with random-walk its sd");
  unstated("--proposal-scale-logistic", s.proposal_scale_logistic,
           "Table 4, Figure 2: sd of the random walk (the paper states 1)");
  unstated("--proposal-scale-covertype", s.proposal_scale_covertype,
           "Table 5: step of the random walk, times the shape of the Laplace fit");
  unstated("--delta", s.delta, "Table 4: delta of the adaptive method");
  unstated("--delta-covertype", s.delta_covertype, "Table 5: delta of the adaptive method");
  unstated("--start", s.start, "Where chains start: mode, or laplace (a draw from the fit)");
  c->footer(
      "Ctrl-C keeps the replications that are finished; the same command continues from there.\n"
      "\n"
      "Example:\n"
      "  mlo reproduce --quick\n"
      "  mlo reproduce table4 --reps 20 --out paper\n"
      "  mlo reproduce all --data covertype.csv.gz");
  c->callback([command] { run(*command); });
}

}  // namespace mlo::cli
