// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/report/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "mlo/report/run_summary.hpp"
#include "mlo/report/svg.hpp"
#include "mlo/report/text_table.hpp"

namespace mlo {
namespace {

// 3 significant digits, in words a reader sums up at a glance: 950, 1.2k, 3.4M.
std::string short_count(double value) {
  if (!std::isfinite(value)) return value > 0 ? "inf" : "-";
  if (value >= 1e6) return fmt::format("{:.3g}M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.3g}k", value / 1e3);
  return fmt::format("{:.3g}", value);
}

// The figures of a result that CSV and tables share: their names, and how many digits a table shows.
constexpr std::array<std::pair<const char*, double MethodResult::*>, 13> figures{{
    {"setup_seconds", &MethodResult::setup_seconds},
    {"sample_seconds", &MethodResult::sample_seconds},
    {"rows_per_step", &MethodResult::rows_per_step},
    {"acceptance", &MethodResult::acceptance},
    {"noise_sd", &MethodResult::noise_sd},
    {"rhat", &MethodResult::rhat},
    {"ess", &MethodResult::ess},
    {"ess_per_second", &MethodResult::ess_per_second},
    {"ess_per_million_rows", &MethodResult::ess_per_million_rows},
    {"sd_ratio_low", &MethodResult::sd_ratio_low},
    {"sd_ratio", &MethodResult::sd_ratio},
    {"sd_ratio_high", &MethodResult::sd_ratio_high},
    {"mean_error", &MethodResult::mean_error},
}};

}  // namespace

void compare_with(const std::vector<ParameterSummary>& posterior, MethodResult& result) {
  // NaN is worse than any number, and stays.
  const auto worse = [](double found, double so_far) { return !std::isnan(so_far) && !(found <= so_far); };
  std::vector<double> ratios;
  result.mean_error = -1;
  result.rhat = -1;
  double least = -std::numeric_limits<double>::infinity();  // minus the ESS
  for (std::size_t j = 0; j < posterior.size(); ++j) {
    const ParameterSummary &found = result.parameters[j], &truth = posterior[j];
    ratios.push_back(found.sd / truth.sd);
    const double error = std::abs(found.mean - truth.mean) / truth.sd;
    if (worse(error, result.mean_error)) {
      result.mean_error = error;
      result.mean_error_mcse = std::hypot(found.mcse_mean, truth.mcse_mean) / truth.sd;
    }
    if (worse(-found.ess_bulk, least)) least = -found.ess_bulk;
    if (worse(found.rhat, result.rhat)) result.rhat = found.rhat;
  }
  result.ess = -least;
  std::sort(ratios.begin(), ratios.end());
  result.sd_ratio_low = ratios.front();
  result.sd_ratio = quantile(ratios, 0.5);
  result.sd_ratio_high = ratios.back();
}

std::string as_table(const Comparison& c) {
  std::string out = c.title + '\n';
  for (const std::string& note : c.notes) out += "  " + wrapped(note, 2, 4) + '\n';
  out += '\n';
  std::vector<std::vector<std::string>> rows{{"method", "promise", "set-up s", "sample s", "rows/step",
                                              "ESS/s", "ESS/Mrow", "sd ratio", "(least", "most)",
                                              "mean error", "(mcse)", "rhat"}};
  for (const MethodResult& m : c.methods) {
    if (!m.failure.empty()) continue;
    rows.push_back({m.name, promise_name(m.promise), fmt::format("{:.2f}", m.setup_seconds),
                    fmt::format("{:.2f}", m.sample_seconds), short_count(m.rows_per_step),
                    short_count(m.ess_per_second), short_count(m.ess_per_million_rows),
                    fmt::format("{:#.3g}", m.sd_ratio), fmt::format("{:#.3g}", m.sd_ratio_low),
                    fmt::format("{:#.3g}", m.sd_ratio_high), fmt::format("{:.2g}", m.mean_error),
                    fmt::format("{:.1g}", m.mean_error_mcse), fmt::format("{:.3f}", m.rhat)});
  }
  out += text_table(rows);
  for (const MethodResult& m : c.methods)
    if (!m.failure.empty()) out += '\n' + m.name + ": " + wrapped(m.failure, m.name.size() + 2, 2) + '\n';
  out += "\n" +
         wrapped(fmt::format("ESS: effective draws of the slowest parameter; Mrow: a million rows read. sd "
                             "ratio: of the draws "
                             "to the posterior's, median of the parameters, the least and the most. mean "
                             "error: the largest, in "
                             "posterior sds, with its Monte Carlo error. The posterior is that of {}.",
                             c.reference),
                 0, 0) +
         '\n';
  if (c.interrupted) out += "\nINTERRUPTED: not all methods were run.\n";
  return out;
}

std::string as_csv(const Comparison& c) {
  std::string out = "method,promise,draws";
  for (const auto& [name, member] : figures) out += fmt::format(",{}", name);
  out += ",mean_error_mcse,failure\n";
  for (const MethodResult& m : c.methods) {
    out += fmt::format("{},{},{}", csv_cell(m.name), promise_name(m.promise), m.draws);
    for (const auto& [name, member] : figures) out += m.failure.empty() ? fmt::format(",{}", m.*member) : ",";
    out += m.failure.empty() ? fmt::format(",{},\n", m.mean_error_mcse)
                             : fmt::format(",,{}\n", csv_cell(m.failure));
  }
  return out;
}

std::string as_svg(const Comparison& c) {
  Plot plot;
  plot.title = c.title;
  plot.width = 760;
  plot.height = 480;
  plot.x = {.label = "effective draws a second (slowest parameter)", .log = true};
  plot.y = {.label = "sd of the draws / posterior sd", .log = true};
  plot.marks.push_back({.kind = Mark::Kind::horizontal,
                        .label = "the posterior",
                        .colour = "#57606a",
                        .y = {1},
                        .dashed = true});
  const std::array<std::pair<Promise, const char*>, 3> groups{
      {{Promise::exact, "#1a7f37"}, {Promise::bounded_error, "#9a6700"}, {Promise::approximate, "#cf222e"}}};
  for (const auto& [promise, colour] : groups) {
    Mark mark{.kind = Mark::Kind::points, .label = promise_name(promise), .colour = colour};
    for (const MethodResult& m : c.methods) {
      if (!m.failure.empty() || m.promise != promise || !(m.ess_per_second > 0)) continue;
      mark.x.push_back(m.ess_per_second);
      mark.y.push_back(m.sd_ratio);
      mark.low.push_back(m.sd_ratio_low);
      mark.high.push_back(m.sd_ratio_high);
      mark.names.push_back(m.name);
    }
    if (!mark.x.empty()) plot.marks.push_back(std::move(mark));
  }
  return as_svg(Sheet{.title = "Methods compared: " + c.title,
                      .description =
                          "Each method's effective draws a second against the spread of its draws, as a "
                          "ratio to the posterior's.",
                      .plots = {plot}});
}

}  // namespace mlo
