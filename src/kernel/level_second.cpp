// Copyright (c) the mlo authors. BSD-3-Clause.
// The moves of the second parameter. The expansion, as a function of it alone, says what its law is, and the
// rows' remainders decide. Where it is a factor of the likelihood, e^(power a) times a function of the
// predictors plus a function of a alone, these are remainders of that function; otherwise those of surfaces
// over the predictor and u, its log minus the reference's. Where there are no bounds all rows are read.
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
// The share of the box beyond which the chain is near its edge.
constexpr double edge = 0.6;

// e^x - 1 - x - x^2 / 2, without cancellation.
double third_excess(double x) noexcept {
  if (std::abs(x) > 0.5) return std::expm1(x) - x * (1 + 0.5 * x);
  double tail = 0;
  for (int m = 16; m >= 3; --m) tail = (1 + x * tail) / m;
  return 0.5 * x * x * x * tail;
}

}  // namespace

void LearntSlope::learn(double step, double change, double noise) noexcept {
  constexpr double kept = 0.99, errors = 3;
  products = kept * products + step * change;
  squares = kept * squares + step * step;
  variance = kept * kept * variance + step * step * noise;
  slope = products * products > errors * errors * variance ? products / squares : 0;
}

void LevelKernel::move_second(double& polynomial, Stream& stream, StepInfo& info) {
  if (all_rows())
    move_second_by_all_rows(stream, info);
  else if (thins_second())
    thin_second(polynomial, stream, info);
  else
    draw_precision(polynomial, stream);
}

// The sums by level at u: F1 + u F11 + u^2 / 2 F12 and F2 + u F21 in place of F1 and F2.
void LevelKernel::set_second(double u) {
  const MixedSums& mixed = reference_->mixed();
  const double half = 0.5 * u * u;
  second_at_ = u;
  gradient_ = reference_->gradient() + u * mixed.gradient + half * mixed.bent;
  information_ = reference_->information() + u * mixed.information;
  const double* const from = reference_->table(0).data();
  const std::size_t width = reference_->table(0).fields().width * level_lanes,
                    fields = mixed.fields * level_lanes;
  Group& group = groups_[0];
  over_parts(*pool_, group.blocks(), [&](std::size_t /*part*/, level_passes::Range range) {
    for (std::size_t block = range.first; block < range.last; ++block) {
      const double* const base = from + block * width;
      const double* const one = mixed.one.data() + block * fields;
      const double* const two = mixed.two.data() + block * fields;
      double* const to = group.table.data() + block * width;
      for (std::size_t f = 0; f < fields; ++f) to[f] = base[f] + (u * one[f] + half * two[f]);
    }
  });
}

// The part of the expansion that depends on u alone. Its polynomial has the first two derivatives of what all
// rows have in common; the rest of that is known.
double LevelKernel::surface_alone(double u) const noexcept {
  return u * (reference_->second_slope() +
              0.5 * u * (u * reference_->mixed().third / 3 - reference_->second_information())) +
         reference_->weight() * reference_->surface().common(u);
}

// Moves of u that read all rows, and they alone, may leave the box that has bounds. Where the chain hardly
// comes near its edge they are needed for the tails only; otherwise often, or it would stay on one side for
// longer than anybody samples. Warm-up finds out which.
void LevelKernel::watch_edge() noexcept {
  const double width = reference_->mixed().width, u = point_.log_second - reference_->at().log_second;
  if (std::abs(u) <= edge * width) return;
  if (!frozen_) share_of_passes_ = often;
  if (frozen_ && share_of_passes_ < often) ++edges_;
}

// Of surfaces the expansion is a polynomial of degree 2 in u, but for what depends on u alone: it is known
// from its values at three places.
LevelKernel::AlongSecond LevelKernel::along_second(double polynomial) {
  AlongSecond out;
  out.polynomial = polynomial;
  if (!reference_->has_surface()) return out;
  const double here = second_at_, width = reference_->mixed().width;
  set_second(width);
  const double above = likelihood_polynomial();
  set_second(-width);
  const double below = likelihood_polynomial();
  set_second(0);
  out.polynomial = likelihood_polynomial();
  set_second(here);
  out.slope = (above - below) / (2 * width);
  out.bend = (above + below - 2 * out.polynomial) / (width * width);
  return out;
}

