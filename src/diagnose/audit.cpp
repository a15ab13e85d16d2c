// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/diagnose/audit.hpp"

#include <fmt/format.h>

namespace mlo {

void compare(const std::vector<ParameterSummary>& found, const std::vector<ParameterSummary>& reference,
             AuditReport& report) {
  constexpr double suspicious = 4;  // Monte Carlo errors
  constexpr double not_mixed = 1.05;
  std::string unlike, unmixed;
  const auto add = [](std::string& list, const std::string& item) {
    list += (list.empty() ? "" : "; ") + item;
  };
  for (std::size_t j = 0; j < found.size(); ++j) {
    const ParameterSummary &a = found[j], &b = reference[j];
    AuditReport::Parameter p;
    p.name = a.name;
    p.z = (a.mean - b.mean) / std::hypot(a.mcse_mean, b.mcse_mean);
    p.sd_ratio = a.sd / b.sd;
    // The error of the log of q95 - q5 is 0.9 / sqrt(draws) for a normal law, 1.3 for a tail like Student's
    // with 3 degrees of freedom.
    const double error = 1.3 * std::sqrt(1 / a.ess_tail + 1 / b.ess_tail);
    p.spread_z = std::log((a.q95 - a.q5) / (b.q95 - b.q5)) / error;
    if (!(b.rhat < not_mixed)) add(unmixed, fmt::format("\"{}\" (R-hat {:.2f})", p.name, b.rhat));
    if (!(std::abs(p.z) < suspicious) || !(std::abs(p.spread_z) < suspicious))
      add(unlike,
          fmt::format("\"{}\" (means {:.1f} errors apart, sd ratio {:.2f}, q95 - q5 {:.1f} errors apart)",
                      p.name, p.z, p.sd_ratio, p.spread_z));
    report.parameters.push_back(std::move(p));
  }
  if (!unlike.empty())
    report.warning = fmt::format(
        "audit: the draws do not agree with chains on all rows: {}. At least one of the two has not explored "
        "the posterior; look at R-hat, take more `warmup` and `draws`, and compare with `method full`.",
        unlike);
  else if (!unmixed.empty())
    report.warning = fmt::format(
        "audit: the chains on all rows have not mixed themselves, so that the audit says little about {}.",
        unmixed);
}

}  // namespace mlo
