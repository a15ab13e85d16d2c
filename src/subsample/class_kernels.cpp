// Copyright (c) the mlo authors. BSD-3-Clause.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "subsample/class_kernels.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
//
#include <hwy/highway.h>

#include <cmath>

#include "base/special-inl.hpp"
#include "subsample/class_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace mlo::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, 8>;
using Floats = hn::CappedTag<float, 8>;

void ClassProducts(const class_kernels::Products& shape, const float* records, std::size_t record_stride,
                   const RowId* ids, std::size_t count, const float* from, const float* to, double* out) {
  const Floats d;
  const std::size_t step = hn::Lanes(d), columns = class_kernels::padded(shape.others);
  for (std::size_t i = 0; i < count; ++i) {
    const float* const row = records + ids[i] * record_stride;
    for (std::size_t part = 0; part < columns; part += step) {
      auto a = hn::Zero(d), b = hn::Zero(d);
      for (std::size_t j = 0; j < shape.width; ++j) {
        const auto x = hn::Set(d, row[j]);
        a = hn::MulAdd(x, hn::LoadU(d, from + j * columns + part), a);
        b = hn::MulAdd(x, hn::LoadU(d, to + j * columns + part), b);
      }
      float first[8], second[8];
      hn::StoreU(a, d, first);
      hn::StoreU(b, d, second);
      for (std::size_t m = 0; m < step && part + m < shape.others; ++m) {
        double* const at = out + (part + m + 1) * shape.stride + i;
        at[0] = static_cast<double>(first[m]);
        at[shape.second] = static_cast<double>(second[m]);
      }
    }
    out[i] = 0;  // the base
    out[shape.second + i] = 0;
  }
}

void ClassProductsByRow(const class_kernels::Products& shape, const double* w, std::size_t row_stride,
                        const double* z, std::size_t count, double* out) {
  const Doubles d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(hn::Zero(d), d, out + i);
    std::size_t k = 0;
    for (; k + 2 <= shape.others; k += 2) {
      auto a = hn::Zero(d), b = hn::Zero(d);
      for (std::size_t j = 0; j < shape.width; ++j) {
        const auto x = hn::LoadU(d, w + j * row_stride + i);
        a = hn::MulAdd(x, hn::Set(d, z[k * shape.width + j]), a);
        b = hn::MulAdd(x, hn::Set(d, z[(k + 1) * shape.width + j]), b);
      }
      hn::StoreU(a, d, out + (k + 1) * shape.stride + i);
      hn::StoreU(b, d, out + (k + 2) * shape.stride + i);
    }
    for (; k < shape.others; ++k) {
      auto a = hn::Zero(d);
      for (std::size_t j = 0; j < shape.width; ++j)
        a = hn::MulAdd(hn::LoadU(d, w + j * row_stride + i), hn::Set(d, z[k * shape.width + j]), a);
      hn::StoreU(a, d, out + (k + 1) * shape.stride + i);
    }
  }
}

// By absolute error: e^x - 1 and log(1 + s) are wrong by some 1e-16, and so is the remainder.
void ClassRemaindersOf(int order, std::size_t classes, std::size_t count, std::size_t stride, const double* t,
                       const double* p, std::size_t p_stride, const double* shift, double* out) {
  const Doubles d;
  const auto one = hn::Set(d, 1.0);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto reference = hn::LoadU(d, shift + i);
    auto sum = hn::Zero(d), first = hn::Zero(d), square = hn::Zero(d), cube = hn::Zero(d);
    for (std::size_t k = 0; k < classes; ++k) {
      const auto x = hn::Sub(hn::LoadU(d, t + k * stride + i), reference);
      const auto share = hn::LoadU(d, p + k * p_stride + i);
      const auto px = hn::Mul(share, x), pxx = hn::Mul(px, x);
      sum = hn::MulAdd(share, hn::Sub(exp(d, x), one), sum);
      first = hn::Add(first, px);
      square = hn::Add(square, pxx);
      cube = hn::MulAdd(pxx, x, cube);
    }
    const auto variance = hn::NegMulAdd(first, first, square);
    auto rest = hn::NegMulAdd(variance, hn::Set(d, 0.5), hn::Sub(log1p(d, sum), first));
    if (order == 3) {
      // k3 = E X^3 - 3 E X E X^2 + 2 (E X)^3 = E X^3 - E X (3 Var + (E X)^2)
      const auto third =
          hn::NegMulAdd(first, hn::MulAdd(variance, hn::Set(d, 3.0), hn::Mul(first, first)), cube);
      rest = hn::NegMulAdd(third, hn::Set(d, 1.0 / 6), rest);
    }
    hn::StoreU(hn::Neg(rest), d, out + i);
  }
}

