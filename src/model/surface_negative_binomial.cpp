// Copyright (c) the mlo authors. BSD-3-Clause.
// Negative binomial: with k = size e^u, x = a + t - u, a = eta - log size at the centre, L(x) = log(1 + e^x),
//   f = -(k + y) L(x) + A_y(u) + linear terms,   A_y(u) = sum_{m < y} L(log m - log size - u).
// Derivatives: -(k psi_jk(x) + (-1)^k y L^(j+k)(x)) + [j = 0] A^(k), psi_jk = D^j (1 - D)^k L. In psi the
// leading terms cancel where x is far below 0 (a mean far below the size): there its series is used.
#include <algorithm>
#include <array>
#include <bit>
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

// D^j (1 - D)^(degree - j) L at x, by j; degree <= 4. Known when compiled, so that its loops are unrolled.
using Psis = std::array<double, 5>;
template <int degree>
Psis psis(double x) noexcept {
  Psis out{};
  if (x < -2) {
    // L = e^x - e^2x / 2 + ...
    const double unit = std::exp(x);
    double sign_and_power = unit;
    for (int m = 1; m <= 25; ++m, sign_and_power *= -unit) {
      for (int j = 0; j <= degree; ++j)
        out[static_cast<std::size_t>(j)] += sign_and_power / m * power(m, j) * power(1 - m, degree - j);
      if (m > 2 && m * x < -45) break;
    }
    return out;
  }
  const auto l = softplus_derivatives(x);
  for (int j = 0; j <= degree; ++j) {
    const int k = degree - j;
    double choose = 1;
    for (int i = 0; i <= k; ++i) {
      out[static_cast<std::size_t>(j)] +=
          (i % 2 == 0 ? choose : -choose) * l[static_cast<std::size_t>(j) + static_cast<std::size_t>(i)];
      choose *= static_cast<double>(k - i) / (i + 1);
    }
  }
  return out;
}

// The suprema of |psi_jk|, j + k = degree, over intervals, from a table of cells: rows of maxima over 1, 2,
// 4,
// ... cells. Those of all j are side by side: they are read together.
class PsiSuprema {
 public:
  template <int degree>
  static PsiSuprema of() {
    std::vector<Psis> values(count * parts + 1);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = psis<degree>(low + static_cast<double>(i) * width / parts);
    return PsiSuprema(values);
  }

  // Where an interval is in the tables, the same for all degrees: two runs of 2^level cells that cover it.
  struct Place {
    std::size_t level, first, second;
    double to;
  };
  [[nodiscard]] static Place place(double from, double to) noexcept {
    const std::size_t first = cell(from), last = cell(to);
    const auto level = static_cast<std::size_t>(std::bit_width(last - first + 1) - 1);
    // cell() does not fall, so there is one at least.
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
    return {level, first, last + 1 - (std::size_t{1} << level), to};
  }
  // By j.
  [[nodiscard]] Psis operator()(const Place& at) const noexcept {
    const std::vector<Psis>& maxima = levels_[at.level];
    Psis out = larger(maxima[at.first], maxima[at.second]);
    // Beyond the table: on the left all fall towards 0, on the right only L itself grows, like x.
    if (at.to > high) out[0] = std::max(out[0], at.to);
    return out;
  }

 private:
  static constexpr double low = -40, high = 40, width = 1.0 / 16;
  static constexpr std::size_t count = 1280, parts = 8;

  // From the values at the ends of all parts of cells.
  explicit PsiSuprema(const std::vector<Psis>& values) {
    std::vector<Psis> cells(count);
    for (std::size_t c = 0; c < count; ++c)
      for (std::size_t j = 0; j < cells[c].size(); ++j) {
        // Where the function moves by d from one of the points to the next, it is nowhere between them larger
        // than the larger of the two by more than d: its derivatives are smooth on the scale of 1.
        double sup = 0, most = 0;
        for (std::size_t i = c * parts; i < (c + 1) * parts; ++i) {
          sup = std::max({sup, std::abs(values[i][j]), std::abs(values[i + 1][j])});
          most = std::max(most, std::abs(values[i + 1][j] - values[i][j]));
        }
        cells[c][j] = sup + most;
      }
    levels_.push_back(std::move(cells));
    for (std::size_t step = 1; 2 * step <= count; step *= 2) {
      std::vector<Psis> next(count - 2 * step + 1);
      const std::vector<Psis>& last = levels_.back();
      for (std::size_t c = 0; c < next.size(); ++c) next[c] = larger(last[c], last[c + step]);
      levels_.push_back(std::move(next));
    }
  }
  static Psis larger(const Psis& a, const Psis& b) noexcept {
    Psis out;
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = std::max(a[j], b[j]);
    return out;
  }
  static std::size_t cell(double x) noexcept {
    return static_cast<std::size_t>(std::clamp((x - low) / width, 0.0, static_cast<double>(count - 1)));
  }
  std::vector<std::vector<Psis>> levels_;
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
      : log_size_(log_size),
        size_(std::exp(log_size)),
        counts_(log_size, static_cast<std::size_t>(largest)),
        thirds_(PsiSuprema::of<3>()),
        fourths_(PsiSuprema::of<4>()) {}

