// Copyright (c) the mlo authors. BSD-3-Clause.
// The sweep where all rows of a logistic model are read as odds: every decision is made by the likelihood
// itself. eta_i = e_i + x_i'alpha + sum_k t_k, t_k = beta_k - M_k alpha.
#include <algorithm>
#include <cmath>

#include "kernel/level_odds_state.hpp"
#include "mlo/kernel/remainder_test.hpp"

namespace mlo {

using level_passes::Range;

namespace {
constexpr std::size_t odds_chunk = 16;  // blocks that share a random stream
}  // namespace

void LevelKernel::OddsDeleter::operator()(Odds* odds) const noexcept { delete odds; }

// Several groupings: that with the most levels is moved by itself. The others and the coefficients have
// turns: each of their moves is nearly a new draw, and costs as much. Where the others' effects move with the
// coefficients, the largest grouping has every second turn; otherwise its standard deviation, which moves
// slowest, moves in every sweep.
bool LevelKernel::has_turn(std::size_t part, std::uint64_t sweep) const noexcept {
  if (groups_.size() == 1) return true;
  if (odds_->rider > 0) return (part == 0) == (sweep % 2 == 0);
  std::size_t most = 0;
  for (std::size_t k = 1; k < groups_.size(); ++k)
    if (groups_[k].levels > groups_[most].levels) most = k;
  return part == most || (part == groups_.size()) == (sweep % 2 == 0);
}

bool LevelKernel::rides(std::size_t k) const noexcept { return by_odds() && k > 0 && odds_->rider == k; }

void LevelKernel::make_odds() {
  odds_.reset(new Odds(reference_->odds()));
  Odds& odds = *odds_;
  std::copy_n(odds.rows->base(), odds.rows->groups()[0].places(), odds.x.data());
  std::copy_n(odds.rows->base(), odds.rows->groups()[0].places(), odds.with_own.data());
  odds.owed = odds.rows->pull();
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const OddsRows::Of& places = odds.rows->groups()[k];
    odds.successes.emplace_back(places.level.size());
    for (std::size_t s = 0; s < places.level.size(); ++s) {
      odds.slots[k].mean[s] = -reference_->at().effects[k][places.level[s]];
      odds.successes[k][places.level[s]] = places.successes[s];
    }
    const double* const m = reference_->groups()[k].m.data();
    for (std::size_t r = 0, q = model_->rows().columns(); r < places.level.size() * q; ++r)
      odds.owed[index(r % q)] -= odds.successes[k][r / q] * m[r];
    level_passes::OddsLevels of = odds.levels(k);
    of.reference_tau = reference_tau(k);
    over_parts(*pool_, places.blocks(), [&](std::size_t /*part*/, Range range) {
      level_passes::centre_odds(of, odds.slots[k].centre.data(), range);
    });
  }
  // A second grouping whose few levels have so many events that the law of all its effects given the first
  // grouping's is nearly normal, and that they say what their standard deviation is.
  if (groups_.size() != 2 || groups_[1].levels > many_levels || groups_[0].levels <= groups_[1].levels)
    return;
  const LevelTable& table = reference_->table(1);
  const double tau = reference_tau(1), levels = static_cast<double>(groups_[1].levels);
  double lean = 0, known = 0;
  for (std::size_t l = 0; l < groups_[1].levels; ++l) {
    const double h = table.at(l, table.fields().h), c = table.at(l, table.fields().c), whole = h + tau;
    lean += c * c / (whole * whole * whole);
    known += h / whole;
  }
  if (lean < 0.25 && known > 0.9 * levels) odds.rider = 1;
}

double LevelKernel::reference_tau(std::size_t k) const {
  return model_->covariances()[k].precision(reference_->at().covariances[k])(0, 0);
}

// e^t of all levels; or without M alpha, that is at alpha = 0.
void LevelKernel::take_factors(bool at_reference, std::vector<std::vector<float>>& out) const {
  for (std::size_t k = 0; k < groups_.size(); ++k)
    level_passes::factors_of(groups_[k].beta.data(), at_reference ? nullptr : groups_[k].ma.data(),
                             groups_[k].beta.size(), out[k].data());
}

void LevelKernel::enter_odds(double log_likelihood) {
  Odds& odds = *odds_;
  odds.entered = log_likelihood;
  take_factors(false, odds.factors);
  odds.along = Eigen::VectorXd::Zero(alpha_.size());
  odds.has_logs = false;
  const std::vector<float> at = odds.moving(alpha_);
  if (odds.has_x && at == odds.x_at) return;
  const level_passes::OddsColumns of = odds.columns(odds.factors, odds.lift(alpha_));
  over_parts(*pool_, odds.rows->groups()[0].blocks(), [&](std::size_t /*part*/, Range range) {
    static_cast<void>(level_passes::move_columns(of, at.data(), odds.x.data(), range));
  });
  odds.x_at = at;
  odds.has_x = true;
}

