// Copyright (c) the mlo authors. BSD-3-Clause.
// The law of slices along lines, alone: their draws against quadrature, as z = error / MCSE, |z| < 5. With
// wrong slopes, or a wrong response, they must differ.
#include "mlo/kernel/line_slices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "support/designs.hpp"
#include "support/laws.hpp"

namespace mlo {
namespace {

using testing::BatchMean;
using testing::design_of;

// A chain of slices alone.
class SlicesOnly {
 public:
  SlicesOnly(const Glm& model, std::vector<SliceLine> lines)
      : slices_(model, std::make_shared<const std::vector<SliceLine>>(std::move(lines))) {}
  [[nodiscard]] static Promise promise() { return Promise::exact; }
  StepInfo step(ChainState& state, const StepId& id) {
    StepInfo info;
    Stream stream = id.stream(Purpose::slices);
    state.log_likelihood += slices_.sweep(stream, state.theta, info);
    return info;
  }
  void freeze() {}
  void save(std::vector<double>& /*out*/) const {}
  void load(std::span<const double> /*in*/) {}

 private:
  LineSlices slices_;
};
static_assert(Kernel<SlicesOnly>);

// One coefficient, no intercept; responses are 1 where x > 0 and 0 elsewhere, so that the likelihood has no
// maximum.
const std::vector<double> x{0.5, 1, 1.5, 0.8, 2, -0.3};

Glm separated(const Prior& prior) {
  Table table;
  table.source.name = "test";
  table.rows = x.size();
  table.columns = {{"y", {1, 1, 1, 1, 1, 0}}, {"x", x}};
  return {design_of(std::move(table), "y ~ 0 + x"), make_family("logistic"), GlmPriors{{prior}}};
}

// Of one number b with this log density: probabilities below `cuts` and the mean. With b = sinh(u) and the
// trapezoid rule in u: tails like a power of b fall exponentially in u.
struct Law {
  double mean = 0;
  std::vector<double> below;  // the chance of b < cuts[k]
};
Law law_of(const std::function<double(double)>& log_density, const std::vector<double>& cuts) {
  constexpr double step = 2e-4, end = 22;  // beyond e^22 a Student's t with 3 degrees has 1e-28
  Law law{0, std::vector<double>(cuts.size())};
  double total = 0;
  for (double u = -end; u <= end; u += step) {
    const double b = std::sinh(u), weight = std::exp(log_density(b)) * std::cosh(u);
    total += weight;
    law.mean += weight * b;
    for (std::size_t k = 0; k < cuts.size(); ++k)
      if (b < cuts[k]) law.below[k] += weight;
  }
  law.mean /= total;
  for (double& p : law.below) p /= total;
  return law;
}

// The largest |z| of the mean and of the chances below the cuts.
double worst_z(const Glm& model, const std::vector<SliceLine>& lines, const Law& law,
               const std::vector<double>& cuts) {
  constexpr std::size_t steps = 20'000;
  SlicesOnly kernel(model, lines);
  BatchMean mean(steps);
  std::vector<BatchMean> below(cuts.size(), BatchMean(steps));
  std::vector<double> user(1);
  testing::run(kernel, Eigen::VectorXd::Zero(1), 100, steps,
               [&](const Eigen::VectorXd& theta, const StepInfo&) {
                 model.to_user(params(theta), user);
                 mean.add(user[0]);
                 for (std::size_t k = 0; k < cuts.size(); ++k) below[k].add(user[0] < cuts[k] ? 1 : 0);
               });
  double worst = std::abs(mean.z(law.mean));
  // Rarer events would not have a Monte Carlo error to speak of.
  for (std::size_t k = 0; k < cuts.size(); ++k)
    if (law.below[k] > 0.005 && law.below[k] < 0.995)
      worst = std::max(worst, std::abs(below[k].z(law.below[k])));
  return worst;
}

void expect_law(const Prior& prior) {
  const Glm model = separated(prior);
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const AwkwardLimits all{.few_rows = x.size(), .remainder = -1};
  std::vector<SliceLine> lines;
  for (const AwkwardLine& line : awkward_lines(model, mode, all)) lines.push_back(slice_line(line));
  ASSERT_EQ(lines.size(), 1U);
  const auto log_density = [&](double b) {
    double sum = prior.log_density(b);
    for (const double xi : x) {
      const double eta = b * std::abs(xi);
      sum -= eta > -30 ? std::log1p(std::exp(-eta)) : -eta;
    }
    return sum;
  };
  const std::vector<double> cuts{0, 0.7, 1.5, 3, 6, 12};
  const Law law = law_of(log_density, cuts);
  EXPECT_LT(worst_z(model, lines, law, cuts), 5);
  // What is wrong shows.
  std::vector<SliceLine> steep = lines, flipped = lines;
  for (double& slope : steep[0].slopes) slope *= 1.2;
  flipped[0].y[2] = 0;
  EXPECT_GT(worst_z(model, flipped, law, cuts), 10) << "a wrong response goes unseen";
  EXPECT_GT(worst_z(model, steep, law, cuts), 10) << "wrong slopes go unseen";
}

TEST(LineSlices, OfSeparatedRowsMatchQuadratureWithANormalPrior) { expect_law(Prior::normal(0, 2.5)); }
TEST(LineSlices, OfSeparatedRowsMatchQuadratureWithALaplacePrior) { expect_law(Prior::laplace(0, 2.5)); }
TEST(LineSlices, OfSeparatedRowsMatchQuadratureWithAStudentPrior) { expect_law(Prior::student_t(3, 0, 2.5)); }

// The change that a sweep returns is that of the log-likelihood, and it reads the rows of its lines, and
// these alone, at every point that it looks at.
TEST(LineSlices, ReturnTheChangeOfTheLogLikelihood) {
  const auto model = testing::small_glm("poisson", 40, testing::draw_poisson);
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  LineSlices slices(model, std::make_shared<const std::vector<SliceLine>>(principal_lines(model, mode)));
  Eigen::VectorXd theta = mode.theta;
  for (std::uint64_t k = 0; k < 50; ++k) {
    const double before = model.log_likelihood(params(theta), Rows::range(0, 40));
    StepInfo info;
    Stream stream({.seed = 3, .chain = 0, .purpose = Purpose::slices, .iteration = k});
    const double change = slices.sweep(stream, theta, info);
    const double after = model.log_likelihood(params(theta), Rows::range(0, 40));
    EXPECT_NEAR(change, after - before, 1e-10 * std::abs(after));
    EXPECT_EQ(info.rows_read % 40, 0U);
    EXPECT_GE(info.rows_read, 2 * 4 * 40U);  // here, one point on either side, one proposal
  }
}

// Two rows and two columns: without a prior nothing would hold the coefficients.
TEST(PrincipalLines, OfTwoRowsAndTwoColumnsMatchQuadrature) {
  Table table;
  table.source.name = "test";
  table.rows = 2;
  table.columns = {{"y", {1, 0}}, {"x1", {1, 0.4}}, {"x2", {0.3, -1.2}}};
  const Glm model(design_of(std::move(table), "y ~ 0 + x1 + x2"), make_family("logistic"),
                  GlmPriors{std::vector<Prior>(2, Prior::normal(0.5, 2))});
  const testing::Quadrature q = testing::integrate(model);
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  SlicesOnly kernel(model, principal_lines(model, mode));
  testing::expect_moments(kernel, mode.theta, q.mean, q.covariance, 30'000, "principal lines");
  std::vector<SliceLine> wrong = principal_lines(model, mode);
  wrong[0].y[0] = 0;
  SlicesOnly broken(model, wrong);
  BatchMean mean(30'000);
  testing::run(broken, mode.theta, 100, 30'000,
               [&](const Eigen::VectorXd& theta, const StepInfo&) { mean.add(theta[0]); });
  EXPECT_GT(std::abs(mean.z(q.mean[0])), 10) << "a wrong response goes unseen";
}

// An axis moves the second parameter as well.
TEST(PrincipalLines, MatchQuadratureWhereSigmaIsEstimated) {
  Design design = design_of(testing::regression_table(12, 2.0, {}, 5, testing::draw_gaussian), "y ~ 1");
  const Glm model(std::move(design), make_family("gaussian"),
                  {{Prior::normal(1, 2)}, false, Prior::gamma(2, 1)});
  const testing::Quadrature q = testing::integrate(model);
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  SlicesOnly kernel(model, principal_lines(model, mode));
  testing::expect_moments(kernel, mode.theta, q.mean, q.covariance, 30'000, "mean and log sigma");
}

}  // namespace
}  // namespace mlo
