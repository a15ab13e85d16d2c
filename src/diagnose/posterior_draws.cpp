// Copyright (c) the mlo authors. BSD-3-Clause.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "diagnose/posterior_draws.cpp"
#include "mlo/diagnose/posterior_draws.hpp"

#include <hwy/foreach_target.h>  // compiles this file once per instruction set; before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <cassert>
#include <cstdint>

// Does not depend on the instruction set, so it is compiled once.
#ifndef MLO_DIAGNOSE_POSTERIOR_DRAWS_COLUMN
#define MLO_DIAGNOSE_POSTERIOR_DRAWS_COLUMN
namespace mlo::row_predictors {

// A column of four rows that is not 0 in all of them, and where the draws of its coefficient begin.
struct UsedColumn {
  const double* draws = nullptr;
  double x[4] = {};
};

}  // namespace mlo::row_predictors
#endif

HWY_BEFORE_NAMESPACE();
namespace mlo::row_predictors::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Four rows at a time, so that a coefficient's draws are loaded once for four products, and two vectors of
// draws, so that eight sums are under way, as many as it takes not to wait for an addition.
void FourRows(const UsedColumn* columns, std::size_t used, const double* offsets, std::size_t first,
              std::size_t count, std::size_t stride, double* eta) {
  const hn::CappedTag<double, 8> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t s = 0; s < count; s += 2 * lanes) {
    V a0 = hn::Set(d, offsets[0]), a1 = hn::Set(d, offsets[1]), a2 = hn::Set(d, offsets[2]),
      a3 = hn::Set(d, offsets[3]);
    V b0 = a0, b1 = a1, b2 = a2, b3 = a3;
    for (std::size_t j = 0; j < used; ++j) {
      const double* const draws = columns[j].draws + first + s;
      const V va = hn::LoadU(d, draws), vb = hn::LoadU(d, draws + lanes);
      const V x0 = hn::Set(d, columns[j].x[0]), x1 = hn::Set(d, columns[j].x[1]);
      const V x2 = hn::Set(d, columns[j].x[2]), x3 = hn::Set(d, columns[j].x[3]);
      a0 = hn::MulAdd(x0, va, a0);
      b0 = hn::MulAdd(x0, vb, b0);
      a1 = hn::MulAdd(x1, va, a1);
      b1 = hn::MulAdd(x1, vb, b1);
      a2 = hn::MulAdd(x2, va, a2);
      b2 = hn::MulAdd(x2, vb, b2);
      a3 = hn::MulAdd(x3, va, a3);
      b3 = hn::MulAdd(x3, vb, b3);
    }
    double* const out = eta + s;
    hn::StoreU(a0, d, out);
    hn::StoreU(b0, d, out + lanes);
    hn::StoreU(a1, d, out + stride);
    hn::StoreU(b1, d, out + stride + lanes);
    hn::StoreU(a2, d, out + 2 * stride);
    hn::StoreU(b2, d, out + 2 * stride + lanes);
    hn::StoreU(a3, d, out + 3 * stride);
    hn::StoreU(b3, d, out + 3 * stride + lanes);
  }
}

}  // namespace mlo::row_predictors::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlo {
namespace row_predictors {
HWY_EXPORT(FourRows);
}  // namespace row_predictors

PosteriorDraws::PosteriorDraws(std::span<const ChainDraws> chains, std::size_t coefficients, bool second)
    : dim_(coefficients) {
  std::size_t length = chains.empty() ? 0 : chains[0].size();
  for (const ChainDraws& chain : chains) length = std::min(length, chain.size());
  draws_ = length * chains.size();
  stride_ = padded(draws_);
  values_.assign(dim_ * stride_, 0.0);
  means_.assign(dim_, 0.0);
  if (second) second_.reserve(draws_);
  std::size_t draw = 0;
  for (const ChainDraws& chain : chains) {
    assert(chain.dim >= dim_ + (second ? 1 : 0));
    for (std::size_t k = 0; k < length; ++k, ++draw) {
      const double* const theta = chain.draws.data() + k * chain.dim;
      for (std::size_t j = 0; j < dim_; ++j) values_[j * stride_ + draw] = theta[j];
      if (second) second_.push_back(theta[dim_]);
    }
  }
  for (std::size_t j = 0; j < dim_; ++j) {
    double sum = 0;
    for (std::size_t s = 0; s < draws_; ++s) sum += coefficient(j, s);
    means_[j] = sum / static_cast<double>(draws_);
  }
}

void PosteriorDraws::predictors(std::span<const double> x, std::span<const double> offsets, std::size_t first,
                                std::size_t count, std::size_t stride, std::span<double> eta) const {
  using namespace mlo::row_predictors;
  const std::size_t rows = offsets.size();
  assert(x.size() == rows * dim_ && eta.size() >= rows * stride && stride >= padded(count));
  assert(first % draws_at_a_time == 0 && first + count <= draws_);
  std::vector<UsedColumn> used(dim_);
  // Of the last rows, if they are fewer than four, the first is repeated, and its predictors are written to a
  // separate place.
  std::vector<double> spare(rows % 4 == 0 ? 0 : 4 * stride);
  for (std::size_t r = 0; r < rows; r += 4) {
    const std::size_t here = std::min<std::size_t>(4, rows - r);
    double offset[4];
    const double* row[4];
    for (std::size_t m = 0; m < 4; ++m) {
      const std::size_t at = r + (m < here ? m : 0);
      offset[m] = offsets[at];
      row[m] = x.data() + at * dim_;
    }
    std::size_t columns = 0;
    for (std::size_t j = 0; j < dim_; ++j) {
      if (row[0][j] == 0 && row[1][j] == 0 && row[2][j] == 0 && row[3][j] == 0) continue;
      used[columns++] = {values_.data() + j * stride_, {row[0][j], row[1][j], row[2][j], row[3][j]}};
    }
    double* const out = here == 4 ? eta.data() + r * stride : spare.data();
    HWY_DYNAMIC_DISPATCH(FourRows)(used.data(), columns, offset, first, count, stride, out);
    if (here < 4) std::copy_n(spare.begin(), here * stride, eta.data() + r * stride);
  }
}

}  // namespace mlo
#endif  // HWY_ONCE
