// Copyright (c) the mlo authors. BSD-3-Clause.
// The coefficients' move where all rows are read as odds, with the effects of a grouping that rides along.
#include <algorithm>
#include <cmath>

#include "kernel/level_limits.hpp"
#include "kernel/level_odds_state.hpp"
#include "mlo/kernel/remainder_test.hpp"

namespace mlo {

using level_passes::Range;

// Of alpha at 0, given beta: the log-likelihood and the effects' priors. Then of the rider's beta, at 0.
Eigen::VectorXd LevelKernel::slope_by_odds(StepInfo& info) {
  Odds& odds = *odds_;
  const std::size_t q = model_->rows().columns(), moving = odds.rows->moving().size();
  take_factors(true, odds.other_factors);
  if (odds.rider > 0)
    std::fill(odds.other_factors[odds.rider].begin(), odds.other_factors[odds.rider].end(), 1.0F);
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
  Eigen::VectorXd slope = Eigen::VectorXd::Zero(index(q + odds.rider_levels()));
  slope.head(index(q)) = odds.rows->pull();
  for (std::size_t r = 0; r < sums.size(); ++r) slope[index(odds.rows->moving()[r % moving])] -= sums[r];
  double all = 0;
  for (const double p : slots) all += p;
  slope.head(index(q)) -= all * odds.rows->fixed();
  // M of the levels, times what their residuals and priors make.
  std::size_t offset = 0;
  constexpr std::size_t ways = 8;  // so that an addition need not wait for the one before it
  std::vector<double> totals(ways * q), weights;
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const OddsRows::Of& places = odds.rows->groups()[k];
    const double tau = groups_[k].omega(0, 0);
    const double* const m = reference_->groups()[k].m.data();
    weights.resize(places.level.size());
    const bool riding = rides(k);
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
      const double beta = riding ? 0 : groups_[k].beta[level];
      const double weight = weights[level] + tau * (reference_->at().effects[k][level] + beta);
      if (riding) slope[index(q + level)] = -weight;
      double* const total = totals.data() + level % ways * q;
      for (std::size_t j = 0; j < q; ++j) total[j] += weight * m[level * q + j];
    }
    for (std::size_t r = 0; r < totals.size(); ++r) slope[index(r % q)] += totals[r];
    if (k > 0) offset += groups_[k].levels * level_lanes;
  }
  return slope;
}

