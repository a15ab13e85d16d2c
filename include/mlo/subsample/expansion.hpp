// Copyright (c) the mlo authors. BSD-3-Clause.
// The log-likelihood as a Taylor polynomial around the mode plus remainders, one per row, each with a bound.
// docs/methods/exact.md: the polynomial is known after one pass, so evaluating it reads no rows; the
// remainders are so small that a step of a chain needs to read about one row.
//
// In whitened coordinates v = L'(theta - centre) and with t_i = w_i'v:
//   log-likelihood(v) = constant + g'v - v'A v / 2 [+ cubic(v)] + sum_i d_i(t_i),
//   |d_i(w_i'v') - d_i(w_i'v)| <= c_i * factor * M(v, v'),   M by pair_bound(),
// for |v|, |v'| within a shell's radius. c_i = sup |f_i^(order+1)| |w_i|^(order+1), the supremum taken over
// the innermost shell; a wider shell has a factor that covers the increase of every row.
//
// Coefficients of awkward lines (mlo/model/lines.hpp) may be kept apart: then v has the other coefficients
// alone, and the rows of those lines are left out of all sums. Every step reads them as they are. For the
// rows that are left a line's coefficient is the same as a shift of the intercept, so v moves with
// intercept + sum of shift * coefficient instead of the intercept itself.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/model/curve.hpp"
#include "mlo/model/lines.hpp"
#include "mlo/model/mode.hpp"
#include "mlo/subsample/drawn_rows.hpp"
#include "mlo/subsample/white_point.hpp"
#include "mlo/subsample/white_rows.hpp"

namespace mlo {

// What the bound needs to know about a pair of points: their lengths, and their products with the step.
struct PairGeometry {
  double from, to, step;    // |v|, |v'|, |v' - v|
  double from_dot, to_dot;  // v'(v' - v), v''(v' - v)
};

[[nodiscard]] inline PairGeometry geometry(const WhitePoint& from, const WhitePoint& to) noexcept {
  double dot = 0;
  for (std::size_t j = 0; j < from.v.size(); ++j) dot += from.v[j] * to.v[j];
  const double step = std::sqrt(std::max(0.0, from.square + to.square - 2 * dot));
  return {std::sqrt(from.square), std::sqrt(to.square), step, dot - from.square, to.square - dot};
}

// M(v, v'), symmetric in its points; the smaller of two bounds for each order:
//   order 2: sup over directions x of |x'delta| (x'u)^2 is convex along the segment, so the mean of its
//            values at the ends bounds the integral; or |v|^3/6 + |v'|^3/6, which is tighter for moves
//            across the whole posterior;
//   order 3: the same two, |delta| (|v|^3 + |v'|^3) / 12 and (|v|^4 + |v'|^4) / 24.
[[nodiscard]] double pair_bound(int order, const PairGeometry& g) noexcept;

// Only the second of the bounds, an upper bound on pair_bound(): the part of one of the points, from its
// squared length, and both parts.
[[nodiscard]] inline double loose_pair_bound(int order, double square) noexcept {
  return order == 3 ? square * square * (1.0 / 24) : square * std::sqrt(square) * (1.0 / 6);
}
[[nodiscard]] inline double loose_pair_bound(int order, double from_square, double to_square) noexcept {
  return loose_pair_bound(order, from_square) + loose_pair_bound(order, to_square);
}

// E M(v, v') for independent v, v' ~ N(0, I), by the second of the bounds.
[[nodiscard]] double expected_pair_bound(int order, std::size_t dim) noexcept;

struct Shell {
  double radius, factor;
};

// A bound on the mean number of rows that a move reads: what it is without the pair's geometry, and with it.
struct RowLimit {
  double scale, rows;
};

struct Expansion {
  struct Point : WhitePoint {
    using WhitePoint::WhitePoint;
    double loose = 0;  // this end's part of the loose bound
  };
  static constexpr bool one_number = false;  // decides about the polynomial and the first row

  const RowCurve* curve;  // the model's, which outlives this
  int order;
  Eigen::VectorXd centre;
  Apart apart;
  Eigen::MatrixXd whiten;       // L'
  Eigen::MatrixXd unwhiten;     // L^-T: theta = centre + unwhiten v
  Unwhitening to_theta;         // the same, in a form made for speed; see place() where lines are apart
  Eigen::VectorXd gradient;     // g
  Eigen::MatrixXd information;  // A
  DrawnRows rows;               // with their c_i as bounds
  CubicForm cubic;              // for order 3
  double total_bound = 0;       // sum of the c_i
  std::vector<Shell> shells;    // by radius; beyond the last there is no bound
  double passes = 0;            // over the data, to compute all this
  double constant = 0;          // the log-likelihood at the centre, of the rows that are not apart

