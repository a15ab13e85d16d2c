// Copyright (c) the mlo authors. BSD-3-Clause.
// The map of all effects with their standard deviation, where rows are read as odds: its Jacobian against
// differences, and its way back. Levels lean to one side, as those with rare events do.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "kernel/level_odds.hpp"

namespace mlo::level_passes {
namespace {

struct Block {
  std::array<double, level_lanes> t{}, next{}, mean{};
  std::array<float, level_lanes> centre{}, slope{}, bend{}, skew{};

  Block() {
    for (std::size_t i = 0; i < level_lanes; ++i) {
      const auto at = static_cast<double>(i);
      t[i] = -2 + 0.6 * at;
      mean[i] = 0.1;
      centre[i] = static_cast<float>(-0.3 + 0.05 * at);
      slope[i] = static_cast<float>(0.1 * at - 0.3);
      bend[i] = static_cast<float>(0.3 + 0.1 * at);
      skew[i] = static_cast<float>(0.4 * at);
    }
  }
  // From t to next, without the effects' densities.
  double move(double tau, double lift, double next_tau, double next_lift) {
    OddsLevels of;
    of.t = t.data();
    of.next = next.data();
    of.mean = mean.data();
    of.centre = centre.data();
    of.slope = slope.data();
    of.bend = bend.data();
    of.skew = skew.data();
    of.count_of_levels = level_lanes;
    of.tau = tau;
    of.lift = lift;
    double log_ratio = rescale_odds(of, next_tau, next_lift, {0, 1});
    for (std::size_t i = 0; i < level_lanes; ++i) {
      const double down = t[i] - mean[i], up = next[i] - mean[i];
      log_ratio += 0.5 * (next_tau * up * up - tau * down * down);
    }
    return log_ratio;
  }
};

TEST(LevelOddsMap, HasTheJacobianThatIsReturned) {
  Block block;
  const double found = block.move(1, 0.1, 1.7, -0.2);
  constexpr double step = 1e-5;
  std::array<Block, 2> beside;
  for (std::size_t side = 0; side < 2; ++side) {
    for (double& t : beside[side].t) t += side == 0 ? -step : step;
    static_cast<void>(beside[side].move(1, 0.1, 1.7, -0.2));
  }
  double by_differences = 0;
  for (std::size_t i = 0; i < level_lanes; ++i)
    by_differences += std::log((beside[1].next[i] - beside[0].next[i]) / (2 * step));
  EXPECT_NEAR(found, by_differences, 1e-7);
}

TEST(LevelOddsMap, IsUndoneByTheMoveBack) {
  Block block, back;
  const double there = block.move(1, 0.1, 1.7, -0.2);
  back.t = block.next;
  EXPECT_NEAR(there + back.move(1.7, -0.2, 1, 0.1), 0, 1e-12);
  for (std::size_t i = 0; i < level_lanes; ++i) EXPECT_NEAR(back.next[i], block.t[i], 1e-12);
}

}  // namespace
}  // namespace mlo::level_passes
