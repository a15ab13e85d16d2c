// Copyright (c) the mlo authors. BSD-3-Clause.
// The moves of the coefficients, with what the effects owe them, and the expansion as a whole.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernel/level_parts.hpp"
#include "mlo/kernel/levels.hpp"
#include "mlo/kernel/remainder_test.hpp"

namespace mlo {

using level_passes::Range;

// alpha moves, beta stays: the coefficients a += d, the effects b_k -= M_k d. Given beta, the expansion's law
// of alpha is normal, with the drift that the cubic terms beta^2 alpha give it.
bool LevelKernel::move_coefficients(Stream& stream, StepInfo& info) {
  if (by_odds()) return coefficients_by_odds(stream, info);
  const auto q = static_cast<std::size_t>(alpha_.size());
  if (q == 0) return true;
  Eigen::MatrixXd information = precision_ * information_ + prior_information_;
  Eigen::VectorXd slope = prior_gradient_ + precision_ * gradient_;
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const Group& group = groups_[k];
    const std::size_t d = group.d, blocks = group.blocks();
    const level_passes::Levels& of = lanes(k);
    for (std::size_t a = 0; a < d; ++a)
      for (std::size_t b = 0; b < d; ++b)
        information += group.omega(index(a), index(b)) * reference_->groups()[k].mm[a * d + b];
    std::vector<double> parts((blocks + blocks_of_part - 1) / blocks_of_part * q, 0);
    over_parts(*pool_, blocks, [&](std::size_t part, Range range) {
      level_passes::coefficient_slopes(of, parts.data() + part * q, range);
    });
    for (std::size_t r = 0; r < parts.size(); ++r) slope[index(r % q)] += parts[r];
  }
  add_pull_of_apart(slope);
  Eigen::LLT<Eigen::MatrixXd> llt(information + recentred_.information);
  if (llt.info() != Eigen::Success)  // rows are not concave
    llt.compute(reference_->factor() * reference_->factor().transpose());
  Eigen::VectorXd noise(index(q));
  for (Eigen::Index j = 0; j < noise.size(); ++j) noise[j] = normal(stream);
  // For the tails; and, where rows are not concave, for all that an expansion misses.
  const bool walk = (all_rows() || sets_apart()) && uniform(stream) < walk_share;
  const Eigen::VectorXd mean = llt.solve(slope + recentred_.slope), away = llt.matrixU().solve(noise);
  Eigen::VectorXd next = walk ? Eigen::VectorXd(alpha_ + 1.5 / std::sqrt(static_cast<double>(q)) * away)
                              : Eigen::VectorXd(mean + away);
  const Eigen::VectorXd moved = next - alpha_;
  // The effects' priors are in the proposal's law; the coefficients' only up to their quadratic expansion.
  const auto quadratic = [&](const Eigen::VectorXd& alpha) {
    return prior_gradient_.dot(alpha) - 0.5 * alpha.dot(prior_information_ * alpha);
  };
  double log_ratio = 0;
  if (!model_->layout().quadratic_coefficients())
    log_ratio += prior_of_main(next) - prior_of_main(alpha_) - quadratic(next) + quadratic(alpha_);
  const bool far =
      sets_apart() && beyond_box(std::max(length_, (reference_->factor().transpose() * next).norm()));
  if (!walk && (all_rows() || sets_apart()))
    log_ratio += 0.5 * (noise.squaredNorm() - Eigen::VectorXd(llt.matrixU() * (alpha_ - mean)).squaredNorm());
  if (all_rows() || far) {
    log_ratio += quadratic(next) - quadratic(alpha_);
    return far ? move_far(next, log_ratio, stream, info) : move_by_all_rows(next, log_ratio, stream, info);
  }
  if (sets_apart())
    log_ratio += slope.dot(moved) - 0.5 * moved.dot(information * (next + alpha_));
  else
    log_ratio += recentred_.excess(alpha_) - recentred_.excess(next);
  if (draws_rows()) log_ratio += thin_coefficients(moved, next, stream, info);
  if (!apart_.levels.empty()) {
    log_ratio += change_of_apart(next, point_.log_second);
    info.rows_read += apart_.rows;
  }
  const bool yes = options_.factors != nullptr ? move_with_factors(next, log_ratio, stream)
                                               : std::isfinite(log_ratio) && accepts(stream, log_ratio);
  if (yes && options_.factors == nullptr) {
    alpha_ = next;
    apply_m();
  }
  if (!frozen_ && draws_rows() && recentred_.due(yes)) {
    show_apart();
    recentre(slope, information, info);
    hide_apart();
  }
  return yes;
}

