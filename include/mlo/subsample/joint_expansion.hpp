// Copyright (c) the mlo authors. BSD-3-Clause.
// Like Expansion, for models whose second parameter is estimated: the log-likelihood is a Taylor polynomial
// in the coefficients and the log of that parameter (its logit, if it is a share), plus remainders, one per
// row, each with a bound.
//
// The log of the second parameter comes first in H = L L', so that in v = L'(theta - centre) the coefficients
// depend on v_beta alone, the first p numbers of v: t_i = w_i'v_beta, w_i = L_bb^-1 x_i. The last number
// gives u = (v_p - m'v_beta) / L_00, which is known, not bounded. With r = |v_beta|,
//   |d_i(v') - d_i(v)| <= c_i * factor * M(v, v'),   M = max over monomials of (m(v) + m(v')) / E m,
//   m(v) = r^j |u|^k / (j! k!),                      c_i = sum over monomials of K_i |w_i|^j E m,
// K_i the supremum of the derivative over the box |t| <= |w_i| R, |u| <= U. Outside the last box a step reads
// all rows. Rows that a step would draw every other time or more, such as outliers with leverage, are always
// read: their remainders are part of the polynomial.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/model/lines.hpp"
#include "mlo/model/mode.hpp"
#include "mlo/model/row_store.hpp"
#include "mlo/model/surface.hpp"
#include "mlo/subsample/drawn_rows.hpp"
#include "mlo/subsample/expansion.hpp"
#include "mlo/subsample/interval_polynomial.hpp"
#include "mlo/subsample/white_point.hpp"

namespace mlo {

struct JointBox {
  double radius, width, factor;  // |v_beta| and |u| at most
};

struct JointPoint : WhitePoint {
  JointPoint(std::size_t dim, std::size_t stride) : WhitePoint(dim, stride), form((dim + 7) / 8 * 8, 0.0F) {}
  double u = 0, radius = 0;                    // |v_beta|
  std::vector<float> form;                     // v_beta and u, padded with zeros: for the cubic form
  std::array<double, most_monomials> sizes{};  // m(v) / E m
};

struct JointExpansion {
  using Point = JointPoint;
  static constexpr bool one_number = true;  // decides about the polynomial and the first row

  std::shared_ptr<const RowSurface> surface;
  JointOrder order;
  Eigen::VectorXd centre;
  Apart apart;                 // always empty: nothing is kept apart
  Eigen::MatrixXd whiten;      // v = whiten (theta - centre)
  Eigen::MatrixXd unwhiten;    // its inverse; the last row gives u
  Unwhitening to_beta;         // the coefficients, in a form made for speed
  std::vector<double> u_of_v;  // the last row of unwhiten
  Eigen::VectorXd gradient;    // of the log-likelihood, in v
  Eigen::MatrixXd information;
  DrawnRows rows;          // with their c_i as bounds; a record's last w is its second number
  WhiteRows always;        // rows that are always read; in `rows` nothing is left of them
  CubicForm cubic;         // for order three: all sums of degree 3 as a form in v_beta and u
  Eigen::MatrixXd square;  // for order mixed: sums of t^2 u,
  Eigen::VectorXd linear;  // of t u^2
  double third = 0;        // and of u^3
  double weight = 0;       // of all rows: the common term counts as often
  double total_bound = 0;  // sum of the c_i of the rows that are drawn
  std::array<double, most_monomials> inverse_expected{};
  JointPoint origin;            // v = 0
  std::vector<JointBox> boxes;  // the smallest first
  // The log prior of the second parameter at u, without its Taylor polynomial of degree 2. Empty: the kernel
  // evaluates all priors as they are.
  std::function<double(double u)> prior_of_second;
  IntervalPolynomial along_second;  // terms_of_second(), where it is smooth enough
  double sd_of_second = 0;          // of u, by the Laplace fit
  double constant = 0;              // the log-likelihood at the centre
  double passes = 0;                // over the data, to compute all this

  // Rows per step, roughly; of these always the same.
  [[nodiscard]] double expected_rows() const noexcept;
  [[nodiscard]] std::size_t always_read() const noexcept { return always.size(); }

  [[nodiscard]] std::size_t dim() const noexcept { return u_of_v.size(); }
  [[nodiscard]] Point point() const { return {dim(), rows.stride()}; }
  double derive(Point& point, const double* slope) const noexcept;  // as Expansion's
  [[nodiscard]] RowLimit limit(const Point& from, const Point& to) const noexcept {
    const double radius = std::max(from.radius, to.radius);
    const double width = std::max(std::abs(from.u), std::abs(to.u));
    double most = 0;
    for (std::size_t m = 0; m < most_monomials; ++m) most = std::max(most, from.sizes[m] + to.sizes[m]);
    for (const JointBox& box : boxes)
      if (radius <= box.radius && width <= box.width)
        return {box.factor * total_bound, box.factor * total_bound * most};
    return {0, std::numeric_limits<double>::infinity()};
  }
  [[nodiscard]] double mean_rows(const RowLimit& limit, const Point& /*from*/,
                                 const Point& /*to*/) const noexcept {
    return limit.rows;
  }
  void evaluate(const WhiteRows& some, std::span<const RowId> ids, const Point& here, const Point& there,
                RowChanges& changes) const noexcept;
  [[nodiscard]] bool simple(bool /*quadratic_prior*/) const noexcept {
    return static_cast<bool>(prior_of_second);
  }
  [[nodiscard]] bool has_cubic() const noexcept { return order == JointOrder::three; }
  // The part of the polynomial beyond the quadratic form, with the rows that are always read as they are.
  [[nodiscard]] double higher(const Point& point) const noexcept;
  [[nodiscard]] double always_at(const Point& point) const noexcept;
  // The part of higher() that depends on u alone and is no polynomial: the term that all rows have in common,
  // and the prior.
  [[nodiscard]] double terms_of_second(double u) const;
  void place(const Point& point, Eigen::VectorXd& theta, Eigen::VectorXd& room) const noexcept;
  [[nodiscard]] Eigen::VectorXd white(const Eigen::VectorXd& theta) const {
    return whiten * (theta - centre);
  }
};

struct JointOptions {
  std::optional<JointOrder> order = {};  // empty: whichever makes the whole run cheaper
  double steps = 1e4;                    // the number of steps in the run
  double always_from = 0.5;              // rows that a step would draw this often are always read
  double bound_factor = 1;               // for tests: below 1 breaks the bound on purpose
  std::optional<bool> at_once = {};      // as in ExpansionOptions
  // The log prior of the second parameter as a function of its log, if all other priors are quadratic.
  std::function<double(double log_second)> prior_of_second = {};
  // Its slope and minus its second derivative at the centre, as they are in the mode's information.
  double prior_slope = 0, prior_curvature = 0;
};

// theta is the coefficients, then the log of the second parameter. One pass over the rows per order that is
// tried, one for the sums of order mixed, another for those of order three.
[[nodiscard]] JointExpansion expand_jointly(const SurfacedRows& model, ThreadPool& pool, const Mode& mode,
                                            const JointOptions& options = {});

}  // namespace mlo
