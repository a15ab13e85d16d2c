// Copyright (c) the mlo authors. BSD-3-Clause.
// Rows whose terms are not concave (student): a level can be so far from the reference that its expansion and
// what is left of its rows cancel each other in all digits. Such levels are decided by their rows alone. In
// moves of effects these are the levels outside their box at either end (level_lanes). Moves of the
// coefficients and of the second parameter leave beta as it is, so there they are the levels whose |C'beta|
// is beyond what the boxes allow: their beta is hidden from all sums, and what the expansion still has of
// them is replaced by their rows. If the coefficients leave the box, at either end, all rows are read.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernel/level_parts.hpp"
#include "mlo/kernel/levels.hpp"

namespace mlo {

bool LevelKernel::sets_apart() const noexcept { return draws_rows() && !model_->family().spec().log_concave; }

// The levels apart, by beta alone; their beta is 0 until show_apart().
void LevelKernel::hide_apart() {
  if (!sets_apart()) return;
  Group& group = groups_[0];
  const LevelTable& table = reference_->table(0);
  const std::size_t d = group.d, factor = table.fields().factor;
  const double most = reference_->effect_radius(0);
  apart_.flag.assign(group.levels, 0);
  apart_.levels.clear();
  apart_.beta.clear();
  apart_.rows = 0;
  for (std::size_t l = 0; l < group.levels; ++l) {
    double square = 0;
    for (std::size_t a = 0; a < d; ++a) {
      double sum = 0;
      for (std::size_t b = a; b < d; ++b)
        sum += table.at(l, factor + pair_at(b, a)) * group.beta[group.at(l, b)];
      square += sum * sum;
    }
    if (square <= most * most) continue;
    apart_.flag[l] = 1;
    apart_.levels.push_back(l);
    apart_.rows += model_->rows().groups()[0].size(l);
    for (std::size_t a = 0; a < d; ++a) {
      double& beta = group.beta[group.at(l, a)];
      apart_.beta.push_back(beta);
      beta = 0;
    }
  }
}

void LevelKernel::show_apart() {
  const double* from = apart_.beta.data();
  for (const std::size_t l : apart_.levels)
    for (std::size_t a = 0; a < groups_[0].d; ++a) groups_[0].beta[groups_[0].at(l, a)] = *from++;
  apart_.levels.clear();
  apart_.beta.clear();
  std::fill(apart_.flag.begin(), apart_.flag.end(), 0);
}

// What the hidden effects' prior adds to the slope along alpha: b = beta - M alpha.
void LevelKernel::add_pull_of_apart(Eigen::VectorXd& slope) const {
  const Group& group = groups_[0];
  const std::size_t d = group.d, q = reference_->groups()[0].q;
  const double* beta = apart_.beta.data();
  for (const std::size_t l : apart_.levels) {
    for (std::size_t a = 0; a < d; ++a) {
      double pull = 0;
      for (std::size_t b = 0; b < d; ++b) pull += group.omega(index(a), index(b)) * beta[b];
      const double* const m = reference_->groups()[0].m.data() + (l * d + a) * q;
      for (std::size_t j = 0; j < q; ++j) slope[index(j)] += pull * m[j];
    }
    beta += d;
  }
}

bool LevelKernel::beyond_box(double length) const noexcept {
  return length > reference_->radius() ||
         (reference_->has_surface() && std::abs(second_at_) > reference_->mixed().width);
}

// A row's predictor at the reference.
double LevelKernel::reference_predictor(std::size_t row) const noexcept {
  const LevelRows& rows = model_->rows();
  const GroupedPoint& at = reference_->at();
  double eta = rows.offset(row);
  for (std::size_t j = 0; j < rows.columns(); ++j)
    eta += static_cast<double>(rows.x(row)[j]) * at.coefficients[j];
  std::array<double, LevelRows::most_effects> z;
  const std::size_t d = groups_[0].d, level = rows.groups()[0].codes[row];
  rows.groups()[0].multipliers(row, z.data());
  for (std::size_t a = 0; a < d; ++a) eta += z[a] * at.effects[0][level * d + a];
  return eta;
}

// The change of the log-likelihood of a level's rows in a move of its effects.
double LevelKernel::rows_of_level(std::size_t level, const double* from, const double* to) const {
  const LevelRows& rows = model_->rows();
  const Grouping& grouping = rows.groups()[0];
  std::array<double, level_batch> before, after, y, change;
  double sum = 0;
  for (std::size_t begin = grouping.starts[level]; begin < grouping.starts[level + 1]; begin += level_batch) {
    const std::size_t count = std::min<std::size_t>(level_batch, grouping.starts[level + 1] - begin);
    for (std::size_t r = 0; r < count; ++r) {
      const std::size_t i = grouping.row(begin + r);
      const RowPlace at = place(0, i);
      before[r] = after[r] = reference_predictor(i) + at.u;
      for (std::size_t a = 0; a < groups_[0].d; ++a) {
        before[r] += at.z[a] * from[a];
        after[r] += at.z[a] * to[a];
      }
      y[r] = rows.y(i);
    }
    const auto cut = [&](auto& v) { return std::span(v).first(count); };
    model_->family().differences({cut(before), cut(y), point_.log_second},
                                 {cut(after), cut(y), point_.log_second}, cut(change));
    for (std::size_t r = 0; r < count; ++r) sum += rows.weight(grouping.row(begin + r)) * change[r];
  }
  return sum;
}

// Rows of levels apart: the log-likelihood less what the expansion has of them without beta, at alpha =
// `next` and the log of the second parameter `second`, compared with the present ones; or the present ones
// compared with the reference.
double LevelKernel::change_of_apart(const Eigen::VectorXd& next, double second, bool from_reference) const {
  const LevelRows& rows = model_->rows();
  const Family& family = model_->family();
  const Grouping& grouping = rows.groups()[0];
  const std::size_t d = groups_[0].d, q = reference_->groups()[0].q;
  const double centre = reference_->at().log_second;
  const bool surface = reference_->has_surface();
  const double v = from_reference ? 0 : point_.log_second - centre, v_next = second - centre;
  std::array<double, level_batch> eta, y, u, u_next, before, after, f1, f2, aux, aux_second, aux_eta, e,
      other, ttt, ttu, tuu, uuu, change;
  std::array<double, LevelRows::most_effects> z;
  double sum = 0;
  const double* beta = apart_.beta.data();
  for (const std::size_t l : apart_.levels) {
    for (std::size_t begin = grouping.starts[l]; begin < grouping.starts[l + 1]; begin += level_batch) {
      const std::size_t count = std::min<std::size_t>(level_batch, grouping.starts[l + 1] - begin);
      const auto cut = [&](auto& a) { return std::span(a).first(count); };
      for (std::size_t r = 0; r < count; ++r) {
        const std::size_t i = grouping.row(begin + r);
        const float* const x = rows.x(i);
        grouping.multipliers(i, z.data());
        u[r] = u_next[r] = 0;
        double own = 0;
        for (std::size_t j = 0; j < q; ++j) {
          double column = x[j];
          for (std::size_t a = 0; a < d; ++a) column -= z[a] * reference_->groups()[0].m[(l * d + a) * q + j];
          if (!from_reference) u[r] += column * alpha_[index(j)];
          u_next[r] += column * next[index(j)];
        }
        for (std::size_t a = 0; a < d; ++a) own += z[a] * beta[a];
        eta[r] = reference_predictor(i);
        before[r] = eta[r] + (from_reference ? 0 : u[r] + own);
        after[r] = eta[r] + u_next[r] + own;
        y[r] = rows.y(i);
        e[r] = reference_->shape(i).e;
        other[r] = reference_->shape(i).other;
      }
      family.differences({cut(before), cut(y), centre + v}, {cut(after), cut(y), second}, cut(change));
      static_cast<void>(family.derivatives({cut(eta), cut(y), centre},
                                           {cut(f1), cut(f2), cut(aux), cut(aux_second), cut(aux_eta)}));
      if (surface)
        reference_->surface().thirds({cut(e), cut(other)}, {cut(ttt), cut(ttu), cut(tuu), cut(uuu)});
      for (std::size_t r = 0; r < count; ++r) {
        const std::size_t i = grouping.row(begin + r);
        const double weight = rows.weight(i);
        const auto known = [&](double t, double s) {
          double value = weight * t * (f1[r] + 0.5 * f2[r] * t);
          if (!surface) return value;
          const LevelReference::Shape shape = reference_->shape(i);
          const double scale = shape.scale, direction = shape.direction;
          value +=
              s * (weight * (aux[r] + aux_eta[r] * t) + 0.5 * scale * direction * direction * ttu[r] * t * t);
          return value + s * s *
                             (0.5 * (weight * aux_second[r] + scale * direction * tuu[r] * t) +
                              scale * uuu[r] * s / 6);
        };
        sum += weight * change[r] - (known(u_next[r], v_next) - known(u[r], v));
      }
    }
    beta += d;
  }
  return sum;
}

// The change of the log-likelihood of all rows as alpha moves to `next`.
double LevelKernel::change_of_all(const Eigen::VectorXd& next) {
  read_point();
  const LevelRows& rows = model_->rows();
  const std::size_t d = groups_[0].d, q = reference_->groups()[0].q;
  const Eigen::VectorXd moved = next - alpha_;
  return block_sum(*pool_, rows.size(), 4096, 0.0, [&](std::size_t begin, std::size_t length) {
    double part = 0;
    std::array<double, level_batch> from, to, responses, change;
    std::array<double, LevelRows::most_effects> z;
    for (std::size_t at = begin; at < begin + length; at += level_batch) {
      const std::size_t count = std::min(level_batch, begin + length - at);
      const auto cut = [&](auto& a) { return std::span(a).first(count); };
      for (std::size_t r = 0; r < count; ++r) {
        const std::size_t i = at + r, level = rows.groups()[0].codes[i];
        rows.groups()[0].multipliers(i, z.data());
        from[r] = to[r] = predictor_of(i);
        for (std::size_t j = 0; j < q; ++j) {
          double column = rows.x(i)[j];
          for (std::size_t a = 0; a < d; ++a)
            column -= z[a] * reference_->groups()[0].m[(level * d + a) * q + j];
          to[r] += column * moved[index(j)];
        }
      }
      const auto y = rows.responses(at, cut(responses));
      model_->family().differences({cut(from), y, point_.log_second}, {cut(to), y, point_.log_second},
                                   cut(change));
      for (std::size_t r = 0; r < count; ++r) part += rows.weight(at + r) * change[r];
    }
    return part;
  });
}

}  // namespace mlo
