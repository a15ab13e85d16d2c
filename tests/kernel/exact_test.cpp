// Copyright (c) the mlo authors. BSD-3-Clause.
// Whether `exact` samples the posterior: its draws against quadrature and against a long chain on all rows,
// for every family, order, rule and proposal, as z = error / MCSE, |z| < 5. A broken bound must be noticed.
#include "mlo/kernel/exact.hpp"

#include <gtest/gtest.h>

#include "support/designs.hpp"
#include "support/laws.hpp"

namespace mlo {
namespace {

using testing::design_of;
using testing::expect_moments;
using testing::integrate;
using testing::Quadrature;
using testing::regression_table;
using testing::small_glm;

static_assert(Kernel<ExactKernel<Glm>> && ExactKernel<Glm>::promise() == Promise::exact);

// Not every model is accepted: the kernel must know whether the prior is a quadratic form.
struct WithoutAPriorOfKnownShape {
  [[nodiscard]] std::size_t dim() const { return 1; }
  [[nodiscard]] std::size_t rows() const { return 1; }
  [[nodiscard]] double log_prior(Params /*theta*/) const { return 0; }
  void log_likelihoods(Params /*theta*/, Rows /*rows*/, std::span<double> /*out*/) const {}
};
static_assert(ExactModel<Glm> && Model<WithoutAPriorOfKnownShape> && !ExactModel<WithoutAPriorOfKnownShape>);

auto expansion_of(const Glm& model, ThreadPool& pool, const ExpansionOptions& options) {
  return std::make_shared<const Expansion>(expand(*model.curved(), pool, find_mode(model, pool), options));
}

void expect_matches_quadrature(std::string_view family, double (*draw)(Stream&, double), const Prior& prior,
                               const FamilyNumbers& numbers = {}) {
  const auto model = small_glm(family, 60, draw, prior, numbers);
  const Quadrature q = integrate(model);
  ThreadPool pool(1);
  bool at_once = false;
  for (const int order : {2, 3})
    for (const Thinning thinning : {Thinning::balanced, Thinning::factorised})
      for (const auto& [proposal, name] :
           {std::pair(WhiteProposal::Options{}, "tuned"),
            std::pair(WhiteProposal::Options{.step = 0.5}, "step 0.5"),
            std::pair(WhiteProposal::Options{.kind = WhiteProposal::Kind::random_walk}, "random walk")}) {
        // Rows made at once and when they are drawn, in turn; a test below says that the chains are the same.
        ExactKernel kernel(model, expansion_of(model, pool, {.order = order, .at_once = at_once}),
                           {.proposal = proposal, .thinning = thinning}, pool);
        expect_moments(kernel, Eigen::Vector2d(0, 0), q.mean, q.covariance, 150'000, name);
        at_once = !at_once;
      }
}

TEST(Exact, LogisticMatchesQuadrature) {
  expect_matches_quadrature("logistic", testing::draw_logistic, Prior::normal(0.5, 1.5));
}
TEST(Exact, LogisticWithStudentPriorMatchesQuadrature) {
  expect_matches_quadrature("logistic", testing::draw_logistic, Prior::student_t(3, 1, 0.3));
}
TEST(Exact, LogisticWithLaplacePriorMatchesQuadrature) {
  expect_matches_quadrature("logistic", testing::draw_logistic, Prior::laplace(0.2, 0.3));
}
TEST(Exact, ProbitMatchesQuadrature) {
  expect_matches_quadrature("probit", testing::draw_probit, Prior::normal(0, 2));
}
TEST(Exact, PoissonMatchesQuadrature) {
  expect_matches_quadrature("poisson", testing::draw_poisson, Prior::cauchy(0, 1));
}

TEST(Exact, NegativeBinomialMatchesQuadrature) {
  expect_matches_quadrature("negative-binomial", testing::draw_poisson, Prior::normal(0, 2), {{"size", 1.7}});
}
TEST(Exact, GammaMatchesQuadrature) {
  expect_matches_quadrature("gamma", testing::draw_gamma, Prior::normal(0, 2), {{"shape", 0.4}});
}
// The tails of a robust regression are not those of its Laplace fit: 60 rows, some of them outliers.
TEST(Exact, StudentMatchesQuadrature) {
  expect_matches_quadrature("student", testing::draw_gaussian, Prior::normal(0, 5),
                            {{"freedom", 3}, {"known-sigma", 0.6}});
}

// Long chains of both methods on a skewed posterior in more dimensions: n = 500, p = 3, and few ones.
TEST(Exact, AgreesWithFullWhereThePosteriorIsSkewed) {
  Design design =
      design_of(regression_table(500, -3.2, {0.8, -0.5}, 3, testing::draw_logistic), "y ~ x1 + x2");
  const Glm model(std::move(design), make_family("logistic"),
                  GlmPriors{std::vector<Prior>(3, Prior::normal(0, 5))});
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  constexpr std::size_t steps = 200'000;
  const auto moments = [&](auto& kernel, std::uint64_t& violations) {
    std::vector<testing::BatchMean> out(9, testing::BatchMean(steps));
    testing::run(kernel, mode.theta, 2000, steps, [&](const Eigen::VectorXd& theta, const StepInfo& info) {
      for (Eigen::Index j = 0; j < 3; ++j) {
        const double x = theta[j] - mode.theta[j];
        for (std::size_t power = 0; power < 3; ++power)
          out[static_cast<std::size_t>(j) * 3 + power].add(std::pow(x, power + 1));
      }
      violations += info.bound_violations;
    });
    return out;
  };
  std::uint64_t violations = 0;
  FullKernel full(model, LaplaceProposal(Laplace(mode.theta, mode.information), {}), pool);
  const auto reference = moments(full, violations);
  for (const int order : {2, 3}) {
    ExactKernel kernel(model, expansion_of(model, pool, {.order = order}), {}, pool);
    const auto found = moments(kernel, violations);
    for (std::size_t k = 0; k < found.size(); ++k)
      EXPECT_LT(std::abs(found[k].mean() - reference[k].mean()) /
                    std::hypot(found[k].error(), reference[k].error()),
                5)
          << "order " << order << ", moment " << k;
  }
  EXPECT_EQ(violations, 0U);
}

// With bounds that are too large the chain is as exact as with tight ones, and a step reads many rows, some
// for the move and some against it. The factorised rule counts only those against; the balanced rule weighs
// both, which does not change the distribution but accepts more.
TEST(Exact, LooseBoundsGiveTheSameLaw) {
  Design design = design_of(regression_table(400, -2.5, {0.9}, 5, testing::draw_logistic), "y ~ x1");
  const Glm model(std::move(design), make_family("logistic"),
                  GlmPriors{std::vector<Prior>(2, Prior::normal(0, 5))});
  const Quadrature q = integrate(model);
  ThreadPool pool(1);
  const auto expansion = expansion_of(model, pool, {.order = 2, .bound_factor = 8});
  constexpr std::size_t steps = 300'000;
  std::vector<testing::BatchMean> acceptance(2, testing::BatchMean(steps));
  for (const Thinning thinning : {Thinning::balanced, Thinning::factorised}) {
    const ExactOptions options{.proposal = {.step = 1.0}, .thinning = thinning};
    ExactKernel kernel(model, expansion, options, pool);
    expect_moments(kernel, Eigen::Vector2d(-2.5, 0.9), q.mean, q.covariance, steps, "loose bounds");
    ExactKernel again(model, expansion, options, pool);
    testing::run(again, Eigen::Vector2d(-2.5, 0.9), 2000, steps,
                 [&](const Eigen::VectorXd&, const StepInfo& info) {
                   acceptance[thinning == Thinning::balanced ? 0 : 1].add(info.accepted ? 1 : 0);
                 });
  }
  EXPECT_GT(acceptance[0].mean() - acceptance[1].mean(),
            5 * std::hypot(acceptance[0].error(), acceptance[1].error()))
      << acceptance[0].mean() << " " << acceptance[1].mean();
}

// Which rows a step reads does not depend on the chain's state, so they may be drawn before it runs: a pool
// of ids, used once each, in order.
class DrawnBefore {
 public:
  DrawnBefore(const DrawnRows& rows, std::size_t count) : ids_(count) {
    Stream stream({.seed = 99, .chain = 0, .purpose = Purpose::rows, .iteration = 0});
    rows.draw(stream, ids_);
  }
  void draw(Stream& /*stream*/, std::span<RowId> ids) {
    ASSERT_LE(next_ + ids.size(), ids_.size()) << "the pool ran dry";
    std::copy_n(ids_.begin() + static_cast<std::ptrdiff_t>(next_), ids.size(), ids.begin());
    next_ += ids.size();
  }

 private:
  std::vector<RowId> ids_;
  std::size_t next_ = 0;
};

TEST(Exact, RowsDrawnBeforehandGiveTheSameLaw) {
  const auto model = small_glm("logistic", 60, testing::draw_logistic, Prior::normal(0.5, 1.5));
  const Quadrature q = integrate(model);
  ThreadPool pool(1);
  const auto expansion = expansion_of(model, pool, {.order = 2});
  ExactKernel kernel(model, expansion, {}, pool,
                     RemainderTest(expansion, Thinning::balanced, DrawnBefore(expansion->rows, 1'000'000)));
  expect_moments(kernel, Eigen::Vector2d(0, 0), q.mean, q.covariance, 150'000, "a pool");
}

// With bounds that are half as large as they must be, the counter moves: a wrong bound is noticed.
TEST(Exact, ABrokenBoundIsCounted) {
  const auto model = small_glm("logistic", 60, testing::draw_logistic);
  ThreadPool pool(1);
  for (const int order : {2, 3})
    for (const auto& [factor, share] : {std::pair(1.0, 0.0), std::pair(0.5, 0.05), std::pair(0.5, 0.0)}) {
      // Rows that are kept, and rows that are not: the counter sees both.
      const bool at_once = share > 0;
      ExactKernel kernel(
          model, expansion_of(model, pool, {.order = order, .bound_factor = factor, .at_once = at_once}),
          {.audit_share = share}, pool);
      std::uint64_t violations = 0, audited = 0;
      double worst = 0;
      testing::run(kernel, Eigen::Vector2d(0, 0), 1000, 50'000,
                   [&](const Eigen::VectorXd&, const StepInfo& info) {
                     violations += info.bound_violations;
                     audited += info.audited ? 1 : 0;
                     worst = std::max(worst, info.audit_error);
                   });
      if (factor == 1) {
        EXPECT_EQ(violations, 0U);
      } else {
        EXPECT_GT(violations, 0U) << "order " << order;
      }
      EXPECT_NEAR(static_cast<double>(audited), 50'000 * share, 5 * std::sqrt(50'000 * share) + 0.5);
      EXPECT_LT(worst, 1e-5);  // polynomial and remainders add up, whatever the bounds are
    }
}

// An expansion about a point 2.5 posterior sds from the mode is a poor one, so that stage 2 has much to do:
// its draws are those of the posterior all the same. Without stage 2 (bounds of nearly 0: no row is read)
// they are not, and with a tenth of the bounds, which are loose for e^x, the counter moves: either shows.
TEST(Exact, GammaMatchesQuadratureFromADisplacedExpansion) {
  const auto model = small_glm("gamma", 60, testing::draw_gamma, Prior::normal(0, 2), {{"shape", 0.2}});
  const Quadrature q = integrate(model);
  ThreadPool pool(1);
  Mode mode = find_mode(model, pool);
  mode.evaluated_at = Laplace(mode.theta, mode.information).from_white(Eigen::Vector2d(2, -1.5));
  mode.likelihood = sum_derivatives(model, pool, params(mode.evaluated_at), Rows::range(0, model.rows()));
  Derivatives posterior = mode.likelihood;
  model.add_prior_derivatives(params(mode.evaluated_at), posterior);
  mode.information = posterior.information;  // at that point, which the kernel takes for the mode
  constexpr std::size_t steps = 150'000;
  for (const int order : {2, 3})
    for (const Thinning thinning : {Thinning::balanced, Thinning::factorised}) {
      SCOPED_TRACE(::testing::Message() << "order " << order << ", rule " << static_cast<int>(thinning));
      const auto kernel = [&](double bound_factor) {
        return ExactKernel(model,
                           std::make_shared<const Expansion>(expand(
                               *model.curved(), pool, mode, {.order = order, .bound_factor = bound_factor})),
                           {.thinning = thinning}, pool);
      };
      auto whole = kernel(1);
      expect_moments(whole, mode.theta, q.mean, q.covariance, steps, "displaced");
      // The largest |z| of the means.
      const auto run = [&](double bound_factor, std::uint64_t& violations) {
        auto chain = kernel(bound_factor);
        double worst = 0;
        std::vector<testing::BatchMean> means(2, testing::BatchMean(steps));
        testing::run(chain, mode.theta, 2000, steps, [&](const Eigen::VectorXd& theta, const StepInfo& info) {
          for (Eigen::Index j = 0; j < 2; ++j) means[static_cast<std::size_t>(j)].add(theta[j]);
          violations += info.bound_violations;
        });
        for (Eigen::Index j = 0; j < 2; ++j)
          worst = std::max(worst, std::abs(means[static_cast<std::size_t>(j)].z(q.mean[j])));
        return worst;
      };
      std::uint64_t none = 0, broken = 0, unread = 0;
      static_cast<void>(run(1, none));
      EXPECT_EQ(none, 0U);
      static_cast<void>(run(0.1, broken));
      EXPECT_GT(broken, 0U);
      EXPECT_GT(run(1e-9, unread), 10) << "a chain without stage 2 goes unseen";
    }
}

// The audit's coin has random numbers of its own: an audited chain is the chain of the same seed, step by
// step, however many of its steps are audited.
TEST(Exact, AnAuditChangesNoDraw) {
  const auto model = small_glm("logistic", 60, testing::draw_logistic);
  ThreadPool pool(1);
  for (const int order : {2, 3})
    for (const Thinning thinning : {Thinning::balanced, Thinning::factorised}) {
      const auto expansion = expansion_of(model, pool, {.order = order});
      const auto path = [&](double share) {
        ExactKernel kernel(model, expansion, {.thinning = thinning, .audit_share = share}, pool);
        std::vector<double> out;
        std::size_t audited = 0;
        testing::run(kernel, Eigen::Vector2d(0, 0), 300, 3000,
                     [&](const Eigen::VectorXd& theta, const StepInfo& info) {
                       audited += info.audited ? 1 : 0;
                       out.insert(out.end(), {theta[0], theta[1], info.log_ratio, info.accepted ? 1.0 : 0.0,
                                              static_cast<double>(info.rows_read)});
                     });
        EXPECT_EQ(audited > 0, share > 0);
        EXPECT_EQ(audited == 3000, share == 1);
        return out;
      };
      const std::vector<double> plain = path(0);
      EXPECT_EQ(plain, path(0.05));
      EXPECT_EQ(plain, path(1));
    }
}

// When rows are made does not change a chain: every step of it is the same, for every family, order and rule.
TEST(Exact, IsTheSameChainWheneverRowsAreMade) {
  const auto expect_same = [](std::string_view family, double (*draw)(Stream&, double),
                              const FamilyNumbers& numbers = {}) {
    SCOPED_TRACE(family);
    const auto model = small_glm(family, 400, draw, Prior::normal(0, 2), numbers);
    ThreadPool pool(1);
    for (const int order : {2, 3})
      for (const Thinning thinning : {Thinning::balanced, Thinning::factorised}) {
        std::uint64_t rows = 0;
        const auto path = [&](bool at_once) {
          // Loose bounds: steps read many rows, one at a time and in batches.
          const auto expansion =
              expansion_of(model, pool, {.order = order, .bound_factor = 8, .at_once = at_once});
          ExactKernel kernel(model, expansion, {.thinning = thinning}, pool);
          std::vector<double> out;
          testing::run(kernel, Eigen::Vector2d(0, 0), 300, 3000,
                       [&](const Eigen::VectorXd& theta, const StepInfo& info) {
                         rows += info.rows_read;
                         EXPECT_EQ(info.bound_violations, 0U);
                         out.insert(out.end(), {theta[0], theta[1], info.log_ratio, info.accepted ? 1.0 : 0.0,
                                                static_cast<double>(info.rows_read)});
                       });
          EXPECT_EQ(expansion->rows.kept(), at_once);
          return out;
        };
        EXPECT_EQ(path(true), path(false));
        EXPECT_GT(rows, 100U);
      }
  };
  expect_same("logistic", testing::draw_logistic);
  expect_same("probit", testing::draw_probit);
  expect_same("poisson", testing::draw_poisson);
  expect_same("negative-binomial", testing::draw_poisson, {{"size", 1.7}});
  expect_same("gamma", testing::draw_gamma, {{"shape", 0.4}});
  expect_same("student", testing::draw_gaussian, {{"freedom", 3}, {"known-sigma", 0.6}});
}

// A chain that is saved and loaded midway makes the same draws.
TEST(Exact, ContinuesFromWhatItSaved) {
  const auto model = small_glm("logistic", 60, testing::draw_logistic, Prior::student_t(3, 0, 1));
  ThreadPool pool(1);
  const auto expansion = expansion_of(model, pool, {});
  ExactKernel whole(model, expansion, {}, pool);
  ChainState state;
  state.theta = Eigen::Vector2d(0, 0);
  std::vector<double> saved;
  ChainState middle;
  for (std::uint64_t k = 0; k < 3000; ++k) {
    if (k == 700) whole.freeze();
    if (k == 431) {
      whole.save(saved);
      middle = state;
    }
    whole.step(state, {.seed = 4, .chain = 0, .iteration = k});
  }
  ExactKernel second(model, expansion, {}, pool);
  second.load(saved);
  for (std::uint64_t k = 431; k < 3000; ++k) {
    if (k == 700) second.freeze();
    second.step(middle, {.seed = 4, .chain = 0, .iteration = k});
  }
  EXPECT_EQ(middle.theta, state.theta);
}

// Rows with weights: polynomial and remainders are those of the weighted terms, and no bound is broken. Sixty
// rows, so that the remainders matter: with weights in the sums alone the audit is off by more than 0.01.
TEST(Exact, CountsRowsAsOftenAsTheirWeights) {
  Table table = regression_table(60, 0.4, {0.9}, 3, testing::draw_logistic);
  Numbers weights;
  for (std::size_t i = 0; i < 60; ++i) weights.push_back(static_cast<double>(1 + i % 5));
  table.columns.emplace_back("w", weights);
  const Glm model(design_of(table, "y ~ x1", {.row_weights = "w"}), make_family("logistic"),
                  GlmPriors{{Prior::normal(0.5, 1.5), Prior::normal(0.5, 1.5)}});
  const Quadrature q = integrate(model);
  ThreadPool pool(1);
  for (const int order : {2, 3})
    for (const bool at_once : {false, true}) {
      ExactKernel kernel(model, expansion_of(model, pool, {.order = order, .at_once = at_once}),
                         {.audit_share = 0.05}, pool);
      double worst = 0;
      std::uint64_t violations = 0, audits = 0;
      testing::run(kernel, Eigen::Vector2d(0, 0), 500, 20'000,
                   [&](const Eigen::VectorXd&, const StepInfo& info) {
                     worst = std::max(worst, info.audit_error);
                     violations += info.bound_violations;
                     audits += info.audited ? 1 : 0;
                   });
      EXPECT_GT(audits, 500U);
      EXPECT_LT(worst, 1e-4) << "order " << order;  // records are floats
      EXPECT_EQ(violations, 0U);
      ExactKernel chain(model, expansion_of(model, pool, {.order = order, .at_once = at_once}), {}, pool);
      expect_moments(chain, Eigen::Vector2d(0, 0), q.mean, q.covariance, 150'000, "weights");
    }
}

}  // namespace
}  // namespace mlo
