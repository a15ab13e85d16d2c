// Copyright (c) the mlo authors. BSD-3-Clause.
// Negative binomial: with k = size e^u, x = a + t - u, a = eta - log size at the centre, L(x) = log(1 + e^x),
//   f = -(k + y) L(x) + A_y(u) + linear terms,   A_y(u) = sum_{m < y} L(log m - log size - u).
// Derivatives: -(k psi_jk(x) + (-1)^k y L^(j+k)(x)) + [j = 0] A^(k), psi_jk = D^j (1 - D)^k L. In psi the
// leading terms cancel where x is far below 0 (a mean far below the size): there its series is used.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "mlo/base/special.hpp"
#include "mlo/model/curve.hpp"
#include "model/surfaces.hpp"

namespace mlo {
namespace {

// L and its derivatives to the fourth.
std::array<double, 5> softplus_derivatives(double x) noexcept {
  const double e = std::exp(-std::abs(x));
  const double p = x > 0 ? 1 / (1 + e) : e / (1 + e), v = e / ((1 + e) * (1 + e)), odd = 1 - 2 * p;
  return {std::max(x, 0.0) + std::log1p(e), p, v, v * odd, v * (1 - 6 * v)};
}

double power(double x, int k) noexcept {
  double out = 1;
  for (int i = 0; i < k; ++i) out *= x;
  return out;
}

// D^j (1 - D)^k L at x, j + k <= 4.
double psi(int j, int k, double x) noexcept {
  if (x < -2) {
    // L = e^x - e^2x / 2 + ...
    double sum = 0;
    for (int m = 1; m <= 25; ++m) {
      const double term = std::exp(m * x) / m * power(m, j) * power(1 - m, k);
      sum += m % 2 == 1 ? term : -term;
      if (m > 2 && m * x < -45) break;
    }
    return sum;
  }
  const auto l = softplus_derivatives(x);
  double sum = 0, choose = 1;
  for (int i = 0; i <= k; ++i) {
    sum += (i % 2 == 0 ? choose : -choose) * l[static_cast<std::size_t>(j + i)];
    choose *= static_cast<double>(k - i) / (i + 1);
  }
  return sum;
}

// The suprema of |psi_jk| over intervals, from a table of cells: rows of maxima over 1, 2, 4, ... cells.
class PsiSuprema {
 public:
  PsiSuprema(int j, int k) : j_(j) {
    std::vector<double> cells(count);
    for (std::size_t c = 0; c < count; ++c) {
      // Where the function moves by d from one of the points to the next, it is nowhere between them larger
      // than the larger of the two by more than d: its derivatives are smooth on the scale of 1.
      const double left = low + static_cast<double>(c) * width;
      double sup = 0, before = psi(j, k, left), most = 0;
      for (int s = 1; s <= parts; ++s) {
        const double value = psi(j, k, left + width * s / parts);
        sup = std::max({sup, std::abs(before), std::abs(value)});
        most = std::max(most, std::abs(value - before));
        before = value;
      }
      cells[c] = sup + most;
    }
    levels_.push_back(cells);
    for (std::size_t step = 1; 2 * step <= count; step *= 2) {
      std::vector<double> next(count - 2 * step + 1);
      const std::vector<double>& last = levels_.back();
      for (std::size_t c = 0; c < next.size(); ++c) next[c] = std::max(last[c], last[c + step]);
      levels_.push_back(std::move(next));
    }
  }

  [[nodiscard]] double operator()(double from, double to) const noexcept {
    const std::size_t first = cell(from), last = cell(to), cells = last - first + 1;
    std::size_t level = 0;
    while ((std::size_t{2} << level) <= cells) ++level;
    const std::vector<double>& maxima = levels_[level];
    const double sup = std::max(maxima[first], maxima[last + 1 - (std::size_t{1} << level)]);
    // Beyond the table: on the left all fall towards 0, on the right only L itself grows, like x.
    return j_ == 0 && to > high ? std::max(sup, to) : sup;
  }

