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
        "The noise of the log acceptance ratio cannot be measured from one row per step: nothing is known of "
        "the law of these draws. Their spread is {:.2g} times that of the Laplace fit (median): read more "
        "rows per step (`subsample-size`) or use `method auto`.",
        report.median_ratio);
    return report;
  }
  if (!(noise_sd > 0)) return report;

  using Verdict = NoiseReport::Verdict;
  const auto judge = [&](Verdict verdict, std::string words) {
    report.verdict = verdict;
    report.words = std::move(words);
  };
  const std::string noise =
      fmt::format("The log acceptance ratio carries noise of standard deviation {:.2g}", noise_sd);
  std::string factor;
  if (!sorted.empty()) {
    const std::string least = fmt::format("{:.2g}", sorted.front()),
                      most = fmt::format("{:.2g}", sorted.back());
    factor = least == most ? least + " times"  // not "1.5 to 1.5 times"
                           : fmt::format("{} to {} times (median {:.2g})", least, most, report.median_ratio);
  }
  const std::string spread = fmt::format("The draws' spread is {} the Laplace fit's", factor);
  if (effect == NoiseEffect::corrected && noise_sd < 1) {
    judge(Verdict::harmless, noise + ", which the method allows for. " + spread + '.');
  } else if (effect == NoiseEffect::corrected) {
    judge(Verdict::inflated,
          noise + ": more than the method can allow for, so that the chain hardly moves. " + spread +
              "; read more rows per step (`max-subsample-size`), or use `estimator control-variates` or "
              "`method auto`.");
  } else if (effect == NoiseEffect::tested) {
    // A decision may stop early just because large noise does not matter there, so the noise sd says nothing.
    constexpr double tolerated = 0.1;
    const bool off = std::abs(report.median_ratio - 1) > tolerated;
    judge(off ? Verdict::inflated : Verdict::harmless,
          spread + (off ? ": with a smaller `delta` it would be closer to the posterior's." : "."));
  } else if (noise_sd < 0.1) {
    judge(Verdict::harmless, noise + ": harmless. " + spread + '.');
  } else if (noise_sd < 0.5) {
    judge(Verdict::inflated, noise + ": intervals may be off by some percent. " + spread + '.');
  } else if (noise_sd < 2) {
    judge(Verdict::inflated, noise + ": intervals are too wide by tens of percent. " + spread +
                                 "; read more rows per step (`subsample-size`) or use `method auto`.");
  } else {
    judge(Verdict::not_the_posterior,
          fmt::format("{}: the spread of these draws is NOT the posterior's. It is {} that of the Laplace "
                      "fit. The intervals are not usable, and the means may be off as well, by less than the "
                      "spread: use `method auto`.",
                      noise, factor));
  }
  return report;
}

}  // namespace mlo
