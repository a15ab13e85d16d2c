// Copyright (c) the mlo authors. BSD-3-Clause.
// The log-likelihood as a Taylor polynomial around the mode plus remainders, one a row, each with a bound.
// METHODS 5 and 6: the polynomial is known after one pass and costs no row; what is left of a row is so small
// that a step of a chain needs to look at about one of them.
//
// In whitened coordinates v = L'(theta - centre) and with t_i = w_i'v:
//   log-likelihood(v) = constant + g'v - v'A v / 2 [+ cubic(v)] + sum_i d_i(t_i),
//   |d_i(w_i'v') - d_i(w_i'v)| <= c_i * factor * M(v, v'),   M by pair_bound(),
// for |v|, |v'| within a shell's radius. c_i = sup |f_i^(order+1)| |w_i|^(order+1), the supremum taken over
// the innermost shell; a wider shell has a factor that covers the increase of every row.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "mlo/model/curve.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/model/mode.hpp"
#include "mlo/subsample/alias_table.hpp"
#include "mlo/subsample/white_rows.hpp"

namespace mlo {

// What the bound needs to know of a pair of points: their lengths, and the cosines between each and the step.
struct PairGeometry {
  double from, to, step;    // |v|, |v'|, |v' - v|
  double from_dot, to_dot;  // v'(v' - v), v''(v' - v)
};

// M(v, v'), symmetric in its points; the smaller of two bounds for each order:
//   order 2: sup over directions x of |x'delta| (x'u)^2 is convex along the segment, so the mean of its ends
//   bounds
//            the integral; or |v|^3/6 + |v'|^3/6, tighter for moves across the whole posterior;
//   order 3: the same two, |delta| (|v|^3 + |v'|^3) / 12 and (|v|^4 + |v'|^4) / 24.
[[nodiscard]] double pair_bound(int order, const PairGeometry& g) noexcept;

// The second of the bounds alone, from the squared lengths: an upper bound of pair_bound().
[[nodiscard]] inline double loose_pair_bound(int order, double from_square, double to_square) noexcept {
  if (order == 3) return (from_square * from_square + to_square * to_square) / 24;
  return (from_square * std::sqrt(from_square) + to_square * std::sqrt(to_square)) / 6;
}

// E M(v, v') of independent v, v' ~ N(0, I), by the second of the bounds.
[[nodiscard]] double expected_pair_bound(int order, std::size_t dim) noexcept;

struct Shell {
  double radius, factor;
};

template <Curve C>
struct Expansion {
  C curve;
  int order;
  Eigen::VectorXd centre;
  Eigen::MatrixXd whiten;       // L'
  Eigen::MatrixXd unwhiten;     // L^-T: theta = centre + unwhiten v
  Unwhitening to_theta;         // the same, in a form made for speed
  Eigen::VectorXd gradient;     // g
  Eigen::MatrixXd information;  // A
  WhiteRows rows;
  CubicForm cubic;            // for order 3
  double total_bound = 0;     // sum of the c_i
  AliasTable table;           // over the c_i
  std::vector<Shell> shells;  // by radius; beyond the last there is no bound
  double passes = 0;          // over the data, to make all this

