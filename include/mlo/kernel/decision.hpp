// Copyright (c) the mlo authors. BSD-3-Clause.
// Decision rules: how many rows to read, and whether to accept.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>

#include "mlo/base/random.hpp"
#include "mlo/kernel/kernel.hpp"

namespace mlo {

// Count, mean and variance of the terms seen in a step.
struct TermMoments {
  std::size_t count = 0;
  double sum = 0, squares = 0;

  void see(std::span<const double> terms) noexcept {
    // Four running sums: with one, each addition would wait for the one before.
    std::array<double, 4> sums{}, square_sums{};
    std::size_t k = 0;
    for (; k + 4 <= terms.size(); k += 4)
      for (std::size_t lane = 0; lane < 4; ++lane) {
        sums[lane] += terms[k + lane];
        square_sums[lane] += terms[k + lane] * terms[k + lane];
      }
    for (; k < terms.size(); ++k) {
      sums[0] += terms[k];
      square_sums[0] += terms[k] * terms[k];
    }
    sum += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    squares += (square_sums[0] + square_sums[1]) + (square_sums[2] + square_sums[3]);
    count += terms.size();
  }
  [[nodiscard]] double mean() const noexcept { return sum / static_cast<double>(count); }
  [[nodiscard]] double mean_square() const noexcept { return squares / static_cast<double>(count); }
  // The unbiased estimate of the terms' variance.
  [[nodiscard]] double variance() const noexcept {
    const double m = static_cast<double>(count);
    return count < 2 ? 0 : std::max(0.0, (squares - sum * sum / m) / (m - 1));
  }
  // The same for the variance of their mean; it is 0 if all n rows were read without replacement.
  [[nodiscard]] double variance_of_mean(double rows, bool with_replacement) const noexcept {
    const double m = static_cast<double>(count);
    return variance() / m * (with_replacement ? 1.0 : 1.0 - m / rows);
  }
};

// The question to decide: whether rho + n Lambda_n exceeds log u.
struct Trial {
  double rho = 0;                // log ratio of prior and proposal, plus what is known without reading rows
  double rows = 1;               // n
  bool with_replacement = true;  // how the terms' rows are drawn
  // |x_j| <= this for every row, if rows are drawn uniformly. NaN if no rule needs it or it is not known.
  double term_bound = std::numeric_limits<double>::quiet_NaN();
  Stream* stream = nullptr;  // for the decision; outlives it

  // psi, which Lambda_n must exceed, for the stream's next uniform number u. [paper, section 2]
  [[nodiscard]] double threshold() const noexcept { return (std::log(uniform(*stream)) - rho) / rows; }
};

// A rule sees x_j = D_i / (n eta_i), whose expectation is Lambda_n. Law: after begin(trial), as long as
// wants() > 0, that many new terms are shown with see(), in batches of any size; then accept(), called once,
// gives the answer. A rule wants at least one term, and without replacement at most n. seen() has the moments
// of all terms shown.
template <class R>
concept Decision = requires(R& rule, const R& fixed, const Trial& trial, std::span<const double> terms) {
  { fixed.promise() } -> std::same_as<Promise>;
  { rule.begin(trial) } -> std::same_as<void>;
  { fixed.wants() } -> std::same_as<std::size_t>;
  { rule.see(terms) } -> std::same_as<void>;
  { rule.accept() } -> std::same_as<bool>;
  { fixed.seen() } -> std::convertible_to<const TermMoments&>;
  { fixed.needs_term_bound() } -> std::same_as<bool>;  // whether it reads trial.term_bound
};

// Shared by the rules below: they see size_ terms and accept if the mean of those seen exceeds psi. A
// sequential rule looks at the terms seen and may raise size_.
class ThresholdRule {
 public:
  [[nodiscard]] static bool needs_term_bound() noexcept { return false; }
  [[nodiscard]] std::size_t wants() const noexcept { return size_ - seen_.count; }
  [[nodiscard]] const TermMoments& seen() const noexcept { return seen_; }
  [[nodiscard]] bool accept() const noexcept { return seen_.mean() > psi_; }

 protected:
  void start(const Trial& trial, std::size_t size) noexcept {
    psi_ = trial.threshold();
    size_ = size;
    seen_ = {};
  }

  double psi_ = 0;
  std::size_t size_ = 0;  // terms to see before the next look, or in all
  TermMoments seen_;
};

// Always r rows. [paper, Algorithm 2]
class FixedSize : public ThresholdRule {
 public:
  [[nodiscard]] static constexpr Promise promise() noexcept { return Promise::approximate; }
  explicit FixedSize(std::size_t size) : fixed_(size) {}

  void begin(const Trial& trial) noexcept { start(trial, fixed_); }
  void see(std::span<const double> terms) noexcept { seen_.see(terms); }

 private:
  std::size_t fixed_;
};
static_assert(Decision<FixedSize>);

// A pilot of r rows says how many rows, up to r_max, are needed for the sign of Lambda - psi to be right with
// probability 1 - delta if the estimate is normal. [paper, Algorithm 3 and eq. (8)] Eq. (8) drops the term -
// Lambda^2 of the variance, so it errs towards a larger r. c_r = 0 asks for r_max.
class AdaptiveSize : public ThresholdRule {
 public:
  [[nodiscard]] static constexpr Promise promise() noexcept { return Promise::approximate; }
  struct Options {
    std::size_t pilot;
    std::size_t max;
    double delta = 0.05;
  };
  explicit AdaptiveSize(const Options& options);

  void begin(const Trial& trial) noexcept { start(trial, options_.pilot); }
  void see(std::span<const double> terms) noexcept {
    seen_.see(terms);
    if (seen_.count == options_.pilot && size_ == options_.pilot) size_ = extended_size();
  }

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
};
static_assert(Decision<AdaptiveSize>);

}  // namespace mlo
