// Copyright (c) the mlo authors. BSD-3-Clause.
// Moves of effects, alone and with their covariance.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/level_lanes.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
//
#include "kernel/level_lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mlo::level_passes::HWY_NAMESPACE {

template <int fixed>
void PrepareOf(const Levels& levels, const double* alpha, Range range) {
  MLO_OVER_LEVELS(levels, range, of, {
    const std::size_t d = of.d(), q = levels.at.q;
    for (std::size_t a = 0; a < d; ++a) {
      const V columns = of.times(levels.at.hx + a * q, alpha);
      const V g = hn::Add(of.field(levels.at.g + a), columns);
      of.store(levels.crossed ? hn::Add(g, of.load(levels.cell_linear)) : g, levels.linear, a, d);
      // Of a product: the sum of the scales times the columns' part.
      if (levels.product)
        of.store(hn::NegMulAdd(set(levels.direction), columns, of.field(levels.at.h)), levels.bend);
    }
    if (levels.crossed) of.store(of.typical_of_others(), levels.typical);
    if (fixed == 1 && levels.anchor != nullptr) {
      V mode;
      V curved;
      of.newton_law(set(levels.anchor_omega), of.prior_mean().v[0], mode, curved);
      of.store(mode, levels.anchor);
      of.store(of.power(mode), levels.anchor_power);
    }
    for (std::size_t k = 0; k < pairs_of(d) && !levels.product; ++k) {
      const V bend = hn::Sub(of.field(levels.at.h + k), of.times(levels.at.s + k * q, alpha));
      of.store(levels.crossed ? hn::Sub(bend, of.load(levels.cell_bend)) : bend, levels.bend, k, pairs_of(d));
    }
  })
}

template <int fixed>
void ProposeOf(const Levels& levels, const double* noise, const double* walks, Range range) {
  const double* const noise_from_zero = noise - range.first * level_lanes * levels.at.d;
  MLO_OVER_LEVELS(levels, range, of, {
    const std::size_t d = of.d();
    const auto mu = of.prior_mean(), beta = of.vector(levels.beta);
    typename Lanes<fixed>::Vector mean;
    typename Lanes<fixed>::Vector z;
    typename Lanes<fixed>::Vector next;
    typename Lanes<fixed>::Pairs l;
    of.law(mu, mean, l);
    for (std::size_t a = 0; a < d; ++a) z.v[a] = of.load(noise_from_zero, a, d);
    const auto away = of.solve_upper(l, z);
    for (std::size_t a = 0; a < d; ++a) next.v[a] = hn::MulAdd(set(wider), away.v[a], mean.v[a]);
    const auto back = of.times_upper(l, of.minus(beta, mean));
    V ratio = hn::Mul(set(0.5), hn::NegMulAdd(set(1 / (wider * wider)), of.square(back), of.square(z)));
    if (walks != nullptr) {
      const M walk = hn::Gt(of.load(walks - range.first * level_lanes), zero());
      for (std::size_t a = 0; a < d; ++a)
        next.v[a] =
            hn::IfThenElse(walk, hn::MulAdd(set(d == 1 ? 2.0 : 1.5), away.v[a], beta.v[a]), next.v[a]);
      ratio = hn::IfThenElse(walk, zero(), ratio);
    }
    const V prior = hn::Sub(of.quadratic(levels.omega, of.minus(next, mu)),
                            of.quadratic(levels.omega, of.minus(beta, mu)));
    ratio = hn::NegMulAdd(set(0.5), prior, ratio);
    of.store_vector(next, levels.next);
    if (!levels.all_rows) {
      V own = zero();
      V cross = zero();
      if (levels.bounded) {
        of.bound_of(beta, next, own, cross);
        of.store_rate(own, cross, pass_share);
      }
      ratio = hn::Add(ratio, of.known(beta, next, own));
    }
    of.store(hn::IfThenElse(hn::Gt(of.field(levels.at.open), zero()), ratio,
                            set(-std::numeric_limits<double>::infinity())),
             levels.ratio);
    if (levels.bounded)
      of.store(hn::IfThenElseZero(hn::Gt(of.field(levels.at.open), zero()), of.load(levels.rate)),
               levels.rate);
  })
}

