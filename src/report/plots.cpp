// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/report/plots.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <set>

#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

constexpr double unknown_number = std::numeric_limits<double>::quiet_NaN();

double draw_of(const ChainDraws& chain, std::size_t draw, std::size_t parameter) {
  return chain.draws[draw * chain.dim + parameter];
}

Plot density_plot(const PosteriorView& view, std::size_t j, const Palette& palette) {
  const DensityCurve curve = density_curve(view.sorted(j));
  Plot plot{.title = view.parameters[j].name, .y = {.low = 0, .numbers = false}, .width = 330, .height = 230};
  if (curve.x.empty()) {
    plot.x.label = "all draws are alike";
    plot.marks.push_back(
        {.kind = Mark::Kind::vertical, .colour = palette.posterior, .x = {view.parameters[j].mean}});
    return plot;
  }
  plot.marks.push_back({.kind = Mark::Kind::band,
                        .colour = palette.posterior,
                        .x = curve.x,
                        .low = std::vector<double>(curve.x.size(), 0.0),
                        .high = curve.y,
                        .opacity = 0.18});
  plot.marks.push_back({.label = "posterior", .colour = palette.posterior, .x = curve.x, .y = curve.y});
  if (const LaplaceFit fit = laplace_fit(view, j); fit.known()) {
    Mark mark{.label = "Laplace fit", .colour = palette.laplace, .x = curve.x, .dashed = true};
    for (const double x : curve.x) mark.y.push_back(fit.density(x));
    plot.marks.push_back(std::move(mark));
  }
  if (std::vector<double> prior = prior_density(view.facts, j, curve.x); !prior.empty())
    plot.marks.push_back({.label = "prior", .colour = palette.prior, .x = curve.x, .y = std::move(prior)});
  return plot;
}

// A line is named where it is first seen: an intercept, often the first, may have no prior to draw.
void label_once(Sheet& sheet) {
  std::set<std::string> named;
  for (Plot& plot : sheet.plots)
    for (Mark& mark : plot.marks)
      if (!mark.label.empty() && !named.insert(mark.label).second) mark.label.clear();
}

// A picture of a few hundred points per chain: more cannot be seen, and make the file large.
Plot trace_plot(const PosteriorView& view, std::size_t j, const Palette& palette, bool legend) {
  constexpr std::size_t most_points = 400;
  const std::size_t draws = view.draws(), stride = (draws + most_points - 1) / most_points;
  Plot plot{.title = view.parameters[j].name, .x = {.label = "draw"}, .width = 560, .height = 230};
  for (std::size_t c = 0; c < view.chains.size(); ++c) {
    Mark mark{.label = legend && view.chains.size() <= 8 ? fmt::format("chain {}", c + 1) : "",
              .colour = palette.chains[c % palette.chains.size()],
              .opacity = 0.75,
              .width = 1};
    for (std::size_t k = 0; k < draws; k += stride) {
      mark.x.push_back(static_cast<double>(k + 1));
      mark.y.push_back(draw_of(view.chains[c], k, j));
    }
    plot.marks.push_back(std::move(mark));
  }
  return plot;
}

Plot rank_plot(const PosteriorView& view, std::size_t j, const Palette& palette, bool legend) {
  const std::vector<std::uint32_t> counts = rank_counts(view, j, rank_bins);
  Plot plot{.title = view.parameters[j].name,
            .x = {.label = "rank among all draws", .numbers = false},
            .y = {.low = 0},
            .width = 330,
            .height = 230};
  const double expected = static_cast<double>(view.draws()) / static_cast<double>(rank_bins);
  plot.marks.push_back(
      {.kind = Mark::Kind::horizontal, .colour = palette.rule, .y = {expected}, .dashed = true});
  for (std::size_t c = 0; c < view.chains.size(); ++c) {
    Mark mark{.label = legend && view.chains.size() <= 8 ? fmt::format("chain {}", c + 1) : "",
              .colour = palette.chains[c % palette.chains.size()],
              .width = 1.5};
    for (std::size_t b = 0; b < rank_bins; ++b)
      for (const std::size_t end : {b, b + 1}) {
        mark.x.push_back(static_cast<double>(end));
        mark.y.push_back(counts[c * rank_bins + b]);
      }
    plot.marks.push_back(std::move(mark));
  }
  return plot;
}

Plot pair_plot(const PosteriorView& view, const CorrelatedPair& pair, const Palette& palette) {
  constexpr std::size_t most_points = 800;
  const std::size_t all = view.draws() * view.chains.size(), stride = (all + most_points - 1) / most_points;
  Plot plot{.title = fmt::format("correlation {:.2f}", pair.correlation),
            .x = {.label = view.parameters[pair.first].name},
            .y = {.label = view.parameters[pair.second].name},
            .width = 330,
            .height = 300};
  Mark mark{.kind = Mark::Kind::points, .colour = palette.posterior, .opacity = 0.35, .radius = 1.8};
  for (std::size_t k = 0; k < all; k += std::max<std::size_t>(1, stride)) {
    const ChainDraws& chain = view.chains[k / view.draws()];
    mark.x.push_back(draw_of(chain, k % view.draws(), pair.first));
    mark.y.push_back(draw_of(chain, k % view.draws(), pair.second));
  }
  plot.marks.push_back(std::move(mark));
  return plot;
}

