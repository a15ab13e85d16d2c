// Copyright (c) the mlo authors. BSD-3-Clause.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "subsample/white_rows.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
//
#include <hwy/highway.h>

#include <cstring>

#include "mlo/subsample/white_rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace mlo::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most eight lanes: records are multiples of eight floats.
using D = hn::CappedTag<float, 8>;
using V = hn::Vec<D>;

void WhiteDots(const float* records, std::size_t stride, const RowId* ids, std::size_t count, const float* v,
               const float* u, float* from, float* to) {
  const D d;
  for (std::size_t k = 0; k < count; ++k) {
    const float* row = records + ids[k] * stride;
    V a = hn::Zero(d), b = hn::Zero(d);
    for (std::size_t j = 0; j < stride; j += hn::Lanes(d)) {
      const V w = hn::LoadU(d, row + j);
      a = hn::MulAdd(w, hn::LoadU(d, v + j), a);
      b = hn::MulAdd(w, hn::LoadU(d, u + j), b);
    }
    from[k] = hn::GetLane(hn::SumOfLanes(d, a));
    to[k] = hn::GetLane(hn::SumOfLanes(d, b));
  }
}

// Up to eight variables: the sum over k of v_k times the sum over j <= k of v_j T_jk, a vector over l, all
// written out. The coefficients of k begin after those of smaller k's.
template <std::size_t k>
HWY_INLINE V InnerSum(D d, const float* coefficients, const float* v) {
  const V row = hn::LoadU(d, coefficients + 8 * k);
  if constexpr (k == 0)
    return hn::Mul(hn::Set(d, v[0]), row);
  else
    return hn::MulAdd(hn::Set(d, v[k]), row, InnerSum<k - 1>(d, coefficients, v));
}
template <std::size_t k>
HWY_INLINE V OuterSum(D d, const float* coefficients, const float* v) {
  const V sum = InnerSum<k>(d, coefficients + 4 * k * (k + 1), v);
  if constexpr (k == 0)
    return hn::Mul(hn::Set(d, v[0]), sum);
  else
    return hn::MulAdd(hn::Set(d, v[k]), sum, OuterSum<k - 1>(d, coefficients, v));
}
template <std::size_t dim>
double ShortCubic(const float* coefficients, const float* v) {
  const D d;
  V total = hn::Zero(d);
  for (std::size_t part = 0; part < 8; part += hn::Lanes(d))
    total = hn::MulAdd(OuterSum<dim - 1>(d, coefficients + part, v), hn::LoadU(d, v + part), total);
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, total)));
}

// First the products v_j v_k of all pairs j <= k, k by k; then, for each block of 8 l's, one long sum over
// pairs.
double WhiteCubic(const float* coefficients, std::size_t dim, const float* v) {
  switch (dim) {
    case 0:
      return 0;
    case 1:
    case 2:
    case 3:
    case 4:
      return ShortCubic<4>(coefficients, v);
    case 5:
      return ShortCubic<5>(coefficients, v);
    case 6:
      return ShortCubic<6>(coefficients, v);
    case 7:
      return ShortCubic<7>(coefficients, v);
    case 8:
      return ShortCubic<8>(coefficients, v);
    default:
      break;
  }
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t most = CubicForm::max_dim * (CubicForm::max_dim + 1) / 2 + 8;
  float pairs[most];
  for (std::size_t k = 0, at = 0; k < dim; at += ++k) {
    // Writes past the end of this k's products; those of the next k overwrite it.
    for (std::size_t j = 0; j <= k; j += lanes)
      hn::StoreU(hn::Mul(hn::Set(d, v[k]), hn::LoadU(d, v + j)), d, pairs + at + j);
  }
  V total = hn::Zero(d);
  for (std::size_t block = 0; block < dim; block += 8) {
    const std::size_t last = block + 8 < dim ? block + 8 : dim;
    const std::size_t count = last * (last + 1) / 2;
    for (std::size_t part = 0; part < 8; part += lanes) {
      const float* at = coefficients + part;
      V u0 = hn::Zero(d), u1 = hn::Zero(d), u2 = hn::Zero(d), u3 = hn::Zero(d);
      std::size_t m = 0;
      for (; m + 4 <= count; m += 4, at += 32) {
        u0 = hn::MulAdd(hn::Set(d, pairs[m]), hn::LoadU(d, at), u0);
        u1 = hn::MulAdd(hn::Set(d, pairs[m + 1]), hn::LoadU(d, at + 8), u1);
        u2 = hn::MulAdd(hn::Set(d, pairs[m + 2]), hn::LoadU(d, at + 16), u2);
        u3 = hn::MulAdd(hn::Set(d, pairs[m + 3]), hn::LoadU(d, at + 24), u3);
      }
      for (; m < count; ++m, at += 8) u0 = hn::MulAdd(hn::Set(d, pairs[m]), hn::LoadU(d, at), u0);
      total = hn::MulAdd(hn::Add(hn::Add(u0, u1), hn::Add(u2, u3)), hn::LoadU(d, v + block + part), total);
    }
    coefficients += 8 * count;
  }
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, total)));
}

