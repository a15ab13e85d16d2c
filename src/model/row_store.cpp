// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/row_store.hpp"

#include <algorithm>
#include <utility>

#include "model/linear.hpp"

namespace mlo {
namespace {

linear::RowStoreView view(const Design& design) {
  return {design.x.data(), design.stride, design.dense.size()};
}

auto dense_columns(const Design& design, std::size_t first, std::size_t count) {
  return Eigen::Map<const RowStore::Matrix, 0, Eigen::OuterStride<>>(
      design.row(first), static_cast<Eigen::Index>(count), static_cast<Eigen::Index>(design.dense.size()),
      Eigen::OuterStride<>(static_cast<Eigen::Index>(design.stride)));
}

// What a record's cells add to a predictor.
double cell_sum(const Design& design, std::span<const std::size_t> first_cells, const double* row,
                const Coefficients& beta) noexcept {
  double sum = beta.constant();
  for (std::size_t b = 0; b < design.blocks.size(); ++b) {
    const LevelBlock& block = design.blocks[b];
    const double value = beta.cells()[first_cells[b] + block.cell(row)];
    sum += block.number == LevelBlock::no_number ? value : value * row[block.number];
  }
  return sum;
}

}  // namespace

Coefficients::Coefficients(Params theta, const RowStore& store) {
  const Design& design = store.design();
  const std::size_t dense = design.dense.size();
  if (dense + linear::padding > stack_.size()) heap_.resize(dense + linear::padding);
  double* out = heap_.empty() ? stack_.data() : heap_.data();
  for (std::size_t d = 0; d < dense; ++d) out[d] = theta[design.dense[d]];
  std::fill_n(out + dense, linear::padding, 0.0);
  if (design.blocks.empty()) return;
  cells_.resize(store.cells());
  for (std::size_t j = 0; j < design.dim; ++j) constant_ -= theta[j] * design.shift[j] / design.divisor[j];
  for (std::size_t b = 0; b < design.blocks.size(); ++b) {
    const LevelBlock& block = design.blocks[b];
    double* const cells = cells_.data() + store.first_cell(b);
    for (std::size_t cell = 0; cell < block.cells; ++cell) {
      double sum = 0;
      for (std::size_t e = block.starts[cell]; e < block.starts[cell + 1]; ++e)
        sum += theta[block.columns[e]] * block.values[e] / design.divisor[block.columns[e]];
      cells[cell] = sum;
    }
  }
}

RowStore::RowStore(Design design) : design_(std::move(design)), first_cells_{0} {
  for (const LevelBlock& block : design_.blocks) first_cells_.push_back(first_cells_.back() + block.cells);
}

void RowStore::responses(Rows rows, std::span<double> y) const noexcept {
  if (rows.contiguous()) {
    const double* next = design_.row(rows[0]) + design_.dense.size();
    for (std::size_t k = 0; k < rows.size(); ++k, next += design_.stride) y[k] = *next;
  } else {
    for (std::size_t k = 0; k < rows.size(); ++k) y[k] = design_.y(rows[k]);
  }
}

void RowStore::weights(Rows rows, std::span<double> w) const noexcept {
  for (std::size_t k = 0; k < rows.size(); ++k) w[k] = design_.weight(rows[k]);
}

void RowStore::add_cells(const Coefficients& beta, Rows rows, std::span<double> eta) const noexcept {
  if (design_.blocks.empty()) return;
  for (std::size_t k = 0; k < rows.size(); ++k)
    eta[k] += cell_sum(design_, first_cells_, design_.row(rows[k]), beta);
}

void RowStore::products(const Coefficients& beta, Rows rows, std::span<double> out) const noexcept {
  if (rows.contiguous()) {
    linear::predictors(view(design_), rows[0], rows.size(), beta.data(), out.data());
  } else {
    linear::predictors(view(design_), rows.ids(), rows.size(), beta.data(), out.data());
  }
  add_cells(beta, rows, out);
}

void RowStore::predictors(const Coefficients& beta, Rows rows, std::span<double> eta) const noexcept {
  products(beta, rows, eta);
  if (design_.has_offset)
    for (std::size_t k = 0; k < rows.size(); ++k) eta[k] += design_.offset(rows[k]);
}

void RowStore::prefetch(std::span<const RowId> ids) const noexcept { linear::prefetch(view(design_), ids); }

void RowStore::predictor_pairs(std::span<const RowId> ids, std::size_t count, const Coefficients& from,
                               const Coefficients& to, std::span<double> from_eta,
                               std::span<double> to_eta) const noexcept {
  linear::predictor_pairs(view(design_), ids, count, from.data(), to.data(), from_eta.data(), to_eta.data());
  add_cells(from, Rows(ids.first(count)), from_eta);
  add_cells(to, Rows(ids.first(count)), to_eta);
  if (!design_.has_offset) return;
  for (std::size_t k = 0; k < count; ++k) {
    const double offset = design_.offset(ids[k]);
    from_eta[k] += offset;
    to_eta[k] += offset;
  }
}

void RowStore::scaled_rows(Rows rows, std::span<const double> u, Eigen::MatrixXd& out,
                           std::size_t first) const {
  std::vector<double> x(dim());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    design_.working_row(rows[k], x);
    for (std::size_t j = 0; j < dim(); ++j)
      out(static_cast<Eigen::Index>(first + k), static_cast<Eigen::Index>(j)) = u[k] * x[j];
  }
}