// The same beyond the box, decided by all rows.
bool LevelKernel::move_far(const Eigen::VectorXd& next, double log_ratio, Stream& stream, StepInfo& info) {
  show_apart();
  log_ratio += change_of_all(next) - effects_prior();
  info.rows_read += model_->rows().size();
  const Eigen::VectorXd here = alpha_;
  alpha_ = next;
  apply_m();
  log_ratio += effects_prior();
  const bool yes = std::isfinite(log_ratio) && accepts(stream, log_ratio);
  if (!yes) {
    alpha_ = here;
    apply_m();
  }
  hide_apart();
  return yes;
}

// The same where all rows are read: the likelihood and the effects' priors take the place of their expansion.
bool LevelKernel::move_by_all_rows(const Eigen::VectorXd& next, double log_ratio, Stream& stream,
                                   StepInfo& info) {
  const LevelRows& rows = model_->rows();
  const std::size_t q = rows.columns();
  const Eigen::VectorXd here = alpha_, moved = next - here;
  std::vector<std::vector<double>> ma;
  for (const Group& group : groups_) ma.push_back(group.ma);
  log_ratio -= effects_prior();
  alpha_ = next;
  apply_m();
  log_ratio += effects_prior();
  constexpr std::size_t batch = Family::batch_rows;
  HugeVector<double> to(rows.size());
  log_ratio += block_sum(*pool_, rows.size(), 4096, 0.0, [&](std::size_t begin, std::size_t length) {
    double part = 0;
    std::array<double, batch> change, response;
    std::array<double, LevelRows::most_effects> z;
    for (std::size_t at = begin; at < begin + length; at += batch) {
      const std::size_t count = std::min(batch, begin + length - at);
      for (std::size_t r = 0; r < count; ++r) {
        const std::size_t i = at + r;
        const float* const x = rows.x(i);
        double delta = 0;
        for (std::size_t j = 0; j < q; ++j) delta += static_cast<double>(x[j]) * moved[index(j)];
        for (std::size_t k = 0; k < groups_.size(); ++k) {
          const Group& group = groups_[k];
          const std::size_t level = rows.groups()[k].codes[i];
          rows.groups()[k].multipliers(i, z.data());
          for (std::size_t a = 0; a < group.d; ++a)
            delta -= z[a] * (group.ma[group.at(level, a)] - ma[k][group.at(level, a)]);
        }
        to[i] = eta_[i] + delta;
      }
      const auto y = rows.responses(at, std::span(response).first(count));
      model_->family().differences({{eta_.data() + at, count}, y, point_.log_second},
                                   {{to.data() + at, count}, y, point_.log_second},
                                   std::span(change).first(count));
      for (std::size_t r = 0; r < count; ++r) part += rows.weight(at + r) * change[r];
    }
    return part;
  });
  info.rows_read += rows.size();
  if (std::isfinite(log_ratio) && accepts(stream, log_ratio)) {
    eta_.swap(to);
    return true;
  }
  alpha_ = here;
  apply_m();
  return false;
}

// Of the effects given their covariances, but for the determinants.
double LevelKernel::effects_prior() {
  double sum = 0;
  for (std::size_t k = 0; k < groups_.size(); ++k)
    sum -= 0.5 * groups_[k].omega.cwiseProduct(effect_totals(k).squares).sum();
  return sum;
}

// With U |G_j G_k| <= U (r G_j^2 + G_k^2 / r) / 2 for any r: the ratio of their sizes.
std::vector<level_passes::ColumnMove> LevelKernel::shares_of(double step, double length) {
  const std::size_t k_count = groups_.size();
  std::vector<double> rms(k_count, 0), most(k_count, 0);
  for (std::size_t k = 0; k < k_count && k_count > 1; ++k) {
    const level_passes::Sizes sizes = level_passes::sizes(lanes(k), {0, groups_[k].blocks()});
    rms[k] = std::sqrt(sizes.squares / std::max(sizes.weights, 1e-300));
    most[k] = sizes.most;
  }
  std::vector<level_passes::ColumnMove> out(k_count);
  for (std::size_t k = 0; k < k_count; ++k) {
    out[k].step = step;
    out[k].length = length;
    out[k].slack = slack();
    out[k].first = k == 0;
    for (std::size_t j = 0; j < k_count; ++j)
      if (j != k) {
        out[k].cross += 0.5 * (rms[k] > 0 ? rms[j] / rms[k] : 0);
        out[k].others += most[j];
      }
  }
  return out;
}

