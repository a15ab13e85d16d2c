// Copyright (c) the mlo authors. BSD-3-Clause.
// The moves of the second parameter. Where it is a factor of the likelihood, e^(power a) times a function of
// the predictors plus a function of a alone, the expansion of that function says what its law is, and the
// rows' remainders, times the change of the factor, decide. Otherwise all rows are read.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernel/level_limits.hpp"
#include "kernel/level_parts.hpp"
#include "mlo/kernel/levels.hpp"
#include "mlo/kernel/remainder_test.hpp"

namespace mlo {
namespace {

// Steps within the law of the expansion, which read no row, before the rows decide.
constexpr int steps_of_second = 5;
// The log of a second parameter beyond which doubles would not do.
constexpr double furthest_second = 300;

// e^x - 1 - x - x^2 / 2, without cancellation.
double third_excess(double x) noexcept {
  if (std::abs(x) > 0.5) return std::expm1(x) - x * (1 + 0.5 * x);
  double tail = 0;
  for (int m = 16; m >= 3; --m) tail = (1 + x * tail) / m;
  return 0.5 * x * x * x * tail;
}

}  // namespace

void LevelKernel::move_second(double polynomial, Stream& stream, StepInfo& info) {
  if (all_rows())
    move_second_by_all_rows(stream, info);
  else if (thins_second())
    move_factor(polynomial, stream, info);
  else
    draw_precision(polynomial, stream);
}

// A gaussian response: the precision's law given the residuals' squares, but for its prior, which decides.
void LevelKernel::draw_precision(double polynomial, Stream& stream) {
  const std::size_t q = model_->rows().columns();
  const Layout& layout = model_->layout();
  const double squares = reference_->squares() - 2 * polynomial;
  const double drawn = gamma(stream, 0.5 * reference_->weight()) / (0.5 * squares);
  const double next = -0.5 * std::log(drawn);
  if (!std::isfinite(next)) return;
  if (!accepts(stream, layout.log_prior_at(q, next) - layout.log_prior_at(q, point_.log_second))) return;
  point_.log_second = next;
  precision_ = model_->precision(next);
}

// Some steps of a chain whose law is that of the expansion. It is reversible, so that the ratio of the laws
// at its two ends is all that is left to decide: the rows' remainders times the change of the factor.
void LevelKernel::move_factor(double polynomial, Stream& stream, StepInfo& info) {
  const std::size_t q = model_->rows().columns();
  const SecondFactor& factor = *model_->factor();
  const double sum = reference_->core() + polynomial;
  const auto log_density = [&](double a) {
    return model_->precision(a) * sum + reference_->weight() * factor.alone(a).value +
           model_->layout().log_prior_at(q, a);
  };
  double here = point_.log_second, at = log_density(here);
  for (int step = 0; step < steps_of_second; ++step) {
    double next = 0;
    const double ratio = second_.propose(stream, {&here, 1}, {&next, 1});
    if (!(std::abs(next) < furthest_second)) continue;
    const double there = log_density(next);
    if (!std::isfinite(there) || !accepts(stream, ratio + there - at)) continue;
    here = next;
    at = there;
  }
  if (here == point_.log_second) return;
  const double moved = model_->precision(here) - precision_;
  if (draws_rows() && options_.remainders_of_second) {
    const double log_ratio = thin_precision(moved, stream, info);
    if (!(std::isfinite(log_ratio) && accepts(stream, log_ratio))) return;
  }
  point_.log_second = here;
  precision_ = model_->precision(here);
}

// The groupings' shares of the rows' bounds, for a move of the precision.
void LevelKernel::share_precision(double step) {
  const auto k_count = static_cast<double>(groups_.size());
  const std::vector<level_passes::ColumnMove> moves = shares_of(std::abs(step), length_);
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    level_passes::ColumnMove move = moves[k];
    move.split = k_count * k_count * k_count;  // (the sum of K numbers)^4 <= K^3 (the sum of fourth powers)
    move.whole = level_passes::pass_share / second_boost_.factor;
    const level_passes::Levels& of = lanes(k);
    over_parts(*pool_, groups_[k].blocks(), [&](std::size_t /*part*/, level_passes::Range range) {
      level_passes::precision_shares(of, move, range);
    });
  }
}

// Whether a row is of a level, of the first so many groupings, that is read whole.
bool LevelKernel::read_whole(std::size_t row, std::size_t groupings) const noexcept {
  for (std::size_t k = 0; k < groupings; ++k)
    if (!std::isfinite(groups_[k].rate[model_->rows().groups()[k].codes[row]])) return true;
  return false;
}

// The sum of its shares.
double LevelKernel::bound_of_row(std::size_t row) const noexcept {
  double sum = 0;
  for (std::size_t k = 0; k < groups_.size(); ++k)
    sum += groups_[k].own[model_->rows().groups()[k].codes[row]];
  return sum;
}

