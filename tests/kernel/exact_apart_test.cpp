// Copyright (c) the mlo authors. BSD-3-Clause.
// Whether `exact` and `full` sample the posterior where some coefficients are kept apart, and `exact` where
// it has learnt a proposal: draws against quadrature, as z = error / MCSE, |z| < 5. What is broken must be
// noticed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "mlo/kernel/apart_proposal.hpp"
#include "mlo/kernel/exact.hpp"
#include "mlo/kernel/full.hpp"
#include "support/designs.hpp"
#include "support/laws.hpp"

namespace mlo {
namespace {

using testing::BatchMean;
using testing::design_of;

// y ~ level: `off` rows of which `off_ones` are 1, and among them `on` rows of a level, `on_ones` of them 1.
struct Counts {
  std::size_t off = 0, off_ones = 0, on = 0, on_ones = 0;
};
constexpr Counts counts{.off = 490, .off_ones = 180, .on = 10, .on_ones = 10};

Glm with_level(const Prior& prior) {
  const std::size_t n = counts.off + counts.on, every = n / counts.on;
  Numbers y(n), level(n);
  std::size_t off = 0, on = 0;
  for (std::size_t i = 0; i < n; ++i) {
    level[i] = i % every == 3 ? 1 : 0;
    y[i] = level[i] != 0 ? (on++ < counts.on_ones ? 1 : 0) : (off++ % 49 < 18 ? 1 : 0);
  }
  Table table;
  table.source.name = "test";
  table.rows = n;
  table.columns = {{"y", std::move(y)}, {"level", std::move(level)}};
  return {design_of(std::move(table), "y ~ level"), make_family("logistic"),
          GlmPriors{{Prior::normal(0, 2), prior}}};
}

// Moments of (intercept, level) by the trapezoid rule, from the four counts alone. The level's coefficient is
// sinh(u), for tails like a power. `cut`: the chance that the level's coefficient is above it.
struct Law {
  double intercept = 0, intercept_square = 0, level = 0, cut = 4, above = 0, product = 0;
};
Law law_of(const Prior& prior) {
  const auto log_likelihood_of = [](double eta, std::size_t rows, std::size_t ones) {
    const double log_one_plus = eta > 30 ? eta : std::log1p(std::exp(eta));
    return static_cast<double>(ones) * eta - static_cast<double>(rows) * log_one_plus;
  };
  Law law;
  double total = 0;
  for (double a = -1.1; a <= 0.05; a += 0.01) {  // -0.54 and 6 sds of 0.094 to either side
    const double off = Prior::normal(0, 2).log_density(a) +
                       log_likelihood_of(a, counts.off, counts.off_ones) -
                       log_likelihood_of(-0.54, counts.off, counts.off_ones);
    for (double u = -8; u <= 16; u += 0.002) {
      const double b = std::sinh(u);
      const double weight =
          std::exp(off + prior.log_density(b) + log_likelihood_of(a + b, counts.on, counts.on_ones)) *
          std::cosh(u);
      total += weight;
      law.intercept += weight * a;
      law.intercept_square += weight * a * a;
      law.level += weight * b;
      law.product += weight * a * b;
      if (b > law.cut) law.above += weight;
    }
  }
  for (double* sum : {&law.intercept, &law.intercept_square, &law.level, &law.product, &law.above})
    *sum /= total;
  return law;
}

std::vector<AwkwardLine> lines_of(const Glm& model) {
  ThreadPool pool(1);
  return awkward_lines(model, find_mode(model, pool), {.all_rows = model.rows() / 4});
}

struct Apartly {
  int order = 2;
  double bound_factor = 1;
  Thinning thinning = Thinning::balanced;
  double audit_share = 0;
};

ExactKernel<Glm> kernel_of(const Glm& model, ThreadPool& pool, const Mode& mode,
                           const std::vector<AwkwardLine>& lines, const Apartly& options = {}) {
  const auto derivatives = [&](Rows rows) {
    Derivatives d(model.dim());
    model.add_derivatives(params(mode.evaluated_at), rows, d);
    return d;
  };
  auto expansion = std::make_shared<const Expansion>(expand(*model.curved(), pool, mode,
                                                            {.order = options.order,
                                                             .bound_factor = options.bound_factor,
                                                             .apart = lines,
                                                             .derivatives = derivatives}));
  std::vector<SliceLine> slices;
  for (const AwkwardLine& line : lines) slices.push_back(slice_line(line));
  ExactOptions exact{.thinning = options.thinning, .audit_share = options.audit_share};
  exact.slices = LineSlices(model, std::make_shared<const std::vector<SliceLine>>(std::move(slices)));
  return {model, expansion, exact, pool};
}

constexpr std::size_t steps = 20'000;

struct Outcome {
  double worst_z = 0;
  std::uint64_t violations = 0, audited = 0;
  double audit_error = 0;
};
template <Kernel K>
Outcome outcome_of(K& kernel, const Glm& model, const Mode& mode, const Law& law) {
  std::vector<BatchMean> means(5, BatchMean(steps));
  std::vector<double> user(2);
  Outcome out;
  testing::run(kernel, mode.theta, 1000, steps, [&](const Eigen::VectorXd& theta, const StepInfo& info) {
    model.to_user(params(theta), user);
    means[0].add(user[0]);
    means[1].add(user[0] * user[0]);
    means[2].add(user[1]);
    means[3].add(user[0] * user[1]);
    means[4].add(user[1] > law.cut ? 1 : 0);
    out.violations += info.bound_violations;
    out.audited += info.audited ? 1 : 0;
    out.audit_error = std::max(out.audit_error, info.audit_error);
  });
  const std::vector<double> expected{law.intercept, law.intercept_square, law.level, law.product, law.above};
  for (std::size_t k = 0; k < means.size(); ++k)
    out.worst_z = std::max(out.worst_z, std::abs(means[k].z(expected[k])));
  return out;
}

void expect_law(const Prior& prior) {
  const Glm model = with_level(prior);
  const Law law = law_of(prior);
  ThreadPool pool(1);
  const std::vector<AwkwardLine> lines = lines_of(model);
  ASSERT_EQ(lines.size(), 1U);
  ASSERT_EQ(lines[0].rows.size(), counts.on);
  // At the mode, and 2.5 sds of the intercept from it.
  const Mode mode = find_mode(model, pool), far = testing::displaced(model, pool, Eigen::Vector2d(2.5, 0.5));
  for (const Mode* at : {&mode, &far})
    for (const int order : {2, 3}) {
      SCOPED_TRACE(::testing::Message()
                   << (at == &far ? "displaced, " : "at the mode, ") << "order " << order);
      auto kernel = kernel_of(model, pool, *at, lines, {.order = order});
      const Outcome found = outcome_of(kernel, model, mode, law);
      EXPECT_LT(found.worst_z, 5);
      EXPECT_EQ(found.violations, 0U);
    }
  auto factorised = kernel_of(model, pool, mode, lines, {.thinning = Thinning::factorised});
  EXPECT_LT(outcome_of(factorised, model, mode, law).worst_z, 5);
  // Rows that a line moves, but that it does not have, are wrong in the slices and in the polynomial.
  std::vector<AwkwardLine> incomplete = lines;
  incomplete[0].rows.resize(4);
  incomplete[0].slopes.resize(4);
  incomplete[0].y.resize(4);
  auto broken = kernel_of(model, pool, mode, incomplete);
  EXPECT_GT(outcome_of(broken, model, mode, law).worst_z, 10) << "missing rows go unseen";
}

TEST(ExactApart, MatchesQuadratureWithANormalPrior) { expect_law(Prior::normal(0, 2.5)); }
TEST(ExactApart, MatchesQuadratureWithALaplacePrior) { expect_law(Prior::laplace(0, 2.5)); }
TEST(ExactApart, MatchesQuadratureWithAStudentPrior) { expect_law(Prior::student_t(3, 0, 2.5)); }

// Polynomial, remainders and the rows that are apart add up to the model's own log-likelihood. A line that
// lacks rows does not, and bounds that are too small are counted.
TEST(ExactApart, TheAuditFindsWhatIsBroken) {
  const Prior prior = Prior::student_t(3, 0, 2.5);
  const Glm model = with_level(prior);
  const Law law = law_of(prior);
  ThreadPool pool(1);
  const Mode mode = testing::displaced(model, pool, Eigen::Vector2d(2.5, 0.5));
  const std::vector<AwkwardLine> lines = lines_of(model);
  for (const int order : {2, 3}) {
    auto whole = kernel_of(model, pool, mode, lines, {.order = order, .audit_share = 0.02});
    const Outcome found = outcome_of(whole, model, mode, law);
    EXPECT_NEAR(static_cast<double>(found.audited), 0.02 * steps, 5 * std::sqrt(0.02 * steps));
    EXPECT_LT(found.audit_error, 1e-5);  // records hold floats
    EXPECT_EQ(found.violations, 0U);
    auto loose =
        kernel_of(model, pool, mode, lines, {.order = order, .bound_factor = 0.3, .audit_share = 0.02});
    EXPECT_GT(outcome_of(loose, model, mode, law).violations, 0U);
    std::vector<AwkwardLine> incomplete = lines;
    incomplete[0].rows.resize(4);
    incomplete[0].slopes.resize(4);
    incomplete[0].y.resize(4);
    auto broken = kernel_of(model, pool, mode, incomplete, {.order = order, .audit_share = 0.02});
    EXPECT_GT(outcome_of(broken, model, mode, law).audit_error, 1e-3);
  }
}

// A step reads the rows that are apart, and the slices read them several times more.
TEST(ExactApart, ReadsTheRowsThatAreApartAtEveryStep) {
  const Glm model = with_level(Prior::normal(0, 2.5));
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  auto kernel = kernel_of(model, pool, mode, lines_of(model));
  testing::run(kernel, mode.theta, 0, 200, [&](const Eigen::VectorXd&, const StepInfo& info) {
    EXPECT_GE(info.rows_read, 5 * counts.on);  // the proposal; here, two ends and one point of the slice
  });
}

// ---- full, with the same lines apart

auto full_of(const Glm& model, ThreadPool& pool, const Mode& mode, const std::vector<AwkwardLine>& lines) {
  std::vector<SliceLine> slices;
  for (const AwkwardLine& line : lines) slices.push_back(slice_line(line));
  return FullKernel(
      model, ApartProposal(Laplace(mode.theta, mode.information), keep_apart(lines, mode.information)), pool,
      LineSlices(model, std::make_shared<const std::vector<SliceLine>>(std::move(slices))));
}

TEST(FullApart, MatchesQuadratureWithEveryPrior) {
  for (const Prior& prior : {Prior::normal(0, 2.5), Prior::laplace(0, 2.5), Prior::student_t(3, 0, 2.5)}) {
    const Glm model = with_level(prior);
    const Law law = law_of(prior);
    ThreadPool pool(1);
    const Mode mode = find_mode(model, pool);
    std::vector<AwkwardLine> lines = lines_of(model);
    auto whole = full_of(model, pool, mode, lines);
    EXPECT_LT(outcome_of(whole, model, mode, law).worst_z, 5) << prior.text();
    lines[0].y[0] = 0;
    auto broken = full_of(model, pool, mode, lines);
    EXPECT_GT(outcome_of(broken, model, mode, law).worst_z, 10) << "a wrong response goes unseen";
  }
}

// The log-likelihood that a chain carries along is that of its state, also after slices.
TEST(FullApart, KnowsTheLogLikelihoodOfItsState) {
  const Glm model = with_level(Prior::student_t(3, 0, 2.5));
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  auto kernel = full_of(model, pool, mode, lines_of(model));
  ChainState state;
  state.theta = mode.theta;
  for (std::uint64_t k = 0; k < 500; ++k) kernel.step(state, {.seed = 1, .chain = 0, .iteration = k});
  // 500 sums of changes, each with the rounding of a sum of 500 terms.
  EXPECT_NEAR(state.log_likelihood, model.log_likelihood(params(state.theta), Rows::range(0, model.rows())),
              1e-9);
}

TEST(FullApart, ContinuesFromWhatItSaved) {
  const Glm model = with_level(Prior::laplace(0, 2.5));
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const std::vector<AwkwardLine> lines = lines_of(model);
  auto whole = full_of(model, pool, mode, lines), second = full_of(model, pool, mode, lines);
  ChainState state, middle;
  state.theta = mode.theta;
  std::vector<double> saved;
  for (std::uint64_t k = 0; k < 1200; ++k) {
    if (k == 600) whole.freeze();
    if (k == 431) {
      whole.save(saved);
      middle = state;
    }
    whole.step(state, {.seed = 4, .chain = 0, .iteration = k});
  }
  second.load(saved);
  for (std::uint64_t k = 431; k < 1200; ++k) {
    if (k == 600) second.freeze();
    second.step(middle, {.seed = 4, .chain = 0, .iteration = k});
  }
  EXPECT_EQ(middle.theta, state.theta);
}

// ---- a proposal that was learnt

// Three successes in 500 rows: the posterior is skewed in all directions, and no line has few rows.
Glm rare_events() {
  Table table = testing::regression_table(500, 0, {0}, 17, [](Stream&, double) { return 0.0; });
  for (const std::size_t i : {40U, 222U, 371U}) table.columns[0].numbers()[i] = 1;
  return {design_of(std::move(table), "y ~ x1"), make_family("logistic"),
          GlmPriors{{Prior::normal(0, 3), Prior::normal(0, 2)}}};
}

bool has_learnt(const ExactKernel<Glm>& kernel, std::size_t dim) {
  std::vector<double> proposal, all;
  kernel.proposal().save(proposal);
  kernel.save(all);
  return all.at(proposal.size() + dim) != 0;
}

TEST(ExactLearnt, RareEventsMatchQuadrature) {
  const Glm model = rare_events();
  const testing::Quadrature q = testing::integrate(model, 12);
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  for (const int order : {2, 3}) {
    SCOPED_TRACE(order);
    const auto run = [&](double bound_factor, bool expect_learning) {
      auto kernel = kernel_of(model, pool, mode, {}, {.order = order, .bound_factor = bound_factor});
      BatchMean a(steps), b(steps), aa(steps), bb(steps);
      testing::run(kernel, mode.theta, 2000, steps, [&](const Eigen::VectorXd& theta, const StepInfo&) {
        a.add(theta[0]);
        b.add(theta[1]);
        aa.add(std::pow(theta[0] - q.mean[0], 2));
        bb.add(std::pow(theta[1] - q.mean[1], 2));
      });
      if (expect_learning) {
        EXPECT_TRUE(has_learnt(kernel, 2));
      }
      return std::max({std::abs(a.z(q.mean[0])), std::abs(b.z(q.mean[1])), std::abs(aa.z(q.covariance(0, 0))),
                       std::abs(bb.z(q.covariance(1, 1)))});
    };
    // The two stages of order 3 refuse draws from the Laplace fit more often than those of order 2.
    EXPECT_LT(run(1, order == 3), 5);
    EXPECT_GT(run(1e-9, false), 10) << "a chain without stage 2 goes unseen";
  }
}

// A posterior that is close to normal keeps its first proposal.
TEST(ExactLearnt, DoesNotLearnWhereTheFitIsGood) {
  const Glm model = testing::small_glm("logistic", 2000, testing::draw_logistic);
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  auto kernel = kernel_of(model, pool, mode, {});
  testing::run(kernel, mode.theta, 1000, 100, [](const Eigen::VectorXd&, const StepInfo&) {});
  EXPECT_FALSE(has_learnt(kernel, 2));
}

// ---- what was saved

// Saves at each of the steps and continues with another kernel: the same theta at the end.
void expect_continues(const Glm& model, const std::vector<AwkwardLine>& lines, bool learns) {
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  constexpr std::uint64_t warmup = 700, all = 1500;
  const auto path = [&](std::uint64_t stop) {
    auto kernel = kernel_of(model, pool, mode, lines), second = kernel_of(model, pool, mode, lines);
    ChainState state;
    state.theta = mode.theta;
    std::vector<double> out;
    for (std::uint64_t k = 0; k < all; ++k) {
      if (k == stop) {
        std::vector<double> saved;
        kernel.save(saved);
        second.load(saved);
      }
      ExactKernel<Glm>& now = k < stop ? kernel : second;
      if (k == warmup) now.freeze();
      const StepInfo info = now.step(state, {.seed = 4, .chain = 0, .iteration = k});
      out.insert(out.end(), {state.theta[0], state.theta[1], info.accepted ? 1.0 : 0.0});
    }
    EXPECT_EQ(has_learnt(stop < all ? second : kernel, learns ? 2 : lines.empty() ? 2 : 1), learns);
    return out;
  };
  const std::vector<double> whole = path(all);
  for (const std::uint64_t stop : {20U, 431U, 700U, 1100U}) EXPECT_EQ(path(stop), whole) << stop;
}

TEST(ExactApart, ContinuesFromWhatItSaved) {
  const Glm model = with_level(Prior::student_t(3, 0, 2.5));
  expect_continues(model, lines_of(model), false);
}
TEST(ExactLearnt, ContinuesFromWhatItSaved) { expect_continues(rare_events(), {}, true); }

}  // namespace
}  // namespace mlo
