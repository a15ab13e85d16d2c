// Copyright (c) the mlo authors. BSD-3-Clause.
// The rows as `exact` reads them: whitened, w_i = L^-1 x_i with L L' the information at the mode, so that
// x_i'(theta - centre) = w_i'v and v is about N(0, I) under the posterior. One record per row, in floats:
// w_i, then e (the row's predictor at the centre), its scale and its bound. For p = 11 that is one cache
// line. Floats are precise enough: a remainder changes by a relative 1e-7, and the bound is that of the row
// as stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "mlo/base/huge_vector.hpp"
#include "mlo/base/raw_array.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

class WhiteRows {
 public:
  // Cleared.
  WhiteRows(std::size_t rows, std::size_t dim) : WhiteRows(rows, dim, Pages::huge) {
    std::fill_n(records_.data(), records_.size(), 0.0F);
  }
  // Not cleared: before a record is read, all of its stride() floats must be written.
  WhiteRows(std::size_t rows, std::size_t dim, Pages pages)
      : rows_(rows), dim_(dim), stride_(stride_of(dim)), records_(rows * stride_, pages) {}

  [[nodiscard]] std::size_t size() const noexcept { return rows_; }
  [[nodiscard]] std::size_t dim() const noexcept { return dim_; }
  // Floats per record; also the length of the (zero-padded) vectors that dots() takes.
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }
  [[nodiscard]] static std::size_t stride_of(std::size_t dim) noexcept {
    return (dim + 3 + lanes - 1) / lanes * lanes;
  }

  [[nodiscard]] float* record(std::size_t i) noexcept { return records_.data() + i * stride_; }
  [[nodiscard]] const float* record(std::size_t i) const noexcept { return records_.data() + i * stride_; }
  [[nodiscard]] float& e(std::size_t i) noexcept { return record(i)[dim_]; }
  [[nodiscard]] float& scale(std::size_t i) noexcept { return record(i)[dim_ + 1]; }
  [[nodiscard]] float& bound(std::size_t i) noexcept { return record(i)[dim_ + 2]; }
  [[nodiscard]] double e(std::size_t i) const noexcept { return static_cast<double>(record(i)[dim_]); }
  [[nodiscard]] double scale(std::size_t i) const noexcept {
    return static_cast<double>(record(i)[dim_ + 1]);
  }
  [[nodiscard]] double bound(std::size_t i) const noexcept {
    return static_cast<double>(record(i)[dim_ + 2]);
  }

  void prefetch(std::size_t i) const noexcept {
    constexpr std::size_t floats_a_line = 16;
    for (std::size_t k = 0; k < stride_; k += floats_a_line) __builtin_prefetch(record(i) + k);
  }

  // from[k] = w_i'v and to[k] = w_i'u for i = ids[k]; v and u have stride() floats, zero from dim() on.
  void dots(std::span<const RowId> ids, const float* v, const float* u, float* from,
            float* to) const noexcept;

 private:
  static constexpr std::size_t lanes = 8;
  std::size_t rows_, dim_, stride_;
  RawArray<float> records_;
};

// sum_{j <= k <= l} T_jkl v_j v_k v_l, in floats: for a few dozen parameters some hundred SIMD products.
class CubicForm {
 public:
  static constexpr std::size_t max_dim = 100;

  CubicForm() = default;
  // tensor(j, k, l) for j <= k <= l, all factors included; dim <= max_dim.
  template <class Tensor>
  CubicForm(std::size_t dim, const Tensor& tensor) : dim_(dim) {
    for (std::size_t block = 0; block < dim; block += lanes)
      for (std::size_t k = 0; k < std::min(std::max(dim, lanes), block + lanes); ++k)
        for (std::size_t j = 0; j <= k; ++j)
          for (std::size_t l = block; l < block + lanes; ++l)
            coefficients_.push_back(k <= l && l < dim ? static_cast<float>(tensor(j, k, l)) : 0.0F);
  }
  // v is padded with zeros to a multiple of 8.
  [[nodiscard]] double operator()(const float* v) const noexcept;

 private:
  static constexpr std::size_t lanes = 8;
  std::size_t dim_ = 0;
  // By block of 8 l's, then by the pairs j <= k that have an l >= k in the block: the order in which they are
  // read. Fewer than 8 variables are filled up with zeros.
  HugeVector<float> coefficients_;
};

// theta = centre + U v for an upper triangular U.
class Unwhitening {
 public:
  Unwhitening() = default;
  Unwhitening(const Eigen::VectorXd& centre, const Eigen::MatrixXd& upper);
  void operator()(const double* v, double* theta) const noexcept;

 private:
  static constexpr std::size_t lanes = 4;
  std::size_t dim_ = 0;
  // For each block of 4 rows: the centre's entries, then the columns from the block's first row on.
  HugeVector<double> blocks_;
};

}  // namespace mlo
