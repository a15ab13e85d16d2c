// Copyright (c) the mlo authors. BSD-3-Clause.
// The fits that the paper's examples are made of.
#pragma once

#include <string>

#include "experiments/replicate.hpp"

namespace mlo::experiments {

// Iterations as the paper counts them: burn-in, then one draw kept in every `thin`.
struct Iterations {
  std::int64_t all = 0, burn_in = 0, thin = 1;
};

[[nodiscard]] FitOptions base_fit(const std::string& family, const std::string& formula,
                                  const std::string& prior, const Iterations& iterations);

// The same fit by a random walk with the same sd for every parameter: full, mlo, uniform or mlo-adaptive.
[[nodiscard]] FitOptions walk_fit(FitOptions fit, const std::string& method, double proposal_scale,
                                  const Settings& settings);
[[nodiscard]] FitOptions walk_fit(FitOptions fit, const std::string& method, std::int64_t subsample_size,
                                  double proposal_scale, const Settings& settings);

// As many draws by `exact`, which has no noise: what the other methods should give.
[[nodiscard]] FitOptions exact_fit(FitOptions fit);

// The examples' data, priors and iterations.
inline constexpr Iterations gaussian_iterations{.all = 3000, .burn_in = 1000, .thin = 1};
[[nodiscard]] Iterations logistic_iterations(const Settings& settings);
[[nodiscard]] FitOptions precision_fit();
// The same, by the step that the settings have for a precision.
[[nodiscard]] FitOptions precision_walk(const std::string& method, std::int64_t subsample_size,
                                        const Settings& settings);
[[nodiscard]] SimulateOptions precision_data();
[[nodiscard]] SimulateOptions logistic_data(std::int64_t rows);
[[nodiscard]] FitOptions logistic_fit(const Settings& settings);

// Lines that go with every table of replications.
[[nodiscard]] std::vector<std::string> settings_lines(const Experiment& experiment, const Settings& settings);
// A caution for runs that are too small to be evidence; empty for others.
[[nodiscard]] std::vector<std::string> size_notes(const Settings& settings);

}  // namespace mlo::experiments
