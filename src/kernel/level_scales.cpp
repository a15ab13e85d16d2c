// Copyright (c) the mlo authors. BSD-3-Clause.
// The moves of a grouping's covariance: given the effects; with the effects, standardised; with the effects
// of one kind, multiplied.
#include <algorithm>
#include <cmath>

#include "kernel/level_limits.hpp"
#include "kernel/level_parts.hpp"
#include "mlo/kernel/levels.hpp"
#include "mlo/kernel/remainder_test.hpp"

namespace mlo {
namespace {

using Eigen::Index;
using level_passes::loose_scale;
using level_passes::Range;

// A Wishart matrix with the given degrees of freedom and the scale matrix L L' (Bartlett).
Eigen::MatrixXd wishart(Stream& stream, double freedom, const Eigen::MatrixXd& l) {
  const Index d = l.rows();
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(d, d);
  for (Index i = 0; i < d; ++i) {
    a(i, i) = std::sqrt(2 * gamma(stream, 0.5 * (freedom - static_cast<double>(i))));
    for (Index j = 0; j < i; ++j) a(i, j) = normal(stream);
  }
  const Eigen::MatrixXd la = l * a;
  return la * la.transpose();
}

}  // namespace

void LevelKernel::move_covariance(std::size_t k, Stream& stream, StepInfo& info) {
  const std::size_t d = groups_[k].d;
  draw_covariance(k, stream);
  std::size_t moves = groups_.size() > 1 ? options_.scale_moves : 1;
  // As odds, such a move is a small part of a sweep, and many levels say more together than each of itself.
  if (by_odds()) moves = groups_[k].levels > many_levels ? 2 : 1;
  for (std::size_t m = 0; m < moves; ++m)
    by_odds() ? scale_by_odds(k, stream, info) : scale_together(k, stream, info);
  if (by_odds()) read_slots(k);
  bool loose = false;
  for (std::size_t j = 0; j < d; ++j)
    if (!frozen_ || groups_[k].walk.sd(j) > loose_scale) {
      if (by_odds()) read_quadratic(k);
      scale_signed(k, j, stream, info);
      loose = true;
    }
  if (loose) draw_covariance(k, stream);
}

// Of b = beta - ma + the reference's effects, over all levels.
LevelKernel::EffectTotals LevelKernel::effect_totals(std::size_t k) {
  const std::size_t d = groups_[k].d, width = d + pairs_of(d), blocks = groups_[k].blocks();
  const level_passes::Levels& of = lanes(k);
  std::vector<double> parts((blocks + blocks_of_part - 1) / blocks_of_part * width, 0);
  over_parts(*pool_, blocks, [&](std::size_t part, Range range) {
    double* const sums = parts.data() + part * width;
    level_passes::effect_sums(of, sums, sums + d, range);
  });
  EffectTotals out{Eigen::VectorXd::Zero(index(d)), Eigen::MatrixXd::Zero(index(d), index(d))};
  for (std::size_t at = 0; at < parts.size(); at += width)
    for (std::size_t a = 0; a < d; ++a) {
      out.sum[index(a)] += parts[at + a];
      for (std::size_t b = 0; b <= a; ++b) out.squares(index(a), index(b)) += parts[at + d + pair_at(a, b)];
    }
  out.squares.triangularView<Eigen::StrictlyUpper>() = out.squares.transpose();
  return out;
}

// From the law of the covariance given the effects but for its prior, which decides.
void LevelKernel::draw_covariance(std::size_t k, Stream& stream) {
  const GroupCovariance& covariance = model_->covariances()[k];
  Group& group = groups_[k];
  const std::size_t d = covariance.dim(), levels = group.levels;
  std::vector<double>& xi = point_.covariances[k];
  const Eigen::MatrixXd squares = effect_totals(k).squares;
  std::vector<double> next = xi;
  double log_ratio = 0;
  const auto j = static_cast<double>(levels);
  if (!covariance.correlated()) {
    for (std::size_t a = 0; a < d; ++a) {
      const double square = squares(index(a), index(a));
      if (!(square > 0)) return;
      next[a] = -0.5 * std::log(gamma(stream, 0.5 * j) / (0.5 * square));
    }
  } else {
    const auto dim = static_cast<double>(d);
    const Eigen::LLT<Eigen::MatrixXd> llt(squares);
    if (levels < d + 1 || llt.info() != Eigen::Success) return;
    const Eigen::MatrixXd inverse =
        llt.matrixL().solve(Eigen::MatrixXd::Identity(index(d), index(d))).transpose();  // L^-T
    // Of the inverse of the squares: L^-T L^-1, whose lower factor is needed.
    const Eigen::MatrixXd lower = (inverse * inverse.transpose()).llt().matrixL();
    const Eigen::MatrixXd omega = wishart(stream, j, lower);
    const Eigen::LLT<Eigen::MatrixXd> drawn(omega);
    if (drawn.info() != Eigen::Success) return;
    covariance.from_covariance(drawn.solve(Eigen::MatrixXd::Identity(index(d), index(d))), next);
    const double log_det = 2 * Eigen::MatrixXd(drawn.matrixL()).diagonal().array().log().sum();
    const auto weight = [&](const std::vector<double>& at, double det) {
      return covariance.log_volume(at) - 0.5 * (dim + 1) * det;
    };
    log_ratio = weight(next, log_det) - weight(xi, group.log_det);
  }
  for (const double x : next)
    if (!std::isfinite(x)) return;
  log_ratio += covariance.log_prior(next) - covariance.log_prior(xi);
  if (!accepts(stream, log_ratio)) return;
  xi = next;
  set_precision(k);
}

// The covariance moves, and the effects keep their places in their normal laws given all else: beta = m +
// C^-T w with w fixed, m and C C' the mean and the precision that the expansion gives with the covariance.
void LevelKernel::scale_together(std::size_t k, Stream& stream, StepInfo& info) {
  const GroupCovariance& covariance = model_->covariances()[k];
  Group& group = groups_[k];
  std::vector<double>& xi = point_.covariances[k];
  std::vector<double> next(xi.size());
  double log_ratio = group.walk.propose(stream, xi, next);
  for (const double x : next)
    if (!(std::abs(x) < 300)) return;
  log_ratio += covariance.log_prior(next) - covariance.log_prior(xi);
  if (!std::isfinite(log_ratio)) return;
  const Eigen::MatrixXd omega = covariance.precision(next), l = covariance.factor(next);
  const double log_det = -2 * l.diagonal().array().log().sum();
  log_ratio += 0.5 * static_cast<double>(group.levels) * (log_det - group.log_det);
  const level_passes::Levels& of = lanes(k);
  log_ratio += sum_over_parts(*pool_, group.blocks(),
                              [&](Range range) { return level_passes::rescale(of, omega.data(), range); });
  const bool yes = decide_effects(k, log_ratio, stream, info);
  scale_acceptance_.count(yes);
  if (!yes) return;
  xi = next;
  set_precision(k);
}

// b / sigma fixed, sigma any number, of either sign: its law given all else is nearly normal, also where
// sigma is small.
void LevelKernel::scale_signed(std::size_t k, std::size_t effect, Stream& stream, StepInfo& info) {
  const GroupCovariance& covariance = model_->covariances()[k];
  Group& group = groups_[k];
  std::vector<double>& xi = point_.covariances[k];
  const double sigma = std::exp(xi[effect]);
  const double scale = std::max(covariance.priors()[effect].scale(), 1e-300);
  const level_passes::Levels& of = lanes(k);
  const std::size_t blocks = group.blocks();
  std::vector<level_passes::SignedSums> parts((blocks + blocks_of_part - 1) / blocks_of_part);
  over_parts(*pool_, blocks, [&](std::size_t part, Range range) {
    parts[part] = level_passes::signed_sums(of, effect, sigma, range);
  });
  double information = 1 / (scale * scale), linear = 0;
  for (const level_passes::SignedSums& part : parts) {
    information += part.information;
    linear += part.linear;
  }
  if (!(information > 0)) return;
  const double mean = linear / information, root = std::sqrt(information);
  const double noise = normal(stream), next = mean + noise / root;
  const double back = (sigma - mean) * root;
  double log_ratio = 0.5 * (noise * noise - back * back);
  if (group.d > 1 && next <= 0) return;  // a sign would turn the correlations
  if (!(std::abs(next) > 0)) return;
  std::vector<double> moved = xi;
  moved[effect] = std::log(std::abs(next));
  // Priors of sigma itself: of its log without the Jacobian.
  log_ratio += covariance.log_prior(moved) - moved[effect] - covariance.log_prior(xi) + xi[effect];
  over_parts(*pool_, blocks, [&](std::size_t /*part*/, Range range) {
    level_passes::multiply_effect(of, effect, next / sigma, range);
  });
  if (!decide_effects(k, log_ratio, stream, info)) return;
  xi = moved;
  set_precision(k);
}

bool LevelKernel::decide_effects(std::size_t k, double log_ratio, Stream& stream, StepInfo& info) {
  if (by_odds()) return decide_by_odds(k, log_ratio, stream, info);
  if (all_rows()) return decide_by_all_rows(k, log_ratio, stream, info);
  Group& group = groups_[k];
  const level_passes::Levels& of = lanes(k);
  log_ratio += sum_over_parts(*pool_, group.blocks(),
                              [&](Range range) { return level_passes::move_of_all(of, range); });
  if (!std::isfinite(log_ratio)) return false;
  if (draws_rows()) {
    const double boost = group.boost.factor;
    const Grouping& grouping = model_->rows().groups()[k];
    std::vector<Event> events;
    std::array<double, LevelRows::most_effects> from, to;
    run_clock(
        group.rate.data(), boost, {0, group.blocks()}, group.levels, stream,
        [&](std::size_t level) {
          for (std::size_t a = 0; a < group.d; ++a) {
            from[a] = group.beta[group.at(level, a)];
            to[a] = group.next[group.at(level, a)];
          }
          log_ratio += whole_level(k, level, from.data(), to.data());
          info.rows_read += grouping.size(level);
        },
        [&](std::size_t level) { events.push_back({level}); });
    draw_rows(k, events, stream);
    const double noise = read_events(k, events, stream, boost, info.bound_violations,
                                     [&](const Event& /*event*/, double change) { log_ratio += change; });
    if (!frozen_) group.boost.learn(noise, options_.most_boost);
    info.rows_read += events.size();
  }
  if (!accepts(stream, log_ratio)) return false;
  group.beta.swap(group.next);
  return true;
}

bool LevelKernel::decide_by_all_rows(std::size_t k, double log_ratio, Stream& stream, StepInfo& info) {
  Group& group = groups_[k];
  constexpr std::size_t chunk_levels = 64;
  const std::size_t levels = group.levels, chunks = (levels + chunk_levels - 1) / chunk_levels;
  const auto over_levels = [&](const auto& body) {
    pool_->run(chunks, [&](std::size_t chunk) {
      std::array<double, LevelRows::most_effects> delta;
      for (std::size_t l = chunk * chunk_levels; l < std::min(levels, (chunk + 1) * chunk_levels); ++l) {
        group.moved(l, delta.data());
        body(chunk, l, delta.data());
      }
    });
  };
  std::vector<double> sums(chunks, 0);
  over_levels([&](std::size_t chunk, std::size_t level, const double* delta) {
    sums[chunk] += likelihood_of_level(k, level, delta);
  });
  for (const double sum : sums) log_ratio += sum;
  info.rows_read += model_->rows().size();
  if (!(std::isfinite(log_ratio) && accepts(stream, log_ratio))) return false;
  over_levels([&](std::size_t /*chunk*/, std::size_t level, const double* delta) {
    add_to_predictors(k, level, delta);
  });
  group.beta.swap(group.next);
  return true;
}

}  // namespace mlo
