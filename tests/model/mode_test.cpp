// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/mode.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "mlo/base/errors.hpp"
#include "mlo/model/glm.hpp"
#include "support/designs.hpp"

namespace mlo {
namespace {

using testing::design_of;
using testing::regression_table;

template <class F>
Glm<F> glm(Table table, const std::string& formula, const Prior& prior) {
  Design design = design_of(std::move(table), formula);
  GlmPriors priors;
  priors.coefficients.assign(design.dim, prior);
  priors.aux = Prior::gamma(1, 1);
  return Glm<F>(std::move(design), F{}, std::move(priors));
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
  check(glm<Logistic>(regression_table(3000, 0.3, beta, 1, testing::draw_logistic), "y ~ x1 + x2", prior));
  check(glm<Probit>(regression_table(3000, 0.3, beta, 2, testing::draw_probit), "y ~ x1 + x2", prior));
  check(glm<Poisson>(regression_table(3000, 0.3, beta, 3, testing::draw_poisson), "y ~ x1 + x2", prior));
  check(
      glm<GaussianMean>(regression_table(3000, 0.3, beta, 4, testing::draw_gaussian), "y ~ x1 + x2", prior));
  check(glm<Gaussian>(regression_table(3000, 0.3, beta, 5, testing::draw_gaussian), "y ~ x1 + x2", prior));
}

TEST(FindMode, GivesTheLeastSquaresSolutionForAGaussianResponse) {
  const Table table = regression_table(500, 2.0, {1.0, -3.0}, 9, testing::draw_gaussian);
  Eigen::MatrixXd x(500, 3);
  Eigen::VectorXd y(500);
  for (Eigen::Index i = 0; i < 500; ++i) {
    const auto k = static_cast<std::size_t>(i);
    x.row(i) << 1, table.columns[1].values[k], table.columns[2].values[k];
    y[i] = table.columns[0].values[k];
  }
  const Eigen::VectorXd expected = x.colPivHouseholderQr().solve(y);
  const auto model = glm<Gaussian>(table, "y ~ x1 + x2", Prior::flat());
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool, {.of = ModeOf::likelihood});
  std::vector<double> user(4);
  model.to_user(params(mode.theta), user);
  for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(user[j], expected[static_cast<Eigen::Index>(j)], 1e-9);
  const double sigma = std::sqrt((y - x * expected).squaredNorm() / 500);
  EXPECT_NEAR(user[3], sigma, 1e-6 * sigma);  // Newton in log sigma: its last step leaves tolerance^2
}

TEST(FindMode, IsTheSameToTheLastBitForAnyNumberOfThreads) {
  const auto model = glm<Logistic>(regression_table(30'000, -1, {0.7, -0.4}, 1, testing::draw_logistic),
                                   "y ~ x1 + x2", Prior::normal(0, 2.5));
  ThreadPool one(1), two(2), three(3);
  const Mode a = find_mode(model, one), b = find_mode(model, two), c = find_mode(model, three);
  EXPECT_TRUE(a.theta == b.theta && a.theta == c.theta);
  EXPECT_TRUE(a.information == b.information && a.information == c.information);
}

TEST(FindMode, ReadsAllRowsOnlyAFewTimesWhenTheyAreMany) {
  const auto model = glm<Logistic>(regression_table(200'000, -1, {0.7, -0.4}, 1, testing::draw_logistic),
                                   "y ~ x1 + x2", Prior::normal(0, 2.5));
  ThreadPool pool(2);
  const Mode mode = find_mode(model, pool);
  EXPECT_LT(mode.passes, 4.5);
  EXPECT_LT(distance_to_mode(model, mode, ModeOf::posterior), 1e-4);
}

TEST(FindMode, StartsTheLikelihoodsModeFromThePosteriorsWithoutAnotherPass) {
  const auto model = glm<Logistic>(regression_table(100'000, 0, {0.7, -0.4}, 1, testing::draw_logistic),
                                   "y ~ x1 + x2", Prior::normal(0, 2.5));
  ThreadPool pool(2);
  const Mode map = find_mode(model, pool);
  const Mode mle = find_mode(model, pool, {.of = ModeOf::likelihood}, &map);
  EXPECT_LE(mle.passes, 1);
  EXPECT_LT(distance_to_mode(model, mle, ModeOf::likelihood), 1e-4);
}

TEST(FindMode, WorksOnColumnsOfAnyScaleAndOffset) {
  Table table = regression_table(20'000, 0.2, {0.8, -0.4}, 6, testing::draw_logistic);
  const auto plain = glm<Logistic>(table, "y ~ x1 + x2", Prior::flat());
  for (double& v : table.columns[1].values) v = 1.6e9 + 1e3 * v;  // a time stamp
  for (double& v : table.columns[2].values) v *= 1e-9;
  const auto odd = glm<Logistic>(table, "y ~ x1 + x2", Prior::flat());
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

TEST(FindMode, NamesTheColumnsOfARankDeficientDesign) {
  Table table = regression_table(2000, 0, {0.5, 0.5}, 8, testing::draw_logistic);
  Column sum{"total", table.columns[1].values};
  for (std::size_t i = 0; i < table.rows; ++i) sum.values[i] += 2 * table.columns[2].values[i];
  table.columns.push_back(sum);
  const auto model = glm<Logistic>(table, "y ~ x1 + x2 + total", Prior::normal(0, 1));
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
      table.columns[0].values[i] = table.columns[1].values[i] > 0 ? 1 : 0;
      quasi.columns[1].values[i] = i % 10 == 0 ? 1 : 0;
      if (i % 10 == 0) quasi.columns[0].values[i] = 1;
    }
    for (Table* t : {&table, &quasi}) {
      const auto flat = glm<Logistic>(*t, "y ~ x1 + x2", Prior::flat());
      const std::string words = failure([&] { static_cast<void>(find_mode(flat, pool)); });
      EXPECT_EQ(words.rfind("separation: \"x1\"", 0), 0U) << words;
      const auto probit = glm<Probit>(*t, "y ~ x1 + x2", Prior::flat());
      const std::string probit_words = failure([&] { static_cast<void>(find_mode(probit, pool)); });
      EXPECT_EQ(probit_words.rfind("separation: \"x1\"", 0), 0U) << probit_words;
      // A proper prior gives a mode all the same; the likelihood alone still has none.
      const auto proper = glm<Logistic>(*t, "y ~ x1 + x2", Prior::normal(0, 2.5));
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
  const auto model = glm<Logistic>(regression_table(100'000, -6.5, {1.0, 0.5}, 8, testing::draw_logistic),
                                   "y ~ x1 + x2", Prior::flat());
  const Mode mode = find_mode(model, pool);
  EXPECT_LT(distance_to_mode(model, mode, ModeOf::likelihood), 1e-4);
}

}  // namespace
}  // namespace mlo
