// Copyright (c) the mlo authors. BSD-3-Clause.
#include "diagnose/draws.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace mlo::diagnostics {

bool all_finite(ChainsView draws) {
  return std::all_of(draws.begin(), draws.end(), [](std::span<const double> chain) {
    return std::all_of(chain.begin(), chain.end(), [](double x) { return std::isfinite(x); });
  });
}

std::vector<double> pooled(ChainsView draws) {
  std::vector<double> all;
  for (const std::span<const double> chain : draws) all.insert(all.end(), chain.begin(), chain.end());
  return all;
}

double mean(std::span<const double> x) {
  const auto n = static_cast<double>(x.size());
  const double first = std::accumulate(x.begin(), x.end(), 0.0) / n;
  // A second pass removes the rounding of the first: the mean of equal values is exactly that value, so the
  // variance of a chain that never moved is exactly zero.
  double remainder = 0;
  for (const double value : x) remainder += value - first;
  return first + remainder / n;
}

double variance(std::span<const double> x) {
  if (x.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  const double centre = mean(x);
  double sum = 0;
  for (const double value : x) sum += (value - centre) * (value - centre);
  return sum / static_cast<double>(x.size() - 1);
}

}  // namespace mlo::diagnostics
