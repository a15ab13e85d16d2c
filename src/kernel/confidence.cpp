// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/kernel/confidence.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace mlo {

Confidence::Confidence(std::size_t rows, const Options& options) : rows_(rows), options_(options) {
  assert(options.delta > 0 && options.delta < 1 && options.batch >= 1 && options.growth > 1 &&
         options.exponent > 1);
}

void Confidence::begin(const Trial& trial) noexcept {
  assert(!trial.with_replacement);  // otherwise no number of rows would decide exactly
  term_bound_ = trial.term_bound;
  look_ = 1;
  start(trial, std::isfinite(term_bound_) ? std::min(options_.batch, rows_) : rows_);
}

double Confidence::width(double k) const noexcept {
  const double m = static_cast<double>(seen_.count), a = options_.exponent;
  const double delta = options_.delta * (a - 1) / (a * std::pow(k, a));
  if (options_.bound == Bound::hoeffding) {
    const double left = 1 - (m - 1) / static_cast<double>(rows_);
    return term_bound_ * std::sqrt(2 * left * std::log(2 / delta) / m);
  }
  const double log_inverse = std::log(3 / delta);
  return std::sqrt(2 * seen_.variance() * log_inverse / m) + 6 * term_bound_ * log_inverse / m;
}

void Confidence::look() noexcept {
  // Not "> width": if this is not a number, more rows will not change that.
  if (!(std::abs(seen_.mean() - psi_) <= width(look_))) return;
  look_ += 1;
  const double next = std::ceil(options_.growth * static_cast<double>(size_));
  size_ = next < static_cast<double>(rows_) ? static_cast<std::size_t>(next) : rows_;
}

}  // namespace mlo
