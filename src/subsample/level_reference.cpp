// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/level_reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "subsample/level_passes.hpp"
#include "subsample/level_solver.hpp"

namespace mlo {
namespace {

using Eigen::Index;
constexpr std::size_t batch = Family::batch_rows;

// Levels below this many rows may be far from normal, and reading all their rows is cheap.
constexpr std::size_t tiny_rows = 64;
constexpr double tiny_skew = 0.25;

}  // namespace

LevelReference::LevelReference(const GroupedModel& model, GroupedPoint at, ThreadPool& pool,
                               const Options& options)
    : model_(&model), at_(std::move(at)) {
  precision_ = model.precision(at_.log_second);
  if (options.bounds) curve_ = model.family().curve();
  take_derivatives(pool, options.bounds && curve_ != nullptr);
  sum_raw(pool);
  decouple(pool);
  sum_decoupled(pool);
  bound(pool);
  if (options.bounds) {  // what only a pass over all rows needs
    bends_ = {};
    eta_ = {};
  }
}

double LevelReference::effect_radius(std::size_t group) const noexcept {
  return std::sqrt(static_cast<double>(groups_[group].d)) + 6;
}

// The rows' derivatives, those of the second parameter, and the curves.
void LevelReference::take_derivatives(ThreadPool& pool, bool shapes) {
  const LevelRows& rows = model_->rows();
  const Family& family = model_->family();
  const std::size_t n = rows.size();
  bends_.resize(n);
  eta_.resize(n);
  if (shapes) shapes_.resize(n);
  struct Sums {
    double value = 0, squares = 0, weight = 0, slope = 0, curvature = 0;
    Sums& operator+=(const Sums& o) {
      value += o.value;
      squares += o.squares;
      weight += o.weight;
      slope += o.slope;
      curvature += o.curvature;
      return *this;
    }
  };
  const Sums sums = block_sum(pool, n, 4096, Sums{}, [&](std::size_t begin, std::size_t length) {
    Sums part;
    std::array<double, batch> first, second, aux, aux_second, aux_eta, up, down;
    std::array<RowShape, batch> shape;
    std::array<double, batch> e, third;
    for (std::size_t at = begin; at < begin + length; at += batch) {
      const std::size_t count = std::min(batch, begin + length - at);
      predictors_of(rows, at_, at, {eta_.data() + at, count});
      const Batch here{{eta_.data() + at, count}, rows.responses().subspan(at, count), at_.log_second};
      const auto cut = [&](auto& a) { return std::span(a).first(count); };
      double value =
          family.derivatives(here, {cut(first), cut(second), cut(aux), cut(aux_second), cut(aux_eta)});
      if (rows.weighted()) {
        std::array<double, batch> terms;
        family.terms(here, cut(terms));
        value = 0;
        for (std::size_t k = 0; k < count; ++k) value += rows.weight(at + k) * terms[k];
      }
      part.value += value;
      if (shapes) {
        curve_->shapes(here.eta, here.y, cut(shape));
        for (std::size_t k = 0; k < count; ++k) e[k] = static_cast<float>(shape[k].e);
        curve_->third(cut(e), cut(third));
      } else {
        // Of the proposals only; the rows are read themselves.
        constexpr double step = 1e-3;
        std::array<double, batch> moved, unused;
        for (const double sign : {1.0, -1.0}) {
          for (std::size_t k = 0; k < count; ++k) moved[k] = here.eta[k] + sign * step;
          static_cast<void>(family.derivatives(
              {cut(moved), here.y, at_.log_second},
              {cut(unused), sign > 0 ? cut(up) : cut(down), cut(aux_eta), cut(e), cut(third)}));
        }
        for (std::size_t k = 0; k < count; ++k) third[k] = (up[k] - down[k]) / (2 * step);
      }
      for (std::size_t k = 0; k < count; ++k) {
        const double w = rows.weight(at + k);
        part.weight += w;
        part.squares += w * first[k] * first[k] / (precision_ * precision_);
        double f3 = w * third[k];
        if (shapes) {
          const double scale = w * shape[k].scale, direction = shape[k].direction;
          shapes_[at + k] = {static_cast<float>(e[k]), static_cast<float>(scale),
                             static_cast<float>(direction)};
          f3 = scale * direction * direction * direction * third[k];
        }
        bends_[at + k] = {static_cast<float>(w * first[k] / precision_),
                          static_cast<float>(w * second[k] / precision_),
                          static_cast<float>(f3 / precision_)};
        if (family.estimates_second()) {
          part.slope += w * aux[k];
          part.curvature += w * aux_second[k];
        }
      }
    }
    return part;
  });
  value_ = sums.value;
  squares_ = sums.squares;
  weight_ = sums.weight;
  second_slope_ = sums.slope;
  second_curvature_ = sums.curvature;
}

// g, h and F2 z x' of the levels (in hx), and the columns' gradient and information.
void LevelReference::sum_raw(ThreadPool& pool) {
  const LevelRows& rows = model_->rows();
  const std::size_t q = rows.columns(), k_count = rows.groups().size();
  groups_.resize(k_count);
  raw_gradient_ = Eigen::VectorXd::Zero(index(q));
  raw_information_ = Eigen::MatrixXd::Zero(index(q), index(q));
  for (std::size_t k = 0; k < k_count; ++k) {
    const Grouping& group = rows.groups()[k];
    LevelSums& sums = groups_[k];
    const std::size_t d = group.dim(), levels = group.levels();
    sums.d = d;
    sums.q = q;
    sums.g.assign(levels * d, 0);
    sums.h.assign(levels * d * d, 0);
    sums.hx.assign(levels * d * q, 0);
    const auto total =
        over_levels(pool, group, DenseSums(k == 0 ? q : 0), [&](std::size_t level, DenseSums& dense) {
          double* const g = sums.g.data() + level * d;
          double* const h = sums.h.data() + level * d * d;
          double* const hx = sums.hx.data() + level * d * q;
          std::array<double, LevelRows::most_effects> z;
          for (std::size_t place = group.starts[level]; place < group.starts[level + 1]; ++place) {
            const std::size_t i = group.row(place);
            const Bend& f = bends_[i];
            const float* const x = rows.x(i);
            const double f1 = f.f1, f2 = f.f2;
            if (group.plain()) {
              g[0] += f1;
              h[0] -= f2;
              for (std::size_t j = 0; j < q; ++j) hx[j] += f2 * static_cast<double>(x[j]);
            } else {
              group.multipliers(i, z.data());
              for (std::size_t a = 0; a < d; ++a) {
                g[a] += f1 * z[a];
                for (std::size_t b = 0; b < d; ++b) h[a * d + b] -= f2 * z[a] * z[b];
                for (std::size_t j = 0; j < q; ++j) hx[a * q + j] += f2 * z[a] * static_cast<double>(x[j]);
              }
            }
            if (k == 0) dense.add(x, f1, f2);
          }
        });
    if (k == 0) {
      raw_gradient_ = total.gradient();
      raw_information_ = total.information();
    }
  }
  sum_cells(*model_, bends_, cells_, cell_f1_);
}

// M of the levels, and its products.
void LevelReference::decouple(ThreadPool& pool) {
  const LevelRows& rows = model_->rows();
  const std::size_t q = rows.columns();
  LevelSolver solver(*model_, *this, pool);
  for (LevelSums& sums : groups_) sums.m.assign(sums.hx.size(), 0);
  std::vector<std::vector<double>> right(groups_.size()), found;
  for (std::size_t j = 0; j < q; ++j) {
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const LevelSums& sums = groups_[k];
      right[k].resize(sums.g.size());
      for (std::size_t r = 0; r < right[k].size(); ++r) right[k][r] = -precision_ * sums.hx[r * q + j];
    }
    found = solver.solve(right, 1e-2);
    for (std::size_t k = 0; k < groups_.size(); ++k)
      for (std::size_t r = 0; r < found[k].size(); ++r) groups_[k].m[r * q + j] = found[k][r];
  }
  for (LevelSums& sums : groups_) {
    const std::size_t d = sums.d;
    sums.mm.assign(d * d, Eigen::MatrixXd::Zero(index(q), index(q)));
    for (std::size_t r = 0; r < sums.g.size(); r += d)
      for (std::size_t a = 0; a < d; ++a)
        for (std::size_t b = 0; b < d; ++b) {
          const Eigen::Map<const Eigen::VectorXd> ma(sums.m.data() + (r + a) * q, index(q));
          const Eigen::Map<const Eigen::VectorXd> mb(sums.m.data() + (r + b) * q, index(q));
          sums.mm[a * d + b] += ma * mb.transpose();
        }
  }
}

