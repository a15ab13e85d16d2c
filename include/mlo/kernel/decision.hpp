// Copyright (c) the mlo authors. BSD-3-Clause.
// Decision rules: how many rows to read, and whether to accept.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>

#include "mlo/kernel/kernel.hpp"

namespace mlo {

// A rule sees x_j = D_i / (n eta_i), whose expectation is Lambda_n, and the threshold psi that Lambda_n must
// exceed. Law: after begin(psi), as long as wants() > 0 that many new terms are shown with see(); then
// accept() is the answer.
template <class R>
concept Decision = requires(R& rule, const R& fixed, double psi, std::span<const double> terms) {
  { rule.begin(psi) } -> std::same_as<void>;
  { fixed.wants() } -> std::same_as<std::size_t>;
  { rule.see(terms) } -> std::same_as<void>;
  { fixed.accept() } -> std::same_as<bool>;
  { R::promise } -> std::convertible_to<Promise>;
};

// Count, mean and variance of the terms seen in a step.
struct TermMoments {
  std::size_t count = 0;
  double sum = 0, squares = 0;

  void see(std::span<const double> terms) noexcept {
    for (const double x : terms) {
      sum += x;
      squares += x * x;
    }
    count += terms.size();
  }
  [[nodiscard]] double mean() const noexcept { return sum / static_cast<double>(count); }
  [[nodiscard]] double mean_square() const noexcept { return squares / static_cast<double>(count); }
  // The unbiased estimate of the terms' variance.
  [[nodiscard]] double variance() const noexcept {
    const double m = static_cast<double>(count);
    return count < 2 ? 0 : std::max(0.0, (squares - sum * sum / m) / (m - 1));
  }
};

// r rows, whatever they say. [paper, Algorithm 2]
class FixedSize {
 public:
  static constexpr Promise promise = Promise::approximate;
  explicit FixedSize(std::size_t size) : size_(size) {}

  void begin(double psi) noexcept {
    psi_ = psi;
    seen_ = {};
  }
  [[nodiscard]] std::size_t wants() const noexcept { return size_ - seen_.count; }
  void see(std::span<const double> terms) noexcept { seen_.see(terms); }
  [[nodiscard]] bool accept() const noexcept { return seen_.mean() > psi_; }
  [[nodiscard]] const TermMoments& seen() const noexcept { return seen_; }

 private:
  std::size_t size_;
  double psi_ = 0;
  TermMoments seen_;
};
static_assert(Decision<FixedSize>);

// A pilot of r rows says how many are needed for the sign of Lambda - psi to be right with probability 1 -
// delta, were the estimate normal; up to r_max. [paper, Algorithm 3 and eq. (8)] eq. (8) drops the term
// Lambda^2 of the variance, so it errs towards a larger r. c_r = 0 asks for r_max.
class AdaptiveSize {
 public:
  static constexpr Promise promise = Promise::approximate;
  struct Options {
    std::size_t pilot;
    std::size_t max;
    double delta = 0.05;
  };
  explicit AdaptiveSize(const Options& options);

  void begin(double psi) noexcept {
    psi_ = psi;
    seen_ = {};
    size_ = options_.pilot;
  }
  [[nodiscard]] std::size_t wants() const noexcept { return size_ - seen_.count; }
  void see(std::span<const double> terms) noexcept {
    seen_.see(terms);
    if (seen_.count == options_.pilot && size_ == options_.pilot) size_ = extended_size();
  }
  [[nodiscard]] bool accept() const noexcept { return seen_.mean() > psi_; }
  [[nodiscard]] const TermMoments& seen() const noexcept { return seen_; }

 private:
  [[nodiscard]] std::size_t extended_size() const noexcept {
    const double c = 0.5 * std::abs(seen_.mean() - psi_);
    const double needed = std::ceil(z_ * z_ / (c * c) * seen_.mean_square());
    if (!(needed < static_cast<double>(options_.max)))
      return std::max(options_.pilot, options_.max);  // also NaN
    return std::max(options_.pilot, static_cast<std::size_t>(needed));
  }

  Options options_;
  double z_;  // the normal quantile at 1 - delta/2
  double psi_ = 0;
  std::size_t size_ = 0;
  TermMoments seen_;
};
static_assert(Decision<AdaptiveSize>);

}  // namespace mlo
