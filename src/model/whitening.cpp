// Copyright (c) the mlo authors. BSD-3-Clause.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/whitening.cpp"
#include "mlo/model/whitening.hpp"

#include <hwy/foreach_target.h>  // compiles this file once per instruction set; before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <memory>
#include <numeric>

HWY_BEFORE_NAMESPACE();
namespace mlo::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sixteen rows at a time, one per lane, so that a number of U is loaded once for all of them.
void WhitenColumns(const double* columns, std::size_t dim, const double* upper, double* squares,
                   double* white) {
  const hn::CappedTag<double, 4> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d), group = 4 * lanes;
  constexpr std::size_t ld = Whitening::batch;
  for (std::size_t k = 0; k < ld; k += group) {
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

Whitening::Whitening(const Eigen::MatrixXd& upper, std::span<const std::size_t> columns)
    : columns_(columns.begin(), columns.end()) {
  const auto dim = static_cast<std::size_t>(upper.cols());
  if (columns.empty()) {
    columns_.resize(dim);
    std::iota(columns_.begin(), columns_.end(), std::size_t{0});
  }
  assert(columns_.size() == dim);
  upper_.reserve(dim * (dim + 1) / 2);
  for (Eigen::Index j = 0; j < upper.cols(); ++j)
    for (Eigen::Index i = 0; i <= j; ++i) upper_.push_back(upper(i, j));
}

void Whitening::operator()(const From& rows, std::span<double> squares, std::span<double> white) const {
  assert(rows.count <= batch && squares.size() >= rows.count);
  assert(white.empty() || white.size() >= batch * dim());
  std::array<double, 32 * batch> stack;  // more columns use the heap
  std::unique_ptr<double[]> heap;
  double* transposed = stack.data();
  if (dim() * batch > stack.size()) {
    heap = std::make_unique_for_overwrite<double[]>(dim() * batch);
    transposed = heap.get();
  }
  for (std::size_t k = 0; k < rows.count; ++k) {
    const double* row = rows.x + k * rows.stride;
    for (std::size_t j = 0; j < dim(); ++j) transposed[j * batch + k] = row[columns_[j]];
  }
  for (std::size_t j = 0; j < dim(); ++j)
    std::fill(transposed + j * batch + rows.count, transposed + (j + 1) * batch, 0.0);
  std::array<double, batch> all;
  HWY_DYNAMIC_DISPATCH(WhitenColumns)
  (transposed, dim(), upper_.data(), all.data(), white.empty() ? nullptr : white.data());
  std::copy_n(all.begin(), rows.count, squares.begin());
}

}  // namespace mlo
#endif
