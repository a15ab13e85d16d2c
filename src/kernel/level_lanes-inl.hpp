// Copyright (c) the mlo authors. BSD-3-Clause.
// Some levels of a grouping in registers: what the passes over levels (level_lanes*.cpp) compute with.
// Included once per instruction set by foreach_target.h, hence the toggled guard instead of #pragma once.
#if defined(MLO_KERNEL_LEVEL_LANES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MLO_KERNEL_LEVEL_LANES_INL_HPP
#undef MLO_KERNEL_LEVEL_LANES_INL_HPP
#else
#define MLO_KERNEL_LEVEL_LANES_INL_HPP
#endif

#include <hwy/highway.h>

#include <cmath>
#include <limits>
#include <utility>

#include "base/special-inl.hpp"
#include "kernel/level_lanes.hpp"
#include "kernel/level_limits.hpp"

HWY_BEFORE_NAMESPACE();
namespace mlo::level_passes::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace special = mlo::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, level_lanes>;
using V = hn::Vec<Doubles>;
using M = hn::Mask<Doubles>;

HWY_INLINE V set(double x) { return hn::Set(Doubles(), x); }
HWY_INLINE V zero() { return hn::Zero(Doubles()); }
HWY_INLINE double sum_of(V v) { return hn::GetLane(hn::SumOfLanes(Doubles(), v)); }

// Some levels of a block: as many as a register holds. `fixed` effects per level; 0: as many as `of` says.
template <int fixed>
struct Lanes {
  static constexpr std::size_t most = fixed > 0 ? static_cast<std::size_t>(fixed) : LevelRows::most_effects;
  struct Vector {
    V v[most];
  };
  struct Pairs {
    V v[pairs_of(most)];
  };

  const Levels& of;
  std::size_t block, part;

