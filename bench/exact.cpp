// Copyright (c) the mlo authors. BSD-3-Clause.
// Effective draws per second of `exact`, and of `full` with the same proposal in the same run: the cases of
// docs/benchmarks.md. Sampling inside the library, on one core unless stated otherwise, without file output.
//   bench_exact [CASE-SUBSTRING] [--covertype FILE.csv.gz] [--flights FILE.csv.gz] [--steps N]
#include "mlo/kernel/exact.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "chains.hpp"
#include "data.hpp"
#include "mlo/base/timer.hpp"
#include "mlo/data/csv.hpp"
#include "mlo/kernel/full.hpp"

namespace mlo::bench {
namespace {

struct Settings {
  std::string filter, covertype, flights;
  std::size_t steps = 1'000'000;
};

void run_case(const Settings& settings, const std::string& name, const Glm& model,
              bool both_threads = false) {
  ThreadPool pool(1);
  const Timer timer;
  const Mode mode = find_mode(model, pool);
  const double mode_seconds = timer.seconds();
  fmt::print("{}: n = {}, p = {}, mode {:.3f} s, {:.2f} passes\n", name, model.rows(), model.dim(),
             mode_seconds, mode.passes);
  const Laplace laplace(mode.theta, mode.information);
  std::size_t steps = settings.steps;
  if (model.dim() > 20) steps /= 4;
  for (const int order : {2, 3}) {
    const Timer set_up;
    const auto expansion = std::make_shared<const Expansion>(
        expand(*model.curved(), pool, mode, {.order = order, .steps = static_cast<double>(steps)}));
    fmt::print("  order {}: set-up {:.3f} s, expected rows {:.3f}, shell factors {:.2f} {:.2f}\n", order,
               set_up.seconds(), expansion->expected_rows(), expansion->shells[1].factor,
               expansion->shells[2].factor);
    for (const Thinning thinning : {Thinning::balanced, Thinning::factorised}) {
      const auto kernel = [&](ThreadPool& chain_pool) {
        return ExactKernel(model, expansion, {.proposal = {}, .thinning = thinning, .audit_share = 0},
                           chain_pool);
      };
      print(name,
            fmt::format("exact {} {}", order, thinning == Thinning::balanced ? "balanced" : "factorised"),
            measure(model, mode, 1, 1, 2000, steps, kernel));
      if (both_threads && thinning == Thinning::balanced)
        print(name, fmt::format("exact {} 2 threads", order),
              measure(model, mode, 2, 2, 2000, steps, kernel));
    }
  }
  const std::size_t full_steps =
      std::max<std::size_t>(200, std::min<std::size_t>(20'000, 200'000'000 / model.rows()));
  print(name, "full",
        measure(
            model, mode, 1, 1, 100, full_steps,
            [&](ThreadPool& chain_pool) {
              return FullKernel(model, LaplaceProposal(laplace, {.step = 1, .local_share = 0.01}),
                                chain_pool);
            },
            false));
}

int main(int argc, char** argv) {
  Settings settings;
  for (int k = 1; k < argc; ++k) {
    const std::string argument = argv[k];
    if (argument == "--covertype" && k + 1 < argc) {
      settings.covertype = argv[++k];
    } else if (argument == "--flights" && k + 1 < argc) {
      settings.flights = argv[++k];
    } else if (argument == "--steps" && k + 1 < argc) {
      settings.steps = std::strtoull(argv[++k], nullptr, 10);
    } else {
      settings.filter = argument;
    }
  }
  const auto wanted = [&](const std::string& name) {
    return name.find(settings.filter) != std::string::npos;
  };
  const auto synthetic = [&](const std::string& name, const Recipe& recipe, bool both = false) {
    if (wanted(name)) run_case(settings, name, logistic(recipe), both);
  };
  synthetic("D1",
            {.rows = 100'000, .columns = {1, 0.5}, .intercept = std::nullopt, .prior_sd = std::sqrt(10.0)},
            true);
  synthetic("D2", d2(), true);
  if (!settings.covertype.empty() && wanted("Covertype"))
    run_case(settings, "Covertype", covertype(settings.covertype));
  if (!settings.flights.empty() && wanted("flights"))
    run_case(settings, "flights", flights(settings.flights));
  const auto independent = [](std::size_t rows, std::size_t columns) {
    Recipe recipe{.rows = rows, .columns = std::vector<double>(columns), .intercept = std::nullopt};
    for (std::size_t j = 0; j < columns; ++j)
      recipe.columns[j] = (j % 2 == 0 ? 1 : -1) / std::sqrt(static_cast<double>(columns));
    return recipe;
  };
  synthetic("p50 n1e5", independent(100'000, 50));
  synthetic("p50 n1e6", independent(1'000'000, 50));
  Recipe rare{.rows = 100'000, .columns = std::vector<double>(9, 0.3), .intercept = -6.0};
  synthetic("rare 0.4%", rare);
  synthetic("p10 n1e4", independent(10'000, 10));
  synthetic("p10 n1e5", independent(100'000, 10));
  synthetic("p10 n1e6", independent(1'000'000, 10));
  synthetic("p3 n500", independent(500, 3));
  return 0;
}

}  // namespace
}  // namespace mlo::bench

int main(int argc, char** argv) { return mlo::bench::main(argc, argv); }
