// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/diagnose/summary.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "diagnose/convergence_parts.hpp"
#include "diagnose/draws.hpp"

namespace mlo {

double quantile(std::span<const double> sorted, double probability) {
  assert(!sorted.empty() && probability >= 0 && probability <= 1);
  // Counted from 1, as in R: adding 1 rounds away the error of the product where it should be a whole number.
  const double position = 1 + static_cast<double>(sorted.size() - 1) * probability;
  const double weight = position - std::floor(position);
  const std::size_t below = static_cast<std::size_t>(position) - 1;
  if (weight == 0 || sorted[below] == sorted[below + 1]) return sorted[below];
  return (1 - weight) * sorted[below] + weight * sorted[below + 1];
}

Interval hpd(std::span<const double> sorted, double mass) {
  assert(!sorted.empty() && mass > 0 && mass <= 1);
  // The two roundings, of mass and of the product, must not push a whole number up to the next one.
  constexpr double rounding = 2 * std::numeric_limits<double>::epsilon();
  const double wanted = std::ceil(mass * static_cast<double>(sorted.size()) * (1 - rounding));
  const std::size_t gap = static_cast<std::size_t>(std::max(wanted, 1.0)) - 1;
  Interval best{sorted[0], sorted[gap]};
  for (std::size_t i = 1; i + gap < sorted.size(); ++i) {
    if (sorted[i + gap] - sorted[i] < best.high - best.low) best = {sorted[i], sorted[i + gap]};
  }
  return best;
}

ParameterSummary summarise(std::string name, ChainsView draws) {
  ParameterSummary summary;
  summary.name = std::move(name);
  std::vector<double> sorted = diagnostics::pooled(draws);
  if (sorted.empty() || !diagnostics::all_finite(draws)) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    summary.mean = summary.sd = summary.mcse_mean = summary.hpd_low = summary.hpd_high = nan;
    summary.median = summary.q5 = summary.q95 = summary.ess_bulk = summary.ess_tail = summary.rhat = nan;
    return summary;
  }
  summary.mean = diagnostics::mean(sorted);
  summary.sd = std::sqrt(diagnostics::variance(sorted));
  summary.mcse_mean = summary.sd / std::sqrt(ess_mean(draws));
  std::sort(sorted.begin(), sorted.end());
  const Interval interval = hpd(sorted, 0.95);
  summary.hpd_low = interval.low;
  summary.hpd_high = interval.high;
  summary.median = quantile(sorted, 0.5);
  summary.q5 = quantile(sorted, 0.05);
  summary.q95 = quantile(sorted, 0.95);
  const diagnostics::Halves ranks = diagnostics::rank_normalised(draws);
  summary.ess_bulk = diagnostics::ess(ranks);
  summary.ess_tail = diagnostics::ess_tail(draws, sorted);
  summary.rhat = diagnostics::rhat(draws, ranks, sorted);
  return summary;
}

std::vector<ParameterSummary> summarise(const std::vector<std::string>& names,
                                        std::span<const ChainDraws* const> chains) {
  std::size_t length = chains.empty() ? 0 : chains[0]->size();
  for (const ChainDraws* chain : chains) length = std::min(length, chain->size());
  std::vector<ParameterSummary> out;
  out.reserve(names.size());
  for (std::size_t j = 0; j < names.size(); ++j) {
    std::vector<std::vector<double>> draws;
    std::vector<std::span<const double>> views;
    draws.reserve(chains.size());
    views.reserve(chains.size());
    for (const ChainDraws* chain : chains) draws.push_back(chain->parameter(j));
    for (const auto& d : draws) views.emplace_back(d.data(), length);
    out.push_back(summarise(names[j], views));
  }
  return out;
}

}  // namespace mlo
