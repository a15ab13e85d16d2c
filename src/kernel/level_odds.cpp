// Copyright (c) the mlo authors. BSD-3-Clause.
// The sweep where all rows of a logistic model are read as odds: every decision is made by the likelihood
// itself. eta_i = e_i + x_i'alpha + sum_k t_k, t_k = beta_k - M_k alpha.
#include "kernel/level_odds.hpp"

#include <algorithm>
#include <cmath>

#include "kernel/level_parts.hpp"
#include "mlo/kernel/levels.hpp"
#include "mlo/kernel/remainder_test.hpp"

namespace mlo {

using level_passes::Range;

namespace {
constexpr std::size_t odds_chunk = 16;  // blocks that share a random stream
}  // namespace

struct LevelKernel::Odds {
  // By slot of a grouping.
  struct Slots {
    std::vector<double> t, next, logs, next_logs, centre, slope, bend, skew, mean;
  };
  explicit Odds(std::shared_ptr<const OddsRows> from) : rows(std::move(from)) {
    for (const OddsRows::Of& of : rows->groups()) {
      most_places = std::max(most_places, of.places());
      factors.emplace_back(of.slots(), 1.0);
      Slots& to = slots.emplace_back();
      for (auto* const v :
           {&to.t, &to.next, &to.logs, &to.next_logs, &to.centre, &to.slope, &to.bend, &to.skew, &to.mean})
        v->assign(of.slots(), 0);
    }
    odds.resize(most_places);
    other_factors = factors;
    for (auto* const v : {&x, &next_x, &with_own})
      v->assign(rows->groups()[0].places() + level_lanes, 0.0F);  // the last eight are empty
    own.assign(rows->groups()[0].slots(), 0);
  }

  std::shared_ptr<const OddsRows> rows;
  std::size_t most_places = 0;
  // By place of the first grouping: e^(e + x'alpha), but for columns that are the same for all rows; the same
  // of a proposal; with the first grouping's effects. And by place of the grouping that is moved: without it.
  HugeVector<float> x, next_x, with_own, odds;
  bool has_x = false;
  std::vector<double> x_at;                        // the alpha of x, if there is an x
  std::vector<std::vector<double>> factors;        // by grouping and level: e^t
  std::vector<std::vector<double>> other_factors;  // the same elsewhere: of a proposal, or at alpha = 0
  Eigen::VectorXd along;  // a change of alpha by lift that M alpha and beta have not seen
  std::vector<Slots> slots;
  std::vector<double> own;  // by slot of the first grouping: its factor and that of the same columns
  double logs = 0;          // the sum over all rows of log(1 + e^eta)
  // Of the grouping that is moved: where lift would make the sum of the effects' means 0, at this tau.
  double best_tau = -1, best_lift = 0;

