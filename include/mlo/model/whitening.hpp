// Copyright (c) the mlo authors. BSD-3-Clause.
// w = U'x for the rows x of a design and an upper triangular U, with SIMD by Highway: rows whose length |w|
// is all that is needed, or that are needed themselves. A row's result does not depend on the rows beside it.
#pragma once

#include <Eigen/Dense>
#include <cstddef>
#include <span>
#include <vector>

namespace mlo {

class Whitening {
 public:
  // Rows at a time: for a few dozen columns their transpose fits the first-level cache.
  static constexpr std::size_t batch = 64;

  // For all columns of a row, or for some, ascending, one per row of U.
  explicit Whitening(const Eigen::MatrixXd& upper, std::span<const std::size_t> columns = {});
  [[nodiscard]] std::size_t dim() const noexcept { return columns_.size(); }

  // Rows of doubles, `stride` of them apart; `count` is `batch` at most.
  struct From {
    const double* x;
    std::size_t stride, count;
  };
  // squares[k] = |w_k|^2 and, unless `white` is empty, white[j * batch + k] = w_kj. Numbers after the first
  // `count` of a column of `white` are not specified.
  void operator()(const From& rows, std::span<double> squares, std::span<double> white = {}) const;

 private:
  std::vector<std::size_t> columns_;
  std::vector<double> upper_;  // by column, from the top to the diagonal
};

}  // namespace mlo