 private:
  static constexpr double low = -40, high = 40, width = 1.0 / 16;
  static constexpr std::size_t count = 1280;
  static constexpr int parts = 8;
  static std::size_t cell(double x) noexcept {
    return static_cast<std::size_t>(std::clamp((x - low) / width, 0.0, static_cast<double>(count - 1)));
  }
  int j_;
  std::vector<std::vector<double>> levels_;
};

// The Taylor coefficients of A_y about the centre, for y up to a largest: A^(n) / n!.
class CountSeries {
 public:
  static constexpr std::size_t degree = 12;
  using Coefficients = std::array<double, degree + 1>;

  CountSeries(double log_size, std::size_t largest) : sums_(largest + 1) {
    // L^(n) as a polynomial in p = e^x / (1 + e^x): D p^i = i p^i - i p^(i+1).
    std::array<std::array<double, degree + 2>, degree + 1> polynomial{};
    polynomial[1][1] = 1;
    for (std::size_t n = 1; n < degree; ++n)
      for (std::size_t i = 1; i <= n; ++i) {
        polynomial[n + 1][i] += static_cast<double>(i) * polynomial[n][i];
        polynomial[n + 1][i + 1] -= static_cast<double>(i) * polynomial[n][i];
      }
    // A_y sums over m = 1, ..., y - 1.
    for (std::size_t y = 2; y <= largest; ++y) {
      const double x = std::log(static_cast<double>(y - 1)) - log_size, e = std::exp(-std::abs(x));
      const double small = e / (1 + e);  // p at -|x|
      Coefficients& out = sums_[y] = sums_[y - 1];
      out[0] += std::max(x, 0.0) + std::log1p(e);
      out[1] -= x > 0 ? 1 - small : small;
      double factorial = 1;
      for (std::size_t n = 2; n <= degree; ++n) {
        factorial *= static_cast<double>(n);
        double value = 0;
        for (std::size_t i = n; i >= 1; --i) value = (value + polynomial[n][i]) * small;
        // L^(n)(x) = (-1)^n L^(n)(-x), and u enters with a minus sign: (-1)^n L^(n)(x) at x <= 0.
        out[n] += (x > 0 || n % 2 == 0 ? value : -value) / factorial;
      }
    }
  }
  [[nodiscard]] const Coefficients& operator[](double y) const noexcept {
    return sums_[static_cast<std::size_t>(y)];
  }

 private:
  std::vector<Coefficients> sums_;
};

class NegativeBinomialSurface final : public RowSurface {
 public:
  NegativeBinomialSurface(double log_size, double largest)
      : log_size_(log_size), size_(std::exp(log_size)), counts_(log_size, static_cast<std::size_t>(largest)) {
    for (int j = 0; j <= 4; ++j)
      for (int k = 0; k <= 4; ++k)
        sup_.emplace_back(j + k == 3 || j + k == 4 ? PsiSuprema(j, k) : PsiSuprema(4, 0));
  }

  void shapes(std::span<const double> eta, std::span<const double> y,
              std::span<SurfaceShape> out) const noexcept override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = {eta[i] - log_size_, y[i], 1, 1};
  }

  void suprema(JointOrder order, const SurfaceRows& rows, std::span<const double> reach, double width,
               std::span<double> out) const noexcept override {
    const std::size_t n = rows.size();
    const double wider = std::exp(width), k = size_ * wider;
    const auto terms = monomials(order);
    for (std::size_t m = 0; m < terms.size(); ++m) {
      const auto [dt, du] = terms[m];
      const PsiSuprema &own = sup_[index(dt, du)], &plain = sup_[index(dt + du, 0)];
      for (std::size_t i = 0; i < n; ++i) {
        const double low = rows.a[i] - reach[i] - width, high = rows.a[i] + reach[i] + width;
        double sup = k * own(low, high);
        if (rows.b[i] > 0) sup += rows.b[i] * plain(low, high);
        // |L^(n)| <= L'' for n >= 2, and L'' changes by a factor of e^|u| at most.
        if (dt == 0) sup += wider * 2 * counts_[rows.b[i]][2];
        out[m * n + i] = sup;
      }
    }
  }

