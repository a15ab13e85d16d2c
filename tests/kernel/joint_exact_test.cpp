// Copyright (c) the mlo authors. BSD-3-Clause.
// Whether `exact` samples the posterior while a second parameter is estimated: against quadrature, for every
// family, order and rule, from expansions about the mode and about points away from it, as z = error / MCSE,
// |z| < 5. Without stage 2 the same test must fail; a broken bound must be counted.
#include <gtest/gtest.h>

#include <string>

#include "mlo/kernel/exact.hpp"
#include "mlo/subsample/joint_expansion.hpp"
#include "support/designs.hpp"
#include "support/laws.hpp"

namespace mlo {
namespace {

using testing::BatchMean;
using testing::design_of;
using testing::integrate;
using testing::Quadrature;
using testing::regression_table;

static_assert(Kernel<ExactKernel<Glm, JointExpansion>> &&
              ExactKernel<Glm, JointExpansion>::promise() == Promise::exact);

// An intercept and the second parameter: a posterior of two dimensions.
Glm mean_model(std::string_view family, std::size_t rows, double (*draw)(Stream&, double),
               const Prior& prior = Prior::normal(0, 2.5), const Prior& second = Prior::gamma(2, 1)) {
  Design design = design_of(regression_table(rows, 0.3, {0.0}, 21, draw), "y ~ 1");
  design.counted = find_family(family)->counted;
  return {std::move(design), make_family(family, {}), GlmPriors{.coefficients = {prior}, .second = second}};
}

double draw_outliers(Stream& stream, double eta) {
  return eta + normal(stream) * (uniform(stream) < 0.1 ? 8 : 0.7);
}
double draw_overdispersed(Stream& stream, double eta) {
  return static_cast<double>(poisson(stream, std::exp(eta) * gamma(stream, 1.5) / 1.5));
}

// The mode moved by some posterior sds, as if the search had stopped there.
Mode moved(const Glm& model, ThreadPool& pool, double by) {
  if (by == 0) return find_mode(model, pool);
  const auto p = static_cast<Eigen::Index>(model.dim());
  Eigen::VectorXd white = Eigen::VectorXd::Constant(p, by / std::sqrt(p));
  white[0] = -white[0];
  return testing::displaced(model, pool, white);
}

std::shared_ptr<const JointExpansion> expansion_of(const Glm& model, ThreadPool& pool, const Mode& mode,
                                                   JointOptions options) {
  const Eigen::Index last = mode.evaluated_at.size() - 1;
  if (model.quadratic_but_second()) {
    Derivatives prior(model.dim());
    model.add_prior_derivatives(params(mode.evaluated_at), prior);
    options.prior_slope = prior.gradient[last];
    options.prior_curvature = prior.information(last, last);
    options.prior_of_second = [&model](double s) { return model.log_prior_of_second(s); };
  }
  return std::make_shared<const JointExpansion>(
      expand_jointly(*model.surfaced(mode.evaluated_at[last]), pool, mode, options));
}

// The largest |z| of means, variances and third moments against quadrature.
struct Found {
  double z = 0;
  std::uint64_t violations = 0;
  double rows = 0, acceptance = 0, audit_error = 0;
};
template <class K>
Found compare(K& kernel, const Glm& model, const Quadrature& q, const Eigen::VectorXd& start,
              std::size_t steps) {
  std::vector<BatchMean> moments(4, BatchMean(steps));
  Found out;
  testing::run(kernel, start, 2000, steps, [&](const Eigen::VectorXd& theta, const StepInfo& info) {
    for (Eigen::Index j = 0; j < 2; ++j) {
      const double x = theta[j] - q.mean[j];
      moments[static_cast<std::size_t>(j)].add(x);
      moments[static_cast<std::size_t>(2 + j)].add(x * x);
    }
    out.violations += info.bound_violations;
    out.rows += static_cast<double>(info.rows_read) / static_cast<double>(steps);
    out.acceptance += (info.accepted ? 1.0 : 0.0) / static_cast<double>(steps);
    out.audit_error = std::max(out.audit_error, info.audit_error);
  });
  for (Eigen::Index j = 0; j < 2; ++j) {
    out.z = std::max(out.z, std::abs(moments[static_cast<std::size_t>(j)].z(0)));
    out.z = std::max(out.z, std::abs(moments[static_cast<std::size_t>(2 + j)].z(q.covariance(j, j))));
  }
  static_cast<void>(model);
  return out;
}

constexpr std::array<JointOrder, 3> orders{JointOrder::two, JointOrder::mixed, JointOrder::three};

// Eighteen comparisons of four moments each: |z| < 5 by chance in all of them with probability 0.9999.
void expect_law(const Glm& model, std::size_t steps = 100'000) {
  const Quadrature q = integrate(model);
  ThreadPool pool(1);
  bool at_once = false;
  for (const double by : {0.0, 0.7})
    for (const JointOrder order : orders)
      for (const Thinning thinning : {Thinning::balanced, Thinning::factorised}) {
        SCOPED_TRACE(::testing::Message() << "order " << static_cast<int>(order) << ", rule "
                                          << static_cast<int>(thinning) << ", moved by " << by);
        const Mode mode = moved(model, pool, by);
        ExactKernel kernel(model,
                           expansion_of(model, pool, mode, {.order = order, .at_once = at_once = !at_once}),
                           {.thinning = thinning, .audit_share = 0.01}, pool);
        const Found found = compare(kernel, model, q, mode.theta, steps);
        EXPECT_LT(found.z, 5) << found.rows << " rows per step, acceptance " << found.acceptance;
        EXPECT_EQ(found.violations, 0U);
        EXPECT_LT(found.audit_error, 1e-5);
      }
}

TEST(JointExact, StudentMatchesQuadrature) { expect_law(mean_model("student", 80, draw_outliers)); }
TEST(JointExact, StudentWithHeavyPriorsMatchesQuadrature) {
  expect_law(mean_model("student", 60, draw_outliers, Prior::student_t(3, 1, 0.5), Prior::cauchy(0, 1)));
}
TEST(JointExact, NegativeBinomialMatchesQuadrature) {
  expect_law(mean_model("negative-binomial", 100, draw_overdispersed));
}
TEST(JointExact, ZeroInflatedPoissonMatchesQuadrature) {
  expect_law(mean_model("zero-inflated-poisson", 80, testing::draw_zero_inflated, Prior::normal(0, 2.5),
                        Prior::beta(1, 1)),
             40'000);
}
TEST(JointExact, ZeroInflatedPoissonWithoutMoreZerosMatchesQuadrature) {
  expect_law(mean_model("zero-inflated-poisson", 60, testing::draw_poisson, Prior::student_t(3, 1, 0.5),
                        Prior::beta(0.8, 3)),
             40'000);
}
TEST(JointExact, BetaBinomialMatchesQuadrature) {
  expect_law(
      mean_model("beta-binomial", 60, testing::draw_outcome_3, Prior::normal(0, 2.5), Prior::gamma(2, 0.1)),
      20'000);
}
TEST(JointExact, GammaMatchesQuadrature) { expect_law(mean_model("gamma", 80, testing::draw_gamma)); }

// The test above would notice if the remainders were left out: with bounds of nearly 0 no row is read.
struct FamilyCase {
  const char* family;
  double (*draw)(Stream&, double);
};
constexpr std::array<FamilyCase, 5> cases{{{"student", draw_outliers},
                                           {"negative-binomial", draw_overdispersed},
                                           {"gamma", testing::draw_gamma},
                                           {"zero-inflated-poisson", testing::draw_zero_inflated},
                                           {"beta-binomial", testing::draw_outcome_3}}};

TEST(JointExact, WithoutRemaindersTheLawIsWrong) {
  for (const auto& [family, draw] : cases) {
    const Glm model = mean_model(family, 80, draw);
    const Quadrature q = integrate(model);
    ThreadPool pool(1);
    const Mode mode = moved(model, pool, 0.7);
    ExactKernel kernel(
        model, expansion_of(model, pool, mode, {.order = JointOrder::two, .bound_factor = 1e-12}), {}, pool);
    EXPECT_GT(compare(kernel, model, q, mode.theta, 100'000).z, 8) << family;
  }
}

// As if the search for the mode had stopped far too early: more steps read all rows, but the law is the same.
TEST(JointExact, AnExpansionFarFromTheModeIsExactToo) {
  for (const auto& [family, draw] : cases) {
    const Glm model = mean_model(family, 80, draw);
    const Quadrature q = integrate(model);
    ThreadPool pool(1);
    const Mode mode = moved(model, pool, 2.5);
    for (const JointOrder order : {JointOrder::two, JointOrder::three}) {
      SCOPED_TRACE(::testing::Message() << family << ", order " << static_cast<int>(order));
      ExactKernel kernel(model, expansion_of(model, pool, mode, {.order = order}), {}, pool);
      const Found found =
          compare(kernel, model, q, mode.theta, model.family().spec().counted ? 20'000 : 100'000);
      EXPECT_LT(found.z, 5) << found.rows << " rows per step, acceptance " << found.acceptance;
      EXPECT_EQ(found.violations, 0U);
    }
  }
}

// The terms that depend on the second parameter alone are a polynomial in nearly all steps.
TEST(JointExact, TheTermsOfTheSecondParameterAreThoseOfTheModel) {
  for (const auto& [family, draw] : cases)
    for (const Prior& second : {Prior::gamma(2, 1), Prior::cauchy(0, 1)}) {
      const Glm model = mean_model(family, 1000, draw, Prior::normal(0, 2.5), second);
      ThreadPool pool(1);
      const auto expansion = expansion_of(model, pool, find_mode(model, pool), {});
      const double width = 4 * expansion->sd_of_second;
      ASSERT_TRUE(expansion->along_second.covers(0.999 * width)) << family;
      EXPECT_FALSE(expansion->along_second.covers(1.001 * width));
      for (int k = -50; k <= 50; ++k) {
        const double u = width * k / 50.1;
        EXPECT_NEAR(expansion->along_second(u), expansion->terms_of_second(u), 2e-10) << family << " " << u;
      }
    }
}

// Half of the rows, more or less, and then all of them: nothing is left to be drawn.
TEST(JointExact, RowsThatAreAlwaysReadKeepTheLaw) {
  for (const auto& [family, draw] : cases) {
    const Glm model = mean_model(family, 40, draw);
    const Quadrature q = integrate(model);
    ThreadPool pool(1);
    const Mode mode = moved(model, pool, 0.7);
    for (const JointOrder order : orders) {
      const auto drawn = expansion_of(model, pool, mode, {.order = order, .always_from = 1e9});
      EXPECT_EQ(drawn->always_read(), 0U);
      for (const double share : {1.0, 0.0}) {
        SCOPED_TRACE(::testing::Message()
                     << family << ", order " << static_cast<int>(order) << ", " << share);
        const auto expansion = expansion_of(
            model, pool, mode,
            {.order = order, .always_from = share * drawn->expected_rows() / 40, .at_once = share > 0});
        EXPECT_GT(expansion->always_read(), 0U);
        EXPECT_EQ(expansion->always_read() == 40, share == 0);
        ExactKernel kernel(model, expansion, {.audit_share = 0.01}, pool);
        const Found found = compare(kernel, model, q, mode.theta, 20'000);
        EXPECT_LT(found.z, 5) << found.rows << " rows per step, acceptance " << found.acceptance;
        EXPECT_EQ(found.violations, 0U);
        EXPECT_LT(found.audit_error, 1e-5);
      }
    }
  }
}

TEST(JointExact, ABrokenBoundIsCounted) {
  for (const auto& [family, draw] : cases) {
    const Glm model = mean_model(family, 80, draw);
    const Quadrature q = integrate(model);
    ThreadPool pool(1);
    const Mode mode = find_mode(model, pool);
    ExactKernel kernel(
        model, expansion_of(model, pool, mode, {.order = JointOrder::two, .bound_factor = 0.02}), {}, pool);
    EXPECT_GT(compare(kernel, model, q, mode.theta, 50'000).violations, 0U) << family;
  }
}

}  // namespace
}  // namespace mlo
