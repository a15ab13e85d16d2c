// Copyright (c) the mlo authors. BSD-3-Clause.
// What the moves of LevelKernel share.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "kernel/level_lanes.hpp"
#include "kernel/row_batch.hpp"
#include "mlo/base/random.hpp"
#include "mlo/base/special.hpp"
#include "mlo/kernel/levels.hpp"

namespace mlo {

[[nodiscard]] inline Eigen::Index index(std::size_t i) noexcept { return static_cast<Eigen::Index>(i); }

inline constexpr std::size_t level_batch = Family::batch_rows;  // rows at a time
inline constexpr double walk_share = 0.2;  // of walks among the proposals, where all rows are read

// Arrays are in the order of the reference's LevelTable.
struct LevelKernel::Group {
  std::size_t levels = 0, d = 1;
  bool tiny = false;  // whether any level is
  std::vector<double> beta, next, ma, linear, bend;
  std::vector<double> cell_linear, cell_first, cell_bend, cubes, typical, others, own, cross, rate, ratio,
      taken, phi;
  std::vector<double> anchor, anchor_power;
  std::vector<double> chunks;
  std::vector<float> rounded;  // beta, for the cells of the other groupings
  std::vector<double> table;   // the reference's, where it depends on the second parameter
  Eigen::MatrixXd omega;       // the effects' precision
  double log_det = 0;          // its log determinant
  LearntWalk walk;             // of the covariance
  RowBoost boost;              // of moves of all effects
  level_passes::Levels lanes;

  [[nodiscard]] std::size_t blocks() const noexcept { return lane_blocks(levels); }
  [[nodiscard]] std::size_t at(std::size_t level, std::size_t effect) const noexcept {
    return lane_at(level, effect, d);
  }
  // next - beta of a level.
  void moved(std::size_t level, double* out) const noexcept {
    for (std::size_t a = 0; a < d; ++a) out[a] = next[at(level, a)] - beta[at(level, a)];
  }
};

struct LevelKernel::Event {
  std::size_t level, row = 0;
  bool by_cell = false;  // how the row is drawn
};

// Where there are more, they say more of their covariance together than each of its own effect.
inline constexpr std::size_t many_levels = 100;

// Sums over all levels of a grouping, in parts that depend on their number alone. Few levels are not worth a
// second thread.
inline constexpr std::size_t blocks_of_part = 256;
template <class F>
void over_parts(ThreadPool& pool, std::size_t blocks, const F& f) {
  const std::size_t parts = (blocks + blocks_of_part - 1) / blocks_of_part;
  if (parts == 1) return f(std::size_t{0}, level_passes::Range{0, blocks});
  pool.run(parts, [&](std::size_t part) {
    f(part, level_passes::Range{part * blocks_of_part, std::min(blocks, (part + 1) * blocks_of_part)});
  });
}
template <class F>
[[nodiscard]] double sum_over_parts(ThreadPool& pool, std::size_t blocks, const F& f) {
  if (blocks <= blocks_of_part) return f(level_passes::Range{0, blocks});
  std::vector<double> sums((blocks + blocks_of_part - 1) / blocks_of_part, 0);
  over_parts(pool, blocks, [&](std::size_t part, level_passes::Range range) { sums[part] = f(range); });
  double sum = 0;
  for (const double one : sums) sum += one;
  return sum;
}

// Arrivals of a Poisson process with the levels' rates times `boost`, in order; a level whose rate is
// infinite is read whole.
template <class Whole, class Arrival>
void run_clock(const double* rates, double boost, level_passes::Range blocks, std::size_t levels,
               Stream& stream, const Whole& whole, const Arrival& arrival) {
  double clock = exponential(stream) / boost;
  for (std::size_t block = blocks.first; block < blocks.last; ++block) {
    const double* const rate = rates + block * level_lanes;
    const double sum =
        ((rate[0] + rate[1]) + (rate[2] + rate[3])) + ((rate[4] + rate[5]) + (rate[6] + rate[7]));
    if (sum < clock) {
      clock -= sum;
      continue;
    }
    for (std::size_t lane = 0; lane < level_lanes && block * level_lanes + lane < levels; ++lane) {
      if (!std::isfinite(rate[lane])) {
        whole(block * level_lanes + lane);
        continue;
      }
      while (clock < rate[lane]) {
        arrival(block * level_lanes + lane);
        clock += exponential(stream) / boost;
      }
      clock -= rate[lane];
    }
  }
}

// One drawn row in the balanced thinning rule: what it adds to the log ratio. `share` is its remainder over
// its bound.
inline double thinned(double share, Stream& stream, std::uint64_t& violations) noexcept {
  if (!(std::abs(share) <= 1)) {
    ++violations;
    share = std::isnan(share) ? 0 : std::copysign(1.0, share);
  }
  if (share < 0) return std::log1p(share);
  return uniform(stream) >= share ? -std::log1p(-share) : 0;
}
// The same of many rows, in place. 1 - |share| is rounded to 1e-16, and so is its log.
inline void thin_rows(std::span<double> shares, Stream& stream, std::uint64_t& violations) noexcept {
  std::array<double, RowBatch::most> left, logs;
  for (std::size_t r = 0; r < shares.size(); ++r) {
    double& share = shares[r];
    if (!(std::abs(share) <= 1)) {
      ++violations;
      share = std::isnan(share) ? 0 : std::copysign(1.0, share);
    }
    const bool counts = share < 0 || uniform(stream) >= share;
    left[r] = counts ? std::max(1 - std::abs(share), 1e-300) : 1;
    share = share < 0 ? 1 : -1;
  }
  log(std::span<const double>(left).first(shares.size()), std::span(logs).first(shares.size()));
  for (std::size_t r = 0; r < shares.size(); ++r) shares[r] *= logs[r];
}

// What the expansion of the columns' part leaves of a product: -scale (e^(d b') - e^(d b)) (e^(d u) - 1 - d
// u).
inline double product_change(const LevelReference::Shape& shape, double u, double before,
                             double after) noexcept {
  const double direction = shape.direction, x = direction * u;
  return -static_cast<double>(shape.scale) * (std::exp(direction * after) - std::exp(direction * before)) *
         (std::expm1(x) - x);
}

// Rows of levels with curves of their own: what u changes of a move of the effect.
struct LevelKernel::CurvedBatch {
  static constexpr std::size_t most = 64;
  struct Place {
    double u, from, to, phi;
  };
  std::size_t size = 0;
  std::array<const Event*, most> event;
  std::array<double, most> e{}, scale{}, u{}, from{}, to{}, phi{}, limit{}, change{};

