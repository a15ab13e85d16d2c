// Copyright (c) the mlo authors. BSD-3-Clause.
// Student's law: f = -c/2 log(1 + z^2 / nu) - u with c = nu + 1 and z = (a + t) e^-u, where a is the
// standardised residual at the centre. Derivatives are e^-ju times polynomials in z and B = nu / (nu + z^2),
// in which nothing cancels far out: with D = z d/dz, D B = -2 B (1 - B), d/du (e^-ju g(z)) = -e^-ju (j + D)
// g.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "model/surfaces.hpp"

namespace mlo {
namespace {

// d^j/dt^j d^k/du^k f at u = 0, as a function of z.
struct StudentTerms {
  double c, nu;

  struct Powers {
    double z, b;
  };
  [[nodiscard]] Powers at(double z) const noexcept { return {z, nu / (nu + z * z)}; }

  [[nodiscard]] double operator()(int j, int k, const Powers& at) const noexcept {
    const auto [z, b] = at;
    const double b2 = b * b, one = c / nu, two = 2 * c / (nu * nu);
    switch (10 * j + k) {
      case 1:
        return c * (1 - b);  // without the -1 of -u
      case 2:
        return -2 * c * b * (1 - b);
      case 3:
        return -c * b * (4 + b * (-12 + b * 8));
      case 4:
        return c * b * (-8 + b * (56 + b * (-96 + b * 48)));
      case 10:
        return -one * z * b;
      case 11:
        return 2 * one * z * b2;
      case 12:
        return one * z * b2 * (4 - 8 * b);
      case 13:
        return one * z * b2 * (8 + b * (-48 + b * 48));
      case 20:
        return one * b * (1 - 2 * b);
      case 21:
        return one * b2 * (-6 + 8 * b);
      case 22:
        return -one * b2 * (12 + b * (-56 + b * 48));
      case 30:
        return two * z * b2 * (4 * b - 1);
      case 31:
        return two * z * b2 * b * (12 - 24 * b);
      default:
        return two * b2 * (3 + b * (-24 + b * 24));  // 40
    }
  }
};

// Where |F_jk| has its local maxima over z >= 0, and how large it is there.
struct Peaks {
  std::vector<double> at, height;
};

Peaks peaks_of(const StudentTerms& f, int j, int k) {
  // z = sqrt(nu) tan(angle): over the angle F_jk is a trigonometric polynomial of degree 10 at most.
  const auto size = [&](double angle) { return std::abs(f(j, k, f.at(std::sqrt(f.nu) * std::tan(angle)))); };
  constexpr int cells = 4000;
  constexpr double end = 0.5 * std::numbers::pi * (1 - 1e-9), step = end / cells;
  std::array<double, cells + 1> sizes;
  for (int i = 0; i <= cells; ++i) sizes[static_cast<std::size_t>(i)] = size(std::min(i * step, end));
  Peaks out;
  for (int i = 0; i < cells; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (sizes[at] < sizes[at == 0 ? 1 : at - 1] || sizes[at] < sizes[at + 1]) continue;
    const double centre = i * step;
    double low = std::max(centre - step, 0.0), high = std::min(centre + step, end);
    for (int halving = 0; halving < 60; ++halving) {
      const double left = low + (high - low) / 3, right = high - (high - low) / 3;
      (size(left) < size(right) ? low : high) = size(left) < size(right) ? left : right;
    }
    out.at.push_back(std::sqrt(f.nu) * std::tan(0.5 * (low + high)));
    out.height.push_back(size(0.5 * (low + high)) * (1 + 1e-9));
  }
  return out;
}

class StudentSurface final : public RowSurface {
 public:
  StudentSurface(double freedom, double log_sigma)
      : terms_{freedom + 1, freedom}, inverse_(std::exp(-log_sigma)), root_(std::sqrt(freedom)) {
    for (int j = 0; j <= 4; ++j)
      for (int k = 0; k <= 4; ++k)
        if (j + k == 3 || j + k == 4) peaks_[index(j, k)] = peaks_of(terms_, j, k);
  }

  void shapes(std::span<const double> eta, std::span<const double> y,
              std::span<SurfaceShape> out) const noexcept override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = {(y[i] - eta[i]) * inverse_, 0, 1, -inverse_};
  }

  void suprema(JointOrder order, const SurfaceRows& rows, std::span<const double> reach, double width,
               std::span<double> out) const noexcept override {
    const std::size_t n = rows.size();
    const double wider = std::exp(width), narrower = 1 / wider;
    const auto terms = monomials(order);
    std::array<double, most_monomials> factor{};
    for (std::size_t m = 0; m < terms.size(); ++m) factor[m] = std::pow(wider, terms[m].j);
    for (std::size_t i = 0; i < n; ++i) {
      // |z| between `low` and `high`.
      const double distance = std::abs(rows.a[i]);
      const double low = std::max(distance - reach[i], 0.0) * narrower, high = (distance + reach[i]) * wider;
      const auto at_low = terms_.at(low), at_high = terms_.at(high);
      for (std::size_t m = 0; m < terms.size(); ++m) {
        const auto [j, k] = terms[m];
        double sup = std::max(std::abs(terms_(j, k, at_low)), std::abs(terms_(j, k, at_high)));
        const Peaks& peaks = peaks_[index(j, k)];
        for (std::size_t q = 0; q < peaks.at.size(); ++q)
          if (low <= peaks.at[q] && peaks.at[q] <= high) sup = std::max(sup, peaks.height[q]);
        out[m * n + i] = factor[m] * sup;
      }
    }
  }

