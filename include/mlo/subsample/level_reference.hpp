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
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/model/curve.hpp"
#include "mlo/model/grouped.hpp"
#include "mlo/model/surface.hpp"
#include "mlo/subsample/level_curve.hpp"
#include "mlo/subsample/level_table.hpp"
#include "mlo/subsample/odds_rows.hpp"

namespace mlo {

// Sums over the rows of each level, level after level; d effects, q columns. F1, F2, F3: derivatives of the
// row terms at the reference, divided by the likelihood's precision if it has one, as are the curves.
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
  std::vector<double> skew;            // of one effect: |F3 z^3|
  // Of groupings that are not plain, whose rows are drawn by their lengths |C^-1 z|: the lengths, by row; the
  // sums of their fourth powers from the beginning of the level, by place; the levels' sums of both.
  HugeVector<float> lengths;
  HugeVector<double> fourths;
  std::vector<double> sum_length, sum_fourth;
  std::vector<LevelCurve> curves;   // of levels far from normal, where there are any; radius 0: none
  std::vector<char> tiny;           // levels whose law is far from normal: all their rows are read, by slices
  std::vector<Eigen::MatrixXd> mm;  // d x d of them: sum over levels of M_a M_b', each q x q
};

// Per cell of crossed groupings, in the order of its grouping's levels.
struct CellSums {
  HugeVector<float> f1;  // of the last of three groupings or more
  HugeVector<float> f2, f3, count;
};

// Where a second parameter is estimated and no factor of the likelihood, with u its log minus the
// reference's: F11, F12, F21 and F03 are derivatives by t and u, and those by t alone are F1 + u F11 + u^2 /
// 2 F12 and F2 + u F21 up to a remainder. For one grouping.
struct MixedSums {
  double width = 0;                // |u| up to which the suprema hold
  std::size_t fields = 0;          // of the table that change with u: g, h, c, hx
  std::vector<double> one, two;    // by u and by u^2 / 2, `fields` per level in the order of the table
  Eigen::VectorXd gradient, bent;  // sum F11 x^c, sum F12 x^c
  Eigen::MatrixXd information;     // -sum F21 x^c x^c'
  double third = 0;                // sum F03
  // Suprema over the levels' rows, their boxes and |u| <= width, of d^j/dt^j d^k/du^k f; in whole blocks.
  std::vector<double> k31, k22, k13, k04;
};

struct LevelRoom;

class LevelReference {
 public:
  struct Options {
    bool bounds = true;  // whether rows will be drawn by their bounds; otherwise all rows will be read
    bool odds = false;   // without bounds: whether they will be read as odds
    LevelRoom* room = nullptr;
  };
  // At the point `at`, whose covariances and second parameter say what is decoupled.
  LevelReference(const GroupedModel& model, GroupedPoint at, ThreadPool& pool, const Options& options);

  [[nodiscard]] const GroupedModel& model() const noexcept { return *model_; }
  [[nodiscard]] const GroupedPoint& at() const noexcept { return at_; }
  [[nodiscard]] const std::vector<LevelSums>& groups() const noexcept { return groups_; }
  // The groups' sums as the kernel reads them. What is only in them is no longer in groups().
  [[nodiscard]] const LevelTable& table(std::size_t group) const noexcept { return tables_[group]; }
  [[nodiscard]] const std::vector<CellSums>& cells() const noexcept { return cells_; }
  // sum F1 x^c, -sum F2 x^c x^c', the log-likelihood.
  [[nodiscard]] const Eigen::VectorXd& gradient() const noexcept { return gradient_; }
  [[nodiscard]] const Eigen::MatrixXd& information() const noexcept { return information_; }
  [[nodiscard]] double value() const noexcept { return value_; }
  // The sum of squared F1 (residuals, of a gaussian response), and the number of rows, each by its weight.
  [[nodiscard]] double squares() const noexcept { return squares_; }
  [[nodiscard]] double weight() const noexcept { return weight_; }
  // Where the second parameter is a factor of the likelihood: the sum of the rows' functions of the
  // predictor. And the slope of the log-likelihood by the parameter's log, and minus its second
  // derivative.
  [[nodiscard]] double core() const noexcept;
  [[nodiscard]] double second_slope() const noexcept { return second_slope_; }
  [[nodiscard]] double second_information() const noexcept { return -second_curvature_; }
  // L, lower, of alpha's information given beta.
  [[nodiscard]] const Eigen::MatrixXd& factor() const noexcept { return factor_; }
  [[nodiscard]] double radius() const noexcept { return radius_; }       // |L'alpha| that the boxes allow
  [[nodiscard]] double effect_radius(std::size_t group) const noexcept;  // |C'beta| that they allow

