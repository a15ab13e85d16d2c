// Copyright (c) the mlo authors. BSD-3-Clause.
// Divide and conquer: shards, and what consensus and weierstrass sample. |z| < 5 is one false alarm in a
// million; seeds are fixed.
#include "mlo/kernel/shards.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "mlo/kernel/consensus.hpp"
#include "mlo/kernel/weierstrass.hpp"
#include "mlo/model/gaussian_precision.hpp"
#include "mlo/model/glm.hpp"
#include "support/designs.hpp"
#include "support/laws.hpp"

namespace mlo {
namespace {

using testing::BatchMean;
using testing::design_of;
using testing::expect_moments;
using testing::integrate;
using testing::Quadrature;
using testing::regression_table;

static_assert(Kernel<ConsensusKernel<Glm>> && Kernel<WeierstrassKernel<Glm>>);
static_assert(ConsensusKernel<Glm>::promise() == Promise::approximate &&
              WeierstrassKernel<Glm>::promise() == Promise::approximate);
static_assert(SummableModel<Shard<Glm>> && TwiceDifferentiable<Shard<Glm>> && NamedModel<Shard<Glm>>);

// A model with only the members that a model must have.
struct Plain {
  const Glm* model;
  [[nodiscard]] std::size_t dim() const { return model->dim(); }
  [[nodiscard]] std::size_t rows() const { return model->rows(); }
  [[nodiscard]] double log_prior(Params theta) const { return model->log_prior(theta); }
  void log_likelihoods(Params theta, Rows rows, std::span<double> out) const {
    model->log_likelihoods(theta, rows, out);
  }
};
static_assert(Model<Shard<Plain>> && !SummableModel<Shard<Plain>> && !TwiceDifferentiable<Shard<Plain>> &&
              !NamedModel<Shard<Plain>>);

Glm logistic(std::size_t rows, double sd = 2.5) {
  return testing::small_glm("logistic", rows, testing::draw_logistic, Prior::normal(0.2, sd));
}

// sigma is known, so every shard's posterior is normal. There are few rows, so that the shards differ.
Glm gaussian(std::size_t rows) {
  return {design_of(regression_table(rows, 1.0, {-0.5}, 3, testing::draw_gaussian), "y ~ x1"),
          make_family("gaussian-mean", {{"known-sigma", 1.5}}),
          {{Prior::normal(3, 0.8), Prior::normal(1, 0.7)}, false, Prior::flat()}};
}

template <class M>
struct Divided {
  ThreadPool pool{1};
  Mode mode;
  Shards<M> shards;
  Divided(const M& model, std::size_t count)
      : mode(find_mode(model, pool)), shards(model, count, mode, pool) {}
  // Of the posterior, if it is normal.
  [[nodiscard]] Eigen::MatrixXd covariance() const { return mode.information.inverse(); }
};

TEST(Shard, TakesEveryRowOnceAndAddsUpToTheWholeModel) {
  const auto model = logistic(1003);
  ThreadPool pool(1);
  const Eigen::VectorXd theta = Eigen::Vector2d(0.7, -0.2);
  const Params at = params(theta);
  std::vector<double> terms(model.rows());
  model.log_likelihoods(at, Rows::range(0, model.rows()), terms);
  double value = 0, plain_value = 0, prior = 0;
  Derivatives sums(2), whole(2);
  std::size_t rows = 0;
  const Plain plain{&model};
  for (std::size_t s = 0; s < 7; ++s) {
    const Shard shard(model, s, 7);
    std::vector<double> own(shard.rows());
    shard.log_likelihoods(at, Rows::range(0, shard.rows()), own);
    for (std::size_t k = 0; k < own.size(); ++k) EXPECT_EQ(own[k], terms[s + 7 * k]);
    rows += shard.rows();
    value += log_likelihood(shard, pool, at);
    plain_value += log_likelihood(Shard(plain, s, 7), pool, at);
    prior += shard.log_prior(at);
    sums += sum_derivatives(shard, pool, at, Rows::range(0, shard.rows()));
    shard.add_prior_derivatives(at, sums);
  }
  EXPECT_EQ(rows, model.rows());
  EXPECT_NEAR(value, log_likelihood(model, pool, at), 1e-9);
  EXPECT_NEAR(plain_value, log_likelihood(model, pool, at), 1e-9);
  EXPECT_NEAR(prior, model.log_prior(at), 1e-12);
  whole = sum_derivatives(model, pool, at, Rows::range(0, model.rows()));
  model.add_prior_derivatives(at, whole);
  EXPECT_NEAR(sums.value, whole.value, 1e-9);
  EXPECT_LT((sums.gradient - whole.gradient).norm(), 1e-9);
  EXPECT_LT((sums.information - whole.information).norm(), 1e-9);
}

TEST(Shard, TranslatesListsOfItsRows) {
  const auto model = logistic(2000);
  const Shard shard(model, 2, 3);
  ASSERT_EQ(shard.rows(), 666U);
  std::vector<RowId> mine, theirs;
  for (std::size_t k = 0; k < 600; ++k) {  // more than a batch, in no order, with repeats
    mine.push_back(static_cast<RowId>(k * 389 % 666));
    theirs.push_back(2 + 3 * mine.back());
  }
  mine.push_back(mine[5]);
  theirs.push_back(theirs[5]);
  const Eigen::VectorXd theta = Eigen::Vector2d(0.7, -0.2);
  std::vector<double> a(mine.size()), b(mine.size());
  shard.log_likelihoods(params(theta), Rows(mine), a);
  model.log_likelihoods(params(theta), Rows(theirs), b);
  EXPECT_EQ(a, b);
  EXPECT_NEAR(shard.log_likelihood(params(theta), Rows(mine)),
              model.log_likelihood(params(theta), Rows(theirs)), 1e-10);
  Derivatives da(2), db(2);
  shard.add_derivatives(params(theta), Rows(mine), da);
  model.add_derivatives(params(theta), Rows(theirs), db);
  EXPECT_LT((da.information - db.information).norm() + (da.gradient - db.gradient).norm(), 1e-10);
}

TEST(Shards, HaveFitsWhoseProductIsThePosteriorIfThatIsNormal) {
  const auto model = gaussian(60);
  const Divided set(model, 5);
  Eigen::MatrixXd information = Eigen::MatrixXd::Zero(2, 2);
  Eigen::VectorXd weighted = Eigen::VectorXd::Zero(2);
  for (std::size_t s = 0; s < 5; ++s) {
    const Eigen::MatrixXd own = set.shards.fit(s).cholesky * set.shards.fit(s).cholesky.transpose();
    information += own;
    weighted += own * set.shards.fit(s).mode;
  }
  EXPECT_LT((information - set.mode.information).norm(), 1e-8);
  EXPECT_LT((information.inverse() * weighted - set.mode.theta).norm(), 1e-8);
  EXPECT_TRUE(set.shards.warnings().empty());
  EXPECT_LT(set.shards.passes(), 4);
}

// Shards of 1,000 rows are much alike: their information matrices, each at the shard's own mode, add up to
// that of the whole model within a few per cent, which is how much the curvature changes over a few standard
// deviations.
template <class M>
void expect_fits_like_the_whole(const M& model, const char* what) {
  Divided set(model, 4);
  EXPECT_TRUE(set.shards.warnings().empty()) << what;
  Eigen::MatrixXd information = Eigen::MatrixXd::Zero(set.mode.theta.size(), set.mode.theta.size());
  for (std::size_t s = 0; s < 4; ++s)
    information += set.shards.fit(s).cholesky * set.shards.fit(s).cholesky.transpose();
  EXPECT_LT((information - set.mode.information).norm(), 0.1 * set.mode.information.norm()) << what;
  // Draws in the posterior's bulk: in 400 steps, each theta is within 6 of its standard deviations.
  ConsensusKernel consensus(set.shards, {}, set.pool);
  WeierstrassKernel weierstrass(set.shards, {}, set.pool);
  const Laplace whole(set.mode.theta, set.mode.information);
  const auto within = [&](const Eigen::VectorXd& theta, const StepInfo& info) {
    EXPECT_TRUE(info.finite) << what;
    EXPECT_LT(whole.to_white(theta).cwiseAbs().maxCoeff(), 6) << what;
  };
  testing::run(consensus, set.mode.theta, 10, 400, within);
  testing::run(weierstrass, set.mode.theta, 10, 400, within);
}

TEST(Shards, FitFamiliesWithASecondParameterAndOtherModels) {
  const auto design = [](double (*draw)(Stream&, double)) {
    return design_of(regression_table(4000, 0.5, {0.4}, 5, draw), "y ~ x1");
  };
  const GlmPriors priors{{Prior::normal(0, 2), Prior::normal(0, 2)}, false, Prior::gamma(2, 0.5)};
  expect_fits_like_the_whole(Glm(design(testing::draw_gaussian), make_family("gaussian"), priors),
                             "gaussian");
  expect_fits_like_the_whole(Glm(design(testing::draw_student), make_family("student"), priors), "student");
  expect_fits_like_the_whole(
      Glm(design(testing::draw_negative_binomial), make_family("negative-binomial"), priors),
      "negative binomial");
  expect_fits_like_the_whole(Glm(design(testing::draw_gamma), make_family("gamma"), priors), "gamma");
  expect_fits_like_the_whole(
      GaussianPrecision(design_of(regression_table(4000, 0, {}, 5, testing::draw_gaussian), "y ~ 1"), 0,
                        Prior::gamma(2, 0.7)),
      "gaussian precision");
}

TEST(Shards, SayWhichOfThemHasNoModeOfItsOwn) {
  // With every second row's response 1, the second shard of two is separated; the whole is not.
  Table table = regression_table(200, 0.3, {0.9}, 21, testing::draw_logistic);
  for (std::size_t i = 1; i < 200; i += 2) table.columns[0].numbers()[i] = 1;
  const Glm model(design_of(std::move(table), "y ~ x1"), make_family("logistic"),
                  {{Prior::flat(), Prior::flat()}, false, Prior::flat()});
  const Divided set(model, 2);
  ASSERT_EQ(set.shards.warnings().size(), 1U);
  EXPECT_NE(set.shards.warnings()[0].find("shard 2 of 2"), std::string::npos) << set.shards.warnings()[0];
  EXPECT_NE(set.shards.warnings()[0].find("separation"), std::string::npos) << set.shards.warnings()[0];
  EXPECT_EQ(set.shards.fit(1).mode, set.mode.theta);
  ThreadPool pool(1);
  EXPECT_THROW(Shards(model, 0, set.mode, pool), UsageError);
  EXPECT_THROW(Shards(model, 201, set.mode, pool), UsageError);
}

// A column that is 0 in all rows of the second shard: with a prior, that shard's posterior is proper,
// although its rows say nothing about the coefficient.
TEST(Shards, FitAShardByItsOwnCurvatureWhereItsRowsSayNothing) {
  Table table = regression_table(200, 0.3, {0.9}, 21, testing::draw_logistic);
  for (std::size_t i = 1; i < 200; i += 2) table.columns[1].numbers()[i] = 0;
  const Glm model(design_of(std::move(table), "y ~ 0 + x1"), make_family("logistic"),
                  {{Prior::normal(0, 2)}, false, Prior::flat()});
  const Divided set(model, 2);
  ASSERT_EQ(set.shards.warnings().size(), 1U);
  // Half the prior's precision, in working coordinates; the whole model's is twice that.
  Derivatives prior(1);
  model.add_prior_derivatives(params(set.mode.theta), prior);
  EXPECT_NEAR(std::pow(set.shards.fit(1).cholesky(0, 0), 2), prior.information(0, 0) / 2, 1e-10);
}

TEST(Consensus, IsExactForNormalPosteriors) {
  const auto model = gaussian(60);
  Divided set(model, 5);
  ConsensusKernel kernel(set.shards, {}, set.pool);
  expect_moments(kernel, set.mode.theta, set.mode.theta, set.covariance(), 50'000, "consensus");
}

// With N draws a weight is off by about N^-1/2, and so is the mean, in posterior standard deviations: 2 % for
// half of 5,000 steps of warm-up. Three times that is allowed.
TEST(Consensus, LearnsTheSameWeightsFromDraws) {
  const auto model = gaussian(60);
  Divided set(model, 5);
  ConsensusKernel kernel(set.shards, {.weights = ShardWeights::draws, .warmup = 5000}, set.pool);
  constexpr std::size_t steps = 50'000;
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(2), square = Eigen::VectorXd::Zero(2);
  bool from_draws = false;
  ConsensusKernel fitted(set.shards, {}, set.pool);
  ChainState one{.theta = set.mode.theta}, two = one;
  for (std::size_t k = 0; k < 5000 + steps; ++k) {
    if (k == 5000) {
      kernel.freeze();
      fitted.freeze();
    }
    (void)kernel.step(one, {.seed = 42, .chain = 0, .iteration = k});
    (void)fitted.step(two, {.seed = 42, .chain = 0, .iteration = k});
    if (k < 5000) {
      EXPECT_EQ(one.theta, two.theta);  // the same draws, and the same weights until warm-up ends
    } else {
      from_draws = from_draws || one.theta != two.theta;
      const Eigen::VectorXd t = one.theta - set.mode.theta;
      mean += t / steps;
      square += t.cwiseAbs2() / steps;
    }
  }
  EXPECT_TRUE(from_draws);
  for (Eigen::Index j = 0; j < 2; ++j) {
    const double sd = std::sqrt(set.covariance()(j, j));
    EXPECT_LT(std::abs(mean[j]) / sd, 0.06);
    EXPECT_NEAR(std::sqrt(square[j]) / sd, 1, 0.03);
  }
}

TEST(Consensus, KeepsTheFitsWeightsIfTheWarmUpIsTooShortToLearnOthers) {
  const auto model = gaussian(60);
  Divided set(model, 5);
  const auto run = [&](ShardWeights weights, std::size_t warmup) {
    ConsensusKernel kernel(set.shards, {.weights = weights, .warmup = warmup}, set.pool);
    ChainState state{.theta = set.mode.theta};
    for (std::size_t k = 0; k < warmup + 10; ++k) {
      if (k == warmup) kernel.freeze();
      (void)kernel.step(state, {.seed = 42, .chain = 0, .iteration = k});
    }
    return state.theta;
  };
  EXPECT_EQ(run(ShardWeights::draws, 198), run(ShardWeights::fit, 198));
  EXPECT_NE(run(ShardWeights::draws, 200), run(ShardWeights::fit, 200));
}

// The posteriors of shards of 500 rows are nearly normal: their remaining skewness shifts the mean by a few
// hundredths of a standard deviation and the sd by one per cent.
TEST(Consensus, LogisticIsCloseToQuadrature) {
  const auto model = logistic(2000);
  const Quadrature q = integrate(model);
  Divided set(model, 4);
  ConsensusKernel kernel(set.shards, {}, set.pool);
  constexpr std::size_t steps = 20'000;
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(2), square = Eigen::VectorXd::Zero(2);
  double accepted = 0, rows = 0;
  testing::run(kernel, set.mode.theta, 500, steps, [&](const Eigen::VectorXd& theta, const StepInfo& info) {
    mean += (theta - q.mean) / steps;
    square += (theta - q.mean).cwiseAbs2() / steps;
    accepted += info.accepted ? 1.0 / steps : 0;
    rows += static_cast<double>(info.rows_read) / steps;
  });
  for (Eigen::Index j = 0; j < 2; ++j) {
    const double sd = std::sqrt(q.covariance(j, j));
    EXPECT_LT(std::abs(mean[j]) / sd, 0.1) << j;
    EXPECT_NEAR(std::sqrt(square[j] - mean[j] * mean[j]) / sd, 1, 0.04) << j;
  }
  EXPECT_NEAR(rows, 2000, 1e-6);
  EXPECT_GT(accepted, 0.9);
}

// The mean is the posterior's, the covariance is 1 + h^2 times the posterior's, and a step forgets h^2 / (1 +
// h^2) of theta.
TEST(Weierstrass, NormalPosteriorsAreWidenedByTheBandwidthAndNotMoved) {
  const auto model = gaussian(60);
  Divided set(model, 5);
  for (const double h : {0.5, 2.0}) {
    WeierstrassKernel kernel(set.shards, {.bandwidth = h, .local_share = 0}, set.pool);
    expect_moments(kernel, set.mode.theta, set.mode.theta, (1 + h * h) * set.covariance(), 100'000,
                   "weierstrass");
    BatchMean products(100'000);
    Eigen::VectorXd before = set.mode.theta;
    testing::run(kernel, set.mode.theta, 100, 100'000,
                 [&](const Eigen::VectorXd& theta, const StepInfo& info) {
                   EXPECT_TRUE(info.accepted);
                   products.add((theta[0] - set.mode.theta[0]) * (before[0] - set.mode.theta[0]));
                   before = theta;
                 });
    EXPECT_LT(std::abs(products.z(set.covariance()(0, 0))), 5) << h;  // (1 + h^2) / (1 + h^2)
  }
}

// The smoothed distribution, by quadrature, where neither the shards' posteriors nor their smoothed forms are
// normal: an intercept and 30 rows, two of which are 1, so that one shard of ten rows has only zeros.
TEST(Weierstrass, SkewedPosteriorsMatchTheProductOfTheSmoothedOnes) {
  Table table = regression_table(30, 0, {}, 8, testing::draw_logistic);
  for (std::size_t i = 0; i < 30; ++i) table.columns[0].numbers()[i] = i == 0 || i == 10 ? 1 : 0;
  const Glm model(design_of(std::move(table), "y ~ 1"), make_family("logistic"),
                  {{Prior::normal(0, 2)}, false, Prior::flat()});
  constexpr double h = 0.8;
  Divided set(model, 3);
  ASSERT_TRUE(set.shards.warnings().empty());
  const double middle = set.mode.theta[0], unit = 1 / std::sqrt(set.mode.information(0, 0));
  double total = 0, mean = 0, square = 0, skew = 0;
  constexpr double step = 0.05;
  std::vector<std::vector<double>> densities(3);
  std::vector<double> points;
  for (double v = -25; v <= 15; v += step) points.push_back(middle + v * unit);
  for (std::size_t s = 0; s < 3; ++s)
    for (const double t : points) {
      const Eigen::VectorXd at = Eigen::VectorXd::Constant(1, t);
      densities[s].push_back(std::exp(log_likelihood(set.shards[s], set.pool, params(at)) +
                                      set.shards[s].log_prior(params(at))));
    }
  for (const double theta : points) {
    double density = 1;
    for (std::size_t s = 0; s < 3; ++s) {
      const double precision = std::pow(set.shards.fit(s).cholesky(0, 0) / h, 2);
      double smoothed = 0;
      for (std::size_t k = 0; k < points.size(); ++k)
        smoothed += densities[s][k] * std::exp(-0.5 * precision * std::pow(points[k] - theta, 2));
      density *= smoothed;
    }
    const double t = (theta - middle) / unit;
    total += density;
    mean += density * t;
    square += density * t * t;
    skew += density * t * t * t;
  }
  const double expected = mean / total;
  // The distribution is clearly not normal: the skewness is well above the Monte Carlo errors of the third
  // moments.
  const double variance = square / total - expected * expected;
  const double third = skew / total - 3 * expected * square / total + 2 * std::pow(expected, 3);
  ASSERT_LT(third / std::pow(variance, 1.5), -0.2);
  constexpr std::size_t steps = 300'000;
  BatchMean first(steps), second(steps), cubes(steps);
  WeierstrassKernel kernel(set.shards, {.bandwidth = h}, set.pool);
  double accepted = 0;
  testing::run(kernel, set.mode.theta, 1000, steps, [&](const Eigen::VectorXd& theta, const StepInfo& info) {
    const double t = (theta[0] - middle) / unit;
    first.add(t);
    second.add(t * t);
    cubes.add(t * t * t);
    accepted += info.accepted ? 1.0 / steps : 0;
  });
  EXPECT_LT(std::abs(first.z(expected)), 5);
  EXPECT_LT(std::abs(second.z(square / total)), 5);
  EXPECT_LT(std::abs(cubes.z(skew / total)), 5);
  EXPECT_GT(accepted, 0.7);
  EXPECT_LT(accepted, 0.99);  // so the acceptance ratio matters
}

TEST(Weierstrass, LogisticIsCloseToQuadrature) {
  const auto model = logistic(2000);
  const Quadrature q = integrate(model);
  Divided set(model, 4);
  constexpr double h = 0.5;
  WeierstrassKernel kernel(set.shards, {.bandwidth = h}, set.pool);
  constexpr std::size_t steps = 20'000;
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(2), square = Eigen::VectorXd::Zero(2);
  double rows = 0;
  testing::run(kernel, set.mode.theta, 500, steps, [&](const Eigen::VectorXd& theta, const StepInfo& info) {
    mean += (theta - q.mean) / steps;
    square += (theta - q.mean).cwiseAbs2() / steps;
    rows += static_cast<double>(info.rows_read) / steps;
  });
  // 20,000 steps are worth some 2,200 independent draws: 2 % of a standard deviation in the mean, 1.5 % in
  // the sd.
  for (Eigen::Index j = 0; j < 2; ++j) {
    const double sd = std::sqrt(q.covariance(j, j));
    EXPECT_LT(std::abs(mean[j]) / sd, 0.15) << j;
    EXPECT_NEAR(std::sqrt(square[j] - mean[j] * mean[j]) / sd, std::sqrt(1 + h * h), 0.08) << j;
  }
  EXPECT_NEAR(rows, 2000, 1e-6);
}

TEST(Weierstrass, WantsAPositiveBandwidth) {
  const auto model = gaussian(60);
  Divided set(model, 2);
  for (const double h : {0.0, -1.0, std::nan("")})
    EXPECT_THROW(WeierstrassKernel(set.shards, {.bandwidth = h}, set.pool), UsageError);
}

// make(pool) makes a kernel. Its draws must not depend on the number of threads (1 and 2) or on being resumed
// in warm-up or after it.
template <class Make>
void expect_reproducible(const Make& make, const Eigen::VectorXd& start) {
  constexpr std::size_t warmup = 300, steps = 400;
  const auto run = [&](std::size_t threads, std::size_t stop, std::uint64_t chain) {
    ThreadPool pool(threads);
    auto kernel = make(pool);
    ChainState state{.theta = start};
    std::vector<double> all;
    const auto advance = [&](auto& k, std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) {
        if (i == warmup) k.freeze();
        const StepInfo info = k.step(state, {.seed = 5, .chain = chain, .iteration = i});
        all.insert(all.end(), state.theta.begin(), state.theta.end());
        all.push_back(static_cast<double>(info.rows_read));
        all.push_back(info.log_ratio);
      }
    };
    advance(kernel, 0, stop);
    std::vector<double> saved;
    kernel.save(saved);
    auto resumed = make(pool);
    resumed.load(saved);
    advance(resumed, stop, steps);
    return all;
  };
  const std::vector<double> one = run(1, steps, 0);
  EXPECT_EQ(one, run(2, steps, 0));
  EXPECT_EQ(one, run(1, 0, 0));
  EXPECT_EQ(one, run(2, 200, 0));
  EXPECT_EQ(one, run(1, warmup, 0));
  EXPECT_EQ(one, run(1, 350, 0));
  EXPECT_NE(one, run(1, steps, 1));
}

TEST(Consensus, DrawsAreTheSameForAnyThreadsAndAfterAResume) {
  const auto model = logistic(500);
  Divided set(model, 3);
  for (const ShardWeights weights : {ShardWeights::fit, ShardWeights::draws})
    expect_reproducible(
        [&](ThreadPool& pool) {
          return ConsensusKernel(set.shards, {.weights = weights, .warmup = 300}, pool);
        },
        set.mode.theta);
}

TEST(Weierstrass, DrawsAreTheSameForAnyThreadsAndAfterAResume) {
  const auto model = logistic(500);
  Divided set(model, 3);
  expect_reproducible([&](ThreadPool& pool) { return WeierstrassKernel(set.shards, {}, pool); },
                      set.mode.theta);
}

}  // namespace
}  // namespace mlo
