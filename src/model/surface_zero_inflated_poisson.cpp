// Copyright (c) the mlo authors. BSD-3-Clause.
// Zero-inflated Poisson: with s = logit zi, mu = e^(a + t), L(x) = log(1 + e^x) and h(x) = L(-x),
//   y = 0: f = h(s + u + mu) - h(s + u);   y > 0: f = -mu - h(s + u) + linear terms.
// All rows share -h(s + u). With S(j, m) the Stirling numbers of the second kind, d^j/dt^j of a function of
// mu is sum_m S(j, m) mu^m times its m-th derivative, so for y = 0
//   d^j/dt^j d^k/du^k f = sum_m S(j, m) mu^m h^(m + k)(x),   x = s + u + mu.
// h' = -1 / (1 + e^x), and h^(n) = L^(n) for n >= 2, which is at most v(x) = L''(x): L''' = v (1 - 2 p),
// L'''' = v (1 - 6 v), and the fifth is v (3 r^3 - 2 r), r = 1 - 2 p, in which |3 r^3 - 2 r| <= 1.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "mlo/model/curve.hpp"
#include "model/surfaces.hpp"

namespace mlo {
namespace {

constexpr std::array<std::array<double, 6>, 6> stirling{{{1, 0, 0, 0, 0, 0},
                                                         {0, 1, 0, 0, 0, 0},
                                                         {0, 1, 1, 0, 0, 0},
                                                         {0, 1, 3, 1, 0, 0},
                                                         {0, 1, 7, 6, 1, 0},
                                                         {0, 1, 15, 25, 10, 1}}};

// h', h'', h''' and h'''' at x, by order; the first is not used.
using TailDerivatives = std::array<double, 6>;
TailDerivatives tail_derivatives(double x) noexcept {
  const double e = std::exp(-std::abs(x)), both = 1 / (1 + e);
  const double q = x > 0 ? e * both : both, v = e * both * both,
               odd = x > 0 ? e * both - both : both - e * both;
  return {0, -q, v, v * odd, v * (1 - 6 * v), 0};
}

// Bounds on the absolute values of h', ..., h^(5) between low and high.
TailDerivatives tail_suprema(double low, double high) noexcept {
  const double nearest = low > 0 ? low : high < 0 ? -high : 0;
  const double e = std::exp(-nearest), v = e / ((1 + e) * (1 + e));
  return {0, -tail_derivatives(low)[1], v, v, v, v};
}

// The derivatives of order n, by j, from those of h and mu.
template <std::size_t n>
DerivativesOf<n> mixed(double mu, const TailDerivatives& h) noexcept {
  DerivativesOf<n> out{};
  for (std::size_t j = 0; j <= n; ++j) {
    double sum = 0;  // by Horner's rule
    for (std::size_t m = j + 1; m-- > 0;) sum = sum * mu + stirling[j][m] * h[m + n - j];
    out[j] = sum;
  }
  return out;
}

class ZeroInflatedPoissonSurface final : public RowSurface {
 public:
  explicit ZeroInflatedPoissonSurface(double logit_zi) : s_(logit_zi) {}

  // b: whether y is above 0.
  void shapes(std::span<const double> eta, std::span<const double> y,
              std::span<SurfaceShape> out) const noexcept override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = {eta[i], y[i] > 0 ? 1.0 : 0.0, 1, 1};
  }

  void suprema(JointOrder order, const SurfaceRows& rows, std::span<const double> reach, double width,
               std::span<double> out) const noexcept override {
    const std::size_t n = rows.size();
    const auto terms = monomials(order);
    for (std::size_t i = 0; i < n; ++i) {
      const double mu = std::exp(rows.a[i]), high = std::exp(rows.a[i] + reach[i]);
      if (rows.b[i] > 0) {
        for (std::size_t m = 0; m < terms.size(); ++m) out[m * n + i] = terms[m].k == 0 ? high : 0;
        continue;
      }
      const TailDerivatives at = tail_derivatives(s_ + mu);
      const double low = std::exp(rows.a[i] - reach[i]);
      const TailDerivatives sup = tail_suprema(s_ + low - width, s_ + high + width);
      // Beyond this, powers of mu times e^-(s + mu) only fall, and are 0 in double precision.
      const double most = std::max(low, std::min(high, 1000 + width - std::min(s_, 0.0)));
      const SurfaceBounds bounds{.centre3 = mixed<3>(mu, at),
                                 .centre4 = mixed<4>(mu, at),
                                 .crude3 = mixed<3>(most, sup),
                                 .crude4 = mixed<4>(most, sup),
                                 .crude5 = mixed<5>(most, sup)};
      for (std::size_t m = 0; m < terms.size(); ++m) out[m * n + i] = bounds(terms[m], reach[i], width);
    }
  }

