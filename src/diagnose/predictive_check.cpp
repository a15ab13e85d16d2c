// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/diagnose/predictive_check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <type_traits>

#include "mlo/base/errors.hpp"
#include "mlo/base/random.hpp"
#include "mlo/data/outcome.hpp"
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

struct ChosenDraw {
  std::span<const double> parameters;
  std::span<const float> effects;  // of groups, if they are kept
};

// Up to `most` draws, evenly spaced over all chains.
std::vector<ChosenDraw> chosen_draws(std::span<const ChainDraws> chains, std::size_t most) {
  std::size_t all = 0;
  for (const ChainDraws& chain : chains) all += chain.size();
  const std::size_t count = std::min(most, all);
  std::vector<ChosenDraw> out;
  for (std::size_t k = 0; k < count; ++k) {
    std::size_t at = k * all / count, chain = 0;
    for (; at >= chains[chain].size(); ++chain) at -= chains[chain].size();
    const ChainDraws& c = chains[chain];
    const std::size_t effects = c.effects.size() / c.size();
    out.push_back({std::span<const double>(c.draws).subspan(at * c.dim, c.dim),
                   std::span<const float>(c.effects).subspan(at * effects, effects)});
  }
  return out;
}

struct Simulated {
  std::vector<double> y;                   // observed
  std::vector<std::vector<double>> sets;   // one per draw
  std::vector<double> predicted;           // mean of the response, over the draws
  std::vector<std::vector<double>> means;  // the same of each draw
  [[nodiscard]] std::size_t rows() const { return y.size(); }
};

// predict(draw, eta): the predictors of the rows whose responses are y. `columns` parameters come before the
// second one. Throws UsageError where a response is too large.
template <class Predict>
Simulated simulated_sets(const Family& family, const FamilyNumbers& numbers, std::size_t columns,
                         const std::vector<ChosenDraw>& draws, std::vector<double> y, std::uint64_t seed,
                         const Predict& predict) {
  std::vector<double> seconds;
  if (family.estimates_second())
    for (const ChosenDraw& draw : draws) seconds.push_back(draw.parameters[columns]);
  const FamilySpec& spec = family.spec();
  // By the number of trials of a row: 0 for responses that are no outcomes.
  std::map<double, std::vector<ResponseLaw>> laws;
  std::vector<const std::vector<ResponseLaw>*> law_of(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double trials = spec.counted ? Outcome::of(y[i]).trials : 0;
    auto& its = laws[trials];
    if (its.empty()) its = response_laws(spec, numbers, seconds, trials);
    law_of[i] = &its;
    y[i] = plain_response(spec, y[i]);
  }
  const std::vector<double> factors = mean_factors(spec, numbers, seconds);
  const std::size_t rows = y.size();
  Simulated out{.y = std::move(y), .sets = {}, .predicted = std::vector<double>(rows, 0), .means = {}};
  std::vector<double> eta(rows), mean(rows);
  for (std::size_t k = 0; k < draws.size(); ++k) {
    predict(draws[k], eta);
    inverse_link(spec.link, eta, mean);
    if (!factors.empty())
      for (double& m : mean) m *= factors[factors.size() == 1 ? 0 : k];
    Stream stream({.seed = seed, .chain = simulation_chain, .purpose = Purpose::predict, .iteration = k});
    std::vector<double>& set = out.sets.emplace_back(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      const std::vector<ResponseLaw>& its = *law_of[i];
      set[i] = plain_response(spec, its[its.size() == 1 ? 0 : k](stream, eta[i]));
      out.predicted[i] += mean[i] / static_cast<double>(draws.size());
    }
    out.means.push_back(mean);
  }
  return out;
}

Simulated simulated_sets(const Glm& model, const FamilyNumbers& numbers, const std::vector<ChosenDraw>& draws,
                         const std::vector<RowId>& ids, std::uint64_t seed) {
  std::vector<double> y(ids.size()), theta(model.dim());
  const Rows rows{std::span<const RowId>(ids)};
  model.store().responses(rows, y);
  return simulated_sets(model.family(), numbers, model.columns(), draws, std::move(y), seed,
                        [&](const ChosenDraw& draw, std::vector<double>& eta) {
                          model.to_working(draw.parameters, theta);
                          model.store().predictors(Coefficients(theta, model.store()), rows, eta);
                        });
}

