// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/report/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "mlo/base/text.hpp"
#include "mlo/report/run_summary.hpp"
#include "mlo/report/svg.hpp"
#include "mlo/report/text_table.hpp"
#include "report/figures.hpp"

namespace mlo {
namespace {

// A rate or a count; "-" if it is not known.
std::string shown(double value) { return std::isnan(value) ? "-" : plain_number(value); }

// Three digits, with the zeros of 1.00.
std::string ratio(double value) {
  return value < 99.95 ? fmt::format("{:#.3g}", value) : plain_number(value);
}

// Calls use(figure) for the figures of CSV, in its order.
template <class Use>
void each_figure(const Use& use) {
  for (const auto& figure : cost_figures) use(figure);
  for (const auto& figure : chain_figures) use(figure);
  for (const auto& figure : error_figures) use(figure);
}

}  // namespace

void compare_with(const std::vector<ParameterSummary>& posterior, MethodResult& result) {
  // NaN counts as worse than any number.
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
                    fmt::format("{:.2f}", m.sample_seconds), shown(m.rows_per_step), shown(m.ess_per_second),
                    shown(m.ess_per_million_rows), ratio(m.sd_ratio), ratio(m.sd_ratio_low),
                    ratio(m.sd_ratio_high), plain_number(m.mean_error, 2), plain_number(m.mean_error_mcse, 1),
                    fmt::format("{:.3f}", m.rhat)});
  }
  out += text_table(rows);
  for (const MethodResult& m : c.methods)
    if (!m.failure.empty()) out += '\n' + m.name + ": " + wrapped(m.failure, m.name.size() + 2, 2) + '\n';
  out += '\n';
  out +=
      wrapped(fmt::format("ESS: effective draws of the slowest parameter; Mrow: a million rows read. sd "
                          "ratio: of the draws to the posterior's, median of the parameters, the least and "
                          "the most. mean error: the largest, in posterior sds, with its Monte Carlo "
                          "error. The posterior is that of {}.",
                          c.reference),
              0, 0) +
      '\n';
  if (c.interrupted) out += "\nINTERRUPTED: not all methods were run.\n";
  return out;
}

std::string as_csv(const Comparison& c) {
  std::string out = "method,promise,draws";
  each_figure([&](const auto& figure) { out += fmt::format(",{}", figure.name); });
  out += ",failure\n";
  for (const MethodResult& m : c.methods) {
    out += fmt::format("{},{},{}", csv_cell(m.name), promise_name(m.promise), m.draws);
    each_figure(
        [&](const auto& figure) { out += m.failure.empty() ? fmt::format(",{}", m.*figure.value) : ","; });
    out += fmt::format(",{}\n", csv_cell(m.failure));
  }
  return out;
}

// One line per method: its name, its effective draws per second, and the spread of its draws.
std::string as_svg(const Comparison& c) {
  std::vector<const MethodResult*> shown;
  for (const MethodResult& m : c.methods)
    if (m.failure.empty() && m.ess_per_second > 0) shown.push_back(&m);
  // 22 pixels per method and one more line of air; titles and axes take the rest.
  const double height = 102 + 22 * static_cast<double>(shown.size());
  const Axis lines{
      .low = -static_cast<double>(shown.size()) - 0.5, .high = 0.5, .ticks = {1e9}, .numbers = false};
  Plot names{.title = "method",
             .x = {.label = "green: exact; brown: bounded error; red: approximate",
                   .low = 0,
                   .high = 1,
                   .ticks = {1e9},
                   .numbers = false},
             .y = lines,
             .width = 480,
             .height = height};
  Plot speed{.title = "effective draws per second",
             .x = {.label = "of the slowest parameter", .log = true},
             .y = lines,
             .width = 420,
             .height = height};
  Plot spread{.title = "sd of the draws / posterior sd",
              .x = {.label = "median of the parameters, least and most", .log = true},
              .y = lines,
              .width = 360,
              .height = height};
  spread.marks.push_back({.kind = Mark::Kind::vertical, .colour = "#57606a", .x = {1}, .dashed = true});
  constexpr std::array<std::pair<Promise, const char*>, 3> colours{
      {{Promise::exact, "#1a7f37"}, {Promise::bounded_error, "#9a6700"}, {Promise::approximate, "#cf222e"}}};
  for (const auto& [promise, colour] : colours) {
    Mark name{.kind = Mark::Kind::points, .colour = "none"};
    Mark draws{.kind = Mark::Kind::points, .colour = colour};
    Mark median{.kind = Mark::Kind::points, .colour = colour};
    for (std::size_t k = 0; k < shown.size(); ++k) {
      const MethodResult& m = *shown[k];
      if (m.promise != promise) continue;
      const double y = -static_cast<double>(k);
      name.x.push_back(0);
      name.y.push_back(y - 0.4);  // names are written above their points
      name.names.push_back(m.name);
      draws.x.push_back(m.ess_per_second);
      draws.y.push_back(y);
      median.x.push_back(m.sd_ratio);
      median.y.push_back(y);
      spread.marks.push_back({.colour = colour, .x = {m.sd_ratio_low, m.sd_ratio_high}, .y = {y, y}});
    }
    if (draws.x.empty()) continue;
    names.marks.push_back(std::move(name));
    speed.marks.push_back(std::move(draws));
    spread.marks.push_back(std::move(median));
  }
  return as_svg(Sheet{.title = "Methods compared: " + c.title,
                      .description =
                          "For each method its effective draws per second and the spread of its draws, as a "
                          "ratio to the posterior's.",
                      .plots = {std::move(names), std::move(speed), std::move(spread)},
                      .columns = 3});
}

}  // namespace mlo
