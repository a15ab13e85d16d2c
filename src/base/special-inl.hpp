// Copyright (c) the mlo authors. BSD-3-Clause.
// exp, log and their relatives on one Highway vector of doubles; for kernels that compute in registers.
// Included once per instruction set by foreach_target.h, hence the toggled guard instead of #pragma once.
//
// Our own versions, because those of Highway 1.0.3 (contrib/math) are accurate only inside their ranges:
// their exp(NaN) is 0, so a NaN would become a likelihood, their log(0) is -746 and their log(inf) 709.8.
// These accept every double. The polynomials are minimax (Remez in 300-bit arithmetic) with coefficients
// rounded to double; their errors are 2^-57.9 for exp and 2^-59.4 for log, so rounding dominates.
#if defined(MLO_BASE_SPECIAL_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MLO_BASE_SPECIAL_INL_HPP
#undef MLO_BASE_SPECIAL_INL_HPP
#else
#define MLO_BASE_SPECIAL_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace mlo::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// ln 2 in two parts; the low 21 bits of the first are zero, so that its product with an exponent is exact.
inline constexpr double kLn2High = 0x1.62e42feep-1;
inline constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

// 1.5 * 2^52: adding it leaves the nearest integer in the low bits of the sum, subtracting it again rounds.
inline constexpr double kRound = 0x1.8p52;
// The same plus the bias of the exponent: the low bits, shifted up by 52, are then the double 2^k itself.
inline constexpr double kRoundBiased = 0x1.8p52 + 1023;

// e^x for -746 <= x <= 710 or NaN: e^x = 2^k e^r with |r| <= ln(2)/2. 2^k is applied in two halves, because k
// itself is outside a double's range of exponents if the result is subnormal or overflows; only the last
// product rounds.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_in_range(D d, V x) {
  const hn::RebindToUnsigned<D> bits;
  const V round = hn::Set(d, kRound);
  const V k = hn::Sub(hn::MulAdd(x, hn::Set(d, 0x1.71547652b82fep0), round), round);
  const V r = hn::NegMulAdd(k, hn::Set(d, kLn2Low), hn::NegMulAdd(k, hn::Set(d, kLn2High), x));

  // e^r = 1 + r + r^2 q(r); even and odd powers separately: half the latency of Horner's scheme for one more
  // product.
  const V r2 = hn::Mul(r, r);
  V even = hn::MulAdd(r2, hn::Set(d, 0x1.28ad68b8d2320p-22), hn::Set(d, 0x1.a0199a16cd2c5p-16));
  V odd = hn::MulAdd(r2, hn::Set(d, 0x1.ad7f78551a131p-26), hn::Set(d, 0x1.71df253bd7005p-19));
  even = hn::MulAdd(even, r2, hn::Set(d, 0x1.6c16c1842672cp-10));
  odd = hn::MulAdd(odd, r2, hn::Set(d, 0x1.a01a012a68f96p-13));
  even = hn::MulAdd(even, r2, hn::Set(d, 0x1.555555555088cp-5));
  odd = hn::MulAdd(odd, r2, hn::Set(d, 0x1.1111111127b9ep-7));
  even = hn::MulAdd(even, r2, hn::Set(d, 0x1.000000000000ap-1));
  odd = hn::MulAdd(odd, r2, hn::Set(d, 0x1.55555555554fap-3));
  const V q = hn::MulAdd(odd, r, even);
  const V e_r = hn::Add(hn::MulAdd(q, r2, r), hn::Set(d, 1.0));

  const V biased = hn::Set(d, kRoundBiased);
  const V half = hn::MulAdd(k, hn::Set(d, 0.5), biased);
  const V rest = hn::Add(hn::Sub(k, hn::Sub(half, biased)), biased);
  const V scale_half = hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(bits, half)));
  const V scale_rest = hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(bits, rest)));
  return hn::Mul(hn::Mul(e_r, scale_half), scale_rest);
}

// e^x for x <= 0 or NaN. Compare and select, not Max: what Max does to a NaN differs between instruction
// sets.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_of_nonpositive(D d, V x) {
  const V low = hn::Set(d, -746.0);
  return exp_in_range(d, hn::IfThenElse(hn::Lt(x, low), low, x));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp(D d, V x) {
  const V high = hn::Set(d, 710.0);
  return exp_of_nonpositive(d, hn::IfThenElse(hn::Gt(x, high), high, x));
}

// p(z) in 2 atanh(s) = 2 s + s z p(z), z = s^2, for |s| <= 1/3.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V atanh_polynomial(D d, V z) {
  const V z2 = hn::Mul(z, z);
  V even = hn::MulAdd(z2, hn::Set(d, 0x1.55cf5afd93462p-4), hn::Set(d, 0x1.10682ee39bc88p-3));
  V odd = hn::MulAdd(z2, hn::Set(d, 0x1.5c5c20c0df457p-3), hn::Set(d, 0x1.efd18c9d5ba73p-4));
  even = hn::MulAdd(even, z2, hn::Set(d, 0x1.745cb459bce36p-3));
  odd = hn::MulAdd(odd, z2, hn::Set(d, 0x1.3b1dd3abe6037p-3));
  even = hn::MulAdd(even, z2, hn::Set(d, 0x1.2492492091132p-2));
  odd = hn::MulAdd(odd, z2, hn::Set(d, 0x1.c71c741a06386p-3));
  even = hn::MulAdd(even, z2, hn::Set(d, 0x1.5555555555535p-1));
  odd = hn::MulAdd(odd, z2, hn::Set(d, 0x1.99999999a06c1p-2));
  return hn::MulAdd(odd, z, even);
}

