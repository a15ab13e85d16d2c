// Copyright (c) the mlo authors. BSD-3-Clause.
// What the rows of a level can differ from their expansions by: how far they reach, the suprema of their
// curves, and levels with a curve of their own.
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "mlo/subsample/level_reference.hpp"
#include "subsample/level_passes.hpp"
#include "subsample/level_solver.hpp"

namespace mlo {
namespace {

using Eigen::Index;

constexpr double many_rows = 0.2;
// With fewer rows than this, reading them all is cheaper than a polynomial.
constexpr std::size_t fewest_curved = 8;
// A radius beyond which no curve has a supremum of its own.
constexpr double everywhere = 1e3;

// |L^-1 v|^2, without a division per row.
class SolvedSquare {
 public:
  explicit SolvedSquare(const Eigen::MatrixXd& l)
      : inverse_(l.triangularView<Eigen::Lower>().solve(Eigen::MatrixXd::Identity(l.rows(), l.cols()))) {}
  [[nodiscard]] double operator()(const double* v) const noexcept {
    double square = 0;
    for (Index i = 0; i < inverse_.rows(); ++i) {
      const double* const row = inverse_.data() + i * inverse_.cols();
      double sum = 0;
      for (Index j = 0; j <= i; ++j) sum += row[j] * v[j];
      square += sum * sum;
    }
    return square;
  }

  // The largest |L^-1 (x - m)|^2 of `count` rows of Q columns; Q = 0: of any number.
  template <std::size_t Q>
  [[nodiscard]] double largest(const float* x, const double* m, std::size_t count) const {
    const std::size_t q = Q == 0 ? static_cast<std::size_t>(inverse_.rows()) : Q;
    std::array<double, Q == 0 ? 1 : Q> local;
    std::vector<double> any(Q == 0 ? q : 0);
    double* const v = Q == 0 ? any.data() : local.data();
    double most = 0;
    for (std::size_t r = 0; r < count; ++r, x += q) {
      for (std::size_t j = 0; j < q; ++j) v[j] = static_cast<double>(x[j]) - m[j];
      double square = 0;
      if constexpr (Q == 0) {
        square = (*this)(v);
      } else {
        for (std::size_t i = 0; i < Q; ++i) {
          double sum = 0;
          for (std::size_t j = 0; j <= i; ++j) sum += inverse_.data()[i * Q + j] * v[j];
          square += sum * sum;
        }
      }
      most = std::max(most, square);
    }
    return most;
  }