double LevelKernel::expansion_at(const AlongSecond& along, double log_second) const {
  if (const SecondFactor* const factor = model_->factor(); factor != nullptr)
    return model_->precision(log_second) * (reference_->core() + along.polynomial) +
           reference_->weight() * factor->alone(log_second).value;
  const double u = log_second - reference_->at().log_second;
  return along.polynomial + u * (along.slope + 0.5 * u * along.bend) + surface_alone(u);
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
// at its two ends is all that is left to decide: the change of the rows' remainders. A cubic polynomial in u
// is no law beyond the box, so that chain stays within it.
void LevelKernel::thin_second(double& polynomial, Stream& stream, StepInfo& info) {
  const std::size_t q = model_->rows().columns();
  const bool surface = reference_->has_surface();
  const double centre = reference_->at().log_second, width = reference_->mixed().width;
  const auto log_prior = [&](double a) { return model_->layout().log_prior_at(q, a); };
  const double before = point_.log_second;
  double here = before, log_ratio = 0;
  const bool outside = surface && !(std::abs(before - centre) <= width);
  // Beyond the box all rows are read; only a share of these moves may end within it, that of the way back.
  const bool crossing = surface && uniform(stream) < share_of_passes_;
  if (crossing || outside) {
    log_ratio = second_.propose(stream, {&before, 1}, {&here, 1});
    if (!(std::abs(here) < furthest_second)) return;
    if (!crossing && std::abs(here - centre) <= width) return;
    show_apart();
    log_ratio += log_prior(here) - log_prior(before) + read_second(here);
    hide_apart();
    info.rows_read += model_->rows().size();
    if (!(std::isfinite(log_ratio) && accepts(stream, log_ratio))) return;
  } else {
    const AlongSecond along = along_second(polynomial);
    // With the remainders' slope, as far as warm-up has learnt it: fixed numbers may be part of that law.
    const double slope = second_slope_.slope;
    const auto log_density = [&](double a) {
      return expansion_at(along, a) + log_prior(a) + slope * (a - centre);
    };
    double at = log_density(here);
    for (int step = 0; step < steps_of_second; ++step) {
      double next = 0;
      const double ratio = second_.propose(stream, {&here, 1}, {&next, 1});
      if (!(surface ? std::abs(next - centre) <= width : std::abs(next) < furthest_second)) continue;
      const double there = log_density(next);
      if (!std::isfinite(there) || !accepts(stream, ratio + there - at)) continue;
      here = next;
      at = there;
    }
    if (here == before) return;
    if (draws_rows() && options_.remainders_of_second) {
      log_ratio = decide_second(here, stream, info) - slope * (here - before);
      if (!(std::isfinite(log_ratio) && accepts(stream, log_ratio))) return;
    }
  }
  point_.log_second = here;
  precision_ = model_->precision(here);
  if (!surface) return;
  set_second(here - centre);
  polynomial = likelihood_polynomial();
}

// The groupings' shares of the rows' bounds.
void LevelKernel::share_second(double next) {
  const auto k_count = static_cast<double>(groups_.size());
  const double u = next - reference_->at().log_second;
  const double step = reference_->has_surface() ? u - second_at_ : model_->precision(next) - precision_;
  const std::vector<level_passes::ColumnMove> moves = shares_of(std::abs(step), length_);
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    level_passes::ColumnMove move = moves[k];
    move.split = k_count * k_count * k_count;  // (the sum of K numbers)^4 <= K^3 (the sum of fourth powers)
    move.whole = level_passes::pass_share / second_boost_.factor;
    move.second = std::max(std::abs(u), std::abs(second_at_));
    const level_passes::Levels& of = lanes(k);
    over_parts(*pool_, groups_[k].blocks(), [&](std::size_t /*part*/, level_passes::Range range) {
      level_passes::second_shares(of, move, range);
    });
  }
  for (const std::size_t l : apart_.levels) groups_[0].rate[l] = 0;
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

// How what the expansion leaves of rows changes with the second parameter. Of a factor, that is the factor's
// change times d(t) + F3 (u^3 / 6 + u^2 G / 2 + u sum of G_j G_k), u the columns' part of t and G = sum of
// G_k the groupings'. Of a surface the cubic terms in t do not change.
void LevelKernel::changes_in_second(double next, std::span<const std::size_t> rows_of,
                                    std::span<double> out) const {
  const LevelRows& rows = model_->rows();
  const bool surface = reference_->has_surface();
  const double step = surface ? 1 : model_->precision(next) - precision_;
  const RowBatch::Second second{second_at_, next - reference_->at().log_second};
  std::array<double, LevelRows::most_effects> z;
  RowBatch batch;
  std::array<double, RowBatch::most> extra;
  std::size_t done = 0;
  const auto flush = [&] {
    batch.evaluate(*reference_, second);
    for (std::size_t r = 0; r < batch.size(); ++r)
      out[done++] = step * (batch.change(r) + (surface ? 0 : batch.third(r) * extra[r]));
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
      out[done++] = -step * static_cast<double>(shape.scale) *
                    (std::exp(b) * third_excess(v) + 0.5 * std::expm1(b) * v * v);
      continue;
    }
    extra[batch.size()] = u * (u * (u / 6 + 0.5 * all) + 0.5 * (all * all - squares));
    batch.add(shape, surface ? u + all : 0, u + all);
    if (batch.full()) flush();
  }
  if (!product_) flush();
}

