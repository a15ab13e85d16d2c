// Copyright (c) the mlo authors. BSD-3-Clause.
// A confidence interval with guaranteed coverage decides: Bardenet, Doucet & Holmes 2014, "Towards scaling up
// Markov chain Monte Carlo: an adaptive subsampling approach"; with control variates their paper of 2017.
#pragma once

#include <cstddef>
#include <span>

#include "mlo/kernel/decision.hpp"

namespace mlo {

// Reads rows without replacement, looks at geometrically growing m, and stops if |mean - psi| > c_m, where
// |mean - Lambda_n| <= c_m with probability at least 1 - delta_k, whatever the terms, as long as they respect
// their bound. At look k, delta_k = delta (a - 1) / (a k^a). These add up to at most delta, so a decision is
// that of Metropolis-Hastings with probability at least 1 - delta. If all rows are read the decision is
// exact; where there is no bound, all rows are read at once.
//
//   hoeffding  c_m = C sqrt(2 (1 - (m-1)/n) log(2/delta_k) / m), |x_j| <= C   (Hoeffding 1963, Serfling 1974)
//   bernstein  c_m = s sqrt(2 log(3/delta_k) / m) + 3 (2 C) log(3/delta_k) / m
//              (Audibert, Munos & Szepesvari 2009, for draws with replacement; those without are no more
//              spread out, by Hoeffding's theorem 4)
class Confidence : public ThresholdRule {
 public:
  [[nodiscard]] static constexpr Promise promise() noexcept { return Promise::bounded_error; }
  enum class Bound { hoeffding, bernstein };
  struct Options {
    double delta = 0.1;  // bounds the probability that a decision is not that of all rows
    Bound bound = Bound::bernstein;
    std::size_t batch = 100;  // rows at the first look; fewer decide nothing and use up delta
    double growth = 1.5;      // rows at a look / rows at the one before; above 1
    double exponent = 2;      // a, above 1
  };
  // `rows` is n of the model.
  Confidence(std::size_t rows, const Options& options);

  [[nodiscard]] static bool needs_term_bound() noexcept { return true; }
  void begin(const Trial& trial) noexcept;
  void see(std::span<const double> terms) noexcept {
    seen_.see(terms);
    if (seen_.count == size_ && size_ < rows_) look();
  }

  // c_m from the terms seen, at look k.
  [[nodiscard]] double width(double k) const noexcept;

 private:
  void look() noexcept;

  std::size_t rows_;
  Options options_;
  double look_ = 1;  // k
  double term_bound_ = 0;
};
static_assert(Decision<Confidence>);

}  // namespace mlo
