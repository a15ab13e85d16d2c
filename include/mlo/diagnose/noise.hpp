// Copyright (c) the mlo authors. BSD-3-Clause.
// How far the draws of a subsampled method can be trusted. A chain whose log acceptance ratio is noisy does
// not sample the posterior but something wider. The Laplace fit, which is nearly right for tall data, shows
// how much wider.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mlo/diagnose/summary.hpp"

namespace mlo {

// What a method does about the noise of its log acceptance ratio.
enum class NoiseEffect {
  widens,     // nothing: the noise widens the draws
  corrected,  // allows for it, as long as its sd is below about 1
  tested,     // reads rows until the decision is safe in spite of it
};

struct NoiseReport {
  enum class Verdict { none, harmless, inflated, not_the_posterior };
  Verdict verdict = Verdict::none;
  double noise_sd = 0;             // mean over steps of the sd of the estimated log ratio
  std::vector<double> laplace_sd;  // one per parameter
  std::vector<double> sd_ratio;    // sd of the draws / laplace_sd
  double median_ratio = 0;         // over the parameters
  // In plain words, one or two sentences; empty for Verdict::none.
  std::string words;
};

// noise_sd = 0 means that there is no noise and only the ratios are reported; NaN means that it is not known.
[[nodiscard]] NoiseReport noise_report(double noise_sd, const std::vector<ParameterSummary>& parameters,
                                       std::vector<double> laplace_sd,
                                       NoiseEffect effect = NoiseEffect::widens);

}  // namespace mlo