Plot forest_plot(const PosteriorView& view, std::span<const std::size_t> parameters, const Palette& palette) {
  const ForestRange range = forest_range(view.parameters, parameters);
  Plot plot{.width = 560};
  Mark wide{
      .kind = Mark::Kind::intervals, .label = "95 % interval", .colour = palette.posterior, .width = 1.5};
  Mark narrow{
      .kind = Mark::Kind::intervals, .label = "90 %, and the mean", .colour = palette.posterior, .width = 4};
  for (const std::size_t j : parameters) {
    const ParameterSummary& p = view.parameters[j];
    if (std::find(range.outside.begin(), range.outside.end(), j) != range.outside.end()) continue;
    plot.y.names.push_back(p.name);
    plot.y.ticks.push_back(-static_cast<double>(plot.y.names.size()));  // the first on top
    wide.y.push_back(plot.y.ticks.back());
    wide.low.push_back(p.hpd_low);
    wide.high.push_back(p.hpd_high);
    narrow.y.push_back(plot.y.ticks.back());
    narrow.x.push_back(p.mean);
    narrow.low.push_back(p.q5);
    narrow.high.push_back(p.q95);
  }
  const auto rows = static_cast<double>(plot.y.names.size());
  plot.y.low = -rows - 0.6;
  plot.y.high = -0.4;
  const double air = 0.03 * (range.high - range.low);
  plot.x = {.label = "coefficient", .low = range.low - air, .high = range.high + air};
  plot.x.ticks = round_ticks(*plot.x.low, *plot.x.high, false);
  // Few round numbers may fall into the range: then those halfway between them too, and before the first.
  if (plot.x.ticks.size() > 1 && plot.x.ticks.size() < 4) {
    const double step = (plot.x.ticks[1] - plot.x.ticks[0]) / 2, first = plot.x.ticks[0] - step;
    plot.x.ticks.clear();
    for (int k = 0; k < 9; ++k) plot.x.ticks.push_back(first + k * step);
  }
  plot.height = 100 + 20 * rows;
  if (range.low < 0 && range.high > 0)
    plot.marks.push_back(
        {.kind = Mark::Kind::vertical, .colour = palette.rule, .x = {0}, .dashed = true, .width = 1});
  plot.marks.push_back(std::move(wide));
  plot.marks.push_back(std::move(narrow));
  return plot;
}

}  // namespace

std::size_t PosteriorView::draws() const noexcept {
  std::size_t least = chains.empty() ? 0 : std::numeric_limits<std::size_t>::max();
  for (const ChainDraws& chain : chains) least = std::min(least, chain.size());
  return least;
}

