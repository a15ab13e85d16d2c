// Copyright (c) the mlo authors. BSD-3-Clause.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/whitening.cpp"
#include "mlo/model/whitening.hpp"

#include <hwy/foreach_target.h>  // compiles this file once per instruction set; before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <memory>

HWY_BEFORE_NAMESPACE();
namespace mlo::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sixteen rows at a time, one per lane, so that a number of U is loaded once for all of them.
void WhitenColumns(const double* columns, std::size_t count, std::size_t dim, const double* upper,
                   double* squares, double* white) {
  const hn::CappedTag<double, 4> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d), group = 4 * lanes;
  constexpr std::size_t ld = Whitening::batch;
  for (std::size_t k = 0; k < count; k += group) {
    V s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
    const double* u = upper;
    for (std::size_t j = 0; j < dim; ++j) {
      V w0 = hn::Zero(d), w1 = hn::Zero(d), w2 = hn::Zero(d), w3 = hn::Zero(d);
      const double* x = columns + k;
      for (std::size_t i = 0; i <= j; ++i, x += ld) {
        const V factor = hn::Set(d, *u++);
        w0 = hn::MulAdd(factor, hn::LoadU(d, x), w0);
        w1 = hn::MulAdd(factor, hn::LoadU(d, x + lanes), w1);
        w2 = hn::MulAdd(factor, hn::LoadU(d, x + 2 * lanes), w2);
        w3 = hn::MulAdd(factor, hn::LoadU(d, x + 3 * lanes), w3);
      }
      s0 = hn::MulAdd(w0, w0, s0);
      s1 = hn::MulAdd(w1, w1, s1);
      s2 = hn::MulAdd(w2, w2, s2);
      s3 = hn::MulAdd(w3, w3, s3);
      if (white == nullptr) continue;
      double* out = white + j * ld + k;
      hn::StoreU(w0, d, out);
      hn::StoreU(w1, d, out + lanes);
      hn::StoreU(w2, d, out + 2 * lanes);
      hn::StoreU(w3, d, out + 3 * lanes);
    }
    hn::StoreU(s0, d, squares + k);
    hn::StoreU(s1, d, squares + k + lanes);
    hn::StoreU(s2, d, squares + k + 2 * lanes);
    hn::StoreU(s3, d, squares + k + 3 * lanes);
  }
}

}  // namespace mlo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlo {

HWY_EXPORT(WhitenColumns);

Whitening::Whitening(const RowStore& rows, const Eigen::MatrixXd& upper, std::span<const std::size_t> columns)
    : rows_(&rows), dim_(static_cast<std::size_t>(upper.cols())) {
  const Design& design = rows.design();
  assert(columns.empty() ? design.dim == dim_ : columns.size() == dim_);
  // Where a column is in U; `none` for columns that are left out.
  constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> place(design.dim, none);
  for (std::size_t j = 0; j < dim_; ++j) place[columns.empty() ? j : columns[j]] = j;
  if (design.blocks.empty()) {
    places_.resize(dim_);
    for (std::size_t d = 0; d < design.dense.size(); ++d)
      if (place[design.dense[d]] != none) places_[place[design.dense[d]]] = d;
    upper_.reserve(dim_ * (dim_ + 1) / 2);
    for (Eigen::Index j = 0; j < upper.cols(); ++j)
      for (Eigen::Index i = 0; i <= j; ++i) upper_.push_back(upper(i, j));
    return;
  }
  // out += factor times the row of U that belongs to a column.
  const auto add = [&](double* out, std::size_t column, double factor) {
    if (place[column] == none) return;
    for (std::size_t j = place[column]; j < dim_; ++j)
      out[j] += factor * upper(static_cast<Eigen::Index>(place[column]), static_cast<Eigen::Index>(j));
  };
  of_dense_.resize(design.dense.size() * dim_);
  for (std::size_t d = 0; d < design.dense.size(); ++d) add(of_dense_.data() + d * dim_, design.dense[d], 1);
  of_all_.resize(dim_);
  for (std::size_t j = 0; j < design.dim; ++j)
    if (design.shift[j] != 0) add(of_all_.data(), j, -design.shift[j] / design.divisor[j]);
  of_cell_.resize(rows.cells() * dim_);
  for (std::size_t b = 0; b < design.blocks.size(); ++b) {
    const LevelBlock& block = design.blocks[b];
    for (std::size_t cell = 0; cell < block.cells; ++cell)
      for (std::size_t e = block.starts[cell]; e < block.starts[cell + 1]; ++e)
        add(of_cell_.data() + (rows.first_cell(b) + cell) * dim_, block.columns[e],
            block.values[e] / design.divisor[block.columns[e]]);
  }
}

void Whitening::operator()(std::size_t first, std::size_t count, std::span<double> squares,
                           std::span<double> white) const {
  assert(count <= batch && squares.size() >= count);
  assert(white.empty() || white.size() >= batch * dim_);
  if (rows_->design().blocks.empty()) {
    dense(first, count, squares, white);
  } else {
    coded(first, count, squares, white);
  }
}

void Whitening::dense(std::size_t first, std::size_t count, std::span<double> squares,
                      std::span<double> white) const {
  std::array<double, 32 * batch> stack;  // more columns use the heap
  std::unique_ptr<double[]> heap;
  double* transposed = stack.data();
  if (dim_ * batch > stack.size()) {
    heap = std::make_unique_for_overwrite<double[]>(dim_ * batch);
    transposed = heap.get();
  }
  for (std::size_t k = 0; k < count; ++k) {
    const double* row = rows_->design().row(first + k);
    for (std::size_t j = 0; j < dim_; ++j) transposed[j * batch + k] = row[places_[j]];
  }
  const std::size_t padded = (count + 15) / 16 * 16;
  for (std::size_t j = 0; j < dim_; ++j)
    std::fill(transposed + j * batch + count, transposed + j * batch + padded, 0.0);
  std::array<double, batch> all;
  HWY_DYNAMIC_DISPATCH(WhitenColumns)
  (transposed, count, dim_, upper_.data(), all.data(), white.empty() ? nullptr : white.data());
  std::copy_n(all.begin(), count, squares.begin());
}

// A row's w is the sum of those of its dense columns and of its cells: O(q + K) rows of dim() numbers, not p.
void Whitening::coded(std::size_t first, std::size_t count, std::span<double> squares,
                      std::span<double> white) const {
  const Design& design = rows_->design();
  std::vector<double> w(dim_);
  const auto add = [&](const double* row, double factor) {
    for (std::size_t j = 0; j < dim_; ++j) w[j] += factor * row[j];
  };
  for (std::size_t k = 0; k < count; ++k) {
    const double* const row = design.row(first + k);
    std::copy(of_all_.begin(), of_all_.end(), w.begin());
    for (std::size_t d = 0; d < design.dense.size(); ++d) add(of_dense_.data() + d * dim_, row[d]);
    for (std::size_t b = 0; b < design.blocks.size(); ++b) {
      const LevelBlock& block = design.blocks[b];
      add(of_cell_.data() + (rows_->first_cell(b) + block.cell(row)) * dim_, block.factor(row));
    }
    double square = 0;
    for (std::size_t j = 0; j < dim_; ++j) {
      square += w[j] * w[j];
      if (!white.empty()) white[j * batch + k] = w[j];
    }
    squares[k] = square;
  }
}

}  // namespace mlo
#endif