  HWY_INLINE std::size_t d() const {
    if constexpr (fixed > 0) return most;
    return of.at.d;
  }
  HWY_INLINE V field(std::size_t f) const {
    return hn::LoadU(Doubles(), of.table + (block * of.at.width + f) * level_lanes + part);
  }
  HWY_INLINE V load(const double* from, std::size_t a = 0, std::size_t width = 1) const {
    return hn::LoadU(Doubles(), from + (block * width + a) * level_lanes + part);
  }
  HWY_INLINE void store(V v, double* to, std::size_t a = 0, std::size_t width = 1) const {
    hn::StoreU(v, Doubles(), to + (block * width + a) * level_lanes + part);
  }
  HWY_INLINE Vector vector(const double* from) const {
    Vector out;
    for (std::size_t a = 0; a < d(); ++a) out.v[a] = load(from, a, d());
    return out;
  }
  HWY_INLINE void store_vector(const Vector& v, double* to) const {
    for (std::size_t a = 0; a < d(); ++a) store(v.v[a], to, a, d());
  }
  HWY_INLINE Pairs pairs(std::size_t f) const {
    Pairs out;
    for (std::size_t k = 0; k < pairs_of(d()); ++k) out.v[k] = field(f + k);
    return out;
  }
  HWY_INLINE V omega(const double* from, std::size_t a, std::size_t b) const {
    return set(from[a * d() + b]);
  }
  // The effects' prior mean in terms of beta: M alpha minus the reference.
  HWY_INLINE Vector prior_mean() const {
    Vector out;
    for (std::size_t a = 0; a < d(); ++a) out.v[a] = hn::Sub(load(of.ma, a, d()), field(of.at.b + a));
    return out;
  }
  // Field times a vector of q numbers.
  HWY_INLINE V times(std::size_t f, const double* v) const {
    V sum = zero();
    for (std::size_t j = 0; j < of.at.q; ++j) sum = hn::MulAdd(field(f + j), set(v[j]), sum);
    return sum;
  }
  HWY_INLINE V quadratic(const double* matrix, const Vector& v) const {
    V sum = zero();
    for (std::size_t a = 0; a < d(); ++a)
      for (std::size_t b = 0; b < d(); ++b)
        sum = hn::MulAdd(hn::Mul(omega(matrix, a, b), v.v[a]), v.v[b], sum);
    return sum;
  }
  HWY_INLINE V quadratic(const Pairs& p, const Vector& v) const {
    V sum = zero();
    for (std::size_t a = 0; a < d(); ++a) {
      V row = zero();
      for (std::size_t b = 0; b < a; ++b) row = hn::MulAdd(p.v[pair_at(a, b)], v.v[b], row);
      sum = hn::MulAdd(hn::MulAdd(set(2), row, hn::Mul(p.v[pair_at(a, a)], v.v[a])), v.v[a], sum);
    }
    return sum;
  }
  HWY_INLINE V triple(std::size_t a, std::size_t b, std::size_t e) const {
    if (a < b) std::swap(a, b);
    if (b < e) std::swap(b, e);
    if (a < b) std::swap(a, b);
    return field(of.at.c + triple_at(a, b, e));
  }
  // c(v, v, .)
  HWY_INLINE V cubic_slope(const Vector& v, std::size_t a) const {
    V sum = zero();
    for (std::size_t b = 0; b < d(); ++b)
      for (std::size_t e = 0; e < d(); ++e) sum = hn::MulAdd(hn::Mul(triple(a, b, e), v.v[b]), v.v[e], sum);
    return sum;
  }
  HWY_INLINE V cubic(const Vector& v) const {
    if constexpr (fixed == 1) return hn::Mul(field(of.at.c), hn::Mul(v.v[0], hn::Mul(v.v[0], v.v[0])));
    V sum = zero();
    for (std::size_t a = 0; a < d(); ++a) sum = hn::MulAdd(cubic_slope(v, a), v.v[a], sum);
    return sum;
  }
  // The lower triangle of a matrix; returns where it is positive definite. Elsewhere the triangle is no use.
  HWY_INLINE M factor(const Pairs& p, Pairs& l) const {
    M good = hn::Gt(p.v[0], zero());
    for (std::size_t a = 0; a < d(); ++a)
      for (std::size_t b = 0; b <= a; ++b) {
        V sum = p.v[pair_at(a, b)];
        for (std::size_t e = 0; e < b; ++e) sum = hn::NegMulAdd(l.v[pair_at(a, e)], l.v[pair_at(b, e)], sum);
        if (a == b) {
          good = hn::And(good, hn::Gt(sum, zero()));
          l.v[pair_at(a, a)] = hn::Sqrt(sum);
        } else {
          l.v[pair_at(a, b)] = hn::Div(sum, l.v[pair_at(b, b)]);
        }
      }
    return good;
  }
  HWY_INLINE Vector solve_lower(const Pairs& l, Vector v) const {
    for (std::size_t a = 0; a < d(); ++a) {
      for (std::size_t b = 0; b < a; ++b) v.v[a] = hn::NegMulAdd(l.v[pair_at(a, b)], v.v[b], v.v[a]);
      v.v[a] = hn::Div(v.v[a], l.v[pair_at(a, a)]);
    }
    return v;
  }
  HWY_INLINE Vector solve_upper(const Pairs& l, Vector v) const {  // with the transpose
    for (std::size_t a = d(); a-- > 0;) {
      for (std::size_t b = a + 1; b < d(); ++b) v.v[a] = hn::NegMulAdd(l.v[pair_at(b, a)], v.v[b], v.v[a]);
      v.v[a] = hn::Div(v.v[a], l.v[pair_at(a, a)]);
    }
    return v;
  }
  HWY_INLINE Vector times_upper(const Pairs& l, const Vector& v) const {
    Vector out;
    for (std::size_t a = 0; a < d(); ++a) {
      out.v[a] = zero();
      for (std::size_t b = a; b < d(); ++b) out.v[a] = hn::MulAdd(l.v[pair_at(b, a)], v.v[b], out.v[a]);
    }
    return out;
  }
  HWY_INLINE Vector minus(const Vector& x, const Vector& y) const {
    Vector out;
    for (std::size_t a = 0; a < d(); ++a) out.v[a] = hn::Sub(x.v[a], y.v[a]);
    return out;
  }
  HWY_INLINE V square(const Vector& x) const {
    V sum = zero();
    for (std::size_t a = 0; a < d(); ++a) sum = hn::MulAdd(x.v[a], x.v[a], sum);
    return sum;
  }
  // |C'v|: |z'v| of a row is at most its length times this.
  HWY_INLINE V norm(const Vector& v) const {
    if constexpr (fixed == 1) return hn::Mul(field(of.at.factor), hn::Abs(v.v[0]));
    return hn::Sqrt(square(times_upper(pairs(of.at.factor), v)));
  }
  HWY_INLINE V size(const Vector& v) const { return hn::Mul(field(of.at.span), norm(v)); }

