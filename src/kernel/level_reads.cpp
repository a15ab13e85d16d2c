// Copyright (c) the mlo authors. BSD-3-Clause.
// Where LevelKernel reads rows: a row's parts of t, all rows of a level, and a row drawn by its bound.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernel/level_parts.hpp"
#include "mlo/base/special.hpp"
#include "mlo/kernel/levels.hpp"

namespace mlo {

LevelKernel::RowPlace LevelKernel::place(std::size_t k, std::size_t row) const noexcept {
  const LevelRows& rows = model_->rows();
  RowPlace out;
  const float* const x = rows.x(row);
  for (Eigen::Index j = 0; j < alpha_.size(); ++j) out.u += static_cast<double>(x[j]) * alpha_[j];
  std::array<double, LevelRows::most_effects> z;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    const std::size_t level = rows.groups()[g].codes[row];
    if (group.lanes.plain) {
      out.u -= group.ma[level];
      if (g == k)
        out.z[0] = 1;
      else
        out.gamma += group.beta[level];
      continue;
    }
    double* const of = g == k ? out.z.data() : z.data();
    rows.groups()[g].multipliers(row, of);
    for (std::size_t a = 0; a < group.d; ++a) {
      const std::size_t at = group.at(level, a);
      out.u -= of[a] * group.ma[at];
      if (g != k) out.gamma += of[a] * group.beta[at];
    }
  }
  return out;
}

// Of one effect per level.
double LevelKernel::level_surrogate(std::size_t k, std::size_t level, double x, double y) const noexcept {
  const Group& group = groups_[k];
  const LevelTable& table = reference_->table(k);
  const LevelFields& at = table.fields();
  if (product_)
    return precision_ * ((table.at(level, at.g) + direction_ * table.at(level, at.h)) * (y - x) -
                         group.bend[level] * (std::exp(direction_ * y) - std::exp(direction_ * x)));
  return precision_ * (y - x) *
         (group.linear[level] - 0.5 * group.bend[level] * (x + y) +
          table.at(level, at.c) * (x * x + x * y + y * y) / 6);
}

// The sum over all rows of a level.
double LevelKernel::remainders_of_level(std::size_t k, std::size_t level, const double* from,
                                        const double* to) const {
  if (!reference_->bounded()) return 0;
  const Grouping& group = model_->rows().groups()[k];
  const std::size_t d = group.dim();
  if (reference_->table(k).has_curve(level)) return beyond_curve(k, level, from[0], to[0]);
  RowBatch rows;
  std::array<double, level_batch> extra;
  double sum = 0;
  const auto flush = [&] {
    rows.evaluate(*reference_, {second_at_, second_at_});
    for (std::size_t r = 0; r < rows.size(); ++r) sum += rows.change(r) + rows.third(r) * extra[r];
    rows.clear();
  };
  for (std::size_t p = group.starts[level]; p < group.starts[level + 1]; ++p) {
    const std::size_t i = group.row(p);
    const RowPlace at = place(k, i);
    double before = 0, after = 0;
    for (std::size_t a = 0; a < d; ++a) {
      before += at.z[a] * from[a];
      after += at.z[a] * to[a];
    }
    if (product_) {
      sum += product_change(reference_->shape(i), at.u, before, after);
      continue;
    }
    extra[rows.size()] = (after - before) * at.u * (0.5 * at.u + at.gamma);
    const double rest = at.u + at.gamma;
    rows.add(reference_->shape(i), rest + before, rest + after);
    if (rows.full()) flush();
  }
  flush();
  return precision_ * sum;
}

double LevelKernel::whole_level(std::size_t k, std::size_t level, const double* from,
                                const double* to) const {
  const Group& group = groups_[k];
  if (group.lanes.apart && !std::isfinite(group.own[level])) return rows_of_level(level, from, to);
  return remainders_of_level(k, level, from, to);
}

// The same for a level with a curve of its own: its rows' terms, without the curve.
double LevelKernel::beyond_curve(std::size_t k, std::size_t level, double from, double to) const {
  const LevelTable& table = reference_->table(k);
  const Group& own = groups_[k];
  const LevelCurve curve = table.curve(level);
  const double first =
      own.linear[level] - table.at(level, table.fields().g) - own.cell_linear[level] + own.cell_first[level];
  return curved_rows(k, level, from, to) - (curve.value(to) - curve.value(from)) -
         first * (curve.phi(to) - curve.phi(from));
}

// The change of the log-likelihood of the rows of a level with a curve, by the rows alone.
double LevelKernel::curved_rows(std::size_t k, std::size_t level, double from, double to) const {
  const Grouping& group = model_->rows().groups()[k];
  std::array<double, level_batch> before, after, change, scale;
  double sum = reference_->table(k).curve(level).tilt * (to - from);
  for (std::size_t begin = group.starts[level]; begin < group.starts[level + 1]; begin += level_batch) {
    const std::size_t count = std::min<std::size_t>(level_batch, group.starts[level + 1] - begin);
    for (std::size_t r = 0; r < count; ++r) {
      const std::size_t i = group.row(begin + r);
      const RowPlace at = place(k, i);
      const LevelReference::Shape& shape = reference_->shape(i);
      const double e = static_cast<double>(shape.e) + at.u + at.gamma;
      before[r] = e + from;
      after[r] = e + to;
      scale[r] = shape.scale;
    }
    const auto cut = [&](auto& a) { return std::span(a).first(count); };
    softplus_difference(cut(before), cut(after), cut(change));
    for (std::size_t r = 0; r < count; ++r) sum -= scale[r] * change[r];
  }
  return sum;
}

