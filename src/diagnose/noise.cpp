// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/diagnose/noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlo {

NoiseReport noise_report(double noise_sd, const std::vector<ParameterSummary>& parameters,
                         std::vector<double> laplace_sd, NoiseEffect effect) {
  NoiseReport report;
  report.noise_sd = noise_sd;
  report.laplace_sd = std::move(laplace_sd);
  for (std::size_t j = 0; j < parameters.size(); ++j)
    report.sd_ratio.push_back(parameters[j].sd / report.laplace_sd[j]);
  std::vector<double> sorted = report.sd_ratio;
  std::sort(sorted.begin(), sorted.end());
  report.median_ratio = sorted.empty() ? std::nan("") : quantile(sorted, 0.5);
  if (std::isnan(noise_sd)) {
    report.verdict = NoiseReport::Verdict::not_the_posterior;
    report.words = fmt::format(
        "The noise of the log acceptance ratio cannot be measured from one row a step: nothing is known of "
        "the law of these draws. Their spread is {:.2g} times that of the Laplace fit (median): read more "
        "rows a "
        "step (--subsample-size) or use --method auto.",
        report.median_ratio);
    return report;
  }
  if (!(noise_sd > 0)) return report;

  const std::string noise =
      fmt::format("The log acceptance ratio carries noise of standard deviation {:.2g}", noise_sd);
  const std::string factor = sorted.empty() ? ""
                                            : fmt::format("{:.2g} to {:.2g} times (median {:.2g})",
                                                          sorted.front(), sorted.back(), report.median_ratio);
  if (effect == NoiseEffect::corrected && noise_sd < 1) {
    report.verdict = NoiseReport::Verdict::harmless;
    report.words = fmt::format("{}, which the method allows for. The draws' spread is {} the Laplace fit's.",
                               noise, factor);
  } else if (effect == NoiseEffect::corrected) {
    report.verdict = NoiseReport::Verdict::inflated;
    report.words = fmt::format(
        "{}: more than the method can allow for, so that the chain hardly moves. The draws' spread is {} the "
        "Laplace fit's; read more rows a step (--max-subsample-size), or use --estimator control-variates or "
        "--method auto.",
        noise, factor);
  } else if (effect == NoiseEffect::tested) {
    // The noise of a decision that stopped early is large because it could be: it says nothing.
    constexpr double tolerated = 0.1;
    const bool off = std::abs(report.median_ratio - 1) > tolerated;
    report.verdict = off ? NoiseReport::Verdict::inflated : NoiseReport::Verdict::harmless;
    report.words = fmt::format("The draws' spread is {} the Laplace fit's{}.", factor,
                               off ? ": with a smaller --delta it would be closer to the posterior's" : "");
  } else if (noise_sd < 0.1) {
    report.verdict = NoiseReport::Verdict::harmless;
    report.words = fmt::format("{}: harmless. The draws' spread is {} the Laplace fit's.", noise, factor);
  } else if (noise_sd < 0.5) {
    report.verdict = NoiseReport::Verdict::inflated;
    report.words =
        fmt::format("{}: intervals may be off by some percent. The draws' spread is {} the Laplace fit's.",
                    noise, factor);
  } else if (noise_sd < 2) {
    report.verdict = NoiseReport::Verdict::inflated;
    report.words = fmt::format(
        "{}: intervals are too wide by tens of percent. The draws' spread is {} the Laplace fit's; read more "
        "rows a "
        "step (--subsample-size) or use --method auto.",
        noise, factor);
  } else {
    report.verdict = NoiseReport::Verdict::not_the_posterior;
    report.words = fmt::format(
        "{}: the spread of these draws is NOT the posterior's. It is {} that of the Laplace fit. The "
        "intervals are not usable, and the means may be off as well, by less than the spread: use --method "
        "auto.",
        noise, factor);
  }
  return report;
}

}  // namespace mlo
