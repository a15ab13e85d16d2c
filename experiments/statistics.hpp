// Copyright (c) the mlo authors. BSD-3-Clause.
// The paper's summaries of B estimates of one parameter, each with its Monte Carlo standard error.
#pragma once

#include <span>
#include <vector>

namespace mlo::experiments {

struct Estimate {
  double value = 0;
  double se = 0;  // Monte Carlo standard error of the value
};

// All take at least two values.
[[nodiscard]] Estimate mean(std::span<const double> values);  // se: sd / sqrt(B)
[[nodiscard]] Estimate bias(std::span<const double> estimates, double truth);
// [paper, Section 4, with the square and the root that its formula lacks] divisor B - 1. se by the delta
// method from the fourth moment, so that it is right for estimates that are not normal.
[[nodiscard]] Estimate standard_deviation(std::span<const double> estimates);
[[nodiscard]] Estimate mean_squared_error(std::span<const double> estimates, double truth);
[[nodiscard]] Estimate root_mean_squared_error(std::span<const double> estimates, double truth);

// One loss per replication, for paired comparisons of methods that saw the same data.
[[nodiscard]] std::vector<double> squared_errors(std::span<const double> estimates, double truth);
// Errors times the sign of their mean: the mean of these is |bias|.
[[nodiscard]] std::vector<double> errors_towards_bias(std::span<const double> estimates, double truth);

}  // namespace mlo::experiments
