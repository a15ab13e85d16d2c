// Copyright (c) the mlo authors. BSD-3-Clause.
// The cubic form of an expansion of order 3, summed over all rows.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/base/thread_pool.hpp"
#include "mlo/subsample/drawn_rows.hpp"
#include "mlo/subsample/white_rows.hpp"

namespace mlo {

// Only a stated order 3 can be too wide: otherwise order 2 is chosen.
inline void check_cubic_variables(std::size_t variables) {
  if (variables > CubicForm::max_dim)
    throw UsageError(fmt::format("`order 3` is available for at most {} parameters (this model has {})",
                                 CubicForm::max_dim, variables));
}

// Sums of f_i''' w_ij w_ik w_il over rows, for j <= k <= l.
class CubicSums {
 public:
  // Few enough rows at a time that sums in floats have errors of at most 1e-6.
  static constexpr std::size_t batch = 4 * DrawnRows::block_rows;
  // A fixed number of chunks, added in order: the same for any number of threads.
  [[nodiscard]] static std::size_t chunk_rows(std::size_t n) noexcept {
    constexpr std::size_t chunks = 16;
    return ((n + chunks - 1) / chunks + batch - 1) / batch * batch;
  }

  explicit CubicSums(std::size_t dim)
      : dim_(dim), sums_(dim * (dim + 1) * (dim + 2) / 6), columns_((dim + 3) * batch) {}

  // At most `batch` rows: records of `stride` floats, which begin with w, and the third derivatives.
  void add(const float* records, std::size_t stride, const float* third, std::size_t rows) noexcept;
  CubicSums& operator+=(const CubicSums& other) noexcept {
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
    return *this;
  }

  // The form of degree 3 in the Taylor polynomial. It may have more variables than the rows: others(j, k, l)
  // has the coefficients where l >= dim.
  template <class Others>
  [[nodiscard]] CubicForm form(std::size_t variables, const Others& others) const {
    return {variables, [&](std::size_t j, std::size_t k, std::size_t l) -> double {
              if (l >= dim_) return others(j, k, l);
              const double multiplicity = j == k && k == l ? 1 : j == k || k == l ? 3 : 6;
              return multiplicity / 6 * sums_[place(j, k, l)];
            }};
  }

 private:
  // Sums are in the order of their (j, k, l).
  [[nodiscard]] std::size_t place(std::size_t j, std::size_t k, std::size_t l) const noexcept {
    const auto triples = [](std::size_t m) { return m * (m + 1) * (m + 2) / 6; };
    const auto pairs = [](std::size_t m) { return m * (m + 1) / 2; };
    return triples(dim_) - triples(dim_ - j) + pairs(dim_ - j) - pairs(dim_ - k) + l - k;
  }

  std::size_t dim_;
  std::vector<double> sums_;
  std::vector<float> columns_;  // room: w by column, the third derivatives, and their products
};

// The maker writes records of stride() floats, which begin with the dim() numbers of w, and the third
// derivatives.
template <class Maker>
CubicForm sum_cubic(const Maker& maker, std::size_t n, ThreadPool& pool) {
  check_cubic_variables(maker.dim());
  const std::size_t stride = maker.stride();
  const CubicSums zero(maker.dim());
  return block_sum(pool, n, CubicSums::chunk_rows(n), zero,
                   [&](std::size_t first, std::size_t count) {
                     CubicSums part = zero;
                     std::vector<float> records(CubicSums::batch * stride), third(CubicSums::batch);
                     for (std::size_t at = first; at < first + count; at += CubicSums::batch) {
                       const std::size_t rows = std::min(CubicSums::batch, first + count - at);
                       for (std::size_t k = 0; k < rows; k += DrawnRows::block_rows)
                         maker.make_with_third(at + k, std::min(DrawnRows::block_rows, rows - k),
                                               records.data() + k * stride, third.data() + k);
                       part.add(records.data(), stride, third.data(), rows);
                     }
                     return part;
                   })
      .form(maker.dim(), [](std::size_t, std::size_t, std::size_t) { return 0.0; });
}

}  // namespace mlo