  [[nodiscard]] double expected_rows() const noexcept {
    return total_bound * expected_pair_bound(order, rows.dim());
  }
};

struct ExpansionOptions {
  int order = 0;            // 2 or 3; 0: whichever makes the whole run cheaper
  double steps = 1e4;       // that the run will make
  double bound_factor = 1;  // for tests: below 1 breaks the bound on purpose, above 1 loosens it
};

// Which order costs less, set-up included: a row read costs about 45 ns, a product of the cubic form 0.1 ns
// in its evaluation and 0.25 ns a row in its sum. Measured on the benchmarks; it need only be roughly right.
[[nodiscard]] int cheaper_order(std::size_t rows, std::size_t dim, double steps, double rows_order_2,
                                double rows_order_3) noexcept;

namespace detail {

// Sums of f_i''' w_ij w_ik w_il / 6, each distinct triple once with its multiplicity. A fixed number of
// chunks, added in order: the same for any number of threads.
[[nodiscard]] CubicForm sum_cubic(const WhiteRows& rows, const std::vector<float>& third, ThreadPool& pool);

}  // namespace detail

template <Family F>
requires BoundedRemainder<F>
[[nodiscard]] Expansion<typename CurveOf<F>::type> expand(const Glm<F>& model, ThreadPool& pool,
                                                          const Mode& mode,
                                                          const ExpansionOptions& options = {}) {
  using C = typename CurveOf<F>::type;
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Design& design = model.design();
  const std::size_t n = model.rows(), p = model.dim();
  const auto dim = static_cast<Eigen::Index>(p);
  const C curve = CurveOf<F>::curve(model.family());
  const Eigen::MatrixXd upper = Eigen::LLT<Eigen::MatrixXd>(mode.information).matrixU();
  const Eigen::MatrixXd unwhiten =
      upper.triangularView<Eigen::Upper>().solve(Eigen::MatrixXd::Identity(dim, dim));
  const double root = std::sqrt(static_cast<double>(p));
  std::vector<Shell> shells{{root + 3, 1}, {root + 6, 1}, {root + 12, 1}};

  // Rows, and for both orders the bounds in the innermost shell and how much wider shells would need.
  WhiteRows rows(n, p);
  std::array<std::vector<double>, 2> bounds{std::vector<double>(n),
                                            std::vector<double>(n)};  // floats, exactly
  struct Sums {
    std::array<double, 2> total{};
    std::array<std::array<double, 3>, 2> factor{{{1, 1, 1}, {1, 1, 1}}};
    Sums& operator+=(const Sums& other) {
      for (std::size_t o = 0; o < 2; ++o) {
        total[o] += other.total[o];
        for (std::size_t s = 0; s < 3; ++s) factor[o][s] = std::max(factor[o][s], other.factor[o][s]);
      }
      return *this;
    }
  };
  const Sums sums = block_sum(pool, n, rows_per_block, Sums{}, [&](std::size_t first, std::size_t count) {
    Sums part;
    const Eigen::Map<const Matrix, 0, Eigen::OuterStride<>> x(
        design.row(first), static_cast<Eigen::Index>(count), dim,
        Eigen::OuterStride<>(static_cast<Eigen::Index>(design.stride)));
    const Matrix white = x * unwhiten.template triangularView<Eigen::Upper>();
    const Eigen::VectorXd eta = x * mode.evaluated_at;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = first + k;
      const auto row = static_cast<Eigen::Index>(k);
      const RowShape shape = CurveOf<F>::shape(
          model.family(), eta[row] + (design.has_offset ? design.offset(i) : 0), design.y(i));
      float* record = rows.record(i);
      double squares = 0;
      for (std::size_t j = 0; j < p; ++j) {
        record[j] = static_cast<float>(shape.direction * white(row, static_cast<Eigen::Index>(j)));
        squares += static_cast<double>(record[j]) * static_cast<double>(record[j]);
      }
      rows.e(i) = static_cast<float>(shape.e);
      rows.scale(i) = static_cast<float>(shape.scale);
      const double length = std::sqrt(squares), e = rows.e(i), scale = rows.scale(i);
      for (int order = 2; order <= max_order; ++order) {
        const auto o = static_cast<std::size_t>(order - 2);
        std::array<double, 3> sup{};
        for (std::size_t s = 0; s < 3; ++s) sup[s] = supremum(curve, order + 1, e, length * shells[s].radius);
        // No row's innermost bound is below a hundredth of the next shell's: it keeps that shell's factor
        // small.
        sup[0] = std::max(sup[0], 0.01 * sup[1]);
        // Rounded up by more than float arithmetic can be wrong by.
        constexpr double margin = 1 + 1e-5;
        const double size =
            sup[0] * scale * squares * (order == 2 ? length : squares) * margin * options.bound_factor;
        bounds[o][i] = std::nextafter(static_cast<float>(size), std::numeric_limits<float>::infinity());
        part.total[o] += bounds[o][i];
        for (std::size_t s = 1; s < 3; ++s)
          if (sup[s] > 0) part.factor[o][s] = std::max(part.factor[o][s], sup[s] / sup[0]);
      }
    }
    return part;
  });

  const int order = options.order != 0
                        ? options.order
                        : cheaper_order(n, p, options.steps, sums.total[0] * expected_pair_bound(2, p),
                                        sums.total[1] * expected_pair_bound(3, p));
  const auto o = static_cast<std::size_t>(order - 2);
  for (std::size_t s = 0; s < 3; ++s) shells[s].factor = sums.factor[o][s];
  for (std::size_t i = 0; i < n; ++i) rows.bound(i) = static_cast<float>(bounds[o][i]);
  AliasTable table(bounds[o]);
  double passes = 1;
  CubicForm cubic;
  if (order == 3) {
    std::vector<float> third(n);
    const std::size_t blocks = (n + rows_per_block - 1) / rows_per_block;
    pool.run(blocks, [&](std::size_t b) {
      for (std::size_t i = b * rows_per_block; i < std::min(n, (b + 1) * rows_per_block); ++i)
        third[i] = static_cast<float>(curve.derivative(3, rows.e(i)) * rows.scale(i));
    });
    cubic = detail::sum_cubic(rows, third, pool);
    passes += 1;
  }
  const auto lower = upper.transpose().template triangularView<Eigen::Lower>();
  const Eigen::MatrixXd half = lower.solve(mode.likelihood.information);
  return {.curve = curve,
          .order = order,
          .centre = mode.evaluated_at,
          .whiten = upper,
          .unwhiten = unwhiten,
          .to_theta = Unwhitening(mode.evaluated_at, unwhiten),
          .gradient = lower.solve(mode.likelihood.gradient),
          .information = lower.solve(half.transpose()),
          .rows = std::move(rows),
          .cubic = std::move(cubic),
          .total_bound = sums.total[o],
          .table = std::move(table),
          .shells = std::move(shells),
          .passes = passes};
}

}  // namespace mlo
