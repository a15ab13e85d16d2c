// Copyright (c) the mlo authors. BSD-3-Clause.
// Small parts that the moves of LevelKernel share.
#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <cstddef>
#include <span>

#include "mlo/base/random.hpp"
#include "mlo/kernel/levels.hpp"

namespace mlo {

[[nodiscard]] inline Eigen::Index index(std::size_t i) noexcept { return static_cast<Eigen::Index>(i); }

inline constexpr double walk_share = 0.2;  // of walks among the proposals, where all rows are read

// A level's effects: fixed sizes for the usual numbers of them, and no heap for the others.
template <int d>
struct LevelTypes {
  static constexpr int most = d == Eigen::Dynamic ? static_cast<int>(LevelRows::most_effects) : d;
  using Vector = Eigen::Matrix<double, d, 1, 0, most, 1>;
  using Matrix = Eigen::Matrix<double, d, d, 0, most, most>;
};

// Calls f with the number of effects as a constant, if it is a usual one.
template <class F>
void with_dim(std::size_t d, const F& f) {
  switch (d) {
    case 1: return f(std::integral_constant<int, 1>{});
    case 2: return f(std::integral_constant<int, 2>{});
    case 3: return f(std::integral_constant<int, 3>{});
    default: return f(std::integral_constant<int, Eigen::Dynamic>{});
  }
}

// One drawn row in the balanced thinning rule: what it adds to the log ratio. `share` is its remainder over
// its bound.
inline double thinned(double share, Stream& stream, std::uint64_t& violations) noexcept {
  if (!(std::abs(share) <= 1)) {
    ++violations;
    share = std::isnan(share) ? 0 : std::copysign(1.0, share);
  }
  if (share < 0) return std::log1p(share);
  return uniform(stream) >= share ? -std::log1p(-share) : 0;
}

// The terms of a multilinear form of order 3, c(v, v, v).
inline double cubic_form(const double* c, std::size_t d, const double* v) noexcept {
  if (d == 1) return c[0] * v[0] * v[0] * v[0];
  double sum = 0;
  for (std::size_t a = 0; a < d; ++a)
    for (std::size_t b = 0; b < d; ++b)
      for (std::size_t e = 0; e < d; ++e) sum += c[(a * d + b) * d + e] * v[a] * v[b] * v[e];
  return sum;
}

}  // namespace mlo
