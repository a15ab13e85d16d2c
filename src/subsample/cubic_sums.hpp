// Copyright (c) the mlo authors. BSD-3-Clause.
// The cubic form of an expansion of order 3, summed over all rows.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cstddef>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/subsample/drawn_rows.hpp"
#include "mlo/subsample/white_rows.hpp"

namespace mlo {

// Sums of f_i''' w_ij w_ik w_il / 6, each distinct triple once with its multiplicity. A fixed number of
// chunks, added in order: the same for any number of threads. The maker writes records of stride() floats,
// which begin with the dim() numbers of w, and the third derivatives.
template <class Maker>
CubicForm sum_cubic(const Maker& maker, std::size_t n, ThreadPool& pool) {
  using Eigen::Index;
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic>;
  const auto p = static_cast<Index>(maker.dim());
  const std::size_t stride = maker.stride();
  // slices[j](l, k) for l >= k >= 0, over the columns from j on.
  using Slices = std::vector<Eigen::MatrixXd>;
  struct Tensor {
    Slices slices;
    Tensor& operator+=(const Tensor& other) {
      for (std::size_t j = 0; j < slices.size(); ++j) slices[j] += other.slices[j];
      return *this;
    }
  };
  Tensor zero;
  for (Index j = 0; j < p; ++j) zero.slices.emplace_back(Eigen::MatrixXd::Zero(p - j, p - j));
  // Few enough rows at a time that sums in floats have errors of at most 1e-6 and everything fits into the
  // second-level cache.
  constexpr std::size_t block = 4 * DrawnRows::block_rows, chunks = 16;
  const std::size_t chunk = ((n + chunks - 1) / chunks + block - 1) / block * block;
  const Tensor tensor = block_sum(pool, n, chunk, zero, [&](std::size_t first, std::size_t count) {
    Tensor part = zero;
    std::vector<float> records(block * stride), third(block);
    Matrix weighted;
    std::vector<Matrix> sums;
    for (Index j = 0; j < p; ++j) sums.emplace_back(p - j, p - j);
    for (std::size_t at = first; at < first + count; at += block) {
      const std::size_t rows = std::min(block, first + count - at);
      for (std::size_t k = 0; k < rows; k += DrawnRows::block_rows)
        maker.make_with_third(at + k, std::min(DrawnRows::block_rows, rows - k), records.data() + k * stride,
                              third.data() + k);
      const auto size = static_cast<Index>(rows);
      const Eigen::Map<const Matrix, 0, Eigen::OuterStride<>> w(
          records.data(), p, size, Eigen::OuterStride<>(static_cast<Index>(stride)));
      const Eigen::Map<const Eigen::RowVectorXf> f(third.data(), size);
      for (Index j = 0; j < p; ++j) {
        const auto tail = w.bottomRows(p - j);
        weighted = tail.array().rowwise() * (f.array() * w.row(j).array());
        Matrix& sum = sums[static_cast<std::size_t>(j)];
        sum.setZero();
        sum.triangularView<Eigen::Lower>() += weighted * tail.transpose();
        part.slices[static_cast<std::size_t>(j)] += sum.cast<double>();
      }
    }
    return part;
  });
  return {maker.dim(), [&](std::size_t j, std::size_t k, std::size_t l) {
            const double multiplicity = j == k && k == l ? 1 : j == k || k == l ? 3 : 6;
            return multiplicity / 6 * tensor.slices[j](static_cast<Index>(l - j), static_cast<Index>(k - j));
          }};
}

}  // namespace mlo
