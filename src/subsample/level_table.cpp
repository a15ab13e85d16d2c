// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/level_table.hpp"

#include "mlo/subsample/level_reference.hpp"

namespace mlo {

LevelFields::LevelFields(std::size_t effects, std::size_t columns) noexcept : d(effects), q(columns) {
  const auto take = [this](std::size_t numbers) {
    const std::size_t at = width;
    width += numbers;
    return at;
  };
  g = take(d);
  h = take(pairs_of(d));
  c = take(triples_of(d));
  hx = take(d * q);
  s = take(pairs_of(d) * q);
  m = take(d * q);
  b = take(d);
  factor = take(pairs_of(d));
  for (std::size_t* const one :
       {&reach,      &span,   &box,  &k3,    &k4, &k3_all, &k4_all, &scale, &count, &sum_length,
        &sum_fourth, &radius, &tilt, &start, &up, &down,   &limit,  &least, &most,  &open})
    *one = take(1);
}

LevelTable::LevelTable(const LevelSums& sums, const Grouping& group, std::span<const double> effects)
    : fields_(sums.d, sums.q), levels_(group.levels()), data_(blocks() * level_lanes * fields_.width, 0.0) {
  const LevelFields& f = fields_;
  const std::size_t d = f.d, q = f.q;
  curved_.assign(blocks(), 0);
  if (!sums.curves.empty()) curves_.assign(blocks() * level_lanes * LevelCurve::terms, 0.0);
  for (std::size_t l = 0; l < blocks() * level_lanes; ++l) {
    const auto to = [&](std::size_t field) -> double& { return data_[lane_at(l, field, f.width)]; };
    if (l >= levels_) {  // known so well that nothing moves it
      for (std::size_t a = 0; a < d; ++a) {
        to(f.h + pair_at(a, a)) = 1e300;
        to(f.factor + pair_at(a, a)) = 1;
      }
      continue;
    }
    const auto take = [](const std::vector<double>& from, std::size_t at) {
      return from.empty() ? 0 : from[at];
    };
    for (std::size_t a = 0; a < d; ++a) {
      to(f.g + a) = sums.g[l * d + a];
      to(f.b + a) = effects[l * d + a];
      for (std::size_t j = 0; j < q; ++j) {
        to(f.hx + a * q + j) = sums.hx[(l * d + a) * q + j];
        to(f.m + a * q + j) = sums.m[(l * d + a) * q + j];
      }
      for (std::size_t b = 0; b <= a; ++b) {
        const std::size_t ab = pair_at(a, b), full = (l * d + a) * d + b;
        to(f.h + ab) = sums.h[full];
        to(f.factor + ab) = sums.factor[(l * d + b) * d + a];  // column-major, lower
        for (std::size_t j = 0; j < q; ++j) to(f.s + ab * q + j) = sums.s[full * q + j];
        for (std::size_t e = 0; e <= b; ++e) to(f.c + triple_at(a, b, e)) = sums.c[full * d + e];
      }
    }
    to(f.reach) = sums.reach[l];
    to(f.span) = sums.span[l];
    to(f.box) = take(sums.box, l);
    to(f.k3) = take(sums.k3, l);
    to(f.k4) = take(sums.k4, l);
    to(f.k3_all) = take(sums.k3_all, l);
    to(f.k4_all) = take(sums.k4_all, l);
    to(f.scale) = take(sums.scale, l);
    to(f.sum_length) = take(sums.sum_length, l);
    to(f.sum_fourth) = take(sums.sum_fourth, l);
    if (!sums.curves.empty() && sums.curves[l].radius > 0) {
      const LevelCurve& curve = sums.curves[l];
      to(f.radius) = curve.radius;
      to(f.tilt) = curve.tilt;
      to(f.start) = curve.start;
      to(f.up) = curve.up;
      to(f.down) = curve.down;
      to(f.limit) = curve.limit;
      to(f.least) = curve.least;
      to(f.most) = curve.most;
      curved_[l / level_lanes] = 1;
      for (std::size_t k = 0; k < LevelCurve::terms; ++k)
        curves_[lane_at(l, k, LevelCurve::terms)] = curve.coefficients[k];
    }
    to(f.count) = static_cast<double>(group.size(l));
    to(f.open) = sums.tiny[l] != 0 ? 0 : 1;
  }
}

LevelCurve LevelTable::curve(std::size_t level) const noexcept {
  LevelCurve out;
  out.radius = at(level, fields_.radius);
  out.tilt = at(level, fields_.tilt);
  for (std::size_t k = 0; k < LevelCurve::terms; ++k)
    out.coefficients[k] = curves_[lane_at(level, k, LevelCurve::terms)];
  return out;
}

}  // namespace mlo
