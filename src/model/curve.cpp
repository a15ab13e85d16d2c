// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/curve.hpp"

#include <algorithm>
#include <complex>
#include <numbers>
#include <vector>

#include "mlo/base/special.hpp"
#include "mlo/model/row_store.hpp"

namespace mlo {
namespace {

double sigmoid_of(double x) {
  const double z = std::exp(-std::abs(x));
  return (x < 0 ? z : 1) / (1 + z);
}

}  // namespace

// ---- softplus. s = sigmoid(x), a = s(1-s), b = 1-2s: f'' = -a, f''' = -ab, f'''' = -a(1-6a), f^(5) =
// -ab(1-12a).

// Every derivative is a polynomial in a, times b for the odd ones.
void SoftplusCurve::taylor(double e, Taylor& out) const noexcept {
  const double z = std::exp(-std::abs(e));
  const double a = z / ((1 + z) * (1 + z));
  const double b = std::copysign((1 - z) / (1 + z), -e);
  out[3] = -a * b / 6;
  out[4] = -a * (1 - 6 * a) / 24;
  out[5] = -a * b * (1 - 12 * a) / 120;
  out[6] = -a * (1 + a * (-30 + a * 120)) / 720;
  out[7] = -a * b * (1 + a * (-60 + a * 360)) / 5040;
  out[8] = -a * (1 + a * (-126 + a * (1680 - a * 5040))) / 40320;
}

double SoftplusCurve::linear(double e) const noexcept { return -sigmoid_of(e); }
double SoftplusCurve::quadratic(double e) const noexcept { return -0.5 * sigmoid_of(e) * sigmoid_of(-e); }

double SoftplusCurve::difference(double e, double t) const noexcept {
  // log(1 + e^(e+t)) - log(1 + e^e) = log1p(s expm1(t)); mirrored where s is close to 1.
  if (e > 0) return -t + difference(-e, -t);
  if (t > 30) {
    const double x = e + t;
    return std::log1p(std::exp(e)) - std::max(x, 0.0) - std::log1p(std::exp(-std::abs(x)));
  }
  return -std::log1p(sigmoid_of(e) * std::expm1(t));
}

double SoftplusCurve::derivative(int k, double e) const noexcept {
  const double z = std::exp(-std::abs(e)), a = z / ((1 + z) * (1 + z));
  return k == 3 ? a * std::copysign((1 - z) / (1 + z), e) : -a * (1 - 6 * a);
}

std::span<const double> SoftplusCurve::critical(int k) const noexcept {
  // f''''= 0 where a = 1/6; f^(5) = 0 where b = 0 or a = 1/12.
  static const double sixth = 2 * std::atanh(std::sqrt(1.0 / 3)),
                      twelfth = 2 * std::atanh(std::sqrt(2.0 / 3));
  static const std::array<double, 2> third{-sixth, sixth};
  static const std::array<double, 3> fourth{-twelfth, 0, twelfth};
  if (k == 1) return {};  // f'' < 0
  if (k == 3) return third;
  return fourth;
}

// ---- log Phi. With m the inverse Mills ratio and s = x + m: f' = m, m' = -m s.

namespace {

struct Mills {
  double m, s;
};

// Below this, s and its derivatives come from their asymptotic series. Here both it and the recurrence from m
// and s, in which as many digits of f^(k) cancel as |z|^(2k-2) has, are good to nine digits.
constexpr double far_left = -14;

// s(z) = sum of c_j x^-(2j+1), x = -z: 1/x - 2/x^3 + 10/x^5 - ... The coefficients follow from s' = 1 - m s.
// The Taylor coefficient of order n of s is the sum of c_j (2j+n choose n) x^-(2j+1+n).
constexpr std::size_t far_terms = 10;
using FarSeries = std::array<std::array<double, far_terms>, taylor_count>;
constexpr FarSeries far_series = [] {
  FarSeries out{};
  std::array<double, far_terms>& c = out[0];
  c[0] = 1;
  for (std::size_t j = 0; j + 1 < far_terms; ++j) {
    c[j + 1] = -static_cast<double>(2 * j + 1) * c[j];
    for (std::size_t i = 0; i <= j; ++i) c[j + 1] -= c[i] * c[j - i];
  }
  for (std::size_t n = 1; n < out.size(); ++n)
    for (std::size_t j = 0; j < far_terms; ++j)
      out[n][j] = out[n - 1][j] * static_cast<double>(2 * j + n) / static_cast<double>(n);
  return out;
}();

// The Taylor coefficients of s about z < far_left, from the first-th on.
void far_taylor(double z, std::size_t first, std::span<double> out) {
  const double inverse = -1 / z, square = inverse * inverse;
  double power = inverse;
  for (std::size_t n = 0; n < first; ++n) power *= inverse;
  for (std::size_t n = first; n < first + out.size(); ++n) {
    double sum = 0;
    for (std::size_t j = far_terms; j-- > 0;) sum = sum * square + far_series[n][j];
    out[n - first] = sum * power;
    power *= inverse;
  }
}

// Below -5 by the continued fraction m = x + 1/(x + 2/(x + 3/(x + ...))) for x = -z, which gives s = m - x
// without the cancellation.
Mills mills(double z) {
  if (z > -5) {
    const double m = inverse_mills(z);
    return {m, z + m};
  }
  const double x = -z;
  if (z < far_left) {
    double s = 0;
    far_taylor(z, 0, {&s, 1});
    return {x + s, s};
  }
  double tail = x;
  for (int k = 60; k >= 2; --k) tail = x + k / tail;
  return {x + 1 / tail, 1 / tail};
}

// f^(k)(e) / k! for k = 3 and on; those before are left as they are.
void log_phi_taylor(double e, std::span<double> out) {
  if (e < far_left) {
    far_taylor(e, 2, out.subspan(3));
    for (std::size_t k = 3; k < out.size(); ++k) out[k] /= static_cast<double>(k);
    return;
  }
  const Mills at = mills(e);
  std::array<double, 16> m{}, s{};
  m[0] = at.m;
  s[0] = at.s;
  for (std::size_t k = 0; k + 1 < out.size(); ++k) {
    double next = 0;
    for (std::size_t j = 0; j <= k; ++j) next -= m[j] * s[k - j];
    m[k + 1] = next / static_cast<double>(k + 1);
    s[k + 1] = m[k + 1] + (k == 0 ? 1 : 0);
  }
  for (std::size_t k = 3; k < out.size(); ++k) out[k] = m[k - 1] / static_cast<double>(k);
}

// The roots of the k-th derivative of log Phi in [-30, 30], outside of which it has none: bisection of its
// sign changes.
std::vector<double> log_phi_roots(std::size_t k) {
  const auto value = [&](double x) {
    std::array<double, 8> taylor{};
    log_phi_taylor(x, std::span(taylor).first(k + 1));
    return taylor[k];
  };
  std::vector<double> roots;
  constexpr int steps = 1200;
  for (int i = 0; i < steps; ++i) {
    double low = -30 + 60.0 * i / steps, high = -30 + 60.0 * (i + 1) / steps;
    const double sign = value(low);
    if ((sign > 0) == (value(high) > 0)) continue;
    while (high - low > 1e-12) {
      const double middle = 0.5 * (low + high);
      ((value(middle) > 0) == (sign > 0) ? low : high) = middle;
    }
    roots.push_back(0.5 * (low + high));
  }
  return roots;
}

}  // namespace

void LogPhiCurve::taylor(double e, Taylor& out) const noexcept { log_phi_taylor(e, out); }
double LogPhiCurve::slope(double e) const noexcept { return mills(e).m; }
double LogPhiCurve::linear(double e) const noexcept {
  const Mills at = mills(e);
  return e < far_left ? at.s : at.m;
}
double LogPhiCurve::quadratic(double e) const noexcept {
  if (e < far_left) {
    double first = 0;
    far_taylor(e, 1, {&first, 1});
    return 0.5 * first;
  }
  const Mills at = mills(e);
  return -0.5 * at.m * at.s;
}
double LogPhiCurve::difference(double e, double t) const noexcept {
  const double x = e + t;
  if (!(e < far_left)) return log_normal_cdf(x) - log_normal_cdf(e);
  // log Phi(x) + x^2 / 2 = -log m(x) - log(2 pi) / 2.
  const double m = mills(e).m;
  if (x < 0) return -std::log(mills(x).m / m);
  return log_normal_cdf(x) + 0.5 * x * x + 0.5 * std::log(2 * std::numbers::pi) + std::log(m);
}
double LogPhiCurve::derivative(int k, double e) const noexcept {
  std::array<double, 5> taylor{};
  log_phi_taylor(e, std::span(taylor).first(static_cast<std::size_t>(k) + 1));
  return k == 3 ? 6 * taylor[3] : 24 * taylor[4];
}
std::span<const double> LogPhiCurve::critical(int k) const noexcept {
  static const std::vector<double> third = log_phi_roots(4), fourth = log_phi_roots(5);
  if (k == 1) return {};  // f'' < 0
  return k == 3 ? third : fourth;
}

namespace {

// Upper bounds of |f^(k)| of log Phi in cells of 1/128: it is monotone between its critical points, so its
// largest value in a cell is at an end of the cell or at one of those.
class LogPhiTable {
 public:
  explicit LogPhiTable(int k) : k_(k) {
    const auto value = [&](double x) { return std::abs(LogPhiCurve().derivative(k, x)); };
    for (const double x : LogPhiCurve().critical(k)) peaks_.push_back({x, value(x)});
    cells_.resize(count);
    double left = value(low);
    for (std::size_t i = 0; i < count; ++i) {
      const double right = value(low + static_cast<double>(i + 1) / per_unit);
      cells_[i] = std::max(left, right);
      left = right;
    }
    for (const Peak& peak : peaks_)
      // At a cell's edge, rounding may put it on either side.
      for (const double x : {peak.at - 1e-9, peak.at + 1e-9})
        if (x > low && x < high) cells_[cell(x)] = std::max(cells_[cell(x)], peak.value);
  }

