// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/weights.hpp"

#include <fmt/format.h>

#include "mlo/base/errors.hpp"

namespace mlo {

void to_probabilities(std::span<double> sizes, double uniform_share) {
  double total = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!std::isfinite(sizes[i]))
      throw ModelError(
          fmt::format("subsampling weights: row {} of the rows used has weight {}; choose another "
                      "point with --weights-at",
                      i + 1, sizes[i]));
    total += sizes[i];
  }
  const double n = static_cast<double>(sizes.size());
  const double floor = total > 0 ? uniform_share / n : 1 / n;
  const double share = total > 0 ? (1 - uniform_share) / total : 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = floor + share * sizes[i];
    if (!(sizes[i] > 0))
      throw ModelError(
          fmt::format("subsampling weights: row {} of the rows used has probability 0, so that the "
                      "estimate would be biased; give a --uniform-share above 0 (default 0.001)",
                      i + 1));
  }
}

}  // namespace mlo
