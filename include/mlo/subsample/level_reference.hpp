// Copyright (c) the mlo authors. BSD-3-Clause.
// The log-likelihood of a model with group effects about a reference point: sums of its first three
// derivatives by level, and bounds on what is left. docs/methods/levels.md has the maths.
//
// t_i = x_i'alpha + sum_k z_ik'b_k is the change of row i's predictor from the reference. Coordinates are
// decoupled: with M = H_bb^-1 H_ba (levels' information and priors), x^c_i = x_i - sum_k M_k'z_ik and
// beta_k = b_k + M_k alpha, so that t_i = x^c_i'alpha + sum_k z_ik'beta_k, where alpha and beta are nearly
// independent.
#pragma once

#include <Eigen/Dense>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/model/curve.hpp"
#include "mlo/model/grouped.hpp"

namespace mlo {

// Sums over the rows of each level, level after level; d effects, q columns. F1, F2, F3: derivatives of the
// row terms at the reference, divided by the likelihood's precision if it has one.
struct LevelSums {
  std::size_t d = 1, q = 0;
  std::vector<double> g;               // d: F1 z
  std::vector<double> h;               // d x d: -F2 z z'
  std::vector<double> c;               // d x d x d: F3 z z z
  std::vector<double> hx;              // d x q: F2 z x^c'
  std::vector<double> s;               // d x d x q: F3 z z' x^c
  std::vector<double> m;               // d x q: M
  std::vector<double> factor;          // d x d: C, lower, of h + the precision of the effects: C C'
  std::vector<double> reach;           // the largest |L^-1 x^c| of a row
  std::vector<double> span;            // the largest |C^-1 z|
  std::vector<double> box;             // |t| up to which the next two hold
  std::vector<double> k3, k4;          // suprema of |f'''|, |f''''| over the rows and |t| <= box
  std::vector<double> k3_all, k4_all;  // and over all t; may be infinite
  std::vector<double> scale;           // the largest scale of a row's curve
  std::vector<char> tiny;           // levels whose law is far from normal: all their rows are read, by slices
  std::vector<Eigen::MatrixXd> mm;  // d x d of them: sum over levels of M_a M_b', each q x q
};

// Per cell of crossed groupings, in the order of its grouping's levels.
struct CellSums {
  HugeVector<float> f2, f3, count;
};

class LevelReference {
 public:
  struct Options {
    bool bounds = true;  // whether rows will be drawn by their bounds; otherwise all rows will be read
  };
  // At the point `at`, whose covariances and second parameter say what is decoupled.
  LevelReference(const GroupedModel& model, GroupedPoint at, ThreadPool& pool, const Options& options);

  [[nodiscard]] const GroupedModel& model() const noexcept { return *model_; }
  [[nodiscard]] const GroupedPoint& at() const noexcept { return at_; }
  [[nodiscard]] const std::vector<LevelSums>& groups() const noexcept { return groups_; }
  [[nodiscard]] const std::vector<CellSums>& cells() const noexcept { return cells_; }
  [[nodiscard]] const HugeVector<float>& cell_f1() const noexcept { return cell_f1_; }
  // sum F1 x^c, -sum F2 x^c x^c', the log-likelihood.
  [[nodiscard]] const Eigen::VectorXd& gradient() const noexcept { return gradient_; }
  [[nodiscard]] const Eigen::MatrixXd& information() const noexcept { return information_; }
  [[nodiscard]] double value() const noexcept { return value_; }
  // The sum of squared F1 (residuals, of a gaussian response), and the number of rows, each by its weight.
  [[nodiscard]] double squares() const noexcept { return squares_; }
  [[nodiscard]] double weight() const noexcept { return weight_; }
  // L, lower, of alpha's information given beta.
  [[nodiscard]] const Eigen::MatrixXd& factor() const noexcept { return factor_; }
  [[nodiscard]] double radius() const noexcept { return radius_; }       // |L'alpha| that the boxes allow
  [[nodiscard]] double effect_radius(std::size_t group) const noexcept;  // |C'beta| that they allow

  // The rows as curves: where there are bounds.
  struct Shape {
    float e, scale, direction;
  };
  [[nodiscard]] const Shape& shape(std::size_t row) const noexcept { return shapes_[row]; }
  [[nodiscard]] const RowCurve& curve() const noexcept { return *curve_; }
  [[nodiscard]] bool has_curve() const noexcept { return curve_ != nullptr; }
  // The rows' derivatives and predictors: where all rows are read.
  struct Bend {
    float f1, f2, f3;
  };
  [[nodiscard]] const Bend& bend(std::size_t row) const noexcept { return bends_[row]; }
  [[nodiscard]] std::span<const double> predictors() const noexcept { return eta_; }

 private:
  friend class LevelSearch;
  LevelReference() = default;
  void take_derivatives(ThreadPool& pool, bool shapes);
  void sum_raw(ThreadPool& pool);
  void decouple(ThreadPool& pool);
  void sum_decoupled(ThreadPool& pool);
  void bound(ThreadPool& pool);

  const GroupedModel* model_;
  GroupedPoint at_;
  double precision_ = 1;
  std::shared_ptr<const RowCurve> curve_;
  std::vector<LevelSums> groups_;
  std::vector<CellSums> cells_;
  HugeVector<float> cell_f1_;
  HugeVector<Shape> shapes_;
  HugeVector<Bend> bends_;
  HugeVector<double> eta_;
  Eigen::VectorXd gradient_, raw_gradient_;
  Eigen::MatrixXd information_, raw_information_, factor_;
  double value_ = 0, squares_ = 0, weight_ = 0, radius_ = 0;
  double second_slope_ = 0, second_curvature_ = 0;
};

// A point near the mode of coefficients and effects, with covariances and second parameter by expectation
// maximisation. Throws ModelError if there is none.
[[nodiscard]] GroupedPoint find_reference(const GroupedModel& model, ThreadPool& pool, double& passes);

}  // namespace mlo
