// Copyright (c) the mlo authors. BSD-3-Clause.
// Like Expansion, for softmax regression: the log-likelihood is a Taylor polynomial in the coefficients of
// all classes plus remainders, one per row, each bounded by pairs of classes. docs/methods/exact.md derives
// all of it.
//
// With delta_k the displacement of class k's coefficients from the centre (delta_0 = 0), a row's remainder
// depends on the differences x'(delta_k - delta_l) alone. For each pair S_kl = Cov(delta_k - delta_l) = C C'
// under the Laplace fit; a = |C'x| and r_kl = |C^-1 (delta_k - delta_l)|, so |x'(delta_k - delta_l)| <= a r.
// Each row has a reference class c, and for points with all r_kl <= R
//   |d_i(v') - d_i(v)| <= sum_{k != c} b_ik (r_kc^m(v) + r_kc^m(v')),   m = order + 1.
// So there is one stream of rows per pair of classes, with its own table to draw from. Rows with large bounds
// are read at every step: their remainders are part of the polynomial's value.
#pragma once

#include <Eigen/Dense>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mlo/base/huge_vector.hpp"
#include "mlo/base/raw_array.hpp"
#include "mlo/base/thread_pool.hpp"
#include "mlo/model/lines.hpp"
#include "mlo/model/mode.hpp"
#include "mlo/model/softmax.hpp"
#include "mlo/subsample/alias_table.hpp"
#include "mlo/subsample/expansion.hpp"
#include "mlo/subsample/white_point.hpp"
#include "mlo/subsample/white_rows.hpp"

namespace mlo {

// The m-th cumulant of any X with P(X != 0) <= share is at most this times E |X|^m, for m = order + 1.
// Proved by certificates, which the table has: docs/methods/exact.md, tests/subsample/class_bounds_test.cpp.
struct CumulantFactor {
  double share;
  double third, third_slope;                    // C_3(q) and lambda
  double fourth, fourth_tangent, fourth_slope;  // the upper side of C_4(q), s and lambda; the lower is 2 q
};
[[nodiscard]] std::span<const CumulantFactor> cumulant_factors() noexcept;
[[nodiscard]] double cumulant_factor(int order, double share) noexcept;

// Rows as products of floats read them: w (the row's numbers), the probabilities of all classes at the
// centre, the bounds b of all classes, the row's weight and its reference class.
class ClassRows {
 public:
  ClassRows(std::size_t rows, std::size_t width, std::size_t classes)
      : rows_(rows),
        width_(width),
        classes_(classes),
        stride_((width + 2 * classes + 2 + 7) / 8 * 8),
        records_(rows * stride_, Pages::huge) {}
  [[nodiscard]] std::size_t size() const noexcept { return rows_; }
  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  [[nodiscard]] std::size_t classes() const noexcept { return classes_; }
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }  // floats per record
  [[nodiscard]] float* record(std::size_t i) noexcept { return records_.data() + i * stride_; }
  [[nodiscard]] const float* record(std::size_t i) const noexcept { return records_.data() + i * stride_; }
  // Within a record.
  [[nodiscard]] std::size_t probabilities() const noexcept { return width_; }
  [[nodiscard]] std::size_t bounds() const noexcept { return width_ + classes_; }
  [[nodiscard]] std::size_t weight() const noexcept { return width_ + 2 * classes_; }
  [[nodiscard]] std::size_t reference() const noexcept { return width_ + 2 * classes_ + 1; }
  void prefetch(std::size_t i) const noexcept {
    constexpr std::size_t floats_a_line = 16;
    for (std::size_t k = 0; k < stride_; k += floats_a_line) __builtin_prefetch(record(i) + k);
  }

 private:
  std::size_t rows_, width_, classes_, stride_;
  RawArray<float> records_;
};

// Draws the rows of one pair of classes in proportion to their bounds: an alias table whose cells also hold
// the rows' numbers, so that a draw is one cache miss.
class PairTable {
 public:
  PairTable() : cells_(0, Pages::small) {}
  PairTable(std::span<const RowId> rows, std::span<const double> weights);
  struct Cell {
    std::uint64_t threshold;
    RowId own, alias;
  };
  [[nodiscard]] const Cell* cell(std::uint64_t word) const noexcept {
    return cells_.data() + static_cast<std::size_t>((static_cast<Uint128>(word) * cells_.size()) >> 64U);
  }
  [[nodiscard]] RowId row(std::uint64_t word, const Cell* cell) const noexcept {
    const auto low = static_cast<std::uint64_t>(static_cast<Uint128>(word) * cells_.size());
    return low < cell->threshold ? cell->own : cell->alias;
  }

 private:
  RawArray<Cell> cells_;
};

struct ClassPoint : WhitePoint {
  ClassPoint(std::size_t dim, std::size_t width, std::size_t classes);
  std::vector<double> z;       // the classes' displacements in the coordinates of the rows, class after class
  HugeVector<float> columns;   // the same by column, a lane per class but the base, padded with zeros
  std::vector<double> powers;  // r_kl^m of all pairs
  double radius = 0;           // the largest r_kl
  double always = 0;           // the remainders of the rows that are always read
  std::vector<double> room;    // to work in
};

