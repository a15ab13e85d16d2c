// Copyright (c) the mlo authors. BSD-3-Clause.
#include <cmath>
#include <cstdio>

#include "mlo/fit/fit.hpp"
#include "mlo/fit/simulate.hpp"

int main() {
  mlo::SimulateOptions data;
  data.rows = 5000;
  mlo::FitOptions options;
  options.data = {"simulated"};
  options.formula = "y ~ 0 + x1 + x2";
  options.family = "logistic";
  options.seed = 1;
  const mlo::FitResult result = mlo::fit(options, mlo::simulate(data));
  for (const auto& p : result.summary.parameters)
    std::printf("%s %.3f (%.3f)\n", p.name.c_str(), p.mean, p.sd);
  // The true coefficients are 1 and 0.5; with 5000 rows, 0.2 is more than 5 posterior sds.
  const auto& p = result.summary.parameters;
  return std::abs(p[0].mean - 1) < 0.2 && std::abs(p[1].mean - 0.5) < 0.2 ? 0 : 1;
}
