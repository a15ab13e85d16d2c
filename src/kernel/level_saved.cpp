// Copyright (c) the mlo authors. BSD-3-Clause.
// What a chain of group effects has learnt and counted, as numbers in a checkpoint.
#include <algorithm>
#include <cmath>

#include "kernel/level_parts.hpp"
#include "mlo/kernel/levels.hpp"

namespace mlo {

using Eigen::Index;

void LevelKernel::save(std::vector<double>& out) const {
  out.push_back(frozen_ ? 1 : 0);
  out.push_back(boost_.factor);
  out.push_back(recentred_.accepted);
  out.push_back(static_cast<double>(recentred_.passes));
  out.insert(out.end(), recentred_.slope.data(), recentred_.slope.data() + recentred_.slope.size());
  out.insert(out.end(), recentred_.information.data(),
             recentred_.information.data() + recentred_.information.size());
  for (const Group& group : groups_) {
    group.walk.save(out);
    out.push_back(group.boost.factor);
  }
  if (model_->family().estimates_second()) second_.save(out);
  if (moves_variances()) variances_.save(out);
  if (thins_second())
    for (const double x : {second_boost_.factor, second_slope_.slope, second_slope_.products,
                           second_slope_.squares, second_slope_.variance, share_of_passes_})
      out.push_back(x);
  out.push_back(edges_);
  out.push_back(counted_);
  out.insert(out.end(), effect_sums_.begin(), effect_sums_.end());
  out.insert(out.end(), effect_squares_.begin(), effect_squares_.end());
}

void LevelKernel::load(std::span<const double> in) {
  frozen_ = in[0] != 0;
  boost_.factor = in[1];
  recentred_.accepted = in[2];
  recentred_.passes = static_cast<std::uint64_t>(in[3]);
  std::size_t at = 4;
  for (Index j = 0; j < recentred_.slope.size(); ++j) recentred_.slope[j] = in[at++];
  for (Index j = 0; j < recentred_.information.size(); ++j) recentred_.information.data()[j] = in[at++];
  for (Group& group : groups_) {
    at += group.walk.load(in.subspan(at));
    group.boost.factor = in[at++];
  }
  if (model_->family().estimates_second()) at += second_.load(in.subspan(at));
  if (moves_variances()) at += variances_.load(in.subspan(at));
  if (thins_second())
    for (double* const x : {&second_boost_.factor, &second_slope_.slope, &second_slope_.products,
                            &second_slope_.squares, &second_slope_.variance, &share_of_passes_})
      *x = in[at++];
  edges_ = in[at++];
  counted_ = in[at++];
  for (double& sum : effect_sums_) sum = in[at++];
  for (double& sum : effect_squares_) sum = in[at++];
}

LevelKernel::EffectMoments LevelKernel::moments(const GroupedModel& model, std::span<const double> saved) {
  const std::size_t count = model.effects();
  const std::span<const double> tail = saved.last(2 * count + 1);
  EffectMoments out;
  out.draws = tail[0];
  for (std::size_t r = 0; r < count; ++r) {
    const double mean = tail[1 + r] / out.draws;
    out.mean.push_back(mean);
    out.sd.push_back(std::sqrt(std::max(0.0, tail[1 + count + r] / out.draws - mean * mean)));
  }
  return out;
}

double LevelKernel::sweeps_at_edge(const GroupedModel& model, std::span<const double> saved) {
  return saved[saved.size() - 2 * model.effects() - 2];  // before what moments() reads
}

}  // namespace mlo
