// Copyright (c) the mlo authors. BSD-3-Clause.
// Tables 1 and 2: the point at which the weights are taken, for the mean and the precision of a Gaussian.
#include <fmt/format.h>

#include <array>
#include <functional>

#include "experiments/fits.hpp"
#include "experiments/reproduce.hpp"

namespace mlo::experiments {
namespace {

constexpr std::array<std::int64_t, 3> sizes{10, 20, 50};

struct Column {
  std::string at;               // --weights-at
  std::array<double, 3> paper;  // MSE x 10^3 at the three sizes
};

struct WeightsTable {
  std::string name, title, parameter;
  SimulateOptions data;
  FitOptions exact;
  std::function<FitOptions(std::int64_t r)> fit;  // mlo with r rows
  std::vector<Column> columns;                    // the MLE first, the true value second
  std::vector<std::string> far_points;            // where the paper's weights do worst
};

std::string cell_name(const Column& column, std::int64_t r) {
  return fmt::format("at {} r={}", column.at, r);
}

Result run(const WeightsTable& table, const Settings& settings, const Watcher& watcher) {
  const double truth = table.data.coefficients[0];
  Experiment experiment{table.name, table.data, {table.parameter}, {truth}, {}};
  for (const Column& column : table.columns)
    for (const std::int64_t r : sizes) {
      FitOptions fit = table.fit(r);
      fit.weights_at = column.at;
      experiment.cells.push_back({cell_name(column, r), fit});
    }
  experiment.cells.push_back({"exact", table.exact});
  const Replications found = replicate(experiment, settings, watcher);
  const auto losses = [&](const std::string& cell) { return squared_errors(found.estimates(cell), truth); };

  Result result{.name = table.name, .title = table.title, .settings = settings_lines(experiment, settings)};
  NumberTable mse{"MSE x 10^3", {}, {}};
  for (const std::int64_t r : sizes) mse.columns.push_back(fmt::format("r={}", r));
  for (const Column& column : table.columns) {
    const bool mle = column.at == "mle";
    NumberRow row{mle ? "weights at the MLE" : fmt::format("at {} = {}", table.parameter, column.at), {}};
    if (column.at == fmt::format("{}", truth)) row.label += " (true)";
    for (std::size_t k = 0; k < sizes.size(); ++k)
      row.cells.emplace_back(Number(mean(losses(cell_name(column, sizes[k]))), 1e3, column.paper[k]));
    mse.rows.push_back(std::move(row));
  }
  const Number exact(mean(losses("exact")), 1e3, std::nullopt);
  mse.rows.push_back({"exact (all rows)", {exact, exact, exact}});
  result.tables.push_back(std::move(mse));

  const Column &mle = table.columns[0], &true_value = table.columns[1];
  for (const std::int64_t r : sizes)
    result.claims.push_back(similar(fmt::format("r={}: MSE with weights at the MLE as at the true value", r),
                                    losses(cell_name(mle, r)), losses(cell_name(true_value, r))));
  for (const std::string& at : table.far_points)
    for (const std::int64_t r : sizes)
      result.claims.push_back(
          below(fmt::format("r={}: MSE with weights at the MLE below {} = {}", r, table.parameter, at),
                losses(cell_name(mle, r)), losses(cell_name({at, {}}, r))));
  result.notes = size_notes(settings);
  return result;
}

}  // namespace

Result table1(const Settings& settings, const Watcher& watcher) {
  FitOptions base = base_fit("gaussian-mean", "y ~ 1", "normal(0, 3)", gaussian_iterations);
  base.numbers["known-sigma"] = 1;
  return run(
      {.name = "table1",
       .title = "the weights' point, mean of a Gaussian",
       .parameter = "mu",
       .data = {.family = "gaussian-mean", .rows = 1000, .coefficients = {1}},
       .exact = exact_fit(base),
       .fit =
           [&](std::int64_t r) { return walk_fit(base, "mlo", r, settings.proposal_scale_mean, settings); },
       .columns = {{"mle", {1.53, 1.46, 1.23}},
                   {"1", {1.51, 1.34, 1.25}},
                   {"-10", {1.96, 1.41, 1.33}},
                   {"-5", {3.22, 2.06, 1.33}},
                   {"-2", {10.1, 3.86, 1.78}},
                   {"2", {3.06, 1.76, 1.31}},
                   {"5", {6.43, 2.61, 1.46}},
                   {"10", {2.14, 1.56, 1.36}}},
       .far_points = {"-2", "5"}},
      settings, watcher);
}

Result table2(const Settings& settings, const Watcher& watcher) {
  return run({.name = "table2",
              .title = "the weights' point, precision of a Gaussian",
              .parameter = "tau",
              .data = precision_data(),
              .exact = exact_fit(precision_fit()),
              .fit = [&](std::int64_t r) { return precision_walk("mlo", r, settings); },
              .columns = {{"mle", {2.16, 2.16, 1.93}},
                          {"1", {2.40, 2.02, 1.97}},
                          {"0.1", {5.19, 3.18, 2.23}},
                          {"0.2", {3.97, 2.40, 2.24}},
                          {"0.5", {2.86, 2.22, 2.02}},
                          {"2", {2.69, 2.42, 1.94}},
                          {"5", {48.7, 18.5, 4.64}},
                          {"10", {100, 62.2, 23.9}}},
              .far_points = {"5", "10"}},
             settings, watcher);
}

}  // namespace mlo::experiments
