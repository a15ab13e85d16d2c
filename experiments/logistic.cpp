// Copyright (c) the mlo authors. BSD-3-Clause.
// Table 4: logistic regression on 100,000 rows.
#include <fmt/format.h>

#include <array>

#include "experiments/fits.hpp"
#include "experiments/reproduce.hpp"

namespace mlo::experiments {
namespace {

constexpr std::int64_t rows = 100'000;

struct Printed {  // x 10^3
  std::array<double, 2> bias, sd;
};
struct Line {
  std::int64_t r;
  Printed uniform, mlo;
};
constexpr std::array<Line, 4> paper{{{100, {{60.6, 30.1}, {11.9, 12.6}}, {{15.4, 6.58}, {13.4, 12.1}}},
                                     {200, {{39.5, 19.8}, {11.8, 9.96}}, {{17.1, 8.30}, {11.7, 9.99}}},
                                     {500, {{19.5, 9.93}, {10.2, 8.11}}, {{9.56, 5.21}, {10.1, 8.91}}},
                                     {1000, {{10.1, 5.98}, {11.2, 7.91}}, {{5.85, 3.74}, {8.99, 8.11}}}}};
constexpr Printed paper_adaptive{{2.57, 1.78}, {10.4, 7.69}};
constexpr double paper_rows = 1.68, paper_median_rows = 0.96;  // percent, of the adaptive method

std::string cell_name(const std::string& method, std::int64_t r) { return fmt::format("{} r={}", method, r); }

}  // namespace

Result table4(const Settings& settings, const Watcher& watcher) {
  Experiment experiment{"table4", logistic_data(rows), {"x1", "x2"}, {1, 0.5}, {}};
  const FitOptions base = logistic_fit(settings);
  const double scale = settings.proposal_scale_logistic;
  for (const std::string method : {"uniform", "mlo"})
    for (const Line& line : paper)
      experiment.cells.push_back(
          {cell_name(method, line.r), walk_fit(base, method, line.r, scale, settings)});
  FitOptions adaptive = walk_fit(base, "mlo-adaptive", 100, scale, settings);
  adaptive.max_subsample_size = 5000;
  adaptive.delta = settings.delta;
  experiment.cells.push_back({"adaptive", adaptive});
  experiment.cells.push_back({"exact", exact_fit(base)});
  const Replications found = replicate(experiment, settings, watcher);

  Result result{.name = "table4",
                .title = "logistic regression, 100,000 rows",
                .settings = settings_lines(experiment, settings)};
  NumberTable table{"x 10^3; spread: sd of theta_1's draws over that of exact's; rows read per step, % of n",
                    {"theta_1 bias", "theta_1 SD", "theta_2 bias", "theta_2 SD", "spread", "rows", "median"},
                    {}};
  const auto add = [&](const std::string& label, const std::string& cell, const Printed* printed) {
    NumberRow row{label, {}};
    for (const std::size_t j : {0U, 1U}) {
      const std::vector<double> e = found.estimates(cell, j);
      const auto from = [&](const std::array<double, 2>& values) { return values[j]; };
      const auto bias_of = printed != nullptr ? std::optional(from(printed->bias)) : std::nullopt;
      const auto sd_of = printed != nullptr ? std::optional(from(printed->sd)) : std::nullopt;
      row.cells.emplace_back(Number(bias(e, experiment.truth[j]), 1e3, bias_of));
      row.cells.emplace_back(Number(standard_deviation(e), 1e3, sd_of));
    }
    row.cells.emplace_back(Number(found.spread(cell, "exact")));
    constexpr double percent = 100.0 / static_cast<double>(rows);
    for (double Fitted::*member : {&Fitted::rows_per_step, &Fitted::median_rows_per_step}) {
      Number number(percent * found.average(cell, member));
      if (cell == "adaptive")
        number.paper = member == &Fitted::rows_per_step ? paper_rows : paper_median_rows;
      row.cells.emplace_back(number);
    }
    table.rows.push_back(std::move(row));
  };
  for (const Line& line : paper) {
    const double ratio = static_cast<double>(line.r) / static_cast<double>(rows);
    add(fmt::format("r/n={} uniform", ratio), cell_name("uniform", line.r), &line.uniform);
    add(fmt::format("r/n={} MLO", ratio), cell_name("mlo", line.r), &line.mlo);
  }
  add("adaptive MLO", "adaptive", &paper_adaptive);
  add("exact", "exact", nullptr);
  result.tables.push_back(std::move(table));

  const auto errors = [&](const std::string& cell) {
    return errors_towards_bias(found.estimates(cell), experiment.truth[0]);
  };
  for (const Line& line : paper)
    result.claims.push_back(below(fmt::format("theta_1, r={}: |bias| of MLO below that of uniform", line.r),
                                  errors(cell_name("mlo", line.r)), errors(cell_name("uniform", line.r))));
  for (const Line& line : paper)
    for (const std::string method : {"uniform", "mlo"})
      result.claims.push_back(
          below(fmt::format("theta_1: |bias| of adaptive below that of {} with r={}", method, line.r),
                errors("adaptive"), errors(cell_name(method, line.r))));
  result.notes = size_notes(settings);
  return result;
}

}  // namespace mlo::experiments
