// Copyright (c) the mlo authors. BSD-3-Clause.
// Whether `exact` samples the posterior of softmax regressions: against quadrature and against long chains on
// all rows, from expansions about the mode and about points away from it, as z = error / MCSE, |z| < 5.
// Without stage 2 the same test must fail; a broken bound must be counted.
#include <gtest/gtest.h>

#include <string>

#include "mlo/kernel/exact.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/subsample/class_expansion.hpp"
#include "support/classes.hpp"
#include "support/laws.hpp"

namespace mlo {
namespace {

using testing::BatchMean;
using testing::class_table;
using testing::design_of;
using testing::softmax_of;

using ClassKernel = ExactKernel<Softmax, ClassExpansion, ClassRemainders>;
static_assert(Kernel<ClassKernel> && ClassKernel::promise() == Promise::exact);

// The mode moved by some posterior sds, as if the search had stopped there.
Mode moved(const Softmax& model, ThreadPool& pool, double by) {
  Mode mode = find_mode(model, pool);
  if (by == 0) return mode;
  Eigen::VectorXd white =
      Eigen::VectorXd::Constant(mode.theta.size(), by / std::sqrt(static_cast<double>(mode.theta.size())));
  white[0] = -white[0];
  mode.evaluated_at = Laplace(mode.theta, mode.information).from_white(white);
  mode.likelihood = sum_derivatives(model, pool, params(mode.evaluated_at), Rows::range(0, model.rows()));
  Derivatives posterior = mode.likelihood;
  model.add_prior_derivatives(params(mode.evaluated_at), posterior);
  mode.information = posterior.information;
  return mode;
}

ClassKernel kernel_of(const Softmax& model, ThreadPool& pool, const Mode& mode,
                      const ClassExpansionOptions& options, const ExactOptions& exact = {}) {
  return {model, std::make_shared<const ClassExpansion>(expand_classes(model, pool, mode, options)), exact,
          pool};
}

// What a chain has to agree with: means and covariances, each with its own error (0 by quadrature).
struct Law {
  Eigen::VectorXd mean, variance, third;
  Eigen::VectorXd mean_error, variance_error, third_error;
};

// The largest |z| of means, variances and third moments.
struct Found {
  double z = 0;
  std::uint64_t violations = 0;
  double rows = 0, acceptance = 0, audit_error = 0;
  bool read_all = false;  // whether some step read all rows
};
template <class K>
Found compare(K& kernel, const Law& law, const Eigen::VectorXd& start, std::size_t steps, std::size_t n) {
  const auto dim = law.mean.size();
  std::vector<BatchMean> moments(static_cast<std::size_t>(3 * dim), BatchMean(steps));
  Found out;
  testing::run(kernel, start, 2000, steps, [&](const Eigen::VectorXd& theta, const StepInfo& info) {
    for (Eigen::Index j = 0; j < dim; ++j) {
      const double x = theta[j] - law.mean[j];
      moments[static_cast<std::size_t>(3 * j)].add(x);
      moments[static_cast<std::size_t>(3 * j + 1)].add(x * x);
      moments[static_cast<std::size_t>(3 * j + 2)].add(x * x * x);
    }
    out.violations += info.bound_violations;
    out.rows += static_cast<double>(info.rows_read) / static_cast<double>(steps);
    out.acceptance += (info.accepted ? 1.0 : 0.0) / static_cast<double>(steps);
    out.audit_error = std::max(out.audit_error, info.audit_error);
    out.read_all = out.read_all || info.rows_read >= n;
  });
  for (Eigen::Index j = 0; j < dim; ++j) {
    const auto z = [&](Eigen::Index which, double expected, double error) {
      const BatchMean& m = moments[static_cast<std::size_t>(3 * j + which)];
      out.z = std::max(out.z, std::abs(m.mean() - expected) / std::hypot(m.error(), error));
    };
    z(0, 0, law.mean_error[j]);
    z(1, law.variance[j], law.variance_error[j]);
    z(2, law.third[j], law.third_error[j]);
  }
  return out;
}

// Three classes and one column without an intercept: a posterior of two dimensions, by the trapezoid rule.
Law integrate(const Softmax& model) {
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const Laplace laplace(mode.theta, mode.information);
  const double top = log_likelihood(model, pool, params(mode.theta)) + model.log_prior(params(mode.theta));
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(2);
  Law law{zero, zero, zero, zero, zero, zero};
  for (const bool centred : {false, true}) {
    double total = 0;
    Eigen::VectorXd first = zero, second = zero, third = zero;
    for (double a = -9; a <= 9; a += 0.15)
      for (double b = -9; b <= 9; b += 0.15) {
        const Eigen::VectorXd theta = laplace.from_white(Eigen::Vector2d(a, b));
        const double density =
            std::exp(log_likelihood(model, pool, params(theta)) + model.log_prior(params(theta)) - top);
        total += density;
        first += density * theta;
        const Eigen::ArrayXd x = (theta - law.mean).array();
        second += density * x.square().matrix();
        third += density * x.cube().matrix();
      }
    if (!centred) law.mean = first / total;
    law.variance = second / total;
    law.third = third / total;
  }
  return law;
}

Softmax plane(std::size_t rows, const Prior& prior = Prior::normal(0, 2.5)) {
  return softmax_of(design_of(class_table(rows, {{0, 0.9}, {0, -0.6}}, 21), "y ~ 0 + x1"), prior);
}

// Posterior sds from the mode. At order 3 a smaller displacement, or more rows, would leave remainders too
// small to be missed.
constexpr double displaced = 2;
constexpr std::size_t plane_rows = 100;

// Sixteen comparisons of six moments each: |z| < 5 in all of them with probability 0.9999.
void expect_law(const Softmax& model) {
  const Law law = integrate(model);
  ThreadPool pool(1);
  for (const double by : {0.0, displaced})
    for (const int order : {2, 3})
      for (const Thinning thinning : {Thinning::balanced, Thinning::factorised})
        for (const double always : {0.5, HUGE_VAL}) {
          SCOPED_TRACE(::testing::Message() << "order " << order << ", rule " << static_cast<int>(thinning)
                                            << ", moved by " << by << ", always from " << always);
          const Mode mode = moved(model, pool, by);
          ClassKernel kernel = kernel_of(model, pool, mode, {.order = order, .always_from = always},
                                         {.thinning = thinning, .audit_share = 0.01});
          const Found found = compare(kernel, law, mode.theta, 100'000, model.rows());
          EXPECT_LT(found.z, 5) << found.rows << " rows per step, acceptance " << found.acceptance;
          EXPECT_EQ(found.violations, 0U);
          EXPECT_LT(found.audit_error, 1e-5);
        }
}

TEST(ClassExact, MatchesQuadrature) { expect_law(plane(plane_rows)); }
TEST(ClassExact, MatchesQuadratureWithHeavyPriors) {
  expect_law(plane(plane_rows, Prior::student_t(3, 1, 0.5)));
}

// The tests above would notice if the remainders were left out: rows that are always read, and those that are
// drawn.
TEST(ClassExact, WithoutRemaindersTheLawIsWrong) {
  const Softmax model = plane(plane_rows);
  const Law law = integrate(model);
  ThreadPool pool(1);
  const Mode mode = moved(model, pool, displaced);
  for (const int order : {2, 3}) {
    ClassKernel kernel =
        kernel_of(model, pool, mode, {.order = order, .always_from = HUGE_VAL, .bound_factor = 0});
    EXPECT_GT(compare(kernel, law, mode.theta, 100'000, model.rows()).z, order == 2 ? 15 : 8)
        << "order " << order;
  }
}

TEST(ClassExact, ABrokenBoundIsCounted) {
  const Softmax model = plane(150);
  const Law law = integrate(model);
  ThreadPool pool(1);
  for (const int order : {2, 3}) {
    ClassKernel kernel = kernel_of(model, pool, find_mode(model, pool),
                                   {.order = order, .always_from = HUGE_VAL, .bound_factor = 0.05});
    EXPECT_GT(compare(kernel, law, Eigen::VectorXd::Zero(2), 50'000, model.rows()).violations, 0U);
  }
}

// Four classes, an intercept and two columns, 1,000 rows: nine parameters, against a chain on all rows that
// shares nothing with `exact` but the model's terms.
TEST(ClassExact, MatchesALongChainOnAllRows) {
  const Softmax model = softmax_of(
      design_of(class_table(1000, {{0.4, 1, -0.5}, {-1.5, 0.2, 0.8}, {0.1, -0.7, 0.3}}, 22), "y ~ x1 + x2"),
      Prior::normal(0, 2.5));
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  constexpr std::size_t steps = 40'000;
  const auto dim = static_cast<Eigen::Index>(model.dim());
  Law law{mode.theta,           Eigen::VectorXd(dim), Eigen::VectorXd(dim),
          Eigen::VectorXd(dim), Eigen::VectorXd(dim), Eigen::VectorXd(dim)};
  {
    FullKernel full(model, LaplaceProposal(Laplace(mode.theta, mode.information), {}), pool);
    std::vector<BatchMean> moments(static_cast<std::size_t>(3 * dim), BatchMean(steps));
    testing::run(full, mode.theta, 1000, steps, [&](const Eigen::VectorXd& theta, const StepInfo&) {
      for (Eigen::Index j = 0; j < dim; ++j) {
        const double x = theta[j] - mode.theta[j];
        moments[static_cast<std::size_t>(3 * j)].add(x);
        moments[static_cast<std::size_t>(3 * j + 1)].add(x * x);
        moments[static_cast<std::size_t>(3 * j + 2)].add(x * x * x);
      }
    });
    for (Eigen::Index j = 0; j < dim; ++j) {
      const auto at = static_cast<std::size_t>(3 * j);
      // Moments about the mode, which is not the mean: compare() subtracts law.mean and expects 0 for the
      // first; so the mean is put where the chain has it.
      law.mean[j] = mode.theta[j] + moments[at].mean();
      law.mean_error[j] = moments[at].error();
      const double m1 = moments[at].mean(), m2 = moments[at + 1].mean(), m3 = moments[at + 2].mean();
      law.variance[j] = m2 - m1 * m1;
      law.variance_error[j] = moments[at + 1].error();
      law.third[j] = m3 - 3 * m1 * m2 + 2 * m1 * m1 * m1;
      law.third_error[j] = moments[at + 2].error() + 3 * m2 * moments[at].error();
    }
  }
  for (const double by : {0.0, 1.5})
    for (const int order : {2, 3}) {
      SCOPED_TRACE(::testing::Message() << "order " << order << ", moved by " << by);
      const Mode centre = moved(model, pool, by);
      ClassKernel kernel = kernel_of(model, pool, centre, {.order = order});
      const Found found = compare(kernel, law, mode.theta, steps, model.rows());
      EXPECT_LT(found.z, 5) << found.rows << " rows per step, acceptance " << found.acceptance;
      EXPECT_EQ(found.violations, 0U);
      EXPECT_LT(found.rows, static_cast<double>(model.rows()));
    }
  ClassKernel off = kernel_of(model, pool, moved(model, pool, 1.5),
                              {.order = 2, .always_from = HUGE_VAL, .bound_factor = 0});
  EXPECT_GT(compare(off, law, mode.theta, steps, model.rows()).z, 6);
}

// A chain that goes on from what it saved is the same chain.
TEST(ClassExact, ContinuesFromWhatItSaved) {
  const Softmax model = plane(150);
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const auto expansion = std::make_shared<const ClassExpansion>(expand_classes(model, pool, mode));
  ExactKernel whole(model, expansion, {}, pool), first(model, expansion, {}, pool);
  ChainState a{.theta = mode.theta}, b{.theta = mode.theta};
  const auto step = [](auto& kernel, ChainState& state, std::size_t k) {
    if (k == 300) kernel.freeze();
    static_cast<void>(kernel.step(state, {.seed = 1, .chain = 0, .iteration = k}));
  };
  for (std::size_t k = 0; k < 600; ++k) step(whole, a, k);
  for (std::size_t k = 0; k < 250; ++k) step(first, b, k);
  std::vector<double> saved;
  first.save(saved);
  ExactKernel second(model, expansion, {}, pool);
  second.load(saved);
  for (std::size_t k = 250; k < 600; ++k) step(second, b, k);
  EXPECT_EQ(a.theta, b.theta);
}

}  // namespace
}  // namespace mlo
