// Copyright (c) the mlo authors. BSD-3-Clause.
// What a reference needs of a second parameter that is estimated and no factor of the likelihood: how the
// sums by level change with it, and bounds over the predictor and the parameter together.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "subsample/level_passes.hpp"

namespace mlo {
namespace {

constexpr std::size_t mixed_batch = Family::batch_rows;
// Of the parameter's log: sds of it that the bounds allow, and the most.
constexpr double sds_of_second = 8, widest = 1.5;

struct MixedPart {
  DenseSums one, two;
  double third = 0;
  MixedPart& operator+=(const MixedPart& other) noexcept {
    one += other.one;
    two += other.two;
    third += other.third;
    return *this;
  }
};

}  // namespace

// The rows of the one grouping are in the order of its levels.
void LevelReference::sum_mixed(ThreadPool& pool) {
  const LevelRows& rows = model_->rows();
  const Grouping& group = rows.groups()[0];
  const std::size_t d = group.dim(), q = rows.columns(), room = lane_blocks(group.levels()) * level_lanes;
  const LevelFields at(d, q);
  mixed_.fields = at.hx + d * q;
  mixed_.one.assign(room * mixed_.fields, 0);
  mixed_.two.assign(room * mixed_.fields, 0);
  const MixedPart zero{DenseSums(q), DenseSums(q)};
  const MixedPart total = over_levels(pool, group, zero, [&](std::size_t level, MixedPart& part) {
    std::array<double, mixed_batch> eta, y, first, second, aux, aux_second, aux_eta, a, b, ttt, ttu, tuu, uuu;
    std::array<double, LevelRows::most_effects> z;
    std::vector<double> x(q);
    const auto one = [&](std::size_t f) -> double& { return mixed_.one[lane_at(level, f, mixed_.fields)]; };
    const auto two = [&](std::size_t f) -> double& { return mixed_.two[lane_at(level, f, mixed_.fields)]; };
    for (std::size_t begin = group.starts[level]; begin < group.starts[level + 1]; begin += mixed_batch) {
      const std::size_t count = std::min<std::size_t>(mixed_batch, group.starts[level + 1] - begin);
      const auto cut = [&](auto& v) { return std::span(v).first(count); };
      predictors_of(rows, at_, begin, cut(eta));
      static_cast<void>(
          model_->family().derivatives({cut(eta), rows.responses(begin, cut(y)), at_.log_second},
                                       {cut(first), cut(second), cut(aux), cut(aux_second), cut(aux_eta)}));
      for (std::size_t r = 0; r < count; ++r) {
        a[r] = places_[begin + r].e;
        b[r] = places_[begin + r].other;
      }
      surface_->thirds({cut(a), cut(b)}, {cut(ttt), cut(ttu), cut(tuu), cut(uuu)});
      for (std::size_t r = 0; r < count; ++r) {
        const std::size_t i = begin + r;
        const double scale = places_[i].scale, direction = places_[i].direction;
        const double f11 = rows.weight(i) * aux_eta[r], f12 = scale * direction * tuu[r],
                     f21 = scale * direction * direction * ttu[r];
        decoupled_row(rows, groups_, i, x);
        group.multipliers(i, z.data());
        for (std::size_t e = 0; e < d; ++e) {
          one(at.g + e) += f11 * z[e];
          two(at.g + e) += f12 * z[e];
          for (std::size_t f = 0; f <= e; ++f) one(at.h + pair_at(e, f)) -= f21 * z[e] * z[f];
          for (std::size_t j = 0; j < q; ++j) one(at.hx + e * q + j) += f21 * z[e] * x[j];
        }
        part.one.add(x.data(), f11, f21);
        part.two.add(x.data(), f12, 0.0);
        part.third += scale * uuu[r];
      }
    }
  });
  mixed_.gradient = total.one.gradient();
  mixed_.information = total.one.information();
  mixed_.bent = total.two.gradient();
  mixed_.third = total.third;
}

// Effects that are integrated out move the parameter by about half their number over that of the rows.
void LevelReference::bound_surfaces(ThreadPool& pool) {
  const Grouping& group = model_->rows().groups()[0];
  LevelSums& sums = groups_[0];
  const std::size_t levels = group.levels(), room = lane_blocks(levels) * level_lanes;
  mixed_.width = std::min(widest, sds_of_second / std::sqrt(std::max(second_information(), 1.0)) +
                                      static_cast<double>(model_->effects()) / weight_);
  for (auto* const v : {&sums.box, &sums.k3, &sums.k4, &sums.scale}) v->assign(levels, 0);
  for (auto* const v : {&sums.k3_all, &sums.k4_all})
    v->assign(levels, std::numeric_limits<double>::infinity());
  for (auto* const v : {&mixed_.k31, &mixed_.k22, &mixed_.k13, &mixed_.k04}) v->assign(room, 0);
  over_levels(pool, group, Nothing{}, [&](std::size_t level, Nothing&) { bound_surfaces_of(level); });
}

void LevelReference::bound_surfaces_of(std::size_t level) {
  const Grouping& group = model_->rows().groups()[0];
  LevelSums& sums = groups_[0];
  sums.box[level] = sums.reach[level] * radius_ + sums.span[level] * effect_radius(0);
  constexpr std::size_t terms = monomials_of_three.size();
  const std::array<double*, terms> to{&sums.k4[level], &mixed_.k31[level], &mixed_.k22[level],
                                      &mixed_.k13[level], &mixed_.k04[level]};
  std::array<double, mixed_batch> a, b, reach, ttt, ttu, tuu, uuu;
  std::array<double, terms * mixed_batch> sup;
  for (std::size_t begin = group.starts[level]; begin < group.starts[level + 1]; begin += mixed_batch) {
    const std::size_t count = std::min<std::size_t>(mixed_batch, group.starts[level + 1] - begin);
    const auto cut = [&](auto& v) { return std::span(v).first(count); };
    for (std::size_t r = 0; r < count; ++r) {
      const Shape& place = places_[begin + r];
      a[r] = place.e;
      b[r] = place.other;
      reach[r] = std::abs(static_cast<double>(place.direction)) * sums.box[level];
    }
    surface_->thirds({cut(a), cut(b)}, {cut(ttt), cut(ttu), cut(tuu), cut(uuu)});
    surface_->suprema(JointOrder::three, {cut(a), cut(b)}, cut(reach), mixed_.width,
                      std::span(sup).first(terms * count));
    for (std::size_t r = 0; r < count; ++r) {
      const Shape& place = places_[begin + r];
      const double direction = std::abs(static_cast<double>(place.direction));
      const double scale = (1 + 1e-6) * static_cast<double>(place.scale);
      // The cubic terms that the sums leave out have their derivative at the reference.
      sums.k3[level] = std::max(sums.k3[level], scale * direction * direction * direction * std::abs(ttt[r]));
      for (std::size_t m = 0; m < terms; ++m) {
        double power = scale;
        for (int j = 0; j < monomials_of_three[m].j; ++j) power *= direction;
        *to[m] = std::max(*to[m], power * sup[m * count + r]);
      }
    }
  }
  if (sums.d == 1) sums.tiny[level] = sums.skew[level] > tiny_skew && group.size(level) <= tiny_rows ? 1 : 0;
}

}  // namespace mlo
