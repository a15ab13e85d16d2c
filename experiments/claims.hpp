// Copyright (c) the mlo authors. BSD-3-Clause.
// What the paper says of its tables, put to the test: a comparison of two methods over the same replications.
#pragma once

#include <span>
#include <string>

namespace mlo::experiments {

struct Claim {
  std::string text;
  bool holds = false;
  double z = 0;  // of the paired difference, in its Monte Carlo standard error
  // "holds", "does not hold"; with "within Monte Carlo error" where the sign could be chance.
  std::string verdict;
};

// A difference of more than this many standard errors is not taken for chance.
inline constexpr double clear = 2;

// "a is below b": holds if mean(b - a) > 0, whose z is given. a and b are losses of the same replications.
[[nodiscard]] Claim below(std::string text, std::span<const double> a, std::span<const double> b);
// The same for a z that was found otherwise.
[[nodiscard]] Claim below(std::string text, double z);

// "a is as good as b": holds if mean(a - b), whose z is given, could be chance.
[[nodiscard]] Claim similar(std::string text, std::span<const double> a, std::span<const double> b);

// z of mean(a - b) over pairs; 0 if the two are equal everywhere.
[[nodiscard]] double paired_z(std::span<const double> a, std::span<const double> b);

}  // namespace mlo::experiments
