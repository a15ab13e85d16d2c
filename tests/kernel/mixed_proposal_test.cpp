// Copyright (c) the mlo authors. BSD-3-Clause.
// Posteriors that are unlike their Laplace fits, against closed forms and quadrature. Each comparison is z =
// error / MCSE with |z| < 5: one false alarm in some 100,000 seeds.
#include "mlo/kernel/mixed_proposal.hpp"

#include <gtest/gtest.h>

#include "mlo/kernel/full.hpp"
#include "mlo/model/gaussian_precision.hpp"
#include "support/laws.hpp"

namespace mlo {
namespace {

using testing::design_of;
using testing::expect_moments;
using testing::regression_table;
using testing::small_glm;

// y is 1 wherever x is 1: the likelihood has no maximum, and the posterior has a long tail that only the
// prior ends.
Glm separated() {
  Table table = regression_table(24, 0, {0}, 3, testing::draw_logistic);
  for (std::size_t i = 0; i < 24; ++i) {
    table.columns[1].numbers()[i] = i < 3 ? 1 : 0;
    table.columns[0].numbers()[i] = i < 3 || i % 2 == 0 ? 1 : 0;
  }
  const Prior prior = Prior::normal(0, 10);
  return {design_of(std::move(table), "y ~ x1"), make_family("logistic"), GlmPriors{{prior, prior}}};
}

template <class M>
struct Prepared : testing::Fitted<M> {
  explicit Prepared(const M& m) : testing::Fitted<M>(m) {}
  auto kernel() { return FullKernel(this->model, MixedProposal(this->fit), this->pool); }
};

TEST(MixedProposal, SeparatedDataMatchQuadrature) {
  const auto model = separated();
  Prepared set(model);
  const auto q = testing::integrate(model, 40);
  // Far from the Laplace fit, or this would test nothing.
  EXPECT_GT(q.covariance(1, 1), 1.5 * set.fit.covariance()(1, 1));
  auto kernel = set.kernel();
  expect_moments(kernel, set.mode.theta, q.mean, q.covariance, 400'000, "separated");
}

// tau of three rows: a gamma distribution with shape 1.51 and a mode near 0.
TEST(MixedProposal, ThreeRowsMatchTheClosedForm) {
  Table table = regression_table(3, 0, {}, 5, testing::draw_gaussian);
  table.columns[0].numbers() = {0.3, -1.2, 0.8};
  const GaussianPrecision model(design_of(std::move(table), "y ~ 1"), 0, Prior::gamma(0.01, 0.01));
  const double shape = 0.01 + 1.5, rate = 0.01 + (0.09 + 1.44 + 0.64) / 2;
  Prepared set(model);
  auto kernel = set.kernel();
  expect_moments(kernel, set.mode.theta, Eigen::VectorXd::Constant(1, shape / rate),
                 Eigen::MatrixXd::Constant(1, 1, shape / rate / rate), 400'000, "tau");
}

TEST(MixedProposal, OneThousandRowsMatchQuadrature) {
  const auto model = small_glm("logistic", 1000, testing::draw_logistic);
  Prepared set(model);
  const auto q = testing::integrate(model);
  auto kernel = set.kernel();
  expect_moments(kernel, set.mode.theta, q.mean, q.covariance, 100'000, "logistic");
}

TEST(MixedProposal, ManyRowsAreDrawnFromTheLaplaceFit) {
  for (const bool many : {true, false}) {
    const auto tall = small_glm("logistic", 20'000, testing::draw_logistic);
    const auto short_one = separated();
    const auto& model = many ? tall : short_one;
    Prepared set(model);
    MixedProposal proposal(set.fit);
    FullKernel kernel(model, proposal, set.pool);
    // The kernel has a copy of the proposal; save and load get at what it has learnt.
    testing::run(kernel, set.mode.theta, 500, 1, [](const Eigen::VectorXd&, const StepInfo&) {});
    std::vector<double> saved;
    kernel.save(saved);
    proposal.load(saved);
    EXPECT_EQ(proposal.near_laplace(), many);
  }
}

TEST(MixedProposal, ResumesBitForBit) {
  const auto model = separated();
  Prepared set(model);
  for (const std::size_t freeze : {100U, 250U}) {
    auto whole = set.kernel(), before = set.kernel(), after = set.kernel();
    ChainState one{.theta = set.mode.theta}, two{.theta = set.mode.theta};
    const auto advance = [&](auto& kernel, ChainState& state, std::size_t first, std::size_t last) {
      for (std::size_t k = first; k < last; ++k) {
        if (k == freeze) kernel.freeze();
        kernel.step(state, {.seed = 9, .chain = 2, .iteration = k});
      }
    };
    advance(whole, one, 0, 400);
    advance(before, two, 0, 200);
    std::vector<double> saved, end_one, end_two;
    before.save(saved);
    after.load(saved);
    advance(after, two, 200, 400);
    EXPECT_EQ(one.theta, two.theta);
    whole.save(end_one);
    after.save(end_two);
    EXPECT_EQ(end_one, end_two);
  }
}

}  // namespace
}  // namespace mlo
