// Copyright (c) the mlo authors. BSD-3-Clause.
// The row terms of generalised linear models, seen from the mode. A row's term is a function of one number,
// t = x_i'(theta - centre), and after its Taylor polynomial is taken away a remainder is left,
//   d(t) = f(e + t) - sum_{k <= order} f^(k)(e) t^k / k!,
// which exact subsampling needs in two ways: its value, without cancellation, and a bound on f^(order + 1).
// A family's row is scale * f(e + direction * t) + tilt * t for one of the four curves below.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

namespace mlo {

// The order of the Taylor polynomial that control variates take away: 2 or 3.
inline constexpr int max_order = 3;

// Taylor coefficients f^(k)(e) / k! for k = 0..count-1. The first three are not used and may be left 0.
inline constexpr int taylor_count = max_order + 6;
using Taylor = std::array<double, taylor_count>;

// Law: slope(), taylor() and derivative() belong to one function f, whose derivative of order k, k = 1, 3 or
// 4, has its local extrema exactly at critical(k). linear(), quadratic() and difference() belong to f, or to
// f plus a polynomial of degree 2 that is the same for every t: it is not in the remainder, and fewer digits
// cancel. The Taylor series about e converges for |t| < convergence(e); for 3 % of it, five terms are enough.
template <class C>
concept Curve = requires(const C& c, double e, double t, int k, Taylor& taylor) {
  { c.taylor(e, taylor) } -> std::same_as<void>;
  { c.slope(e) } -> std::same_as<double>;                      // f'(e)
  { c.linear(e) } -> std::same_as<double>;                     // f'(e)
  { c.quadratic(e) } -> std::same_as<double>;                  // f''(e) / 2
  { c.difference(e, t) } -> std::same_as<double>;              // f(e + t) - f(e)
  { c.derivative(k, e) } -> std::same_as<double>;              // f^(k)(e), k = 3, 4
  { c.critical(k) } -> std::same_as<std::span<const double>>;  // of f^(k), in any order
  { c.convergence(e) } -> std::same_as<double>;
  { c.mirrored(e) } -> std::same_as<bool>;  // whether d at (e, t) is better had as d at (-e, -t), its equal
};

// f(x) = -log(1 + e^x): logistic and negative binomial.
struct SoftplusCurve {
  void taylor(double e, Taylor& out) const noexcept;
  [[nodiscard]] double slope(double e) const noexcept { return linear(e); }
  [[nodiscard]] double linear(double e) const noexcept;
  [[nodiscard]] double quadratic(double e) const noexcept;
  [[nodiscard]] double difference(double e, double t) const noexcept;
  [[nodiscard]] double derivative(int k, double e) const noexcept;
  [[nodiscard]] std::span<const double> critical(int k) const noexcept;
  // The poles of the sigmoid nearest to 0 are +-i pi. Far out f is e^x or its mirror image, on the same
  // scale.
  [[nodiscard]] double convergence(double /*e*/) const noexcept { return 3.14159; }
  [[nodiscard]] bool mirrored(double e) const noexcept { return e > 0; }
};

// f(x) = log Phi(x): probit. Far out on the left it is -x^2/2 - log|x| and a little more, and linear(),
// quadratic() and difference() leave the -x^2/2 out.
struct LogPhiCurve {
  void taylor(double e, Taylor& out) const noexcept;
  [[nodiscard]] double slope(double e) const noexcept;
  [[nodiscard]] double linear(double e) const noexcept;
  [[nodiscard]] double quadratic(double e) const noexcept;
  [[nodiscard]] double difference(double e, double t) const noexcept;
  [[nodiscard]] double derivative(int k, double e) const noexcept;
  [[nodiscard]] std::span<const double> critical(int k) const noexcept;
  // The zeros of Phi nearest to the axis are 1.92 +- 2.82 i. On the left f is like log|x|, on the scale |e|;
  // on the right like e^(-x^2/2), on the scale 1/e.
  [[nodiscard]] double convergence(double e) const noexcept {
    return e > 0 ? std::min(2.81, 10 / e) : std::max(2.81, -e);
  }
  [[nodiscard]] bool mirrored(double /*e*/) const noexcept { return false; }
};

// f(x) = -e^x: poisson. Its remainder at e is e^e times that at 0, so rows carry e^e as their scale.
struct ExpCurve {
  void taylor(double e, Taylor& out) const noexcept;
  [[nodiscard]] double slope(double e) const noexcept { return linear(e); }
  [[nodiscard]] double linear(double e) const noexcept { return -std::exp(e); }
  [[nodiscard]] double quadratic(double e) const noexcept { return -0.5 * std::exp(e); }
  [[nodiscard]] double difference(double e, double t) const noexcept { return -std::exp(e) * std::expm1(t); }
  [[nodiscard]] double derivative(int /*k*/, double e) const noexcept { return -std::exp(e); }
  [[nodiscard]] std::span<const double> critical(int /*k*/) const noexcept { return {}; }  // monotone
  // Everywhere; as far as the series is good.
  [[nodiscard]] double convergence(double /*e*/) const noexcept { return 10; }
  [[nodiscard]] bool mirrored(double /*e*/) const noexcept { return false; }
};

// f(x) = -(freedom + 1)/2 log(1 + x^2 / freedom): Student's t, x the standardised residual.
struct StudentCurve {
  double freedom = 4;
  void taylor(double e, Taylor& out) const noexcept;
  [[nodiscard]] double slope(double e) const noexcept { return linear(e); }
  [[nodiscard]] double linear(double e) const noexcept;
  [[nodiscard]] double quadratic(double e) const noexcept;
  [[nodiscard]] double difference(double e, double t) const noexcept;
  [[nodiscard]] double derivative(int k, double e) const noexcept;
  [[nodiscard]] std::span<const double> critical(int k) const noexcept;
  // The poles are +-i sqrt(freedom).
  [[nodiscard]] double convergence(double e) const noexcept {
    return std::max(std::sqrt(freedom), std::abs(e));
  }
  [[nodiscard]] bool mirrored(double /*e*/) const noexcept { return false; }