  // precision * p + omega.
  HWY_INLINE Pairs with_prior(const Pairs& p, const double* matrix) const {
    Pairs out;
    for (std::size_t a = 0; a < d(); ++a)
      for (std::size_t b = 0; b <= a; ++b)
        out.v[pair_at(a, b)] = hn::MulAdd(set(of.precision), p.v[pair_at(a, b)], omega(matrix, a, b));
    return out;
  }
  HWY_INLINE Pairs choose(M where, const Pairs& yes, const Pairs& no) const {
    Pairs out;
    for (std::size_t k = 0; k < pairs_of(d()); ++k) out.v[k] = hn::IfThenElse(where, yes.v[k], no.v[k]);
    return out;
  }

  // The mode of pull * b - rise e^(direction b) - tau b^2 / 2, by two steps of Newton's method, and the
  // curvature there.
  HWY_INLINE void product_law(V tau, V mean, V& mode, V& curved) const {
    if (of.anchor != nullptr)
      anchored_law(tau, mean, mode, curved);
    else
      newton_law(tau, mean, mode, curved);
  }
  HWY_INLINE V product_rise() const {
    const V precision = set(of.precision);
    return hn::Max(hn::Mul(precision, load(of.bend)), hn::Mul(set(0.2 * of.precision), field(of.at.h)));
  }
  HWY_INLINE V product_pull(V tau, V mean) const {
    const V own = hn::MulAdd(set(of.direction), field(of.at.h), field(of.at.g));
    return hn::MulAdd(tau, mean, hn::Mul(set(of.precision), own));
  }
  // By one step from the anchor, without an exponential: a law that depends on neither effect nor covariance
  // but by tau will do, and where there are many levels tau is near the reference's.
  HWY_INLINE void anchored_law(V tau, V mean, V& mode, V& curved) const {
    const V one = set(1), direction = set(of.direction), start = load(of.anchor);
    const V heavy = hn::Mul(product_rise(), load(of.anchor_power));
    const V slope = hn::NegMulAdd(tau, start, hn::NegMulAdd(direction, heavy, product_pull(tau, mean)));
    const V step = hn::Max(hn::Neg(one), hn::Min(one, hn::Div(slope, hn::Add(heavy, tau))));
    const V x = hn::Mul(direction, step);
    mode = hn::Add(start, step);
    curved = hn::MulAdd(heavy, hn::MulAdd(x, hn::MulAdd(set(0.5), x, one), one), tau);
  }
  HWY_INLINE void newton_law(V tau, V mean, V& mode, V& curved) const {
    const V direction = set(of.direction), one = set(1);
    const V rise = product_rise(), pull = product_pull(tau, mean);
    V power = one;
    mode = zero();
    curved = hn::Add(rise, tau);
    for (int newton = 0; newton < 2; ++newton) {
      const V slope = hn::NegMulAdd(tau, mode, hn::NegMulAdd(hn::Mul(direction, rise), power, pull));
      mode = hn::Add(mode, hn::Max(hn::Neg(one), hn::Min(one, hn::Div(slope, curved))));
      power = special::exp(Doubles(), hn::Mul(direction, mode));
      curved = hn::MulAdd(rise, power, tau);
    }
  }

