// Copyright (c) the mlo authors. BSD-3-Clause.
// Passes over the rows of all levels.
#pragma once

#include <Eigen/Dense>
#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/subsample/level_reference.hpp"

namespace mlo {

[[nodiscard]] inline Eigen::Index index(std::size_t i) noexcept { return static_cast<Eigen::Index>(i); }

// Levels below this many rows may be far from normal, and reading all their rows is cheap.
inline constexpr std::size_t tiny_rows = 256;
inline constexpr double tiny_skew = 0.25;

struct Nothing {
  Nothing& operator+=(const Nothing& /*other*/) noexcept { return *this; }
};

// Sums of f1 x and -f2 x x' over rows.
class DenseSums {
 public:
  explicit DenseSums(std::size_t q) : q_(q), g_(q, 0), h_(q * q, 0) {}
  template <class T>
  void add(const T* x, double f1, double f2) noexcept {
    for (std::size_t i = 0; i < q_; ++i) {
      const auto xi = static_cast<double>(x[i]);
      g_[i] += f1 * xi;
      const double w = -f2 * xi;
      for (std::size_t j = 0; j <= i; ++j) h_[i * q_ + j] += w * static_cast<double>(x[j]);
    }
  }
  // Q columns, or any number of them if it is 0, of `count` rows; `m` is taken from each.
  template <std::size_t Q>
  void add_rows(const float* x, const double* m, const double* f1, const double* f2,
                std::size_t count) noexcept {
    if constexpr (Q == 0) {
      row_.resize(q_);
      for (std::size_t r = 0; r < count; ++r, x += q_) {
        for (std::size_t j = 0; j < q_; ++j) row_[j] = static_cast<double>(x[j]) - m[j];
        add(row_.data(), f1[r], f2[r]);
      }
    } else {
      std::array<double, Q> g{}, v{};
      std::array<double, Q * Q> h{};
      for (std::size_t r = 0; r < count; ++r, x += Q) {
        for (std::size_t j = 0; j < Q; ++j) v[j] = static_cast<double>(x[j]) - m[j];
        for (std::size_t i = 0; i < Q; ++i) {
          g[i] += f1[r] * v[i];
          const double w = f2[r] * v[i];
          for (std::size_t j = 0; j <= i; ++j) h[i * Q + j] -= w * v[j];
        }
      }
      for (std::size_t i = 0; i < Q; ++i) g_[i] += g[i];
      for (std::size_t i = 0; i < Q * Q; ++i) h_[i] += h[i];
    }
  }
  DenseSums& operator+=(const DenseSums& other) noexcept {
    for (std::size_t i = 0; i < g_.size(); ++i) g_[i] += other.g_[i];
    for (std::size_t i = 0; i < h_.size(); ++i) h_[i] += other.h_[i];
    return *this;
  }
  [[nodiscard]] Eigen::VectorXd gradient() const {
    return Eigen::Map<const Eigen::VectorXd>(g_.data(), static_cast<Eigen::Index>(q_));
  }
  [[nodiscard]] Eigen::MatrixXd information() const {
    const auto q = static_cast<Eigen::Index>(q_);
    // Row-major lower triangle, so the upper one of a column-major matrix.
    Eigen::MatrixXd out = Eigen::Map<const Eigen::MatrixXd>(h_.data(), q, q);
    return out.selfadjointView<Eigen::Upper>();
  }

 private:
  std::size_t q_;
  std::vector<double> g_, h_, row_;
};

// f(Q) with the number of columns as a constant, where it is small: loops over columns are then unrolled.
// Otherwise f(0).
template <class F>
void with_columns(std::size_t q, const F& f) {
  switch (q) {
    case 1:
      return f(std::integral_constant<std::size_t, 1>{});
    case 2:
      return f(std::integral_constant<std::size_t, 2>{});
    case 3:
      return f(std::integral_constant<std::size_t, 3>{});
    case 4:
      return f(std::integral_constant<std::size_t, 4>{});
    case 5:
      return f(std::integral_constant<std::size_t, 5>{});
    case 6:
      return f(std::integral_constant<std::size_t, 6>{});
    default:
      return f(std::integral_constant<std::size_t, 0>{});
  }
}

// body(first level, last level, sums) for chunks of levels that depend on the data alone. The chunks' sums
// are added in order, so that the result does not depend on the number of threads.
template <class Sums, class Body>
Sums over_chunks(ThreadPool& pool, const Grouping& group, const Sums& zero, const Body& body) {
  constexpr std::size_t rows_of_chunk = 8192;
  std::vector<std::size_t> begins{0};
  for (std::size_t level = 0; level < group.levels(); ++level)
    if (group.starts[level + 1] - group.starts[begins.back()] >= rows_of_chunk) begins.push_back(level + 1);
  if (begins.back() != group.levels()) begins.push_back(group.levels());
  std::vector<Sums> partial(begins.size() - 1, zero);
  pool.run(partial.size(),
           [&](std::size_t chunk) { body(begins[chunk], begins[chunk + 1], partial[chunk]); });
  Sums total = zero;
  for (const Sums& part : partial) total += part;
  return total;
}

// The same with body(level, sums) for each level.
template <class Sums, class Body>
Sums over_levels(ThreadPool& pool, const Grouping& group, const Sums& zero, const Body& body) {
  return over_chunks(pool, group, zero, [&](std::size_t first, std::size_t last, Sums& sums) {
    for (std::size_t level = first; level < last; ++level) body(level, sums);
  });
}

// The predictors of rows first, first + 1, ...
void predictors_of(const LevelRows& rows, const GroupedPoint& at, std::size_t first, std::span<double> eta);

// x_i minus sum_k M_k'z_ik.
void decoupled_row(const LevelRows& rows, const std::vector<LevelSums>& groups, std::size_t row,
                   std::span<double> out) noexcept;

// Sums over the cells of crossed groupings, if there are any.
void sum_cells(const GroupedModel& model, std::span<const LevelReference::Bend> bends,
               std::vector<CellSums>& cells);

// Minus the second derivatives of the coefficients' log prior.
[[nodiscard]] Eigen::MatrixXd prior_information(const GroupedModel& model, const GroupedPoint& at);
// L, lower, with L L' = a, where eigenvalues that are not positive are raised to a small positive number.
[[nodiscard]] Eigen::MatrixXd positive_factor(const Eigen::MatrixXd& a);
// A level's information without the directions in which its rows are not concave.
[[nodiscard]] Eigen::MatrixXd concave_part(const Eigen::MatrixXd& h);

}  // namespace mlo
