// Copyright (c) the mlo authors. BSD-3-Clause.
// Proposals in whitened coordinates, where the Laplace fit is N(0, I).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mlo/base/random.hpp"

namespace mlo {

// laplace: preconditioned Crank-Nicolson, v' = sqrt(1 - b^2) v + b z. Warm-up tries several b in turn and
// keeps the one with the most effective draws for its cost: b = 1, an independent draw, wherever the
// posterior is close to its Laplace fit. A share of the steps are symmetric walks of all lengths instead:
// where a tail is heavier than the fit's, Crank-Nicolson steps would get stuck. The share grows with the
// rejections seen. random-walk: v' = v + s z.
class WhiteProposal {
 public:
  enum class Kind { laplace, random_walk };
  struct Options {
    Kind kind = Kind::laplace;
    std::optional<double> step = {};  // b or s, for the whole run; empty: b is tuned, s = 2.38 / sqrt(p)
    double step_cost = 10;            // cost of a step that reads no rows, in rows; used to tune b
    double most_walks = 0.2;          // the share of walks among the steps, if many proposals are refused
  };
  WhiteProposal(std::size_t dim, const Options& options) noexcept;

  // Writes v'; returns whether the move was a symmetric walk, whose log q ratio is 0. For other moves, which
  // leave N(0, I) invariant, it is |v'|^2/2 - |v|^2/2. Which kind a step is depends only on its number:
  // kernels that each leave the posterior invariant may take turns.
  bool propose(Stream& stream, std::uint64_t iteration, std::span<const double> v,
               std::span<double> out) noexcept;
  void learn(bool accepted, std::uint64_t rows_read) noexcept;
  void freeze() noexcept;
  // Whether warm-up has seen enough to say that draws from the Laplace fit are refused too often: the
  // posterior is far from it.
  [[nodiscard]] bool poor() const noexcept { return !frozen_ && refused_often(); }
  [[nodiscard]] double step() const noexcept { return frozen_ ? step_ : grid[trial()]; }
  [[nodiscard]] std::uint64_t walk_every() const noexcept { return walk_every_; }

  void save(std::vector<double>& out) const;
  void load(std::span<const double>& in);  // takes what save() wrote from the front of `in`

 private:
  static constexpr std::array<double, 5> grid{1.0, 0.8, 0.6, 0.4, 0.2};
  static constexpr std::uint64_t trial_steps = 20;  // before the next b is tried
  struct Tally {
    double steps = 0, accepted = 0, rows = 0;
  };
  [[nodiscard]] bool refused_often() const noexcept;
  [[nodiscard]] std::size_t trial() const noexcept { return (learnt_ / trial_steps) % grid.size(); }

  Options options_;
  std::size_t dim_;
  double walk_scale_;
  double step_ = 1;
  std::uint64_t walk_every_ = 10;
  bool frozen_ = false, walked_ = false;
  std::uint64_t learnt_ = 0;
  std::array<Tally, grid.size()> tallies_{};
};

}  // namespace mlo
