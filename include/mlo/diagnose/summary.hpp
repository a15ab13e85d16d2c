// Copyright (c) the mlo authors. BSD-3-Clause.
// What is printed about each parameter.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mlo/chain/draws.hpp"
#include "mlo/diagnose/convergence.hpp"

namespace mlo {

struct ParameterSummary {
  std::string name;
  double mean = 0, sd = 0, mcse_mean = 0;
  double hpd_low = 0, hpd_high = 0;  // 95 % highest posterior density interval
  double median = 0, q5 = 0, q95 = 0;
  double ess_bulk = 0, ess_tail = 0, rhat = 0;
};

// Over the draws of all chains together; sd with divisor n - 1. A figure that is not defined for these draws
// is NaN: all figures if a draw is not finite or there are no draws, the sd of a single draw, and the cases
// listed in convergence.hpp.
[[nodiscard]] ParameterSummary summarise(std::string name, ChainsView draws);

// One summary per parameter. If chains differ in length, only as many draws of each are used as the shortest
// has.
[[nodiscard]] std::vector<ParameterSummary> summarise(const std::vector<std::string>& names,
                                                      std::span<const ChainDraws* const> chains);
template <class Chains>
[[nodiscard]] std::vector<ParameterSummary> summarise(const std::vector<std::string>& names,
                                                      const Chains& chains) {
  std::vector<const ChainDraws*> all;
  all.reserve(chains.size());
  for (const ChainDraws& chain : chains) all.push_back(&chain);
  return summarise(names, std::span<const ChainDraws* const>(all));
}

struct Interval {
  double low = 0;
  double high = 0;
};
// The shortest interval that holds at least `mass` of the draws (Chen & Shao 1999). sorted: ascending, not
// empty; 0 < mass <= 1. Convention: both ends are draws, ceil(mass * S) of the S draws lie between them, the
// ends included, and if several intervals are shortest, it is the lowest.
[[nodiscard]] Interval hpd(std::span<const double> sorted, double mass);

// Quantile of sorted draws by linear interpolation (R's type 7). sorted: ascending, not empty.
[[nodiscard]] double quantile(std::span<const double> sorted, double probability);

}  // namespace mlo
