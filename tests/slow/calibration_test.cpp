// Copyright (c) the mlo authors. BSD-3-Clause.
// Simulation-based calibration of `exact` (Talts et al. 2018): parameters from the prior, data from the
// parameters, draws from the posterior; the rank of the true value among the draws is uniform if the draws
// come from the posterior. 5,000 replications per family; chi-square on 16 bins with 15 degrees of freedom,
// critical value 44.3 (one in 10,000). Twenty tests: over other seeds, one false alarm in 500 runs.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "mlo/kernel/exact.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/subsample/class_expansion.hpp"
#include "mlo/subsample/joint_expansion.hpp"
#include "support/classes.hpp"
#include "support/designs.hpp"

namespace mlo {
namespace {

constexpr std::size_t replications = 5000, draws = 63, thin = 8, bins = 16;
constexpr double critical = 44.3;

struct Ranks {
  std::array<int, bins> counts{};
  void add(std::size_t rank) { ++counts[rank * bins / (draws + 1)]; }
  [[nodiscard]] double chi_square() const {
    const double expected = static_cast<double>(replications) / bins;
    double sum = 0;
    for (const int c : counts) sum += (c - expected) * (c - expected) / expected;
    return sum;
  }
};

using Draw = std::function<double(Stream&, double)>;

void expect_calibrated(const std::shared_ptr<const Family>& family, const Prior& prior,
                       const Draw& draw_prior, const Draw& draw_response,
                       const ExpansionOptions& options = {}, bool expect_wrong = false) {
  const std::string_view name = family->spec().name;
  Ranks coordinate, length;
  std::uint64_t violations = 0;
  for (std::size_t replication = 0; replication < replications; ++replication) {
    Stream stream({.seed = 77, .chain = 0, .purpose = Purpose::simulate, .iteration = replication});
    const auto n = 200 + bounded(stream, 1801);
    const std::size_t p = 1 + replication % 5;
    std::vector<double> theta(p);
    for (double& t : theta) t = draw_prior(stream, 0);
    std::string formula = "y ~ 0";
    for (std::size_t j = 0; j < p; ++j) formula += " + x" + std::to_string(j + 1);
    Table table = testing::regression_table(n, 0, theta, 1000 + replication, draw_response);
    // All responses equal is a data set that check() refuses; the prior makes it rare, and leaving such sets
    // out would bias the ranks: none may occur.
    const auto& y = table.columns[0].numbers();
    ASSERT_FALSE(std::all_of(y.begin(), y.end(), [&](double v) { return v == y[0]; }));
    const Glm model(testing::design_of(std::move(table), formula), family,
                    GlmPriors{.coefficients = std::vector<Prior>(p, prior)});
    ThreadPool pool(1);
    const auto expansion =
        std::make_shared<const Expansion>(expand(*model.curved(), pool, find_mode(model, pool), options));
    ExactKernel kernel(model, expansion, {}, pool);
    ChainState state;
    state.theta = expansion->centre;
    std::vector<double> user(p);
    std::size_t below = 0, shorter = 0;
    double true_length = 0;
    for (const double t : theta) true_length += t * t;
    constexpr std::size_t warmup = 600;
    for (std::size_t k = 0; k < warmup + draws * thin; ++k) {
      if (k == warmup) kernel.freeze();
      violations += kernel.step(state, {.seed = 5, .chain = replication, .iteration = k}).bound_violations;
      if (k < warmup || (k - warmup) % thin != thin - 1) continue;
      model.to_user(params(state.theta), user);
      below += user[replication / 5 % p] < theta[replication / 5 % p] ? 1 : 0;
      double square = 0;
      for (const double t : user) square += t * t;
      shorter += square < true_length ? 1 : 0;
    }
    coordinate.add(below);
    length.add(shorter);
  }
  if (expect_wrong) {
    EXPECT_GT(violations, 0U);
    return;
  }
  EXPECT_EQ(violations, 0U);
  EXPECT_LT(coordinate.chi_square(), critical) << name << ": one coefficient";
  EXPECT_LT(length.chi_square(), critical) << name << ": the length of all";
  std::cout << name << ": chi-square " << coordinate.chi_square() << " and " << length.chi_square()
            << " with 15 degrees of freedom\n";
}

double standard_normal(Stream& stream, double) { return normal(stream); }
double half_normal(Stream& stream, double) { return 0.5 * normal(stream); }

TEST(Calibration, Logistic) {
  expect_calibrated(make_family("logistic"), Prior::normal(0, 1), standard_normal, testing::draw_logistic,
                    {.order = 2});
  expect_calibrated(make_family("logistic"), Prior::normal(0, 1), standard_normal, testing::draw_logistic,
                    {.order = 3});
}
TEST(Calibration, LogisticWithLaplacePrior) {
  expect_calibrated(
      make_family("logistic"), Prior::laplace(0, 0.7),
      [](Stream& s, double) { return (uniform(s) < 0.5 ? -0.7 : 0.7) * exponential(s); },
      testing::draw_logistic);
}
TEST(Calibration, Probit) {
  expect_calibrated(make_family("probit"), Prior::normal(0, 0.5), half_normal, testing::draw_probit);
}
TEST(Calibration, Poisson) {
  expect_calibrated(make_family("poisson"), Prior::normal(0, 0.5), half_normal, testing::draw_poisson);
}
TEST(Calibration, NegativeBinomial) {
  constexpr double size = 1.5;
  expect_calibrated(make_family("negative-binomial", {{"size", size}}), Prior::normal(0, 0.5), half_normal,
                    [](Stream& s, double eta) {
                      return static_cast<double>(poisson(s, std::exp(eta) * gamma(s, size) / size));
                    });
}
TEST(Calibration, Gamma) {
  constexpr double shape = 0.7;
  expect_calibrated(make_family("gamma", {{"shape", shape}}), Prior::normal(0, 0.5), half_normal,
                    [](Stream& s, double eta) { return std::exp(eta) * gamma(s, shape) / shape; });
}
TEST(Calibration, Student) {
  constexpr double freedom = 3, sigma = 0.8;
  expect_calibrated(make_family("student", {{"freedom", freedom}, {"known-sigma", sigma}}),
                    Prior::normal(0, 1), standard_normal, [](Stream& s, double eta) {
                      return eta + sigma * normal(s) / std::sqrt(2 * gamma(s, freedom / 2) / freedom);
                    });
}
// The same where the second parameter is estimated: it is drawn from its prior too, gamma(4, 2) if it is
// positive, beta(2, 4) if it is a share. All three orders in turn. Ten more tests.
using DrawWithSecond = double (*)(Stream&, double eta, double second);
void expect_calibrated_jointly(const char* name, const DrawWithSecond& draw_response) {
  const auto family = make_family(name);
  const bool share = family->spec().second->share;
  const Prior prior = Prior::normal(0, 0.5), second_prior = share ? Prior::beta(2, 4) : Prior::gamma(4, 2);
  constexpr std::array<JointOrder, 3> orders{JointOrder::two, JointOrder::mixed, JointOrder::three};
  Ranks coordinate, ranks_of_second;
  std::uint64_t violations = 0;
  for (std::size_t replication = 0; replication < replications; ++replication) {
    Stream stream({.seed = 78, .chain = 0, .purpose = Purpose::simulate, .iteration = replication});
    const auto n = 100 + bounded(stream, 901);
    const std::size_t p = 1 + replication % 4;
    std::vector<double> beta(p);
    for (double& b : beta) b = half_normal(stream, 0);
    const double four = gamma(stream, 4), second = share ? 1 - four / (four + gamma(stream, 2)) : four / 2;
    std::string formula = "y ~ 0";
    for (std::size_t j = 0; j < p; ++j) formula += " + x" + std::to_string(j + 1);
    Table table = testing::regression_table(
        n, 0, beta, 5000 + replication,
        [&](Stream& draws_of_row, double eta) { return draw_response(draws_of_row, eta, second); });
    Design design = testing::design_of(std::move(table), formula);
    design.counted = family->spec().counted;
    const Glm model(std::move(design), family,
                    GlmPriors{.coefficients = std::vector<Prior>(p, prior), .second = second_prior});
    ThreadPool pool(1);
    const Mode mode = find_mode(model, pool);
    const auto expansion = std::make_shared<const JointExpansion>(
        expand_jointly(*model.surfaced(mode.evaluated_at[mode.evaluated_at.size() - 1]), pool, mode,
                       {.order = orders[replication % 3]}));
    ExactKernel kernel(model, expansion, {}, pool);
    ChainState state;
    state.theta = expansion->centre;
    std::vector<double> user(p + 1);
    std::size_t below = 0, smaller = 0;
    constexpr std::size_t warmup = 600;
    for (std::size_t k = 0; k < warmup + draws * thin; ++k) {
      if (k == warmup) kernel.freeze();
      violations += kernel.step(state, {.seed = 6, .chain = replication, .iteration = k}).bound_violations;
      if (k < warmup || (k - warmup) % thin != thin - 1) continue;
      model.to_user(params(state.theta), user);
      below += user[replication / 4 % p] < beta[replication / 4 % p] ? 1 : 0;
      smaller += user[p] < second ? 1 : 0;
    }
    coordinate.add(below);
    ranks_of_second.add(smaller);
  }
  EXPECT_EQ(violations, 0U);
  EXPECT_LT(coordinate.chi_square(), critical) << name << ": one coefficient";
  EXPECT_LT(ranks_of_second.chi_square(), critical) << name << ": the second parameter";
  std::cout << name << ", second parameter estimated: chi-square " << coordinate.chi_square() << " and "
            << ranks_of_second.chi_square() << " with 15 degrees of freedom\n";
}
TEST(Calibration, StudentWithSigmaEstimated) {
  expect_calibrated_jointly("student", [](Stream& s, double eta, double sigma) {
    return eta + sigma * normal(s) / std::sqrt(gamma(s, 2) / 2);
  });
}
TEST(Calibration, NegativeBinomialWithSizeEstimated) {
  expect_calibrated_jointly("negative-binomial", [](Stream& s, double eta, double size) {
    return static_cast<double>(poisson(s, std::exp(eta) * gamma(s, size) / size));
  });
}
TEST(Calibration, GammaWithShapeEstimated) {
  expect_calibrated_jointly(
      "gamma", [](Stream& s, double eta, double shape) { return std::exp(eta) * gamma(s, shape) / shape; });
}

TEST(Calibration, ZeroInflatedPoissonWithZiEstimated) {
  expect_calibrated_jointly("zero-inflated-poisson", [](Stream& s, double eta, double zi) {
    const double zero = uniform(s), y = testing::draw_poisson(s, eta);
    return zero < zi ? 0 : y;
  });
}
TEST(Calibration, BetaBinomialWithPhiEstimated) {
  expect_calibrated_jointly("beta-binomial", testing::draw_outcome);
}

// Softmax: three classes, all coefficients from the prior, both orders in turn. Two more tests.
TEST(Calibration, Softmax) {
  Ranks coordinate, length;
  std::uint64_t violations = 0;
  for (std::size_t replication = 0; replication < replications; ++replication) {
    Stream stream({.seed = 79, .chain = 0, .purpose = Purpose::simulate, .iteration = replication});
    const auto n = 200 + bounded(stream, 801);
    const std::size_t p = 1 + replication % 3;
    std::vector<std::vector<double>> beta(2, std::vector<double>(p + 1));  // the intercept is 0
    std::vector<double> theta;
    std::string formula = "y ~ 0";
    for (std::size_t j = 0; j < p; ++j) formula += " + x" + std::to_string(j + 1);
    for (auto& of_class : beta)
      for (std::size_t j = 0; j < p; ++j) theta.push_back(of_class[j + 1] = normal(stream));
    const Softmax model = testing::softmax_of(
        testing::design_of(testing::class_table(n, beta, 9000 + replication), formula), Prior::normal(0, 1));
    ASSERT_EQ(model.dim(), 2 * p) << "a class without rows";  // to leave such data out would bias the ranks
    ThreadPool pool(1);
    const auto expansion = std::make_shared<const ClassExpansion>(
        expand_classes(model, pool, find_mode(model, pool), {.order = replication % 2 == 0 ? 2 : 3}));
    ExactKernel kernel(model, expansion, {}, pool);
    ChainState state;
    state.theta = expansion->centre;
    std::vector<double> user(2 * p);
    std::size_t below = 0, shorter = 0;
    double true_length = 0;
    for (const double t : theta) true_length += t * t;
    constexpr std::size_t warmup = 600;
    for (std::size_t k = 0; k < warmup + draws * thin; ++k) {
      if (k == warmup) kernel.freeze();
      violations += kernel.step(state, {.seed = 7, .chain = replication, .iteration = k}).bound_violations;
      if (k < warmup || (k - warmup) % thin != thin - 1) continue;
      model.to_user(params(state.theta), user);
      below += user[replication / 3 % (2 * p)] < theta[replication / 3 % (2 * p)] ? 1 : 0;
      double square = 0;
      for (const double t : user) square += t * t;
      shorter += square < true_length ? 1 : 0;
    }
    coordinate.add(below);
    length.add(shorter);
  }
  EXPECT_EQ(violations, 0U);
  EXPECT_LT(coordinate.chi_square(), critical) << "softmax: one coefficient";
  EXPECT_LT(length.chi_square(), critical) << "softmax: the length of all";
  std::cout << "softmax: chi-square " << coordinate.chi_square() << " and " << length.chi_square()
            << " with 15 degrees of freedom\n";
}

// A bound that is too small shows in the count of violations, not in the ranks: rows break it long before the
// draws show it.
TEST(Calibration, AHalvedBoundIsSeen) {
  expect_calibrated(make_family("logistic"), Prior::normal(0, 1), standard_normal, testing::draw_logistic,
                    {.order = 2, .bound_factor = 0.5}, true);
}

}  // namespace
}  // namespace mlo
