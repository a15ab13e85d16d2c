// Copyright (c) the mlo authors. BSD-3-Clause.
// `exact` against `full` where a second parameter is estimated, within one run, by CPU time on one core: per
// step and per effective draw, and the set-up after the mode beside the search for the mode.
//   bench_second_parameter [FAMILY-SUBSTRING] [--rows N]... [--steps N] [--order 2|2.5|3|chosen] [--planned
//   N]
// --planned: the number of steps that the set-up is made for, also where the order is stated; without it, as
// many as are made, and 8,000, those of a default fit, where the order is chosen.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chains.hpp"
#include "data.hpp"
#include "mlo/kernel/exact.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/subsample/joint_expansion.hpp"

namespace mlo::bench {
namespace {

struct Settings {
  std::string filter;
  std::vector<std::size_t> rows;
  std::size_t steps = 1'000'000;
  std::string order;   // empty: all
  double planned = 0;  // 0: see above
};

JointOptions options_of(const Glm& model, const Mode& mode) {
  const Eigen::Index last = mode.evaluated_at.size() - 1;
  Derivatives prior(model.dim());
  model.add_prior_derivatives(params(mode.evaluated_at), prior);
  JointOptions options;
  options.prior_slope = prior.gradient[last];
  options.prior_curvature = prior.information(last, last);
  options.prior_of_second = [&model](double s) { return model.log_prior_of_second(s); };
  return options;
}

const char* words(JointOrder order) {
  return order == JointOrder::two ? "2" : order == JointOrder::mixed ? "2.5" : "3";
}

void run_case(const Settings& settings, const std::string& family, std::size_t rows) {
  const Glm model =
      of_family(family, {.rows = rows, .columns = {0.5, -0.3, 0.2, 0.4, 0.1}, .intercept = 0.0});
  const std::string name = fmt::format("{} n = {}", family, rows);
  ThreadPool pool(1);
  const CpuTimer timer;
  const Mode mode = find_mode(model, pool);
  const double mode_seconds = timer.seconds();
  fmt::print("{}: {} parameters, mode {:.3f} CPU s, {:.2f} passes\n", name, model.dim(), mode_seconds,
             mode.passes);
  const Laplace laplace(mode.theta, mode.information);
  const std::size_t full_steps = std::clamp<std::size_t>(200'000'000 / rows, 100, 2000);
  const Figures full = measure(
      model, mode, 1, 1, 20, full_steps,
      [&](ThreadPool& chain_pool) {
        return FullKernel(model, LaplaceProposal(laplace, {.step = 1, .local_share = 0.01}), chain_pool);
      },
      false);
  print(name, "full", full);
  const Eigen::Index last = mode.evaluated_at.size() - 1;
  // Empty: as a fit of 4 x 1,000 draws chooses it.
  for (const std::optional<JointOrder> order :
       {std::optional<JointOrder>(), std::optional(JointOrder::two), std::optional(JointOrder::mixed),
        std::optional(JointOrder::three)}) {
    if (!settings.order.empty() && settings.order != (order ? words(*order) : "chosen")) continue;
    JointOptions options = options_of(model, mode);
    options.order = order;
    options.steps = settings.planned > 0 ? settings.planned
                    : order              ? static_cast<double>(settings.steps)
                                         : 8000;
    const CpuTimer set_up;
    const auto expansion = std::make_shared<const JointExpansion>(
        expand_jointly(*model.surfaced(mode.evaluated_at[last]), pool, mode, options));
    const double seconds = set_up.seconds();
    const Figures exact = measure(model, mode, 1, 1, 2000, settings.steps, [&](ThreadPool& chain_pool) {
      return ExactKernel(model, expansion, {.proposal = {}, .thinning = {}, .audit_share = 0}, chain_pool);
    });
    print(name, fmt::format("exact {}{}", words(expansion->order), order ? "" : ", chosen"), exact);
    fmt::print(
        "  set-up {:.4f} CPU s, {:.2f} x the mode, with {:.0f} steps {:.4f}; {:.0f} x full per step, {:.0f} x per "
        "effective draw\n",
        seconds, seconds / mode_seconds, options.steps, seconds + 1e-6 * exact.step_us * options.steps,
        full.step_us / exact.step_us, exact.ess_per_second / full.ess_per_second);
    std::fflush(stdout);
  }
}

int main(int argc, char** argv) {
  Settings settings;
  for (int k = 1; k < argc; ++k) {
    const std::string argument = argv[k];
    if (argument == "--rows" && k + 1 < argc) {
      settings.rows.push_back(std::strtoull(argv[++k], nullptr, 10));
    } else if (argument == "--steps" && k + 1 < argc) {
      settings.steps = std::strtoull(argv[++k], nullptr, 10);
    } else if (argument == "--planned" && k + 1 < argc) {
      settings.planned = std::strtod(argv[++k], nullptr);
    } else if (argument == "--order" && k + 1 < argc) {
      settings.order = argv[++k];
    } else {
      settings.filter = argument;
    }
  }
  if (settings.rows.empty()) settings.rows = {100'000, 3'000'000};
  for (const char* const family :
       {"student", "negative-binomial", "gamma", "zero-inflated-poisson", "beta-binomial"})
    if (std::string(family).find(settings.filter) != std::string::npos)
      for (const std::size_t rows : settings.rows) run_case(settings, family, rows);
  return 0;
}

}  // namespace
}  // namespace mlo::bench

int main(int argc, char** argv) { return mlo::bench::main(argc, argv); }