std::vector<double> PosteriorView::sorted(std::size_t parameter) const {
  std::vector<double> out;
  for (const ChainDraws& chain : chains)
    for (std::size_t k = 0; k < draws(); ++k) out.push_back(draw_of(chain, k, parameter));
  if (!std::all_of(out.begin(), out.end(), [](double v) { return std::isfinite(v); })) return {};
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<PlotKind> plot_kind(std::string_view name) {
  if (name == "forest") return PlotKind::forest;
  if (name == "density") return PlotKind::density;
  if (name == "trace") return PlotKind::trace;
  if (name == "rank") return PlotKind::rank;
  if (name == "pairs") return PlotKind::pairs;
  return std::nullopt;
}

// Okabe and Ito's colours, which colour-blind readers can tell apart, darkened where they are too light for
// lines.
const Palette& file_palette() {
  static const Palette palette{.posterior = "#1f5fbf",
                               .laplace = "#b45309",
                               .prior = "#6b7280",
                               .rule = "#57606a",
                               .chains = {"#0072b2", "#d55e00", "#009e73", "#b5548d"}};
  return palette;
}

const Palette& page_palette() {
  static const Palette palette{
      .posterior = "var(--posterior)",
      .laplace = "var(--laplace)",
      .prior = "var(--prior)",
      .rule = "var(--rule)",
      .chains = {"var(--chain-1)", "var(--chain-2)", "var(--chain-3)", "var(--chain-4)"}};
  return palette;
}

Sheet plot_sheet(PlotKind kind, const PosteriorView& view, std::span<const std::size_t> parameters,
                 const Palette& palette) {
  Sheet sheet;
  switch (kind) {
    case PlotKind::forest:
      sheet.title = "Coefficients";
      sheet.description =
          "Posterior means with their 95 % highest density intervals (thin) and 5 % to 95 % intervals (thick).";
      sheet.plots.push_back(forest_plot(view, parameters, palette));
      break;
    case PlotKind::density:
      sheet.title = "Marginal densities";
      sheet.description = "The posterior density of each parameter, with its prior and the Laplace fit.";
      sheet.columns = std::min<std::size_t>(3, parameters.size());
      for (const std::size_t j : parameters) sheet.plots.push_back(density_plot(view, j, palette));
      label_once(sheet);
      break;
    case PlotKind::trace:
      sheet.title = "Traces";
      sheet.description = "Each chain's draws in order.";
      for (const std::size_t j : parameters)
        sheet.plots.push_back(trace_plot(view, j, palette, sheet.plots.empty()));
      break;
    case PlotKind::rank:
      sheet.title = "Ranks";
      sheet.description =
          "How often each chain's draws have a rank among the draws of all chains; level if they mix.";
      sheet.columns = std::min<std::size_t>(3, parameters.size());
      for (const std::size_t j : parameters)
        sheet.plots.push_back(rank_plot(view, j, palette, sheet.plots.empty()));
      break;
    case PlotKind::pairs: {
      sheet.title = "Most correlated pairs";
      sheet.description = "Draws of two parameters against each other.";
      const std::vector<CorrelatedPair> pairs = most_correlated(view, parameters, most_pairs);
      sheet.columns = std::clamp<std::size_t>(pairs.size(), 1, 3);
      for (const CorrelatedPair& pair : pairs) sheet.plots.push_back(pair_plot(view, pair, palette));
      break;
    }
  }
  sheet.columns = std::max<std::size_t>(1, sheet.columns);
  return sheet;
}

DensityCurve density_curve(std::span<const double> sorted, std::size_t points) {
  if (sorted.size() < 2) return {};
  const auto n = static_cast<double>(sorted.size());
  const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / n;
  double squares = 0;
  for (const double v : sorted) squares += (v - mean) * (v - mean);
  const double sd = std::sqrt(squares / (n - 1));
  const double quartiles = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 1.34;
  const double spread = quartiles > 0 ? std::min(sd, quartiles) : sd;
  const double bandwidth = 0.9 * spread * std::pow(n, -0.2);
  const double least = quantile(sorted, 0.001), most = quantile(sorted, 0.999);
  const double low = least - 3 * bandwidth, high = most + 3 * bandwidth;
  if (!(bandwidth > 0) || !(low < high) || !std::isfinite(high - low)) return {};
  // Draws are counted on a fine grid, each shared between its two neighbours, and smoothed there.
  const std::size_t fine = 4 * (points - 1) + 1;
  const double step = (high - low) / static_cast<double>(fine - 1);
  std::vector<double> weight(fine);
  for (const double v : sorted) {
    const double at = (v - low) / step;
    if (!(at >= 0) || at >= static_cast<double>(fine - 1)) continue;
    const auto cell = static_cast<std::size_t>(at);
    const double share = at - static_cast<double>(cell);
    weight[cell] += 1 - share;
    weight[cell + 1] += share;
  }
  const auto reach = static_cast<std::size_t>(std::ceil(5 * bandwidth / step));
  std::vector<double> kernel(reach + 1);
  for (std::size_t k = 0; k <= reach; ++k) {
    const double z = static_cast<double>(k) * step / bandwidth;
    kernel[k] = std::exp(-0.5 * z * z) / (n * bandwidth * std::sqrt(2 * std::numbers::pi));
  }
  DensityCurve out;
  for (std::size_t i = 0; i < fine; i += 4) {
    double sum = 0;
    const std::size_t from = i > reach ? i - reach : 0, to = std::min(fine - 1, i + reach);
    for (std::size_t k = from; k <= to; ++k) sum += weight[k] * kernel[k > i ? k - i : i - k];
    out.x.push_back(low + step * static_cast<double>(i));
    out.y.push_back(sum);
  }
  return out;
}

std::vector<double> prior_density(const RunFacts* facts, std::size_t parameter, std::span<const double> x) {
  if (facts == nullptr || facts->priors.empty()) return {};
  return facts->priors[parameter].density(x);
}

bool LaplaceFit::known() const noexcept { return std::isfinite(mean) && std::isfinite(sd) && sd > 0; }

double LaplaceFit::density(double x) const noexcept {
  const double z = (x - mean) / sd;
  return std::exp(-0.5 * z * z) / (sd * std::sqrt(2 * std::numbers::pi));
}

LaplaceFit laplace_fit(const PosteriorView& view, std::size_t parameter) {
  LaplaceFit out{unknown_number, unknown_number};
  if (view.facts != nullptr && parameter < view.facts->mode.size()) out.mean = view.facts->mode[parameter];
  if (parameter < view.laplace_sd.size()) out.sd = view.laplace_sd[parameter];
  return out;
}

std::vector<std::uint32_t> rank_counts(const PosteriorView& view, std::size_t parameter, std::size_t bins) {
  struct Entry {
    double value;
    std::size_t chain;
  };
  std::vector<std::uint32_t> out(view.chains.size() * bins);
  std::vector<Entry> all;
  for (std::size_t c = 0; c < view.chains.size(); ++c)
    for (std::size_t k = 0; k < view.draws(); ++k)
      if (const double v = draw_of(view.chains[c], k, parameter); !std::isnan(v)) all.push_back({v, c});
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.value < b.value; });
  for (std::size_t first = 0; first < all.size();) {
    std::size_t end = first + 1;
    while (end < all.size() && all[end].value == all[first].value) ++end;
    // The mean of the ranks first, ..., end - 1, as a share of all: in (0, 1).
    const double share = 0.5 * static_cast<double>(first + end) / static_cast<double>(all.size());
    const auto bin = std::min(bins - 1, static_cast<std::size_t>(share * static_cast<double>(bins)));
    for (; first < end; ++first) ++out[all[first].chain * bins + bin];
  }
  return out;
}