void ClassRadii(const double* metrics, std::size_t width, std::size_t classes, const double* z,
                double* scratch, double* out) {
  const Doubles d;
  const std::size_t rows = class_kernels::padded(width);
  for (std::size_t k = 1; k < classes; ++k)
    for (std::size_t l = 0; l < k; ++l, metrics += width * rows) {
      const double* const high = z + (k - 1) * width;
      for (std::size_t j = 0; j < width; ++j) scratch[j] = high[j] - (l == 0 ? 0 : z[(l - 1) * width + j]);
      auto squares = hn::Zero(d);
      for (std::size_t i = 0; i < width; i += hn::Lanes(d)) {
        auto y = hn::Zero(d);
        for (std::size_t j = i; j < width; ++j)  // the triangle is upper
          y = hn::MulAdd(hn::Set(d, scratch[j]), hn::LoadU(d, metrics + j * rows + i), y);
        squares = hn::MulAdd(y, y, squares);
      }
      *out++ = std::sqrt(hn::GetLane(hn::SumOfLanes(d, squares)));
    }
}

void ClassTriangle(const double* u, std::size_t width, const double* x, std::size_t stride, double* out) {
  const Doubles d;
  for (std::size_t i = 0; i < stride; i += hn::Lanes(d))
    for (std::size_t j = 0; j < width; ++j) {
      auto sum = hn::Zero(d);
      for (std::size_t m = 0; m <= j; ++m)
        sum = hn::MulAdd(hn::Set(d, u[j * width + m]), hn::LoadU(d, x + m * stride + i), sum);
      hn::StoreU(sum, d, out + j * stride + i);
    }
}

void ClassLengths(const double* u, std::size_t width, const double* x, std::size_t stride, double* out) {
  const Doubles d;
  for (std::size_t i = 0; i < stride; i += hn::Lanes(d)) {
    auto squares = hn::Zero(d);
    for (std::size_t j = 0; j < width; ++j) {
      auto even = hn::Zero(d), odd = hn::Zero(d);
      std::size_t m = 0;
      for (; m + 1 <= j; m += 2) {
        even = hn::MulAdd(hn::Set(d, u[j * width + m]), hn::LoadU(d, x + m * stride + i), even);
        odd = hn::MulAdd(hn::Set(d, u[j * width + m + 1]), hn::LoadU(d, x + (m + 1) * stride + i), odd);
      }
      if (m <= j) even = hn::MulAdd(hn::Set(d, u[j * width + m]), hn::LoadU(d, x + m * stride + i), even);
      even = hn::Add(even, odd);
      squares = hn::MulAdd(even, even, squares);
    }
    hn::StoreU(hn::Sqrt(squares), d, out + i);
  }
}

