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
    std::array<double, part> logs;
    for (std::size_t first = 0; first < out.size(); first += part) {
      const std::size_t count = std::min(part, out.size() - first);
      mlo::log(y.subspan(first, count), {logs.data(), count});
      for (std::size_t i = 0; i < count; ++i) out[first + i] = {logs[i] - eta[first + i], 0, 1, 1};
    }
  }

  void suprema(JointOrder order, const SurfaceRows& rows, std::span<const double> reach, double width,
               std::span<double> out) const noexcept override {
    const std::size_t n = rows.size();
    const double k = shape_ * std::exp(width);
    const auto terms = monomials(order);
    // The ends of a row's w, side by side, and e^w there.
    std::array<double, 2 * part> w, e;
    for (std::size_t first = 0; first < n; first += part) {
      const std::size_t count = std::min(part, n - first);
      for (std::size_t i = 0; i < count; ++i) {
        w[2 * i] = rows.a[first + i] + reach[first + i];
        w[2 * i + 1] = rows.a[first + i] - reach[first + i];
      }
      mlo::exp({w.data(), 2 * count}, {e.data(), 2 * count});
      for (std::size_t i = 0; i < count; ++i) {
        const End high(w[2 * i], e[2 * i]), low(w[2 * i + 1], e[2 * i + 1]);
        // By t twice or more, once, and not at all.
        const std::array<double, 3> sup{k * std::max(high.excess, low.excess),
                                        k * std::max(high.slope, low.slope), k * e[2 * i]};
        for (std::size_t m = 0; m < terms.size(); ++m)
          out[m * n + first + i] = sup[static_cast<std::size_t>(std::min(terms[m].j, 2))];
      }
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
  static constexpr std::size_t part = 64;  // rows at a time

  // e^w - 1 - w and |e^w - 1| where a row's interval ends; near 0, where they cancel, the bounds w^2 / 2 and
  // |w| times the larger of 1 and e^w.
  struct End {
    double excess, slope;
    End(double w, double e) noexcept {
      const double size = std::abs(w), larger = std::max(e, 1.0);
      const bool near = size < 0.01;
      excess = near ? 0.5 * w * w * larger : e - 1 - w;
      slope = near ? size * larger : std::abs(e - 1);
    }
  };

  // What is left of e^u and of u e^u.
  struct Powers {
    double u, same, lower;
    Powers(int degree, double at) noexcept : u(at), same(exp_remainder(degree, at)) {
      double power = inverse_factorials[static_cast<std::size_t>(degree)];
      for (int k = 0; k < degree; ++k) power *= at;
      lower = power + same;
    }
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