  // Which levels have curves of their own; only asked where there may be any.
  HWY_INLINE bool has_curves() const {
    if constexpr (fixed != 1) return false;
    return of.curves != nullptr && of.curved[block] != 0;
  }
  HWY_INLINE M curved() const { return hn::Gt(field(of.at.radius), zero()); }
  HWY_INLINE V coefficient(std::size_t k) const {
    return hn::LoadU(Doubles(), of.curves + (block * LevelCurve::terms + k) * level_lanes + part);
  }
  // b / radius, inside the interval.
  HWY_INLINE V within(V b) const {
    const V one = set(1), x = hn::Div(b, hn::Max(field(of.at.radius), set(1e-300)));
    return hn::Max(hn::Neg(one), hn::Min(one, x));
  }
  // What multiplies phi: the first-order part of the slope that alpha and the other groupings make.
  HWY_INLINE V first_order() const {
    const V sum = hn::Sub(load(of.linear), field(of.at.g));
    return of.crossed ? hn::Add(hn::Sub(sum, load(of.cell_linear)), load(of.cell_first)) : sum;
  }
  // Levels whose curve also says what a move of the columns meets there.
  HWY_INLINE M riding(V b) const { return hn::And(curved(), hn::Le(hn::Abs(b), field(of.at.radius))); }
  HWY_INLINE V phi(V b) const {
    const V x = within(b);
    V sum = zero();
    for (std::size_t k = LevelCurve::terms; k-- > 2;)
      sum = hn::MulAdd(sum, x, hn::Mul(set(static_cast<double>(k)), coefficient(k)));
    return hn::Div(hn::Mul(hn::Mul(sum, x), field(of.at.radius)), hn::Mul(set(2), coefficient(2)));
  }
  // Writes how phi changes, for the rows that are drawn.
  HWY_INLINE V curve_change(V from, V to) const {
    const V x = within(from), y = within(to);
    V at_x = zero(), at_y = zero(), phi_x = zero(), phi_y = zero();
    for (std::size_t k = LevelCurve::terms; k-- > 0;) {
      const V c = coefficient(k);
      at_x = hn::MulAdd(at_x, x, c);
      at_y = hn::MulAdd(at_y, y, c);
      if (k < 2) continue;
      const V slope = hn::Mul(set(static_cast<double>(k)), c);
      phi_x = hn::MulAdd(phi_x, x, slope);
      phi_y = hn::MulAdd(phi_y, y, slope);
    }
    const V unit = hn::Div(field(of.at.radius), hn::Mul(set(2), coefficient(2)));
    const V turned = hn::Mul(unit, hn::Sub(hn::Mul(phi_y, y), hn::Mul(phi_x, x)));
    store(turned, of.phi);
    return hn::MulAdd(first_order(), turned, hn::Sub(at_y, at_x));
  }
  // The mode of a curve with the prior, and the curvature near it.
  HWY_INLINE void curve_law(V tau, V mean, V& mode, V& curvature) const {
    const V radius = hn::Max(field(of.at.radius), set(1e-300)), one = set(1);
    const V inverse = hn::Div(one, radius), owed = hn::Div(first_order(), hn::Mul(set(2), coefficient(2)));
    mode = field(of.at.start);
    for (int newton = 0; newton < 2; ++newton) {
      const V x = within(mode);
      V p1 = zero(), p2 = zero();
      for (std::size_t k = LevelCurve::terms; k-- > 1;) {
        p2 = hn::MulAdd(p2, x, p1);
        p1 = hn::MulAdd(p1, x, hn::Mul(set(static_cast<double>(k)), coefficient(k)));
      }
      curvature = hn::Add(hn::Max(hn::Neg(hn::Mul(p2, hn::Mul(inverse, inverse))), zero()), tau);
      const V slope = hn::NegMulAdd(tau, hn::Sub(mode, mean), hn::MulAdd(owed, p2, hn::Mul(p1, inverse)));
      const V step = hn::Max(hn::Neg(one), hn::Min(one, hn::Div(slope, curvature)));
      mode = hn::Max(hn::Neg(radius), hn::Min(radius, hn::Add(mode, step)));
    }
  }
  // How far the rows' own changes of slope, (e^b - 1) / (1 + s (e^b - 1)) in units of f'', are from each
  // other: they fall with the rows' sigmoids s. Negative below b = 0.
  HWY_INLINE V apart(V b) const {
    const V a = hn::Sub(special::exp(Doubles(), b), set(1));
    const V low = hn::Div(a, hn::MulAdd(field(of.at.least), a, set(1)));
    const V high = hn::Div(a, hn::MulAdd(field(of.at.most), a, set(1)));
    return hn::CopySign(hn::Sub(low, high), b);
  }
  // The supremum of |f''| for t in low..high and at 0.
  HWY_INLINE V second_within(V low, V high) const {
    const V up = hn::Mul(field(of.at.up), special::exp(Doubles(), hn::Max(high, zero())));
    const V down = hn::Mul(field(of.at.down), special::exp(Doubles(), hn::Max(hn::Neg(low), zero())));
    return hn::Min(hn::Max(up, down), field(of.at.limit));
  }
  // A move of the columns, with |u| <= c and other groupings' |gamma| <= g, v = u + gamma. A row's slope is
  // f'(e + b + v), of which F1 + F2 (phi(b) + v) + F3 gamma^2 / 2 is known. What is left is at most |F2|
  // (what the row's change of slope and phi differ by) + |v| sup |f''(e + b + .) - f''(e)| + |F3| g^2 / 2,
  // where |f'''| <= |f''|.
  HWY_INLINE V curve_slope_bound(V b, V c, V g) const {
    const V v = hn::Add(c, g), here = hn::Max(field(of.at.up), field(of.at.down));
    const V second = second_within(hn::Sub(b, v), hn::Add(b, v)), size = hn::Abs(b);
    const V differ = hn::MulAdd(set(1e-4), size, hn::Abs(apart(b)));
    const V bent = hn::Mul(hn::Mul(v, second), hn::Min(set(1), hn::Add(size, v)));
    return hn::MulAdd(here, hn::MulAdd(set(0.5), hn::Mul(g, g), differ), bent);
  }
  // With v = u + gamma, a row's remainder is at most |f''(e)| |v| (what its change of slope and phi's differ
  // by)
  // + v^2 / 2 |to - from| sup |f'''|, where |f'''| <= |f''|, which grows at most by e per unit of t, up to 0.
  HWY_INLINE V curve_bound(V from, V to, V c) const {
    const V rest = of.crossed ? hn::Add(c, load(of.others)) : c;
    const V second = second_within(hn::Sub(hn::Min(from, to), rest), hn::Add(hn::Max(from, to), rest));
    const V moved = hn::Abs(hn::Sub(to, from)), here = hn::Max(field(of.at.up), field(of.at.down));
    // phi is the derivative of a polynomial that is accurate to 1e-8.
    const V differ = hn::MulAdd(set(1e-4), moved, hn::Abs(hn::Sub(apart(to), apart(from))));
    const V sum = hn::MulAdd(here, differ, hn::Mul(hn::Mul(set(0.5), rest), hn::Mul(second, moved)));
    const V bound = hn::MulAdd(hn::Mul(set(of.slack), rest), sum, set(1e-300));
    const M inside = hn::Le(hn::Max(hn::Abs(from), hn::Abs(to)), field(of.at.radius));
    return hn::IfThenElse(inside, bound, set(std::numeric_limits<double>::infinity()));
  }