  // The rows as curves: where there are bounds.
  struct Shape {
    float e, scale, direction;
    float other = 0;  // of a surface: its second number
  };
  [[nodiscard]] Shape shape(std::size_t row) const noexcept {
    return surface_ == nullptr ? shapes_[row] : places_[row];
  }
  void prefetch(std::size_t row) const noexcept {
    if (surface_ == nullptr)
      shapes_.prefetch(row);
    else
      __builtin_prefetch(places_.data() + row);
  }
  [[nodiscard]] const RowCurve& curve() const noexcept { return *curve_; }
  [[nodiscard]] bool has_curve() const noexcept { return curve_ != nullptr; }
  // Or as surfaces, over t and the log of the second parameter.
  [[nodiscard]] const RowSurface& surface() const noexcept { return *surface_; }
  [[nodiscard]] bool has_surface() const noexcept { return surface_ != nullptr; }
  [[nodiscard]] const MixedSums& mixed() const noexcept { return mixed_; }
  [[nodiscard]] bool bounded() const noexcept { return has_curve() || has_surface(); }
  // The rows' derivatives and predictors: where all rows are read.
  struct Bend {
    float f1, f2, f3;
  };
  [[nodiscard]] const Bend& bend(std::size_t row) const noexcept { return bends_[row]; }
  [[nodiscard]] std::span<const double> predictors() const noexcept { return eta_; }
  // In their place, where they are read as odds.
  [[nodiscard]] const std::shared_ptr<const OddsRows>& odds() const noexcept { return odds_; }

 private:
  friend class LevelSearch;
  LevelReference() = default;
  enum class Third { none, differences, curves, surfaces };
  // Of rows, each by its weight: what is known without their levels.
  struct Totals {
    double value = 0, squares = 0, weight = 0, slope = 0, curvature = 0;
    Totals& operator+=(const Totals& other) noexcept;
    [[nodiscard]] Totals times(double factor) const noexcept;
  };
  // F1, F2, F3 of some rows.
  struct Bends {
    double *f1, *f2, *f3;
  };
  // Numbers of the rows' curves, only those that differ between rows: e, the scale or both. A scale is
  // positive; its sign here is that of the direction, whose size is the same for all rows.
  class Shapes {
   public:
    void resize(std::size_t rows, const RowCurve& curve, bool weighted);
    void set(std::size_t row, float e, float scale, float direction) noexcept;
    [[nodiscard]] Shape operator[](std::size_t row) const noexcept {
      const float* const at = numbers_.data() + row * width_;
      const float scale = scaled_ ? at[width_ - 1] : 1;
      return {has_e_ ? at[0] : 0, std::abs(scale), scaled_ ? std::copysign(direction_, scale) : direction_};
    }
    void prefetch(std::size_t row) const noexcept { __builtin_prefetch(numbers_.data() + row * width_); }
    // Whether e or the scale is the same for all rows.
    [[nodiscard]] bool narrow() const noexcept { return width_ == 1; }
    // Then: the range of e, and the largest scale, in the rows of a level.
    struct Range {
      float least, most, scale, direction;
    };
    [[nodiscard]] Range range(const Grouping& group, std::size_t level) const noexcept;

   private:
    HugeVector<float> numbers_;
    std::size_t width_ = 1;
    bool has_e_ = true, scaled_ = false;
    float direction_ = 1;
  };
  void take_derivatives(ThreadPool& pool, Third third, bool keep_predictors);
  void derivatives_of(std::size_t first, std::size_t count, Third third, const Bends& out, Totals& totals);
  void sum_one_grouping(ThreadPool& pool, Third third, bool decoupled, double share);
  void sum_raw(ThreadPool& pool);
  void decouple(ThreadPool& pool);
  void sum_products_of_m();
  void sum_decoupled(ThreadPool& pool);
  void factor_columns();
  void bound(ThreadPool& pool);
  void bound_rows(ThreadPool& pool, std::size_t k);
  void bound_curves(ThreadPool& pool, std::size_t k);
  void sum_mixed(ThreadPool& pool);
  void bound_surfaces(ThreadPool& pool);
  void bound_surfaces_of(std::size_t level);
  void bound_together(std::size_t k, std::size_t level);
  void bound_each_row(std::size_t k, std::size_t level);
  [[nodiscard]] double radius_of_others(std::size_t k, std::size_t level) const noexcept;
  bool make_curve_of(std::size_t k, std::size_t level);
  void make_tables();
  void take_totals(const Totals& totals) noexcept;

  const GroupedModel* model_;
  GroupedPoint at_;
  double precision_ = 1;
  std::shared_ptr<const RowCurve> curve_;
  std::shared_ptr<const OddsRows> odds_;
  std::vector<LevelSums> groups_;
  std::vector<LevelTable> tables_;
  std::vector<CellSums> cells_;
  Shapes shapes_;
  std::shared_ptr<const RowSurface> surface_;
  HugeVector<Shape> places_;
  MixedSums mixed_;
  HugeVector<Bend> bends_;
  HugeVector<double> eta_;
  Eigen::VectorXd gradient_, raw_gradient_;
  Eigen::MatrixXd information_, raw_information_, factor_;
  double value_ = 0, squares_ = 0, weight_ = 0, radius_ = 0;
  double second_slope_ = 0, second_curvature_ = 0;
};

// Memory for all rows that one search or reference leaves to the next: fresh memory would cost as much as the
// sums.
struct LevelRoom {
  HugeVector<LevelReference::Bend> bends{};
  HugeVector<double> eta{};
};

// A point near the mode of coefficients and effects, with covariances and second parameter by expectation
// maximisation. Throws ModelError if there is none.
[[nodiscard]] GroupedPoint find_reference(const GroupedModel& model, ThreadPool& pool, double& passes,
                                          LevelRoom* room = nullptr);

}  // namespace mlo
