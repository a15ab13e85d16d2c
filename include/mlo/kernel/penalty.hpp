// Copyright (c) the mlo authors. BSD-3-Clause.
// A decision rule that makes the noise small and corrects for the rest.
#pragma once

#include <cstddef>

#include "mlo/kernel/noise_target.hpp"

namespace mlo {

// Reads rows until the noise of the estimated log ratio is below a target, then accepts with probability
// min(1, exp(estimate - penalty)). If the noise is normal, with a penalty of half its variance the chain
// samples the posterior itself (Ceperley & Dewing 1999, "The penalty method for random walks with uncertain
// energies"); if the variance s2 is itself estimated from m terms, their series s2/2 + s2^2/(4(m+1)) +
// s2^3/(3(m+1)(m+3)) takes its place. Approximate, because only sums of many terms are normal, and because
// the number of rows depends on the terms. With a target so large that any noise meets it, this is their
// method with the pilot's size.
class PenaltySize : public NoiseTarget {
 public:
  [[nodiscard]] static constexpr Promise promise() noexcept { return Promise::approximate; }
  struct Options {
    std::size_t pilot = 20;  // see NoiseTarget
    std::size_t max = 1000;
    double noise_sd = 0.1;  // below 0.1 the noise is harmless even without the penalty
  };
  PenaltySize(std::size_t rows, const Options& options)
      : NoiseTarget(rows, {options.pilot, options.max, options.noise_sd}) {}

  void begin(const Trial& trial) noexcept {
    psi_ = trial.threshold();
    start(trial);
  }
  [[nodiscard]] bool accept() const noexcept { return rows() * (seen().mean() - psi_) > penalty(); }

  [[nodiscard]] double penalty() const noexcept {
    const double s2 = noise_variance(), m = static_cast<double>(seen().count);
    return s2 * (0.5 + s2 * (1 / (4 * (m + 1)) + s2 / (3 * (m + 1) * (m + 3))));
  }

 private:
  double psi_ = 0;
};
static_assert(Decision<PenaltySize>);

}  // namespace mlo