double Accept(const Levels& levels, const double* uniforms, Range range) {
  const double* const from = uniforms - range.first * level_lanes;
  const std::size_t d = levels.at.d;
  V count = zero();
  for (std::size_t block = range.first; block < range.last; ++block)
    for (std::size_t part = 0; part < level_lanes; part += hn::Lanes(Doubles())) {
      const std::size_t at = block * level_lanes + part;
      const M yes = hn::Lt(special::log(Doubles(), hn::LoadU(Doubles(), from + at)),
                           hn::LoadU(Doubles(), levels.ratio + at));
      const V taken = hn::IfThenElseZero(yes, set(1));
      hn::StoreU(taken, Doubles(), levels.taken + at);
      count = hn::Add(count, taken);
      for (std::size_t a = 0; a < d; ++a) {
        const std::size_t place = (block * d + a) * level_lanes + part;
        const V beta = hn::LoadU(Doubles(), levels.beta + place),
                next = hn::LoadU(Doubles(), levels.next + place);
        hn::StoreU(hn::IfThenElse(yes, next, beta), Doubles(), levels.beta + place);
      }
    }
  return sum_of(count);
}

template <int fixed>
double AllMovedOf(const Levels& levels, Range range) {
  V sum = zero();
  MLO_OVER_LEVELS(levels, range, of, {
    const auto beta = of.vector(levels.beta), next = of.vector(levels.next);
    V own = zero();
    V cross = zero();
    if (levels.bounded) {
      of.bound_of(beta, next, own, cross);
      of.store_rate(own, cross, 1);
    }
    sum = hn::Add(sum, of.known(beta, next, own));
  })
  return sum_of(sum);
}

// The mean and the precision of the only effect's law, as the expansion gives them with the prior's.
HWY_INLINE void effect_moments(const Lanes<1>& of, V tau, V at, V& mean, V& precision) {
  const Levels& levels = of.of;
  if (levels.product) return of.product_law(tau, at, mean, precision);
  const V bend = hn::Max(of.load(levels.bend), hn::Mul(set(least_precision), of.field(levels.at.h)));
  const V slope = hn::Mul(set(levels.precision), of.load(levels.linear));
  precision = hn::Add(hn::Max(hn::Mul(set(levels.precision), bend), zero()), tau);
  mean = hn::Div(hn::MulAdd(tau, at, slope), precision);
  if (!of.has_curves()) return;
  V mode;
  V own;
  of.curve_law(tau, at, mode, own);
  mean = hn::IfThenElse(of.curved(), mode, mean);
  precision = hn::IfThenElse(of.curved(), own, precision);
}