  [[nodiscard]] double expected_rows() const noexcept {
    return total_bound * expected_pair_bound(order, rows.dim());
  }
  [[nodiscard]] std::size_t always_read() const noexcept { return apart.rows.size(); }
  [[nodiscard]] std::size_t dim() const noexcept { return rows.dim(); }  // of v
  [[nodiscard]] Point point() const { return {rows.dim(), rows.stride()}; }
  // Fills in the members of a point that are derived from v; returns slope'v.
  double derive(Point& point, const double* slope) const noexcept {
    const double product = point.derive(slope);
    point.loose = loose_pair_bound(order, point.square);
    return product;
  }

  // From the points' lengths alone; infinite where the rows' bounds do not hold. Symmetric.
  [[nodiscard]] RowLimit limit(const Point& from, const Point& to) const noexcept {
    const double scale = factor(from, to) * total_bound;
    return {scale, scale * (from.loose + to.loose)};
  }
  // The same from all there is to know about the pair, which takes longer.
  [[nodiscard]] double mean_rows(const RowLimit& limit, const Point& from, const Point& to) const noexcept {
    return std::min(limit.rows, limit.scale * pair_bound(order, geometry(from, to)));
  }
  // The changes of the remainders of some rows.
  void evaluate(const WhiteRows& some, std::span<const RowId> ids, const Point& here, const Point& there,
                RowChanges& changes) const noexcept {
    const std::size_t size = ids.size();
    changes.multiply(some, ids, here, there);
    curve->changes(order, {changes.e.data(), size}, {changes.from.data(), size}, {changes.to.data(), size},
                   {changes.r.data(), size});
    for (std::size_t k = 0; k < size; ++k) changes.r[k] *= some.scale(ids[k]);
  }

  // Whether the polynomial and the prior are a quadratic form in v and what higher() adds.
  [[nodiscard]] bool simple(bool quadratic_prior) const noexcept { return quadratic_prior && apart.empty(); }
  [[nodiscard]] bool has_cubic() const noexcept { return order == 3; }
  // The part of the polynomial beyond the quadratic form.
  [[nodiscard]] double higher(const Point& point) const noexcept {
    return order == 3 ? cubic(point.padded.data()) : 0;
  }
  // theta moved to v; the coefficients that are apart move along, as Apart says.
  void place(const Point& point, Eigen::VectorXd& theta, Eigen::VectorXd& room) const {
    const double* const v = point.v.data();
    if (apart.empty()) {
      to_theta(v, theta.data());
    } else {
      place_with_apart(v, theta, room);
    }
  }
  // v of theta.
  [[nodiscard]] Eigen::VectorXd white(const Eigen::VectorXd& theta) const;

 private:
  void place_with_apart(const double* v, Eigen::VectorXd& theta, Eigen::VectorXd& room) const;
  // The factor by which the bounds of the innermost shell must be multiplied.
  [[nodiscard]] double factor(const Point& from, const Point& to) const noexcept {
    const double square = std::max(from.square, to.square);
    for (const Shell& shell : shells)
      if (square <= shell.radius * shell.radius) return shell.factor;
    return std::numeric_limits<double>::infinity();
  }
};

struct ExpansionOptions {
  int order = 0;            // 2 or 3; 0: whichever makes the whole run cheaper
  double steps = 1e4;       // the number of steps in the run
  double bound_factor = 1;  // for tests: below 1 breaks the bound on purpose, above 1 loosens it
  // Whether all rows and tables are made at once, or each when it is first needed (DrawnRows). By default at
  // once where the run would draw from nearly all blocks. The draws are the same.
  std::optional<bool> at_once = {};
  std::span<const AwkwardLine> apart = {};
  std::function<Derivatives(Rows)> derivatives =
      {};  // of the model at the centre; only where lines are apart
};

// Which order costs less, set-up included: a row read costs about 45 ns, a product of the cubic form 0.1 ns
// when it is evaluated and 0.25 ns per row when it is summed. The figures are from the benchmarks and need
// only be roughly right.
[[nodiscard]] int cheaper_order(std::size_t rows, std::size_t dim, double steps, double rows_order_2,
                                double rows_order_3) noexcept;

// One pass over the rows for the bounds of order 2, unless the order is given as 3; where order 3 may be
// cheaper, one for its bounds; one for the cubic form; and one more if all rows are made at once. The model's
// rows and curve must outlive the result.
[[nodiscard]] Expansion expand(const CurvedRows& model, ThreadPool& pool, const Mode& mode,
                               const ExpansionOptions& options = {});

}  // namespace mlo