  // critical() has to own its points: they depend on the freedom.
  explicit StudentCurve(double degrees_of_freedom = 4) noexcept;

 private:
  std::array<double, 2> critical_first_{};
  std::array<double, 4> critical_third_{};
  std::array<double, 5> critical_fourth_{};
};

// The share of the radius of convergence within which remainders are sums of five terms of their series.
// Outside, they are differences, which lose five digits at most.
inline constexpr double series_share = 0.03;

// d(t): the series where the subtraction would cancel, the subtraction elsewhere. A pair of them shares the
// coefficients. The error is below 3e-7 S |t|^(order+1) / (order+1)! for every e and t, S the supremum() of
// f^(order+1) over [e - |t|, e + |t|].
template <int order, Curve C>
class RemainderAt {
 public:
  RemainderAt(const C& curve, double at, double largest) noexcept
      : curve_(&curve), sign_(curve.mirrored(at) ? -1 : 1), e_(sign_ * at) {
    static_assert(order == 2 || order == 3);
    series_ = largest < series_share * curve.convergence(e_);
    if (series_) {
      curve.taylor(e_, taylor_);
    } else {
      linear_ = curve.linear(e_);
      quadratic_ = curve.quadratic(e_);
      if constexpr (order == 3) cubic_ = curve.derivative(3, e_) / 6;
    }
  }
  [[nodiscard]] double operator()(double step) const noexcept {
    const double t = sign_ * step;
    if (series_) {
      double sum = taylor_[order + 5];
      for (int k = order + 4; k > order; --k) sum = sum * t + taylor_[static_cast<std::size_t>(k)];
      for (int k = 0; k <= order; ++k) sum *= t;
      return sum;
    }
    return curve_->difference(e_, t) - t * (linear_ + t * (quadratic_ + t * cubic_));
  }

 private:
  const C* curve_;
  double sign_, e_;
  bool series_ = false;
  double linear_ = 0, quadratic_ = 0, cubic_ = 0;
  Taylor taylor_;
};

template <int order, Curve C>
[[nodiscard]] double remainder(const C& curve, double e, double t) noexcept {
  return RemainderAt<order, C>(curve, e, std::abs(t))(t);
}

// The supremum of |f^(k)| over [e - radius, e + radius]: at an end or at a critical point between.
template <Curve C>
[[nodiscard]] double supremum(const C& curve, int k, double e, double radius) noexcept {
  double sup = std::max(std::abs(curve.derivative(k, e - radius)), std::abs(curve.derivative(k, e + radius)));
  for (const double x : curve.critical(k))
    if (std::abs(x - e) < radius) sup = std::max(sup, std::abs(curve.derivative(k, x)));
  return sup;
}

// supremum() of many rows, by SIMD or from a table. Law: a result is never below supremum() by more than
// suprema_slack of it, and never above that of a radius larger by suprema_reach of the curve's unit (1, or
// Student's sqrt(freedom)) by more than suprema_slack; for log Phi by more than 10 % (its table's cells), and
// above 10 at most the value there. An element's result does not depend on its position.
inline constexpr double suprema_slack = 1e-8;
inline constexpr double suprema_reach = 1e-6;
struct Intervals {
  std::span<const double> centre, radius;
};
void suprema(const SoftplusCurve& curve, int k, Intervals at, std::span<double> out) noexcept;
void suprema(const LogPhiCurve& curve, int k, Intervals at, std::span<double> out) noexcept;
void suprema(const ExpCurve& curve, int k, Intervals at, std::span<double> out) noexcept;
void suprema(const StudentCurve& curve, int k, Intervals at, std::span<double> out) noexcept;

// How a family's rows look as a curve: scale * f(e + direction * t) + tilt * t, up to a constant. Law: scales
// are not negative, and |direction| is the same for all rows.
struct RowShape {
  double e, scale, direction, tilt;
};

// The supremum of the slope |d/dt| of such a row over |t| <= radius: like supremum().
template <Curve C>
[[nodiscard]] double steepest(const C& curve, const RowShape& row, double radius) noexcept {
  const auto slope = [&](double x) {
    return std::abs(row.tilt + row.scale * row.direction * curve.slope(x));
  };
  const double reach = std::abs(row.direction) * radius;
  double sup = std::max(slope(row.e - reach), slope(row.e + reach));
  for (const double x : curve.critical(1))
    if (std::abs(x - row.e) < reach) sup = std::max(sup, slope(x));
  return sup;
}

// A family's rows as curves, a batch of rows per call: what `exact`, its bounds and remainder weights need of
// a family. The spans of one call have the same length.
class RowCurve {
 public:
  RowCurve() = default;
  virtual ~RowCurve() = default;
  RowCurve(const RowCurve&) = delete;
  RowCurve& operator=(const RowCurve&) = delete;