  [[nodiscard]] double lift(const Eigen::VectorXd& alpha) const { return rows->fixed().dot(alpha); }
  [[nodiscard]] std::vector<double> moving(const Eigen::VectorXd& alpha) const {
    std::vector<double> out;
    for (const std::size_t j : rows->moving()) out.push_back(alpha[index(j)]);
    return out;
  }
  [[nodiscard]] level_passes::OddsLevels levels(std::size_t k) {
    const OddsRows::Of& of = rows->groups()[k];
    level_passes::OddsLevels out;
    out.starts = of.starts.data();
    for (std::size_t j = 0, other = 0; j < factors.size(); ++j) {
      if (j == k) continue;
      if (j > 0) {
        out.codes[out.others] = of.codes.data() + other * of.places();
        out.common[out.others] = of.common.data() + other * of.starts.back();
        out.factors[out.others++] = factors[j].data();
      }
      ++other;
    }
    out.x = x.data();
    if (k > 0) out.from = of.from.data();
    out.source = with_own.data();
    out.odds = odds.data();
    out.count = of.count.data();
    out.successes = of.successes.data();
    Slots& own_slots = slots[k];
    out.mean = own_slots.mean.data();
    out.t = own_slots.t.data();
    out.next = own_slots.next.data();
    out.logs = own_slots.logs.data();
    out.next_logs = own_slots.next_logs.data();
    out.centre = own_slots.centre.data();
    out.slope = own_slots.slope.data();
    out.bend = own_slots.bend.data();
    out.skew = own_slots.skew.data();
    out.count_of_levels = of.level.size();
    return out;
  }
  void take_own(const std::vector<double>& with, double factor) {
    const std::vector<std::uint32_t>& level = rows->groups()[0].level;
    for (std::size_t s = 0; s < level.size(); ++s) own[s] = with[level[s]] * factor;
  }
  // With these factors of all groupings.
  [[nodiscard]] level_passes::OddsColumns columns(const std::vector<std::vector<double>>& with,
                                                  double lifted) {
    const OddsRows::Of& of = rows->groups()[0];
    level_passes::OddsColumns out;
    out.starts = of.starts.data();
    out.columns = rows->moving().size();
    out.places = of.places();
    for (std::size_t j = 1; j < with.size(); ++j) {
      out.codes[out.others] = of.codes.data() + out.others * of.places();
      out.common[out.others] = of.common.data() + out.others * of.starts.back();
      out.factors[out.others++] = with[j].data();
    }
    take_own(with[0], std::exp(lifted));
    out.own = own.data();
    out.base = rows->base();
    out.x = rows->columns();
    return out;
  }
};

void LevelKernel::OddsDeleter::operator()(Odds* odds) const noexcept { delete odds; }

// Several groupings: that with the most levels, whose standard deviation moves slowest, is moved in every
// sweep; the others and the coefficients (part == the number of groupings) by turns. Each of their moves is
// nearly a new draw, and costs as much.
bool LevelKernel::has_turn(std::size_t part, std::uint64_t sweep) const noexcept {
  if (groups_.size() == 1) return true;
  std::size_t most = 0;
  for (std::size_t k = 1; k < groups_.size(); ++k)
    if (groups_[k].levels > groups_[most].levels) most = k;
  return part == most || (part == groups_.size()) == (sweep % 2 == 0);
}

void LevelKernel::make_odds() { odds_.reset(new Odds(reference_->odds())); }

// e^t of all levels; or without M alpha, that is at alpha = 0.
void LevelKernel::take_factors(bool at_reference, std::vector<std::vector<double>>& out) const {
  for (std::size_t k = 0; k < groups_.size(); ++k)
    level_passes::factors_of(groups_[k].beta.data(), at_reference ? nullptr : groups_[k].ma.data(),
                             out[k].size(), out[k].data());
}

void LevelKernel::enter_odds() {
  Odds& odds = *odds_;
  take_factors(false, odds.factors);
  odds.along = Eigen::VectorXd::Zero(alpha_.size());
  const std::vector<double> at = odds.moving(alpha_);
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
    slots.mean[s] = -reference_->at().effects[k][level];
  }
}