  void thirds(const SurfaceRows& rows, const SurfaceThirds& out) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double x = rows.a[i], y = rows.b[i], third = y > 0 ? y * psi(3, 0, x) : 0;
      out.ttt[i] = -size_ * psi(3, 0, x) - third;
      out.ttu[i] = -size_ * psi(2, 1, x) + third;
      out.tuu[i] = -size_ * psi(1, 2, x) - third;
      out.uuu[i] = -size_ * psi(0, 3, x) + third + 6 * counts_[y][3];
    }
  }

  void changes(JointOrder order, const SurfaceRows& rows, const SurfaceMove& move,
               std::span<double> out) const noexcept override {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = remainder(order, rows.a[i], rows.b[i], move.to[i], move.to_u) -
               remainder(order, rows.a[i], rows.b[i], move.from[i], move.from_u);
  }

 private:
  static constexpr std::size_t index(int j, int k) noexcept { return static_cast<std::size_t>(5 * j + k); }

  [[nodiscard]] double remainder(JointOrder order, double a, double y, double t, double u) const noexcept {
    const int degree = order == JointOrder::two ? 2 : 3;
    const double step = t - u;
    // -L about a, after `degree`.
    const double plain = degree == 2 ? mlo::remainder<2>(SoftplusCurve(), a, step)
                                     : mlo::remainder<3>(SoftplusCurve(), a, step);
    double d = y * plain - size_ * with_size(degree, a, t, u, -plain) + counts(degree, y, u);
    if (order == JointOrder::mixed) d -= (size_ + y) * psi(3, 0, a) * t * t * t / 6;
    return d;
  }

  // e^u L(a + t - u) after `degree`; `rest` is what is left of L there.
  [[nodiscard]] static double with_size(int degree, double a, double t, double u, double rest) noexcept {
    const double reach = std::abs(t) + std::abs(u);
    if (a + reach < -1.5) {
      double sum = 0;
      for (int m = 1; m <= 40; ++m) {
        const double term = std::exp(m * a) / m * exp_remainder(degree, m * t + (1 - m) * u);
        sum += m % 2 == 1 ? term : -term;
        if (m > 2 && m * (a + reach) < -45) break;
      }
      return sum;
    }
    // e^u = 1 + u + u^2 / 2 + ..., times what is left of L after lower degrees.
    const auto l = softplus_derivatives(a);
    const double step = t - u;
    double sum = rest, left = rest, times = 1;
    for (int i = 1; i <= degree; ++i) {
      times *= u / i;
      const int b = degree - i + 1;  // the degree that joins what is left
      double term = l[static_cast<std::size_t>(b)];
      for (int q = 1; q <= b; ++q) term *= step / q;
      left += term;
      sum += times * left;
    }
    return sum + exp_remainder(degree, u) * softplus_derivatives(a + step)[0];
  }

  [[nodiscard]] double counts(int degree, double y, double u) const noexcept {
    if (y < 2) return 0;
    const auto& c = counts_[y];
    const auto lowest = static_cast<std::size_t>(degree + 1);
    if (std::abs(u) < 0.5) {
      double sum = 0;
      for (std::size_t n = CountSeries::degree; n >= lowest; --n) sum = sum * u + c[n];
      return sum * power(u, degree + 1);
    }
    const double k = std::exp(log_size_ + u);
    double left = log_gamma(y + k) - log_gamma(k) - y * (log_size_ + u), times = 1;
    for (std::size_t n = 0; n < lowest; ++n) {
      left -= c[n] * times;
      times *= u;
    }
    return left;
  }

  double log_size_, size_;
  CountSeries counts_;
  std::vector<PsiSuprema> sup_;
};

}  // namespace

std::shared_ptr<const RowSurface> negative_binomial_surface(double log_size, double largest) {
  constexpr double most = 100'000;  // beyond, the table of sums over counts would be too large
  if (!(largest <= most)) return nullptr;
  return std::make_shared<NegativeBinomialSurface>(log_size, std::max(largest, 2.0));
}

}  // namespace mlo
