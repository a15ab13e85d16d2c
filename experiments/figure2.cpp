// Copyright (c) the mlo authors. BSD-3-Clause.
// Figure 2: MSE against the subsample size, logistic regression on 1,000 rows.
#include <fmt/format.h>

#include <array>

#include "experiments/fits.hpp"
#include "experiments/reproduce.hpp"
#include "mlo/report/svg.hpp"

namespace mlo::experiments {
namespace {

constexpr std::array<std::int64_t, 4> sizes{20, 50, 100, 200};

std::string cell_name(const std::string& method, std::int64_t r) { return fmt::format("{} r={}", method, r); }

// The squared errors of theta_1 and theta_2 added up, one sum per replication: the paper sums the two MSEs.
std::vector<double> summed_losses(const Replications& found, const std::string& cell) {
  std::vector<double> out(found.size(), 0.0);
  for (std::size_t j = 0; j < found.experiment().truth.size(); ++j) {
    const auto losses = squared_errors(found.estimates(cell, j), found.experiment().truth[j]);
    for (std::size_t b = 0; b < out.size(); ++b) out[b] += losses[b];
  }
  return out;
}

std::string picture(const Replications& found) {
  constexpr double unit = 1e3;
  Plot plot{
      .title = "",
      .x = {.label = "subsample size r", .log = true, .low = 17, .high = 235, .ticks = {20, 50, 100, 200}},
      .y = {.label = "MSE of theta_1 + MSE of theta_2, x 1000", .log = true},
      .marks = {},
      .width = 640,
      .height = 420};
  const Estimate full = mean(summed_losses(found, "full"));
  const double low = unit * (full.value - 2 * full.se), high = unit * (full.value + 2 * full.se);
  plot.marks.push_back({.kind = Mark::Kind::band,
                        .colour = "#57606a",
                        .x = {17, 235},
                        .low = {low, low},
                        .high = {high, high},
                        .opacity = 0.15});
  plot.marks.push_back({.kind = Mark::Kind::horizontal,
                        .label = "full sample (band: 2 Monte Carlo errors)",
                        .colour = "#57606a",
                        .y = {unit * full.value}});
  plot.marks.push_back({.kind = Mark::Kind::horizontal,
                        .label = "exact",
                        .colour = "#0969da",
                        .y = {unit * mean(summed_losses(found, "exact")).value},
                        .dashed = true});
  for (const auto& [method, label, colour] :
       {std::array<std::string, 3>{"mlo", "MLO", "#cf222e"}, {"uniform", "uniform", "#1a7f37"}}) {
    Mark mark{.label = label, .colour = colour};
    for (const std::int64_t r : sizes) {
      const Estimate m = mean(summed_losses(found, cell_name(method, r)));
      mark.x.push_back(static_cast<double>(r));
      mark.y.push_back(unit * m.value);
      mark.low.push_back(unit * (m.value - 2 * m.se));
      mark.high.push_back(unit * (m.value + 2 * m.se));
    }
    plot.marks.push_back(std::move(mark));
  }
  return as_svg(
      {.title = "Error of the posterior mean against the subsample size",
       .description =
           "On log axes: the error against the subsample size of MLO and of uniform subsampling, with error "
           "bars, and as levels those of the full sample and of exact.",
       .plots = {plot}});
}

}  // namespace

Result figure2(const Settings& settings, const Watcher& watcher) {
  Experiment experiment{"figure2", logistic_data(1000), {"x1", "x2"}, {1, 0.5}, {}};
  const FitOptions base = logistic_fit(settings);
  const double scale = settings.proposal_scale_logistic;
  for (const std::string method : {"mlo", "uniform"})
    for (const std::int64_t r : sizes)
      experiment.cells.push_back({cell_name(method, r), walk_fit(base, method, r, scale, settings)});
  experiment.cells.push_back({"full", walk_fit(base, "full", scale, settings)});
  experiment.cells.push_back({"exact", exact_fit(base)});
  const Replications found = replicate(experiment, settings, watcher);

  Result result{.name = "figure2",
                .title = "MSE against the subsample size, logistic regression, 1,000 rows",
                .settings = settings_lines(experiment, settings)};
  NumberTable table{
      "sum of the MSEs of theta_1 and theta_2, x 10^3; spread: sd of theta_1's draws over exact's",
      {"MLO", "uniform", "MLO's spread", "uniform's spread"},
      {}};
  const auto number = [&](const std::string& cell) {
    return Number(mean(summed_losses(found, cell)), 1e3, std::nullopt);
  };
  for (const std::int64_t r : sizes)
    table.rows.push_back({fmt::format("r={}", r),
                          {number(cell_name("mlo", r)), number(cell_name("uniform", r)),
                           Number(found.spread(cell_name("mlo", r), "exact")),
                           Number(found.spread(cell_name("uniform", r), "exact"))}});
  for (const std::string cell : {"full", "exact"})
    table.rows.push_back({cell == "full" ? "full sample" : "exact",
                          {number(cell), number(cell), Number(found.spread(cell, "exact")),
                           Number(found.spread(cell, "exact"))}});
  result.tables.push_back(std::move(table));
  result.claims.push_back(similar("MSE of MLO with r=20 as that of the full sample",
                                  summed_losses(found, cell_name("mlo", 20)), summed_losses(found, "full")));
  for (const std::int64_t r : sizes)
    result.claims.push_back(below(fmt::format("r={}: MSE of MLO below that of uniform", r),
                                  summed_losses(found, cell_name("mlo", r)),
                                  summed_losses(found, cell_name("uniform", r))));
  result.notes = size_notes(settings);
  result.pictures.push_back({"figure2", picture(found)});
  return result;
}

}  // namespace mlo::experiments
