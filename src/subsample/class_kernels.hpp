// Copyright (c) the mlo authors. BSD-3-Clause.
// SIMD loops of ClassExpansion. Arrays "by row" have the row as their last index, `stride` apart from one
// class or column to the next; strides are multiples of 8, and loops may work on the padding.
#pragma once

#include <cstddef>

#include "mlo/model/model.hpp"

namespace mlo::class_kernels {

inline constexpr std::size_t lanes = 8;
[[nodiscard]] constexpr std::size_t padded(std::size_t n) noexcept { return (n + lanes - 1) / lanes * lanes; }

// Products of rows' numbers with the columns of two points: out[(k + 1) * stride + i] for class k + 1 of row
// ids[i] at the first point, and `second` later at the second. columns: `width` times padded(others) floats.
struct Products {
  std::size_t width, others, stride, second;
};
void products(const Products& shape, const float* records, std::size_t record_stride, const RowId* ids,
              std::size_t count, const float* from, const float* to, double* out);

// The same for rows by row, at one point: z has `width` numbers per class.
void products_by_row(const Products& shape, const double* w, std::size_t row_stride, const double* z,
                     std::size_t count, double* out);

// out[i] = -(log(sum_k p_k e^X_k) - its Taylor polynomial of that order), X_k = t_k - shift[i]; p by row as
// t.
void remainders(int order, std::size_t classes, std::size_t count, std::size_t stride, const double* t,
                const double* p, std::size_t p_stride, const double* shift, double* out);

// |metric (z_k - z_l)| for all pairs k > l: metrics are `width` columns of padded(width) numbers each. The
// base has z = 0. scratch: 2 * padded(width).
void radii(const double* metrics, std::size_t width, std::size_t classes, const double* z, double* scratch,
           double* out);

// by row: out_j = sum_{i <= j} u(i, j) x_i, u by column (upper triangle).
void triangle(const double* u, std::size_t width, const double* x, std::size_t stride, double* out);
// out[i] = |row i of that|.
void lengths(const double* u, std::size_t width, const double* x, std::size_t stride, double* out);

// sums (a x b) += left' right: left has `rows` rows of a numbers, right of b; a is a multiple of 4, b of 8.
void add_product(const double* left, std::size_t a, const double* right, std::size_t b, std::size_t rows,
                 double* sums);

}  // namespace mlo::class_kernels
