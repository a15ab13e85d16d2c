// Copyright (c) the mlo authors. BSD-3-Clause.
// suprema() of the curves that are even or monotone in |f^(k)|, with SIMD by Highway.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/suprema.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set; before highway.h
#include <hwy/highway.h>

#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>

#include "base/special-inl.hpp"
#include "mlo/model/curve.hpp"

// Does not depend on the instruction set, so it is compiled once.
#ifndef MLO_MODEL_SUPREMA_PEAKS
#define MLO_MODEL_SUPREMA_PEAKS
namespace mlo {

// Local maxima of an even |f^(k)| at x >= 0.
struct EvenPeaks {
  std::array<double, 2> at, value;
};

struct EvenIntervals {
  const double *centre, *radius;
  std::size_t count;
  double least;  // intervals are widened to this radius: about a zero of f^(k) the digits cancel
};

struct StudentShape {
  double inverse_unit, factor;  // 1 / sqrt(v), and (v + 1) v^(-k/2)
};

}  // namespace mlo
#endif

HWY_BEFORE_NAMESPACE();
namespace mlo::HWY_NAMESPACE {

using DoubleTag = hn::ScalableTag<double>;
using Doubles = hn::Vec<DoubleTag>;

// f''' and f'''' of -log(1 + e^x) at x >= 0. With z = e^-x: s (1 - s) = z / (1 + z)^2, 1 - 2 s = -(1 - z) /
// (1 + z).
struct SoftplusThird {
  HWY_INLINE Doubles operator()(DoubleTag d, Doubles x) const {
    const Doubles one = hn::Set(d, 1.0);
    const Doubles z = exp_of_nonpositive(d, hn::Neg(x));
    const Doubles sum = hn::Add(one, z);
    return hn::Div(hn::Mul(z, hn::Sub(one, z)), hn::Mul(hn::Mul(sum, sum), sum));
  }
};
struct SoftplusFourth {
  HWY_INLINE Doubles operator()(DoubleTag d, Doubles x) const {
    const Doubles one = hn::Set(d, 1.0);
    const Doubles z = exp_of_nonpositive(d, hn::Neg(x));
    const Doubles sum = hn::Add(one, z);
    const Doubles a = hn::Div(z, hn::Mul(sum, sum));
    return hn::Abs(hn::Mul(a, hn::NegMulAdd(hn::Set(d, 6.0), a, one)));
  }
};

// Of -(v + 1)/2 log(1 + x^2 / v), with u = x / sqrt(v), i = 1 / (1 + u^2) and m = u^2 i, so that nothing
// overflows: 2 u i^2 (m - 3 i) (v + 1) v^-3/2, and 6 i^2 (m^2 - 6 m i + i^2) (v + 1) v^-2.
struct StudentThird {
  StudentShape shape;
  HWY_INLINE Doubles operator()(DoubleTag d, Doubles x) const {
    const Doubles u = hn::Mul(x, hn::Set(d, shape.inverse_unit)), square = hn::Mul(u, u);
    const Doubles i = hn::Div(hn::Set(d, 1.0), hn::Add(hn::Set(d, 1.0), square));
    const Doubles inner = hn::NegMulAdd(hn::Set(d, 3.0), i, hn::Mul(square, i));
    return hn::Abs(hn::Mul(hn::Mul(hn::Set(d, 2 * shape.factor), hn::Mul(u, i)), hn::Mul(i, inner)));
  }
};
struct StudentFourth {
  StudentShape shape;
  HWY_INLINE Doubles operator()(DoubleTag d, Doubles x) const {
    const Doubles u = hn::Mul(x, hn::Set(d, shape.inverse_unit)), square = hn::Mul(u, u);
    const Doubles i = hn::Div(hn::Set(d, 1.0), hn::Add(hn::Set(d, 1.0), square));
    const Doubles m = hn::Mul(square, i);
    const Doubles inner = hn::MulAdd(i, hn::NegMulAdd(hn::Set(d, 6.0), m, i), hn::Mul(m, m));
    return hn::Abs(hn::Mul(hn::Mul(hn::Set(d, 6 * shape.factor), hn::Mul(i, i)), inner));
  }
};

// An interval as |x| sees it: from 0, if it contains 0. Beyond `far` every g falls, and Student's squares
// would overflow.
struct Ends {
  Doubles near, far;
};
HWY_INLINE Ends ends(DoubleTag d, Doubles centre, Doubles radius, double least) {
  const Doubles size = hn::Abs(centre), reach = hn::Max(radius, hn::Set(d, least));
  const Doubles far = hn::Set(d, 1e150);
  return {hn::Min(far, hn::Max(hn::Sub(size, reach), hn::Zero(d))), hn::Min(far, hn::Add(size, reach))};
}

// The largest value of g is at an end, or at a peak between.
template <class G>
struct EvenSupremum {
  G g;
  EvenPeaks peaks;
  double least;
  HWY_INLINE Doubles operator()(DoubleTag d, Doubles centre, Doubles radius) const {
    const Ends at = ends(d, centre, radius, least);
    Doubles sup = hn::Max(g(d, at.near), g(d, at.far));
    for (std::size_t k = 0; k < peaks.at.size(); ++k) {
      const Doubles peak = hn::Set(d, peaks.at[k]);
      const auto between = hn::And(hn::Le(at.near, peak), hn::Le(peak, at.far));
      sup = hn::Max(sup, hn::IfThenElseZero(between, hn::Set(d, peaks.value[k])));
    }
    return sup;
  }
};

// With one peak, on each side of which g falls, it is at the point nearest to the peak.
template <class G>
struct UnimodalSupremum {
  G g;
  double peak, least;
  HWY_INLINE Doubles operator()(DoubleTag d, Doubles centre, Doubles radius) const {
    const Ends at = ends(d, centre, radius, least);
    return g(d, hn::Max(at.near, hn::Min(at.far, hn::Set(d, peak))));
  }
};

struct ExpSupremum {
  HWY_INLINE Doubles operator()(DoubleTag d, Doubles centre, Doubles radius) const {
    return exp(d, hn::Add(centre, radius));
  }
};

// Calls f on every vector. A rest that does not fill a vector is padded to a whole one, so that an element
// gets the same instructions at any position.
template <class F>
HWY_INLINE void over_intervals(const F& f, const EvenIntervals& x, double* out) {
  const DoubleTag d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= x.count; i += lanes)
    hn::StoreU(f(d, hn::LoadU(d, x.centre + i), hn::LoadU(d, x.radius + i)), d, out + i);
  if (i == x.count) return;
  HWY_ALIGN double centre[hn::MaxLanes(d)] = {};
  HWY_ALIGN double radius[hn::MaxLanes(d)] = {};
  for (std::size_t k = 0; i + k < x.count; ++k) {
    centre[k] = x.centre[i + k];
    radius[k] = x.radius[i + k];
  }
  HWY_ALIGN double rest[hn::MaxLanes(d)];
  hn::Store(f(d, hn::Load(d, centre), hn::Load(d, radius)), d, rest);
  for (std::size_t k = 0; i + k < x.count; ++k) out[i + k] = rest[k];
}

