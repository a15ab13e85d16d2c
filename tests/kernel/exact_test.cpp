// Copyright (c) the mlo authors. BSD-3-Clause.
// The law of `exact`: its draws against quadrature and against a long chain on all rows, for every family,
// order, rule and proposal; as z = error / MCSE, |z| < 5. A broken bound must show.
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

template <class F>
auto expansion_of(const Glm<F>& model, ThreadPool& pool, const ExpansionOptions& options) {
  return std::make_shared<const Expansion<typename CurveOf<F>::type>>(
      expand(model, pool, find_mode(model, pool), options));
}

template <class F>
void expect_matches_quadrature(const F& family, double (*draw)(Stream&, double), const Prior& prior) {
  Design design = design_of(regression_table(60, 0.3, {0.9}, 21, draw), "y ~ x1");
  const Glm<F> model(std::move(design), family, {{prior, prior}, false, Prior::flat()});
  const Quadrature q = integrate(model);
  ThreadPool pool(1);
  for (const int order : {2, 3})
    for (const Thinning thinning : {Thinning::balanced, Thinning::factorised})
      for (const auto& [proposal, name] :
           {std::pair(WhiteProposal::Options{}, "tuned"),
            std::pair(WhiteProposal::Options{.step = 0.5}, "step 0.5"),
            std::pair(WhiteProposal::Options{.kind = WhiteProposal::Kind::random_walk}, "random walk")}) {
        ExactKernel kernel(model, expansion_of(model, pool, {.order = order}),
                           {.proposal = proposal, .thinning = thinning}, pool);
        expect_moments(kernel, Eigen::Vector2d(0, 0), q.mean, q.covariance, 150'000, name);
      }
}

TEST(Exact, LogisticMatchesQuadrature) {
  expect_matches_quadrature(Logistic{}, testing::draw_logistic, Prior::normal(0.5, 1.5));
}
TEST(Exact, LogisticWithStudentPriorMatchesQuadrature) {
  expect_matches_quadrature(Logistic{}, testing::draw_logistic, Prior::student_t(3, 1, 0.3));
}
TEST(Exact, LogisticWithLaplacePriorMatchesQuadrature) {
  expect_matches_quadrature(Logistic{}, testing::draw_logistic, Prior::laplace(0.2, 0.3));
}
TEST(Exact, ProbitMatchesQuadrature) {
  expect_matches_quadrature(Probit{}, testing::draw_probit, Prior::normal(0, 2));
}
TEST(Exact, PoissonMatchesQuadrature) {
  expect_matches_quadrature(Poisson{}, testing::draw_poisson, Prior::cauchy(0, 1));
}

TEST(Exact, NegativeBinomialMatchesQuadrature) {
  expect_matches_quadrature(NegativeBinomialKnownSize{.size = 1.7}, testing::draw_poisson,
                            Prior::normal(0, 2));
}
// The tails of a robust regression are not those of its Laplace fit: 60 rows, of which some are far out.
TEST(Exact, StudentMatchesQuadrature) {
  expect_matches_quadrature(StudentKnownScale{.freedom = 3, .sigma = 0.6}, testing::draw_gaussian,
                            Prior::normal(0, 5));
}

// Long chains of both methods on a skewed posterior in more dimensions: n = 500, p = 3, and few ones.
TEST(Exact, AgreesWithFullWhereThePosteriorIsSkewed) {
  Design design =
      design_of(regression_table(500, -3.2, {0.8, -0.5}, 3, testing::draw_logistic), "y ~ x1 + x2");
  const Glm<Logistic> model(std::move(design), {},
                            {std::vector<Prior>(3, Prior::normal(0, 5)), false, Prior::flat()});
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

// Bounds that are too large are as exact as tight ones, and read many rows a step, some of which speak for
// the move and some against it. The factorised rule listens only to those against; the balanced one weighs
// both, which leaves the law as it is and shows in what is accepted.
TEST(Exact, LooseBoundsGiveTheSameLaw) {
  Design design = design_of(regression_table(400, -2.5, {0.9}, 5, testing::draw_logistic), "y ~ x1");
  const Glm<Logistic> model(std::move(design), {},
                            {std::vector<Prior>(2, Prior::normal(0, 5)), false, Prior::flat()});
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

// Which rows a step reads does not depend on where the chain stands, so they may be drawn before it runs: a
// pool of ids, used once each, in order.
class DrawnBefore {
 public:
  DrawnBefore(const AliasTable& table, std::size_t count) : ids_(count) {
    Stream stream({.seed = 99, .chain = 0, .purpose = Purpose::rows, .iteration = 0});
    table.draw(stream, ids_);
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
  Design design = design_of(regression_table(60, 0.3, {0.9}, 21, testing::draw_logistic), "y ~ x1");
  const Glm<Logistic> model(std::move(design), {},
                            {std::vector<Prior>(2, Prior::normal(0.5, 1.5)), false, Prior::flat()});
  const Quadrature q = integrate(model);
  ThreadPool pool(1);
  const auto expansion = expansion_of(model, pool, {.order = 2});
  ExactKernel kernel(model, expansion, {}, pool, DrawnBefore(expansion->table, 1'000'000));
  expect_moments(kernel, Eigen::Vector2d(0, 0), q.mean, q.covariance, 150'000, "a pool");
}

// With a bound of a quarter of what it must be the counter moves, so a wrong bound cannot hide.
TEST(Exact, ABrokenBoundIsCounted) {
  Design design = design_of(regression_table(60, 0.3, {0.9}, 21, testing::draw_logistic), "y ~ x1");
  const Glm<Logistic> model(std::move(design), {},
                            {std::vector<Prior>(2, Prior::normal(0, 2.5)), false, Prior::flat()});
  ThreadPool pool(1);
  for (const int order : {2, 3})
    for (const auto& [factor, share] : {std::pair(1.0, 0.0), std::pair(0.5, 0.05), std::pair(0.5, 0.0)}) {
      ExactKernel kernel(model, expansion_of(model, pool, {.order = order, .bound_factor = factor}),
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
      EXPECT_LT(worst, 1e-5);  // the pieces add up, whatever the bounds are
    }
}

// A chain that is saved and loaded in its middle makes the same draws.
TEST(Exact, ContinuesFromWhatItSaved) {
  Design design = design_of(regression_table(60, 0.3, {0.9}, 21, testing::draw_logistic), "y ~ x1");
  const Glm<Logistic> model(std::move(design), {},
                            {std::vector<Prior>(2, Prior::student_t(3, 0, 1)), false, Prior::flat()});
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

}  // namespace
}  // namespace mlo
