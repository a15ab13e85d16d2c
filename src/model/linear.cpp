// Copyright (c) the mlo authors. BSD-3-Clause.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/linear.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
//
#include <hwy/highway.h>

#include "model/linear.hpp"

// Does not depend on the instruction set, so it is compiled once.
#ifndef MLO_MODEL_LINEAR_PREFETCH
#define MLO_MODEL_LINEAR_PREFETCH
namespace mlo::linear {

inline void prefetch_row(RowStoreView x, std::uint32_t id) {
  constexpr std::uintptr_t line = 64;
  const auto row = reinterpret_cast<std::uintptr_t>(x.data + id * x.stride);
  const std::uintptr_t end = row + x.stride * sizeof(double);
  for (std::uintptr_t at = row & ~(line - 1); at < end; at += line)
    __builtin_prefetch(reinterpret_cast<const void*>(at));
}

}  // namespace mlo::linear
#endif

HWY_BEFORE_NAMESPACE();
namespace mlo::linear::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most four lanes: rows are short (p = 2..50), and wider registers would mostly hold the next row.
using D = hn::CappedTag<double, 4>;
using V = hn::Vec<D>;

// Four sums over lanes at once: pairs within 128-bit blocks, then (for 256 bits) across them.
HWY_INLINE void store_sums(V a0, V a1, V a2, V a3, double* out) {
#if HWY_TARGET == HWY_SCALAR
  out[0] = hn::GetLane(a0), out[1] = hn::GetLane(a1), out[2] = hn::GetLane(a2), out[3] = hn::GetLane(a3);
#else
  const D d;
  const V s01 = hn::Add(hn::InterleaveLower(d, a0, a1), hn::InterleaveUpper(d, a0, a1));
  const V s23 = hn::Add(hn::InterleaveLower(d, a2, a3), hn::InterleaveUpper(d, a2, a3));
  if (hn::Lanes(d) == 4) {
    hn::StoreU(hn::Add(hn::ConcatLowerLower(d, s23, s01), hn::ConcatUpperUpper(d, s23, s01)), d, out);
  } else {
    hn::StoreU(s01, d, out);
    hn::StoreU(s23, d, out + 2);
  }
#endif
}

// The four rows' dot products with beta. The order of additions within a row does not depend on the other
// rows, so a row's eta is the same wherever it stands in a batch.
HWY_INLINE void dot4(const double* const* rows, const double* beta, std::size_t dim, double* eta) {
  const D d;
  V a0 = hn::Zero(d), a1 = hn::Zero(d), a2 = hn::Zero(d), a3 = hn::Zero(d);
  for (std::size_t j = 0; j < dim; j += hn::Lanes(d)) {
    const V b = hn::LoadU(d, beta + j);
    a0 = hn::MulAdd(hn::LoadU(d, rows[0] + j), b, a0);
    a1 = hn::MulAdd(hn::LoadU(d, rows[1] + j), b, a1);
    a2 = hn::MulAdd(hn::LoadU(d, rows[2] + j), b, a2);
    a3 = hn::MulAdd(hn::LoadU(d, rows[3] + j), b, a3);
  }
  store_sums(a0, a1, a2, a3, eta);
}

// Two rows' dot products with two betas: out = {row 0 a, row 0 b, row 1 a, row 1 b}.
HWY_INLINE void dot2x2(const double* const* rows, const double* beta_a, const double* beta_b, std::size_t dim,
                       double* out) {
  const D d;
  V a0 = hn::Zero(d), b0 = hn::Zero(d), a1 = hn::Zero(d), b1 = hn::Zero(d);
  for (std::size_t j = 0; j < dim; j += hn::Lanes(d)) {
    const V a = hn::LoadU(d, beta_a + j), b = hn::LoadU(d, beta_b + j);
    const V x0 = hn::LoadU(d, rows[0] + j), x1 = hn::LoadU(d, rows[1] + j);
    a0 = hn::MulAdd(x0, a, a0);
    b0 = hn::MulAdd(x0, b, b0);
    a1 = hn::MulAdd(x1, a, a1);
    b1 = hn::MulAdd(x1, b, b1);
  }
  store_sums(a0, b0, a1, b1, out);
}