// A row's remainder is at most |x^c'd| (K3 (U^2 / 2 + U |G| + sum of |G_j G_k|) + K4 (U + |G|)^3 / 6), with
// U = |x^c'alpha| at most and G = sum of G_k, the groupings' parts of t. Each grouping has a share of it, and
// draws rows by its share; a drawn row's bound is the sum of its shares.
double LevelKernel::thin_coefficients(const Eigen::VectorXd& moved, const Eigen::VectorXd& next,
                                      Stream& stream, StepInfo& info) {
  const LevelRows& rows = model_->rows();
  const Eigen::MatrixXd& l = reference_->factor();
  const double step = (l.transpose() * moved).norm();
  const double length = std::max(length_, (l.transpose() * next).norm());
  const std::size_t k_count = groups_.size();
  const std::vector<level_passes::ColumnMove> moves = shares_of(step, length);
  double total = 0;
  for (std::size_t k = 0; k < k_count; ++k) {
    level_passes::ColumnMove move = moves[k];
    move.slack *= precision_;
    move.split = static_cast<double>(k_count * k_count);  // 1 / lambda^2, lambda = 1 / K
    const level_passes::Levels& of = lanes(k);
    total += sum_over_parts(*pool_, groups_[k].blocks(),
                            [&](Range range) { return level_passes::column_shares(of, move, range); });
  }
  if (!apart_.levels.empty()) {
    Group& group = groups_[0];
    for (const std::size_t level : apart_.levels) group.rate[level] = 0;
    total = 0;
    for (std::size_t level = 0; level < group.levels; ++level) total += group.rate[level];
  }
  RowBatch batch;
  std::array<double, RowBatch::most> extra, limit, changes, curves;
  const auto rides = [&](std::size_t k, std::size_t level) {
    const LevelTable& table = reference_->table(k);
    return groups_[k].lanes.rides && table.has_curve(level) &&
           std::abs(groups_[k].beta[level]) <= table.at(level, table.fields().radius);
  };
  const auto evaluate = [&](std::size_t row) {
    double from = 0, to = 0, gamma = 0, squares = 0;
    double owed = 0;  // of a level with a curve: beta - phi(beta)
    const float* const x = rows.x(row);
    for (Eigen::Index j = 0; j < moved.size(); ++j) {
      from += static_cast<double>(x[j]) * alpha_[j];
      to += static_cast<double>(x[j]) * next[j];
    }
    std::array<double, LevelRows::most_effects> z;
    for (std::size_t k = 0; k < k_count; ++k) {
      const Group& group = groups_[k];
      const std::size_t level = rows.groups()[k].codes[row], q = reference_->groups()[k].q;
      rows.groups()[k].multipliers(row, z.data());
      double part = 0;
      for (std::size_t a = 0; a < group.d; ++a) {
        const double* const m = reference_->groups()[k].m.data() + (level * group.d + a) * q;
        double there = 0;
        for (std::size_t j = 0; j < q; ++j) there += m[j] * next[index(j)];
        const std::size_t at = group.at(level, a);
        from -= z[a] * group.ma[at];
        to -= z[a] * there;
        part += z[a] * group.beta[at];
      }
      gamma += part;
      if (rides(k, level))
        owed = part - group.phi[level];
      else
        squares += part * part;
    }
    if (product_) {
      const LevelReference::Shape& shape = reference_->shape(row);
      const double here = direction_ * from, there = direction_ * to;
      const double rise = (std::expm1(there) - there) - (std::expm1(here) - here);
      changes[batch.size()] = -static_cast<double>(shape.scale) *
                              (std::exp(direction_ * gamma) * rise - 0.5 * (there * there - here * here));
    }
    const double before = from + gamma, after = to + gamma;
    extra[batch.size()] =
        (after * after * after - before * before * before) / 6 - 0.5 * squares * (to - from);
    const LevelReference::Shape& shape = reference_->shape(row);
    const double s = owed == 0 ? 0 : 1 / (1 + std::exp(-static_cast<double>(shape.e)));
    curves[batch.size()] = -static_cast<double>(shape.scale) * s * (1 - s) * owed * (to - from);
    batch.add(shape, before, after);
  };
  const auto change = [&](std::size_t r) {
    return precision_ * (product_ ? changes[r] : batch.change(r) + batch.third(r) * extra[r] + curves[r]);
  };
  double log_ratio = 0;
  const double boost = boost_.factor;
  if (!(boost * total <= 0.5 * static_cast<double>(rows.size()))) {  // reading all rows takes no longer
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (apart_.levels.empty() || apart_.flag[rows.groups()[0].codes[i]] == 0) evaluate(i);
      if (!batch.full() && i + 1 < rows.size()) continue;
      if (!product_) batch.evaluate(*reference_, {second_at_, second_at_});
      for (std::size_t r = 0; r < batch.size(); ++r) log_ratio += change(r);
      batch.clear();
    }
    info.rows_read += rows.size();
    return log_ratio;
  }
  std::vector<std::size_t> events;
  for (std::size_t k = 0; k < k_count; ++k) {
    const Grouping& group = rows.groups()[k];
    run_clock(
        groups_[k].rate.data(), boost, {0, groups_[k].blocks()}, groups_[k].levels, stream,
        [](std::size_t /*level*/) {},
        [&](std::size_t level) {
          events.push_back(group.row(group.starts[level] + bounded(stream, group.size(level))));
        });
  }
  for (const std::size_t row : events) {
    rows.prefetch(row);
    reference_->prefetch(row);
  }
  double noise = 0;
  const auto flush = [&] {
    if (!product_) batch.evaluate(*reference_, {second_at_, second_at_});
    for (std::size_t r = 0; r < batch.size(); ++r) {
      limit[r] = change(r) / limit[r];
      noise += limit[r] * limit[r];
    }
    const auto shares = std::span(limit).first(batch.size());
    thin_rows(shares, stream, info.bound_violations);
    for (const double one : shares) log_ratio += one;
    batch.clear();
  };
  for (const std::size_t row : events) {
    limit[batch.size()] = 0;
    for (std::size_t k = 0; k < k_count; ++k)
      limit[batch.size()] += boost * groups_[k].own[rows.groups()[k].codes[row]];
    evaluate(row);
    if (batch.full()) flush();
  }
  flush();
  if (!frozen_) boost_.learn(noise, options_.most_boost);
  info.rows_read += events.size();
  return log_ratio;
}

