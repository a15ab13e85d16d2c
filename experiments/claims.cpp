// Copyright (c) the mlo authors. BSD-3-Clause.
#include "experiments/claims.hpp"

#include <cassert>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "experiments/statistics.hpp"

namespace mlo::experiments {

double paired_z(std::span<const double> a, std::span<const double> b) {
  assert(a.size() == b.size());
  std::vector<double> difference;
  difference.reserve(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) difference.push_back(a[k] - b[k]);
  const Estimate d = mean(difference);
  if (d.value == 0) return 0;
  return d.se > 0 ? d.value / d.se : std::copysign(std::numeric_limits<double>::infinity(), d.value);
}

Claim below(std::string text, double z) {
  const bool holds = z > 0;
  const std::string chance = std::abs(z) < clear ? ", within Monte Carlo error" : "";
  return {std::move(text), holds, z, (holds ? "holds" : "does not hold") + chance};
}

Claim below(std::string text, std::span<const double> a, std::span<const double> b) {
  return below(std::move(text), paired_z(b, a));
}

Claim similar(std::string text, std::span<const double> a, std::span<const double> b) {
  const double z = paired_z(a, b);
  const bool holds = std::abs(z) < clear;
  return {std::move(text), holds, z, holds ? "holds" : "does not hold"};
}

}  // namespace mlo::experiments
