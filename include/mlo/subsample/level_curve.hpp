// Copyright (c) the mlo authors. BSD-3-Clause.
// The log-likelihood of a level's rows as a function of the level's effect b, for levels that know so little
// about b that a cubic polynomial would not do: few rows, or few events among many. A polynomial of high
// degree on an interval, for rows whose terms are -scale log(1 + e^(e + t)) + tilt t.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace mlo {

struct LevelCurve {
  static constexpr std::size_t terms = 24;
  // Of b / radius, for |b| <= radius: the change from b = 0.
  std::array<double, terms> coefficients{};
  double radius = 0;
  double tilt = 0;                     // the sum over rows
  double start = 0;                    // the mode with the prior that the curve was made for
  double up = 0, down = 0, limit = 0;  // suprema of |f''| of rows with e <= 0, with e > 0, and anywhere
  double least = 0, most = 0;          // of the rows' sigmoids at b = 0

  [[nodiscard]] double value(double b) const noexcept;

  // phi(b) = (slope(b) - slope(0)) / bend(0): how the slope of the rows' terms changes with b, in units of
  // their second derivatives. Rows have nearly the same.
  [[nodiscard]] double phi(double b) const noexcept;
};

struct LevelCurveRows {
  std::span<const double> e, scale;
  double slope = 0;  // of the log-likelihood at b = 0
};
// The effect has the prior N(mean, 1 / precision). Returns whether the polynomial is accurate to 1e-8.
[[nodiscard]] bool make_curve(const LevelCurveRows& rows, double mean, double precision, LevelCurve& out);

}  // namespace mlo