void Unwhiten(const double* blocks, std::size_t dim, const double* v, double* theta) {
  const hn::CappedTag<double, 4> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < dim; i += 4) {
    alignas(32) double rows[4];
    const double* const end = blocks + 4 + 4 * (dim - i);
    for (std::size_t part = 0; part < 4; part += lanes) {
      auto even = hn::LoadU(d, blocks + part), odd = hn::Zero(d);
      const double* column = blocks + 4 + part;
      std::size_t j = i;
      for (; j + 2 <= dim; j += 2, column += 8) {
        even = hn::MulAdd(hn::Set(d, v[j]), hn::LoadU(d, column), even);
        odd = hn::MulAdd(hn::Set(d, v[j + 1]), hn::LoadU(d, column + 4), odd);
      }
      if (j < dim) even = hn::MulAdd(hn::Set(d, v[j]), hn::LoadU(d, column), even);
      hn::StoreU(hn::Add(even, odd), d, rows + part);
    }
    // Two at a time, as they are read next: a processor waits where it must join what two stores wrote.
    const std::size_t left = dim - i;
    if (left >= 2)
      std::memcpy(theta + i, rows, 2 * sizeof(double));
    else
      theta[i] = rows[0];
    if (left >= 4)
      std::memcpy(theta + i + 2, rows + 2, 2 * sizeof(double));
    else if (left == 3)
      theta[i + 2] = rows[2];
    blocks = end;
  }
}

}  // namespace mlo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlo {

HWY_EXPORT(WhiteDots);
HWY_EXPORT(WhiteCubic);
HWY_EXPORT(Unwhiten);

void WhiteRows::dots(std::span<const RowId> ids, const float* v, const float* u, float* from,
                     float* to) const noexcept {
  HWY_DYNAMIC_DISPATCH(WhiteDots)(records_.data(), stride_, ids.data(), ids.size(), v, u, from, to);
}

double CubicForm::operator()(const float* v) const noexcept {
  return HWY_DYNAMIC_DISPATCH(WhiteCubic)(coefficients_.data(), dim_, v);
}

Unwhitening::Unwhitening(const Eigen::VectorXd& centre, const Eigen::MatrixXd& upper)
    : dim_(static_cast<std::size_t>(centre.size())) {
  const auto p = centre.size();
  for (Eigen::Index i = 0; i < p; i += static_cast<Eigen::Index>(lanes)) {
    const auto row = [&](Eigen::Index k, auto&& value) { blocks_.push_back(i + k < p ? value(i + k) : 0.0); };
    for (Eigen::Index k = 0; k < 4; ++k) row(k, [&](Eigen::Index r) { return centre[r]; });
    for (Eigen::Index j = i; j < p; ++j)
      for (Eigen::Index k = 0; k < 4; ++k) row(k, [&](Eigen::Index r) { return r <= j ? upper(r, j) : 0.0; });
  }
}

void Unwhitening::operator()(const double* v, double* theta) const noexcept {
  HWY_DYNAMIC_DISPATCH(Unwhiten)(blocks_.data(), dim_, v, theta);
}

}  // namespace mlo
#endif
