// Copyright (c) the mlo authors. BSD-3-Clause.
// Barker's test, with the noise of a subsample as part of its randomness: Seita, Pan, Chen & Canny 2017, "An
// efficient minibatch acceptance test for Metropolis-Hastings".
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <span>

#include "mlo/kernel/noise_target.hpp"

namespace mlo {

// A variable whose sum with an independent N(0, 1) is standard logistic: it is discrete, but that no longer
// shows once the normal is added. No distribution does this exactly (the quotient of the characteristic
// functions, pi t / sinh(pi t) e^(t^2 / 2), exceeds 1); with this one the distribution function of the sum is
// within 1e-7 of the logistic.
[[nodiscard]] double logistic_correction(Stream& stream) noexcept;

struct Atom {
  double value, probability;  // of value and of -value, each
};
// Its values >= 0.
[[nodiscard]] std::span<const Atom> logistic_correction_atoms() noexcept;

// Barker's test accepts if ratio + X > 0 for a standard logistic X, that is, with probability 1 / (1 +
// exp(-ratio)); this leaves the posterior invariant. Normal noise in the estimated ratio, of sd s < 1, can be
// part of X: the rule reads rows until s is below a target, then adds N(0, 1 - s^2) and the correction above.
// The noise does no harm, but Barker's test accepts less often than Metropolis's (at least half as often).
// Approximate, because only sums of many terms are normal and s is estimated. If s cannot be brought below 1,
// no normal is added and the draws are too wide; the noise report says so.
class Barker : public NoiseTarget {
 public:
  [[nodiscard]] static constexpr Promise promise() noexcept { return Promise::approximate; }
  struct Options {
    std::size_t pilot = 50;  // see NoiseTarget
    std::size_t max = 1000;
    // Below 1, so that s itself is below 1 and not only its estimate: 0.9 costs a quarter more rows than 1
    // would.
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
