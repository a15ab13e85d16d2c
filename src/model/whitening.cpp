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
  const std::size_t dense = design.dense.size();
  part_count_ = 1 + dense + rows.cells();
  parts_.assign(part_count_ * dim_, 0.0);
  const auto part = [&](std::size_t k) { return parts_.data() + k * dim_; };
  for (std::size_t j = 0; j < design.dim; ++j)
    if (design.shift[j] != 0) add(part(0), j, -design.shift[j] / design.divisor[j]);
  for (std::size_t d = 0; d < dense; ++d) add(part(1 + d), design.dense[d], 1);
  for (std::size_t b = 0; b < design.blocks.size(); ++b) {
    const LevelBlock& block = design.blocks[b];
    for (std::size_t cell = 0; cell < block.cells; ++cell)
      for (std::size_t e = block.starts[cell]; e < block.starts[cell + 1]; ++e)
        add(part(1 + dense + rows.first_cell(b) + cell), block.columns[e],
            block.values[e] / design.divisor[block.columns[e]]);
  }
  constexpr std::size_t most_products = 4'000'000;
  if (part_count_ * part_count_ > most_products) return;
  const auto size = static_cast<Eigen::Index>(part_count_);
  const Eigen::Map<const Eigen::MatrixXd> all(parts_.data(), static_cast<Eigen::Index>(dim_), size);
  products_.resize(part_count_ * part_count_);
  Eigen::Map<Eigen::MatrixXd>(products_.data(), size, size).noalias() = all.transpose() * all;
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

// A row's w is the sum of a few parts: those of its dense columns and of its cells, and one that all rows
// A row's w is the sum of a few parts: those of its dense columns and of its cells, and one that all rows
// have.
void Whitening::add_parts(const double* record, std::span<double> w) const noexcept {
  const Design& design = rows_->design();
  const std::size_t dense = design.dense.size();
  const auto add = [&](std::size_t part, double factor) {
    const double* const row = parts_.data() + part * dim_;
    for (std::size_t j = 0; j < dim_; ++j) w[j] += factor * row[j];
  };
  std::copy_n(parts_.begin(), dim_, w.begin());
  for (std::size_t d = 0; d < dense; ++d) add(1 + d, record[d]);
  for (std::size_t b = 0; b < design.blocks.size(); ++b)
    add(1 + dense + rows_->first_cell(b) + design.blocks[b].cell(record), design.blocks[b].factor(record));
}

void Whitening::row(std::size_t i, std::span<double> w) const {
  assert(by_rows() && w.size() == dim_);
  add_parts(rows_->design().row(i), w);
}

void Whitening::coded(std::size_t first, std::size_t count, std::span<double> squares,
                      std::span<double> white) const {
  const Design& design = rows_->design();
  const std::size_t dense = design.dense.size(), parts = 1 + dense + design.blocks.size();
  std::vector<double> w(dim_), factor(parts, 1.0);
  std::vector<std::size_t> part(parts);
  for (std::size_t d = 0; d <= dense; ++d) part[d] = d;
  for (std::size_t k = 0; k < count; ++k) {
    const double* const row = design.row(first + k);
    std::copy_n(row, dense, factor.begin() + 1);
    for (std::size_t b = 0; b < design.blocks.size(); ++b) {
      const LevelBlock& block = design.blocks[b];
      part[1 + dense + b] = 1 + dense + rows_->first_cell(b) + block.cell(row);
      factor[1 + dense + b] = block.factor(row);
    }
    double square = 0;
    for (std::size_t a = 0; a < parts && !products_.empty(); ++a) {
      const double* const products = products_.data() + part[a] * part_count_;
      double sum = 0.5 * factor[a] * products[part[a]];
      for (std::size_t b = 0; b < a; ++b) sum += factor[b] * products[part[b]];
      square += 2 * factor[a] * sum;
    }
    if (!white.empty() || products_.empty()) {
      add_parts(row, w);
      for (std::size_t j = 0; j < dim_ && products_.empty(); ++j) square += w[j] * w[j];
      for (std::size_t j = 0; j < dim_ && !white.empty(); ++j) white[j * batch + k] = w[j];
    }
    squares[k] = std::max(square, 0.0);
  }
}

}  // namespace mlo
#endif
