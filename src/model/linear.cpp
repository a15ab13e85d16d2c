// Copyright (c) the mlo authors. BSD-3-Clause.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/linear.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
//
#include <hwy/highway.h>

#include "model/linear.hpp"

HWY_BEFORE_NAMESPACE();
namespace mlo::linear::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most four lanes: rows are short (p = 2..50), and wider registers would mostly hold the next row.
using D = hn::CappedTag<double, 4>;
using V = hn::Vec<D>;

// The four rows' dot products with beta. The order of additions within a row does not depend on the other rows, so a
// row's eta is the same wherever it stands in a batch.
HWY_INLINE void dot4(const double* const* rows, const double* beta, std::size_t dim, double* eta) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V a0 = hn::Zero(d), a1 = hn::Zero(d), a2 = hn::Zero(d), a3 = hn::Zero(d);
  for (std::size_t j = 0; j < dim; j += lanes) {
    const V b = hn::LoadU(d, beta + j);
    a0 = hn::MulAdd(hn::LoadU(d, rows[0] + j), b, a0);
    a1 = hn::MulAdd(hn::LoadU(d, rows[1] + j), b, a1);
    a2 = hn::MulAdd(hn::LoadU(d, rows[2] + j), b, a2);
    a3 = hn::MulAdd(hn::LoadU(d, rows[3] + j), b, a3);
  }
#if HWY_TARGET == HWY_SCALAR
  eta[0] = hn::GetLane(a0), eta[1] = hn::GetLane(a1), eta[2] = hn::GetLane(a2), eta[3] = hn::GetLane(a3);
#else
  // Horizontal sums of four vectors at once: pairs within 128-bit blocks, then (for 256 bits) across them.
  const V s01 = hn::Add(hn::InterleaveLower(d, a0, a1), hn::InterleaveUpper(d, a0, a1));
  const V s23 = hn::Add(hn::InterleaveLower(d, a2, a3), hn::InterleaveUpper(d, a2, a3));
  if (lanes == 4) {
    hn::StoreU(hn::Add(hn::ConcatLowerLower(d, s23, s01), hn::ConcatUpperUpper(d, s23, s01)), d, eta);
  } else {
    hn::StoreU(s01, d, eta);
    hn::StoreU(s23, d, eta + 2);
  }
#endif
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

void PredictorsGather(RowStoreView x, const std::uint32_t* ids, std::size_t count, const double* beta, double* eta) {
  // A random row is one to three cache lines from memory. Asking for it 16 rows ahead hides most of the wait.
  constexpr std::size_t ahead = 16;
  constexpr std::size_t line = 64 / sizeof(double);
  const auto prefetch = [&](std::size_t k) {
    const double* row = x.data + ids[k] * x.stride;
    for (std::size_t j = 0; j < x.stride; j += line) __builtin_prefetch(row + j);
    __builtin_prefetch(row + x.stride - 1);
  };
  for (std::size_t k = 0; k < count && k < ahead; ++k) prefetch(k);
  for (std::size_t k = 0; k < count; k += 4) {
    const std::size_t here = count - k < 4 ? count - k : 4;
    for (std::size_t m = k + ahead; m < count && m < k + ahead + 4; ++m) prefetch(m);
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

// A tile of the information matrix: 4 rows of it times up to 3 vectors of columns, held in registers over the block.
template <int kVectors>
HWY_INLINE void gram_tile(RowStoreView x, const double* base, std::size_t count, const double* v, std::size_t j0,
                          std::size_t m0, double* information) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V acc[4][kVectors];
  for (auto& row : acc)
    for (auto& cell : row) cell = hn::Zero(d);
  for (std::size_t k = 0; k < count; ++k) {
    const double* row = base + k * x.stride;
    V columns[kVectors];
    for (int c = 0; c < kVectors; ++c) columns[c] = hn::LoadU(d, row + m0 + static_cast<std::size_t>(c) * lanes);
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
    V acc = hn::Zero(d);
    for (std::size_t k = 0; k < count; ++k)
      acc = hn::MulAdd(hn::Set(d, u[k]), hn::LoadU(d, base + k * x.stride + j), acc);
    double lane[4];
    hn::StoreU(acc, d, lane);
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

HWY_EXPORT(PredictorsRange);
HWY_EXPORT(PredictorsGather);
HWY_EXPORT(AddMoments);

void predictors(RowStoreView x, std::size_t first, std::size_t count, const double* beta, double* eta) noexcept {
  HWY_DYNAMIC_DISPATCH(PredictorsRange)(x, first, count, beta, eta);
}
void predictors(RowStoreView x, const std::uint32_t* ids, std::size_t count, const double* beta,
                double* eta) noexcept {
  HWY_DYNAMIC_DISPATCH(PredictorsGather)(x, ids, count, beta, eta);
}
void add_moments(RowStoreView x, std::size_t first, std::size_t count, const double* u, const double* v,
                 double* gradient, double* information) noexcept {
  HWY_DYNAMIC_DISPATCH(AddMoments)(x, first, count, u, v, gradient, information);
}

}  // namespace mlo::linear
#endif