  // The change of the expansion between two values of the effects.
  HWY_INLINE V surrogate(const Vector& x, const Vector& y) const {
    if constexpr (fixed == 1) {
      const V from = x.v[0], to = y.v[0], moved = hn::Sub(to, from);
      if (of.product) {
        const V pull = hn::MulAdd(set(of.direction), field(of.at.h), field(of.at.g));
        return hn::Mul(set(of.precision),
                       hn::NegMulAdd(load(of.bend), rise_of(from, to), hn::Mul(pull, moved)));
      }
      const V squares = hn::MulAdd(from, hn::Add(from, to), hn::Mul(to, to));
      V sum = hn::NegMulAdd(hn::Mul(set(0.5), load(of.bend)), hn::Add(from, to), load(of.linear));
      sum = hn::MulAdd(hn::Mul(set(1.0 / 6), field(of.at.c)), squares, sum);
      sum = hn::Mul(hn::Mul(set(of.precision), moved), sum);
      return has_curves() ? hn::IfThenElse(curved(), curve_change(from, to), sum) : sum;
    }
    Pairs bent;
    for (std::size_t k = 0; k < pairs_of(d()); ++k) bent.v[k] = load(of.bend, k, pairs_of(d()));
    V sum = hn::Mul(set(-0.5), hn::Sub(quadratic(bent, y), quadratic(bent, x)));
    for (std::size_t a = 0; a < d(); ++a)
      sum = hn::MulAdd(load(of.linear, a, d()), hn::Sub(y.v[a], x.v[a]), sum);
    sum = hn::MulAdd(set(1.0 / 6), hn::Sub(cubic(y), cubic(x)), sum);
    return hn::Mul(set(of.precision), sum);
  }
  HWY_INLINE V power(V x) const { return special::exp(Doubles(), hn::Mul(set(of.direction), x)); }
  HWY_INLINE V rise_of(V from, V to) const { return hn::Sub(power(to), power(from)); }