void SoftplusSuprema(int k, EvenPeaks peaks, EvenIntervals x, double* out) {
  if (k == 3) {
    over_intervals(UnimodalSupremum<SoftplusThird>{{}, peaks.at[0], x.least}, x, out);
  } else {
    over_intervals(EvenSupremum<SoftplusFourth>{{}, peaks, x.least}, x, out);
  }
}

void StudentSuprema(int k, StudentShape shape, EvenPeaks peaks, EvenIntervals x, double* out) {
  if (k == 3) {
    over_intervals(EvenSupremum<StudentThird>{{shape}, peaks, x.least}, x, out);
  } else {
    over_intervals(EvenSupremum<StudentFourth>{{shape}, peaks, x.least}, x, out);
  }
}

void ExpSuprema(EvenIntervals x, double* out) { over_intervals(ExpSupremum{}, x, out); }

}  // namespace mlo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlo {

HWY_EXPORT(SoftplusSuprema);
HWY_EXPORT(StudentSuprema);
HWY_EXPORT(ExpSuprema);

namespace {

// A curve's critical points at x > 0, of which there are two at most, and |f^(k)| there.
template <Curve C>
EvenPeaks peaks_of(const C& curve, int k, double unit) {
  EvenPeaks out{{0, 0}, {0, 0}};
  std::size_t found = 0;
  for (const double x : curve.critical(k))
    if (x > 1e-3 * unit && found < out.at.size()) {
      out.at[found] = x;
      out.value[found++] = std::abs(curve.derivative(k, x));
    }
  return out;
}

EvenIntervals intervals(const Intervals& at, std::size_t count, double unit) {
  assert(at.centre.size() == count && at.radius.size() == count);
  return {at.centre.data(), at.radius.data(), count, suprema_reach * unit};
}

}  // namespace

void suprema(const SoftplusCurve& curve, int k, Intervals at, std::span<double> out) noexcept {
  static const std::array<EvenPeaks, 2> peaks{peaks_of(curve, 3, 1), peaks_of(curve, 4, 1)};
  HWY_DYNAMIC_DISPATCH(SoftplusSuprema)
  (k, peaks[k == 3 ? 0 : 1], intervals(at, out.size(), 1), out.data());
}

void suprema(const ExpCurve& /*curve*/, int /*k*/, Intervals at, std::span<double> out) noexcept {
  HWY_DYNAMIC_DISPATCH(ExpSuprema)(intervals(at, out.size(), 1), out.data());
}

void suprema(const StudentCurve& curve, int k, Intervals at, std::span<double> out) noexcept {
  const double unit = std::sqrt(curve.freedom);
  const StudentShape shape{
      1 / unit, (curve.freedom + 1) / (k == 3 ? unit * curve.freedom : curve.freedom * curve.freedom)};
  HWY_DYNAMIC_DISPATCH(StudentSuprema)
  (k, shape, peaks_of(curve, k, unit), intervals(at, out.size(), unit), out.data());
}

}  // namespace mlo
#endif