  void add(const Event& of, const LevelReference::Shape& shape, const Place& at, double bound) noexcept {
    event[size] = &of;
    e[size] = shape.e;
    scale[size] = shape.scale;
    u[size] = at.u;
    from[size] = at.from;
    to[size] = at.to;
    phi[size] = at.phi;
    limit[size] = bound;
    ++size;
  }
  void evaluate() noexcept {
    const std::size_t rounded = lane_blocks(size) * level_lanes;
    level_passes::curved_changes({e.data(), u.data(), from.data(), to.data(), phi.data()}, rounded,
                                 change.data());
    for (std::size_t r = 0; r < size; ++r) change[r] *= scale[r];
  }
};

// The rows that were drawn are fetched, then evaluated many at a time.
template <class Add>
double LevelKernel::read_events(std::size_t k, std::span<const Event> events, Stream& stream, double boost,
                                std::uint64_t& violations, const Add& add) const {
  const Group& group = groups_[k];
  double noise = 0;  // the variance of the decision
  const auto judge = [&](const Event& event, double share) {
    noise += share * share;
    add(event, thinned(share, stream, violations));
  };
  for (const Event& event : events) {
    model_->rows().prefetch(event.row);
    reference_->prefetch(event.row);
  }
  RowBatch rows;
  std::array<double, RowBatch::most> extra, limit;
  std::array<const Event*, RowBatch::most> event_of;
  const auto flush = [&] {
    rows.evaluate(*reference_, {second_at_, second_at_});
    for (std::size_t r = 0; r < rows.size(); ++r) {
      extra[r] = precision_ * (rows.change(r) + rows.third(r) * extra[r]) / limit[r];
      noise += extra[r] * extra[r];
    }
    thin_rows(std::span(extra).first(rows.size()), stream, violations);
    for (std::size_t r = 0; r < rows.size(); ++r) add(*event_of[r], extra[r]);
    rows.clear();
  };
  const LevelTable& table = reference_->table(k);
  CurvedBatch curved;
  const auto flush_curved = [&] {
    curved.evaluate();
    for (std::size_t r = 0; r < curved.size; ++r) judge(*curved.event[r], curved.change[r] / curved.limit[r]);
    curved.size = 0;
  };
  for (const Event& event : events) {
    const RowPlace at = place(k, event.row);
    double before = 0, after = 0;
    for (std::size_t a = 0; a < group.d; ++a) {
      before += at.z[a] * group.beta[group.at(event.level, a)];
      after += at.z[a] * group.next[group.at(event.level, a)];
    }
    const double own = boost * group.own[event.level], cross = boost * group.cross[event.level];
    if (product_) {
      const double change = product_change(reference_->shape(event.row), at.u, before, after);
      judge(event, precision_ * change / own);
      continue;
    }
    const double rest = at.u + at.gamma;
    if (table.has_curve(event.level)) {
      const double phi = group.phi[event.level];
      curved.add(event, reference_->shape(event.row), {.u = rest, .from = before, .to = after, .phi = phi},
                 own);
      if (curved.size == CurvedBatch::most) flush_curved();
      continue;
    }
    event_of[rows.size()] = &event;
    extra[rows.size()] = (after - before) * at.u * (0.5 * at.u + at.gamma);
    if (group.lanes.weighted) {
      const double length = reference_->groups()[k].lengths[event.row];
      limit[rows.size()] = length * (own + cross * length * length * length);
    } else {
      const double other = std::abs(at.gamma);
      limit[rows.size()] = own + cross * other * other * other;
    }
    rows.add(reference_->shape(event.row), rest + before, rest + after);
    if (rows.full()) flush();
  }
  flush();
  flush_curved();
  return noise;
}

// A slice sampler (Neal 2003) for a level with few rows, all of which are read.
template <class Beyond>
void LevelKernel::slice_level(std::size_t k, std::size_t level, Stream& stream, Tally& tally,
                              const Beyond& beyond) {
  const LevelSums& sums = reference_->groups()[k];
  const Grouping& grouping = model_->rows().groups()[k];
  Group& group = groups_[k];
  double& beta = group.beta[level];
  const double omega = group.omega(0, 0), mu = group.ma[level] - reference_->at().effects[k][level];
  const double here = beta;
  const auto above = [&](double to) {  // the log density there, compared with here
    const double delta = to - here;
    const double prior = beyond(delta) - 0.5 * omega * ((to - mu) * (to - mu) - (here - mu) * (here - mu));
    tally.rows += grouping.size(level);
    if (all_rows()) return prior + likelihood_of_level(k, level, &delta);
    if (group.lanes.apart) return prior + rows_of_level(level, &here, &to);
    // A slice goes beyond a curve's interval, where the curve and what is beyond it would cancel.
    if (reference_->table(k).has_curve(level)) return prior + curved_rows(k, level, here, to);
    return prior + level_surrogate(k, level, here, to) +
           (options_.remainders ? remainders_of_level(k, level, &here, &to) : 0);
  };
  const double floor = -exponential(stream);
  const double width = 2 / std::sqrt(std::max(precision_ * sums.h[level], 0.0) + omega);
  double low = here - width * uniform(stream), high = low + width;
  constexpr int most_steps = 60;  // on both sides together
  const auto below = static_cast<int>(most_steps * uniform(stream));
  for (int s = 0; s < below && above(low) > floor; ++s) low -= width;
  for (int s = below + 1; s < most_steps && above(high) > floor; ++s) high += width;
  for (;;) {
    const double to = low + (high - low) * uniform(stream);
    if (above(to) > floor) {
      const double delta = to - here;
      if (all_rows()) add_to_predictors(k, level, &delta);
      beta = to;
      return;
    }
    (to < here ? low : high) = to;
    if (high - low < 1e-12 * (1 + std::abs(here))) return;
  }
}

}  // namespace mlo
