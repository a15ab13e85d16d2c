// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/chain/start.hpp"

#include <gtest/gtest.h>

#include "mlo/model/gaussian_precision.hpp"
#include "support/laws.hpp"

namespace mlo {
namespace {

using testing::design_of;
using testing::regression_table;

// tau of three rows, a gamma law with a shape of 1.51: a third of the Laplace fit is below 0.
TEST(OverdispersedStart, StaysWhereThereIsADensity) {
  Table table = regression_table(3, 0, {}, 5, testing::draw_gaussian);
  table.columns[0].numbers() = {0.3, -1.2, 0.8};
  const GaussianPrecision model(design_of(std::move(table), "y ~ 1"), 0, Prior::gamma(0.01, 0.01));
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const Laplace fit(mode.theta, mode.information);
  // Some would have a negative tau: P(N(0, 1) < -mode / (1.5 sd)).
  EXPECT_GT(1.5 * std::sqrt(fit.covariance()(0, 0)), fit.mode[0]);
  for (std::uint64_t chain = 0; chain < 200; ++chain)
    EXPECT_GT(overdispersed_start(model, fit, 1, chain)[0], 0) << chain;
}

// Where there is a density everywhere: N(mode, 1.5^2 times the fit's covariance). Sums of squares of n normal
// numbers have mean n and variance 2 n; |z| < 5 is one false alarm in a million.
TEST(OverdispersedStart, HasOneAndAHalfTimesTheSpreadOfTheFit) {
  const auto model = testing::small_glm("logistic", 300, testing::draw_logistic);
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const Laplace fit(mode.theta, mode.information);
  constexpr int chains = 2000;
  Eigen::Vector2d sum = Eigen::Vector2d::Zero(), squares = Eigen::Vector2d::Zero();
  for (std::uint64_t chain = 0; chain < chains; ++chain) {
    const Eigen::Vector2d offset = overdispersed_start(model, fit, 7, chain) - fit.mode;
    const Eigen::Vector2d scaled = offset.array() / (1.5 * fit.covariance().diagonal().array().sqrt());
    sum += scaled;
    squares += scaled.cwiseAbs2();
  }
  for (const Eigen::Index j : {0, 1}) {
    EXPECT_LT(std::abs(sum[j]) / std::sqrt(chains), 5) << j;
    EXPECT_LT(std::abs(squares[j] - chains) / std::sqrt(2 * chains), 5) << j;
  }
}

}  // namespace
}  // namespace mlo
