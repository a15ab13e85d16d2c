// Copyright (c) the mlo authors. BSD-3-Clause.
// Moves that change no predictor, so that no row is read and the priors alone say where to: a coefficient
// against all effects of its kind, the levels of a grouping against those within them, and one grouping
// against another. Without them, what is traded between the two would move in small steps.
#include <cmath>
#include <limits>

#include "kernel/level_parts.hpp"
#include "mlo/kernel/levels.hpp"
#include "mlo/kernel/remainder_test.hpp"

namespace mlo {

using level_passes::Range;

// A coefficient and all effects of its kind, against each other: no predictor changes, and no row is read.
void LevelKernel::shift(std::size_t k, std::size_t effect, Stream& stream) {
  const Eigen::VectorXd& twin = model_->twin(k, effect);
  if (twin.size() == 0) return;
  Group& group = groups_[k];
  const Eigen::VectorXd bent = prior_information_ * twin;
  const double information =
      static_cast<double>(group.levels) * group.omega(index(effect), index(effect)) + twin.dot(bent);
  const double slope =
      group.omega.row(index(effect)).dot(effect_totals(k).sum) + twin.dot(prior_gradient_) - bent.dot(alpha_);
  const double moved = slope / information + normal(stream) / std::sqrt(information);
  if (!model_->layout().quadratic_coefficients()) {
    const auto excess = [&](double by) {  // of the prior over its expansion
      const Eigen::VectorXd alpha = alpha_ + by * twin;
      return prior_of_main(alpha) - prior_gradient_.dot(alpha) + 0.5 * alpha.dot(prior_information_ * alpha);
    };
    if (!accepts(stream, excess(moved) - excess(0))) return;
  }
  const Eigen::VectorXd along = moved * twin;
  alpha_ += along;
  for (Group& each : groups_)
    over_parts(*pool_, each.blocks(), [&, &of = lanes(each)](std::size_t /*part*/, Range range) {
      level_passes::shift_along_m(of, along.data(), range);
    });
  for (std::size_t l = 0; l < group.levels; ++l) group.beta[group.at(l, effect)] -= moved;
}

// Which plain groupings are within others, as batches within suppliers: every level of the one has rows of
// one level of the other alone.
void LevelKernel::find_nested() {
  const LevelRows& rows = model_->rows();
  constexpr std::uint32_t unseen = std::numeric_limits<std::uint32_t>::max();
  for (std::size_t inner = 0; inner < groups_.size(); ++inner)
    for (std::size_t outer = 0; outer < groups_.size(); ++outer) {
      const Grouping &in = rows.groups()[inner], &out = rows.groups()[outer];
      if (inner == outer || !in.plain() || !out.plain() || in.levels() <= out.levels()) continue;
      Nested pair{outer, inner, std::vector<std::uint32_t>(in.levels(), unseen)};
      bool within = true;
      for (std::size_t i = 0; i < rows.size() && within; ++i) {
        std::uint32_t& level = pair.level[in.codes[i]];
        if (level == unseen) level = out.codes[i];
        within = level == out.codes[i];
      }
      if (within) nested_.push_back(std::move(pair));
    }
}

// Given the sums c of an inner and its outer effect, which are all that the rows see, both standard
// deviations are drawn with the outer effects integrated out, then the outer effects: b | c ~ N(tau_in sum c
// / P, 1 / P), P = tau_out + n tau_in for an outer level with n inner ones.
void LevelKernel::shift_nested(const Nested& pair, Stream& stream) {
  Group &outer = groups_[pair.outer], &inner = groups_[pair.inner];
  const std::vector<double>&outer_at = reference_->at().effects[pair.outer],
        &inner_at = reference_->at().effects[pair.inner];
  std::vector<double> before(outer.levels), sum(outer.levels, 0), count(outer.levels, 0);
  for (std::size_t l = 0; l < outer.levels; ++l) before[l] = outer_at[l] + outer.beta[l] - outer.ma[l];
  double squares = 0;
  for (std::size_t l = 0; l < inner.levels; ++l) {
    const double c = inner_at[l] + inner.beta[l] - inner.ma[l] + before[pair.level[l]];
    sum[pair.level[l]] += c;
    ++count[pair.level[l]];
    squares += c * c;
  }
  std::vector<double>&out = point_.covariances[pair.outer], &in = point_.covariances[pair.inner];
  const auto log_density = [&] {
    const double tau_out = std::exp(-2 * out[0]), tau_in = std::exp(-2 * in[0]);
    double total = model_->covariances()[pair.outer].log_prior(out) +
                   model_->covariances()[pair.inner].log_prior(in) -
                   static_cast<double>(inner.levels) * in[0] - 0.5 * tau_in * squares;
    for (std::size_t l = 0; l < outer.levels; ++l) {
      const double precision = tau_out + count[l] * tau_in, pull = tau_in * sum[l];
      total += 0.5 * (std::log(tau_out / precision) + pull * pull / precision);
    }
    return total;
  };
  double here = log_density();
  constexpr int moves = 2;  // of each standard deviation
  for (int move = 0; move < 2 * moves; ++move) {
    std::vector<double>& xi = move % 2 == 0 ? out : in;
    const std::vector<double> old = xi;
    std::vector<double> next(1);
    const double ratio = (move % 2 == 0 ? outer : inner).walk.propose(stream, old, next);
    xi = next;
    const double there = std::abs(next[0]) < 300 ? log_density() : -std::numeric_limits<double>::infinity();
    if (std::isfinite(there) && accepts(stream, ratio + there - here))
      here = there;
    else
      xi = old;
  }
  set_precision(pair.outer);
  set_precision(pair.inner);
  const double tau_out = outer.omega(0, 0), tau_in = inner.omega(0, 0);
  for (std::size_t l = 0; l < outer.levels; ++l) {
    const double precision = tau_out + count[l] * tau_in;
    const double b = tau_in * sum[l] / precision + normal(stream) / std::sqrt(precision);
    before[l] = b - before[l];  // the shift
    outer.beta[l] += before[l];
  }
  for (std::size_t l = 0; l < inner.levels; ++l) inner.beta[l] -= before[pair.level[l]];
}

// All effects of one grouping go up by what those of another go down, where there is no intercept that would
// take it from each of them.
void LevelKernel::shift_between(std::size_t j, std::size_t k, Stream& stream) {
  const LevelRows& rows = model_->rows();
  if (!rows.groups()[j].plain() || !rows.groups()[k].plain() || model_->twin(j, 0).size() != 0) return;
  Group &up = groups_[j], &down = groups_[k];
  const double tau_up = up.omega(0, 0), tau_down = down.omega(0, 0);
  const double precision =
      static_cast<double>(up.levels) * tau_up + static_cast<double>(down.levels) * tau_down;
  const double mean = (tau_down * effect_totals(k).sum[0] - tau_up * effect_totals(j).sum[0]) / precision;
  const double moved = mean + normal(stream) / std::sqrt(precision);
  for (std::size_t l = 0; l < up.levels; ++l) up.beta[l] += moved;
  for (std::size_t l = 0; l < down.levels; ++l) down.beta[l] -= moved;
}

}  // namespace mlo
