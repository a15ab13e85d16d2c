// Copyright (c) the mlo authors. BSD-3-Clause.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "diagnose/group_draws.cpp"
#include "mlo/diagnose/group_draws.hpp"

#include <hwy/foreach_target.h>  // compiles this file once per instruction set; before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

#include "mlo/base/random.hpp"
#include "mlo/diagnose/posterior_draws.hpp"

HWY_BEFORE_NAMESPACE();
namespace mlo::group_draws::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// eta += z * effect, in whole vectors.
void AddScaled(double z, const float* effect, std::size_t count, double* eta) {
  const hn::CappedTag<double, 8> d;
  const hn::Rebind<float, decltype(d)> f;
  const auto multiplier = hn::Set(d, z);
  for (std::size_t s = 0; s < count; s += hn::Lanes(d))
    hn::StoreU(hn::MulAdd(multiplier, hn::PromoteTo(d, hn::LoadU(f, effect + s)), hn::LoadU(d, eta + s)), d,
               eta + s);
}

}  // namespace mlo::group_draws::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlo {
namespace group_draws {
HWY_EXPORT(AddScaled);
}  // namespace group_draws

namespace {

constexpr std::size_t most_dim = 8;  // effects of one term: the design allows no more
// All effects are made ready at once if they take no more than this; otherwise those of some rows.
constexpr std::size_t most_bytes_at_once = std::size_t{64} << 20U;

// The lower triangle of the Cholesky factor of a covariance, row after row. Correlations were rounded: what
// is left of a variance may be a little below 0.
void factor_of(const GroupLaw& law, const double* parameters, double* out) {
  const double* correlation = parameters + law.dim;
  std::array<double, most_dim*(most_dim + 1) / 2> l{};
  const auto at = [&](std::size_t i, std::size_t j) -> double& { return l[i * (i + 1) / 2 + j]; };
  for (std::size_t i = 0; i < law.dim; ++i) {
    double left = 1;
    for (std::size_t j = 0; j < i; ++j) {
      double value = law.correlated ? *correlation++ : 0;
      for (std::size_t k = 0; k < j; ++k) value -= at(i, k) * at(j, k);
      at(i, j) = at(j, j) > 0 ? value / at(j, j) : 0;
      left -= at(i, j) * at(i, j);
    }
    at(i, i) = std::sqrt(std::max(0.0, left));
  }
  for (std::size_t i = 0; i < law.dim; ++i)
    for (std::size_t j = 0; j <= i; ++j) out[i * (i + 1) / 2 + j] = parameters[i] * at(i, j);
}

// What multiplies the effects of a row.
std::size_t multipliers(const GroupLaw& law, const RowGroups& rows, std::size_t row,
                        std::array<double, most_dim>& out) {
  const std::size_t own = law.intercept ? 1 : 0, width = law.dim - own;
  out[0] = 1;
  for (std::size_t e = 0; e < width; ++e) out[own + e] = static_cast<double>(rows.z[row * width + e]);
  return law.dim;
}

}  // namespace

GroupDraws::GroupDraws(std::span<const ChainDraws> chains, std::vector<GroupLaw> laws, std::size_t first,
                       const Sampling& sampling)
    : chains_(chains), laws_(std::move(laws)), sampling_(sampling) {
  length_ = chains.empty() ? 0 : chains[0].size();
  for (const ChainDraws& chain : chains) length_ = std::min(length_, chain.size());
  draws_ = length_ * chains.size();
  stride_ = PosteriorDraws::padded(draws_);
  for (const GroupLaw& law : laws_) {
    assert(law.dim <= most_dim);
    effects_ += law.levels * law.dim;
    places_.emplace_back(law.levels, not_there);
  }
  kept_ = std::all_of(chains.begin(), chains.end(), [&](const ChainDraws& chain) {
    return chain.effects.size() == chain.size() * effects_;
  });
  for (const GroupLaw& law : laws_) {
    std::vector<double>& factors = factors_.emplace_back();
    const std::size_t size = law.dim * (law.dim + 1) / 2;
    if (sampling_.sample) factors.resize(draws_ * size);
    double* out = factors.data();
    for (const ChainDraws& chain : chains)
      for (std::size_t s = 0; s < length_ && sampling_.sample; ++s, out += size)
        factor_of(law, chain.draws.data() + s * chain.dim + first, out);
    first += law.parameters();
  }
}

