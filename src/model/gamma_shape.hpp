// Copyright (c) the mlo authors. BSD-3-Clause.
// The part of gamma's log-likelihood that depends on the shape alone: S(k) = k log k - k - log Gamma(k).
#pragma once

namespace mlo {

// S(k), k (log k - digamma(k)) and k (1 - k trigamma(k)): with D = k d/dk, D S is the second of them and D^2
// S the sum of the last two.
struct ShapeTerms {
  double log_constant, slope, curvature;
};
[[nodiscard]] ShapeTerms shape_terms(double k) noexcept;

}  // namespace mlo