// f - log(1 + f) for -0.3 < f <= 1, by log(1 + f) = 2 atanh(s) with s = f / (2 + f). The caller subtracts it
// from f; it is the smaller of the two, so its rounding errors matter little.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V excess_over_log1p(D d, V f) {
  const V s = hn::Div(f, hn::Add(f, hn::Set(d, 2.0)));
  const V z = hn::Mul(s, s);
  return hn::Mul(s, hn::NegMulAdd(z, atanh_polynomial(d, z), f));  // f - 2 s = s f
}

// log(1 + t) for 0 <= t <= 1 or NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log1p_of_unit(D d, V t) {
  return hn::Sub(t, excess_over_log1p(d, t));
}

// x = 2^k m with sqrt(1/2) <= m < sqrt(2), for normal x > 0.
template <class V>
struct Split {
  V k;
  V m;
};

template <class D, class V = hn::Vec<D>>
HWY_INLINE Split<V> split_exponent(D d, V x) {
  const hn::RebindToUnsigned<D> bits;
  constexpr std::uint64_t sqrt_half = 0x3fe6a09e667f3bcd;
  // Shifted so that the exponent field steps at sqrt(1/2) 2^k, not at 2^k.
  const auto shifted = hn::Add(hn::BitCast(bits, x), hn::Set(bits, 0x3ff0000000000000 - sqrt_half));
  const auto m = hn::Add(hn::And(shifted, hn::Set(bits, 0x000fffffffffffff)), hn::Set(bits, sqrt_half));
  // The biased exponent, or-ed into the bits of 2^52, gives the double 2^52 + k + 1023: a conversion from
  // integer that works on every instruction set.
  const auto k = hn::Or(hn::ShiftRight<52>(shifted), hn::Set(bits, 0x4330000000000000));
  return {hn::Sub(hn::BitCast(d, k), hn::Set(d, 0x1p52 + 1023)), hn::BitCast(d, m)};
}

// log(1 + f) + k ln 2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log1p_scaled(D d, V f, V k) {
  const V low = hn::MulSub(k, hn::Set(d, kLn2Low), excess_over_log1p(d, f));
  return hn::MulAdd(k, hn::Set(d, kLn2High), hn::Add(f, low));
}

// log(x): -inf at 0, inf at inf, NaN below 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log(D d, V x) {
  const V zero = hn::Zero(d);
  const V infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const auto subnormal = hn::Lt(x, hn::Set(d, 0x1p-1022));
  const Split<V> parts = split_exponent(d, hn::IfThenElse(subnormal, hn::Mul(x, hn::Set(d, 0x1p54)), x));
  const V k = hn::Sub(parts.k, hn::IfThenElseZero(subnormal, hn::Set(d, 54.0)));
  const V result = log1p_scaled(d, hn::Sub(parts.m, hn::Set(d, 1.0)), k);
  const auto ordinary = hn::And(hn::Gt(x, zero), hn::Lt(x, infinity));
  if (HWY_LIKELY(hn::AllTrue(d, ordinary))) return result;
  const V nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  const V at_edges =
      hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), hn::IfThenElse(hn::Eq(x, infinity), x, nan));
  return hn::IfThenElse(ordinary, result, at_edges);
}

// log(1 + q) for 0 <= q < 2^1023 or NaN, with a relative error of a few ULP also where 1 + q rounds to 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log1p(D d, V q) {
  const V one = hn::Set(d, 1.0);
  const Split<V> parts = split_exponent(d, hn::Add(q, one));
  const V f = hn::IfThenElse(hn::Eq(parts.k, hn::Zero(d)), q, hn::Sub(parts.m, one));
  return hn::IfThenElse(hn::Eq(q, q), log1p_scaled(d, f, parts.k), q);
}

// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V softplus(D d, V x) {
  const V t = exp_of_nonpositive(d, hn::Neg(hn::Abs(x)));
  return hn::Add(hn::Max(x, hn::Zero(d)), log1p_of_unit(d, t));
}

// softplus(b) - softplus(a), with t = e^-|.|: log((1 + t_b) / (1 + t_a)) = 2 atanh(s) with s = (t_b - t_a) /
// (2 + t_b + t_a). One division and one polynomial in place of two softplus, and no loss of digits for a
// short step.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V softplus_difference(D d, V a, V b) {
  const V zero = hn::Zero(d);
  const V t_a = exp_of_nonpositive(d, hn::Neg(hn::Abs(a)));
  const V t_b = exp_of_nonpositive(d, hn::Neg(hn::Abs(b)));
  const V s = hn::Div(hn::Sub(t_b, t_a), hn::Add(hn::Add(t_b, t_a), hn::Set(d, 2.0)));
  const V z = hn::Mul(s, s);
  const V linear = hn::Sub(hn::Max(b, zero), hn::Max(a, zero));
  return hn::Add(linear, hn::MulAdd(hn::Mul(s, z), atanh_polynomial(d, z), hn::Add(s, s)));
}

// 1 / (1 + e^-x), as e^x / (1 + e^x) below zero: a relative error of a few ULP in both tails.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0);
  const V t = exp_of_nonpositive(d, hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), t, one), hn::Add(one, t));
}

}  // namespace mlo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggled guard
