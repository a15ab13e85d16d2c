// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/level_curve.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "mlo/base/special.hpp"

namespace mlo {
namespace {

constexpr std::size_t terms = LevelCurve::terms;
// How far the polynomial reaches, in sds of the effect; and at most, where it would lose digits: the poles of
// the sigmoid are 3.14 from the axis.
constexpr double sds = 5, furthest = 4.5;

// The sum over rows of scale (f(e + b) - f(e)), f(x) = -log(1 + e^x).
class RowSums {
 public:
  explicit RowSums(const LevelCurveRows& rows) : rows_(rows), moved_(rows.e.size()), change_(rows.e.size()) {}
  double operator()(double b) {
    for (std::size_t i = 0; i < moved_.size(); ++i) moved_[i] = rows_.e[i] + b;
    softplus_difference(rows_.e, moved_, change_);
    double sum = 0;
    for (std::size_t i = 0; i < moved_.size(); ++i) sum -= rows_.scale[i] * change_[i];
    return sum;
  }

 private:
  const LevelCurveRows& rows_;
  std::vector<double> moved_, change_;
};

// From values at the Chebyshev nodes to powers of x: a matrix, row by row.
class ToPowers {
 public:
  ToPowers() {
    constexpr double pi = std::numbers::pi;
    std::array<double, terms> before{}, here{};  // T_(k-1) and T_k in powers of x
    before[0] = 1;
    here[1] = 1;
    for (std::size_t k = 0; k < terms; ++k) {
      const std::array<double, terms>& polynomial = k == 0 ? before : here;
      for (std::size_t j = 0; j < terms; ++j) {
        const double share = (k == 0 ? 1.0 : 2.0) / terms *
                             std::cos(pi * static_cast<double>(k) * (static_cast<double>(j) + 0.5) / terms);
        for (std::size_t p = 0; p < terms; ++p) matrix_[p][j] += share * polynomial[p];
      }
      if (k == 0) continue;
      std::array<double, terms> next{};
      for (std::size_t p = 0; p < terms; ++p) next[p] = (p > 0 ? 2 * here[p - 1] : 0) - before[p];
      before = here;
      here = next;
    }
  }
  [[nodiscard]] std::array<double, terms> operator()(const std::array<double, terms>& values) const noexcept {
    std::array<double, terms> out{};
    for (std::size_t p = 0; p < terms; ++p)
      for (std::size_t j = 0; j < terms; ++j) out[p] += matrix_[p][j] * values[j];
    return out;
  }

 private:
  std::array<std::array<double, terms>, terms> matrix_{};
};

struct Jet {
  double slope = 0, bend = 0;
};
Jet jet_of(const LevelCurve& curve, double b) noexcept {
  const double x = b / curve.radius;
  double p1 = 0, p2 = 0;
  for (std::size_t k = terms; k-- > 1;) {
    p2 = p2 * x + p1;
    p1 = p1 * x + static_cast<double>(k) * curve.coefficients[k];
  }
  return {p1 / curve.radius, p2 / (curve.radius * curve.radius)};
}

}  // namespace

double LevelCurve::value(double b) const noexcept {
  const double x = std::clamp(b / radius, -1.0, 1.0);
  double sum = 0;
  for (std::size_t k = terms; k-- > 0;) sum = sum * x + coefficients[k];
  return sum;
}

double LevelCurve::phi(double b) const noexcept {
  const double x = std::clamp(b / radius, -1.0, 1.0);
  double sum = 0;  // the slope's change over x
  for (std::size_t k = terms; k-- > 2;) sum = sum * x + static_cast<double>(k) * coefficients[k];
  return radius * x * sum / (2 * coefficients[2]);
}

bool make_curve(const LevelCurveRows& rows, double mean, double precision, LevelCurve& out) {
  double slope = 0, information = 0;
  out.up = out.down = out.limit = out.most = 0;
  out.least = 1;
  for (std::size_t i = 0; i < rows.e.size(); ++i) {
    const double s = 1 / (1 + std::exp(-rows.e[i])), second = std::abs(rows.scale[i]) * s * (1 - s);
    slope -= rows.scale[i] * s;
    out.least = std::min(out.least, s);
    out.most = std::max(out.most, s);
    information += second;
    double& of = rows.e[i] <= 0 ? out.up : out.down;
    of = std::max(of, (1 + 1e-6) * second);
    out.limit = std::max(out.limit, (1 + 1e-6) * 0.25 * std::abs(rows.scale[i]));
  }
  out.tilt = rows.slope - slope;
  out.radius = std::min(furthest, sds / std::sqrt(information + precision));
  RowSums sum(rows);
  std::array<double, terms> values;
  for (std::size_t j = 0; j < terms; ++j) {
    const double b = out.radius * std::cos(std::numbers::pi * (static_cast<double>(j) + 0.5) / terms);
    values[j] = sum(b) + out.tilt * b;
  }
  static const ToPowers to_powers;
  out.coefficients = to_powers(values);
  for (const double x : {-0.97, -0.61, -0.23, 0.31, 0.67, 0.99}) {
    const double b = x * out.radius, right = sum(b) + out.tilt * b;
    if (!(std::abs(out.value(b) - right) <= 1e-8 * (1 + std::abs(right)))) return false;
  }
  out.start = 0;
  for (int newton = 0; newton < 8; ++newton) {
    const Jet at = jet_of(out, out.start);
    const double step = (at.slope - precision * (out.start - mean)) / (std::max(-at.bend, 0.0) + precision);
    out.start = std::clamp(out.start + std::clamp(step, -1.0, 1.0), -out.radius, out.radius);
  }
  return true;
}

}  // namespace mlo
