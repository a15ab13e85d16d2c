// Copyright (c) the mlo authors. BSD-3-Clause.
// The three sums over design rows that every generalised linear model needs, with SIMD by Highway.
// Rows are records of `stride` doubles whose first `dim` are the columns. Loads may run up to 3 doubles over
// a row's end (the next row, or the store's padding): the excess is multiplied by zero or dropped, so it must
// be finite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mlo::linear {

struct RowStoreView {
  const double* data;
  std::size_t stride;
  std::size_t dim;
};

// Zeros after the coefficients that predictors() may read.
inline constexpr std::size_t padding = 4;

// eta[k] = x_k' beta for rows first..first+count-1. beta has dim + padding values, the last ones 0.
void predictors(RowStoreView x, std::size_t first, std::size_t count, const double* beta,
                double* eta) noexcept;

// A random row is one to three cache lines from memory. Prefetching it this many rows ahead hides most of the
// wait; a processor has at most some 20 lines in flight, and stalls when asked for more.
inline constexpr std::size_t ahead = 16;

// The same for rows ids[0..count-1], with prefetching.
void predictors(RowStoreView x, const std::uint32_t* ids, std::size_t count, const double* beta,
                double* eta) noexcept;

// Prefetches the first `ahead` of these rows.
void prefetch(RowStoreView x, std::span<const std::uint32_t> ids) noexcept;

// Two predictors of the first `count` rows of ids, each row fetched once. Also prefetches the rows of ids
// that come `ahead` later, even beyond `count`; the first ones should have been prefetched before.
void predictor_pairs(RowStoreView x, std::span<const std::uint32_t> ids, std::size_t count,
                     const double* beta_a, const double* beta_b, double* eta_a, double* eta_b) noexcept;

// gradient[j] += sum_k u[k] x_kj and, if information is not null, information[j * dim + m] += sum_k v[k] x_kj
// x_km for m >= j (upper triangle), for rows first..first+count-1.
void add_moments(RowStoreView x, std::size_t first, std::size_t count, const double* u, const double* v,
                 double* gradient, double* information) noexcept;

}  // namespace mlo::linear