Simulated simulated_sets(const GroupedModel& model, const FamilyNumbers& numbers,
                         const std::vector<ChosenDraw>& draws, const std::vector<RowId>& ids,
                         std::uint64_t seed) {
  const LevelRows& rows = model.rows();
  const std::size_t main = model.layout().dim();
  std::vector<double> y, theta(main);
  for (const RowId row : ids) y.push_back(rows.y(row));
  std::array<double, LevelRows::most_effects> z;
  return simulated_sets(model.family(), numbers, rows.columns(), draws, std::move(y), seed,
                        [&](const ChosenDraw& draw, std::vector<double>& eta) {
                          model.layout().to_working(draw.parameters.first(main), theta);
                          for (std::size_t i = 0; i < ids.size(); ++i) {
                            const std::size_t row = ids[i];
                            eta[i] = rows.offset(row);
                            for (std::size_t j = 0; j < rows.columns(); ++j)
                              eta[i] += static_cast<double>(rows.x(row)[j]) * theta[j];
                            std::size_t first = 0;
                            for (const Grouping& group : rows.groups()) {
                              group.multipliers(row, z.data());
                              const std::size_t at = first + group.codes[row] * group.dim();
                              for (std::size_t a = 0; a < group.dim(); ++a)
                                eta[i] += z[a] * static_cast<double>(draw.effects[at + a]);
                              first += group.levels() * group.dim();
                            }
                          }
                        });
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

// The same with the tenths of each draw, by its own predictions. With group effects the mean prediction of a
// row depends on its response: ordered by it, the highest tenth has more ones than are predicted, however
// right the model is. Given a draw, observed and simulated responses have the same law (Gelman, Meng, Stern,
// 1996, section 2.3).
std::vector<PredictiveCheck::Group> calibration_by_draw(const Simulated& s) {
  const std::size_t groups = std::min<std::size_t>(10, s.rows()), draws = s.sets.size();
  std::vector<PredictiveCheck::Group> out(groups);
  std::vector<std::vector<double>> shares(groups);
  std::vector<std::size_t> order(s.rows());
  for (std::size_t k = 0; k < draws; ++k) {
    const std::vector<double>& mean = s.means[k];
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return mean[a] < mean[b]; });
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t first = g * s.rows() / groups, end = (g + 1) * s.rows() / groups;
      const auto share = [&](const std::vector<double>& y) {
        double sum = 0;
        for (std::size_t i = first; i < end; ++i) sum += y[order[i]];
        return sum / static_cast<double>(end - first);
      };
      const double part = 1 / static_cast<double>(draws);
      out[g].low += part * mean[order[first]];
      out[g].high += part * mean[order[end - 1]];
      out[g].observed += part * share(s.y);
      out[g].predicted += part * share(mean);
      shares[g].push_back(share(s.sets[k]));
    }
  }
  for (std::size_t g = 0; g < groups; ++g) {
    const SimulatedFigure f = figure_of(std::move(shares[g]));
    out[g].q5 = f.q5;
    out[g].q95 = f.q95;
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

PredictiveCheck figures_of(const Simulated& s, bool binary, bool by_draw) {
  PredictiveCheck out{.rows = s.rows(), .draws = s.sets.size(), .binary = binary};
  const bool counts = !out.binary && whole_numbers(s.y) &&
                      std::all_of(s.sets.begin(), s.sets.end(),
                                  [](const std::vector<double>& set) { return whole_numbers(set); });
  out.groups = !out.binary ? bin_groups(s, counts) : by_draw ? calibration_by_draw(s) : calibration_groups(s);
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

template <class Model>
std::optional<PredictiveCheck> check_of(const Model& model, std::size_t rows, const FamilyNumbers& numbers,
                                        std::span<const ChainDraws> chains,
                                        const PredictiveCheckOptions& options) {
  const Design& design = model.design();
  if (design.has_weight || design.shares || rows < 2) return std::nullopt;
  const std::vector<ChosenDraw> draws = chosen_draws(chains, options.draws);
  if (draws.empty()) return std::nullopt;
  Simulated s;
  try {
    s = simulated_sets(model, numbers, draws, chosen_rows(rows, options), options.seed);
  } catch (const UsageError&) {  // a response too large for a double, or for a count
    return std::nullopt;
  }
  for (const std::vector<double>& set : s.sets)
    if (!std::all_of(set.begin(), set.end(), [](double v) { return std::isfinite(v); })) return std::nullopt;
  return figures_of(s, model.family().spec().binary, std::is_same_v<Model, GroupedModel>);
}

}  // namespace

std::optional<PredictiveCheck> predictive_check(const Glm& model, const FamilyNumbers& numbers,
                                                std::span<const ChainDraws> chains,
                                                const PredictiveCheckOptions& options) {
  return check_of(model, model.rows(), numbers, chains, options);
}

std::optional<PredictiveCheck> predictive_check(const GroupedModel& model, const FamilyNumbers& numbers,
                                                std::span<const ChainDraws> chains,
                                                const PredictiveCheckOptions& options) {
  for (const ChainDraws& chain : chains)
    if (chain.effects.size() != chain.size() * model.effects()) return std::nullopt;
  return check_of(model, model.rows().size(), numbers, chains, options);
}

}  // namespace mlo