// The sums in decoupled columns, and L.
void LevelReference::sum_decoupled(ThreadPool& pool) {
  const LevelRows& rows = model_->rows();
  const std::size_t q = rows.columns(), k_count = rows.groups().size();
  for (std::size_t k = 0; k < k_count; ++k) {
    const Grouping& group = rows.groups()[k];
    LevelSums& sums = groups_[k];
    const std::size_t d = sums.d, levels = group.levels();
    std::fill(sums.hx.begin(), sums.hx.end(), 0);
    sums.c.assign(levels * d * d * d, 0);
    sums.s.assign(levels * d * d * q, 0);
    const auto total =
        over_levels(pool, group, DenseSums(k == 0 ? q : 0), [&](std::size_t level, DenseSums& dense) {
          double* const c = sums.c.data() + level * d * d * d;
          double* const hx = sums.hx.data() + level * d * q;
          double* const s = sums.s.data() + level * d * d * q;
          std::array<double, LevelRows::most_effects> z;
          std::vector<double> x(q);
          for (std::size_t place = group.starts[level]; place < group.starts[level + 1]; ++place) {
            const std::size_t i = group.row(place);
            const Bend& f = bends_[i];
            const double f1 = f.f1, f2 = f.f2, f3 = f.f3;
            decoupled_row(rows, groups_, i, x);
            if (group.plain()) {
              c[0] += f3;
              for (std::size_t j = 0; j < q; ++j) {
                hx[j] += f2 * x[j];
                s[j] += f3 * x[j];
              }
            } else {
              group.multipliers(i, z.data());
              for (std::size_t a = 0; a < d; ++a) {
                for (std::size_t j = 0; j < q; ++j) hx[a * q + j] += f2 * z[a] * x[j];
                for (std::size_t b = 0; b < d; ++b) {
                  const double fzz = f3 * z[a] * z[b];
                  for (std::size_t j = 0; j < q; ++j) s[(a * d + b) * q + j] += fzz * x[j];
                  for (std::size_t e = 0; e < d; ++e) c[(a * d + b) * d + e] += fzz * z[e];
                }
              }
            }
            if (k == 0) dense.add(x.data(), f1, f2);
          }
        });
    if (k == 0) {
      gradient_ = total.gradient();
      information_ = total.information();
    }
  }
  Eigen::MatrixXd full = precision_ * information_;
  for (std::size_t k = 0; k < k_count; ++k) {
    const LevelSums& sums = groups_[k];
    const Eigen::MatrixXd omega = model_->covariances()[k].precision(at_.covariances[k]);
    for (std::size_t a = 0; a < sums.d; ++a)
      for (std::size_t b = 0; b < sums.d; ++b) full += omega(index(a), index(b)) * sums.mm[a * sums.d + b];
  }
  full += prior_information(*model_, at_);
  factor_ = positive_factor(full);
}

