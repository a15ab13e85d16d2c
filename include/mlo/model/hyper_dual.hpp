// Copyright (c) the mlo authors. BSD-3-Clause.
// Numbers that carry derivatives, for models written by users. docs/adr/0010 says why this kind.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <cstddef>
#include <limits>
#include <numbers>

#include "mlo/base/special.hpp"

// Within a templated term, `using namespace mlo::ad;` makes exp, log, ... work for double and HyperDual
// alike.
namespace mlo::ad {

// A hyper-dual number (Fike & Alonso 2011): the value of a function, its derivative along one direction b,
// along N directions a_k, and the N mixed second derivatives along b and a_k, all exact up to rounding.
// Directions are whatever the arguments were seeded with; a constant has derivatives 0.
template <std::size_t N>
struct HyperDual {
  using Lanes = std::array<double, N>;
  double value = 0;
  double along = 0;
  Lanes first{}, second{};

  HyperDual() = default;
  HyperDual(double constant) : value(constant) {}  // NOLINT: plain numbers convert to scalars

  friend HyperDual operator-(HyperDual x) { return x *= -1; }
  friend HyperDual operator+(HyperDual x, const HyperDual& y) { return x += y; }
  friend HyperDual operator+(HyperDual x, double c) { return x += c; }
  friend HyperDual operator+(double c, HyperDual x) { return x += c; }
  friend HyperDual operator-(HyperDual x, const HyperDual& y) { return x -= y; }
  friend HyperDual operator-(HyperDual x, double c) { return x += -c; }
  friend HyperDual operator-(double c, HyperDual x) { return (x *= -1) += c; }
  friend HyperDual operator*(HyperDual x, const HyperDual& y) { return x *= y; }
  friend HyperDual operator*(HyperDual x, double c) { return x *= c; }
  friend HyperDual operator*(double c, HyperDual x) { return x *= c; }
  friend HyperDual operator/(HyperDual x, double c) { return x *= 1 / c; }
  friend HyperDual operator/(double c, const HyperDual& y) {
    const double r = 1 / y.value;
    return y.map(c * r, -c * r * r, 2 * c * r * r * r);
  }
  friend HyperDual operator/(const HyperDual& x, const HyperDual& y) { return x * (1.0 / y); }

  HyperDual& operator+=(double c) {
    value += c;
    return *this;
  }
  HyperDual& operator-=(double c) { return *this += -c; }
  HyperDual& operator*=(double c) {
    value *= c;
    along *= c;
    for (std::size_t k = 0; k < N; ++k) first[k] *= c;
    for (std::size_t k = 0; k < N; ++k) second[k] *= c;
    return *this;
  }
  HyperDual& operator/=(double c) { return *this *= 1 / c; }
  HyperDual& operator+=(const HyperDual& y) {
    value += y.value;
    along += y.along;
    for (std::size_t k = 0; k < N; ++k) first[k] += y.first[k];
    for (std::size_t k = 0; k < N; ++k) second[k] += y.second[k];
    return *this;
  }
  HyperDual& operator-=(const HyperDual& y) {
    value -= y.value;
    along -= y.along;
    for (std::size_t k = 0; k < N; ++k) first[k] -= y.first[k];
    for (std::size_t k = 0; k < N; ++k) second[k] -= y.second[k];
    return *this;
  }
  HyperDual& operator*=(const HyperDual& y) {
    const HyperDual x = *this, z = y;  // copies: y may be *this
    value = x.value * z.value;
    along = x.value * z.along + x.along * z.value;
    for (std::size_t k = 0; k < N; ++k) first[k] = x.value * z.first[k] + x.first[k] * z.value;
    for (std::size_t k = 0; k < N; ++k)
      second[k] = x.value * z.second[k] + x.second[k] * z.value + x.along * z.first[k] + x.first[k] * z.along;
    return *this;
  }
  HyperDual& operator/=(const HyperDual& y) { return *this *= 1.0 / y; }

  // f(x), given f, f' and f'' at x.value.
  [[nodiscard]] HyperDual map(double f, double slope, double curvature) const {
    HyperDual out(f);
    out.along = slope * along;
    for (std::size_t k = 0; k < N; ++k) out.first[k] = slope * first[k];
    for (std::size_t k = 0; k < N; ++k) out.second[k] = slope * second[k] + curvature * along * first[k];
    return out;
  }

  friend bool operator==(const HyperDual& x, const HyperDual& y) { return x.value == y.value; }
  friend auto operator<=>(const HyperDual& x, const HyperDual& y) { return x.value <=> y.value; }
  friend bool operator==(const HyperDual& x, double c) { return x.value == c; }
  friend auto operator<=>(const HyperDual& x, double c) { return x.value <=> c; }
};

// log Gamma(x) for x > 0, safe from any thread (std::lgamma is not), and its first two derivatives. It is the
// function of namespace mlo itself, so that a call is not ambiguous where both namespaces are used.
using mlo::log_gamma;
[[nodiscard]] double digamma(double x);
[[nodiscard]] double trigamma(double x);

[[nodiscard]] inline double square(double x) { return x * x; }
[[nodiscard]] inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
// log(1 + e^x), without overflow.
[[nodiscard]] inline double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}
// log Phi(x), finite for every finite x.
using mlo::log_normal_cdf;