// The log-likelihood by its expansion, compared with the reference, without the precision.
double LevelKernel::likelihood_polynomial() {
  double sum = gradient_.dot(alpha_) - 0.5 * alpha_.dot(information_ * alpha_);
  // The cells of the last grouping have seen the effects of the others. Of two groupings, the first one's
  // levels know what its effects are worth alone.
  using level_passes::Own;
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const bool last = k + 1 == groups_.size();
    const Own own = last ? Own::all : groups_.size() == 2 ? Own::alone : Own::none;
    const level_passes::Levels& of = lanes(k);
    sum += sum_over_parts(*pool_, groups_[k].blocks(), [&](Range range) {
      return level_passes::polynomial(of, alpha_.data(), own, range);
    });
  }
  return groups_.size() > 2 ? sum + cells_ : sum;
}

double LevelKernel::prior_of_main(const Eigen::VectorXd& alpha) const {
  GroupedPoint at;
  at.coefficients = reference_->at().coefficients;
  at.log_second = point_.log_second;
  for (std::size_t j = 0; j < at.coefficients.size(); ++j) at.coefficients[j] += alpha[index(j)];
  return model_->log_prior_of_main(at);
}

// Of all parameters.
double LevelKernel::log_prior() {
  if (options_.factors != nullptr) return prior_of_factors();
  double sum = model_->log_prior_of_main(point_) + effects_prior();
  for (std::size_t k = 0; k < groups_.size(); ++k)
    sum += model_->covariances()[k].log_prior(point_.covariances[k]) +
           0.5 * static_cast<double>(groups_[k].levels) * groups_[k].log_det;
  return sum;
}

// From the expansion of the likelihood, at the point in point_.
double LevelKernel::log_posterior(double polynomial) {
  double sum = reference_->value() + precision_ * polynomial;
  if (const SecondFactor* const factor = model_->factor(); factor != nullptr) {
    const double there = reference_->at().log_second;
    sum += (precision_ - model_->precision(there)) * reference_->core() +
           reference_->weight() * (factor->alone(point_.log_second).value - factor->alone(there).value);
  }
  if (reference_->has_surface()) sum += surface_alone(second_at_);
  return sum + log_prior();
}

}  // namespace mlo