void GroupDraws::prepare(std::span<const RowGroups> groups, ThreadPool& pool) {
  if (!kept_) return;
  assert(groups.size() == laws_.size());
  bool all_there = true;
  std::vector<std::vector<std::uint32_t>> levels(laws_.size());
  for (std::size_t t = 0; t < laws_.size(); ++t) {
    std::vector<char> wanted(laws_[t].levels, 0);
    for (const std::uint32_t code : groups[t].codes) {
      if (code == new_level) continue;
      wanted[code] = 1;
      all_there = all_there && places_[t][code] != not_there;
    }
    const bool all = effects_ * stride_ * sizeof(float) <= most_bytes_at_once;
    for (std::uint32_t level = 0; level < wanted.size(); ++level)
      if (all || wanted[level] != 0) levels[t].push_back(level);
  }
  if (!all_there) load(levels, pool);
}

// Sixteen draws at a time: the reads are sixteen streams through memory, and the writes whole cache lines.
void GroupDraws::load(const std::vector<std::vector<std::uint32_t>>& levels, ThreadPool& pool) {
  std::vector<std::uint32_t> sources;  // where the effects are in a draw
  std::size_t before = 0;
  for (std::size_t t = 0; t < laws_.size(); ++t) {
    std::fill(places_[t].begin(), places_[t].end(), not_there);
    for (const std::uint32_t level : levels[t]) {
      places_[t][level] = static_cast<std::uint32_t>(sources.size());
      for (std::size_t e = 0; e < laws_[t].dim; ++e)
        sources.push_back(static_cast<std::uint32_t>(before + level * laws_[t].dim + e));
    }
    before += laws_[t].levels * laws_[t].dim;
  }
  ready_.resize(sources.size() * stride_);
  constexpr std::size_t at_a_time = PosteriorDraws::draws_at_a_time;
  pool.run(stride_ / at_a_time, [&](std::size_t task) {
    std::array<const float*, at_a_time> draw{};
    for (std::size_t s = 0; s < at_a_time; ++s) {
      const std::size_t number = std::min(task * at_a_time + s, draws_ - 1);
      draw[s] = chains_[number / length_].effects.data() + (number % length_) * effects_;
    }
    for (std::size_t e = 0; e < sources.size(); ++e) {
      float* const out = ready_.data() + e * stride_ + task * at_a_time;
      for (std::size_t s = 0; s < at_a_time; ++s) out[s] = draw[s][sources[e]];
    }
  });
}

void GroupDraws::add(std::span<const RowGroups> groups, std::size_t row, std::size_t first,
                     std::span<double> eta) const {
  using namespace mlo::group_draws;
  assert(first % draws_per_stream == 0 && first + eta.size() <= draws_);
  for (std::size_t t = 0; t < laws_.size(); ++t) {
    std::array<double, most_dim> z{};
    const std::size_t dim = multipliers(laws_[t], groups[t], row, z);
    const std::uint32_t code = groups[t].codes[row];
    if (code == new_level) {
      if (sampling_.sample) add_new(t, groups[t].keys[row], std::span(z).first(dim), first, eta);
      continue;
    }
    if (!kept_) continue;
    assert(places_[t][code] != not_there);
    const float* effect = ready_.data() + places_[t][code] * stride_ + first;
    for (std::size_t e = 0; e < dim; ++e, effect += stride_)
      if (z[e] != 0) HWY_DYNAMIC_DISPATCH(AddScaled)(z[e], effect, eta.size(), eta.data());
  }
}

// z'L times standard normal numbers, which are the same for all rows of the level.
void GroupDraws::add_new(std::size_t term, std::uint64_t key, std::span<const double> z, std::size_t first,
                         std::span<double> eta) const {
  const std::size_t dim = z.size(), size = dim * (dim + 1) / 2;
  for (std::size_t at = 0; at < eta.size(); at += draws_per_stream) {
    // Chain 0 is that of simulated responses.
    Stream stream({.seed = sampling_.seed,
                   .chain = (term + 1) | ((first + at) / draws_per_stream) << 16U,
                   .purpose = Purpose::predict,
                   .iteration = key});
    const std::size_t end = std::min(eta.size(), at + draws_per_stream);
    for (std::size_t s = at; s < end; ++s) {
      const double* const l = factors_[term].data() + (first + s) * size;
      for (std::size_t j = 0; j < dim; ++j) {
        double sum = 0;
        for (std::size_t i = j; i < dim; ++i) sum += z[i] * l[i * (i + 1) / 2 + j];
        eta[s] += sum * normal(stream);
      }
    }
  }
}

}  // namespace mlo
#endif  // HWY_ONCE
