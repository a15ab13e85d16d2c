// Copyright (c) the mlo authors. BSD-3-Clause.
// Barker's test, of which the noise of a subsample is a part: Seita, Pan, Chen & Canny 2017, "An efficient
// minibatch acceptance test for Metropolis-Hastings".
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <span>

#include "mlo/kernel/noise_target.hpp"

namespace mlo {

// A variable whose sum with an independent N(0, 1) is standard logistic: a discrete one, because after the
// normal is added nobody can tell. No law does this exactly (the quotient of the characteristic functions,
// pi t / sinh(pi t) e^(t^2 / 2), exceeds 1); with this one the distribution function of the sum is within
// 1e-7 of the logistic's.
[[nodiscard]] double logistic_correction(Stream& stream) noexcept;

struct Atom {
  double value, probability;  // of value and of -value, each
};
// Its values >= 0.
[[nodiscard]] std::span<const Atom> logistic_correction_atoms() noexcept;

// Accepting iff ratio + X > 0 for a standard logistic X is Barker's test: with probability 1 / (1 +
// exp(-ratio)), which leaves the posterior as it is. A normal noise of the estimated ratio of sd s < 1 can be
// a part of X: reads rows until s is below a target, then adds N(0, 1 - s^2) and the correction above.
// Nothing is lost to the noise, but Barker's test accepts less often than Metropolis' does, by half at most.
// Approximate, because terms are normal in large numbers only and s is estimated. If s cannot be brought
// below 1, no normal is added and the draws are too wide; the noise report tells.
class Barker : public NoiseTarget {
 public:
  static constexpr Promise promise = Promise::approximate;
  struct Options {
    std::size_t pilot = 50;  // see NoiseTarget
    std::size_t max = 1000;
    // Below 1, so that s itself is, not only its estimate: 0.9 costs a quarter more rows than 1 would.
    double noise_sd = 0.9;
  };
  // `rows` is n of the model.
  Barker(std::size_t rows, const Options& options)
      : NoiseTarget(rows, {options.pilot, options.max, options.noise_sd}) {
    assert(options.noise_sd <= 1);
  }

  void begin(const Trial& trial) noexcept {
    rho_ = trial.rho;
    stream_ = trial.stream;
    start(trial);
  }
  [[nodiscard]] bool accept() noexcept {
    const double missing = std::sqrt(std::max(0.0, 1 - noise_variance()));
    const double added = missing * normal(*stream_) + logistic_correction(*stream_);
    return rows() * seen().mean() + rho_ + added > 0;
  }

 private:
  double rho_ = 0;
  Stream* stream_ = nullptr;
};
static_assert(Decision<Barker>);

}  // namespace mlo
