// Copyright (c) the mlo authors. BSD-3-Clause.
// Mean, sd and quantiles of the same number of values, many times over: a quantile costs one pass over the
// values and a sort of few of them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mlo {

// sd with divisor n - 1; NaN for a single value.
struct Spread {
  double mean = 0, sd = 0;
};
// values: not empty. The sums do not depend on where the values stand in memory.
[[nodiscard]] Spread spread_of(std::span<const double> values) noexcept;

// The order statistics that a quantile lies between. An increasing function of both gives the quantile of the
// function's values.
struct OrderPair {
  double below = 0, above = 0;  // above == below where weight is 0
  double weight = 0;            // of above

  // R's type 7, as quantile() in summary.hpp.
  [[nodiscard]] double value() const noexcept {
    return below == above ? below : (1 - weight) * below + weight * above;
  }
};

// Finds quantiles of `size` values. Not to be shared by threads: it has a buffer.
class QuantileFinder {
 public:
  // size >= 1; probabilities in [0, 1].
  QuantileFinder(std::size_t size, std::vector<double> probabilities);

  // Sets out[k] for the k-th probability. values: `size` numbers, none of them NaN. The result is exact for
  // any `guess`: values near the place where a normal law with that spread has its quantile are collected in
  // a pass that also counts those below, and if the wanted ranks are not among them, the pass is repeated
  // with a wider bracket.
  void find(std::span<const double> values, const Spread& guess, std::span<OrderPair> out);

  // Passes over the values so far, for tests and benchmarks of the guess.
  [[nodiscard]] std::size_t passes() const noexcept { return passes_; }

 private:
  struct Target {
    std::size_t rank = 0;  // of the lower order statistic, from 0
    double weight = 0;
    double normal_quantile = 0;  // of the standard normal law
    double half_width = 0;       // of the first bracket, in sds
  };
  [[nodiscard]] OrderPair find(std::span<const double> values, const Spread& guess, const Target& target);

  std::vector<Target> targets_;
  std::vector<double> candidates_;
  std::size_t passes_ = 0;
};

}  // namespace mlo
