// Copyright (c) the mlo authors. BSD-3-Clause.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base/special.cpp"
#include "mlo/base/special.hpp"

#include <hwy/foreach_target.h>  // compiles this file once per instruction set; before highway.h
#include <hwy/highway.h>
#include <math.h>  // lgamma_r is not in std

#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#include "base/special-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mlo::HWY_NAMESPACE {

// The first `count` lanes from memory, the others 1.
template <class D>
HWY_INLINE hn::Vec<D> load_rest(D d, const double* x, std::size_t count) {
  HWY_ALIGN double rest[hn::MaxLanes(d)];
  hn::Store(hn::Set(d, 1.0), d, rest);
  for (std::size_t k = 0; k < count; ++k) rest[k] = x[k];
  return hn::Load(d, rest);
}

// Calls f on every vector of the arrays x. A remainder that does not fill a vector is padded to a whole one,
// so that an element gets the same instructions, and so the same bits, at any position.
template <class F, class... Arrays>
HWY_INLINE void map(F f, double* out, std::size_t n, Arrays... x) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(d, hn::LoadU(d, x + i)...), d, out + i);
  if (i == n) return;
  HWY_ALIGN double rest[hn::MaxLanes(d)];
  hn::Store(f(d, load_rest(d, x + i, n - i)...), d, rest);
  for (std::size_t k = 0; i + k < n; ++k) out[i + k] = rest[k];
}

// Function objects, not lambdas: a lambda does not inherit the instruction set of the function around it.
struct Exp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return exp(d, x);
  }
};
struct Log {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return log(d, x);
  }
};
struct Softplus {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return softplus(d, x);
  }
};
struct SoftplusDifference {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return softplus_difference(d, a, b);
  }
};
struct Sigmoid {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return sigmoid(d, x);
  }
};

void exp_array(const double* x, double* out, std::size_t n) { map(Exp(), out, n, x); }
void log_array(const double* x, double* out, std::size_t n) { map(Log(), out, n, x); }
void softplus_array(const double* x, double* out, std::size_t n) { map(Softplus(), out, n, x); }
void softplus_difference_array(const double* a, const double* b, double* out, std::size_t n) {
  map(SoftplusDifference(), out, n, a, b);
}
void sigmoid_array(const double* x, double* out, std::size_t n) { map(Sigmoid(), out, n, x); }

// (1 + a)(1 + b) - 1. Products are stored minus 1, because 1 + t would lose a t below 1e-16.
template <class V>
HWY_INLINE V join(V a, V b) {
  return hn::MulAdd(a, b, hn::Add(a, b));
}

// A sum that keeps its rounding errors (Knuth's two-sum), whichever operand is larger.
template <class V>
struct CompensatedSum {
  V sum;
  V error;
  HWY_INLINE void add(V x) {
    const V next = hn::Add(sum, x);
    const V moved = hn::Sub(next, sum);
    error = hn::Add(error, hn::Add(hn::Sub(sum, hn::Sub(next, moved)), hn::Sub(x, moved)));
    sum = next;
  }
};

// Vectors per log: the log is then 3 % of the work, and the product is at most 2^32, far from overflow.
constexpr std::size_t kFactors = 32;

// e^-|x| of a vector; unless `out` is null, also stores its sigmoid there.
template <class D, class V>
HWY_INLINE V exp_and_sigmoid(D d, V x, double* out) {
  const V t = exp_of_nonpositive(d, hn::Neg(hn::Abs(x)));
  if (out != nullptr) {
    const V one = hn::Set(d, 1.0);
    hn::StoreU(hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), t, one), hn::Add(one, t)), d, out);
  }
  return t;
}

// Adds the softplus of kFactors vectors at x; unless `out` is null, their sigmoids go there.
template <class D, class V>
HWY_INLINE void add_softplus_block(D d, const double* x, double* out, CompensatedSum<V>& total) {
  const std::size_t lanes = hn::Lanes(d);
  const V zero = hn::Zero(d);
  V positive = zero;
  V product = zero;
  for (std::size_t k = 0; k < kFactors; k += 4, x += 4 * lanes) {
    // Four at a time, combined as a tree: dependencies are short, and rounding errors grow like the logarithm
    // of the count.
    const V x0 = hn::LoadU(d, x);
    const V x1 = hn::LoadU(d, x + lanes);
    const V x2 = hn::LoadU(d, x + 2 * lanes);
    const V x3 = hn::LoadU(d, x + 3 * lanes);
    const V t0 = exp_and_sigmoid(d, x0, out);
    const V t1 = exp_and_sigmoid(d, x1, out == nullptr ? out : out + lanes);
    const V t2 = exp_and_sigmoid(d, x2, out == nullptr ? out : out + 2 * lanes);
    const V t3 = exp_and_sigmoid(d, x3, out == nullptr ? out : out + 3 * lanes);
    if (out != nullptr) out += 4 * lanes;
    product = join(product, join(join(t0, t1), join(t2, t3)));
    const V p01 = hn::Add(hn::Max(x0, zero), hn::Max(x1, zero));
    const V p23 = hn::Add(hn::Max(x2, zero), hn::Max(x3, zero));
    positive = hn::Add(positive, hn::Add(p01, p23));
  }
  total.add(positive);
  total.add(log1p(d, product));
}