template <int fixed>
double RescaleOf(const Levels& levels, const double* omega, Range range) {
  V sum = zero();
  MLO_OVER_LEVELS(levels, range, of, {
    const std::size_t d = of.d();
    const auto mu = of.prior_mean(), beta = of.vector(levels.beta);
    typename Lanes<fixed>::Vector next;
    if constexpr (fixed == 1) {
      V m;
      V p;
      V m_next;
      V p_next;
      effect_moments(of, of.omega(levels.omega, 0, 0), mu.v[0], m, p);
      effect_moments(of, of.omega(omega, 0, 0), mu.v[0], m_next, p_next);
      const V ratio = hn::Div(p, p_next);
      next.v[0] = hn::MulAdd(hn::Sub(beta.v[0], m), hn::Sqrt(ratio), m_next);
      sum = hn::MulAdd(set(0.5), special::log(Doubles(), ratio), sum);
    } else {
      // Without the likelihood where it is not concave enough for either precision.
      const auto h = of.pairs(levels.at.h);
      typename Lanes<fixed>::Pairs here;
      typename Lanes<fixed>::Pairs there;
      const M good =
          hn::And(of.factor(of.with_prior(h, levels.omega), here), of.factor(of.with_prior(h, omega), there));
      if (!hn::AllTrue(Doubles(), good)) {
        auto kept = h;
        for (std::size_t k = 0; k < pairs_of(d); ++k) kept.v[k] = hn::IfThenElseZero(good, h.v[k]);
        static_cast<void>(of.factor(of.with_prior(kept, levels.omega), here));
        static_cast<void>(of.factor(of.with_prior(kept, omega), there));
      }
      typename Lanes<fixed>::Vector right;
      typename Lanes<fixed>::Vector right_next;
      for (std::size_t a = 0; a < d; ++a) {
        right.v[a] = right_next.v[a] = hn::Mul(set(levels.precision), of.load(levels.linear, a, d));
        for (std::size_t b = 0; b < d; ++b) {
          right.v[a] = hn::MulAdd(of.omega(levels.omega, a, b), mu.v[b], right.v[a]);
          right_next.v[a] = hn::MulAdd(of.omega(omega, a, b), mu.v[b], right_next.v[a]);
        }
      }
      const auto m = of.solve_upper(here, of.solve_lower(here, right));
      const auto m_next = of.solve_upper(there, of.solve_lower(there, right_next));
      const auto moved = of.solve_upper(there, of.times_upper(here, of.minus(beta, m)));
      V stretch = set(1);
      for (std::size_t a = 0; a < d; ++a) {
        next.v[a] = hn::Add(m_next.v[a], moved.v[a]);
        stretch = hn::Mul(stretch, hn::Div(here.v[pair_at(a, a)], there.v[pair_at(a, a)]));
      }
      sum = hn::Add(sum, special::log(Doubles(), stretch));
    }
    of.store_vector(next, levels.next);
    const V prior =
        hn::Sub(of.quadratic(omega, of.minus(next, mu)), of.quadratic(levels.omega, of.minus(beta, mu)));
    sum = hn::NegMulAdd(set(0.5), prior, sum);
  })
  return sum_of(sum);
}

template <int fixed>
void EffectSumsOf(const Levels& levels, double* sums, double* squares, Range range) {
  Lanes<fixed> zeros{levels, 0, 0};
  const std::size_t d = zeros.d();
  typename Lanes<fixed>::Vector sum;
  typename Lanes<fixed>::Pairs square;
  for (std::size_t a = 0; a < d; ++a) sum.v[a] = zero();
  for (std::size_t k = 0; k < pairs_of(d); ++k) square.v[k] = zero();
  MLO_OVER_LEVELS(levels, range, of, {
    const auto b = of.minus(of.vector(levels.beta), of.prior_mean());
    for (std::size_t a = 0; a < d; ++a) {
      sum.v[a] = hn::Add(sum.v[a], b.v[a]);
      for (std::size_t e = 0; e <= a; ++e)
        square.v[pair_at(a, e)] = hn::MulAdd(b.v[a], b.v[e], square.v[pair_at(a, e)]);
    }
  })
  for (std::size_t a = 0; a < d; ++a) sums[a] += sum_of(sum.v[a]);
  for (std::size_t k = 0; k < pairs_of(d); ++k) squares[k] += sum_of(square.v[k]);
}

template <int fixed>
SignedSums SignedSumOf(const Levels& levels, std::size_t effect, double sigma, Range range) {
  V information = zero(), linear = zero();
  const V inverse = set(1 / sigma);
  MLO_OVER_LEVELS(levels, range, of, {
    const std::size_t d = of.d(), own = pair_at(effect, effect);
    const V mu = hn::Sub(of.load(levels.ma, effect, d), of.field(levels.at.b + effect));
    const V z = hn::Mul(hn::Sub(of.load(levels.beta, effect, d), mu), inverse);
    const V bend = of.load(levels.bend, own, pairs_of(d));
    V slope = hn::NegMulAdd(bend, mu, of.load(levels.linear, effect, d));
    for (std::size_t a = 0; a < d; ++a)
      if (a != effect)
        slope = hn::NegMulAdd(
            of.load(levels.bend, a > effect ? pair_at(a, effect) : pair_at(effect, a), pairs_of(d)),
            of.load(levels.beta, a, d), slope);
    const V least = hn::Mul(set(least_precision), of.field(levels.at.h + own));
    const V filled = hn::IfThenElseZero(hn::Gt(of.field(levels.at.count), zero()), hn::Max(bend, least));
    information = hn::MulAdd(hn::Mul(z, z), filled, information);
    linear = hn::MulAdd(z, slope, linear);
  })
  return {levels.precision * sum_of(information), levels.precision * sum_of(linear)};
}

