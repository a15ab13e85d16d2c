// Copyright (c) the mlo authors. BSD-3-Clause.
// A number of successes out of a number of trials, as one number: what a family that needs both has as its
// response. Of two outcomes, the one with more trials is the larger number.
#pragma once

#include <cmath>

namespace mlo {

struct Outcome {
  double successes = 0, trials = 0;

  static constexpr double most_trials = 67'108'863;  // 2^26 - 1

  [[nodiscard]] static Outcome of(double packed) noexcept {
    const double trials = std::floor(packed / base);
    return {packed - trials * base, trials};
  }
  [[nodiscard]] double packed() const noexcept { return trials * base + successes; }
  [[nodiscard]] double share() const noexcept { return successes / trials; }

 private:
  static constexpr double base = most_trials + 1;
};

}  // namespace mlo