  void shapes(std::span<const double> eta, std::span<const double> y,
              std::span<SurfaceShape> out) const noexcept override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = {eta[i] - log_size_, y[i], 1, 1};
  }

  void suprema(JointOrder order, const SurfaceRows& rows, std::span<const double> reach, double width,
               std::span<double> out) const noexcept override {
    const std::size_t n = rows.size();
    const double wider = std::exp(width), k = size_ * wider;
    const auto terms = monomials(order);
    // Which degrees the order's monomials have: 3, 4, or, for mixed, both.
    const bool third = order != JointOrder::three, fourth = order != JointOrder::two;
    for (std::size_t i = 0; i < n; ++i) {
      const double around = reach[i] + width, y = rows.b[i];
      const PsiSuprema::Place at = PsiSuprema::place(rows.a[i] - around, rows.a[i] + around);
      std::array<Psis, 2> sups{};
      if (third) sups[0] = thirds_(at);
      if (fourth) sups[1] = fourths_(at);
      // |L^(n)| <= L'' for n >= 2, and L'' changes by a factor of e^|u| at most.
      const double counts = wider * 2 * counts_[y][2];
      for (std::size_t m = 0; m < terms.size(); ++m) {
        const auto [dt, du] = terms[m];
        const Psis& psi = sups[dt + du == 3 ? 0 : 1];
        double sup = k * psi[static_cast<std::size_t>(dt)];
        if (y > 0) sup += y * psi[static_cast<std::size_t>(dt) + static_cast<std::size_t>(du)];
        if (dt == 0) sup += counts;
        out[m * n + i] = sup;
      }
    }
  }

  void thirds(const SurfaceRows& rows, const SurfaceThirds& out) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double y = rows.b[i];
      const Psis psi = psis<3>(rows.a[i]);
      const double third = y > 0 ? y * psi[3] : 0;
      out.ttt[i] = -size_ * psi[3] - third;
      out.ttu[i] = -size_ * psi[2] + third;
      out.tuu[i] = -size_ * psi[1] - third;
      out.uuu[i] = -size_ * psi[0] + third + 6 * counts_[y][3];
    }
  }

  void changes(JointOrder order, const SurfaceRows& rows, const SurfaceMove& move,
               std::span<double> out) const noexcept override {
    if (order == JointOrder::two)
      changes_after<2>(false, rows, move, out);
    else
      changes_after<3>(order == JointOrder::mixed, rows, move, out);
  }

 private:
  struct End {
    double t, u, exp_rest;  // what is left of e^u after `degree`
  };
  template <int degree>
  void changes_after(bool mixed, const SurfaceRows& rows, const SurfaceMove& move,
                     std::span<double> out) const noexcept {
    const double from_rest = exp_remainder(degree, move.from_u), to_rest = exp_remainder(degree, move.to_u);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const End from{move.from[i], move.from_u, from_rest}, to{move.to[i], move.to_u, to_rest};
      const double a = rows.a[i], y = rows.b[i];
      const auto l = softplus_derivatives(a);
      // -L about a, after `degree`.
      const RemainderAt<degree, SoftplusCurve> plain(
          softplus_, a, std::max(std::abs(from.t - from.u), std::abs(to.t - to.u)));
      double change = remainder<degree>(a, y, l, to, plain(to.t - to.u)) -
                      remainder<degree>(a, y, l, from, plain(from.t - from.u));
      if (mixed) {
        const double t = to.t, s = from.t;
        change -= (size_ + y) * l[3] * (t - s) * (t * t + t * s + s * s) / 6;
      }
      out[i] = change;
    }
  }

  using SoftplusDerivatives = std::array<double, 5>;
  template <int degree>
  [[nodiscard]] double remainder(double a, double y, const SoftplusDerivatives& l, const End& end,
                                 double plain) const noexcept {
    return y * plain - size_ * with_size<degree>(a, l, end, -plain) + counts(degree, y, end.u);
  }

  // e^u L(a + t - u) after `degree`; `rest` is what is left of L there.
  template <int degree>
  [[nodiscard]] static double with_size(double a, const SoftplusDerivatives& l, const End& end,
                                        double rest) noexcept {
    const double t = end.t, u = end.u, most = a + std::abs(t) + std::abs(u);
    if (most < -1.5) {
      // The first two terms may be all there is for a power of u; the others are small beside the second.
      const double unit = std::exp(a);
      double sum = 0, power = unit;
      for (int m = 1; m <= 40; ++m, power *= -unit) {
        sum += power / m * exp_remainder(degree, m * t + (1 - m) * u);
        if (m > 2 && (m - 1) * most < -30) break;
      }
      return sum;
    }
    // e^u = 1 + u + u^2 / 2 + ..., times what is left of L after lower degrees.
    const double step = t - u;
    double sum = rest, left = rest, times = 1;
    for (int i = 1; i <= degree; ++i) {
      times *= u / i;
      const int b = degree - i + 1;  // the degree that joins what is left
      left +=
          l[static_cast<std::size_t>(b)] * power(step, b) * inverse_factorials[static_cast<std::size_t>(b)];
      sum += times * left;
    }
    return sum + end.exp_rest * (l[0] + left);  // L itself is all that joined, and its value at a
  }

  [[nodiscard]] double counts(int degree, double y, double u) const noexcept {
    if (y < 2) return 0;
    const auto& c = counts_[y];
    const auto lowest = static_cast<std::size_t>(degree) + 1;
    const double size = std::abs(u);
    if (size < 0.5) {
      // |c_(n+1)| is about |c_n| / 3 at most: the poles of L' are pi away from the axis.
      const std::size_t highest = size < 0.02 ? lowest + 4 : CountSeries::degree;
      double sum = 0;
      for (std::size_t n = highest; n >= lowest; --n) sum = sum * u + c[n];
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

  SoftplusCurve softplus_;
  double log_size_, size_;
  CountSeries counts_;
  PsiSuprema thirds_, fourths_;
};

}  // namespace

std::shared_ptr<const RowSurface> negative_binomial_surface(double log_size, double largest) {
  constexpr double most = 100'000;  // beyond, the table of sums over counts would be too large
  if (!(largest <= most)) return nullptr;
  return std::make_shared<NegativeBinomialSurface>(log_size, std::max(largest, 2.0));
}

}  // namespace mlo
