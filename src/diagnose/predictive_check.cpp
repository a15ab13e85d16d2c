// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/diagnose/predictive_check.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "mlo/base/errors.hpp"
#include "mlo/base/random.hpp"
#include "mlo/diagnose/predictions.hpp"
#include "mlo/diagnose/summary.hpp"

namespace mlo {
namespace {

// Streams of their own: chain 0 is that of predictions.
constexpr std::uint64_t simulation_chain = 1, row_chain = 2;

std::vector<RowId> chosen_rows(std::size_t rows, const PredictiveCheckOptions& options) {
  std::vector<RowId> out;
  if (rows <= options.rows) {
    out.resize(rows);
    std::iota(out.begin(), out.end(), RowId{0});
    return out;
  }
  Stream stream({.seed = options.seed, .chain = row_chain, .purpose = Purpose::predict, .iteration = 0});
  std::set<RowId> chosen;
  while (chosen.size() < options.rows) chosen.insert(static_cast<RowId>(bounded(stream, rows)));
  out.assign(chosen.begin(), chosen.end());
  return out;
}

// The parameters of up to `most` draws, evenly spaced over all chains.
std::vector<std::span<const double>> chosen_draws(std::span<const ChainDraws> chains, std::size_t most) {
  std::size_t all = 0;
  for (const ChainDraws& chain : chains) all += chain.size();
  const std::size_t count = std::min(most, all);
  std::vector<std::span<const double>> out;
  for (std::size_t k = 0; k < count; ++k) {
    std::size_t at = k * all / count, chain = 0;
    for (; at >= chains[chain].size(); ++chain) at -= chains[chain].size();
    const ChainDraws& c = chains[chain];
    out.push_back(std::span<const double>(c.draws).subspan(at * c.dim, c.dim));
  }
  return out;
}

struct Simulated {
  std::vector<double> y;                  // observed
  std::vector<std::vector<double>> sets;  // one per draw
  std::vector<double> predicted;          // mean of the response, over the draws
  [[nodiscard]] std::size_t rows() const { return y.size(); }
};

// Throws UsageError where a response is too large.
Simulated simulated_sets(const Glm& model, const FamilyNumbers& numbers,
                         const std::vector<std::span<const double>>& draws, const std::vector<RowId>& ids,
                         std::uint64_t seed) {
  const bool second = model.family().estimates_second();
  std::vector<double> seconds;
  if (second)
    for (const std::span<const double> draw : draws) seconds.push_back(draw[model.columns()]);
  const std::vector<ResponseLaw> laws = response_laws(model.family().spec(), numbers, seconds);
  Simulated out;
  out.y.resize(ids.size());
  model.store().responses(Rows(std::span<const RowId>(ids)), out.y);
  out.predicted.assign(ids.size(), 0);
  std::vector<double> theta(model.dim()), eta(ids.size()), mean(ids.size());
  for (std::size_t k = 0; k < draws.size(); ++k) {
    model.to_working(draws[k], theta);
    model.store().predictors(Coefficients(theta, model.store()), Rows(std::span<const RowId>(ids)), eta);
    inverse_link(model.family().spec().link, eta, mean);
    Stream stream({.seed = seed, .chain = simulation_chain, .purpose = Purpose::predict, .iteration = k});
    const ResponseLaw& law = laws[laws.size() == 1 ? 0 : k];
    std::vector<double>& set = out.sets.emplace_back(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      set[i] = law(stream, eta[i]);
      out.predicted[i] += mean[i] / static_cast<double>(draws.size());
    }
  }
  return out;
}

struct SimulatedFigure {
  double mean = 0, q5 = 0, q95 = 0;
};

SimulatedFigure figure_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {sum / static_cast<double>(values.size()), quantile(values, 0.05), quantile(values, 0.95)};
}

// figure(values): of the observed responses, or of a simulated set.
template <class Figure>
PredictiveCheck::Statistic statistic(std::string name, const Simulated& s, const Figure& figure) {
  PredictiveCheck::Statistic out{.name = std::move(name)};
  out.observed = figure(s.y);
  std::vector<double> values;
  for (const std::vector<double>& set : s.sets) {
    values.push_back(figure(set));
    out.below += values.back() < out.observed ? 1 : values.back() == out.observed ? 0.5 : 0;
  }
  out.below /= static_cast<double>(s.sets.size());
  const SimulatedFigure f = figure_of(std::move(values));
  out.predicted = f.mean;
  out.q5 = f.q5;
  out.q95 = f.q95;
  return out;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double sd_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double v : values) sum += (v - mean) * (v - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

// Rows with equal predictions are in the same group.
std::vector<PredictiveCheck::Group> calibration_groups(const Simulated& s) {
  constexpr std::size_t groups = 10;
  std::vector<std::size_t> order(s.rows());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return s.predicted[a] < s.predicted[b]; });
  std::vector<PredictiveCheck::Group> out;
  for (std::size_t g = 0, first = 0; g < groups && first < order.size(); ++g) {
    std::size_t end = std::max(first, (g + 1) * order.size() / groups);
    while (end > first && end < order.size() && s.predicted[order[end]] == s.predicted[order[end - 1]]) ++end;
    if (end == first) continue;
    const auto share = [&](const std::vector<double>& y) {
      double sum = 0;
      for (std::size_t k = first; k < end; ++k) sum += y[order[k]];
      return sum / static_cast<double>(end - first);
    };
    std::vector<double> shares;
    for (const std::vector<double>& set : s.sets) shares.push_back(share(set));
    const SimulatedFigure f = figure_of(std::move(shares));
    out.push_back({s.predicted[order[first]], s.predicted[order[end - 1]], share(s.y), share(s.predicted),
                   f.q5, f.q95});
    first = end;
  }
  return out;
}

