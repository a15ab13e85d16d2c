// Copyright (c) the mlo authors. BSD-3-Clause.
// The rows of a design, in batches, as models and methods ask for them. Only this class and linear.cpp know
// what a row is made of: a record of dense columns and the codes of its factors.
#pragma once

#include <Eigen/Dense>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "mlo/data/design.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

class RowStore;

// Coefficients as the loops over rows read them: those of the dense columns with zeros after the last, and
// for the columns of factors what each cell adds to the predictor.
class Coefficients {
 public:
  Coefficients(Params theta, const RowStore& store);
  [[nodiscard]] const double* data() const noexcept { return heap_.empty() ? stack_.data() : heap_.data(); }
  // What the cells of all blocks add, block after block, and what all rows add.
  [[nodiscard]] const double* cells() const noexcept { return cells_.data(); }
  [[nodiscard]] double constant() const noexcept { return constant_; }

 private:
  std::array<double, 256> stack_;  // larger designs use the heap
  std::vector<double> heap_;
  std::vector<double> cells_;
  double constant_ = 0;
};

class RowStore {
 public:
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  explicit RowStore(Design design);

  // Names, scales and where the rows came from, without the rows themselves.
  [[nodiscard]] const Design& design() const noexcept { return design_; }
  [[nodiscard]] std::size_t size() const noexcept { return design_.rows; }
  [[nodiscard]] std::size_t dim() const noexcept { return design_.dim; }

  void responses(Rows rows, std::span<double> y) const noexcept;
  // How often the rows count. To be asked only if the design has weights.
  void weights(Rows rows, std::span<double> w) const noexcept;
  // x_k' beta plus the offset.
  void predictors(const Coefficients& beta, Rows rows, std::span<double> eta) const noexcept;
  // x_k' beta alone.
  void products(const Coefficients& beta, Rows rows, std::span<double> out) const noexcept;
  // Prefetches the first of these rows, which will be read soon; reading those prefetches the others.
  void prefetch(std::span<const RowId> ids) const noexcept;
  // Two predictors of the first `count` rows of ids, each row fetched once. Also prefetches rows that come
  // later in ids, even beyond `count`.
  void predictor_pairs(std::span<const RowId> ids, std::size_t count, const Coefficients& from,
                       const Coefficients& to, std::span<double> from_eta,
                       std::span<double> to_eta) const noexcept;

  // out.row(first + k) = u[k] x_k, in the first dim() columns.
  void scaled_rows(Rows rows, std::span<const double> u, Eigen::MatrixXd& out, std::size_t first) const;

  // Rows first..first+count-1 by matrix products, for passes over all rows: x_k' theta with the offset, the
  // whitened rows x_k' U for an upper triangular U, and the lengths |L^-1 x_k| for a lower triangular L. Of
  // some columns only, if there are `columns`: ascending, one per row of U.
  [[nodiscard]] Eigen::VectorXd predictors(std::size_t first, std::size_t count,
                                           const Eigen::VectorXd& theta) const;
  [[nodiscard]] Matrix whitened(std::size_t first, std::size_t count, const Eigen::MatrixXd& upper,
                                std::span<const std::size_t> columns = {}) const;
  [[nodiscard]] Eigen::VectorXd white_lengths(std::size_t first, std::size_t count,
                                              const Eigen::MatrixXd& lower) const;

  // Where the cells of a block begin among those of all blocks.
  [[nodiscard]] std::size_t first_cell(std::size_t block) const noexcept { return first_cells_[block]; }
  [[nodiscard]] std::size_t cells() const noexcept { return first_cells_.back(); }

 private:
  friend class MomentSums;
  friend class Coefficients;
  void add_cells(const Coefficients& beta, Rows rows, std::span<double> eta) const noexcept;

  Design design_;
  std::vector<std::size_t> first_cells_;  // one more than there are blocks
};

// Sums over rows: of u[k] x_k and, if asked for, of v[k] x_k x_k'. The columns of a factor are never written
// out: its part of the matrix is a diagonal, that of two factors a table of their levels. So a row costs
// O(q^2 + q K) for q dense columns and K factors.
class MomentSums {
 public:
  MomentSums(const RowStore& store, bool with_information);
  void add(Rows rows, std::span<const double> u, std::span<const double> v);
  // gradient[j] += and information[j * dim + m] += for m >= j (upper triangle).
  void finish(std::span<double> gradient, std::span<double> information) const;

 private:
  [[nodiscard]] std::size_t dense() const noexcept { return store_->design().dense.size(); }
  void add_cells(Rows rows, std::span<const double> u, std::span<const double> v);

  const RowStore* store_;
  bool with_information_;
  std::vector<double> gradient_, information_;  // of the dense columns
  double total_ = 0, weight_ = 0;               // sums of u and of v
  std::vector<double> cell_sums_;               // sum of u m, by cell
  std::vector<double> cell_weights_;            // sum of v m
  std::vector<double> cell_squares_;            // sum of v m^2
  std::vector<double> cell_dense_;              // sum of v m x, by cell, then dense column
  std::vector<std::vector<double>> tables_;  // of two blocks a < b, sum of v m_a m_b by cell of a, then of b
};

}  // namespace mlo
