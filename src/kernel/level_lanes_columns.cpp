// Copyright (c) the mlo authors. BSD-3-Clause.
// Moves of the columns' coefficients, and the expansion as a whole.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/level_lanes_columns.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
//
#include "kernel/level_lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mlo::level_passes::HWY_NAMESPACE {

template <int fixed>
void ApplyMOf(const Levels& levels, const double* alpha, Range range) {
  MLO_OVER_LEVELS(levels, range, of, {
    for (std::size_t a = 0; a < of.d(); ++a)
      of.store(of.times(levels.at.m + a * levels.at.q, alpha), levels.ma, a, of.d());
  })
}

template <int fixed>
void ShiftAlongMOf(const Levels& levels, const double* v, Range range) {
  // Mostly along one column: the others' fields are not read.
  std::size_t first = 0, last = levels.at.q;
  while (first < last && v[first] == 0) ++first;
  while (first < last && v[last - 1] == 0) --last;
  MLO_OVER_LEVELS(levels, range, of, {
    for (std::size_t a = 0; a < of.d(); ++a) {
      V moved = zero();
      for (std::size_t j = first; j < last; ++j)
        moved = hn::MulAdd(of.field(levels.at.m + a * levels.at.q + j), set(v[j]), moved);
      of.store(hn::Add(of.load(levels.ma, a, of.d()), moved), levels.ma, a, of.d());
      of.store(hn::Add(of.load(levels.beta, a, of.d()), moved), levels.beta, a, of.d());
    }
  })
}

// Sums of q numbers, a register of each.
constexpr std::size_t most_sums = 64;

template <int fixed>
void CoefficientSlopesOf(const Levels& levels, double* sums, Range range) {
  const std::size_t q = levels.at.q, lanes = hn::Lanes(Doubles());
  for (std::size_t begin = 0; begin < q; begin += most_sums) {
    const std::size_t end = begin + most_sums < q ? begin + most_sums : q;
    double totals[most_sums * level_lanes] = {};
    MLO_OVER_LEVELS(levels, range, of, {
      const std::size_t d = of.d();
      const auto beta = of.vector(levels.beta);
      for (std::size_t a = 0; a < d; ++a) {
        V owed = zero();
        for (std::size_t b = 0; b < d; ++b)
          owed =
              hn::MulAdd(of.omega(levels.omega, a, b), hn::Add(of.field(levels.at.b + b), beta.v[b]), owed);
        // Of a product, the slope along the columns grows with e^(direction beta).
        V weight =
            hn::Mul(set(levels.precision),
                    levels.product ? hn::Mul(set(levels.direction), hn::Sub(of.power(beta.v[a]), set(1)))
                                   : beta.v[a]);
        V bent = hn::Mul(hn::Mul(set(0.5), weight), beta.v[a]);
        if (levels.rides && of.has_curves()) {
          const M riding = of.riding(beta.v[a]);
          const V phi = of.phi(beta.v[a]);
          of.store(phi, levels.phi);
          weight = hn::IfThenElse(riding, phi, weight);
          bent = hn::IfThenZeroElse(riding, bent);
        }
        for (std::size_t j = begin; j < end; ++j) {
          double* const total = totals + (j - begin) * level_lanes;
          V sum = hn::MulAdd(weight, of.field(levels.at.hx + a * q + j), hn::LoadU(Doubles(), total));
          sum = hn::MulAdd(owed, of.field(levels.at.m + a * q + j), sum);
          if (!levels.product)
            for (std::size_t b = 0; b <= a; ++b)
              sum = hn::MulAdd(a == b ? bent : hn::Mul(weight, beta.v[b]),
                               of.field(levels.at.s + pair_at(a, b) * q + j), sum);
          hn::StoreU(sum, Doubles(), total);
        }
      }
    })
    for (std::size_t j = begin; j < end; ++j)
      for (std::size_t k = 0; k < lanes; ++k) sums[j] += totals[(j - begin) * level_lanes + k];
  }
}

template <int fixed>
Sizes AllSizesOf(const Levels& levels, Range range) {
  V squares = zero(), weights = zero(), most = zero();
  MLO_OVER_LEVELS(levels, range, of, {
    const V b = of.size(of.vector(levels.beta));
    const V weight = hn::Mul(of.field(levels.at.count), of.field(levels.at.reach));
    squares = hn::MulAdd(weight, hn::Mul(b, b), squares);
    weights = hn::Add(weights, weight);
    most = hn::Max(most, b);
  })
  return {sum_of(squares), sum_of(weights), hn::GetLane(hn::MaxOfLanes(Doubles(), most))};
}

