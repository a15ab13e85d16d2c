// Copyright (c) the mlo authors. BSD-3-Clause.
#include "experiments/fits.hpp"

#include <fmt/format.h>

namespace mlo::experiments {

FitOptions base_fit(const std::string& family, const std::string& formula, const std::string& prior,
                    const Iterations& iterations) {
  FitOptions fit;
  fit.data = {"data.csv"};
  fit.formula = formula;
  fit.family = family;
  fit.prior = prior;
  fit.chains = 1;
  fit.warmup = iterations.burn_in;
  fit.draws = (iterations.all - iterations.burn_in) / iterations.thin;
  fit.thin = iterations.thin;
  return fit;
}

FitOptions walk_fit(FitOptions fit, const std::string& method, double proposal_scale,
                    const Settings& settings) {
  fit.method = method;
  fit.proposal = "random-walk";
  fit.proposal_shape = "identity";
  fit.proposal_scale = proposal_scale;
  fit.start = settings.start;
  return fit;
}

FitOptions walk_fit(FitOptions fit, const std::string& method, std::int64_t subsample_size,
                    double proposal_scale, const Settings& settings) {
  fit = walk_fit(std::move(fit), method, proposal_scale, settings);
  fit.subsample_size = subsample_size;
  return fit;
}

FitOptions exact_fit(FitOptions fit) {
  fit.method = "exact";
  fit.thin = 1;
  fit.warmup = 1000;
  return fit;
}

Iterations logistic_iterations(const Settings& settings) {
  return settings.quick ? Iterations{.all = 8000, .burn_in = 2000, .thin = 20}
                        : Iterations{.all = 30'000, .burn_in = 10'000, .thin = 20};
}

FitOptions precision_fit() {
  FitOptions fit = base_fit("gaussian-precision", "y ~ 1", "gamma(0.01, 0.01)", gaussian_iterations);
  fit.numbers["known-mean"] = 0;
  return fit;
}

FitOptions precision_walk(const std::string& method, std::int64_t subsample_size, const Settings& settings) {
  FitOptions fit =
      walk_fit(precision_fit(), method, subsample_size, settings.proposal_scale_precision, settings);
  if (settings.proposal_precision == "gamma") {
    fit.proposal = "gamma";
    fit.proposal_shape.reset();
  }
  return fit;
}

SimulateOptions precision_data() {
  return {.family = "gaussian-precision", .rows = 1000, .coefficients = {1}};
}

SimulateOptions logistic_data(std::int64_t rows) {
  SimulateOptions data;
  data.family = "logistic";
  data.rows = rows;
  return data;
}

FitOptions logistic_fit(const Settings& settings) {
  // Variance 10.
  return base_fit("logistic", "y ~ x1 + x2 - 1", "normal(0, 3.1622776601683795)",
                  logistic_iterations(settings));
}

std::vector<std::string> settings_lines(const Experiment& experiment, const Settings& settings) {
  std::vector<std::string> out{
      fmt::format("{} replications, --seed {}", settings.replications(), settings.seed)};
  for (std::string& line : commands(experiment, settings)) out.push_back(std::move(line));
  return out;
}

std::vector<std::string> size_notes(const Settings& settings) {
  if (!settings.quick && settings.replications() >= 100) return {};
  return {fmt::format(
      "{} replications{} show that the program runs; they are no evidence for or against a claim.",
      settings.replications(), settings.quick ? " of shorter chains" : "")};
}

}  // namespace mlo::experiments
