// Copyright (c) the mlo authors. BSD-3-Clause.
// The draws of group effects, laid out for predictions: all draws of an effect side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/chain/draws.hpp"

namespace mlo {

// One group term, as its draws need it.
struct GroupLaw {
  std::size_t levels = 0;
  std::size_t dim = 0;      // effects per level
  bool intercept = false;   // if so, it is effect 0, and its multiplier, 1, is not among a row's
  bool correlated = false;  // whether there are correlations among the parameters
  // Standard deviations, then correlations (2,1), (3,1), (3,2), ...
  [[nodiscard]] std::size_t parameters() const noexcept {
    return dim + (correlated ? dim * (dim - 1) / 2 : 0);
  }
};

// Some rows' groups of one term.
struct RowGroups {
  std::vector<std::uint32_t> codes;  // a level, or GroupDraws::new_level
  std::vector<std::uint64_t> keys;   // of new levels: equal for equal levels
  std::vector<float> z;              // dim numbers per row, without that of an intercept
};

class GroupDraws {
 public:
  static constexpr std::uint32_t new_level = static_cast<std::uint32_t>(-1);
  // How many draws of a new level's effects come from one stream of random numbers.
  static constexpr std::size_t draws_per_stream = 512;

  // The terms' parameters stand in the chains' draws one after the other, from number `first` on. Effects of
  // new levels are drawn from the term's law, or 0 without `sample`: an effect depends on the seed, the term,
  // the level's key and the draw alone. The chains must outlive the object. If chains differ
  // in length, only as many draws of each are used as the shortest has.
  struct Sampling {
    bool sample = true;
    std::uint64_t seed = 1;
  };
  GroupDraws(std::span<const ChainDraws> chains, std::vector<GroupLaw> laws, std::size_t first,
             const Sampling& sampling);

  // Whether the chains have the draws of the effects: if not, those of all levels of the fit are 0.
  [[nodiscard]] bool kept() const noexcept { return kept_; }
  [[nodiscard]] const std::vector<GroupLaw>& laws() const noexcept { return laws_; }
  [[nodiscard]] std::size_t draws() const noexcept { return draws_; }

  // Makes the draws of these rows' levels ready, one RowGroups per term. Chains have them draw after draw; an
  // effect's draws would be read with a cache miss each.
  void prepare(std::span<const RowGroups> groups, ThreadPool& pool);

  // Adds the effects of row `row` to its linear predictors of the draws [first, first + eta.size()), after
  // prepare(). `first` is a multiple of draws_per_stream; eta has room for
  // PosteriorDraws::padded(eta.size()) numbers. Threads may call this at the same time.
  void add(std::span<const RowGroups> groups, std::size_t row, std::size_t first,
           std::span<double> eta) const;

 private:
  void add_new(std::size_t term, std::uint64_t key, std::span<const double> z, std::size_t first,
               std::span<double> eta) const;
  void load(const std::vector<std::vector<std::uint32_t>>& levels, ThreadPool& pool);

  std::span<const ChainDraws> chains_;
  std::vector<GroupLaw> laws_;
  Sampling sampling_;
  bool kept_ = false;
  std::size_t length_ = 0, draws_ = 0, stride_ = 0, effects_ = 0;
  // Which levels are ready: by term and level, the place of the level's first effect, or `not_there`.
  static constexpr std::uint32_t not_there = static_cast<std::uint32_t>(-1);
  std::vector<std::vector<std::uint32_t>> places_;
  std::vector<float> ready_;  // by effect, then by draw; stride_ per effect
  // By term: the lower triangles of the covariances' Cholesky factors, draw after draw.
  std::vector<std::vector<double>> factors_;
};

}  // namespace mlo
