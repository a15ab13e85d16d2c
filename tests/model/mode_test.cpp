// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/mode.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>
#include <tuple>

#include "mlo/base/errors.hpp"
#include "mlo/model/glm.hpp"
#include "support/designs.hpp"

namespace mlo {
namespace {

using testing::design_of;
using testing::regression_table;

Glm glm(std::string_view family, Table table, const std::string& formula, const Prior& prior,
        const FamilyNumbers& numbers = {}) {
  Design design = design_of(std::move(table), formula);
  GlmPriors priors;
  priors.coefficients.assign(design.dim, prior);
  priors.second = Prior::gamma(1, 1);
  return {std::move(design), make_family(family, numbers), std::move(priors)};
}

// At a maximum the gradient vanishes: measured in standard deviations, |L^-1 g|.
template <class M>
double distance_to_mode(const M& model, const Mode& mode, ModeOf of) {
  ThreadPool pool(1);
  Derivatives d = sum_derivatives(model, pool, params(mode.theta), Rows::range(0, model.rows()));
  if (of == ModeOf::posterior) model.add_prior_derivatives(params(mode.theta), d);
  const Eigen::LLT<Eigen::MatrixXd> chol(d.information);
  return chol.matrixL().solve(d.gradient).norm();
}

TEST(FindMode, EndsWhereTheGradientVanishesForEveryFamily) {
  ThreadPool pool(2);
  const auto check = [&](const auto& model) {
    for (const ModeOf of : {ModeOf::posterior, ModeOf::likelihood}) {
      const Mode mode = find_mode(model, pool, {.of = of});
      EXPECT_LT(distance_to_mode(model, mode, of), 1e-5);
    }
  };
  const std::vector<double> beta{0.7, -0.4};
  const Prior prior = Prior::normal(0, 2.5);
  check(glm("logistic", regression_table(3000, 0.3, beta, 1, testing::draw_logistic), "y ~ x1 + x2", prior));
  check(glm("probit", regression_table(3000, 0.3, beta, 2, testing::draw_probit), "y ~ x1 + x2", prior));
  check(glm("poisson", regression_table(3000, 0.3, beta, 3, testing::draw_poisson), "y ~ x1 + x2", prior));
  check(glm("gaussian-mean", regression_table(3000, 0.3, beta, 4, testing::draw_gaussian), "y ~ x1 + x2",
            prior));
  check(glm("gaussian", regression_table(3000, 0.3, beta, 5, testing::draw_gaussian), "y ~ x1 + x2", prior));
  const Table heavy = regression_table(3000, 0.3, beta, 6, testing::draw_student);
  check(glm("student", heavy, "y ~ x1 + x2", prior));
  check(glm("student", heavy, "y ~ x1 + x2", prior, {{"freedom", 4}, {"known-sigma", 1.5}}));
  const Table counts = regression_table(3000, 0.3, beta, 7, testing::draw_negative_binomial);
  check(glm("negative-binomial", counts, "y ~ x1 + x2", prior));
  check(glm("negative-binomial", counts, "y ~ x1 + x2", prior, {{"size", 2}}));
  const Table positive = regression_table(3000, 0.3, beta, 8, testing::draw_gamma);
  check(glm("gamma", positive, "y ~ x1 + x2", prior));
  check(glm("gamma", positive, "y ~ x1 + x2", prior, {{"shape", 2}}));
}

// Responses in other units change the intercept and nothing else.
TEST(FindMode, FindsAGammaModelInAnyUnits) {
  ThreadPool pool(1);
  const Table table = regression_table(500, 0.3, {0.7, -0.4}, 8, testing::draw_gamma);
  const Mode expected = find_mode(glm("gamma", table, "y ~ x1 + x2", Prior::flat()), pool);
  for (const double unit : {1e-290, 1e-160, 1e-20, 1e20, 1e160, 1e290}) {
    SCOPED_TRACE(unit);
    Table other = table;
    for (double& y : other.columns[0].numbers()) y *= unit;
    const Mode mode = find_mode(glm("gamma", std::move(other), "y ~ x1 + x2", Prior::flat()), pool);
    EXPECT_NEAR(mode.theta[0], expected.theta[0] + std::log(unit), 1e-7);
    for (Eigen::Index j = 1; j < mode.theta.size(); ++j) EXPECT_NEAR(mode.theta[j], expected.theta[j], 1e-7);
  }
}

// The median, where the search begins, lies between two clusters, where the log posterior curves upward.
TEST(FindMode, LeavesTheMiddleOfTwoClusters) {
  ThreadPool pool(1);
  Table table = regression_table(60, 0, {}, 1, testing::draw_gaussian);
  for (std::size_t i = 0; i < table.rows; ++i) {
    double& y = table.columns[0].numbers()[i];
    y = i % 2 == 0 ? 4 + 0.5 * y : -table.columns[0].numbers()[i - 1];
  }
  const Glm model =
      glm("student", std::move(table), "y ~ 1", Prior::normal(0, 10), {{"freedom", 1}, {"known-sigma", 1}});
  const Mode mode = find_mode(model, pool);
  EXPECT_NEAR(std::abs(mode.theta[0]), 4, 1);
  EXPECT_LT(distance_to_mode(model, mode, ModeOf::posterior), 1e-5);
}

TEST(FindMode, GivesTheLeastSquaresSolutionForAGaussianResponse) {
  const Table table = regression_table(500, 2.0, {1.0, -3.0}, 9, testing::draw_gaussian);
  Eigen::MatrixXd x(500, 3);
  Eigen::VectorXd y(500);
  for (Eigen::Index i = 0; i < 500; ++i) {
    const auto k = static_cast<std::size_t>(i);
    x.row(i) << 1, table.columns[1].numbers()[k], table.columns[2].numbers()[k];
    y[i] = table.columns[0].numbers()[k];
  }
  const Eigen::VectorXd expected = x.colPivHouseholderQr().solve(y);
  const auto model = glm("gaussian", table, "y ~ x1 + x2", Prior::flat());
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool, {.of = ModeOf::likelihood});
  std::vector<double> user(4);
  model.to_user(params(mode.theta), user);
  for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(user[j], expected[static_cast<Eigen::Index>(j)], 1e-9);
  const double sigma = std::sqrt((y - x * expected).squaredNorm() / 500);
  EXPECT_NEAR(user[3], sigma, 1e-6 * sigma);  // Newton in log sigma: its last step leaves tolerance^2
}

TEST(FindMode, IsTheSameToTheLastBitForAnyNumberOfThreads) {
  const auto model = glm("logistic", regression_table(30'000, -1, {0.7, -0.4}, 1, testing::draw_logistic),
                         "y ~ x1 + x2", Prior::normal(0, 2.5));
  ThreadPool one(1), two(2), three(3);
  const Mode a = find_mode(model, one), b = find_mode(model, two), c = find_mode(model, three);
  EXPECT_TRUE(a.theta == b.theta && a.theta == c.theta);
  EXPECT_TRUE(a.information == b.information && a.information == c.information);
}

TEST(FindMode, ReadsAllRowsOnlyAFewTimesWhenTheyAreMany) {
  const auto model = glm("logistic", regression_table(200'000, -1, {0.7, -0.4}, 1, testing::draw_logistic),
                         "y ~ x1 + x2", Prior::normal(0, 2.5));
  ThreadPool pool(2);
  const Mode mode = find_mode(model, pool);
  EXPECT_LT(mode.passes, 4.5);
  EXPECT_LT(distance_to_mode(model, mode, ModeOf::posterior), 1e-4);
}

TEST(FindMode, StartsTheLikelihoodsModeFromThePosteriorsWithoutAnotherPass) {
  const auto model = glm("logistic", regression_table(100'000, 0, {0.7, -0.4}, 1, testing::draw_logistic),
                         "y ~ x1 + x2", Prior::normal(0, 2.5));
  ThreadPool pool(2);
  const Mode map = find_mode(model, pool);
  const Mode mle = find_mode(model, pool, {.of = ModeOf::likelihood}, &map);
  EXPECT_LE(mle.passes, 1);
  EXPECT_LT(distance_to_mode(model, mle, ModeOf::likelihood), 1e-4);
}

TEST(FindMode, WorksOnColumnsOfAnyScaleAndOffset) {
  Table table = regression_table(20'000, 0.2, {0.8, -0.4}, 6, testing::draw_logistic);
  const auto plain = glm("logistic", table, "y ~ x1 + x2", Prior::flat());
  for (double& v : table.columns[1].numbers()) v = 1.6e9 + 1e3 * v;  // a time stamp
  for (double& v : table.columns[2].numbers()) v *= 1e-9;
  const auto odd = glm("logistic", table, "y ~ x1 + x2", Prior::flat());
  ThreadPool pool(1);
  const Mode a = find_mode(plain, pool), b = find_mode(odd, pool);
  std::vector<double> ua(3), ub(3);
  plain.to_user(params(a.theta), ua);
  odd.to_user(params(b.theta), ub);
  // The time stamps themselves were rounded to 2e-7 of a unit of 1e3.
  EXPECT_NEAR(ub[1] * 1e3 / ua[1], 1, 1e-6);
  EXPECT_NEAR(ub[2] * 1e-9 / ua[2], 1, 1e-6);
}

std::string failure(const std::function<void()>& body) {
  try {
    body();
  } catch (const ModelError& e) {
    return e.what();
  }
  return "no error";
}

// Nothing is sampled from an expansion about a point that is not the mode.
TEST(FindMode, RefusesASearchThatDoesNotEnd) {
  ThreadPool pool(1);
  const std::vector<double> beta{0.7, -0.4};
  // Twenty rows far out that contradict each other.
  const auto hard = [&](std::uint64_t seed, double (*draw)(Stream&, double), double unit) {
    Table table = regression_table(300, 0.3, beta, seed, draw);
    for (std::size_t i = 0; i < 20; ++i) {
      table.columns[1].numbers()[i] *= 30;
      table.columns[0].numbers()[i] = std::round(1e6 * std::exp(i % 2 == 0 ? 6.0 : -6.0)) * unit;
    }
    return table;
  };
  for (const auto& [family, draw, unit] :
       {std::tuple("student", &testing::draw_student, 1e-6),
        std::tuple("negative-binomial", &testing::draw_negative_binomial, 1.0),
        std::tuple("gamma", &testing::draw_gamma, 1e-6)}) {
    SCOPED_TRACE(family);
    const Glm model = glm(family, hard(9, draw, unit), "y ~ x1 + x2", Prior::normal(0, 2.5));
    const std::string words =
        failure([&] { static_cast<void>(find_mode(model, pool, {.max_iterations = 1})); });
    EXPECT_TRUE(words.starts_with("mode finding did not converge in 1 iterations: the next step would still"))
        << words;
  }
}

TEST(FindMode, NamesTheColumnsOfARankDeficientDesign) {
  Table table = regression_table(2000, 0, {0.5, 0.5}, 8, testing::draw_logistic);
  Column sum{"total", table.columns[1].numbers()};
  for (std::size_t i = 0; i < table.rows; ++i) sum.numbers()[i] += 200 * table.columns[2].numbers()[i];
  table.columns.push_back(sum);
  const auto model = glm("logistic", table, "y ~ x1 + x2 + total", Prior::normal(0, 1));
  ThreadPool pool(1);
  EXPECT_EQ(failure([&] { static_cast<void>(find_mode(model, pool)); }),
            "column \"total\" is a linear combination of \"x2\" and \"x1\": remove one of them");
}

// y = 1 exactly where x1 > 0: no finite maximum. Complete separation, and quasi-complete by a dummy column.
TEST(FindMode, TellsSeparationAndTheColumnThatSeparates) {
  ThreadPool pool(1);
  for (const std::size_t rows : {200U, 100'000U}) {
    Table table = regression_table(rows, 0, {0.5, 0.5}, 8, testing::draw_logistic);
    Table quasi = table;
    for (std::size_t i = 0; i < rows; ++i) {
      table.columns[0].numbers()[i] = table.columns[1].numbers()[i] > 0 ? 1 : 0;
      quasi.columns[1].numbers()[i] = i % 10 == 0 ? 1 : 0;
      if (i % 10 == 0) quasi.columns[0].numbers()[i] = 1;
    }
    for (Table* t : {&table, &quasi}) {
      const auto flat = glm("logistic", *t, "y ~ x1 + x2", Prior::flat());
      const std::string words = failure([&] { static_cast<void>(find_mode(flat, pool)); });
      EXPECT_EQ(words.rfind("separation: \"x1\"", 0), 0U) << words;
      const auto probit = glm("probit", *t, "y ~ x1 + x2", Prior::flat());
      const std::string probit_words = failure([&] { static_cast<void>(find_mode(probit, pool)); });
      EXPECT_EQ(probit_words.rfind("separation: \"x1\"", 0), 0U) << probit_words;
      // With a proper prior there is a mode; the likelihood alone still has none.
      const auto proper = glm("logistic", *t, "y ~ x1 + x2", Prior::normal(0, 2.5));
      const Mode map = find_mode(proper, pool);
      EXPECT_LT(distance_to_mode(proper, map, ModeOf::posterior), 1e-4);
      EXPECT_EQ(failure([&] {
                  static_cast<void>(find_mode(proper, pool, {.of = ModeOf::likelihood}, &map));
                }).rfind("separation: \"x1\"", 0),
                0U);
    }
  }
}

TEST(FindMode, DoesNotTakeARareEventForSeparation) {
  ThreadPool pool(1);
  const auto model = glm("logistic", regression_table(100'000, -6.5, {1.0, 0.5}, 8, testing::draw_logistic),
                         "y ~ x1 + x2", Prior::flat());
  const Mode mode = find_mode(model, pool);
  EXPECT_LT(distance_to_mode(model, mode, ModeOf::likelihood), 1e-4);
}

// ---- Student's t: its likelihood is not concave

enum class Noise { plain, t2, outliers };

// y = 40 + 30 x1 - 20 x2 + noise of scale 0.5; the outliers are one row in ten, 1000 units to one side.
Table rough_table(std::size_t rows, Noise noise, std::uint64_t seed) {
  std::size_t row = 0;
  return regression_table(rows, 40, {30, -20}, seed, [&](Stream& s, double eta) {
    const double error = 0.5 * (noise == Noise::t2 ? testing::draw_t(s, 2) : normal(s));
    return eta + error + (noise == Noise::outliers && row++ % 10 == 3 ? 1000 : 0);
  });
}

// The posterior's scale of a coefficient here is 0.5 / sqrt(rows): the mode is near the truth if it is within
// 8 of these, which leaves room for the factor of 1.2 to 1.4 that the family or the noise adds.
template <class M>
void expect_near_truth(const M& model, std::size_t rows) {
  ThreadPool pool(2);
  const Mode mode = find_mode(model, pool);
  EXPECT_LT(distance_to_mode(model, mode, ModeOf::posterior), 1e-4);
  std::vector<double> user(model.dim());
  model.to_user(params(mode.theta), user);
  const double tolerance = 8 * 0.5 / std::sqrt(static_cast<double>(rows));
  EXPECT_NEAR(user[0], 40, tolerance);
  EXPECT_NEAR(user[1], 30, tolerance);
  EXPECT_NEAR(user[2], -20, tolerance);
}

TEST(FindMode, FindsMostOfTheRowsOfARoughResponse) {
  for (const std::size_t rows : {200U, 2000U, 100'000U})
    for (const Noise noise : {Noise::plain, Noise::t2, Noise::outliers})
      for (const double freedom : {1.0, 4.0, 30.0}) {
        if (freedom == 30 && noise == Noise::outliers) continue;  // nearly gaussian: the outliers matter
        SCOPED_TRACE(::testing::Message()
                     << rows << " rows, noise " << static_cast<int>(noise) << ", freedom " << freedom);
        const Table table = rough_table(rows, noise, rows + 7);
        const Prior prior = Prior::normal(0, 100);
        expect_near_truth(glm("student", table, "y ~ x1 + x2", prior, {{"freedom", freedom}}), rows);
        expect_near_truth(
            glm("student", table, "y ~ x1 + x2", prior, {{"freedom", freedom}, {"known-sigma", 0.5}}), rows);
      }
}

// Rows at -10 and 10 and a known sigma of 1: zero, where the search begins, is a minimum with a gradient of
// 0.
TEST(FindMode, LeavesAMinimum) {
  Table table;
  table.source.name = "test";
  table.rows = 40;
  table.columns.push_back({"y", std::vector<double>(40)});
  table.columns.push_back({"x", std::vector<double>(40, 1.0)});
  for (std::size_t i = 0; i < 40; ++i) table.columns[0].numbers()[i] = i % 2 == 0 ? -10 : 10;
  const auto model =
      glm("student", table, "y ~ 0 + x", Prior::normal(0, 100), {{"freedom", 4}, {"known-sigma", 1}});
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  std::vector<double> user(1);
  model.to_user(params(mode.theta), user);
  EXPECT_LT(distance_to_mode(model, mode, ModeOf::posterior), 1e-4);
  EXPECT_NEAR(std::abs(user[0]), 10, 1);
}

TEST(FindMode, TellsThatTooManyRowsAreExactForStudent) {
  Table table = regression_table(500, 0, {1.0}, 3, testing::draw_student);
  for (std::size_t i = 0; i < 450; ++i) table.columns[0].numbers()[i] = 2 + 3 * table.columns[1].numbers()[i];
  const auto model = glm("student", table, "y ~ x1", Prior::normal(0, 10));
  ThreadPool pool(1);
  EXPECT_EQ(failure([&] { static_cast<void>(find_mode(model, pool)); }),
            "the columns predict too many rows of the response \"y\" exactly: sigma would be 0");
}

// ---- the negative binomial: without overdispersion it tends to the Poisson

TEST(FindMode, FindsTheSizeFromAnyStart) {
  ThreadPool pool(2);
  for (const std::size_t rows : {200U, 100'000U})
    for (const double intercept : {-2.0, 1.0, 6.0}) {
      SCOPED_TRACE(::testing::Message() << rows << " rows, intercept " << intercept);
      const auto model =
          glm("negative-binomial",
              regression_table(rows, intercept, {0.8, -0.5}, rows + 5, testing::draw_negative_binomial),
              "y ~ x1 + x2", Prior::normal(0, 10));
      const Mode mode = find_mode(model, pool);
      EXPECT_LT(distance_to_mode(model, mode, ModeOf::posterior), 1e-4);
    }
}

TEST(FindMode, NeedsAPriorOnSizeWithoutOverdispersion) {
  ThreadPool pool(2);
  for (const std::size_t rows : {100U, 1000U, 100'000U})
    for (const double intercept : {-2.0, 0.5, 5.0}) {
      SCOPED_TRACE(::testing::Message() << rows << " rows, intercept " << intercept);
      Table table = regression_table(rows, intercept, {0.3}, rows + 5, testing::draw_poisson);
      // Hardly any spread about mu: the integers just below and above it.
      for (std::size_t i = 0; i < rows; ++i) {
        const double mu = std::exp(intercept + 0.3 * table.columns[1].numbers()[i]);
        table.columns[0].numbers()[i] = i % 2 == 0 ? std::floor(mu) : std::ceil(mu);
      }
      const auto proper = glm("negative-binomial", table, "y ~ x1", Prior::normal(0, 10));
      const Mode mode = find_mode(proper, pool);
      EXPECT_LT(distance_to_mode(proper, mode, ModeOf::posterior), 1e-4);
      const std::string words =
          failure([&] { static_cast<void>(find_mode(proper, pool, {.of = ModeOf::likelihood}, &mode)); });
      EXPECT_EQ(words.rfind("the response \"y\" is not overdispersed: size would be infinite", 0), 0U)
          << words;

      Design design = design_of(table, "y ~ x1");
      GlmPriors priors{.coefficients = std::vector<Prior>(2, Prior::normal(0, 10))};
      const Glm flat(std::move(design), make_family("negative-binomial"), std::move(priors));
      const std::string flat_words = failure([&] { static_cast<void>(find_mode(flat, pool)); });
      EXPECT_EQ(flat_words.rfind("with a flat prior on size there is no posterior", 0), 0U) << flat_words;
    }
}

// Poisson counts are a little overdispersed about as often as they are underdispersed. The log-likelihood's
// slope in 1 / size at 0 is sum ((y - mu)^2 - y) / 2 at the Poisson fit: there is a finite maximum where it
// is positive.
TEST(FindMode, FindsASizeWhereverThereIsOne) {
  ThreadPool pool(1);
  int finite = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Table table = regression_table(1000, 0.5, {0.3}, seed, testing::draw_poisson);
    const auto poisson = glm("poisson", table, "y ~ x1", Prior::flat());
    const Mode at = find_mode(poisson, pool, {.of = ModeOf::likelihood});
    std::vector<double> user(2);
    poisson.to_user(params(at.theta), user);
    double score = 0;
    for (std::size_t i = 0; i < table.rows; ++i) {
      const double y = table.columns[0].numbers()[i];
      const double mu = std::exp(user[0] + user[1] * table.columns[1].numbers()[i]);
      score += (y - mu) * (y - mu) - y;
    }
    const auto model = glm("negative-binomial", table, "y ~ x1", Prior::flat());
    const std::string words =
        failure([&] { static_cast<void>(find_mode(model, pool, {.of = ModeOf::likelihood})); });
    EXPECT_EQ(words == "no error", score > 0) << "seed " << seed << ", score " << score << ": " << words;
    finite += words == "no error" ? 1 : 0;
  }
  EXPECT_GT(finite, 5);
  EXPECT_LT(finite, 35);
}

TEST(FindMode, TellsSeparationOfCounts) {
  ThreadPool pool(1);
  Table table = regression_table(2000, 1, {0.5, 0.3}, 8, testing::draw_negative_binomial);
  for (std::size_t i = 0; i < table.rows; ++i) {
    table.columns[1].numbers()[i] = i % 10 == 0 ? 1 : 0;
    if (i % 10 == 0) table.columns[0].numbers()[i] = 0;
  }
  const auto estimated = glm("negative-binomial", table, "y ~ x1 + x2", Prior::flat());
  const auto known = glm("negative-binomial", table, "y ~ x1 + x2", Prior::flat(), {{"size", 1}});
  for (const std::string& words : {failure([&] { static_cast<void>(find_mode(estimated, pool)); }),
                                   failure([&] { static_cast<void>(find_mode(known, pool)); })})
    EXPECT_EQ(words.rfind("separation: \"x1\"", 0), 0U) << words;
}

}  // namespace
}  // namespace mlo
