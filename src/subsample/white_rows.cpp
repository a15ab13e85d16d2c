// Copyright (c) the mlo authors. BSD-3-Clause.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "subsample/white_rows.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
//
#include <hwy/highway.h>

#include "mlo/subsample/white_rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace mlo::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most eight lanes: records are multiples of eight floats.
using D = hn::CappedTag<float, 8>;
using V = hn::Vec<D>;

void WhiteDots(const float* records, std::size_t stride, const RowId* ids, std::size_t count, const float* v,
               const float* u, float* from, float* to) {
  const D d;
  for (std::size_t k = 0; k < count; ++k) {
    const float* row = records + ids[k] * stride;
    V a = hn::Zero(d), b = hn::Zero(d);
    for (std::size_t j = 0; j < stride; j += hn::Lanes(d)) {
      const V w = hn::LoadU(d, row + j);
      a = hn::MulAdd(w, hn::LoadU(d, v + j), a);
      b = hn::MulAdd(w, hn::LoadU(d, u + j), b);
    }
    from[k] = hn::GetLane(hn::SumOfLanes(d, a));
    to[k] = hn::GetLane(hn::SumOfLanes(d, b));
  }
}

double WhiteCubic(const float* coefficients, std::size_t dim, const float* v) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t padded = (dim + 7) / 8 * 8;
  V total = hn::Zero(d);
  for (std::size_t k = 0; k < dim; ++k) {
    V sum = hn::Zero(d);
    for (std::size_t block = k / 8 * 8; block < padded; block += 8) {
      for (std::size_t part = 0; part < 8; part += lanes) {
        const float* at = coefficients + part;
        V u0 = hn::Zero(d), u1 = hn::Zero(d), u2 = hn::Zero(d), u3 = hn::Zero(d);
        std::size_t j = 0;
        for (; j + 4 <= k + 1; j += 4, at += 32) {
          u0 = hn::MulAdd(hn::Set(d, v[j]), hn::LoadU(d, at), u0);
          u1 = hn::MulAdd(hn::Set(d, v[j + 1]), hn::LoadU(d, at + 8), u1);
          u2 = hn::MulAdd(hn::Set(d, v[j + 2]), hn::LoadU(d, at + 16), u2);
          u3 = hn::MulAdd(hn::Set(d, v[j + 3]), hn::LoadU(d, at + 24), u3);
        }
        for (; j <= k; ++j, at += 8) u0 = hn::MulAdd(hn::Set(d, v[j]), hn::LoadU(d, at), u0);
        sum = hn::MulAdd(hn::Add(hn::Add(u0, u1), hn::Add(u2, u3)), hn::LoadU(d, v + block + part), sum);
      }
      coefficients += 8 * (k + 1);
    }
    total = hn::MulAdd(sum, hn::Set(d, v[k]), total);
  }
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, total)));
}

}  // namespace mlo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlo {

HWY_EXPORT(WhiteDots);
HWY_EXPORT(WhiteCubic);

void WhiteRows::dots(std::span<const RowId> ids, const float* v, const float* u, float* from,
                     float* to) const noexcept {
  HWY_DYNAMIC_DISPATCH(WhiteDots)(records_.data(), stride_, ids.data(), ids.size(), v, u, from, to);
}

double CubicForm::operator()(const float* v) const noexcept {
  return HWY_DYNAMIC_DISPATCH(WhiteCubic)(coefficients_.data(), dim_, v);
}

}  // namespace mlo
#endif