// Every grouping draws rows by its share of their bounds. A row in a level that is read whole is read there,
// once, and not drawn.
double LevelKernel::decide_second(double next, Stream& stream, StepInfo& info) {
  const LevelRows& rows = model_->rows();
  share_second(next);
  const double boost = second_boost_.factor;
  double log_ratio = 0, estimate = 0;  // the decision's, and of the remainders' change
  std::vector<std::size_t> events, whole;
  std::vector<double> changes;
  const auto read = [&](const std::vector<std::size_t>& of) {
    changes.resize(of.size());
    changes_in_second(next, of, changes);
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
          for (const double change : changes) {
            log_ratio += change;
            estimate += change;
          }
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
  if (!apart_.levels.empty()) {
    const double change = change_of_apart(alpha_, next);
    log_ratio += change;
    estimate += change;
    info.rows_read += apart_.rows;
  }
  double noise = 0;
  for (std::size_t r = 0; r < events.size(); ++r) {
    const double share = changes[r] / (boost * bound_of_row(events[r]));
    noise += share * share;
    estimate += share;  // its change over the rate at which it is drawn
    log_ratio += thinned(share, stream, info.bound_violations);
  }
  if (!frozen_) {
    second_boost_.learn(noise, options_.most_boost);
    second_slope_.learn(next - point_.log_second, estimate, noise);
  }
  return log_ratio;
}

// The likelihood's change by the family itself, from all rows. Their predictors are at hand, or those of the
// present point.
double LevelKernel::read_second(double next) {
  const LevelRows& rows = model_->rows();
  if (!all_rows()) read_point();
  constexpr std::size_t batch = Family::batch_rows;
  return block_sum(*pool_, rows.size(), 4096, 0.0, [&](std::size_t begin, std::size_t length) {
    double part = 0;
    std::array<double, batch> change, response, room;
    for (std::size_t at = begin; at < begin + length; at += batch) {
      const std::size_t count = std::min(batch, begin + length - at);
      for (std::size_t r = 0; r < count && !all_rows(); ++r) room[r] = predictor_of(at + r);
      const std::span<const double> eta(all_rows() ? eta_.data() + at : room.data(), count),
          y = rows.responses(at, std::span(response).first(count));
      model_->family().differences({eta, y, point_.log_second}, {eta, y, next},
                                   std::span(change).first(count));
      for (std::size_t r = 0; r < count; ++r) part += rows.weight(at + r) * change[r];
    }
    return part;
  });
}

void LevelKernel::move_second_by_all_rows(Stream& stream, StepInfo& info) {
  const std::size_t q = model_->rows().columns();
  const Layout& layout = model_->layout();
  double next = 0;
  double log_ratio = second_.propose(stream, {&point_.log_second, 1}, {&next, 1});
  log_ratio += layout.log_prior_at(q, next) - layout.log_prior_at(q, point_.log_second);
  if (!std::isfinite(log_ratio)) return;
  log_ratio += read_second(next);
  info.rows_read += model_->rows().size();
  if (!(std::isfinite(log_ratio) && accepts(stream, log_ratio))) return;
  point_.log_second = next;
  precision_ = model_->precision(next);
}

}  // namespace mlo
