// Copyright (c) the mlo authors. BSD-3-Clause.
// Mean and spread of a column that is read in blocks.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

namespace mlo {

// Two passes over each block, which is in cache, and the update of Chan, Golub and LeVeque (1983) between
// blocks: as accurate as two passes over the column, at the price of one. The result depends on the size of
// the blocks only.
struct Moments {
  double count = 0;
  double mean = 0;
  double deviations = 0;  // sum of (x - mean)^2
  double first = 0;       // value of the column
  bool constant = true;   // all values equal the first exactly; rounding may keep `deviations` above 0

  void add(std::span<const double> block);

  [[nodiscard]] double sd() const { return constant ? 0 : std::sqrt(deviations / (count - 1)); }
  [[nodiscard]] double root_mean_square() const {
    return constant ? std::fabs(first) : std::hypot(mean, std::sqrt(deviations / count));
  }
};

}  // namespace mlo
