// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/level_reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "subsample/level_passes.hpp"
#include "subsample/level_solver.hpp"

namespace mlo {
namespace {

constexpr std::size_t batch = Family::batch_rows;

}  // namespace

LevelReference::LevelReference(const GroupedModel& model, GroupedPoint at, ThreadPool& pool,
                               const Options& options)
    : model_(&model), at_(std::move(at)) {
  precision_ = model.precision(at_.log_second);
  if (options.bounds) curve_ = model.curve();
  if (options.room != nullptr) {
    bends_ = std::move(options.room->bends);
    eta_ = std::move(options.room->eta);
  }
  if (options.bounds && curve_ == nullptr) surface_ = model.surface(at_.log_second);
  const Third third = has_curve() ? Third::curves : has_surface() ? Third::surfaces : Third::differences;
  if (has_curve()) shapes_.resize(model.rows().size(), *curve_, model.rows().weighted());
  if (has_surface()) places_.resize(model.rows().size());
  if (options.bounds && model.rows().groups().size() == 1) {
    sum_one_grouping(pool, third, true, 1);
    sum_products_of_m();
  } else {
    take_derivatives(pool, third, !options.bounds);
    sum_raw(pool);
    decouple(pool);
    sum_products_of_m();
    sum_decoupled(pool);
  }
  if (has_surface()) sum_mixed(pool);
  factor_columns();
  bound(pool);
  make_tables();
  if (options.odds) odds_ = std::make_shared<const OddsRows>(model, eta_);
  const bool spare = options.bounds || options.odds;  // what only a pass over all rows as they are needs
  if (spare && options.room != nullptr) {
    options.room->bends = std::move(bends_);
    options.room->eta = std::move(eta_);
  } else if (spare) {
    HugeVector<Bend>().swap(bends_);
    HugeVector<double>().swap(eta_);
  }
}

double LevelReference::effect_radius(std::size_t group) const noexcept {
  return std::sqrt(static_cast<double>(groups_[group].d)) + 6;
}

LevelReference::Totals& LevelReference::Totals::operator+=(const Totals& other) noexcept {
  value += other.value;
  squares += other.squares;
  weight += other.weight;
  slope += other.slope;
  curvature += other.curvature;
  return *this;
}

LevelReference::Totals LevelReference::Totals::times(double factor) const noexcept {
  return {factor * value, factor * squares, factor * weight, factor * slope, factor * curvature};
}

void LevelReference::take_totals(const Totals& totals) noexcept {
  value_ = totals.value;
  squares_ = totals.squares;
  weight_ = totals.weight;
  second_slope_ = totals.slope;
  second_curvature_ = totals.curvature;
}

// By the second parameter's slope: power * precision * core + rows * the slope of what depends on it alone.
double LevelReference::core() const noexcept {
  const SecondFactor& factor = *model_->factor();
  return (second_slope_ - weight_ * factor.alone(at_.log_second).slope) / (factor.power * precision_);
}

void LevelReference::Shapes::resize(std::size_t rows, const RowCurve& curve, bool weighted) {
  has_e_ = !curve.exponential();
  scaled_ = weighted || !curve.unscaled();
  width_ = (has_e_ ? 1U : 0U) + (scaled_ ? 1U : 0U);
  constexpr std::array<double, 1> eta{0}, y{1};
  std::array<RowShape, 1> shape;
  curve.shapes(eta, y, shape);
  direction_ = static_cast<float>(shape[0].direction);
  numbers_.resize(rows * width_);
}

void LevelReference::Shapes::set(std::size_t row, float e, float scale, float direction) noexcept {
  float* const at = numbers_.data() + row * width_;
  if (has_e_) at[0] = e;
  if (scaled_) at[width_ - 1] = std::copysign(scale, direction);
}

LevelReference::Shapes::Range LevelReference::Shapes::range(const Grouping& group,
                                                            std::size_t level) const noexcept {
  const std::size_t first = group.starts[level], last = group.starts[level + 1];
  float least = numbers_[group.row(first)], most = least;
  for (std::size_t place = first + 1; place < last; ++place) {
    const float one = numbers_[group.row(place)];
    least = std::min(least, one);
    most = std::max(most, one);
  }
  if (has_e_) return {least, most, 1, direction_};
  return {0, 0, std::max(std::abs(least), std::abs(most)), direction_};
}

// The rows' derivatives, those of the second parameter, and the curves.
void LevelReference::derivatives_of(std::size_t first, std::size_t count, Third third_by, const Bends& out,
                                    Totals& totals) {
  const LevelRows& rows = model_->rows();
  const Family& family = model_->family();
  std::array<double, batch> eta, y, aux, aux_second, aux_eta, up, down, e;
  std::array<RowShape, batch> shape;
  for (std::size_t done = 0; done < count; done += batch) {
    const std::size_t at = first + done, here_count = std::min(batch, count - done);
    const auto cut = [&](auto& a) { return std::span(a).first(here_count); };
    const std::span<double> f1(out.f1 + done, here_count), f2(out.f2 + done, here_count),
        f3(out.f3 + done, here_count);
    predictors_of(rows, at_, at, cut(eta));
    const Batch here{cut(eta), rows.responses(at, cut(y)), at_.log_second};
    double value = family.derivatives(here, {f1, f2, cut(aux), cut(aux_second), cut(aux_eta)});
    if (rows.weighted()) {
      std::array<double, batch> terms;
      family.terms(here, cut(terms));
      value = 0;
      for (std::size_t k = 0; k < here_count; ++k) value += rows.weight(at + k) * terms[k];
    }
    totals.value += value;
    if (family.estimates_second())
      for (std::size_t k = 0; k < here_count; ++k) {
        totals.slope += rows.weight(at + k) * aux[k];
        totals.curvature += rows.weight(at + k) * aux_second[k];
      }
    if (third_by == Third::curves) {
      curve_->shapes(here.eta, here.y, cut(shape));
      for (std::size_t k = 0; k < here_count; ++k) e[k] = static_cast<float>(shape[k].e);
      curve_->third(cut(e), f3);
      for (std::size_t k = 0; k < here_count; ++k) {
        const double scale = shape[k].scale, direction = shape[k].direction;
        shapes_.set(at + k, static_cast<float>(e[k]), static_cast<float>(rows.weight(at + k) * scale),
                    static_cast<float>(direction));
        f3[k] *= precision_ * scale * direction * direction * direction;
      }
    } else if (third_by == Third::surfaces) {
      std::array<SurfaceShape, batch> places;
      surface_->shapes(here.eta, here.y, cut(places));
      for (std::size_t k = 0; k < here_count; ++k) {
        const SurfaceShape& place = places[k];
        places_[at + k] = {static_cast<float>(place.a), static_cast<float>(rows.weight(at + k) * place.scale),
                           static_cast<float>(place.direction), static_cast<float>(place.b)};
        e[k] = places_[at + k].e;
        aux[k] = places_[at + k].other;
      }
      surface_->thirds({cut(e), cut(aux)}, {f3, cut(up), cut(down), cut(aux_eta)});
      for (std::size_t k = 0; k < here_count; ++k)
        f3[k] *= places[k].scale * places[k].direction * places[k].direction * places[k].direction;
    } else if (third_by == Third::none) {
      std::fill(f3.begin(), f3.end(), 0.0);
    } else {
      // Of the proposals only; the rows are read themselves.
      constexpr double step = 1e-3;
      std::array<double, batch> moved, unused;
      for (const double sign : {1.0, -1.0}) {
        for (std::size_t k = 0; k < here_count; ++k) moved[k] = here.eta[k] + sign * step;
        static_cast<void>(
            family.derivatives({cut(moved), here.y, at_.log_second},
                               {cut(unused), sign > 0 ? cut(up) : cut(down), cut(aux_eta), cut(e), f3}));
      }
      for (std::size_t k = 0; k < here_count; ++k) f3[k] = (up[k] - down[k]) / (2 * step);
    }
    for (std::size_t k = 0; k < here_count; ++k) {
      const double w = rows.weight(at + k);
      totals.weight += w;
      totals.squares += w * f1[k] * f1[k] / (precision_ * precision_);
      f1[k] *= w / precision_;
      f2[k] *= w / precision_;
      f3[k] *= w / precision_;
    }
    if (!eta_.empty()) std::copy_n(eta.begin(), here_count, eta_.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

// The same, of all rows, for sums by several groupings.
void LevelReference::take_derivatives(ThreadPool& pool, Third third, bool keep_predictors) {
  const std::size_t n = model_->rows().size();
  bends_.resize(n);
  eta_.resize(keep_predictors ? n : 0);
  take_totals(block_sum(pool, n, 4096, Totals{}, [&](std::size_t begin, std::size_t length) {
    Totals part;
    std::array<double, batch> f1, f2, f3;
    for (std::size_t at = begin; at < begin + length; at += batch) {
      const std::size_t count = std::min(batch, begin + length - at);
      derivatives_of(at, count, third, {f1.data(), f2.data(), f3.data()}, part);
      for (std::size_t k = 0; k < count; ++k)
        bends_[at + k] = {static_cast<float>(f1[k]), static_cast<float>(f2[k]), static_cast<float>(f3[k])};
    }
    return part;
  }));
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
  sum_cells(*model_, bends_, cells_);
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
}

void LevelReference::sum_products_of_m() {
  const std::size_t q = model_->rows().columns();
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

// The sums in decoupled columns.
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
    sums.skew.assign(levels, 0);
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
              sums.skew[level] += std::abs(f3);
              for (std::size_t j = 0; j < q; ++j) {
                hx[j] += f2 * x[j];
                s[j] += f3 * x[j];
              }
            } else {
              group.multipliers(i, z.data());
              if (d == 1) sums.skew[level] += std::abs(f3 * z[0] * z[0] * z[0]);
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
}

// L.
void LevelReference::factor_columns() {
  Eigen::MatrixXd full = precision_ * information_;
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const LevelSums& sums = groups_[k];
    const Eigen::MatrixXd omega = model_->covariances()[k].precision(at_.covariances[k]);
    for (std::size_t a = 0; a < sums.d; ++a)
      for (std::size_t b = 0; b < sums.d; ++b) full += omega(index(a), index(b)) * sums.mm[a * sums.d + b];
  }
  full += prior_information(*model_, at_);
  factor_ = positive_factor(full);
}

void LevelReference::make_tables() {
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    LevelSums& sums = groups_[k];
    if (std::none_of(sums.curves.begin(), sums.curves.end(),
                     [](const LevelCurve& c) { return c.radius > 0; }))
      sums.curves.clear();
    tables_.emplace_back(sums, model_->rows().groups()[k], at_.effects[k]);
    std::vector<LevelCurve>().swap(sums.curves);
    for (auto* const v :
         {&sums.c, &sums.hx, &sums.s, &sums.k3, &sums.k4, &sums.k3_all, &sums.k4_all, &sums.box, &sums.skew})
      std::vector<double>().swap(*v);
  }
}

}  // namespace mlo