// Rows' remainders at two points, and room to work in. By class, then by row.
struct ClassChanges {
  static constexpr std::size_t batch = 128;
  explicit ClassChanges(std::size_t classes)
      : products(2 * classes * batch), probabilities(classes * batch), r(batch), scratch(batch) {}
  std::vector<double> products;       // t of the first point, then of the second
  std::vector<double> probabilities;  // at the centre
  std::vector<double> r, scratch;     // r: d(to) - d(from)
};

struct ClassExpansion {
  using Point = ClassPoint;

  int order;
  std::size_t width, classes;  // columns per class; classes with the base
  Eigen::VectorXd centre;
  Apart apart;               // always empty: nothing is kept apart
  Eigen::MatrixXd whiten;    // v = whiten (theta - centre)
  Eigen::MatrixXd unwhiten;  // its inverse
  Unwhitening to_theta, to_rows;
  Eigen::VectorXd gradient;  // of the log-likelihood, in v
  Eigen::MatrixXd information;
  ClassRows rows;
  CubicForm cubic;  // for order 3
  std::vector<PairTable> tables;
  std::vector<double> totals;     // sums of b by pair
  HugeVector<double> metrics;     // r_kl = |metric (z_k - z_l)|; upper triangles by column, padded
  std::vector<double> always;     // w, p and weights of rows that are always read, row as the last index
  std::size_t always_rows = 0;    // how many they are
  std::size_t always_stride = 0;  // the same, padded
  std::vector<std::uint8_t> always_references;
  double radius = 0;    // R
  double constant = 0;  // the log-likelihood at the centre
  double passes = 0;    // over the data, to compute all this

  [[nodiscard]] std::size_t pairs() const noexcept { return classes * (classes - 1) / 2; }
  // The place of a pair k != l.
  [[nodiscard]] static std::size_t pair(std::size_t k, std::size_t l) noexcept {
    const std::size_t high = k > l ? k : l, low = k > l ? l : k;
    return high * (high - 1) / 2 + low;
  }

  // Per step: drawn; and in nanoseconds, with all that a step does.
  [[nodiscard]] double expected_draws() const noexcept;
  [[nodiscard]] double expected_rows() const noexcept {
    return expected_draws() + static_cast<double>(always_rows);
  }
  [[nodiscard]] double expected_nanoseconds() const noexcept;
  [[nodiscard]] std::size_t always_read() const noexcept { return always_rows; }

  [[nodiscard]] std::size_t dim() const noexcept { return static_cast<std::size_t>(centre.size()); }
  [[nodiscard]] Point point() const { return {dim(), width, classes}; }
  double derive(Point& point, const double* slope) const noexcept;  // as Expansion's
  // The mean number of rows that a move draws; infinite where the bounds do not hold. Symmetric.
  [[nodiscard]] RowLimit limit(const Point& from, const Point& to) const noexcept {
    if (!(from.radius <= radius && to.radius <= radius)) return {0, std::numeric_limits<double>::infinity()};
    double sum = 0;
    for (std::size_t k = 0; k < totals.size(); ++k) sum += totals[k] * (from.powers[k] + to.powers[k]);
    return {sum, sum};
  }
  // The changes of the remainders of some rows, changes.r. They must be fewer than ClassChanges::batch.
  void evaluate(std::span<const RowId> ids, const Point& here, const Point& there,
                ClassChanges& changes) const noexcept;
  // What a row's remainder can change by.
  [[nodiscard]] double bound(RowId row, const Point& here, const Point& there) const noexcept {
    const float* const record = rows.record(row);
    const auto reference = static_cast<std::size_t>(record[rows.reference()]);
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      if (k == reference) continue;
      const std::size_t m = pair(k, reference);
      sum += static_cast<double>(record[rows.bounds() + k]) * (here.powers[m] + there.powers[m]);
    }
    return sum;
  }
  [[nodiscard]] bool simple(bool quadratic_prior) const noexcept { return quadratic_prior; }
  [[nodiscard]] bool has_cubic() const noexcept { return order == 3; }
  // The part of the polynomial beyond the quadratic form, with the rows that are always read as they are.
  [[nodiscard]] double higher(const Point& point) const noexcept {
    return point.always + (order == 3 ? cubic(point.padded.data()) : 0);
  }
  void place(const Point& point, Eigen::VectorXd& theta, Eigen::VectorXd& /*room*/) const noexcept {
    to_theta(point.v.data(), theta.data());
  }
  [[nodiscard]] Eigen::VectorXd white(const Eigen::VectorXd& theta) const {
    return whiten * (theta - centre);
  }
};

struct ClassExpansionOptions {
  int order = 0;             // 2 or 3; 0: whichever makes the whole run cheaper
  double steps = 1e4;        // the number of steps in the run
  double always_from = 0.5;  // rows that a step would draw this often are always read
  double bound_factor = 1;   // for tests: below 1 breaks the bounds on purpose, 0 switches stage 2 off
};

// The memory that the rows and the tables take.
[[nodiscard]] double class_expansion_bytes(const Softmax& model) noexcept;

// One pass over the rows for the records, another for the cubic form.
[[nodiscard]] ClassExpansion expand_classes(const Softmax& model, ThreadPool& pool, const Mode& mode,
                                            const ClassExpansionOptions& options = {});

}  // namespace mlo
