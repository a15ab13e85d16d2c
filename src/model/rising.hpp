// Copyright (c) the mlo authors. BSD-3-Clause.
// G(x) = log(a (a + 1) ... (a + m - 1)), a = e^x, and its derivatives by x: the parts of a beta-binomial
// term. With p_j = a / (a + j) and v_j = p_j (1 - p_j) they are sums over j < m of p_j, v_j, v_j (1 - 2 p_j)
// and v_j (1 - 6 v_j), of which only the first has a term for j = 0, a 1.
#pragma once

#include <array>
#include <cmath>

namespace mlo {

// x - log(1 + x) for x >= 0, without cancellation for small x.
[[nodiscard]] inline double log1p_rest(double x) noexcept {
  if (x > 0.01) return x - std::log1p(x);
  // x^2/2 - x^3/3 + ...; the terms left out are below 1e-17 of the first.
  double tail = 0;
  for (int m = 10; m >= 2; --m) tail = 1.0 / m - x * tail;
  return x * x * tail;
}

// G, G' and G''. Of many factors, all but the first are summed by Stirling's series, which is right to 1e-14
// where a + j is 16 or more.
struct RisingSums {
  double value = 0, slope = 0, curvature = 0;
};
[[nodiscard]] inline RisingSums rising_sums(double x, double m) noexcept {
  if (!(m > 0)) return {};
  constexpr double few = 32, first = 16;
  const double a = std::exp(x), direct = m <= few ? m : first;
  RisingSums out{x, 1, 0};
  double product = 1;
  int factors = 0;
  for (double j = 1; j < direct; ++j) {
    const double p = a / (a + j);
    product *= a + j;
    out.slope += p;
    out.curvature += p * (1 - p);
    if (++factors % 8 == 0) {  // far from overflow
      out.value += std::log(product);
      product = 1;
    }
  }
  out.value += std::log(product);
  if (m <= few) return out;
  const double low = a + first, high = a + m, d = m - first, share = d / low;
  const auto series = [](double z) {
    const double w = 1 / (z * z);
    return std::array{(1.0 / 12 - w * (1.0 / 360 - w * (1.0 / 1260 - w / 1680))) / z,
                      -0.5 / z - w * (1.0 / 12 - w * (1.0 / 120 - w * (1.0 / 252 - w / 240))),
                      0.5 * w + w / z * (1.0 / 6 - w * (1.0 / 30 - w * (1.0 / 42 - w / 30)))};
  };
  const auto from = series(low), to = series(high);
  // (high - 1/2) log high - (low - 1/2) log low - d. Where d is small beside low, d cancels.
  const double stirling = share < 0.5 ? (d - 0.5) * share - (high - 0.5) * log1p_rest(share)
                                      : (high - 0.5) * std::log1p(share) - d;
  out.value += d * std::log(low) + stirling + to[0] - from[0];
  const double digamma = std::log1p(share) + to[1] - from[1];
  const double trigamma = d / (low * high) + from[2] - to[2];  // it falls
  out.slope += a * digamma;
  out.curvature += a * (digamma - a * trigamma);
  return out;
}

// G', ..., G^(4), by order; the first is not used.
using RisingDerivatives = std::array<double, 5>;
[[nodiscard]] inline RisingDerivatives rising_derivatives(double x, double m) noexcept {
  if (!(m > 0)) return {};
  const double a = std::exp(x);
  double first = 1, second = 0, third = 0, fourth = 0;
  for (double j = 1; j < m; ++j) {
    const double inverse = 1 / (a + j), p = a * inverse, v = p * (j * inverse);
    first += p;
    second += v;
    third += v * (1 - 2 * p);
    fourth += v * (1 - 6 * v);
  }
  return {0, first, second, third, fourth};
}

}  // namespace mlo