// t of all levels, by slot.
void LevelKernel::take_slots(std::size_t k) {
  const OddsRows::Of& of = odds_->rows->groups()[k];
  if (k > 0) {
    Odds& odds = *odds_;
    odds.take_own(odds.factors[0], 1);
    const std::uint32_t* const starts = odds.rows->groups()[0].starts.data();
    over_parts(*pool_, odds.rows->groups()[0].blocks(), [&](std::size_t /*part*/, Range range) {
      level_passes::with_own_factors(starts, odds.x.data(), odds.own.data(), odds.with_own.data(), range);
    });
  }
  const Group& group = groups_[k];
  Odds::Slots& slots = odds_->slots[k];
  for (std::size_t s = 0; s < of.level.size(); ++s) {
    const std::size_t level = of.level[s];
    slots.t[s] = group.beta[level] - group.ma[level];
  }
}

level_passes::OddsLevels LevelKernel::odds_levels(std::size_t k) {
  level_passes::OddsLevels of = odds_->levels(k);
  of.lift = odds_->lift(alpha_);
  of.tau = groups_[k].omega(0, 0);
  return of;
}

void LevelKernel::sweep_by_odds(std::size_t k, const StepId& id, StepInfo& info) {
  Odds& odds = *odds_;
  Group& group = groups_[k];
  const OddsRows::Of& places = odds.rows->groups()[k];
  take_slots(k);
  const level_passes::OddsLevels of = odds_levels(k);
  const std::size_t blocks = places.blocks(), chunks = (blocks + odds_chunk - 1) / odds_chunk;
  std::vector<double> accepted(chunks, 0);
  pool_->run(chunks, [&](std::size_t chunk) {
    Stream stream({.seed = id.seed,
                   .chain = id.chain,
                   .purpose = Purpose::levels,
                   .iteration = (id.iteration << 24U) | (static_cast<std::uint64_t>(k) << 20U) | chunk});
    const Range range{chunk * odds_chunk, std::min(blocks, (chunk + 1) * odds_chunk)};
    const std::size_t count = (range.last - range.first) * level_lanes;
    std::array<double, odds_chunk * level_lanes> noise, uniforms;
    normals(stream, {noise.data(), count});
    for (std::size_t i = 0; i < count; ++i) uniforms[i] = uniform(stream);
    accepted[chunk] = level_passes::sweep_odds(of, noise.data(), uniforms.data(), range);
  });
  odds.best_tau = -1;
  for (const double one : accepted) level_acceptance_.accepted += one;
  level_acceptance_.tried += static_cast<double>(group.levels);
  info.rows_read += odds.rows->rows();
  read_slots(k);
}

// beta of all levels from their slots; the sum of logarithms.
void LevelKernel::read_slots(std::size_t k) {
  const std::vector<std::uint32_t>& level = odds_->rows->groups()[k].level;
  const Odds::Slots& slots = odds_->slots[k];
  Group& group = groups_[k];
  for (std::size_t s = 0; s < level.size(); ++s) group.beta[level[s]] = slots.t[s] + group.ma[level[s]];
  odds_->logs = Eigen::Map<const Eigen::VectorXd>(slots.logs.data(), index(level.size())).sum();
  odds_->has_logs = true;
}

// The quadratic that the cubic makes of beta for other moves.
void LevelKernel::read_quadratic(std::size_t k) {
  const std::vector<std::uint32_t>& level = odds_->rows->groups()[k].level;
  const Odds::Slots& slots = odds_->slots[k];
  Group& group = groups_[k];
  const double lift = odds_->lift(alpha_);
  for (std::size_t s = 0; s < level.size(); ++s) {
    const auto bend = static_cast<double>(slots.bend[s]);
    group.bend[level[s]] = bend;
    group.linear[level[s]] = static_cast<double>(slots.slope[s]) +
                             bend * (static_cast<double>(slots.centre[s]) - lift + group.ma[level[s]]);
  }
}

// The change of the log-likelihood as a grouping's effects move from beta to next; after its sweep.
double LevelKernel::change_by_odds(std::size_t k) {
  const OddsRows::Of& places = odds_->rows->groups()[k];
  const Group& group = groups_[k];
  Odds::Slots& slots = odds_->slots[k];
  for (std::size_t s = 0; s < places.level.size(); ++s)
    slots.next[s] = group.next[places.level[s]] - group.ma[places.level[s]];
  const level_passes::OddsLevels of = odds_levels(k);
  const double change = sum_over_parts(*pool_, places.blocks(),
                                       [&](Range range) { return level_passes::move_odds(of, range); });
  return options_.remainders ? change : 0;
}

bool LevelKernel::decide_by_odds(std::size_t k, double log_ratio, Stream& stream, StepInfo& info) {
  if (!std::isfinite(log_ratio)) return false;
  log_ratio += change_by_odds(k);
  info.rows_read += odds_->rows->rows();
  if (!(std::isfinite(log_ratio) && accepts(stream, log_ratio))) return false;
  Odds::Slots& slots = odds_->slots[k];
  slots.t.swap(slots.next);
  slots.logs.swap(slots.next_logs);
  read_slots(k);
  return true;
}

