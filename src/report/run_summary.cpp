// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/report/run_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mlo/base/text.hpp"
#include "mlo/report/score_table.hpp"
#include "mlo/report/text_table.hpp"
#include "report/figures.hpp"

namespace mlo {
namespace {

// Digits down to the two that the error has: 0.12345 with an error of 0.0021 is 0.1235, and 12345 with an
// error of 2100 is 12300. With an exponent only where the number would be long.
std::string number(double value, double error) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (!std::isfinite(error) || error <= 0) return fmt::format("{:.6g}", value);
  const int decimals = 1 - static_cast<int>(std::floor(std::log10(error)));
  const double unit = std::pow(10.0, -decimals);
  const double near = std::abs(value) < 0.5 * unit ? 0 : value;  // not -0.00
  const double rounded = decimals < 0 ? std::round(near / unit) * unit : near;
  const double size = std::abs(rounded);
  if (size < 1e9 && decimals <= 8) return fmt::format("{:.{}f}", rounded, std::max(decimals, 0));
  const double leading = size > 0 ? std::floor(std::log10(size)) : -decimals;
  return fmt::format("{:.{}e}", near, std::clamp(static_cast<int>(leading) + decimals, 0, 15));
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  return fmt::format("{:#.2g}", value);
}

// What was compared with all rows, and how each parameter came out.
std::string audit_text(const RunSummary& s) {
  std::string out =
      fmt::format("\naudit: {} steps compared with all rows, {} bound violations, largest error {:.1g};",
                  s.audit.steps, s.method.bound_violations, s.audit.worst_error);
  out += fmt::format(" against {} draws on all rows: sd ratio {:.3f} to {:.3f}, means within {:.1f} errors\n",
                     s.audit.full_draws, s.audit.sd_ratio_low(), s.audit.sd_ratio_high(), s.audit.worst_z());
  std::vector<std::vector<std::string>> rows{{"audited", "mean: z", "sd ratio", "q95 - q5: z"}};
  for (const AuditReport::Parameter& p : s.audit.parameters)
    rows.push_back({p.name, fmt::format("{:.1f}", p.z), fmt::format("{:.3f}", p.sd_ratio),
                    fmt::format("{:.1f}", p.spread_z)});
  return out + text_table(rows);
}

}  // namespace

std::string promise_name(Promise promise) {
  for (const PromiseName& p : promise_names)
    if (p.promise == promise) return p.name;
  return {};
}

std::string as_table(const RunSummary& s) {
  std::string out = s.title + '\n';
  for (const std::string& note : s.notes) out += "  " + wrapped(note, 2, 4) + '\n';
  if (s.interrupted)
    out += fmt::format("  INTERRUPTED: the table shows the {} draws per chain that were made.\n", s.draws);
  out += '\n';

  const bool noisy = s.noise.verdict != NoiseReport::Verdict::none;
  const bool compared = s.method.promise != Promise::exact;  // with the Laplace fit
  std::vector<std::vector<std::string>> rows;
  rows.push_back(
      {"parameter", "mean", "sd", "mcse", "hpd 2.5%", "hpd 97.5%", "median", "ess bulk", "ess tail", "rhat"});
  if (compared) rows[0].insert(rows[0].begin() + 3, {"laplace sd", "ratio"});
  for (std::size_t j = 0; j < s.parameters.size(); ++j) {
    const ParameterSummary& p = s.parameters[j];
    // What the Monte Carlo error supports, but no more than four digits of the sd, which say all about the
    // posterior, and no fewer than two.
    const double digit = std::isfinite(p.mcse_mean) ? std::clamp(p.mcse_mean, p.sd / 100, p.sd) : p.sd / 10;
    std::vector<std::string> row{p.name,
                                 number(p.mean, digit),
                                 short_number(p.sd),
                                 short_number(p.mcse_mean),
                                 number(p.hpd_low, digit),
                                 number(p.hpd_high, digit),
                                 number(p.median, digit),
                                 fmt::format("{:.0f}", p.ess_bulk),
                                 fmt::format("{:.0f}", p.ess_tail),
                                 fmt::format("{:.3f}", p.rhat)};
    if (compared)
      row.insert(row.begin() + 3, {short_number(s.noise.laplace_sd[j]), short_number(s.noise.sd_ratio[j])});
    rows.push_back(std::move(row));
  }
  out += text_table(rows);

  const std::string read = plain_number(s.method.rows_per_step);
  out += fmt::format("\nmethod {} ({}): acceptance {:.3f}, reads {} row{} per step (of {})", s.method.name,
                     promise_name(s.method.promise), s.method.acceptance, read, read == "1" ? "" : "s",
                     grouped(s.data.used));
  if (noisy)
    out += fmt::format(", median {}, noise sd {:.2g}", plain_number(s.method.median_rows_per_step),
                       s.method.noise_sd);
  if (s.audit.done) out += audit_text(s);
  if (s.holdout) out += '\n' + as_table(*s.holdout);
  const std::string passes = plain_number(s.passes, 2);
  out += fmt::format(
      "\n{} chain{} x {} draw{}; {:.2f} s: read {:.2f}, mode {:.2f} ({} pass{}), sample {:.2f}\n", s.chains,
      s.chains == 1 ? "" : "s", grouped(s.draws), s.draws == 1 ? "" : "s", s.seconds.total, s.seconds.read,
      s.seconds.mode, passes, passes == "1" ? "" : "es", s.seconds.sample);
  for (const std::string& warning : s.warnings) out += "\nWARNING: " + wrapped(warning, 9, 2) + '\n';
  return out;
}

std::string as_csv(const std::vector<ParameterSummary>& parameters) {
  std::string out = "parameter";
  for (const auto& figure : parameter_figures) out += fmt::format(",{}", figure.name);
  out += '\n';
  for (const ParameterSummary& p : parameters) {
    out += csv_cell(p.name);
    for (const auto& figure : parameter_figures) out += fmt::format(",{}", p.*figure.value);
    out += '\n';
  }
  return out;
}

}  // namespace mlo