  // Where rows depend on u, for a move of t: K31 |u| x^2 / 2 + K22 u^2 x / 2 + K13 |u|^3 / 6 beside K4 x^3
  // / 6.
  HWY_INLINE V mixed(V x) const {
    const double u = of.second;
    const V sum = hn::MulAdd(load(of.k31), x, hn::Mul(set(u), load(of.k22)));
    return hn::MulAdd(hn::Mul(set(0.5 * u), x), sum, hn::Mul(set(u * u * u / 6), load(of.k13)));
  }
  // Whether |t| <= x and |u| are where the suprema hold.
  HWY_INLINE M within_box(V x, double u) const {
    const bool beyond = of.k31 != nullptr && !(u <= of.width);
    return hn::Le(x, beyond ? set(-1) : field(of.at.box));
  }

  // Infinite for levels that are decided by their own rows.
  HWY_INLINE V expanded(M near, V own) const {
    return of.apart ? hn::IfThenElse(near, own, set(std::numeric_limits<double>::infinity())) : own;
  }

  // With c = |x^c'alpha| at most, b = |z'beta| at most and g = |gamma|, a row's remainder is at most
  // |z'delta| (K3 (c^2 / 2 + c g) + K4 (b + c + g)^3 / 6), where c g <= c^1.5 / 1.5 + g^3 / 3 and
  // (x + g)^3 <= x^3 / w^2 + g^3 / (1 - w)^2.
  HWY_INLINE void bound(const Vector& x, const Vector& y, V& own, V& cross) const {
    const V c = hn::Mul(field(of.at.reach), set(of.length)), half = set(0.5), sixth = set(1.0 / 6);
    cross = zero();
    if constexpr (fixed == 1) {
      if (of.product) {
        // e^c <= 1 + c + c^2 up to c = 1.
        const V one = set(1);
        const V power = hn::AllTrue(Doubles(), hn::Le(c, one)) ? hn::MulAdd(c, hn::Add(one, c), one)
                                                               : special::exp(Doubles(), c);
        const V columns = hn::Mul(hn::Mul(half, hn::Mul(c, c)), power);
        const V rise = hn::Mul(field(of.at.scale), hn::Abs(rise_of(x.v[0], y.v[0])));
        own = hn::MulAdd(set(of.slack * (1 + 1e-6)), hn::Mul(rise, columns), set(1e-300));
        return;
      }
    }
    const V step = norm(minus(y, x)), furthest_norm = hn::Max(norm(x), norm(y)), span = field(of.at.span);
    const V moved = hn::Mul(span, step), reach = hn::MulAdd(span, furthest_norm, c);
    const V furthest = of.crossed ? hn::Add(reach, load(of.others)) : reach;
    const M near = within_box(furthest, of.second);
    const V k3 = hn::IfThenElse(near, field(of.at.k3), field(of.at.k3_all));
    const V k4 = hn::IfThenElse(near, field(of.at.k4), field(of.at.k4_all));
    const V quartic = hn::Mul(sixth, k4);
    if (of.weighted) {
      // (length b + c)^3 <= (length b)^3 / w^2 + c^3 / (1 - w)^2.
      const V mean = hn::Div(field(of.at.sum_fourth), hn::Max(field(of.at.count), set(1)));
      const V b = hn::Mul(hn::Sqrt(hn::Sqrt(mean)), furthest_norm);
      const V w = split(b, c), rest = hn::Sub(set(1), w);
      V columns = hn::MulAdd(hn::Mul(half, k3), hn::Mul(c, c),
                             hn::Div(hn::Mul(quartic, hn::Mul(c, hn::Mul(c, c))), hn::Mul(rest, rest)));
      if (of.k31 != nullptr) columns = hn::Add(columns, mixed(reach));
      const V cube = hn::Mul(furthest_norm, hn::Mul(furthest_norm, furthest_norm));
      const V slack = hn::Mul(set(of.slack), step);
      own = expanded(near, hn::MulAdd(slack, columns, set(1e-300)));
      cross = hn::Mul(slack, hn::Div(hn::Mul(quartic, cube), hn::Mul(w, w)));
      return;
    }
    const V cube = hn::Mul(reach, hn::Mul(reach, reach));
    const V slack = hn::Mul(set(of.slack), moved);
    if (!of.crossed) {
      V sum = hn::MulAdd(hn::Mul(half, k3), hn::Mul(c, c), hn::Mul(quartic, cube));
      if (of.k31 != nullptr) sum = hn::Add(sum, mixed(reach));
      own = expanded(near, hn::MulAdd(slack, sum, set(1e-300)));
      return;
    }
    // Any split will do that is the same for both directions of a move.
    const V w = split(reach, load(of.typical)), rest = hn::Sub(set(1), w);
    const V columns =
        hn::Mul(k3, hn::MulAdd(half, hn::Mul(c, c), hn::Mul(set(1 / 1.5), hn::Mul(c, hn::Sqrt(c)))));
    own = hn::MulAdd(slack, hn::Add(columns, hn::Div(hn::Mul(quartic, cube), hn::Mul(w, w))), set(1e-300));
    cross = hn::Mul(slack, hn::MulAdd(set(1.0 / 3), k3, hn::Div(quartic, hn::Mul(rest, rest))));
  }
  // The cube root of the mean of |gamma|^3.
  HWY_INLINE V typical_of_others() const {
    const V mean = hn::Div(load(of.cubes), hn::Max(field(of.at.count), set(1)));
    const V third = hn::Mul(set(1.0 / 3), special::log(Doubles(), hn::Max(mean, set(1e-300))));
    return special::exp(Doubles(), third);
  }
  // w = x / (x + y), not too near 0 or 1. Any would do.
  HWY_INLINE V split(V x, V y) const {
    const V share = hn::Div(x, hn::Max(hn::Add(x, y), set(1e-300)));
    return hn::Min(set(0.98), hn::Max(set(0.02), share));
  }
  HWY_INLINE void bound_of(const Vector& x, const Vector& y, V& own, V& cross) const {
    bound(x, y, own, cross);
    if (!has_curves()) return;
    const V c = hn::Mul(field(of.at.reach), set(of.length));
    own = hn::IfThenElse(curved(), curve_bound(x.v[0], y.v[0], c), own);
    cross = hn::IfThenZeroElse(curved(), cross);
  }
  // Writes the bound, and the rate: infinite where it is above `share` of the rows.
  HWY_INLINE void store_rate(V own, V cross, double share) const {
    const V count = field(of.at.count);
    V rate = hn::Mul(own, of.weighted ? field(of.at.sum_length) : count);
    if (of.weighted) rate = hn::MulAdd(cross, field(of.at.sum_fourth), rate);
    if (of.crossed) rate = hn::MulAdd(cross, load(of.cubes), rate);
    const V infinity = set(std::numeric_limits<double>::infinity());
    const V limit = hn::Mul(set(share), count);
    store(own, of.own);
    store(cross, of.cross);
    store(hn::IfThenElse(hn::Le(rate, limit), rate, infinity), of.rate);
  }

