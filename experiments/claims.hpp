// Copyright (c) the mlo authors. BSD-3-Clause.
// Tests of the paper's claims about its tables: comparisons of two methods over the same replications.
#pragma once

#include <span>
#include <string>

namespace mlo::experiments {

struct Claim {
  std::string text;
  bool holds = false;
  double z = 0;  // the paired difference divided by its Monte Carlo standard error
  // "holds" or "does not hold"; with "within Monte Carlo error" where the sign could be due to chance.
  std::string verdict;
};

// A difference of more than this many standard errors is not considered chance.
inline constexpr double clear = 2;

// "a is below b": holds if mean(b - a) > 0; z is that of mean(b - a). a and b are losses in the same
// replications.
[[nodiscard]] Claim below(std::string text, std::span<const double> a, std::span<const double> b);
// The same for a z computed elsewhere.
[[nodiscard]] Claim below(std::string text, double z);

// "a is as good as b": holds if mean(a - b) could be due to chance; z is that of mean(a - b).
[[nodiscard]] Claim similar(std::string text, std::span<const double> a, std::span<const double> b);

// z of mean(a - b) over pairs; 0 if the two are equal everywhere.
[[nodiscard]] double paired_z(std::span<const double> a, std::span<const double> b);

}  // namespace mlo::experiments