// The change of the log-likelihood of a level's rows, where all rows are read.
double LevelKernel::likelihood_of_level(std::size_t k, std::size_t level, const double* delta) const {
  const LevelRows& rows = model_->rows();
  const Grouping& group = rows.groups()[k];
  const std::size_t d = group.dim();
  std::array<double, level_batch> from, to, y, change, weight;
  std::array<double, LevelRows::most_effects> z;
  double sum = 0;
  for (std::size_t begin = group.starts[level]; begin < group.starts[level + 1]; begin += level_batch) {
    const std::size_t count = std::min<std::size_t>(level_batch, group.starts[level + 1] - begin);
    for (std::size_t r = 0; r < count; ++r) {
      const std::size_t i = group.row(begin + r);
      from[r] = eta_[i];
      double moved = delta[0];
      if (!group.plain()) {
        group.multipliers(i, z.data());
        moved = 0;
        for (std::size_t a = 0; a < d; ++a) moved += z[a] * delta[a];
      }
      to[r] = from[r] + moved;
      y[r] = rows.y(i);
      weight[r] = rows.weight(i);
    }
    const auto cut = [&](auto& a) { return std::span(a).first(count); };
    model_->family().differences({cut(from), cut(y), point_.log_second}, {cut(to), cut(y), point_.log_second},
                                 cut(change));
    for (std::size_t r = 0; r < count; ++r) sum += weight[r] * change[r];
  }
  return sum;
}

void LevelKernel::add_to_predictors(std::size_t k, std::size_t level, const double* delta) {
  const Grouping& grouping = model_->rows().groups()[k];
  std::array<double, LevelRows::most_effects> z;
  for (std::size_t p = grouping.starts[level]; p < grouping.starts[level + 1]; ++p) {
    const std::size_t i = grouping.row(p);
    grouping.multipliers(i, z.data());
    double moved = 0;
    for (std::size_t a = 0; a < grouping.dim(); ++a) moved += z[a] * delta[a];
    eta_[i] += moved;
  }
}

// A row of a level whose bounds are own * length + cross * length^4.
std::size_t LevelKernel::draw_by_length(std::size_t k, std::size_t level, Stream& stream) const noexcept {
  const Grouping& group = model_->rows().groups()[k];
  const LevelSums& sums = reference_->groups()[k];
  const std::size_t first = group.starts[level], last = group.starts[level + 1];
  const double part = groups_[k].own[level] * sums.sum_length[level],
               rest = groups_[k].cross[level] * sums.sum_fourth[level];
  if (uniform(stream) * (part + rest) < part) {
    for (;;) {  // any row, kept with probability length / the longest
      const std::size_t row = group.row(first + bounded(stream, last - first));
      if (uniform(stream) * sums.span[level] < static_cast<double>(sums.lengths[row])) return row;
    }
  }
  const double place = uniform(stream) * sums.sum_fourth[level];
  const auto begin = sums.fourths.begin() + static_cast<std::ptrdiff_t>(first),
             end = sums.fourths.begin() + static_cast<std::ptrdiff_t>(last - 1);
  return group.row(static_cast<std::size_t>(std::upper_bound(begin, end, place) - sums.fourths.begin()));
}

// Rows of levels, by the bound's two parts: any row, or one in proportion to |gamma|^3. In stages, so that
// memory is asked for before it is needed.
void LevelKernel::draw_rows(std::size_t k, std::span<Event> events, Stream& stream) const noexcept {
  const LevelRows& rows = model_->rows();
  const Group& own = groups_[k];
  const Grouping& group = rows.groups()[k];
  if (own.lanes.weighted) {
    for (Event& event : events) event.row = draw_by_length(k, event.level, stream);
    return;
  }
  const bool crossed = own.lanes.crossed;
  const level_passes::Cells all = crossed ? cells_of(k) : level_passes::Cells{};
  constexpr std::size_t chunk = level_passes::Cells::chunk;
  for (const Event& event : events)
    if (crossed) __builtin_prefetch(all.levels[0] + all.starts[event.level]);
  for (Event& event : events) {
    const std::size_t level = event.level;
    const double part = own.own[level] * static_cast<double>(group.size(level)),
                 rest = own.cross[level] * own.cubes[level];
    event.by_cell = rest > 0 && uniform(stream) * (part + rest) >= part;
    if (!event.by_cell) {
      event.row = group.starts[level] + bounded(stream, group.size(level));
      if (!group.order.empty()) __builtin_prefetch(&group.order[event.row]);
      continue;
    }
    const double* sum = own.chunks.data() + all.chunk_of(level);
    double target = uniform(stream) * own.cubes[level];
    std::size_t begin = all.starts[level];
    const std::size_t end = all.starts[level + 1];
    for (; begin + chunk < end && target >= *sum; begin += chunk) target -= *sum++;
    // A chunk ends with its cells, the last one with the level: that is cell_of()'s if the target is not met.
    event.row = level_passes::cell_of(all, begin, std::min(begin + chunk, end), target);
    __builtin_prefetch(&rows.cells().of[k].ids[event.row]);
  }
  for (Event& event : events) {
    if (!event.by_cell) {
      event.row = group.row(event.row);
      continue;
    }
    event.row = rows.cells().of[k].ids[event.row];
    if (all.count == nullptr) continue;  // a row per cell, in this order
    const std::size_t first = rows.cells().starts[event.row];
    event.row = first + bounded(stream, rows.cells().starts[event.row + 1] - first);
  }
}

}  // namespace mlo
