// Copyright (c) the mlo authors. BSD-3-Clause.
// Beta-binomial: f = G(s + u + l(eta), y) + G(s + u + l(-eta), n - y) - G(s + u, n), s = log phi,
// eta = a + t, l(eta) = log p = -log(1 + e^-eta) and G(x, m) = sum_{j < m} log(e^x + j). Derivatives by t and
// u are by the chain rule
//   d^j/dt^j d^k/du^k G(s + u + l) = sum_m B_jm(l', l'', ...) G^(m + k)
// with Bell's polynomials. With v = p (1 - p): l' = 1 - p, and from the second on both l(eta) and l(-eta)
// have the derivatives -v, -v (1 - 2 p), -v (1 - 6 v), ..., all at most v.
//
// Bounds: with L(x) = log(1 + e^x), G^(n)(x) = sum_{0 < j < m} L^(n)(x - log j) for n >= 2. For these n up to
// 5 |L^(n)| <= L'', and the log of L'' changes no faster than x: so |G^(n)(x + d)| <= e^|d| G''(x). As to l,
// p, 1 - p and v change by a factor of e^|t| at most.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "mlo/data/outcome.hpp"
#include "model/rising.hpp"
#include "model/surfaces.hpp"

namespace mlo {
namespace {

// The coefficients B_jm of G^(m + k) in the derivatives by t, from l', ..., l^(5).
using Bell = std::array<std::array<double, 6>, 6>;
Bell bell(double l1, double l2, double l3, double l4, double l5) noexcept {
  const double s1 = l1 * l1, c1 = s1 * l1;
  return {{{1, 0, 0, 0, 0, 0},
           {0, l1, 0, 0, 0, 0},
           {0, l2, s1, 0, 0, 0},
           {0, l3, 3 * l1 * l2, c1, 0, 0},
           {0, l4, 4 * l1 * l3 + 3 * l2 * l2, 6 * s1 * l2, s1 * s1, 0},
           {0, l5, 5 * l1 * l4 + 10 * l2 * l3, 10 * s1 * l3 + 15 * l1 * l2 * l2, 10 * c1 * l2, c1 * s1}}};
}

// The derivatives of order n, by j, from those of G: a sequence that has at(order).
template <std::size_t n, class At>
DerivativesOf<n> chained(const Bell& b, const At& at) noexcept {
  DerivativesOf<n> out{};
  for (std::size_t j = 0; j <= n; ++j)
    for (std::size_t m = j == 0 ? 0 : 1; m <= j; ++m) out[j] += b[j][m] * at(m + n - j);
  return out;
}

template <std::size_t size>
std::array<double, size> plus(std::array<double, size> a, const std::array<double, size>& b) noexcept {
  for (std::size_t j = 0; j < size; ++j) a[j] += b[j];
  return a;
}

// Of a row at a place, for its derivatives: p, 1 - p, v, log p and log(1 - p).
struct Odds {
  double p, q, v, log_p, log_q;
  explicit Odds(double eta) noexcept {
    const double e = std::exp(-std::abs(eta)), both = 1 / (1 + e), soft = std::log1p(e);
    p = eta > 0 ? both : e * both;
    q = eta > 0 ? e * both : both;
    v = e * both * both;
    log_p = std::min(eta, 0.0) - soft;
    log_q = -std::max(eta, 0.0) - soft;
  }
};

class RowAt {
 public:
  RowAt(const Odds& at, double s, const Outcome& y) noexcept
      : successes_(rising_derivatives(s + at.log_p, y.successes)),
        failures_(rising_derivatives(s + at.log_q, y.trials - y.successes)),
        all_(rising_derivatives(s, y.trials)) {
    const double l2 = -at.v, l3 = l2 * (at.q - at.p), l4 = l2 * (1 - 6 * at.v);
    up_ = bell(at.q, l2, l3, l4, 0);
    down_ = bell(-at.p, l2, l3, l4, 0);
  }
  template <std::size_t n>
  [[nodiscard]] DerivativesOf<n> of() const noexcept {
    DerivativesOf<n> out = plus(chained<n>(up_, [&](std::size_t k) { return successes_[k]; }),
                                chained<n>(down_, [&](std::size_t k) { return failures_[k]; }));
    out[0] -= all_[n];
    return out;
  }
  [[nodiscard]] const RisingDerivatives& successes() const noexcept { return successes_; }
  [[nodiscard]] const RisingDerivatives& failures() const noexcept { return failures_; }
  [[nodiscard]] const RisingDerivatives& all() const noexcept { return all_; }

 private:
  RisingDerivatives successes_, failures_, all_;
  Bell up_, down_;
};

// Bounds on |G'| and on |G^(n)|, n >= 2, around a place: each term of G' is at most 1, of the others 1/4.
struct RisingBounds {
  double first, higher;
  RisingBounds(const RisingDerivatives& at, double count, double distance) noexcept {
    const double most = std::max(count, 0.0);
    first = std::min(most, at[1] * std::exp(distance));
    higher = std::min(0.25 * most, at[2] * std::exp(distance));
  }
  double operator()(std::size_t order) const noexcept { return order == 1 ? first : higher; }
};

class BetaBinomialSurface final : public RowSurface {
 public:
  static constexpr double base = 4096;  // successes and trials in the 24 bits of a float

  explicit BetaBinomialSurface(double log_phi) : s_(log_phi) {}

  void shapes(std::span<const double> eta, std::span<const double> y,
              std::span<SurfaceShape> out) const noexcept override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Outcome at = Outcome::of(y[i]);
      out[i] = {eta[i], at.successes * base + at.trials, 1, 1};
    }
  }

