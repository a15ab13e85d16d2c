// Copyright (c) the mlo authors. BSD-3-Clause.
// A sequential t-test decides: Korattikara, Chen & Welling 2014, "Austerity in MCMC land".
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "mlo/kernel/decision.hpp"

namespace mlo {

// Reads batches, and stops after one if a t-test at level eps says on which side of psi the mean of all rows
// lies: 1 - T_{m-1}(|mean - psi| / s) < eps, where s is the standard error of the mean of the m terms seen.
// Without replacement, s has the finite population factor, and reading all rows decides exactly. If the mean
// is normal, one look errs with probability eps at most. The error of a decision is that of all its looks
// together: larger when psi is close (where it matters least) and smaller when it is far.
class Austerity : public ThresholdRule {
 public:
  [[nodiscard]] static constexpr Promise promise() noexcept { return Promise::approximate; }
  struct Options {
    double eps = 0.05;  // error probability of a look; below 1/2
    // Rows of the first batch, at least 2. 500 is the authors' choice: enough for the mean of most terms to
    // be nearly normal, and cheap compared with 10^6 rows.
    std::size_t batch = 500;
    double growth = 1;  // size of a batch / size of the one before; the authors' are all equal
    std::size_t max = std::numeric_limits<std::size_t>::max();  // rows read at most; never more than n
  };
  // `rows` is n of the model.
  Austerity(std::size_t rows, const Options& options);

  void begin(const Trial& trial) noexcept {
    with_replacement_ = trial.with_replacement;
    look_ = looks_->data();
    start(trial, look_->size);
  }
  void see(std::span<const double> terms) noexcept {
    seen_.see(terms);
    if (seen_.count == size_ && look_ != &looks_->back() && !decided()) size_ = (++look_)->size;
  }

 private:
  struct Look {
    std::size_t size;
    double critical;  // the quantile of T_{size-1} at 1 - eps; computing it is too slow for a step
  };

  [[nodiscard]] bool decided() const noexcept {
    const double m = static_cast<double>(seen_.count), gap = seen_.mean() - psi_, square = gap * gap;
    if (!std::isfinite(square)) return true;  // more rows would not make it finite
    const double variance = seen_.variance();
    // Terms that are all equal, up to rounding, decide only if there are many: two equal terms are no
    // evidence.
    constexpr double rounding = 1e-12, many = 100;
    if (variance <= rounding * seen_.mean_square()) return m >= many;
    const double finite_population = with_replacement_ ? 1.0 : 1 - (m - 1) / (rows_ - 1);
    return square * m > look_->critical * look_->critical * variance * finite_population;
  }

  double rows_;
  std::shared_ptr<const std::vector<Look>> looks_;  // the same for all chains
  const Look* look_ = nullptr;
  bool with_replacement_ = false;
};
static_assert(Decision<Austerity>);

}  // namespace mlo