// The standard deviation, all effects, and the intercept: a larger one makes more events of the same mean,
// which the intercept takes back. Given the cubics, h(tau) is about where lift would make the sum of the
// effects' means 0, as it is where lift fits best; lift moves by h(tau') - h(tau). Slots alone are moved:
// read_slots() must follow.
void LevelKernel::scale_by_odds(std::size_t k, Stream& stream, StepInfo& info) {
  const GroupCovariance& covariance = model_->covariances()[k];
  Odds& odds = *odds_;
  Group& group = groups_[k];
  std::vector<double>& xi = point_.covariances[k];
  std::vector<double> next(1);
  double log_ratio = group.walk.propose(stream, xi, next);
  if (!(std::abs(next[0]) < 300)) return;
  log_ratio += covariance.log_prior(next) - covariance.log_prior(xi);
  if (!std::isfinite(log_ratio)) return;
  const double tau = covariance.precision(next)(0, 0);
  log_ratio += 0.5 * static_cast<double>(group.levels) * std::log(tau / group.omega(0, 0));
  level_passes::OddsLevels of = odds_levels(k);
  const std::size_t blocks = odds.rows->groups()[k].blocks();
  Eigen::VectorXd along = Eigen::VectorXd::Zero(alpha_.size());
  double lifted = 0, best_lift = 0;
  Eigen::Index same = 0;
  if (alpha_.size() > 0 && odds.rows->fixed().cwiseAbs().maxCoeff(&same) > 0) {
    const auto best = [&](double at) {
      const level_passes::OddsCentre c = level_passes::centre_of_odds(of, at, {0, blocks});
      return c.sum / std::max(c.fall, 1e-3 * static_cast<double>(group.levels));
    };
    if (odds.best_tau != of.tau) {
      odds.best_tau = of.tau;
      odds.best_lift = best(of.tau);
    }
    best_lift = best(tau);
    lifted = best_lift - odds.best_lift;
    if (!std::isfinite(lifted)) return;
    along[same] = lifted / odds.rows->fixed()[same];
    log_ratio += prior_of_main(alpha_ + along) - prior_of_main(alpha_);
  }
  const double lift = of.lift + lifted;
  log_ratio += sum_over_parts(*pool_, blocks,
                              [&](Range range) { return level_passes::rescale_odds(of, tau, lift, range); });
  of.lift = lift;
  double change =
      sum_over_parts(*pool_, blocks, [&](Range range) { return level_passes::move_odds(of, range); });
  for (const double y : odds.rows->groups()[k].successes) change += y * lifted;
  if (options_.remainders) log_ratio += change;
  info.rows_read += odds.rows->rows();
  const bool yes = std::isfinite(log_ratio) && accepts(stream, log_ratio);
  scale_acceptance_.count(yes);
  if (!yes) return;
  xi = next;
  set_precision(k);
  odds.best_tau = tau;
  odds.best_lift = best_lift;
  alpha_ += along;
  odds.along += along;
  Odds::Slots& slots = odds.slots[k];
  slots.t.swap(slots.next);
  slots.logs.swap(slots.next_logs);
}

// The grouping's moves are over: what the others see of it.
void LevelKernel::leave_grouping(std::size_t k) {
  Eigen::VectorXd& along = odds_->along;
  if (along.size() > 0 && !along.isZero(0)) {  // t of no grouping changes
    for (Group& each : groups_)
      over_parts(*pool_, each.blocks(), [&, &of = lanes(each)](std::size_t /*part*/, Range range) {
        level_passes::shift_along_m(of, along.data(), range);
      });
    along.setZero();
  }
  const Group& group = groups_[k];
  level_passes::factors_of(group.beta.data(), group.ma.data(), group.beta.size(), odds_->factors[k].data());
}

// The log-likelihood but for the sum of logarithms.
double LevelKernel::linear_by_odds() const {
  double sum = odds_->rows->value() + odds_->owed.dot(alpha_);
  for (std::size_t k = 0; k < groups_.size(); ++k)
    for (std::size_t l = 0; l < groups_[k].levels; ++l) sum += odds_->successes[k][l] * groups_[k].beta[l];
  return sum;
}

double LevelKernel::likelihood_by_odds() const { return linear_by_odds() - odds_->logs; }

// A move of all effects, by odds and by the rows' own terms.
void LevelKernel::audit_odds(std::size_t k, Stream& stream, StepInfo& info) {
  Group& group = groups_[k];
  const LevelTable& table = reference_->table(k);
  take_slots(k);
  Odds::Slots& slots = odds_->slots[k];
  const level_passes::OddsLevels of = odds_levels(k);
  const Range all{0, odds_->rows->groups()[k].blocks()};
  level_passes::fill_odds(of, all);
  group.next = group.beta;
  static_cast<void>(change_by_odds(k));  // nothing moves: the sums of logarithms where the effects are
  slots.logs.swap(slots.next_logs);
  for (std::size_t l = 0; l < group.levels; ++l)
    group.next[l] += normal(stream) / std::sqrt(table.at(l, table.fields().h) + group.omega(0, 0));
  const double pieces = change_by_odds(k);
  info.audited = true;
  info.audit_error = std::max(info.audit_error, std::abs(likelihood_of_moved_effects(k) - pieces));
}

}  // namespace mlo
