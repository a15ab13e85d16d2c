// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/kernel/white_proposal.hpp"

#include <algorithm>
#include <cmath>

namespace mlo {

WhiteProposal::WhiteProposal(std::size_t dim, const Options& options) noexcept
    : options_(options), dim_(dim), walk_scale_(2.38 / std::sqrt(static_cast<double>(dim))) {
  if (options.kind == Kind::random_walk) {
    walk_every_ = 1;
    if (options.step) walk_scale_ = *options.step;
    frozen_ = true;
  } else if (options.step) {
    step_ = *options.step;
    frozen_ = true;  // nothing to learn
  }
}

bool WhiteProposal::propose(Stream& stream, std::uint64_t iteration, std::span<const double> v,
                            std::span<double> out) noexcept {
  const bool walk_only = options_.kind == Kind::random_walk;
  walked_ = iteration % walk_every_ == 0;
  normals(stream, out);
  if (walked_) {
    // From an eighth of the usual step to twice it. No longer: a longer step would end where no bound holds.
    const double scale = walk_only ? walk_scale_ : walk_scale_ * std::exp2(4 * uniform(stream) - 3);
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = v[j] + scale * out[j];
    return true;
  }
  const double b = step();
  if (b < 1) {
    const double a = std::sqrt(1 - b * b);
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = a * v[j] + b * out[j];
  }
  return false;
}

void WhiteProposal::learn(bool accepted, std::uint64_t rows_read) noexcept {
  if (frozen_) return;
  if (!walked_) {
    Tally& tally = tallies_[trial()];
    tally.steps += 1;
    tally.accepted += accepted ? 1 : 0;
    tally.rows += static_cast<double>(rows_read);
  }
  ++learnt_;
}

// If the log ratio of target and fit has the sd s, draws from the fit are accepted with probability erfc(s /
// 2). What is far from normal in each of p coordinates has an s that grows as the root of p: 0.3 each counts
// as poor, an acceptance of 0.76 for two coordinates and 0.2 for 37.
bool WhiteProposal::refused_often() const noexcept {
  constexpr double enough_trials = 30;
  const Tally& independent = tallies_[0];
  if (independent.steps < enough_trials) return false;
  const double poor_acceptance =
      std::erfc(0.15 * std::sqrt(static_cast<double>(std::max<std::size_t>(dim_, 2))));
  return independent.accepted < poor_acceptance * independent.steps;
}

// If a coordinate moves to a v + b z with probability A and stays otherwise, its lag-1 autocorrelation rho is
// 1 - A (1 - a), and the share of effective draws is (1 - rho) / (1 + rho).
void WhiteProposal::freeze() noexcept {
  if (frozen_) return;
  frozen_ = true;
  double best = -1;
  for (std::size_t k = 0; k < grid.size(); ++k) {
    const Tally& tally = tallies_[k];
    if (tally.steps < trial_steps / 2.0) continue;  // the warm-up was too short to tell
    const double acceptance = tally.accepted / tally.steps;
    const double rho = 1 - acceptance * (1 - std::sqrt(1 - grid[k] * grid[k]));
    const double worth = (1 - rho) / (1 + rho) / (options_.step_cost + tally.rows / tally.steps);
    if (worth <= best) continue;
    best = worth;
    step_ = grid[k];
    walk_every_ = static_cast<std::uint64_t>(1 / std::clamp(1 - acceptance, 0.01, options_.most_walks));
  }
}

void WhiteProposal::save(std::vector<double>& out) const {
  out.insert(out.end(),
             {step_, static_cast<double>(walk_every_), frozen_ ? 1.0 : 0.0, static_cast<double>(learnt_)});
  for (const Tally& tally : tallies_) out.insert(out.end(), {tally.steps, tally.accepted, tally.rows});
}

void WhiteProposal::load(std::span<const double>& in) {
  step_ = in[0];
  walk_every_ = static_cast<std::uint64_t>(in[1]);
  frozen_ = in[2] != 0;
  learnt_ = static_cast<std::uint64_t>(in[3]);
  in = in.subspan(4);
  for (Tally& tally : tallies_) {
    tally = {in[0], in[1], in[2]};
    in = in.subspan(3);
  }
}

}  // namespace mlo