// What the expansion of all parameters leaves of the rows' functions of their predictors: with G = sum of
// G_k, the groupings' parts of t, that is d(t) + F3 (u^3 / 6 + u^2 G / 2 + u sum of G_j G_k).
void LevelKernel::remainders_of(std::span<const std::size_t> rows_of, std::span<double> out) const {
  const LevelRows& rows = model_->rows();
  std::array<double, LevelRows::most_effects> z;
  RowBatch batch;
  std::array<double, RowBatch::most> extra;
  std::size_t done = 0;
  const auto flush = [&] {
    batch.evaluate(reference_->curve());
    for (std::size_t r = 0; r < batch.size(); ++r) out[done++] = batch.change(r) + batch.third(r) * extra[r];
    batch.clear();
  };
  for (const std::size_t row : rows_of) {
    const float* const x = rows.x(row);
    double u = 0, all = 0, squares = 0;
    for (Eigen::Index j = 0; j < alpha_.size(); ++j) u += static_cast<double>(x[j]) * alpha_[j];
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const Group& group = groups_[k];
      const std::size_t level = rows.groups()[k].codes[row];
      rows.groups()[k].multipliers(row, z.data());
      double part = 0;
      for (std::size_t a = 0; a < group.d; ++a) {
        u -= z[a] * group.ma[group.at(level, a)];
        part += z[a] * group.beta[group.at(level, a)];
      }
      all += part;
      squares += part * part;
    }
    const LevelReference::Shape& shape = reference_->shape(row);
    if (product_) {
      const double v = direction_ * u, b = direction_ * all;
      out[done++] =
          -static_cast<double>(shape.scale) * (std::exp(b) * third_excess(v) + 0.5 * std::expm1(b) * v * v);
      continue;
    }
    extra[batch.size()] = u * (u * (u / 6 + 0.5 * all) + 0.5 * (all * all - squares));
    batch.add(shape, 0, u + all);
    if (batch.full()) flush();
  }
  if (!product_) flush();
}

// Every grouping draws rows by its share of their bounds. A row in a level that is read whole is read there,
// once, and not drawn.
double LevelKernel::thin_precision(double step, Stream& stream, StepInfo& info) {
  const LevelRows& rows = model_->rows();
  share_precision(step);
  const double boost = second_boost_.factor;
  double log_ratio = 0;
  std::vector<std::size_t> events, whole;
  std::vector<double> remainders;
  const auto read = [&](const std::vector<std::size_t>& of) {
    remainders.resize(of.size());
    remainders_of(of, remainders);
    info.rows_read += of.size();
  };
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const Grouping& grouping = rows.groups()[k];
    run_clock(
        groups_[k].rate.data(), boost, {0, groups_[k].blocks()}, groups_[k].levels, stream,
        [&](std::size_t level) {
          whole.clear();
          for (std::size_t p = grouping.starts[level]; p < grouping.starts[level + 1]; ++p)
            if (!read_whole(grouping.row(p), k)) whole.push_back(grouping.row(p));
          read(whole);
          for (const double remainder : remainders) log_ratio += step * remainder;
        },
        [&](std::size_t level) {
          const std::size_t row =
              grouping.row(grouping.starts[level] + bounded(stream, grouping.size(level)));
          if (!read_whole(row, groups_.size())) events.push_back(row);
        });
  }
  for (const std::size_t row : events) {
    rows.prefetch(row);
    reference_->prefetch(row);
  }
  read(events);
  double noise = 0;
  for (std::size_t r = 0; r < events.size(); ++r) {
    const double share = step * remainders[r] / (boost * bound_of_row(events[r]));
    noise += share * share;
    log_ratio += thinned(share, stream, info.bound_violations);
  }
  if (!frozen_) second_boost_.learn(noise, options_.most_boost);
  return log_ratio;
}

// Where all rows are read: the likelihood's change by the family itself.
void LevelKernel::move_second_by_all_rows(Stream& stream, StepInfo& info) {
  const std::size_t q = model_->rows().columns();
  const Layout& layout = model_->layout();
  double next = 0;
  double log_ratio = second_.propose(stream, {&point_.log_second, 1}, {&next, 1});
  log_ratio += layout.log_prior_at(q, next) - layout.log_prior_at(q, point_.log_second);
  if (!std::isfinite(log_ratio)) return;
  const LevelRows& rows = model_->rows();
  constexpr std::size_t batch = Family::batch_rows;
  log_ratio += block_sum(*pool_, rows.size(), 4096, 0.0, [&](std::size_t begin, std::size_t length) {
    double part = 0;
    std::array<double, batch> change, response;
    for (std::size_t at = begin; at < begin + length; at += batch) {
      const std::size_t count = std::min(batch, begin + length - at);
      const std::span<const double> eta(eta_.data() + at, count),
          y = rows.responses(at, std::span(response).first(count));
      model_->family().differences({eta, y, point_.log_second}, {eta, y, next},
                                   std::span(change).first(count));
      for (std::size_t r = 0; r < count; ++r) part += rows.weight(at + r) * change[r];
    }
    return part;
  });
  info.rows_read += rows.size();
  if (!(std::isfinite(log_ratio) && accepts(stream, log_ratio))) return;
  point_.log_second = next;
  precision_ = model_->precision(next);
}

}  // namespace mlo
