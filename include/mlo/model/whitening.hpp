// Copyright (c) the mlo authors. BSD-3-Clause.
// w = U'x for the rows x of a design and an upper triangular U: rows of which only the length |w| is needed,
// or that are needed themselves. With SIMD by Highway where all columns are dense. A row's result does not
// depend on the rows beside it.
#pragma once

#include <Eigen/Dense>
#include <cstddef>
#include <span>
#include <vector>

#include "mlo/model/row_store.hpp"

namespace mlo {

class Whitening {
 public:
  // Rows at a time: for a few dozen columns their transpose fits the first-level cache.
  static constexpr std::size_t batch = 64;

  // Of all columns, or of some, ascending, one per row of U. The rows must outlive this.
  Whitening(const RowStore& rows, const Eigen::MatrixXd& upper, std::span<const std::size_t> columns = {});
  [[nodiscard]] std::size_t dim() const noexcept { return dim_; }

  // Rows first..first+count-1, `batch` at most: squares[k] = |w_k|^2 and, unless `white` is empty,
  // white[j * batch + k] = w_kj. Numbers after the first `count` of a column of `white` are not specified.
  void operator()(std::size_t first, std::size_t count, std::span<double> squares,
                  std::span<double> white = {}) const;

  // Whether rows have factors. Then they are best made one at a time: the same w as above, side by side.
  [[nodiscard]] bool by_rows() const noexcept { return part_count_ > 0; }
  void row(std::size_t i, std::span<double> w) const;

 private:
  void add_parts(const double* record, std::span<double> w) const noexcept;
  void dense(std::size_t first, std::size_t count, std::span<double> squares, std::span<double> white) const;
  void coded(std::size_t first, std::size_t count, std::span<double> squares, std::span<double> white) const;

  const RowStore* rows_;
  std::size_t dim_;
  // Without factors: the places of the columns in a record, and U by column, from the top to the diagonal.
  std::vector<std::size_t> places_;
  std::vector<double> upper_;
  // With factors: what every row, a dense column and a cell of a block add to w, a row of dim() numbers each,
  // one after the other; and the products of these rows with each other, which give |w|^2 in O((q + K)^2).
  // Empty if there would be too many.
  std::vector<double> parts_, products_;
  std::size_t part_count_ = 0;
};

}  // namespace mlo
