// Copyright (c) the mlo authors. BSD-3-Clause.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "diagnose/quantile.cpp"
#include "mlo/diagnose/quantile.hpp"

#include <hwy/foreach_target.h>  // compiles this file once per instruction set; before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <boost/math/special_functions/erf.hpp>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

HWY_BEFORE_NAMESPACE();
namespace mlo::quantiles::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, 8>;
using V = hn::Vec<D>;

struct Identity {
  HWY_INLINE V operator()(V x) const { return x; }
};
struct SquaredDeviation {
  V centre;
  HWY_INLINE V operator()(V x) const {
    const V d = hn::Sub(x, centre);
    return hn::Mul(d, d);
  }
};

// The sum of f over the values: four sums, because one would wait for each addition.
template <class F>
HWY_INLINE double sum(const double* x, std::size_t n, F f) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = hn::Add(s0, f(hn::LoadU(d, x + i)));
    s1 = hn::Add(s1, f(hn::LoadU(d, x + i + lanes)));
    s2 = hn::Add(s2, f(hn::LoadU(d, x + i + 2 * lanes)));
    s3 = hn::Add(s3, f(hn::LoadU(d, x + i + 3 * lanes)));
  }
  for (; i + lanes <= n; i += lanes) s0 = hn::Add(s0, f(hn::LoadU(d, x + i)));
  double total = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (; i < n; ++i) total += hn::GetLane(f(hn::Set(d, x[i])));
  return total;
}

Spread Moments(const double* x, std::size_t n) {
  const D d;
  const double mean = sum(x, n, Identity()) / static_cast<double>(n);
  if (n == 1) return {mean, std::numeric_limits<double>::quiet_NaN()};
  const double squares = sum(x, n, SquaredDeviation{hn::Set(d, mean)});
  return {mean, std::sqrt(squares / static_cast<double>(n - 1))};
}

// Copies the values in [low, high] to `out`, which has room for n values, and returns how many there are;
// `below` becomes the number of values below `low`. Two steps for a few hundred values at a time: which of
// them are inside, as bits and without branches; then the few that are. (Highway 1.0.3's Compress would do
// both at once, but copies a table of 2 kB in each call: measured, ten times slower.)
std::size_t Collect(const double* x, std::size_t n, double low, double high, double* out,
                    std::size_t& below) {
  const D d;
  const hn::RebindToSigned<D> whole;
  const std::size_t lanes = hn::Lanes(d);
  const V at_least = hn::Set(d, low), at_most = hn::Set(d, high);
  auto minus_reached = hn::Zero(whole);  // minus the number of values that are at least `low`
  constexpr std::size_t group = 64;      // vectors; one byte each, because a vector has eight lanes at most
  std::size_t found = 0, i = 0;
  while (i + lanes <= n) {
    const std::size_t left = (n - i) / lanes, vectors = left < group ? left : group;
    alignas(8) std::uint8_t bits[group] = {};
    for (std::size_t k = 0; k < vectors; ++k) {
      const V v = hn::LoadU(d, x + i + k * lanes);
      const auto reached = hn::Ge(v, at_least);
      const auto inside = hn::And(reached, hn::Le(v, at_most));
      minus_reached = hn::Add(minus_reached, hn::BitCast(whole, hn::VecFromMask(d, reached)));
      hn::StoreMaskBits(d, inside, bits + k);
    }
    for (std::size_t k = 0; k < vectors; k += 8) {
      std::uint64_t word = 0;
      for (std::size_t b = 0; b < 8; ++b) word |= std::uint64_t{bits[k + b]} << (8 * b);
      for (; word != 0; word &= word - 1) {
        const auto bit = static_cast<std::size_t>(std::countr_zero(word));
        out[found++] = x[i + (k + bit / 8) * lanes + bit % 8];
      }
    }
    i += vectors * lanes;
  }
  auto reached = static_cast<std::size_t>(-hn::GetLane(hn::SumOfLanes(whole, minus_reached)));
  for (; i < n; ++i) {
    if (!(x[i] >= low)) continue;
    ++reached;
    if (x[i] <= high) out[found++] = x[i];
  }
  below = n - reached;
  return found;
}

}  // namespace mlo::quantiles::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlo {
namespace quantiles {
HWY_EXPORT(Moments);
HWY_EXPORT(Collect);
}  // namespace quantiles

Spread spread_of(std::span<const double> values) noexcept {
  using namespace quantiles;
  assert(!values.empty());
  return HWY_DYNAMIC_DISPATCH(Moments)(values.data(), values.size());
}

QuantileFinder::QuantileFinder(std::size_t size, std::vector<double> probabilities) {
  using namespace quantiles;
  assert(size >= 1);
  const auto n = static_cast<double>(size);
  for (const double p : probabilities) {
    assert(p >= 0 && p <= 1);
    Target target;
    const double position = 1 + (n - 1) * p;  // from 1, as in quantile() of summary.cpp
    target.weight = position - std::floor(position);
    target.rank = static_cast<std::size_t>(position) - 1;
    // The end points are the smallest and the largest value: as far out as such values usually are.
    const double inner = std::clamp(p, 0.5 / n, 1 - 0.5 / n);
    target.normal_quantile = -std::numbers::sqrt2 * boost::math::erfc_inv(2 * inner);
    // Three standard errors of a quantile of n independent normal values: one in 400 is missed.
    const double density =
        std::exp(-0.5 * target.normal_quantile * target.normal_quantile) / std::sqrt(2 * std::numbers::pi);
    target.half_width = 3 * std::sqrt(inner * (1 - inner) / n) / density;
    targets_.push_back(target);
  }
  candidates_.resize(size);
}

void QuantileFinder::find(std::span<const double> values, const Spread& guess, std::span<OrderPair> out) {
  assert(out.size() == targets_.size());
  for (std::size_t k = 0; k < targets_.size(); ++k) out[k] = find(values, guess, targets_[k]);
}

OrderPair QuantileFinder::find(std::span<const double> values, const Spread& guess, const Target& target) {
  using namespace quantiles;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  assert(values.size() == candidates_.size());
  const std::size_t last_rank = target.rank + (target.weight > 0 ? 1 : 0);
  double low = guess.mean + guess.sd * (target.normal_quantile - target.half_width);
  double high = guess.mean + guess.sd * (target.normal_quantile + target.half_width);
  double step = 4 * (high - low);
  for (int attempt = 0;; ++attempt) {
    // A guess that is no guess, or was wrong twice: all values are candidates.
    if (attempt == 2 || !(low <= high)) low = -infinity, high = infinity;
    std::size_t below = 0;
    ++passes_;
    const std::size_t found =
        HWY_DYNAMIC_DISPATCH(Collect)(values.data(), values.size(), low, high, candidates_.data(), below);
    const bool too_high = below > target.rank, too_low = below + found <= last_rank;
    if (!too_high && !too_low) {
      const auto first = candidates_.begin();
      const auto end = first + static_cast<std::ptrdiff_t>(found);
      const auto at = first + static_cast<std::ptrdiff_t>(target.rank - below);
      std::nth_element(first, at, end);
      const double above = last_rank > target.rank ? *std::min_element(at + 1, end) : *at;
      return {*at, above, target.weight};
    }
    assert(attempt < 2 && "a bracket without bounds holds all ranks");
    if (too_high) low -= step;
    if (too_low) high += step;
  }
}

}  // namespace mlo
#endif  // HWY_ONCE