bool whole_numbers(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return v == std::floor(v); });
}

std::vector<PredictiveCheck::Group> bin_groups(const Simulated& s, bool counts) {
  constexpr std::size_t most_bins = 30;
  // Some of the simulated sets are enough for the range.
  std::vector<double> all = s.y;
  for (std::size_t k = 0; k < s.sets.size(); k += 10)
    all.insert(all.end(), s.sets[k].begin(), s.sets[k].end());
  std::sort(all.begin(), all.end());
  double low = quantile(all, 0.005), high = quantile(all, 0.995);
  std::size_t bins = most_bins;
  double width = 0;
  if (counts) {
    low = std::floor(low);
    width = std::max(1.0, std::ceil((std::ceil(high) - low + 1) / static_cast<double>(most_bins)));
    bins = static_cast<std::size_t>(std::floor((std::ceil(high) - low) / width)) + 1;
    low -= 0.5;
  } else {
    if (!(low < high)) return {};
    width = (high - low) / static_cast<double>(bins);
  }
  const auto shares = [&](const std::vector<double>& y) {
    std::vector<double> out(bins);
    for (const double v : y) {
      const double at = std::clamp(std::floor((v - low) / width), 0.0, static_cast<double>(bins - 1));
      out[static_cast<std::size_t>(at)] += 1 / static_cast<double>(y.size());
    }
    return out;
  };
  const std::vector<double> observed = shares(s.y);
  std::vector<std::vector<double>> simulated;
  for (const std::vector<double>& set : s.sets) simulated.push_back(shares(set));
  std::vector<PredictiveCheck::Group> out;
  for (std::size_t b = 0; b < bins; ++b) {
    std::vector<double> values;
    for (const std::vector<double>& set : simulated) values.push_back(set[b]);
    const SimulatedFigure f = figure_of(std::move(values));
    const double from = low + width * static_cast<double>(b);
    out.push_back({from, from + width, observed[b], f.mean, f.q5, f.q95});
  }
  return out;
}

}  // namespace

std::optional<PredictiveCheck> predictive_check(const Glm& model, const FamilyNumbers& numbers,
                                                std::span<const ChainDraws> chains,
                                                const PredictiveCheckOptions& options) {
  const Design& design = model.design();
  if (design.has_weight || design.shares || model.rows() < 2) return std::nullopt;
  const auto draws = chosen_draws(chains, options.draws);
  if (draws.empty()) return std::nullopt;
  Simulated s;
  try {
    s = simulated_sets(model, numbers, draws, chosen_rows(model.rows(), options), options.seed);
  } catch (const UsageError&) {  // a response too large for a double, or for a count
    return std::nullopt;
  }
  for (const std::vector<double>& set : s.sets)
    if (!std::all_of(set.begin(), set.end(), [](double v) { return std::isfinite(v); })) return std::nullopt;
  PredictiveCheck out{.rows = s.rows(), .draws = s.sets.size(), .binary = model.family().spec().binary};
  const bool counts = !out.binary && whole_numbers(s.y) &&
                      std::all_of(s.sets.begin(), s.sets.end(),
                                  [](const std::vector<double>& set) { return whole_numbers(set); });
  out.groups = out.binary ? calibration_groups(s) : bin_groups(s, counts);
  out.statistics.push_back(statistic("mean", s, mean_of));
  if (out.binary) return out;
  out.statistics.push_back(statistic("sd", s, sd_of));
  out.statistics.push_back(statistic(
      "smallest", s, [](const std::vector<double>& y) { return *std::min_element(y.begin(), y.end()); }));
  out.statistics.push_back(statistic(
      "largest", s, [](const std::vector<double>& y) { return *std::max_element(y.begin(), y.end()); }));
  if (counts)
    out.statistics.push_back(statistic("share of zeros", s, [](const std::vector<double>& y) {
      return static_cast<double>(std::count(y.begin(), y.end(), 0.0)) / static_cast<double>(y.size());
    }));
  return out;
}

}  // namespace mlo
