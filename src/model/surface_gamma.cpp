// Copyright (c) the mlo authors. BSD-3-Clause.
// Gamma: f = -k (e^w - 1 - w) with k = shape e^u and w = a - t, a = log y - eta at the centre; S(k), which
// all rows have in common, is kept as it is. As a function of t and u, f is a sum of exponentials and
// products.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "mlo/base/special.hpp"
#include "model/gamma_shape.hpp"
#include "model/surfaces.hpp"

namespace mlo {
namespace {

class GammaSurface final : public RowSurface {
 public:
  explicit GammaSurface(double log_shape)
      : log_shape_(log_shape), shape_(std::exp(log_shape)), centre_(shape_terms(shape_)) {}

  void shapes(std::span<const double> eta, std::span<const double> y,
              std::span<SurfaceShape> out) const noexcept override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = {std::log(y[i]) - eta[i], 0, 1, 1};
  }

  void suprema(JointOrder order, const SurfaceRows& rows, std::span<const double> reach, double width,
               std::span<double> out) const noexcept override {
    const std::size_t n = rows.size();
    const double k = shape_ * std::exp(width);
    const auto terms = monomials(order);
    for (std::size_t i = 0; i < n; ++i) {
      const double most = rows.a[i] + reach[i], least = rows.a[i] - reach[i];
      const double high = std::expm1(most), low = std::expm1(least);
      // By t twice or more, once, and not at all.
      const std::array<double, 3> sup{k * std::max(high - most, low - least),
                                      k * std::max(std::abs(high), std::abs(low)), k * (high + 1)};
      for (std::size_t m = 0; m < terms.size(); ++m)
        out[m * n + i] = sup[static_cast<std::size_t>(std::min(terms[m].j, 2))];
    }
  }

  void thirds(const SurfaceRows& rows, const SurfaceThirds& out) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double a = rows.a[i], excess = std::expm1(a);
      out.ttt[i] = shape_ * (excess + 1);
      out.ttu[i] = -shape_ * (excess + 1);
      out.tuu[i] = shape_ * excess;
      out.uuu[i] = -shape_ * (excess - a);
    }
  }

  void changes(JointOrder order, const SurfaceRows& rows, const SurfaceMove& move,
               std::span<double> out) const noexcept override {
    const int degree = order == JointOrder::two ? 2 : 3;
    const Powers from(degree, move.from_u), to(degree, move.to_u);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double rho = std::exp(rows.a[i]);
      double change = remainder(degree, rho, rows.a[i], move.to[i], to) -
                      remainder(degree, rho, rows.a[i], move.from[i], from);
      if (order == JointOrder::mixed) {
        const double t = move.to[i], s = move.from[i];
        change += shape_ * rho * (t - s) * (t * t + t * s + s * s) / 6;
      }
      out[i] = change;
    }
  }

  [[nodiscard]] double common(double u) const noexcept override {
    const double at = shape_terms(std::exp(log_shape_ + u)).log_constant;
    return at - centre_.log_constant - u * (centre_.slope + 0.5 * u * (centre_.slope + centre_.curvature));
  }

 private:
  // What is left of e^u and of u e^u.
  struct Powers {
    double u, same, lower;
    Powers(int degree, double at) noexcept
        : u(at), same(exp_remainder(degree, at)), lower(exp_remainder(degree - 1, at)) {}
  };
  // f = -shape (rho e^(u - t) - (1 + a) e^u + t e^u).
  [[nodiscard]] double remainder(int degree, double rho, double a, double t, const Powers& p) const noexcept {
    return -shape_ * (rho * exp_remainder(degree, p.u - t) - (1 + a) * p.same + t * p.lower);
  }

  double log_shape_, shape_;
  ShapeTerms centre_;
};

}  // namespace

std::shared_ptr<const RowSurface> gamma_surface(double log_shape) {
  return std::make_shared<GammaSurface>(log_shape);
}

}  // namespace mlo