Eigen::VectorXd RowStore::predictors(std::size_t first, std::size_t count,
                                     const Eigen::VectorXd& theta) const {
  Eigen::VectorXd eta;
  if (design_.blocks.empty()) {
    eta = dense_columns(design_, first, count) * theta.head(static_cast<Eigen::Index>(dim()));
  } else {
    eta.resize(static_cast<Eigen::Index>(count));
    products(Coefficients(params(theta), *this), Rows::range(first, count), {eta.data(), count});
  }
  if (design_.has_offset)
    for (std::size_t k = 0; k < count; ++k) eta[static_cast<Eigen::Index>(k)] += design_.offset(first + k);
  return eta;
}

// A row's product with a matrix is that of its dense columns plus, for each of its cells, a row of the matrix
// of that cell: O(q + K) rows of it, not p.
RowStore::Matrix RowStore::whitened(std::size_t first, std::size_t count, const Eigen::MatrixXd& upper,
                                    std::span<const std::size_t> columns) const {
  if (design_.blocks.empty() && columns.empty())
    return dense_columns(design_, first, count) * upper.triangularView<Eigen::Upper>();
  // Where a column's row is in `upper`; none for columns that are left out.
  std::vector<Eigen::Index> place(dim(), -1);
  for (std::size_t j = 0; j < (columns.empty() ? dim() : columns.size()); ++j)
    place[columns.empty() ? j : columns[j]] = static_cast<Eigen::Index>(j);
  if (design_.blocks.empty()) {
    Matrix some(static_cast<Eigen::Index>(count), upper.rows());
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t j = 0; j < columns.size(); ++j)
        some(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(j)) = design_.row(first + k)[columns[j]];
    return some * upper.triangularView<Eigen::Upper>();
  }
  const Matrix whole = upper.triangularView<Eigen::Upper>();  // row-major, zeros below the diagonal
  Matrix dense_part = Matrix::Zero(static_cast<Eigen::Index>(design_.dense.size()), upper.cols());
  for (std::size_t d = 0; d < design_.dense.size(); ++d)
    if (const Eigen::Index row = place[design_.dense[d]]; row >= 0)
      dense_part.row(static_cast<Eigen::Index>(d)) = whole.row(row);
  Eigen::RowVectorXd constant = Eigen::RowVectorXd::Zero(upper.cols());
  for (std::size_t j = 0; j < dim(); ++j)
    if (place[j] >= 0 && design_.shift[j] != 0)
      constant -= design_.shift[j] / design_.divisor[j] * whole.row(place[j]);
  Matrix cells = Matrix::Zero(static_cast<Eigen::Index>(this->cells()), upper.cols());
  for (std::size_t b = 0; b < design_.blocks.size(); ++b) {
    const LevelBlock& block = design_.blocks[b];
    for (std::size_t cell = 0; cell < block.cells; ++cell)
      for (std::size_t e = block.starts[cell]; e < block.starts[cell + 1]; ++e)
        if (const Eigen::Index row = place[block.columns[e]]; row >= 0)
          cells.row(static_cast<Eigen::Index>(first_cells_[b] + cell)) +=
              block.values[e] / design_.divisor[block.columns[e]] * whole.row(row);
  }
  Matrix out = dense_columns(design_, first, count) * dense_part;
  for (std::size_t k = 0; k < count; ++k) {
    const double* const row = design_.row(first + k);
    auto white = out.row(static_cast<Eigen::Index>(k));
    white += constant;
    for (std::size_t b = 0; b < design_.blocks.size(); ++b)
      white += design_.blocks[b].factor(row) *
               cells.row(static_cast<Eigen::Index>(first_cells_[b] + design_.blocks[b].cell(row)));
  }
  return out;
}

Eigen::VectorXd RowStore::white_lengths(std::size_t first, std::size_t count,
                                        const Eigen::MatrixXd& lower) const {
  if (design_.blocks.empty())
    return lower.triangularView<Eigen::Lower>()
        .solve(dense_columns(design_, first, count).transpose())
        .colwise()
        .norm();
  Eigen::MatrixXd rows(static_cast<Eigen::Index>(dim()), static_cast<Eigen::Index>(count));
  for (std::size_t k = 0; k < count; ++k)
    design_.working_row(first + k, {rows.col(static_cast<Eigen::Index>(k)).data(), dim()});
  return lower.triangularView<Eigen::Lower>().solve(rows).colwise().norm();
}

}  // namespace mlo
