// Copyright (c) the mlo authors. BSD-3-Clause.
// A decision rule that makes the noise small, and corrects for what is left of it.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <span>

#include "mlo/kernel/decision.hpp"

namespace mlo {

// Reads rows until the noise of the estimated log ratio is below a target, then accepts with probability
// min(1, exp(estimate - penalty)). If the noise is normal, a penalty of half its variance makes the chain's
// law the posterior itself (Ceperley & Dewing 1999, "The penalty method for random walks with uncertain
// energies"); where the variance s2 is itself estimated from m terms, their series s2/2 + s2^2/(4(m+1)) +
// s2^3/(3(m+1)(m+3)) does. Approximate, because terms are normal in large numbers only, and because the rows'
// number depends on the terms.
class PenaltySize {
 public:
  static constexpr Promise promise = Promise::approximate;
  struct Options {
    std::size_t pilot = 20;  // rows of the first look, at least 2: fewer know nothing of the noise
    std::size_t max = 1000;  // rows at which it decides whatever the noise
    double noise_sd =
        0.1;  // of the log ratio; METHODS: below 0.1 the noise is harmless even without the penalty
  };
  // `rows` is n of the model. Terms are taken to be independent: drawn with replacement.
  PenaltySize(std::size_t rows, Options options) : rows_(static_cast<double>(rows)), options_(options) {
    assert(options_.pilot >= 2 && options_.noise_sd > 0);
    options_.max = std::max(options_.max, options_.pilot);
  }

  void begin(double psi) noexcept {
    psi_ = psi;
    seen_ = {};
    size_ = options_.pilot;
  }
  [[nodiscard]] std::size_t wants() const noexcept { return size_ - seen_.count; }
  void see(std::span<const double> terms) noexcept {
    seen_.see(terms);
    if (seen_.count == size_) size_ = next_size();
  }
  [[nodiscard]] bool accept() const noexcept { return rows_ * (seen_.mean() - psi_) > penalty(); }
  [[nodiscard]] const TermMoments& seen() const noexcept { return seen_; }

  // The estimated variance of the log ratio, and what it costs.
  [[nodiscard]] double noise_variance() const noexcept {
    return rows_ * rows_ * seen_.variance() / static_cast<double>(seen_.count);
  }
  [[nodiscard]] double penalty() const noexcept {
    const double s2 = noise_variance(), m = static_cast<double>(seen_.count);
    return s2 * (0.5 + s2 * (1 / (4 * (m + 1)) + s2 / (3 * (m + 1) * (m + 3))));
  }

 private:
  // The present size if the noise is small enough (or no number: more rows would not make it one). Else what
  // the terms seen say is needed and a tenth more, but at most twice what there is: a variance from few terms
  // may be far too large.
  [[nodiscard]] std::size_t next_size() const noexcept {
    const double target = options_.noise_sd * options_.noise_sd;
    const double excess = noise_variance() / target;
    if (!(excess > 1) || !std::isfinite(excess)) return size_;
    const double wanted = std::ceil(static_cast<double>(size_) * std::min(2.0, 1.1 * excess));
    return std::min(options_.max, static_cast<std::size_t>(wanted));
  }

  double rows_;
  Options options_;
  double psi_ = 0;
  std::size_t size_ = 0;
  TermMoments seen_;
};
static_assert(Decision<PenaltySize>);

}  // namespace mlo