  void suprema(JointOrder order, const SurfaceRows& rows, std::span<const double> reach, double width,
               std::span<double> out) const noexcept override {
    const std::size_t n = rows.size();
    const auto terms = monomials(order);
    for (std::size_t i = 0; i < n; ++i) {
      const SurfaceBounds bounds = bounds_of(rows.a[i], outcome(rows.b[i]), reach[i], width);
      for (std::size_t m = 0; m < terms.size(); ++m) out[m * n + i] = bounds(terms[m], reach[i], width);
    }
  }

  void thirds(const SurfaceRows& rows, const SurfaceThirds& out) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const DerivativesOf<3> f = RowAt(Odds(rows.a[i]), s_, outcome(rows.b[i])).of<3>();
      out.ttt[i] = f[3];
      out.ttu[i] = f[2];
      out.tuu[i] = f[1];
      out.uuu[i] = f[0];
    }
  }

  void changes(JointOrder order, const SurfaceRows& rows, const SurfaceMove& move,
               std::span<double> out) const noexcept override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Outcome y = outcome(rows.b[i]);
      out[i] = remainder(order, rows.a[i], y, move.to[i], move.to_u) -
               remainder(order, rows.a[i], y, move.from[i], move.from_u);
    }
  }

 private:
  [[nodiscard]] static Outcome outcome(double packed) noexcept {
    const double successes = std::floor(packed / base);
    return {successes, packed - successes * base};
  }

  [[nodiscard]] SurfaceBounds bounds_of(double eta, const Outcome& y, double reach,
                                        double width) const noexcept {
    const Odds at(eta);
    const RowAt centre(at, s_, y);
    const double wider = std::exp(std::min(reach, 700.0));
    const double up = std::min(1.0, at.q * wider), down = std::min(1.0, at.p * wider);
    const double v = std::min(0.25, at.v * wider);
    const RisingBounds successes(centre.successes(), y.successes, width + reach * up);
    const RisingBounds failures(centre.failures(), y.trials - y.successes, width + reach * down);
    const Bell b_up = bell(up, v, v, v, v), b_down = bell(down, v, v, v, v);
    // By u alone: the two sums and that of all trials, apart; or, where all trials end alike, the change of
    // G^(n) over log(1 - p), or log p.
    const RisingBounds all(centre.all(), y.trials, width);
    double along_u = successes.higher + failures.higher + all.higher;
    if (y.successes == 0 || y.successes == y.trials) {
      const double x = y.successes == 0 ? eta + reach : reach - eta;
      const double length = std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
      const RisingBounds between(centre.all(), y.trials, width + length);
      along_u = std::min(along_u, length * between.higher);
    }
    const auto crude = [&]<std::size_t size>(std::array<double, size>& to) {
      to = plus(chained<size - 1>(b_up, successes), chained<size - 1>(b_down, failures));
      to[0] = along_u;
    };
    SurfaceBounds out{.centre3 = centre.of<3>(), .centre4 = centre.of<4>()};
    crude(out.crude3);
    crude(out.crude4);
    crude(out.crude5);
    return out;
  }

  // f, up to a constant.
  [[nodiscard]] static double term(double eta, double s, const Outcome& y) noexcept {
    const Odds at(eta);
    return rising_sums(s + at.log_p, y.successes).value +
           rising_sums(s + at.log_q, y.trials - y.successes).value - rising_sums(s, y.trials).value;
  }

  [[nodiscard]] double remainder(JointOrder order, double eta, const Outcome& y, double t,
                                 double u) const noexcept {
    // The poles are pi away from the axis.
    const double distance = std::abs(u) + std::abs(t);
    if (distance < 2 && order == JointOrder::three)
      return distance < 0.2 ? by_rule(few_, eta, y, t, u) : by_rule(many_, eta, y, t, u);
    const RowAt at(Odds(eta), s_, y);
    const DerivativesOf<3> third = at.of<3>();
    // What the polynomial has of degree 3 less than all of it.
    double missing = 0;
    if (order == JointOrder::two) missing = along<3>(third, t, u) / 6;
    if (order == JointOrder::mixed) missing = third[3] * t * t * t / 6;
    if (distance < 0.2) return missing + by_rule(few_, eta, y, t, u);
    if (distance < 2) return missing + by_rule(many_, eta, y, t, u);
    const double change = term(eta + t, s_ + u, y) - term(eta, s_, y);
    return missing + change - along<1>(at.of<1>(), t, u) - 0.5 * along<2>(at.of<2>(), t, u) -
           along<3>(third, t, u) / 6;
  }

  template <std::size_t count>
  [[nodiscard]] double by_rule(const LineRule<count>& rule, double eta, const Outcome& y, double t,
                               double u) const noexcept {
    double sum = 0;
    for (std::size_t q = 0; q < count; ++q) {
      const RowAt at(Odds(eta + rule.node[q] * t), s_ + rule.node[q] * u, y);
      sum += rule.weight[q] * along<4>(at.of<4>(), t, u);
    }
    return sum;
  }

  double s_;
  const LineRule<3>& few_ = line_rule<3>();
  const LineRule<8>& many_ = line_rule<8>();
};

}  // namespace

std::shared_ptr<const RowSurface> beta_binomial_surface(double log_phi, double largest) {
  if (!(Outcome::of(largest).trials < BetaBinomialSurface::base)) return nullptr;
  return std::make_shared<BetaBinomialSurface>(log_phi);
}

}  // namespace mlo