template <int fixed>
double ColumnSharesOf(const Levels& levels, const ColumnMove& move, Range range) {
  V total = zero();
  const V half = set(0.5);
  MLO_OVER_LEVELS(levels, range, of, {
    const V reach = of.field(levels.at.reach), u = hn::Mul(reach, set(move.length));
    V share;
    if (levels.product) {
      const V power = of.power(of.load(levels.beta));
      const V grown = hn::Mul(hn::Mul(power, special::exp(Doubles(), u)), hn::Mul(half, hn::Mul(u, u)));
      share = hn::Mul(of.field(levels.at.scale), hn::MulAdd(hn::Abs(hn::Sub(power, set(1))), u, grown));
    } else {
      const V b = of.size(of.vector(levels.beta));
      const M near = of.within_box(hn::Add(hn::Add(u, b), set(move.others)), levels.second);
      const V k3 = hn::IfThenElse(near, of.field(levels.at.k3), of.field(levels.at.k3_all));
      const V k4 = hn::IfThenElse(near, of.field(levels.at.k4), of.field(levels.at.k4_all));
      const V x = move.first ? hn::Add(u, b) : b;
      V third = hn::Mul(b, hn::MulAdd(set(move.cross), b, u));
      if (move.first) third = hn::MulAdd(half, hn::Mul(u, u), third);
      const V fourth = hn::Mul(set(move.split / 6), hn::Mul(x, hn::Mul(x, x)));
      share = hn::MulAdd(k3, third, hn::Mul(k4, fourth));
      if (levels.k31 != nullptr) share = hn::Add(share, of.mixed(x));
      if (levels.rides && of.has_curves()) {
        const V beta = of.load(levels.beta);
        share = hn::IfThenElse(of.riding(beta), of.curve_slope_bound(beta, u, set(move.others)), share);
      }
    }
    share = hn::Mul(hn::Mul(set(move.slack * move.step), reach), share);
    const V rate = hn::Mul(share, of.field(levels.at.count));
    of.store(share, levels.own);
    of.store(rate, levels.rate);
    total = hn::Add(total, rate);
  })
  return sum_of(total);
}

// What the expansion leaves of a row is at most K3 (u^3 / 6 + u^2 |G| / 2 + u sum of |G_j G_k|) + K4 (u +
// |G|)^4 / 24, with the same shares as above; of a product, scale (e^(d b) u^3 e^u / 6 + |e^(d b) - 1| u^2 /
// 2). Of a surface, with v the larger |u| of the second parameter, it changes by at most K04 v^3 / 6 + K13
// v^2 t / 2 + K22 v t^2 / 2 + K31 t^3 / 6 per unit of the parameter.
template <int fixed>
void SecondSharesOf(const Levels& levels, const ColumnMove& move, Range range) {
  const V half = set(0.5), sixth = set(1.0 / 6), infinity = set(std::numeric_limits<double>::infinity());
  MLO_OVER_LEVELS(levels, range, of, {
    const V u = hn::Mul(of.field(levels.at.reach), set(move.length)), square = hn::Mul(u, u);
    V share;
    if (levels.k31 != nullptr) {
      const V t = hn::Add(u, of.size(of.vector(levels.beta)));
      const V v = set(move.second);
      const V threes =
          hn::MulAdd(hn::Mul(sixth, of.load(levels.k04)), v, hn::Mul(hn::Mul(half, t), of.load(levels.k13)));
      const V ones =
          hn::MulAdd(hn::Mul(half, of.load(levels.k22)), v, hn::Mul(hn::Mul(sixth, t), of.load(levels.k31)));
      share = hn::MulAdd(hn::Mul(v, v), threes, hn::Mul(hn::Mul(t, t), ones));
      share = hn::IfThenElse(of.within_box(t, move.second), share, infinity);
    } else if (levels.product) {
      const V power = of.power(of.load(levels.beta));
      const V grown = hn::Mul(hn::Mul(power, special::exp(Doubles(), u)), hn::Mul(sixth, u));
      const V sum = hn::MulAdd(half, hn::Abs(hn::Sub(power, set(1))), grown);
      share = hn::Mul(hn::Mul(set(1 + 1e-6), of.field(levels.at.scale)), hn::Mul(square, sum));
    } else {
      const V b = of.size(of.vector(levels.beta));
      const M near = hn::Le(hn::Add(hn::Add(u, b), set(move.others)), of.field(levels.at.box));
      const V k3 = hn::IfThenElse(near, of.field(levels.at.k3), of.field(levels.at.k3_all));
      const V k4 = hn::IfThenElse(near, of.field(levels.at.k4), of.field(levels.at.k4_all));
      V third = hn::Mul(hn::Mul(u, b), hn::MulAdd(half, u, hn::Mul(set(move.cross), b)));
      if (move.first) third = hn::MulAdd(hn::Mul(sixth, u), square, third);
      const V x = move.first ? hn::Add(u, b) : b, fourth = hn::Mul(hn::Mul(x, x), hn::Mul(x, x));
      share = hn::MulAdd(k3, third, hn::Mul(hn::Mul(set(move.split / 24), k4), fourth));
    }
    share = hn::MulAdd(set(move.slack * move.step), share, set(1e-300));
    of.store(share, levels.own);
    of.store(
        hn::IfThenElse(hn::Le(share, set(move.whole)), hn::Mul(share, of.field(levels.at.count)), infinity),
        levels.rate);
  })
}