// How far rows reach, and the suprema of their curves.
void LevelReference::bound(ThreadPool& pool) {
  const LevelRows& rows = model_->rows();
  const std::size_t q = rows.columns(), k_count = rows.groups().size();
  radius_ = std::sqrt(static_cast<double>(q)) + 6;
  for (std::size_t k = 0; k < k_count; ++k) {
    const Grouping& group = rows.groups()[k];
    LevelSums& sums = groups_[k];
    const std::size_t d = sums.d, levels = group.levels();
    const Eigen::MatrixXd omega = model_->covariances()[k].precision(at_.covariances[k]);
    sums.factor.assign(levels * d * d, 0);
    sums.reach.assign(levels, 0);
    sums.span.assign(levels, 0);
    sums.tiny.assign(levels, 0);
    over_levels(pool, group, Nothing{}, [&](std::size_t level, Nothing&) {
      const Eigen::Map<const Eigen::MatrixXd> h(sums.h.data() + level * d * d, index(d), index(d));
      const Eigen::MatrixXd c = positive_factor(precision_ * h + omega);
      Eigen::Map<Eigen::MatrixXd>(sums.factor.data() + level * d * d, index(d), index(d)) = c;
      std::vector<double> x(q);
      Eigen::VectorXd z(index(d));
      double reach = 0, span = 0, third = 0;
      for (std::size_t place = group.starts[level]; place < group.starts[level + 1]; ++place) {
        const std::size_t i = group.row(place);
        decoupled_row(rows, groups_, i, x);
        Eigen::Map<Eigen::VectorXd> xc(x.data(), index(q));
        factor_.triangularView<Eigen::Lower>().solveInPlace(xc);
        reach = std::max(reach, xc.norm());
        group.multipliers(i, z.data());
        c.triangularView<Eigen::Lower>().solveInPlace(z);
        const double length = z.norm();
        span = std::max(span, length);
        third += std::abs(precision_ * static_cast<double>(bends_[i].f3)) * length * length * length;
      }
      sums.reach[level] = reach * (1 + 1e-6);
      sums.span[level] = span * (1 + 1e-6);
      sums.tiny[level] = d == 1 && group.size(level) <= tiny_rows && third > tiny_skew ? 1 : 0;
    });
  }
  if (curve_ == nullptr) return;
  for (std::size_t k = 0; k < k_count; ++k) {
    const Grouping& group = rows.groups()[k];
    LevelSums& sums = groups_[k];
    const std::size_t levels = group.levels();
    for (auto* const v : {&sums.box, &sums.k3, &sums.k4, &sums.k3_all, &sums.k4_all, &sums.scale})
      v->assign(levels, 0);
    over_levels(pool, group, Nothing{}, [&](std::size_t level, Nothing&) {
      double others = 0;
      for (std::size_t place = group.starts[level]; place < group.starts[level + 1]; ++place) {
        const std::size_t i = group.row(place);
        double sum = 0;
        for (std::size_t j = 0; j < k_count; ++j)
          if (j != k) sum += effect_radius(j) * groups_[j].span[rows.groups()[j].codes[i]];
        others = std::max(others, sum);
      }
      const double box = sums.reach[level] * radius_ + sums.span[level] * effect_radius(k) + others;
      sums.box[level] = box;
      std::array<double, batch> e, near, far, sup;
      for (std::size_t at = group.starts[level]; at < group.starts[level + 1]; at += batch) {
        const std::size_t count = std::min<std::size_t>(batch, group.starts[level + 1] - at);
        const auto cut = [&](auto& a) { return std::span(a).first(count); };
        for (std::size_t r = 0; r < count; ++r) {
          const Shape& shape = shapes_[group.row(at + r)];
          e[r] = shape.e;
          sums.scale[level] = std::max(sums.scale[level], std::abs(static_cast<double>(shape.scale)));
          near[r] = std::abs(static_cast<double>(shape.direction)) * box;
          far[r] = 1e3;
        }
        const auto widen = [&](int order, std::span<const double> radius, double& to) {
          curve_->suprema(order, cut(e), radius, cut(sup));
          for (std::size_t r = 0; r < count; ++r) {
            const Shape& shape = shapes_[group.row(at + r)];
            const double direction = std::abs(static_cast<double>(shape.direction));
            const double power = direction * direction * direction * (order == 4 ? direction : 1);
            to = std::max(to, (1 + 1e-6) * power * std::abs(static_cast<double>(shape.scale)) * sup[r]);
          }
        };
        widen(3, cut(near), sums.k3[level]);
        widen(4, cut(near), sums.k4[level]);
        widen(3, cut(far), sums.k3_all[level]);
        widen(4, cut(far), sums.k4_all[level]);
      }
    });
  }
}

}  // namespace mlo