 private:
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> inverse_;
};

}  // namespace

// A level's own log-likelihood as a curve; returns whether that is accurate enough.
bool LevelReference::make_curve_of(std::size_t k, std::size_t level) {
  const Grouping& group = model_->rows().groups()[k];
  const std::size_t count = group.size(level);
  std::vector<double> e(count), scale(count);
  for (std::size_t p = 0; p < count; ++p) {
    const Shape shape = shapes_[group.row(group.starts[level] + p)];
    if (shape.direction != 1) return false;
    e[p] = shape.e;
    scale[p] = shape.scale;
  }
  LevelCurve& curve = groups_[k].curves[level];
  const double mean = -at_.effects[k][level],
               precision = model_->covariances()[k].precision(at_.covariances[k])(0, 0);
  if (make_curve({e, scale, groups_[k].g[level]}, mean, precision, curve)) return true;
  curve.radius = 0;
  return false;
}

// How far rows reach, and the suprema of their curves.
void LevelReference::bound(ThreadPool& pool) {
  radius_ = std::sqrt(static_cast<double>(model_->rows().columns())) + 6;
  for (std::size_t k = 0; k < groups_.size(); ++k) bound_rows(pool, k);
  if (has_surface()) bound_surfaces(pool);
  if (curve_ == nullptr) return;
  for (std::size_t k = 0; k < groups_.size(); ++k) bound_curves(pool, k);
}

void LevelReference::bound_rows(ThreadPool& pool, std::size_t k) {
  const LevelRows& rows = model_->rows();
  const std::size_t q = rows.columns();
  const Grouping& group = rows.groups()[k];
  LevelSums& sums = groups_[k];
  const std::size_t d = sums.d, levels = group.levels();
  const Eigen::MatrixXd omega = model_->covariances()[k].precision(at_.covariances[k]);
  sums.factor.assign(levels * d * d, 0);
  sums.reach.assign(levels, 0);
  sums.span.assign(levels, 0);
  sums.tiny.assign(levels, 0);
  const bool weighted = bounded() && !group.plain(), alone = rows.groups().size() == 1;
  const SolvedSquare of_columns(factor_);
  if (weighted) {
    sums.lengths.resize(rows.size());
    sums.fourths.resize(rows.size());
    sums.sum_length.assign(levels, 0);
    sums.sum_fourth.assign(levels, 0);
  }
  const auto body = [&]<std::size_t Q>(std::integral_constant<std::size_t, Q>) {
    over_levels(pool, group, Nothing{}, [&](std::size_t level, Nothing&) {
      double* const factor = sums.factor.data() + level * d * d;
      double longest = 0;
      if (d == 1) {
        factor[0] = std::sqrt(std::max(std::abs(precision_ * sums.h[level] + omega(0, 0)), omega(0, 0)));
        longest = 1 / factor[0];
      } else {
        const Eigen::Map<const Eigen::MatrixXd> h(sums.h.data() + level * d * d, index(d), index(d));
        Eigen::Map<Eigen::MatrixXd>(factor, index(d), index(d)) =
            positive_factor(precision_ * (model_->family().spec().log_concave ? h : concave_part(h)) + omega);
      }
      sums.skew[level] *= std::abs(precision_) * longest * longest * longest;
      double reach = 0;
      const std::size_t first = group.starts[level], last = group.starts[level + 1];
      if (alone && group.plain()) {
        reach = of_columns.template largest<Q>(rows.x(first), sums.m.data() + level * q, last - first);
      } else {
        std::vector<double> x(q);
        for (std::size_t place = first; place < last; ++place) {
          decoupled_row(rows, groups_, group.row(place), x);
          reach = std::max(reach, of_columns(x.data()));
        }
      }
      if (!group.plain()) {
        const SolvedSquare of_effects(Eigen::Map<const Eigen::MatrixXd>(factor, index(d), index(d)));
        std::vector<double> z(d);
        longest = 0;
        double sum_length = 0, sum_fourth = 0;
        for (std::size_t place = first; place < last; ++place) {
          const std::size_t i = group.row(place);
          group.multipliers(i, z.data());
          const double length = std::sqrt(of_effects(z.data()));
          longest = std::max(longest, length);
          if (!weighted) continue;
          sums.lengths[i] = static_cast<float>(length * (1 + 1e-6));
          const double kept = sums.lengths[i];
          sum_length += kept;
          sum_fourth += kept * kept * kept * kept;
          sums.fourths[place] = sum_fourth;
        }
        if (weighted) {
          sums.sum_length[level] = sum_length;
          sums.sum_fourth[level] = sum_fourth;
        }
      }
      sums.reach[level] = std::sqrt(reach) * (1 + 1e-6);
      sums.span[level] = longest * (1 + 2e-6);
      if (d == 1 && !bounded())
        sums.tiny[level] = sums.skew[level] > tiny_skew && group.size(level) <= tiny_rows ? 1 : 0;
    });
  };
  with_columns(q, body);
}

// How far the other groupings' parts of t may reach in the rows of a level.
double LevelReference::radius_of_others(std::size_t k, std::size_t level) const noexcept {
  const LevelRows& rows = model_->rows();
  if (rows.groups().size() == 1) return 0;
  assert(rows.plain());  // otherwise there are no bounds
  const LevelCells::Of& cells = rows.cells().of[k];
  double most = 0;
  for (std::size_t c = cells.starts[level]; c < cells.starts[level + 1]; ++c) {
    double sum = 0;
    for (std::size_t j = 0, other = 0; j < groups_.size(); ++j)
      if (j != k) sum += effect_radius(j) * groups_[j].span[cells.levels_in(other++)[c]];
    most = std::max(most, sum);
  }
  return most;
}

// Suprema over a level's rows, each over its own interval.
void LevelReference::bound_each_row(std::size_t k, std::size_t level) {
  const Grouping& group = model_->rows().groups()[k];
  LevelSums& sums = groups_[k];
  std::array<double, Family::batch_rows> e, near, far, sup;
  for (std::size_t at = group.starts[level]; at < group.starts[level + 1]; at += Family::batch_rows) {
    const std::size_t count = std::min<std::size_t>(Family::batch_rows, group.starts[level + 1] - at);
    const auto cut = [&](auto& a) { return std::span(a).first(count); };
    for (std::size_t r = 0; r < count; ++r) {
      const Shape shape = shapes_[group.row(at + r)];
      e[r] = shape.e;
      sums.scale[level] = std::max(sums.scale[level], static_cast<double>(shape.scale));
      near[r] = std::abs(static_cast<double>(shape.direction)) * sums.box[level];
      far[r] = everywhere;
    }
    const auto widen = [&](int order, std::span<const double> radius, double& to) {
      curve_->suprema(order, cut(e), radius, cut(sup));
      for (std::size_t r = 0; r < count; ++r) {
        const Shape shape = shapes_[group.row(at + r)];
        const double direction = std::abs(static_cast<double>(shape.direction));
        const double power = direction * direction * direction * (order == 4 ? direction : 1);
        to = std::max(to, (1 + 1e-6) * power * static_cast<double>(shape.scale) * sup[r]);
      }
    };
    widen(3, cut(near), sums.k3[level]);
    widen(4, cut(near), sums.k4[level]);
    widen(3, cut(far), sums.k3_all[level]);
    widen(4, cut(far), sums.k4_all[level]);
  }
}

// The same where only e or only the scale differs between rows: over one interval that holds those of all
// rows, times the largest scale.
void LevelReference::bound_together(std::size_t k, std::size_t level) {
  const Grouping& group = model_->rows().groups()[k];
  LevelSums& sums = groups_[k];
  const Shapes::Range range = shapes_.range(group, level);
  const double direction = std::abs(static_cast<double>(range.direction));
  const double third = (1 + 1e-6) * direction * direction * direction * static_cast<double>(range.scale);
  const double centre = 0.5 * (static_cast<double>(range.least) + static_cast<double>(range.most));
  const double around = 0.5 * (static_cast<double>(range.most) - static_cast<double>(range.least));
  const auto supremum = [&](int order, double radius) {
    const std::array<double, 1> at{centre}, reach{around + radius};
    std::array<double, 1> out;
    curve_->suprema(order, at, reach, out);
    return third * (order == 4 ? direction : 1) * out[0];
  };
  const double near = direction * sums.box[level];
  sums.scale[level] = range.scale;
  sums.k3[level] = supremum(3, near);
  sums.k4[level] = supremum(4, near);
  sums.k3_all[level] = supremum(3, everywhere);
  sums.k4_all[level] = supremum(4, everywhere);
}

void LevelReference::bound_curves(ThreadPool& pool, std::size_t k) {
  const Grouping& group = model_->rows().groups()[k];
  LevelSums& sums = groups_[k];
  const std::size_t levels = group.levels();
  const bool curved = curve_->softplus() && group.plain();
  if (curved) sums.curves.resize(levels);
  for (auto* const v : {&sums.box, &sums.k3, &sums.k4, &sums.k3_all, &sums.k4_all, &sums.scale})
    v->assign(levels, 0);
  over_levels(pool, group, Nothing{}, [&](std::size_t level, Nothing&) {
    sums.box[level] =
        sums.reach[level] * radius_ + sums.span[level] * effect_radius(k) + radius_of_others(k, level);
    if (shapes_.narrow())
      bound_together(k, level);
    else
      bound_each_row(k, level);
    if (sums.d > 1) return;
    // Far from normal: by the third derivatives, or by the rows that the fourth would make a move read.
    const double precision = sums.factor[level] * sums.factor[level];
    const double rate = static_cast<double>(group.size(level)) * sums.k4[level] / (precision * precision);
    if (sums.skew[level] <= tiny_skew && !(curved && rate > many_rows)) return;
    if (curved && group.size(level) >= fewest_curved && make_curve_of(k, level)) return;
    sums.tiny[level] = sums.skew[level] > tiny_skew && group.size(level) <= tiny_rows ? 1 : 0;
  });
}

}  // namespace mlo
