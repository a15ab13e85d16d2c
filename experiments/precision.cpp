// Copyright (c) the mlo authors. BSD-3-Clause.
// Table 3 and Figure 1: MLO against uniform subsampling for the precision of a Gaussian.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "experiments/command_line.hpp"
#include "experiments/fits.hpp"
#include "experiments/reproduce.hpp"
#include "mlo/base/special.hpp"
#include "mlo/fit/fit.hpp"
#include "mlo/report/svg.hpp"

namespace mlo::experiments {
namespace {

struct Printed {  // x 10^3
  double bias, sd, root_mse;
};
struct Line {
  std::int64_t r;
  Printed mlo, uniform;
};
constexpr std::array<Line, 3> paper{{{10, {-2.86, 48.2, 48.1}, {63.0, 51.8, 81.4}},
                                     {20, {-3.03, 45.2, 45.2}, {29.2, 50.8, 58.4}},
                                     {50, {-1.57, 45.5, 45.5}, {9.91, 44.0, 44.8}}}};

std::string cell_name(const std::string& method, std::int64_t r) { return fmt::format("{} r={}", method, r); }

Experiment precision_experiment(const Settings& settings) {
  Experiment experiment{"table3", precision_data(), {"tau"}, {1}, {}};
  for (const std::string method : {"mlo", "uniform"})
    for (const Line& line : paper)
      experiment.cells.push_back({cell_name(method, line.r), precision_walk(method, line.r, settings)});
  experiment.cells.push_back({"exact", exact_fit(precision_fit())});
  return experiment;
}

// tau | y ~ Gamma(a, rate b), a = 0.01 + n/2, b = 0.01 + sum y^2 / 2: the conjugate posterior.
struct GammaLaw {
  double shape, rate;
  [[nodiscard]] double mean() const { return shape / rate; }
  [[nodiscard]] double sd() const { return std::sqrt(shape) / rate; }
  [[nodiscard]] double density(double x) const {
    return std::exp(shape * std::log(rate) + (shape - 1) * std::log(x) - rate * x - log_gamma(shape));
  }
};

GammaLaw posterior(const Table& table) {
  double squares = 0;
  for (const double y : table.columns[0].numbers()) squares += y * y;
  return {0.01 + 0.5 * static_cast<double>(table.rows), 0.01 + 0.5 * squares};
}

}  // namespace

Result table3(const Settings& settings, const Watcher& watcher) {
  const Experiment experiment = precision_experiment(settings);
  const Replications found = replicate(experiment, settings, watcher);
  const double truth = experiment.truth[0];
  Result result{
      .name = "table3", .title = "precision of a Gaussian", .settings = settings_lines(experiment, settings)};
  NumberTable table{
      "x 10^3; spread: sd of the draws over that of exact's", {"bias", "SD", "root MSE", "spread"}, {}};
  const auto add = [&](const std::string& label, const std::string& cell, const Printed* printed) {
    const std::vector<double> e = found.estimates(cell);
    const auto from = [&](double Printed::*member) {
      return printed != nullptr ? std::optional(printed->*member) : std::nullopt;
    };
    table.rows.push_back({label,
                          {Number(bias(e, truth), 1e3, from(&Printed::bias)),
                           Number(standard_deviation(e), 1e3, from(&Printed::sd)),
                           Number(root_mean_squared_error(e, truth), 1e3, from(&Printed::root_mse)),
                           Number(found.spread(cell, "exact"))}});
  };
  for (const Line& line : paper) add(fmt::format("r={} MLO", line.r), cell_name("mlo", line.r), &line.mlo);
  for (const Line& line : paper)
    add(fmt::format("r={} uniform", line.r), cell_name("uniform", line.r), &line.uniform);
  add("exact (all rows)", "exact", nullptr);
  result.tables.push_back(std::move(table));
  for (const std::int64_t r : {10, 20})
    result.claims.push_back(below(fmt::format("r={}: |bias| of MLO below that of uniform", r),
                                  errors_towards_bias(found.estimates(cell_name("mlo", r)), truth),
                                  errors_towards_bias(found.estimates(cell_name("uniform", r)), truth)));
  result.notes = size_notes(settings);
  return result;
}

Result figure1(const Settings& settings, const Watcher& watcher) {
  const Experiment experiment = precision_experiment(settings);
  SimulateOptions data = experiment.data;
  data.seed = seed_of(settings.seed, experiment.name, 0, "data");
  const Table observed = simulate(data);
  const GammaLaw law = posterior(observed);
  FitWatcher fit_watcher;
  fit_watcher.interrupt = watcher.interrupt;
  Result result{.name = "figure1",
                .title = "draws of the precision and the true posterior",
                .settings = {fmt::format("the first replication of table3, --seed {}", settings.seed),
                             command_line(data, fmt::format("{}", data.seed))}};
  const auto draws = [&](const std::string& name) {
    const auto cell = std::find_if(experiment.cells.begin(), experiment.cells.end(),
                                   [&](const Cell& c) { return c.name == name; });
    FitOptions options = cell->fit;
    options.seed = seed_of(settings.seed, experiment.name, 0, name);
    result.settings.push_back(command_line(options));
    options.threads = 1;
    return fit(options, observed, fit_watcher);
  };
  Sheet sheet{
      .title = "2,000 draws of a precision by subsampled chains, and the posterior",
      .description =
          "Three plots, for subsample sizes 10, 20 and 50: histograms of the draws of MLO and of uniform "
          "subsampling over the density of the posterior, whose mean is marked.",
      .plots = {},
      .columns = 3};
  NumberTable table{"mean and sd of the draws", {"mean", "sd", "sd / posterior's"}, {}};
  for (const Line& line : paper) {
    Plot plot{.title = fmt::format("r = {}", line.r),
              .x = {.label = "tau", .low = 0.6, .high = 1.6},
              .y = {.label = "density", .low = 0, .numbers = false},
              .marks = {},
              .width = 330,
              .height = 300};
    for (const auto& [method, label, colour] :
         {std::array<std::string, 3>{"mlo", "MLO", "#cf222e"}, {"uniform", "uniform", "#1a7f37"}}) {
      const FitResult result_of = draws(cell_name(method, line.r));
      if (result_of.summary.interrupted) throw Interrupted();
      const Histogram h = histogram(result_of.chains[0].parameter(0), 0.6, 1.6, 50);
      plot.marks.push_back({.kind = Mark::Kind::bars,
                            .label = label,
                            .colour = colour,
                            .x = h.edges,
                            .y = h.heights,
                            .opacity = 0.45});
      const ParameterSummary& p = result_of.summary.parameters[0];
      table.rows.push_back({fmt::format("r={} {}", line.r, label), {p.mean, p.sd, p.sd / law.sd()}});
    }
    Mark curve{.label = "posterior", .colour = "#24292f"};
    for (double x = 0.6; x <= 1.6; x += 0.004) {
      curve.x.push_back(x);
      curve.y.push_back(law.density(x));
    }
    plot.marks.push_back(std::move(curve));
    plot.marks.push_back({.kind = Mark::Kind::vertical,
                          .label = "its mean",
                          .colour = "#24292f",
                          .x = {law.mean()},
                          .dashed = true});
    sheet.plots.push_back(std::move(plot));
  }
  table.rows.push_back({"posterior", {law.mean(), law.sd(), 1.0}});
  result.tables.push_back(std::move(table));
  result.pictures.push_back({"figure1", as_svg(sheet)});
  return result;
}

}  // namespace mlo::experiments