  void thirds(const SurfaceRows& rows, const SurfaceThirds& out) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto at = terms_.at(rows.a[i]);
      out.ttt[i] = terms_(3, 0, at);
      out.ttu[i] = terms_(2, 1, at);
      out.tuu[i] = terms_(1, 2, at);
      out.uuu[i] = terms_(0, 3, at);
    }
  }

  void changes(JointOrder order, const SurfaceRows& rows, const SurfaceMove& move,
               std::span<double> out) const noexcept override {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = remainder(order, rows.a[i], move.to[i], move.to_u) -
               remainder(order, rows.a[i], move.from[i], move.from_u);
  }

 private:
  static constexpr std::size_t index(int j, int k) noexcept { return static_cast<std::size_t>(5 * j + k); }

  [[nodiscard]] double remainder(JointOrder order, double a, double t, double u) const noexcept {
    const auto centre = terms_.at(a);
    const bool smooth = std::abs(t) < 0.6 * std::max(root_, std::abs(a)) && std::abs(u) < 0.6;
    double d = smooth ? by_quadrature(a, t, u) : by_difference(a, centre, t, u);
    if (order == JointOrder::three) return d;
    d += terms_(3, 0, centre) * t * t * t / 6;
    if (order == JointOrder::mixed) return d;
    return d + u * (0.5 * terms_(2, 1, centre) * t * t +
                    u * (0.5 * terms_(1, 2, centre) * t + u * terms_(0, 3, centre) / 6));
  }

  // After the terms of degree 3, by the integral of the fourth derivative along the line to (t, u).
  [[nodiscard]] double by_quadrature(double a, double t, double u) const noexcept {
    const LineRule& rule = line_rule();
    double sum = 0;
    for (std::size_t q = 0; q < LineRule::count; ++q) {
      const double s = rule.node[q], shrink = std::exp(-s * u), x = t * shrink;
      const auto at = terms_.at((a + s * t) * shrink);
      sum +=
          rule.weight[q] *
          (terms_(0, 4, at) * u * u * u * u +
           x * (4 * terms_(1, 3, at) * u * u * u +
                x * (6 * terms_(2, 2, at) * u * u + x * (4 * terms_(3, 1, at) * u + x * terms_(4, 0, at)))));
    }
    return sum;
  }

  [[nodiscard]] double by_difference(double a, const StudentTerms::Powers& at, double t,
                                     double u) const noexcept {
    const double z = (a + t) * std::exp(-u), nu = terms_.nu;
    // log((nu + z^2) / (nu + a^2))
    const double f = -0.5 * terms_.c * std::log1p((z - a) * (z + a) / (nu + a * a));
    const double first = terms_(1, 0, at) * t + terms_(0, 1, at) * u;
    const double second =
        0.5 * (terms_(2, 0, at) * t * t + 2 * terms_(1, 1, at) * t * u + terms_(0, 2, at) * u * u);
    const double third = (terms_(3, 0, at) * t * t * t + 3 * terms_(2, 1, at) * t * t * u +
                          3 * terms_(1, 2, at) * t * u * u + terms_(0, 3, at) * u * u * u) /
                         6;
    return f - first - second - third;
  }

  StudentTerms terms_;
  double inverse_, root_;
  std::array<Peaks, 25> peaks_;
};

LineRule make_line_rule() {
  // Legendre's polynomial of degree 8 by its recurrence; roots by Newton's method from Chebyshev's points.
  LineRule rule{};
  constexpr int n = LineRule::count;
  for (int i = 0; i < n; ++i) {
    double x = std::cos(std::numbers::pi * (i + 0.75) / (n + 0.5)), slope = 1;
    for (int iteration = 0; iteration < 50; ++iteration) {
      double before = 1, value = x;
      for (int k = 2; k <= n; ++k) {
        const double next = ((2 * k - 1) * x * value - (k - 1) * before) / k;
        before = value;
        value = next;
      }
      slope = n * (x * value - before) / (x * x - 1);
      x -= value / slope;
    }
    const double s = 0.5 * (x + 1), weight = 1 / ((1 - x * x) * slope * slope);
    rule.node[static_cast<std::size_t>(i)] = s;
    rule.weight[static_cast<std::size_t>(i)] = weight * (1 - s) * (1 - s) * (1 - s) / 6;
  }
  return rule;
}

}  // namespace

const LineRule& line_rule() noexcept {
  static const LineRule rule = make_line_rule();
  return rule;
}

std::shared_ptr<const RowSurface> student_surface(double freedom, double log_sigma) {
  return std::make_shared<StudentSurface>(freedom, log_sigma);
}

}  // namespace mlo
