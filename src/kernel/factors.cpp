// Copyright (c) the mlo authors. BSD-3-Clause.
// Factors as groupings: what their priors decide in a sweep of LevelKernel.
#include "mlo/kernel/factors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernel/level_limits.hpp"
#include "kernel/level_parts.hpp"
#include "mlo/kernel/remainder_test.hpp"

namespace mlo {
namespace {

// Parts of a sweep with random numbers of their own, beside LevelKernel's.
constexpr std::uint64_t part_of_means = 0xFF, part_of_factor = 0x80;

// Of levels with curves of their own, whose slices read all their rows.
constexpr std::uint64_t sweeps_between_slices = 4;
// Below this ratio of the rows' information to the prior's, the shape of a prior shows.
constexpr double prior_matters = 6;

Stream stream_of(const StepId& id, std::uint64_t part) {
  return Stream({.seed = id.seed,
                 .chain = id.chain,
                 .purpose = Purpose::covariances,
                 .iteration = (id.iteration << 8U) | part});
}

}  // namespace

FactorKernel::FactorKernel(std::shared_ptr<const FactorGlm> model,
                           std::shared_ptr<const LevelReference> reference, LevelOptions options,
                           ThreadPool& pool)
    : model_(std::move(model)),
      levels_(std::move(reference), (options.factors = model_.get(), options), pool),
      means_(model_->factors() - 1, 0) {
  state_.theta.resize(index(model_->grouped().dim()));
}

// The means of the effects, which no predictor depends on, are drawn anew; then a sweep.
StepInfo FactorKernel::step(ChainState& state, const StepId& id) {
  const GroupedModel& grouped = model_->grouped();
  Stream stream = stream_of(id, part_of_means);
  for (double& mean : means_) mean = model_->spread() * normal(stream);
  model_->to_groups(params(state.theta), means_, point_);
  const std::span<double> packed(state_.theta.data(), grouped.dim());
  grouped.pack(point_, packed);
  const StepInfo info = levels_.step(state_, id);
  grouped.unpack(packed, point_);
  model_->to_theta(point_, {state.theta.data(), static_cast<std::size_t>(state.theta.size())});
  state.polynomial = state_.polynomial;
  return info;
}

// ---- LevelKernel, with the priors of factors

struct LevelKernel::Proposed {
  double mean, sd;
};

// The levels in turn: the likelihood's part of each decision is in `ratio`, and does not depend on the other
// levels; the priors' part does, through the base, the intercept and the mean.
void LevelKernel::decide_factor(std::size_t k, const StepId& id, StepInfo& info) {
  Group& group = groups_[k];
  read_point();
  FactorGlm::Sweep sweep(*options_.factors, point_, k);
  const std::size_t base = sweep.base();
  Stream stream = stream_of(id, part_of_factor + k);
  Tally tally;
  const auto by_slice = [&](std::size_t l) {
    if (reference_->groups()[k].tiny[l] != 0) return true;
    // Far from normal, with sides as heavy as the prior's: a normal proposal seldom gets there, or back.
    const LevelTable& table = reference_->table(k);
    const bool curved = table.has_curve(l);
    if (sweep.normal(l)) return curved && (id.iteration + l) % sweeps_between_slices == 0;
    return curved || table.at(l, table.fields().h) < prior_matters * group.omega(0, 0);
  };
  for (std::size_t l = 0; l < group.levels; ++l) {
    if (by_slice(l)) {
      const double before = group.beta[l];
      slice_level(k, l, stream, tally, [&](double delta) { return sweep.change(l, delta); });
      sweep.move(l, group.beta[l] - before);
      continue;
    }
    if (l == base) continue;
    const double delta = group.next[l] - group.beta[l];
    const bool yes = group.ratio[l] + sweep.change(l, delta) > 0;
    level_acceptance_.count(yes);
    if (!yes) continue;
    group.beta[l] = group.next[l];
    sweep.move(l, delta);
  }
  info.rows_read += tally.rows;
  info.bound_violations += tally.violations;
  if (by_slice(base)) return;
  // All coefficients of the factor depend on the base's effect, and their priors together may say as much of
  // it as its rows: it has a move of its own. They are expanded about the reference, which is beta = M alpha.
  const FactorGlm::Sweep::Slope prior = sweep.of_base(reference_->at().effects[k][base]);
  const Proposed law = law_of_level(k, base, prior.slope + prior.curvature * group.ma[base], prior.curvature);
  const double here = group.beta[base], noise = normal(stream), back = (here - law.mean) / law.sd;
  group.next[base] = law.mean + law.sd * noise;
  const double delta = group.next[base] - here, b = point_.effects[k][base];
  const double normal_prior = -0.5 * group.omega(0, 0) * delta * (2 * b + delta);
  level_acceptance_.count(decide_level(
      k, base, 0.5 * (noise * noise - back * back) + normal_prior + sweep.change(base, delta), stream, info));
}

// The normal law at the mode of the expansion in one level's effect with pull * beta - curvature * beta^2 / 2
// added.
LevelKernel::Proposed LevelKernel::law_of_level(std::size_t k, std::size_t level, double pull,
                                                double curvature) const noexcept {
  const Group& group = groups_[k];
  const LevelTable& table = reference_->table(k);
  const LevelFields& at = table.fields();
  const double g = table.at(level, at.g), h = table.at(level, at.h), c = table.at(level, at.c);
  const LevelCurve curve = table.has_curve(level) ? table.curve(level) : LevelCurve();
  const double first = group.linear[level] - g - group.cell_linear[level] + group.cell_first[level];
  struct Bent {
    double slope, curvature;
  };
  const auto likelihood = [&](double b) -> Bent {
    if (product_) {
      const double rise = group.bend[level] * std::exp(direction_ * b);
      return {g + direction_ * (h - rise), rise};
    }
    if (table.has_curve(level)) {
      const double step = 1e-3 * curve.radius;
      const auto value = [&](double x) { return curve.value(x) + first * curve.phi(x); };
      const double low = value(b - step), middle = value(b), high = value(b + step);
      return {(high - low) / (2 * step), (2 * middle - high - low) / (step * step)};
    }
    return {group.linear[level] - b * (group.bend[level] - 0.5 * c * b), group.bend[level] - c * b};
  };
  double mode = 0, bent = 0;
  for (int newton = 0; newton < 4; ++newton) {
    const Bent there = likelihood(mode);
    bent = std::max(there.curvature, level_passes::least_precision * std::max(h, 0.0)) + curvature;
    const double step = (there.slope + pull - curvature * mode) / bent;
    if (newton < 3) mode += std::clamp(step, -1.0, 1.0);
  }
  return {mode, level_passes::wider / std::sqrt(bent)};
}

bool LevelKernel::decide_level(std::size_t k, std::size_t level, double log_ratio, Stream& stream,
                               StepInfo& info) {
  Group& group = groups_[k];
  // The passes are over blocks of levels: the others of the block stay.
  const std::size_t block = level / level_lanes, first = block * level_lanes;
  for (std::size_t l = first; l < first + level_lanes; ++l)
    if (l != level) group.next[l] = group.beta[l];
  log_ratio += level_passes::move_of_all(lanes(k), {block, block + 1});
  if (draws_rows()) {
    std::vector<Event> events;
    for (std::size_t l = first; l < first + level_lanes; ++l)
      if (l != level) group.rate[l] = 0;
    run_clock(
        group.rate.data(), 1, {block, block + 1}, group.levels, stream,
        [&](std::size_t l) {
          log_ratio += remainders_of_level(k, l, &group.beta[l], &group.next[l]);
          info.rows_read += model_->rows().groups()[k].size(l);
        },
        [&](std::size_t l) { events.push_back({l}); });
    draw_rows(k, events, stream);
    static_cast<void>(read_events(k, events, stream, 1, info.bound_violations,
                                  [&](const Event& /*event*/, double change) { log_ratio += change; }));
    info.rows_read += events.size();
  }
  if (!(std::isfinite(log_ratio) && accepts(stream, log_ratio))) return false;
  group.beta[level] = group.next[level];
  return true;
}

// alpha moves, and the effects with it: the priors' part beyond their normal laws, which the proposal has.
bool LevelKernel::move_with_factors(const Eigen::VectorXd& next, double log_ratio, Stream& stream) {
  const Eigen::VectorXd here = alpha_;
  read_point();
  log_ratio -= options_.factors->excess(point_);
  alpha_ = next;
  apply_m();
  read_point();
  log_ratio += options_.factors->excess(point_);
  if (accepts(stream, log_ratio)) return true;
  alpha_ = here;
  apply_m();
  return false;
}

double LevelKernel::prior_of_factors() const {
  std::vector<double> theta(options_.factors->glm().dim());
  options_.factors->to_theta(point_, theta);
  return options_.factors->glm().log_prior(theta);
}

}  // namespace mlo
