// Copyright (c) the mlo authors. BSD-3-Clause.
// Where LevelKernel reads rows: a row's parts of t, all rows of a level, and a row drawn by its bound.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernel/level_parts.hpp"
#include "kernel/row_batch.hpp"
#include "mlo/kernel/levels.hpp"

namespace mlo {

LevelKernel::RowPlace LevelKernel::place(std::size_t k, std::size_t row) const noexcept {
  const LevelRows& rows = model_->rows();
  RowPlace out;
  const float* const x = rows.x(row);
  for (Eigen::Index j = 0; j < alpha_.size(); ++j) out.u += static_cast<double>(x[j]) * alpha_[j];
  std::array<double, LevelRows::most_effects> z;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Grouping& group = rows.groups()[g];
    const std::size_t d = group.dim(), first = group.codes[row] * d;
    double* const of = g == k ? out.z.data() : z.data();
    group.multipliers(row, of);
    for (std::size_t a = 0; a < d; ++a) {
      out.u -= of[a] * groups_[g].ma[first + a];
      if (g != k) out.gamma += of[a] * groups_[g].beta[first + a];
    }
  }
  return out;
}

// The sum over all rows of a level.
double LevelKernel::remainders_of_level(std::size_t k, std::size_t level, const double* from,
                                        const double* to) const {
  if (!reference_->has_curve()) return 0;
  const Grouping& group = model_->rows().groups()[k];
  const std::size_t d = group.dim();
  RowBatch rows;
  std::array<double, level_batch> extra;
  double sum = 0;
  const auto flush = [&] {
    rows.evaluate(reference_->curve());
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

// A row of a level, by the bound's two parts: any row, or one in proportion to |gamma|^3.
std::size_t LevelKernel::draw_row(std::size_t k, std::size_t level, double own, double cross,
                                  Stream& stream) const noexcept {
  const LevelRows& rows = model_->rows();
  const Grouping& group = rows.groups()[k];
  const double count = static_cast<double>(group.size(level));
  const double part = own * count, rest = cross * groups_[k].cubes[level];
  if (cross == 0 || uniform(stream) * (part + rest) < part)
    return group.row(group.starts[level] + bounded(stream, group.size(level)));
  const LevelCells::Of& cells = rows.cells().of[k];
  const CellSums& of = reference_->cells()[k];
  const std::size_t others = groups_.size() - 1;
  constexpr std::size_t few_cells = 64;
  if (cells.starts[level + 1] - cells.starts[level] > few_cells) {
    // Any row, kept with probability (|gamma| / the largest)^3.
    const double most = groups_[k].others[level];
    for (;;) {
      const std::size_t row = group.row(group.starts[level] + bounded(stream, group.size(level)));
      double gamma = 0;
      for (std::size_t j = 0; j < groups_.size(); ++j)
        if (j != k) gamma += groups_[j].beta[rows.groups()[j].codes[row]];
      const double ratio = std::abs(gamma) / most;
      if (uniform(stream) < ratio * ratio * ratio) return row;
    }
  }
  double left = uniform(stream) * groups_[k].cubes[level];
  std::size_t chosen = cells.starts[level + 1] - 1;
  for (std::size_t c = cells.starts[level]; c < cells.starts[level + 1]; ++c) {
    double gamma = 0;
    for (std::size_t j = 0, at = c * others; j < groups_.size(); ++j)
      if (j != k) gamma += groups_[j].beta[cells.others[at++]];
    const double size = std::abs(gamma);
    left -= static_cast<double>(of.count[c]) * size * size * size;
    if (left < 0) {
      chosen = c;
      break;
    }
  }
  const std::size_t id = cells.ids[chosen];
  const std::size_t first = rows.cells().starts[id];
  return first + bounded(stream, rows.cells().starts[id + 1] - first);
}

}  // namespace mlo