template <int fixed>
void MultiplyEffectOf(const Levels& levels, std::size_t effect, double ratio, Range range) {
  MLO_OVER_LEVELS(levels, range, of, {
    const std::size_t d = of.d();
    const auto beta = of.vector(levels.beta), mu = of.prior_mean();
    for (std::size_t a = 0; a < d; ++a)
      of.store(a == effect ? hn::MulAdd(set(ratio), hn::Sub(beta.v[a], mu.v[a]), mu.v[a]) : beta.v[a],
               levels.next, a, d);
  })
}

MLO_BY_EFFECTS(void, Prepare, (const Levels& levels, const double* alpha, Range range),
               (levels, alpha, range))
MLO_BY_EFFECTS(void, Propose, (const Levels& levels, const double* noise, const double* walks, Range range),
               (levels, noise, walks, range))
MLO_BY_EFFECTS(double, AllMoved, (const Levels& levels, Range range), (levels, range))
MLO_BY_EFFECTS(double, Rescale, (const Levels& levels, const double* omega, Range range),
               (levels, omega, range))
MLO_BY_EFFECTS(void, EffectSums, (const Levels& levels, double* sums, double* squares, Range range),
               (levels, sums, squares, range))
MLO_BY_EFFECTS(SignedSums, SignedSum, (const Levels& levels, std::size_t effect, double sigma, Range range),
               (levels, effect, sigma, range))
MLO_BY_EFFECTS(void, MultiplyEffect, (const Levels& levels, std::size_t effect, double ratio, Range range),
               (levels, effect, ratio, range))

}  // namespace mlo::level_passes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlo::level_passes {

HWY_EXPORT(Prepare);
HWY_EXPORT(Propose);
HWY_EXPORT(Accept);
HWY_EXPORT(AllMoved);
HWY_EXPORT(Rescale);
HWY_EXPORT(EffectSums);
HWY_EXPORT(SignedSum);
HWY_EXPORT(MultiplyEffect);

void prepare(const Levels& levels, const double* alpha, Range range) {
  HWY_DYNAMIC_DISPATCH(Prepare)(levels, alpha, range);
}
void propose(const Levels& levels, const double* noise, const double* walks, Range range) {
  HWY_DYNAMIC_DISPATCH(Propose)(levels, noise, walks, range);
}
double accept(const Levels& levels, const double* uniforms, Range range) {
  return HWY_DYNAMIC_DISPATCH(Accept)(levels, uniforms, range);
}
double move_of_all(const Levels& levels, Range range) {
  return HWY_DYNAMIC_DISPATCH(AllMoved)(levels, range);
}
double rescale(const Levels& levels, const double* omega, Range range) {
  return HWY_DYNAMIC_DISPATCH(Rescale)(levels, omega, range);
}
void effect_sums(const Levels& levels, double* sums, double* squares, Range range) {
  HWY_DYNAMIC_DISPATCH(EffectSums)(levels, sums, squares, range);
}
SignedSums signed_sums(const Levels& levels, std::size_t effect, double sigma, Range range) {
  return HWY_DYNAMIC_DISPATCH(SignedSum)(levels, effect, sigma, range);
}
void multiply_effect(const Levels& levels, std::size_t effect, double ratio, Range range) {
  HWY_DYNAMIC_DISPATCH(MultiplyEffect)(levels, effect, ratio, range);
}

}  // namespace mlo::level_passes
#endif