void PredictorsRange(RowStoreView x, std::size_t first, std::size_t count, const double* beta, double* eta) {
  const double* row = x.data + first * x.stride;
  std::size_t k = 0;
  for (; k + 4 <= count; k += 4, row += 4 * x.stride) {
    const double* const rows[4] = {row, row + x.stride, row + 2 * x.stride, row + 3 * x.stride};
    dot4(rows, beta, x.dim, eta + k);
  }
  if (k == count) return;
  const double* rows[4];
  for (std::size_t m = 0; m < 4; ++m) rows[m] = x.data + (first + (k + m < count ? k + m : k)) * x.stride;
  double out[4];
  dot4(rows, beta, x.dim, out);
  for (std::size_t m = 0; k + m < count; ++m) eta[k + m] = out[m];
}

void PredictorsGather(RowStoreView x, const std::uint32_t* ids, std::size_t count, const double* beta,
                      double* eta) {
  for (std::size_t k = 0; k < count && k < ahead; ++k) prefetch_row(x, ids[k]);
  for (std::size_t k = 0; k < count; k += 4) {
    const std::size_t here = count - k < 4 ? count - k : 4;
    for (std::size_t m = k + ahead; m < count && m < k + ahead + 4; ++m) prefetch_row(x, ids[m]);
    const double* rows[4];
    for (std::size_t m = 0; m < 4; ++m) rows[m] = x.data + ids[k + (m < here ? m : 0)] * x.stride;
    if (here == 4) {
      dot4(rows, beta, x.dim, eta + k);
    } else {
      double out[4];
      dot4(rows, beta, x.dim, out);
      for (std::size_t m = 0; m < here; ++m) eta[k + m] = out[m];
    }
  }
}

void PredictorPairs(RowStoreView x, std::span<const std::uint32_t> ids, std::size_t count,
                    const double* beta_a, const double* beta_b, double* eta_a, double* eta_b) {
  for (std::size_t k = 0; k < count; k += 2) {
    const std::size_t second = k + 1 < count ? k + 1 : k;
    for (std::size_t m = k + ahead; m < ids.size() && m < k + ahead + 2; ++m) prefetch_row(x, ids[m]);
    const double* const rows[2] = {x.data + ids[k] * x.stride, x.data + ids[second] * x.stride};
    double out[4];
    dot2x2(rows, beta_a, beta_b, x.dim, out);
    eta_a[k] = out[0], eta_b[k] = out[1];
    eta_a[second] = out[2], eta_b[second] = out[3];
  }
}

// A tile of the information matrix: 4 of its rows by up to 3 vectors of columns, held in registers while the
// block of data is read.
template <int kVectors>
HWY_INLINE void gram_tile(RowStoreView x, const double* base, std::size_t count, const double* v,
                          std::size_t j0, std::size_t m0, double* information) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V acc[4][kVectors];
  for (auto& row : acc)
    for (auto& cell : row) cell = hn::Zero(d);
  for (std::size_t k = 0; k < count; ++k) {
    const double* row = base + k * x.stride;
    V columns[kVectors];
    for (int c = 0; c < kVectors; ++c)
      columns[c] = hn::LoadU(d, row + m0 + static_cast<std::size_t>(c) * lanes);
    for (std::size_t r = 0; r < 4; ++r) {
      const V left = hn::Set(d, v[k] * row[j0 + r]);
      for (int c = 0; c < kVectors; ++c) acc[r][c] = hn::MulAdd(left, columns[c], acc[r][c]);
    }
  }
  double lane[4];
  for (std::size_t r = 0; r < 4 && j0 + r < x.dim; ++r)
    for (int c = 0; c < kVectors; ++c) {
      hn::StoreU(acc[r][c], d, lane);
      for (std::size_t l = 0; l < lanes; ++l) {
        const std::size_t m = m0 + static_cast<std::size_t>(c) * lanes + l;
        if (m < x.dim && m >= j0 + r) information[(j0 + r) * x.dim + m] += lane[l];
      }
    }
}