// Tiles of 4 x 8 sums stay in registers while all rows go by.
void ClassAddProduct(const double* left, std::size_t a, const double* right, std::size_t b, std::size_t rows,
                     double* sums) {
  const hn::CappedTag<double, 4> d;
  const std::size_t step = hn::Lanes(d);
  for (std::size_t m = 0; m < a; m += 4)
    for (std::size_t part = 0; part < b; part += 2 * step) {
      double* const to = sums + m * b + part;
      auto s00 = hn::LoadU(d, to), s01 = hn::LoadU(d, to + step);
      auto s10 = hn::LoadU(d, to + b), s11 = hn::LoadU(d, to + b + step);
      auto s20 = hn::LoadU(d, to + 2 * b), s21 = hn::LoadU(d, to + 2 * b + step);
      auto s30 = hn::LoadU(d, to + 3 * b), s31 = hn::LoadU(d, to + 3 * b + step);
      for (std::size_t i = 0; i < rows; ++i) {
        const double* const x = left + i * a + m;
        const auto y0 = hn::LoadU(d, right + i * b + part), y1 = hn::LoadU(d, right + i * b + part + step);
        const auto x0 = hn::Set(d, x[0]), x1 = hn::Set(d, x[1]);
        s00 = hn::MulAdd(x0, y0, s00);
        s01 = hn::MulAdd(x0, y1, s01);
        s10 = hn::MulAdd(x1, y0, s10);
        s11 = hn::MulAdd(x1, y1, s11);
        const auto x2 = hn::Set(d, x[2]), x3 = hn::Set(d, x[3]);
        s20 = hn::MulAdd(x2, y0, s20);
        s21 = hn::MulAdd(x2, y1, s21);
        s30 = hn::MulAdd(x3, y0, s30);
        s31 = hn::MulAdd(x3, y1, s31);
      }
      hn::StoreU(s00, d, to);
      hn::StoreU(s01, d, to + step);
      hn::StoreU(s10, d, to + b);
      hn::StoreU(s11, d, to + b + step);
      hn::StoreU(s20, d, to + 2 * b);
      hn::StoreU(s21, d, to + 2 * b + step);
      hn::StoreU(s30, d, to + 3 * b);
      hn::StoreU(s31, d, to + 3 * b + step);
    }
}

}  // namespace mlo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlo {
HWY_EXPORT(ClassProducts);
HWY_EXPORT(ClassProductsByRow);
HWY_EXPORT(ClassRemaindersOf);
HWY_EXPORT(ClassRadii);
HWY_EXPORT(ClassTriangle);
HWY_EXPORT(ClassLengths);
HWY_EXPORT(ClassAddProduct);

namespace class_kernels {

void products(const Products& shape, const float* records, std::size_t record_stride, const RowId* ids,
              std::size_t count, const float* from, const float* to, double* out) {
  HWY_DYNAMIC_DISPATCH(ClassProducts)(shape, records, record_stride, ids, count, from, to, out);
}
void products_by_row(const Products& shape, const double* w, std::size_t row_stride, const double* z,
                     std::size_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(ClassProductsByRow)(shape, w, row_stride, z, count, out);
}
void remainders(int order, std::size_t classes, std::size_t count, std::size_t stride, const double* t,
                const double* p, std::size_t p_stride, const double* shift, double* out) {
  HWY_DYNAMIC_DISPATCH(ClassRemaindersOf)(order, classes, count, stride, t, p, p_stride, shift, out);
}
void radii(const double* metrics, std::size_t width, std::size_t classes, const double* z, double* scratch,
           double* out) {
  HWY_DYNAMIC_DISPATCH(ClassRadii)(metrics, width, classes, z, scratch, out);
}
void triangle(const double* u, std::size_t width, const double* x, std::size_t stride, double* out) {
  HWY_DYNAMIC_DISPATCH(ClassTriangle)(u, width, x, stride, out);
}
void lengths(const double* u, std::size_t width, const double* x, std::size_t stride, double* out) {
  HWY_DYNAMIC_DISPATCH(ClassLengths)(u, width, x, stride, out);
}
void add_product(const double* left, std::size_t a, const double* right, std::size_t b, std::size_t rows,
                 double* sums) {
  HWY_DYNAMIC_DISPATCH(ClassAddProduct)(left, a, right, b, rows, sums);
}

}  // namespace class_kernels
}  // namespace mlo
#endif