double sum_softplus_array(const double* x, double* out, std::size_t n) {
  const hn::ScalableTag<double> d;
  const std::size_t block = kFactors * hn::Lanes(d);
  CompensatedSum<hn::Vec<decltype(d)>> total{hn::Zero(d), hn::Zero(d)};
  std::size_t i = 0;
  for (; i + block <= n; i += block) add_softplus_block(d, x + i, out == nullptr ? out : out + i, total);
  if (i < n) {
    HWY_ALIGN double rest[kFactors * hn::MaxLanes(d)];
    HWY_ALIGN double rest_out[kFactors * hn::MaxLanes(d)];
    for (std::size_t k = 0; k < block; ++k) {
      rest[k] = i + k < n ? x[i + k] : -std::numeric_limits<double>::infinity();  // softplus(-inf) = 0
    }
    add_softplus_block(d, rest, out == nullptr ? out : rest_out, total);
    for (std::size_t k = 0; out != nullptr && i + k < n; ++k) out[i + k] = rest_out[k];
  }
  const double sum = hn::GetLane(hn::SumOfLanes(d, total.sum));
  // On overflow the error term is inf - inf; the sum itself is then the answer.
  return std::isfinite(sum) ? sum + hn::GetLane(hn::SumOfLanes(d, total.error)) : sum;
}

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace mlo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlo {

HWY_EXPORT(exp_array);
HWY_EXPORT(log_array);
HWY_EXPORT(softplus_array);
HWY_EXPORT(softplus_difference_array);
HWY_EXPORT(sigmoid_array);
HWY_EXPORT(sum_softplus_array);
HWY_EXPORT(target_name);

void exp(std::span<const double> x, std::span<double> out) noexcept {
  assert(x.size() == out.size());
  HWY_DYNAMIC_DISPATCH(exp_array)(x.data(), out.data(), x.size());
}

void log(std::span<const double> x, std::span<double> out) noexcept {
  assert(x.size() == out.size());
  HWY_DYNAMIC_DISPATCH(log_array)(x.data(), out.data(), x.size());
}

void softplus(std::span<const double> x, std::span<double> out) noexcept {
  assert(x.size() == out.size());
  HWY_DYNAMIC_DISPATCH(softplus_array)(x.data(), out.data(), x.size());
}

void softplus_difference(std::span<const double> a, std::span<const double> b,
                         std::span<double> out) noexcept {
  assert(a.size() == out.size() && b.size() == out.size());
  HWY_DYNAMIC_DISPATCH(softplus_difference_array)(a.data(), b.data(), out.data(), out.size());
}

void sigmoid(std::span<const double> x, std::span<double> out) noexcept {
  assert(x.size() == out.size());
  HWY_DYNAMIC_DISPATCH(sigmoid_array)(x.data(), out.data(), x.size());
}

double sum_softplus(std::span<const double> x) noexcept {
  return HWY_DYNAMIC_DISPATCH(sum_softplus_array)(x.data(), nullptr, x.size());
}

double sigmoid_and_sum_softplus(std::span<const double> x, std::span<double> out) noexcept {
  assert(x.size() == out.size());
  return HWY_DYNAMIC_DISPATCH(sum_softplus_array)(x.data(), out.data(), x.size());
}

double log_gamma(double x) noexcept {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

namespace {
const double log_root_two_pi = 0.5 * std::log(2 * std::numbers::pi);
}

double log_normal_cdf(double z) noexcept {
  if (z > 0) return std::log1p(-0.5 * std::erfc(z / std::numbers::sqrt2));
  if (z > -30) return std::log(0.5 * std::erfc(-z / std::numbers::sqrt2));
  // Phi(z) = phi(z)/|z| (1 - 1/z^2 + 3/z^4 - 15/z^6 + ...); below -30 the next term is under 1e-10.
  const double w = 1 / (z * z);
  return -0.5 * z * z - log_root_two_pi - std::log(-z) + std::log1p(-w * (1 - w * (3 - w * (15 - 105 * w))));
}

double inverse_mills(double z) noexcept {
  return std::exp(-0.5 * z * z - log_root_two_pi - log_normal_cdf(z));
}

const char* simd_target() noexcept { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace mlo
#endif  // HWY_ONCE