void AddMoments(RowStoreView x, std::size_t first, std::size_t count, const double* u, const double* v,
                double* gradient, double* information) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const double* base = x.data + first * x.stride;
  for (std::size_t j = 0; j < x.dim; j += lanes) {
    // Four running sums, because a single one would wait for each addition to finish.
    V acc0 = hn::Zero(d), acc1 = hn::Zero(d), acc2 = hn::Zero(d), acc3 = hn::Zero(d);
    const double* column = base + j;
    std::size_t k = 0;
    for (; k + 4 <= count; k += 4, column += 4 * x.stride) {
      acc0 = hn::MulAdd(hn::Set(d, u[k]), hn::LoadU(d, column), acc0);
      acc1 = hn::MulAdd(hn::Set(d, u[k + 1]), hn::LoadU(d, column + x.stride), acc1);
      acc2 = hn::MulAdd(hn::Set(d, u[k + 2]), hn::LoadU(d, column + 2 * x.stride), acc2);
      acc3 = hn::MulAdd(hn::Set(d, u[k + 3]), hn::LoadU(d, column + 3 * x.stride), acc3);
    }
    for (; k < count; ++k, column += x.stride)
      acc0 = hn::MulAdd(hn::Set(d, u[k]), hn::LoadU(d, column), acc0);
    double lane[4];
    hn::StoreU(hn::Add(hn::Add(acc0, acc1), hn::Add(acc2, acc3)), d, lane);
    for (std::size_t l = 0; l < lanes && j + l < x.dim; ++l) gradient[j + l] += lane[l];
  }
  if (information == nullptr) return;
  for (std::size_t j0 = 0; j0 < x.dim; j0 += 4) {
    std::size_t m0 = j0;
    for (; m0 + 2 * lanes < x.dim; m0 += 3 * lanes) gram_tile<3>(x, base, count, v, j0, m0, information);
    if (m0 < x.dim && m0 + lanes < x.dim) {
      gram_tile<2>(x, base, count, v, j0, m0, information);
    } else if (m0 < x.dim) {
      gram_tile<1>(x, base, count, v, j0, m0, information);
    }
  }
}

}  // namespace mlo::linear::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlo::linear {

void prefetch(RowStoreView x, std::span<const std::uint32_t> ids) noexcept {
  for (std::size_t k = 0; k < ids.size() && k < ahead; ++k) prefetch_row(x, ids[k]);
}

HWY_EXPORT(PredictorsRange);
HWY_EXPORT(PredictorsGather);
HWY_EXPORT(PredictorPairs);
HWY_EXPORT(AddMoments);

void predictors(RowStoreView x, std::size_t first, std::size_t count, const double* beta,
                double* eta) noexcept {
  HWY_DYNAMIC_DISPATCH(PredictorsRange)(x, first, count, beta, eta);
}
void predictors(RowStoreView x, const std::uint32_t* ids, std::size_t count, const double* beta,
                double* eta) noexcept {
  HWY_DYNAMIC_DISPATCH(PredictorsGather)(x, ids, count, beta, eta);
}
void predictor_pairs(RowStoreView x, std::span<const std::uint32_t> ids, std::size_t count,
                     const double* beta_a, const double* beta_b, double* eta_a, double* eta_b) noexcept {
  HWY_DYNAMIC_DISPATCH(PredictorPairs)(x, ids, count, beta_a, beta_b, eta_a, eta_b);
}
void add_moments(RowStoreView x, std::size_t first, std::size_t count, const double* u, const double* v,
                 double* gradient, double* information) noexcept {
  HWY_DYNAMIC_DISPATCH(AddMoments)(x, first, count, u, v, gradient, information);
}

}  // namespace mlo::linear
#endif