// alpha, and the rider's beta, given the beta of the other groupings: from the normal law that the slope of
// all rows and the reference's second derivatives make. M is such that likelihood and prior together have no
// mixed derivatives at the reference: with another tau, their difference times M.
bool LevelKernel::coefficients_by_odds(Stream& stream, StepInfo& info) {
  Odds& odds = *odds_;
  const std::size_t q = model_->rows().columns(), riding = odds.rider_levels(), dim = q + riding;
  if (dim == 0) return true;
  Eigen::VectorXd slope = slope_by_odds(info), here(index(dim)), noise(index(dim));
  slope.head(index(q)) += prior_gradient_;
  here.head(index(q)) = alpha_;
  Eigen::MatrixXd information = Eigen::MatrixXd::Zero(index(dim), index(dim));
  auto own = information.topLeftCorner(index(q), index(q));
  own = information_ + prior_information_;
  for (std::size_t k = 0; k < groups_.size(); ++k)
    own += groups_[k].omega(0, 0) * reference_->groups()[k].mm[0];
  for (std::size_t l = 0; l < riding; ++l) {
    const double tau = groups_[odds.rider].omega(0, 0), mixed = reference_tau(odds.rider) - tau;
    const LevelTable& table = reference_->table(odds.rider);
    const Eigen::Index at = index(q + l);
    const double* const m = reference_->groups()[odds.rider].m.data() + l * q;
    here[at] = groups_[odds.rider].beta[l];
    information(at, at) = table.at(l, table.fields().h) + tau;
    for (std::size_t j = 0; j < q; ++j) information(at, index(j)) = information(index(j), at) = mixed * m[j];
  }
  // The reference is a draw: the rider's curvatures and slopes at about the mean say more.
  const Eigen::VectorXd rough = riding > 0 ? Eigen::VectorXd(information.llt().solve(slope)) : slope;
  for (std::size_t l = 0; l < riding; ++l) {
    const LevelTable& table = reference_->table(odds.rider);
    const Eigen::Index at = index(q + l);
    const double h = table.at(l, table.fields().h), c = table.at(l, table.fields().c), m = rough[at];
    const double bent = std::max(h - c * m, level_passes::least_precision * h);
    slope[at] += (bent - h + 0.5 * c * m) * m;
    information(at, at) += bent - h;
  }
  const Eigen::LLT<Eigen::MatrixXd> llt(information);
  for (double& z : noise) z = normal(stream);
  // The slope of all rows makes good proposals: walks are only for the tails.
  const bool walk = uniform(stream) < 0.25 * walk_share;
  const Eigen::VectorXd mean = llt.solve(slope), away = llt.matrixU().solve(noise);
  // On the other side of the mean more often than not: such a step leaves the normal law as it is, and the
  // mean of many is better known than that of independent draws.
  constexpr double across = 0.2;
  const double length = walk ? 1.5 / std::sqrt(static_cast<double>(dim)) : std::sqrt(1 - across * across);
  Eigen::VectorXd next = length * away;
  next += walk ? here : Eigen::VectorXd(mean - across * (here - mean));
  // As it will be read from the packed point: what was computed for it is good for the next sweep.
  for (std::size_t j = 0; j < q; ++j) {
    const double at = reference_->at().coefficients[j], kept = at + next[index(j)];
    next[index(j)] = kept - at;
  }
  double log_ratio = prior_of_main(next.head(index(q))) - prior_of_main(alpha_);
  if (!walk)
    log_ratio += 0.5 * (Eigen::VectorXd(llt.matrixU() * (next - mean)).squaredNorm() -
                        Eigen::VectorXd(llt.matrixU() * (here - mean)).squaredNorm());
  return move_by_odds(next, log_ratio, stream, info);
}

bool LevelKernel::move_by_odds(const Eigen::VectorXd& next, double log_ratio, Stream& stream,
                               StepInfo& info) {
  Odds& odds = *odds_;
  const Eigen::VectorXd here = alpha_;
  const std::size_t blocks = odds.rows->groups()[0].blocks();
  std::vector<double>& riding = groups_[odds.rider].beta;
  const std::vector<double> were = odds.rider > 0 ? riding : std::vector<double>();
  if (!odds.has_logs && std::isfinite(odds.entered)) {
    odds.logs = linear_by_odds() - odds.entered;
  } else if (!odds.has_logs) {  // the first step
    const level_passes::OddsColumns of = odds.columns(odds.factors, odds.lift(alpha_));
    odds.logs = sum_over_parts(
        *pool_, blocks, [&](Range range) { return level_passes::logs_of_odds(of, odds.x.data(), range); });
    info.rows_read += odds.rows->rows();
  }
  odds.has_logs = true;
  log_ratio -= effects_prior();
  alpha_ = next.head(here.size());
  for (std::size_t l = 0; l < odds.rider_levels(); ++l) riding[l] = next[here.size() + index(l)];
  apply_m();
  log_ratio += effects_prior() + odds.owed.dot(alpha_ - here);
  for (std::size_t l = 0; l < odds.rider_levels(); ++l)
    log_ratio += odds.successes[odds.rider][l] * (riding[l] - were[l]);
  take_factors(false, odds.other_factors);
  const std::vector<float> at = odds.moving(alpha_);
  const level_passes::OddsColumns of = odds.columns(odds.other_factors, odds.lift(alpha_));
  const double logs = sum_over_parts(*pool_, blocks, [&](Range range) {
    return level_passes::move_columns(of, at.data(), odds.next_x.data(), range);
  });
  info.rows_read += odds.rows->rows();
  if (options_.remainders) log_ratio -= logs - odds.logs;
  if (std::isfinite(log_ratio) && accepts(stream, log_ratio)) {
    odds.x.swap(odds.next_x);
    odds.x_at = at;
    odds.factors.swap(odds.other_factors);
    odds.logs = logs;
    return true;
  }
  alpha_ = here;
  if (odds.rider > 0) riding = were;
  apply_m();
  return false;
}

}  // namespace mlo
