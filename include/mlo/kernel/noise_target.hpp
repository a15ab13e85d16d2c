// Copyright (c) the mlo authors. BSD-3-Clause.
// Reads rows until the noise of the estimated log ratio is below a target: shared by rules that then allow
// for the remaining noise.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <span>

#include "mlo/kernel/decision.hpp"

namespace mlo {

class NoiseTarget {
 public:
  struct Options {
    std::size_t pilot;  // rows at the first look, at least 2: one row says nothing about the noise
    std::size_t max;    // rows read at most, whatever the noise; without replacement at most n
    double noise_sd;    // the target, for the log ratio
  };
  // `rows` is n of the model.
  NoiseTarget(std::size_t rows, const Options& options)
      : rows_(static_cast<double>(rows)), options_(options) {
    assert(options_.pilot >= 2 && options_.noise_sd > 0);
    options_.max = std::max(options_.max, options_.pilot);
  }

  [[nodiscard]] static bool needs_term_bound() noexcept { return false; }
  [[nodiscard]] std::size_t wants() const noexcept { return size_ - seen_.count; }
  void see(std::span<const double> terms) noexcept {
    seen_.see(terms);
    if (seen_.count == size_) size_ = next_size();
  }
  [[nodiscard]] const TermMoments& seen() const noexcept { return seen_; }

  // The estimated variance of the log ratio.
  [[nodiscard]] double noise_variance() const noexcept {
    const double m = static_cast<double>(seen_.count);
    return rows_ * rows_ * seen_.variance() / m * (with_replacement_ ? 1.0 : 1.0 - m / rows_);
  }

 protected:
  void start(const Trial& trial) noexcept {
    with_replacement_ = trial.with_replacement;
    limit_ = options_.max;
    if (!with_replacement_) limit_ = std::min(limit_, static_cast<std::size_t>(rows_));
    size_ = std::min(options_.pilot, limit_);
    seen_ = {};
  }
  [[nodiscard]] double rows() const noexcept { return rows_; }

 private:
  // The present size if the noise is small enough, or not a number, which more rows would not change.
  // Otherwise a tenth more than the terms seen say is needed, but at most twice the present size: a variance
  // from few terms may be far too large.
  [[nodiscard]] std::size_t next_size() const noexcept {
    const double target = options_.noise_sd * options_.noise_sd;
    const double excess = noise_variance() / target;
    if (!(excess > 1) || !std::isfinite(excess)) return size_;
    const double m = static_cast<double>(size_);
    double wanted = m * std::min(2.0, 1.1 * excess);
    // Without replacement the variance is proportional to 1/m - 1/n, and falls faster.
    if (!with_replacement_) wanted = std::min(wanted, 1 / (1 / rows_ + (1 / m - 1 / rows_) / (1.1 * excess)));
    wanted = std::ceil(wanted);
    return std::min(limit_, static_cast<std::size_t>(wanted));
  }

  double rows_;
  Options options_;
  bool with_replacement_ = true;
  std::size_t limit_ = 0;
  std::size_t size_ = 0;
  TermMoments seen_;
};

}  // namespace mlo
