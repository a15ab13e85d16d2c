// Copyright (c) the mlo authors. BSD-3-Clause.
// Small parts that the moves of LevelKernel share.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "mlo/base/random.hpp"
#include "mlo/kernel/levels.hpp"

namespace mlo {

[[nodiscard]] inline Eigen::Index index(std::size_t i) noexcept { return static_cast<Eigen::Index>(i); }

inline constexpr std::size_t level_batch = Family::batch_rows;  // rows at a time
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
    case 1:
      return f(std::integral_constant<int, 1>{});
    case 2:
      return f(std::integral_constant<int, 2>{});
    case 3:
      return f(std::integral_constant<int, 3>{});
    default:
      return f(std::integral_constant<int, Eigen::Dynamic>{});
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

// The mode of pull * b - rise e^(direction b) - tau b^2 / 2, by two steps of Newton's method, and the
// curvature there.
struct ProductLaw {
  double mode = 0, curvature = 0;
};
inline ProductLaw product_law(double pull, double rise, double tau, double direction) noexcept {
  double m = 0, power = 1, curved = rise + tau;
  for (int newton = 0; newton < 2; ++newton) {
    m += std::clamp((pull - direction * rise * power - tau * m) / curved, -1.0, 1.0);
    power = std::exp(direction * m);
    curved = rise * power + tau;
  }
  return {m, curved};
}

// What the expansion of the columns' part leaves of a product: -scale (e^(d b') - e^(d b)) (e^(d u) - 1 - d
// u).
inline double product_change(const LevelReference::Shape& shape, double u, double before,
                             double after) noexcept {
  const double direction = shape.direction, x = direction * u;
  return -static_cast<double>(shape.scale) * (std::exp(direction * after) - std::exp(direction * before)) *
         (std::expm1(x) - x);
}

template <int d>
double LevelKernel::level_surrogate(std::size_t k, std::size_t level, const double* from,
                                    const double* to) const noexcept {
  const LevelSums& sums = reference_->groups()[k];
  const Group& group = groups_[k];
  if constexpr (d == 1) {
    const double x = from[0], y = to[0];
    if (product_)
      return (sums.g[level] + direction_ * sums.h[level]) * (y - x) -
             group.bend[level] * (std::exp(direction_ * y) - std::exp(direction_ * x));
    return precision_ * (y - x) *
           (group.linear[level] - 0.5 * group.bend[level] * (x + y) +
            sums.c[level] * (x * x + x * y + y * y) / 6);
  } else {
    const std::size_t size = sums.d;
    const double* const linear = group.linear.data() + level * size;
    const double* const bend = group.bend.data() + level * size * size;
    double sum = 0;
    for (std::size_t a = 0; a < size; ++a) {
      double bent_to = 0, bent_from = 0;
      for (std::size_t b = 0; b < size; ++b) {
        bent_to += bend[a * size + b] * to[b];
        bent_from += bend[a * size + b] * from[b];
      }
      sum += linear[a] * (to[a] - from[a]) - 0.5 * (to[a] * bent_to - from[a] * bent_from);
    }
    const double* const c = sums.c.data() + level * size * size * size;
    return precision_ * (sum + (cubic_form(c, size, to) - cubic_form(c, size, from)) / 6);
  }
}

// With c = |x^c'alpha| at most, b = |z'beta| at most and g = |gamma|, a row's remainder is at most
// |z'delta| (K3 (c^2 / 2 + c g) + K4 (b + c + g)^3 / 6), where c g <= c^1.5 / 1.5 + g^3 / 3 and
// (x + g)^3 <= x^3 / w^2 + g^3 / (1 - w)^2.
template <int d>
LevelKernel::LevelBound LevelKernel::level_bound(std::size_t k, std::size_t level, const double* from,
                                                 const double* to) const noexcept {
  const LevelSums& sums = reference_->groups()[k];
  const Group& group = groups_[k];
  if (!reference_->has_curve()) return {};  // a gaussian likelihood has no remainders
  if (d == 1 && product_) {
    const double c = sums.reach[level] * length_;
    const double rise = std::abs(std::exp(direction_ * to[0]) - std::exp(direction_ * from[0]));
    LevelBound out;
    out.own =
        options_.bound_factor * (1 + 1e-6) * sums.scale[level] * rise * 0.5 * c * c * std::exp(c) + 1e-300;
    out.finite = std::isfinite(out.own);
    return out;
  }
  double before = 0, after = 0, moved = 0;
  const double* const factor = sums.factor.data() + level * sums.d * sums.d;  // column-major lower
  if constexpr (d == 1) {
    const double unit = sums.span[level] * factor[0];  // the largest |z|
    before = unit * std::abs(from[0]);
    after = unit * std::abs(to[0]);
    moved = unit * std::abs(to[0] - from[0]);
  } else {
    const std::size_t size = sums.d;
    for (std::size_t a = 0; a < size; ++a) {
      double x = 0, y = 0, z = 0;
      for (std::size_t b = a; b < size; ++b) {
        const double f = factor[a * size + b];  // C_ba, so row a of C'
        x += f * from[b];
        y += f * to[b];
        z += f * (to[b] - from[b]);
      }
      before += x * x;
      after += y * y;
      moved += z * z;
    }
    before = sums.span[level] * std::sqrt(before);
    after = sums.span[level] * std::sqrt(after);
    moved = sums.span[level] * std::sqrt(moved);
  }
  const double b = std::max(before, after);
  const double c = sums.reach[level] * length_;
  const bool near = b + c + group.others[level] <= sums.box[level];
  const double k3 = near ? sums.k3[level] : sums.k3_all[level];
  const double k4 = near ? sums.k4[level] : sums.k4_all[level];
  const double x = b + c;
  LevelBound out;
  if (groups_.size() == 1) {
    out.own = moved * (0.5 * k3 * c * c + k4 * x * x * x / 6);
  } else {
    const double count = static_cast<double>(model_->rows().groups()[k].size(level));
    const double g = std::cbrt(group.cubes[level] / count);
    const double w = x + g > 0 ? std::clamp(x / (x + g), 0.02, 0.98) : 0.5;
    out.own = moved * (k3 * (0.5 * c * c + c * std::sqrt(c) / 1.5) + k4 * x * x * x / (6 * w * w));
    out.cross = moved * (k3 / 3 + k4 / (6 * (1 - w) * (1 - w)));
  }
  const double slack = options_.bound_factor * (1 + 1e-9);
  out.own = slack * out.own + 1e-300;
  out.cross *= slack;
  out.finite = std::isfinite(out.own) && std::isfinite(out.cross);
  return out;
}

}  // namespace mlo