  // The part of the change that the expansion has, of a move whose bounds are known.
  HWY_INLINE V known(const Vector& x, const Vector& y, V own) const {
    const V change = surrogate(x, y);
    return of.apart ? hn::IfThenElseZero(hn::IsFinite(own), change) : change;
  }

  // The law that a level's effects are proposed from, from the expansion at two steps of Newton's method.
  HWY_INLINE void law(const Vector& mu, Vector& mean, Pairs& l) const {
    const V precision = set(of.precision);
    if constexpr (fixed == 1) {
      const V tau = omega(of.omega, 0, 0);
      if (of.product) {
        V curved;
        product_law(tau, mu.v[0], mean.v[0], curved);
        l.v[0] = hn::Sqrt(curved);
        return;
      }
      const V right = hn::MulAdd(precision, load(of.linear), hn::Mul(tau, mu.v[0]));
      const V here = hn::MulAdd(precision, load(of.bend), tau), cubic = hn::Mul(precision, field(of.at.c));
      // The prior's share is positive even where a likelihood that is not log-concave leaves less.
      const V least = hn::Mul(set(least_precision), hn::Max(hn::MulAdd(precision, field(of.at.h), tau), tau));
      V m = hn::Div(right, hn::Max(here, least));
      const V slope = hn::NegMulAdd(m, hn::NegMulAdd(hn::Mul(set(0.5), cubic), m, here), right);
      m = hn::Add(m, hn::Div(slope, hn::Max(hn::NegMulAdd(cubic, m, here), least)));
      V curvature = hn::Max(hn::NegMulAdd(cubic, m, here), least);
      if (has_curves()) {
        V mode, own;
        curve_law(tau, mu.v[0], mode, own);
        m = hn::IfThenElse(curved(), mode, m);
        curvature = hn::IfThenElse(curved(), hn::Mul(set(curve_width), own), curvature);
      }
      mean.v[0] = m;
      l.v[0] = hn::Sqrt(curvature);
      return;
    }
    Vector right;
    for (std::size_t a = 0; a < d(); ++a) {
      right.v[a] = hn::Mul(precision, load(of.linear, a, d()));
      for (std::size_t b = 0; b < d(); ++b)
        right.v[a] = hn::MulAdd(omega(of.omega, a, b), mu.v[b], right.v[a]);
    }
    Pairs bent;
    for (std::size_t k = 0; k < pairs_of(d()); ++k) bent.v[k] = load(of.bend, k, pairs_of(d()));
    const Pairs here = with_prior(bent, of.omega), reference = with_prior(pairs(of.at.h), of.omega);
    Pairs own;  // the reference's precision, or the prior's where that is not positive
    M good = factor(reference, own);
    if (!hn::AllTrue(Doubles(), good)) {
      Pairs none, prior;
      for (std::size_t k = 0; k < pairs_of(d()); ++k) none.v[k] = zero();
      static_cast<void>(factor(with_prior(none, of.omega), prior));
      own = choose(good, own, prior);
    }
    l = steep_enough(here, reference, own);
    mean = solve_upper(l, solve_lower(l, right));
    Vector slope;
    Pairs curved = here;
    for (std::size_t a = 0; a < d(); ++a) {
      V sum = right.v[a];
      for (std::size_t b = 0; b < d(); ++b)
        sum = hn::NegMulAdd(here.v[a >= b ? pair_at(a, b) : pair_at(b, a)], mean.v[b], sum);
      slope.v[a] = hn::MulAdd(hn::Mul(set(0.5), precision), cubic_slope(mean, a), sum);
      for (std::size_t b = 0; b <= a; ++b) {
        V taken = zero();
        for (std::size_t e = 0; e < d(); ++e) taken = hn::MulAdd(triple(a, b, e), mean.v[e], taken);
        curved.v[pair_at(a, b)] = hn::NegMulAdd(precision, taken, curved.v[pair_at(a, b)]);
      }
    }
    l = steep_enough(curved, reference, own);
    const Vector step = solve_upper(l, solve_lower(l, slope));
    for (std::size_t a = 0; a < d(); ++a) mean.v[a] = hn::Add(mean.v[a], step.v[a]);
  }
  // The triangle of a precision; of another where the cubic terms have taken too much of it.
  HWY_INLINE Pairs steep_enough(const Pairs& p, const Pairs& reference, const Pairs& other) const {
    Pairs left, l;
    for (std::size_t k = 0; k < pairs_of(d()); ++k)
      left.v[k] = hn::NegMulAdd(set(least_precision), reference.v[k], p.v[k]);
    const M steep = factor(left, l), good = hn::And(factor(p, l), steep);
    return choose(good, l, other);
  }
};

}  // namespace mlo::level_passes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// Calls f<d> for every register of every block.
#undef MLO_OVER_LEVELS
#define MLO_OVER_LEVELS(levels, range, lanes, ...)                                 \
  for (std::size_t block = (range).first; block < (range).last; ++block)           \
    for (std::size_t part = 0; part < level_lanes; part += hn::Lanes(Doubles())) { \
      const Lanes<fixed> lanes{(levels), block, part};                             \
      __VA_ARGS__                                                                  \
    }

// The usual numbers of effects are constants.
// NOLINTBEGIN(bugprone-macro-parentheses)
#undef MLO_BY_EFFECTS
#define MLO_BY_EFFECTS(Result, Name, Parameters, Arguments) \
  Result Name Parameters {                                  \
    if (levels.at.d == 1) return Name##Of<1> Arguments;     \
    if (levels.at.d == 2) return Name##Of<2> Arguments;     \
    return Name##Of<0> Arguments;                           \
  }
// NOLINTEND(bugprone-macro-parentheses)

#endif  // the toggled guard
