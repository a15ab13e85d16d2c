// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/sufficient.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "mlo/model/gaussian_precision.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/model/mode.hpp"
#include "support/designs.hpp"

namespace mlo {
namespace {

// The log-likelihood from the sums alone equals that from all rows: at the mode, near it and far away.
template <class M>
void expect_summary(const M& model) {
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const Summarised summarised(model, model.summed(mode));
  EXPECT_EQ(summarised.rows(), 0U);
  EXPECT_EQ(summarised.dim(), model.dim());
  const Eigen::VectorXd sd = mode.information.inverse().diagonal().cwiseSqrt();
  const double at_mode = model.log_likelihood(params(mode.theta), Rows::range(0, model.rows()));
  Stream stream({.seed = 3, .chain = 0, .purpose = Purpose::start, .iteration = 0});
  for (const double distance : {0.0, 0.1, 1.0, 5.0, 30.0})
    for (int k = 0; k < 10; ++k) {
      Eigen::VectorXd theta = mode.theta;
      for (Eigen::Index j = 0; j < theta.size(); ++j) theta[j] += distance * sd[j] * normal(stream);
      if (!std::isfinite(model.log_prior(params(theta)))) continue;  // a precision below 0
      const double expected = model.log_likelihood(params(theta), Rows::range(0, model.rows()));
      EXPECT_NEAR(log_likelihood(summarised, pool, params(theta)), expected,
                  1e-10 * (std::abs(expected) + std::abs(at_mode)))
          << "distance " << distance;
      EXPECT_EQ(summarised.log_prior(params(theta)), model.log_prior(params(theta)));
    }
}

TEST(Summarised, IsTheLogLikelihoodOfAllRows) {
  const auto design = [] {
    return testing::design_of(testing::regression_table(400, 1.0, {0.5, -2}, 3, testing::draw_gaussian),
                              "y ~ x1 + x2");
  };
  const std::vector<Prior> coefficients(3, Prior::student_t(3, 0, 2));
  expect_summary(Glm(design(), make_family("gaussian-mean", {{"known-sigma", 1.3}}),
                     GlmPriors{.coefficients = coefficients}));
  expect_summary(Glm(design(), make_family("gaussian"),
                     GlmPriors{.coefficients = coefficients, .second = Prior::gamma(2, 1)}));
  expect_summary(GaussianPrecision(
      testing::design_of(testing::regression_table(50, 0.0, {}, 3, testing::draw_gaussian), "y ~ 1"), 0.2,
      Prior::gamma(2, 0.7)));
}

}  // namespace
}  // namespace mlo