  virtual void shapes(std::span<const double> eta, std::span<const double> y,
                      std::span<RowShape> out) const noexcept = 0;
  // The suprema() of f^(k) over [e - radius, e + radius].
  virtual void suprema(int k, std::span<const double> e, std::span<const double> radius,
                       std::span<double> out) const noexcept = 0;
  // f'''(e).
  virtual void third(std::span<const double> e, std::span<double> out) const noexcept = 0;
  // d(t) about e, of order 2.
  virtual void remainders(std::span<const double> e, std::span<const double> t,
                          std::span<double> out) const noexcept = 0;
  // d(to) - d(from) about e, of order 2 or 3.
  virtual void changes(int order, std::span<const double> e, std::span<const double> from,
                       std::span<const double> to, std::span<double> out) const noexcept = 0;
  // Whether a row is scale * -e^(direction * t) + tilt * t, with e = 0: then t = u + v makes a product.
  [[nodiscard]] virtual bool exponential() const noexcept = 0;
  // Whether f(x) = -log(1 + e^x).
  [[nodiscard]] virtual bool softplus() const noexcept = 0;
  // Whether every row's scale is 1, and all directions are the same.
  [[nodiscard]] virtual bool unscaled() const noexcept { return false; }
  // steepest() over |t| <= radius.
  virtual void slopes(std::span<const RowShape> rows, std::span<const double> radius,
                      std::span<double> out) const noexcept = 0;
};

// All of it but the shapes, which a family adds.
template <Curve C>
class CurveRows : public RowCurve {
 public:
  explicit CurveRows(C curve = C()) : curve_(std::move(curve)) {}

  void suprema(int k, std::span<const double> e, std::span<const double> radius,
               std::span<double> out) const noexcept final {
    mlo::suprema(curve_, k, {e, radius}, out);
  }
  [[nodiscard]] bool exponential() const noexcept final { return std::same_as<C, ExpCurve>; }
  [[nodiscard]] bool softplus() const noexcept final { return std::same_as<C, SoftplusCurve>; }
  void third(std::span<const double> e, std::span<double> out) const noexcept final {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = curve_.derivative(3, e[i]);
  }
  void remainders(std::span<const double> e, std::span<const double> t,
                  std::span<double> out) const noexcept final {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = remainder<2>(curve_, e[i], t[i]);
  }
  void changes(int order, std::span<const double> e, std::span<const double> from, std::span<const double> to,
               std::span<double> out) const noexcept final {
    order == 2 ? changes_of<2>(e, from, to, out) : changes_of<3>(e, from, to, out);
  }
  void slopes(std::span<const RowShape> rows, std::span<const double> radius,
              std::span<double> out) const noexcept final {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = steepest(curve_, rows[i], radius[i]);
  }

 private:
  template <int order>
  void changes_of(std::span<const double> e, std::span<const double> from, std::span<const double> to,
                  std::span<double> out) const noexcept {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const RemainderAt<order, C> at(curve_, e[i], std::max(std::abs(from[i]), std::abs(to[i])));
      out[i] = at(to[i]) - at(from[i]);
    }
  }

  C curve_;
};

// A model's rows, and what they are as curves: what `exact` asks of a model.
class RowStore;
struct CurvedRows {
  const RowStore* rows;
  const RowCurve* curve;
  // The shapes of rows first, first + 1, ..., whose weights are in their scales and tilts.
  void shapes(std::size_t first, std::span<const double> eta, std::span<const double> y,
              std::span<RowShape> out) const noexcept;
};

extern template class CurveRows<SoftplusCurve>;
extern template class CurveRows<LogPhiCurve>;
extern template class CurveRows<ExpCurve>;
extern template class CurveRows<StudentCurve>;

}  // namespace mlo