level_passes::OddsLevels LevelKernel::odds_levels(std::size_t k) {
  level_passes::OddsLevels of = odds_->levels(k);
  of.lift = odds_->lift(alpha_);
  of.tau = groups_[k].omega(0, 0);
  of.reference_tau = model_->covariances()[k].precision(reference_->at().covariances[k])(0, 0);
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

// beta of all levels from their slots; the quadratic that the cubic makes of it for other moves; the sum of
// logarithms.
void LevelKernel::read_slots(std::size_t k) {
  const OddsRows::Of& places = odds_->rows->groups()[k];
  const Odds::Slots& slots = odds_->slots[k];
  Group& group = groups_[k];
  const double lift = odds_->lift(alpha_);
  odds_->logs = 0;
  for (std::size_t s = 0; s < places.level.size(); ++s) {
    const std::size_t level = places.level[s];
    const double ma = group.ma[level];
    group.beta[level] = slots.t[s] + ma;
    group.bend[level] = slots.bend[s];
    group.linear[level] = slots.slope[s] + slots.bend[s] * (slots.centre[s] - lift + ma);
    odds_->logs += slots.logs[s];
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

// Of alpha at 0, given beta: the log-likelihood and the effects' priors.
Eigen::VectorXd LevelKernel::slope_by_odds(StepInfo& info) {
  Odds& odds = *odds_;
  const std::size_t q = model_->rows().columns(), moving = odds.rows->moving().size();
  take_factors(true, odds.other_factors);
  const level_passes::OddsColumns of = odds.columns(odds.other_factors, 0);
  const std::size_t blocks = odds.rows->groups()[0].blocks(),
                    parts = (blocks + blocks_of_part - 1) / blocks_of_part;
  std::vector<double> sums(parts * moving, 0), slots(odds.own.size(), 0);
  std::vector<std::vector<double>> by_level(parts);  // the other groupings' levels, one after the other
  std::size_t room = 0;
  for (std::size_t k = 1; k < groups_.size(); ++k) room += groups_[k].levels * level_lanes;
  over_parts(*pool_, blocks, [&](std::size_t part, Range range) {
    by_level[part].assign(room, 0);
    std::array<double*, level_passes::OddsLevels::most_others> to{};
    double* at = by_level[part].data();
    for (std::size_t k = 1; k < groups_.size(); at += groups_[k++].levels * level_lanes) to[k - 1] = at;
    level_passes::slope_of_odds(of, sums.data() + part * moving, slots.data(), to.data(), range);
  });
  info.rows_read += odds.rows->rows();
  Eigen::VectorXd slope = odds.rows->pull();
  for (std::size_t r = 0; r < sums.size(); ++r) slope[index(odds.rows->moving()[r % moving])] -= sums[r];
  double all = 0;
  for (const double p : slots) all += p;
  slope -= all * odds.rows->fixed();
  // M of the levels, times what their residuals and priors make.
  std::size_t offset = 0;
  constexpr std::size_t ways = 8;  // so that an addition need not wait for the one before it
  std::vector<double> totals(ways * q), weights;
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const OddsRows::Of& places = odds.rows->groups()[k];
    const double tau = groups_[k].omega(0, 0);
    const double* const m = reference_->groups()[k].m.data();
    weights.resize(places.level.size());
    for (std::size_t s = 0; s < places.level.size(); ++s) {
      const std::size_t level = places.level[s];
      double fitted = k == 0 ? slots[s] : 0;
      for (std::size_t part = 0; part < parts && k > 0; ++part)
        for (std::size_t lane = 0; lane < level_lanes; ++lane)
          fitted += by_level[part][offset + level * level_lanes + lane];
      weights[level] = fitted - places.successes[s];
    }
    std::fill(totals.begin(), totals.end(), 0.0);
    for (std::size_t level = 0; level < weights.size(); ++level) {  // M lies in this order
      const double weight =
          weights[level] + tau * (reference_->at().effects[k][level] + groups_[k].beta[level]);
      double* const total = totals.data() + level % ways * q;
      for (std::size_t j = 0; j < q; ++j) total[j] += weight * m[level * q + j];
    }
    for (std::size_t r = 0; r < totals.size(); ++r) slope[index(r % q)] += totals[r];
    if (k > 0) offset += groups_[k].levels * level_lanes;
  }
  return slope;
}

bool LevelKernel::move_by_odds(const Eigen::VectorXd& next, double log_ratio, Stream& stream,
                               StepInfo& info) {
  Odds& odds = *odds_;
  const Eigen::VectorXd here = alpha_;
  // The effects are read by level; M alpha's change is what the coefficients take from them.
  const auto owed = [&] {
    double sum = odds.rows->pull().dot(alpha_);
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const OddsRows::Of& places = odds.rows->groups()[k];
      for (std::size_t s = 0; s < places.level.size(); ++s)
        sum -= places.successes[s] * groups_[k].ma[places.level[s]];
    }
    return sum;
  };
  log_ratio -= effects_prior() + owed();
  alpha_ = next;
  apply_m();
  log_ratio += effects_prior() + owed();
  take_factors(false, odds.other_factors);
  const std::vector<double> at = odds.moving(alpha_);
  const level_passes::OddsColumns of = odds.columns(odds.other_factors, odds.lift(alpha_));
  const double logs = sum_over_parts(*pool_, odds.rows->groups()[0].blocks(), [&](Range range) {
    return level_passes::move_columns(of, at.data(), odds.next_x.data(), range);
  });
  info.rows_read += odds.rows->rows();
  log_ratio -= logs - odds.logs;
  if (std::isfinite(log_ratio) && accepts(stream, log_ratio)) {
    odds.x.swap(odds.next_x);
    odds.x_at = at;
    odds.factors.swap(odds.other_factors);
    odds.logs = logs;
    return true;
  }
  alpha_ = here;
  apply_m();
  return false;
}

double LevelKernel::likelihood_by_odds() const {
  double sum = odds_->rows->value() + odds_->rows->pull().dot(alpha_) - odds_->logs;
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const OddsRows::Of& places = odds_->rows->groups()[k];
    for (std::size_t s = 0; s < places.level.size(); ++s) {
      const std::size_t level = places.level[s];
      sum += places.successes[s] * (groups_[k].beta[level] - groups_[k].ma[level]);
    }
  }
  return sum;
}

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
