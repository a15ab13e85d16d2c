// Copyright (c) the mlo authors. BSD-3-Clause.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "subsample/cubic_sums.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
//
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "subsample/cubic_sums.hpp"

HWY_BEFORE_NAMESPACE();
namespace mlo::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most eight lanes, which divide a batch.
using D = hn::CappedTag<float, 8>;
using V = hn::Vec<D>;
constexpr std::size_t ld = CubicSums::batch;

void Multiply(const float* a, const float* b, std::size_t rows, float* out) {
  const D d;
  for (std::size_t r = 0; r < rows; r += hn::Lanes(d))
    hn::StoreU(hn::Mul(hn::LoadU(d, a + r), hn::LoadU(d, b + r)), d, out + r);
}

// The products of one column with two others, side by side.
void AddTwo(const float* pair, const float* columns, std::size_t rows, double* sums) {
  const D d;
  V a = hn::Zero(d), b = hn::Zero(d);
  for (std::size_t r = 0; r < rows; r += hn::Lanes(d)) {
    const V x = hn::LoadU(d, pair + r);
    a = hn::MulAdd(x, hn::LoadU(d, columns + r), a);
    b = hn::MulAdd(x, hn::LoadU(d, columns + ld + r), b);
  }
  sums[0] += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, a)));
  sums[1] += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, b)));
}
void AddFour(const float* pair, const float* columns, std::size_t rows, double* sums) {
  const D d;
  V a = hn::Zero(d), b = hn::Zero(d), c = hn::Zero(d), e = hn::Zero(d);
  for (std::size_t r = 0; r < rows; r += hn::Lanes(d)) {
    const V x = hn::LoadU(d, pair + r);
    a = hn::MulAdd(x, hn::LoadU(d, columns + r), a);
    b = hn::MulAdd(x, hn::LoadU(d, columns + ld + r), b);
    c = hn::MulAdd(x, hn::LoadU(d, columns + 2 * ld + r), c);
    e = hn::MulAdd(x, hn::LoadU(d, columns + 3 * ld + r), e);
  }
  sums[0] += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, a)));
  sums[1] += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, b)));
  sums[2] += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, c)));
  sums[3] += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, e)));
}
void AddOne(const float* pair, const float* column, std::size_t rows, double* sum) {
  const D d;
  V a = hn::Zero(d);
  for (std::size_t r = 0; r < rows; r += hn::Lanes(d))
    a = hn::MulAdd(hn::LoadU(d, pair + r), hn::LoadU(d, column + r), a);
  *sum += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, a)));
}

// columns: `dim` of w, the third derivatives, and room for two more.
void AddTriples(float* columns, std::size_t dim, std::size_t rows, double* sums) {
  const float* const third = columns + dim * ld;
  float* const one = columns + (dim + 1) * ld;
  float* const two = columns + (dim + 2) * ld;
  for (std::size_t j = 0; j < dim; ++j) {
    Multiply(third, columns + j * ld, rows, one);
    for (std::size_t k = j; k < dim; ++k) {
      Multiply(one, columns + k * ld, rows, two);
      std::size_t l = k;
      for (; l + 4 <= dim; l += 4, sums += 4) AddFour(two, columns + l * ld, rows, sums);
      for (; l + 2 <= dim; l += 2, sums += 2) AddTwo(two, columns + l * ld, rows, sums);
      if (l < dim) AddOne(two, columns + l * ld, rows, sums++);
    }
  }
}

}  // namespace mlo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlo {

HWY_EXPORT(AddTriples);

// One row per lane, so that the triple products of many columns are as few instructions as there are triples.
void CubicSums::add(const float* records, std::size_t stride, const float* third, std::size_t rows) noexcept {
  const std::size_t padded = (rows + 7) / 8 * 8;
  for (std::size_t j = 0; j < dim_; ++j) {
    float* const column = columns_.data() + j * batch;
    for (std::size_t k = 0; k < rows; ++k) column[k] = records[k * stride + j];
    std::fill(column + rows, column + padded, 0.0F);
  }
  float* const last = columns_.data() + dim_ * batch;
  std::copy_n(third, rows, last);
  std::fill(last + rows, last + padded, 0.0F);
  HWY_DYNAMIC_DISPATCH(AddTriples)(columns_.data(), dim_, padded, sums_.data());
}

}  // namespace mlo
#endif