  void thirds(const SurfaceRows& rows, const SurfaceThirds& out) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double mu = std::exp(rows.a[i]);
      const DerivativesOf<3> f =
          rows.b[i] > 0 ? DerivativesOf<3>{0, 0, 0, -mu} : mixed<3>(mu, tail_derivatives(s_ + mu));
      out.ttt[i] = f[3];
      out.ttu[i] = f[2];
      out.tuu[i] = f[1];
      out.uuu[i] = f[0];
    }
  }

  void changes(JointOrder order, const SurfaceRows& rows, const SurfaceMove& move,
               std::span<double> out) const noexcept override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double mu = std::exp(rows.a[i]);
      if (rows.b[i] > 0) {
        // Of order mixed, t^3 stays with the row.
        const int degree = order == JointOrder::three ? 3 : 2;
        out[i] = -mu * (exp_remainder(degree, move.to[i]) - exp_remainder(degree, move.from[i]));
      } else {
        out[i] =
            remainder(order, mu, move.to[i], move.to_u) - remainder(order, mu, move.from[i], move.from_u);
      }
    }
  }

  [[nodiscard]] double common(double u) const noexcept override {
    return RemainderAt<2, SoftplusCurve>(softplus_, s_, std::abs(u))(u);  // -h(s + u) = -L(s + u) + s + u
  }

 private:
  // Of a row with y = 0.
  [[nodiscard]] double remainder(JointOrder order, double mu, double t, double u) const noexcept {
    const double x = s_ + mu, size = std::abs(t), far = mu * std::exp(size);
    const TailDerivatives at = tail_derivatives(x);
    // What the polynomial has of degree 3 less than all of it.
    double missing = 0;
    const DerivativesOf<3> third = mixed<3>(mu, at);
    if (order == JointOrder::two) missing = along<3>(third, t, u) / 6;
    if (order == JointOrder::mixed) missing = third[3] * t * t * t / 6;
    // How far the argument of h goes, whose poles are pi away from the axis.
    const double distance = std::abs(u) + size * (1 + far);
    if (distance < 0.2) return missing + by_rule(few_, mu, t, u);
    if (distance < 2) return missing + by_rule(many_, mu, t, u);
    const double there = s_ + u + mu * std::exp(t);
    const double change = tail(there) - tail(x);
    const double first = -(mu * t + u) * -at[1];
    const double second = 0.5 * along<2>(mixed<2>(mu, at), t, u);
    return missing + change - first - second - along<3>(third, t, u) / 6;
  }

  // h.
  [[nodiscard]] static double tail(double x) noexcept {
    return std::max(-x, 0.0) + std::log1p(std::exp(-std::abs(x)));
  }

  template <std::size_t count>
  [[nodiscard]] double by_rule(const LineRule<count>& rule, double mu, double t, double u) const noexcept {
    double sum = 0;
    for (std::size_t q = 0; q < count; ++q) {
      const double here = mu * std::exp(rule.node[q] * t);
      sum += rule.weight[q] * along<4>(mixed<4>(here, tail_derivatives(s_ + rule.node[q] * u + here)), t, u);
    }
    return sum;
  }

  double s_;
  SoftplusCurve softplus_;
  const LineRule<3>& few_ = line_rule<3>();
  const LineRule<8>& many_ = line_rule<8>();
};

}  // namespace

std::shared_ptr<const RowSurface> zero_inflated_poisson_surface(double logit_zi) {
  return std::make_shared<ZeroInflatedPoissonSurface>(logit_zi);
}

}  // namespace mlo