template <int fixed>
double PolynomialOf(const Levels& levels, const double* alpha, Own own, Range range) {
  const bool crossed = levels.crossed && own == Own::all;
  V sum = zero();
  MLO_OVER_LEVELS(levels, range, of, {
    const std::size_t d = of.d(), q = levels.at.q;
    const auto beta = of.vector(levels.beta);
    if (levels.product) {  // what a move of the effect from 0 would change
      const V direction = set(levels.direction), h = of.field(levels.at.h);
      const V bend = hn::NegMulAdd(direction, of.times(levels.at.hx, alpha), h);
      const V pull = hn::MulAdd(direction, h, of.field(levels.at.g));
      const V rise = hn::Sub(of.power(beta.v[0]), set(1));
      sum = hn::Add(sum, hn::NegMulAdd(bend, rise, hn::Mul(pull, beta.v[0])));
      continue;
    }
    for (std::size_t a = 0; a < d; ++a) {
      V slope = of.times(levels.at.hx + a * q, alpha);
      if (own != Own::none) slope = hn::Add(slope, of.field(levels.at.g + a));
      if (crossed) slope = hn::Add(slope, of.load(levels.cell_linear));
      for (std::size_t b = 0; b <= a; ++b) {
        V bend = of.times(levels.at.s + pair_at(a, b) * q, alpha);
        if (own != Own::none) bend = hn::Sub(bend, of.field(levels.at.h + pair_at(a, b)));
        if (crossed) bend = hn::Add(bend, of.load(levels.cell_bend));
        slope = hn::MulAdd(hn::Mul(set(a == b ? 0.5 : 1.0), bend), beta.v[b], slope);
      }
      sum = hn::MulAdd(slope, beta.v[a], sum);
    }
    if (own != Own::none) sum = hn::MulAdd(set(1.0 / 6), of.cubic(beta), sum);
  })
  return sum_of(sum);
}

MLO_BY_EFFECTS(void, ApplyM, (const Levels& levels, const double* alpha, Range range), (levels, alpha, range))
MLO_BY_EFFECTS(void, ShiftAlongM, (const Levels& levels, const double* v, Range range), (levels, v, range))
MLO_BY_EFFECTS(void, CoefficientSlopes, (const Levels& levels, double* sums, Range range),
               (levels, sums, range))
MLO_BY_EFFECTS(Sizes, AllSizes, (const Levels& levels, Range range), (levels, range))
MLO_BY_EFFECTS(double, ColumnShares, (const Levels& levels, const ColumnMove& move, Range range),
               (levels, move, range))
MLO_BY_EFFECTS(void, SecondShares, (const Levels& levels, const ColumnMove& move, Range range),
               (levels, move, range))
MLO_BY_EFFECTS(double, Polynomial, (const Levels& levels, const double* alpha, Own own, Range range),
               (levels, alpha, own, range))

}  // namespace mlo::level_passes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlo::level_passes {

HWY_EXPORT(ApplyM);
HWY_EXPORT(ShiftAlongM);
HWY_EXPORT(CoefficientSlopes);
HWY_EXPORT(AllSizes);
HWY_EXPORT(ColumnShares);
HWY_EXPORT(SecondShares);
HWY_EXPORT(Polynomial);

void apply_m(const Levels& levels, const double* alpha, Range range) {
  HWY_DYNAMIC_DISPATCH(ApplyM)(levels, alpha, range);
}
void shift_along_m(const Levels& levels, const double* v, Range range) {
  HWY_DYNAMIC_DISPATCH(ShiftAlongM)(levels, v, range);
}
void coefficient_slopes(const Levels& levels, double* sums, Range range) {
  HWY_DYNAMIC_DISPATCH(CoefficientSlopes)(levels, sums, range);
}
Sizes sizes(const Levels& levels, Range range) { return HWY_DYNAMIC_DISPATCH(AllSizes)(levels, range); }
double column_shares(const Levels& levels, const ColumnMove& move, Range range) {
  return HWY_DYNAMIC_DISPATCH(ColumnShares)(levels, move, range);
}
void second_shares(const Levels& levels, const ColumnMove& move, Range range) {
  HWY_DYNAMIC_DISPATCH(SecondShares)(levels, move, range);
}
double polynomial(const Levels& levels, const double* alpha, Own own, Range range) {
  return HWY_DYNAMIC_DISPATCH(Polynomial)(levels, alpha, own, range);
}

}  // namespace mlo::level_passes
#endif