  [[nodiscard]] double supremum(double e, double radius) const {
    const double from = e - radius, to = e + radius;
    double sup = std::max(at(from), at(to));
    for (const Peak& peak : peaks_)
      if (peak.at > from && peak.at < to) sup = std::max(sup, peak.value);
    return sup;
  }

 private:
  static constexpr double low = -16, high = 10, per_unit = 128;
  static constexpr std::size_t count = static_cast<std::size_t>((high - low) * per_unit);
  struct Peak {
    double at, value;
  };
  static std::size_t cell(double x) { return static_cast<std::size_t>((x - low) * per_unit); }
  // On the right of the table |f^(k)| falls to 0, so that the last end is a bound. It is below 1e-19.
  [[nodiscard]] double at(double x) const {
    if (x <= low) return std::abs(LogPhiCurve().derivative(k_, x));
    return x < high ? cells_[cell(x)] : cells_[count - 1];
  }

  int k_;
  std::vector<Peak> peaks_;
  std::vector<double> cells_;
};

}  // namespace

void suprema(const LogPhiCurve& /*curve*/, int k, Intervals at, std::span<double> out) noexcept {
  static const LogPhiTable third(3), fourth(4);
  const LogPhiTable& table = k == 3 ? third : fourth;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = table.supremum(at.centre[i], at.radius[i]);
}

// ---- -e^x

void ExpCurve::taylor(double e, Taylor& out) const noexcept {
  double term = -std::exp(e);
  for (std::size_t k = 0; k < out.size(); ++k) {
    out[k] = term;
    term /= static_cast<double>(k + 1);
  }
}

// ---- Student. log(1 + x^2) = 2 Re log(x + i), so its k-th derivative is 2 (-1)^(k-1) (k-1)! Re (x + i)^-k,
// with roots x = cot((2j + 1) pi / (2k)).

StudentCurve::StudentCurve(double degrees_of_freedom) noexcept : freedom(degrees_of_freedom) {
  const auto root = [&](int k, std::size_t j) {
    return std::sqrt(freedom) / std::tan((2.0 * static_cast<double>(j) + 1) * std::numbers::pi / (2 * k));
  };
  for (std::size_t j = 0; j < critical_first_.size(); ++j) critical_first_[j] = root(2, j);
  for (std::size_t j = 0; j < critical_third_.size(); ++j) critical_third_[j] = root(4, j);
  for (std::size_t j = 0; j < critical_fourth_.size(); ++j) critical_fourth_[j] = root(5, j);
}

void StudentCurve::taylor(double e, Taylor& out) const noexcept {
  const double root = std::sqrt(freedom);
  const std::complex<double> step = -1.0 / (std::complex<double>(e / root, 1) * root);
  std::complex<double> power = 1;
  out[0] = 0;
  for (std::size_t k = 1; k < out.size(); ++k) {
    power *= step;
    out[k] = (freedom + 1) * power.real() / static_cast<double>(k);
  }
}
double StudentCurve::linear(double e) const noexcept { return -(freedom + 1) * e / (freedom + e * e); }
double StudentCurve::quadratic(double e) const noexcept {
  const double q = freedom + e * e;
  return -0.5 * (freedom + 1) * (freedom - e * e) / (q * q);
}
double StudentCurve::difference(double e, double t) const noexcept {
  return -0.5 * (freedom + 1) * std::log1p(t * (2 * e + t) / (freedom + e * e));
}
double StudentCurve::derivative(int k, double e) const noexcept {
  Taylor out;
  taylor(e, out);
  return k == 3 ? 6 * out[3] : 24 * out[4];
}
std::span<const double> StudentCurve::critical(int k) const noexcept {
  if (k == 1) return critical_first_;
  if (k == 3) return critical_third_;
  return critical_fourth_;
}

template class CurveRows<SoftplusCurve>;
template class CurveRows<LogPhiCurve>;
template class CurveRows<ExpCurve>;
template class CurveRows<StudentCurve>;

void CurvedRows::shapes(std::size_t first, std::span<const double> eta, std::span<const double> y,
                        std::span<RowShape> out) const noexcept {
  curve->shapes(eta, y, out);
  const Design& design = rows->design();
  if (!design.has_weight) return;
  for (std::size_t k = 0; k < out.size(); ++k) {
    out[k].scale *= design.weight(first + k);
    out[k].tilt *= design.weight(first + k);
  }
}

}  // namespace mlo