std::vector<CorrelatedPair> most_correlated(const PosteriorView& view,
                                            std::span<const std::size_t> parameters, std::size_t count) {
  const std::size_t draws = view.draws(), all = draws * view.chains.size();
  // The product of the matrix with itself is kept below a second or two: thousands of parameters have every
  // k-th draw compared.
  const auto dim = static_cast<double>(parameters.size());
  const double most_draws = std::clamp(4e9 / std::max(1.0, dim * dim), 200.0, 1e5);
  const std::size_t stride =
      std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(all) / most_draws));
  Eigen::MatrixXd centred(static_cast<Eigen::Index>((all + stride - 1) / stride),
                          static_cast<Eigen::Index>(parameters.size()));
  for (std::size_t j = 0; j < parameters.size(); ++j) {
    for (std::size_t k = 0, row = 0; k < all; k += stride, ++row)
      centred(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(j)) =
          draw_of(view.chains[k / draws], k % draws, parameters[j]);
    auto column = centred.col(static_cast<Eigen::Index>(j));
    column.array() -= column.mean();
    const double length = column.norm();
    // Draws that are all alike differ from their mean by rounding at most.
    const bool alike = !(length > 1e-12 * std::abs(view.parameters[parameters[j]].mean));
    if (alike || !std::isfinite(length)) {
      column.setConstant(unknown_number);
    } else {
      column /= length;
    }
  }
  const Eigen::MatrixXd correlation = centred.transpose() * centred;
  std::vector<CorrelatedPair> out;
  for (Eigen::Index a = 0; a < correlation.rows(); ++a)
    for (Eigen::Index b = a + 1; b < correlation.cols(); ++b) {
      const double r = correlation(a, b);
      if (std::isnan(r) || (out.size() == count && std::abs(r) <= std::abs(out.back().correlation))) continue;
      const auto place = std::find_if(out.begin(), out.end(), [&](const CorrelatedPair& p) {
        return std::abs(r) > std::abs(p.correlation);
      });
      out.insert(place,
                 {parameters[static_cast<std::size_t>(a)], parameters[static_cast<std::size_t>(b)], r});
      if (out.size() > count) out.pop_back();
    }
  return out;
}

ForestRange forest_range(std::span<const ParameterSummary> all, std::span<const std::size_t> parameters) {
  const auto range = [&](const std::vector<std::size_t>& some) {
    ForestRange out{.low = HUGE_VAL, .high = -HUGE_VAL};
    for (const std::size_t j : some) {
      if (!std::isfinite(all[j].hpd_low) || !std::isfinite(all[j].hpd_high)) continue;
      out.low = std::min({out.low, all[j].hpd_low, 0.0});  // 0 is always there to compare with
      out.high = std::max({out.high, all[j].hpd_high, 0.0});
    }
    if (!(out.low < out.high)) out = {.low = -1, .high = 1};
    return out;
  };
  const std::vector<std::size_t> every(parameters.begin(), parameters.end());
  ForestRange out = range(every);
  std::vector<std::size_t> rest, outside;
  const auto aside = [&](std::size_t j) {
    return all[j].name == "(Intercept)" ||
           (j + 1 == all.size() &&
            (all[j].name == "sigma" || all[j].name == "size" || all[j].name == "shape"));
  };
  for (const std::size_t j : every) (aside(j) ? outside : rest).push_back(j);
  if (outside.empty() || rest.empty()) return out;
  ForestRange without = range(rest);
  if (without.high - without.low >= 0.8 * (out.high - out.low)) return out;
  without.outside = std::move(outside);
  return without;
}

}  // namespace mlo
