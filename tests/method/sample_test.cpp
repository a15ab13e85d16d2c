// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/method/sample.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "mlo/base/errors.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/model/autodiff.hpp"
#include "mlo/model/layout.hpp"
#include "mlo/subsample/expansion.hpp"
#include "support/designs.hpp"

namespace mlo {
namespace {

std::unique_ptr<AnyModel> logistic() {
  Design design = testing::design_of(
      testing::regression_table(9000, 0.2, {1.0, 0.5}, 4, testing::draw_logistic), "y ~ x1 + x2");
  std::vector<std::string> notes;
  return make_model(*find_family("logistic"), std::move(design), {},
                    {.prior = "normal(0, 3)", .prior_intercept = "normal(0, 3)", .prior_for = {}}, notes);
}

MethodOptions options(const std::string& method, std::uint64_t seed, std::int64_t chains, std::int64_t warmup,
                      std::int64_t draws) {
  MethodOptions o;
  o.method = method;
  o.seed = seed;
  o.chains = chains;
  o.warmup = warmup;
  o.draws = draws;
  o.thin = 1;
  o.threads = 2;
  return o;
}

struct Moments {
  double mean, sd;
};
Moments moments(const Samples& samples, std::size_t j) {
  double sum = 0, squares = 0, count = 0;
  for (const ChainRecord& chain : samples.chains)
    for (const double x : chain.parameter(j)) {
      sum += x;
      squares += x * x;
      ++count;
    }
  return {sum / count, std::sqrt(squares / count - sum * sum / count / count)};
}

template <class M>
std::string refusal(const M& model, const MethodOptions& o) {
  try {
    static_cast<void>(sample(model, o));
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(Sample, DifferenceAndFullAgree) {
  const auto model = logistic();
  const Samples full = sample(*model, options("full", 3, 2, 100, 2000));
  // Another seed, for independent draws: the same one would give nearly the same ones.
  const Samples difference = sample(*model, options("difference", 4, 2, 100, 2000));
  for (std::size_t j = 0; j < 3; ++j) {
    const auto [mean_a, sd_a] = moments(full, j);
    const auto [mean_b, sd_b] = moments(difference, j);
    // 4,000 draws each, of which more than 2,000 are effective (the proposals are nearly independent). The
    // errors are sd / sqrt(2,000) for the mean and sd / sqrt(4,000) for the sd; five standard errors of the
    // differences are allowed.
    EXPECT_LT(std::abs(mean_a - mean_b), 5 * std::hypot(sd_a, sd_b) / std::sqrt(2000.0)) << j;
    EXPECT_LT(std::abs(sd_a - sd_b), 5 * std::hypot(sd_a, sd_b) / std::sqrt(4000.0)) << j;
  }
  for (const ChainRecord& chain : difference.chains) {
    EXPECT_EQ(chain.size(), 2000U);
    EXPECT_LT(chain.account.noise_sd_sum / static_cast<double>(chain.account.steps), 0.1);
    EXPECT_LT(static_cast<double>(chain.account.rows_read) / static_cast<double>(chain.account.steps), 50);
  }
}

// The log posterior of each draw, from all rows.
std::vector<double> log_posteriors(const AnyModel& model, const ChainRecord& chain) {
  ThreadPool pool(1);
  std::vector<double> out, theta(model.dim());
  for (std::size_t k = 0; k < chain.size(); ++k) {
    model.to_working({chain.draws.data() + k * chain.dim, chain.dim}, theta);
    out.push_back(log_likelihood(model, pool, theta) + model.log_prior(theta));
  }
  return out;
}

TEST(Sample, FullKnowsTheLogPosteriorOfItsDraws) {
  const auto model = logistic();
  const Samples full = sample(*model, options("full", 3, 1, 50, 100));
  EXPECT_EQ(full.log_posterior, "of all rows");
  const std::vector<double> truth = log_posteriors(*model, full.chains[0]);
  // 9,000 terms of size 1, and coordinates that went to the user's and back: 1e-9 is far above the rounding.
  for (std::size_t k = 0; k < truth.size(); ++k)
    EXPECT_NEAR(full.chains[0].log_posteriors[k], truth[k], 1e-9);
}

// The remainder of the polynomial is bounded: M(v, 0) times the sum of the rows' bounds, which is what
// `exact` relies on. The bound is computed anew, by an expansion of its own.
TEST(Sample, ExactAndSubsampledMethodsKnowTheLogPosteriorUpToABoundedRemainder) {
  const auto model = logistic();
  ThreadPool pool(1);
  const Mode mode = find_mode(*model, pool);
  for (const auto& [method, order] :
       {std::pair("exact", 2), std::pair("exact", 3), std::pair("difference", 2), std::pair("uniform", 2),
        std::pair("block", 2), std::pair("consensus", 2)}) {
    MethodOptions o = options(method, 3, 2, 200, 300);
    if (std::string(method) == "exact") o.order = order;
    const Samples samples = sample(*model, o);
    EXPECT_EQ(samples.log_posterior,
              fmt::format("by a Taylor polynomial of order {} about the mode, not of all rows", order));
    const Expansion expansion = expand(*model->curved(), pool, mode, {.order = order});
    double most_allowed = 0, spread = 0;
    for (const ChainRecord& chain : samples.chains) {
      const std::vector<double> truth = log_posteriors(*model, chain);
      for (std::size_t k = 0; k < chain.size(); ++k) {
        Eigen::VectorXd theta(static_cast<Eigen::Index>(model->dim()));
        model->to_working({chain.draws.data() + k * chain.dim, chain.dim}, {theta.data(), model->dim()});
        const double square = expansion.white(theta).squaredNorm();
        double factor = expansion.shells.back().factor;
        for (auto shell = expansion.shells.rbegin(); shell != expansion.shells.rend(); ++shell)
          if (square <= shell->radius * shell->radius) factor = shell->factor;
        ASSERT_LE(std::sqrt(square), expansion.shells.back().radius) << method;
        const double allowed = factor * expansion.total_bound * loose_pair_bound(order, 0, square);
        EXPECT_LE(std::abs(chain.log_posteriors[k] - truth[k]), allowed + 1e-6) << method << order;
        most_allowed = std::max(most_allowed, allowed / (1 + square));
        spread = std::max(spread, std::abs(truth[k] - truth[0]));
      }
    }
    // The bound says something: it is small beside what the log posterior varies by.
    EXPECT_LT(most_allowed, 0.5) << method << order;
    EXPECT_GT(spread, 3) << method;
  }
}

TEST(Sample, DifferenceGivesTheSameDrawsForAnyNumberOfThreads) {
  const auto model = logistic();
  MethodOptions o = options("difference", 3, 3, 50, 100);
  o.threads = 1;
  const Samples one = sample(*model, o);
  o.threads = 3;
  const Samples three = sample(*model, o);
  for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(one.chains[c].draws, three.chains[c].draws);
}

// y ~ N(mu, 1), with a row whose term is not a number for mu <= 0, where the search starts.
struct Logged {
  std::vector<std::string> names() const { return {"mu"}; }
  std::size_t rows() const { return 100; }
  double log_prior(Params) const { return 0; }
  template <class Scalar>
  Scalar term(std::span<const Scalar> theta, std::size_t i) const {
    using namespace ad;
    return i == 41 ? Scalar(log(theta[0])) : Scalar(-0.5 * square(theta[0] - 3.0));
  }
};

TEST(Sample, SaysWhichRowIsNoNumber) {
  const AutodiffModel<Logged> model(Logged{});
  try {
    static_cast<void>(sample(model, options("difference", 1, 4, 1000, 1000)));
    FAIL() << "not refused";
  } catch (const ModelError& e) {
    EXPECT_STREQ(e.what(), "row 42: the log density is -inf at the starting point, mu = 0");
  }
}

TEST(Sample, RefusesOptionsThatMakeNoSense) {
  const auto model = logistic();
  MethodOptions o = options("difference", 1, 1, 10, 10);
  o.noise_sd = 0;
  EXPECT_EQ(refusal(*model, o), "`noise-sd` must be positive (got 0)");
  o = options("difference", 1, 1, 10, 10);
  o.subsample_size = 1;
  EXPECT_EQ(refusal(*model, o), "`subsample-size` must be between 2 and the number of rows, 9000 (got 1)");
  o = options("difference", 1, 1, 10, 10);
  o.uniform_share = 0;
  EXPECT_EQ(refusal(*model, o), "`uniform-share` must be positive with remainder weights (got 0)");
}

// A logistic regression by hand: coefficients 1 and 0.5, no intercept, priors N(0, 3^2).
struct Own {
  Table table;
  std::vector<std::string> names() const { return {"b1", "b2"}; }
  std::size_t rows() const { return table.rows; }
  template <class Scalar>
  Scalar log_prior(std::span<const Scalar> theta) const {
    using namespace ad;
    return -(square(theta[0]) + square(theta[1])) / 18.0;
  }
  template <class Scalar>
  Scalar term(std::span<const Scalar> theta, std::size_t i) const {
    using namespace ad;
    const Scalar eta = theta[0] * table.columns[1].numbers()[i] + theta[1] * table.columns[2].numbers()[i];
    const double sign = table.columns[0].numbers()[i] == 1 ? -1 : 1;
    return -softplus(sign * eta);
  }
};
AutodiffModel<Own> own(std::size_t rows) {
  return AutodiffModel(Own{testing::regression_table(rows, 0, {1.0, 0.5}, 8, testing::draw_logistic)});
}

bool needs_bounds(const MethodSpec& method) {
  return method.needs.empty();  // bounds
}

// A user's terms have values and derivatives, but no bounds: every method but exact and confidence is there.
// The location is right even where the spread is not: within 3 of the draws' own sds. full is the posterior.
TEST(Sample, EveryMethodRunsOnAModelOfOnesOwn) {
  const auto model = own(3000);
  const Samples full = sample(model, options("full", 5, 2, 200, 1000));
  for (const MethodSpec& method : methods()) {
    if (needs_bounds(method)) continue;
    const Samples samples = sample(model, options(std::string(method.name), 6, 2, 300, 500));
    EXPECT_EQ(samples.promise, method.promise) << method.name;
    EXPECT_EQ(samples.method, method.role == Role::automatic ? &spec_of(Role::full) : &method);
    ASSERT_EQ(samples.chains.size(), 2U);
    for (std::size_t j = 0; j < 2; ++j) {
      const auto [mean, sd] = moments(samples, j);
      EXPECT_LT(std::abs(mean - moments(full, j).mean), 3 * sd) << method.name << ' ' << j;
      EXPECT_GT(sd, 0) << method.name;
    }
  }
}

TEST(Sample, EveryMethodRunsOnVeryFewRows) {
  for (const std::size_t rows : {2U, 5U, 50U}) {
    const auto model = own(rows);
    for (const MethodSpec& method : methods()) {
      if (needs_bounds(method)) continue;
      MethodOptions o = options(std::string(method.name), 6, 1, 50, 50);
      // So few rows may be separated, and then have no maximum-likelihood fit.
      if (method.parts && method.parts->weights == RowWeights::mlo) o.weights_at = "map";
      const Samples samples = sample(model, o);
      EXPECT_EQ(samples.chains[0].size(), 50U) << method.name << ", " << rows << " rows";
      for (const double x : samples.chains[0].parameter(0)) EXPECT_TRUE(std::isfinite(x)) << method.name;
    }
  }
}

TEST(Sample, AMethodThatNeedsBoundsSaysSo) {
  const auto model = own(100);
  EXPECT_EQ(
      refusal(model, options("exact", 1, 1, 10, 10)),
      "`method exact` needs bounds on what one row can say, which this model does not have; use `method full` "
      "or `method auto`");
  EXPECT_EQ(refusal(model, options("confidence", 1, 1, 10, 10)),
            "`method confidence` needs a bound on what one row can say, which this model does not have; use "
            "`method austerity` or `method auto`");
}

// The least that sampling needs: no gradients of single rows, and no expansions.
class Bare {
 public:
  explicit Bare(AutodiffModel<Own> model) : model_(std::move(model)) {}
  std::size_t dim() const { return model_.dim(); }
  std::size_t rows() const { return model_.rows(); }
  double log_prior(Params theta) const { return model_.log_prior(theta); }
  void log_likelihoods(Params theta, Rows rows, std::span<double> terms) const {
    model_.log_likelihoods(theta, rows, terms);
  }
  void add_derivatives(Params theta, Rows rows, Derivatives& d) const {
    model_.add_derivatives(theta, rows, d);
  }
  void add_prior_derivatives(Params theta, Derivatives& d) const { model_.add_prior_derivatives(theta, d); }
  Eigen::VectorXd start() const { return model_.start(); }
  const std::vector<std::string>& names() const { return model_.names(); }
  void to_user(Params theta, std::span<double> out) const { model_.to_user(theta, out); }
  void to_working(Params user, std::span<double> out) const { model_.to_working(user, out); }
  Eigen::MatrixXd user_jacobian(Params theta) const { return model_.user_jacobian(theta); }

 private:
  AutodiffModel<Own> model_;
};
static_assert(SampledModel<Bare> && !Differentiable<Bare> && !ExpandableModel<Bare>);

TEST(Sample, AModelWithoutExpansionsHasTheOtherMethods) {
  const Bare bare(own(3000));
  const AutodiffModel<Own> whole = own(3000);
  for (const MethodSpec& method : methods()) {
    const MethodOptions o = options(std::string(method.name), 6, 2, 100, 100);
    if (needs_bounds(method)) {
      EXPECT_NE(refusal(bare, o).find("which this model does not have"), std::string::npos) << method.name;
    } else if (method.role == Role::difference || method.blocks) {
      EXPECT_EQ(refusal(bare, o), "`method " + std::string(method.name) +
                                      "` needs quadratic expansions of its terms, which this model does not "
                                      "have; use `method full` or `method auto`");
    } else {
      // The same terms give the same draws.
      const Samples ours = sample(bare, o), theirs = sample(whole, o);
      for (std::size_t c = 0; c < 2; ++c)
        EXPECT_EQ(ours.chains[c].draws, theirs.chains[c].draws) << method.name;
    }
  }
  MethodOptions o = options("mlo", 1, 1, 10, 10);
  o.weights = "score";
  EXPECT_EQ(
      refusal(bare, o),
      "`method mlo` needs gradients of its terms for score weights, which this model does not have; use "
      "`method full` or `method auto`");
  o = options("austerity", 1, 1, 10, 10);
  o.estimator = "control-variates";
  EXPECT_EQ(refusal(bare, o),
            "`method austerity` needs quadratic expansions of its terms, which this model does not have; use "
            "`method full` or `method auto`");
}

TEST(Sample, WeightsAtAPointNeedOneNumberPerParameter) {
  const auto model = logistic();
  MethodOptions o = options("mlo", 1, 1, 10, 10);
  o.weights_at = "0,1,0.5";
  EXPECT_EQ(refusal(*model, o), "");
  o.weights_at = "0,1";
  EXPECT_EQ(refusal(*model, o), "`weights-at` needs 3 numbers, one per parameter (got 2: \"0,1\")");
}

TEST(Sample, AnInterruptBeforeTheFirstStepLeavesNothing) {
  const auto model = own(100);
  const std::atomic<bool> now{true};
  SampleWatcher watcher;
  watcher.interrupt = &now;
  EXPECT_THROW(static_cast<void>(sample(model, options("full", 1, 1, 10, 10), watcher)), Interrupted);
}

TEST(Stepped, ChainMakesTheStepsOfARun) {
  const auto model = logistic();
  for (const char* method : {"full", "mlo", "difference"}) {
    const MethodOptions o = options(method, 5, 2, 0, 30);
    const Samples run = sample(*model, o);
    for (std::size_t chain = 0; chain < 2; ++chain) {
      const std::unique_ptr<SteppedChain> stepped = stepped_chain(*model, o, {}, chain);
      stepped->freeze();
      std::vector<double> user(model->dim());
      for (std::size_t k = 0; k < 30; ++k) {
        const StepInfo info = stepped->step();
        EXPECT_EQ(info.steps, 1U);
        model->to_user(params(stepped->state().theta), user);
        for (std::size_t j = 0; j < user.size(); ++j)
          EXPECT_EQ(user[j], run.chains[chain].draws[k * user.size() + j]) << method << ' ' << k;
      }
      EXPECT_EQ(stepped->steps(), 30U);
    }
  }
  EXPECT_THROW(static_cast<void>(stepped_chain(*model, options("exact", 5, 2, 0, 30), {}, 0)), UsageError);
}

TEST(OwnWeights, AreCheckedAndUsed) {
  const auto model = logistic();
  const MethodOptions o = options("mlo", 5, 1, 10, 30);
  EXPECT_THROW(static_cast<void>(sample(*model, o, {1, 2}, {})), UsageError);
  EXPECT_THROW(static_cast<void>(sample(*model, o, std::vector<double>(9000, 0.0), {})), UsageError);
  EXPECT_THROW(
      static_cast<void>(sample(*model, options("full", 5, 1, 10, 30), std::vector<double>(9000, 1.0), {})),
      UsageError);
  // Weights in proportion to each other are the same.
  std::vector<double> weights(9000), twice(9000);
  for (std::size_t i = 0; i < 9000; ++i) {
    weights[i] = 1 + static_cast<double>(i % 7);
    twice[i] = 2 * weights[i];
  }
  const Samples a = sample(*model, o, weights, {}), b = sample(*model, o, twice, {});
  EXPECT_EQ(a.chains[0].draws, b.chains[0].draws);
  EXPECT_NE(a.chains[0].draws, sample(*model, o).chains[0].draws);
  EXPECT_EQ(a.notes[0], "rows drawn with weights of your own");
}

}  // namespace
}  // namespace mlo