using std::abs, std::atan, std::cos, std::erf, std::erfc, std::exp, std::expm1, std::log, std::log1p,
    std::pow, std::sin, std::sqrt, std::tan, std::tanh;

template <std::size_t N>
HyperDual<N> exp(const HyperDual<N>& x) {
  const double e = std::exp(x.value);
  return x.map(e, e, e);
}
template <std::size_t N>
HyperDual<N> expm1(const HyperDual<N>& x) {
  const double e = std::exp(x.value);
  return x.map(std::expm1(x.value), e, e);
}
template <std::size_t N>
HyperDual<N> log(const HyperDual<N>& x) {
  const double r = 1 / x.value;
  return x.map(std::log(x.value), r, -r * r);
}
template <std::size_t N>
HyperDual<N> log1p(const HyperDual<N>& x) {
  const double r = 1 / (1 + x.value);
  return x.map(std::log1p(x.value), r, -r * r);
}
template <std::size_t N>
HyperDual<N> sqrt(const HyperDual<N>& x) {
  const double s = std::sqrt(x.value);
  return x.map(s, 0.5 / s, -0.25 / (s * x.value));
}
template <std::size_t N>
HyperDual<N> square(const HyperDual<N>& x) {
  return x.map(x.value * x.value, 2 * x.value, 2);
}
template <std::size_t N>
HyperDual<N> pow(const HyperDual<N>& x, double c) {
  // c = 0 and c = 1 apart: at x = 0 they would give 0 * infinity.
  const double slope = c == 0 ? 0 : c * std::pow(x.value, c - 1);
  const double curvature = c == 0 || c == 1 ? 0 : c * (c - 1) * std::pow(x.value, c - 2);
  return x.map(std::pow(x.value, c), slope, curvature);
}
template <std::size_t N>
HyperDual<N> pow(const HyperDual<N>& x, const HyperDual<N>& y) {
  return exp(y * log(x));
}
template <std::size_t N>
HyperDual<N> pow(double c, const HyperDual<N>& y) {
  return exp(y * std::log(c));
}
template <std::size_t N>
HyperDual<N> sin(const HyperDual<N>& x) {
  const double s = std::sin(x.value);
  return x.map(s, std::cos(x.value), -s);
}
template <std::size_t N>
HyperDual<N> cos(const HyperDual<N>& x) {
  const double c = std::cos(x.value);
  return x.map(c, -std::sin(x.value), -c);
}
template <std::size_t N>
HyperDual<N> tan(const HyperDual<N>& x) {
  const double t = std::tan(x.value), slope = 1 + t * t;
  return x.map(t, slope, 2 * t * slope);
}
template <std::size_t N>
HyperDual<N> atan(const HyperDual<N>& x) {
  const double slope = 1 / (1 + x.value * x.value);
  return x.map(std::atan(x.value), slope, -2 * x.value * slope * slope);
}
template <std::size_t N>
HyperDual<N> tanh(const HyperDual<N>& x) {
  const double t = std::tanh(x.value), slope = 1 - t * t;
  return x.map(t, slope, -2 * t * slope);
}
template <std::size_t N>
HyperDual<N> erf(const HyperDual<N>& x) {
  const double slope = 2 / std::sqrt(std::numbers::pi) * std::exp(-x.value * x.value);
  return x.map(std::erf(x.value), slope, -2 * x.value * slope);
}
template <std::size_t N>
HyperDual<N> erfc(const HyperDual<N>& x) {
  const double slope = -2 / std::sqrt(std::numbers::pi) * std::exp(-x.value * x.value);
  return x.map(std::erfc(x.value), slope, -2 * x.value * slope);
}
// There is no derivative at the kink: it is NaN there, which the checks of a model turn into a message.
template <std::size_t N>
HyperDual<N> abs(const HyperDual<N>& x) {
  const double slope = x.value > 0 ? 1 : x.value < 0 ? -1 : std::numeric_limits<double>::quiet_NaN();
  return x.map(std::abs(x.value), slope, 0 * slope);
}
template <std::size_t N>
HyperDual<N> log_gamma(const HyperDual<N>& x) {
  return x.map(log_gamma(x.value), digamma(x.value), trigamma(x.value));
}
template <std::size_t N>
HyperDual<N> sigmoid(const HyperDual<N>& x) {
  const double s = sigmoid(x.value), slope = s * (1 - s);
  return x.map(s, slope, slope * (1 - 2 * s));
}
template <std::size_t N>
HyperDual<N> softplus(const HyperDual<N>& x) {
  const double s = sigmoid(x.value);
  return x.map(softplus(x.value), s, s * (1 - s));
}
template <std::size_t N>
HyperDual<N> log_normal_cdf(const HyperDual<N>& x) {
  const double mills = inverse_mills(x.value);
  return x.map(mlo::log_normal_cdf(x.value), mills, -mills * (x.value + mills));
}

}  // namespace mlo::ad
