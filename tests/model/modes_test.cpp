// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/modes.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "mlo/model/glm.hpp"
#include "support/clusters.hpp"
#include "support/designs.hpp"
#include "support/families.hpp"

namespace mlo {
namespace {

using testing::design_of;
using testing::regression_table;

ModelOf<Glm> student(Table table, const std::string& formula, const FamilyNumbers& numbers,
                     const Prior& prior = Prior::normal(0, 10)) {
  Design design = design_of(std::move(table), formula);
  GlmPriors priors;
  priors.coefficients.assign(design.dim, prior);
  priors.second = Prior::gamma(1, 1);
  return ModelOf<Glm>(Glm(std::move(design), make_family("student", numbers), std::move(priors)));
}

Modes modes_of(const AnyModel& model, const ModesOptions& options = {}) {
  ThreadPool pool(2);
  return find_modes(model, pool, options);
}

Table responses(std::vector<double> y) {
  Table table;
  table.source.name = "test";
  table.rows = y.size();
  table.columns.push_back({"y", std::move(y)});
  return table;
}

class LogConcavity : public testing::OnFamily {};

// The second derivative of a term with respect to its predictor: never positive, or positive somewhere.
TEST_P(LogConcavity, IsWhatTheFamilySays) {
  const auto family = GetParam().make();
  bool convex_somewhere = false;
  for (const double second : {-1.5, 0.0, 1.0})
    for (double eta = -6; eta <= 6; eta += 0.25)
      for (std::uint64_t i = 0; i < 20; ++i) {
        Stream stream({.seed = 1, .chain = 0, .purpose = Purpose::simulate, .iteration = i});
        const double y = GetParam().draw(stream, 0.4);
        double out[5];
        family->derivatives({.eta = {&eta, 1}, .y = {&y, 1}, .log_second = second},
                            {{out, 1}, {out + 1, 1}, {out + 2, 1}, {out + 3, 1}, {out + 4, 1}});
        convex_somewhere = convex_somewhere || out[1] > 0;
      }
  EXPECT_NE(family->spec().log_concave, convex_somewhere);
}
MLO_ON_FAMILIES(LogConcavity, [] {
  std::vector<testing::FamilyCase> all = testing::all_families();
  all.push_back({"beta-binomial", {{"phi", 6}}, testing::draw_outcome_3});
  return all;
}());

TEST(FindModes, FindsBothModesOfNineRowsInTwoClusters) {
  const Table table = testing::nine_rows();
  const testing::Law1 law = testing::location_law(table.columns[0].numbers(), 1, 1, 10);
  ASSERT_EQ(law.modes.size(), 2U);
  const Modes modes = modes_of(student(table, "y ~ 1", {{"freedom", 1}, {"known-sigma", 1}}));
  ASSERT_EQ(modes.found.size(), 2U);
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_NEAR(modes.found[k].mode.theta[0], law.modes[k], 1e-3);  // the grid's step
  EXPECT_NEAR(modes.found[0].mode.value - modes.found[1].mode.value, law.drop, 1e-5);
  EXPECT_NEAR(modes.found[0].share + modes.found[1].share, 1, 1e-12);
}

// The median is in the loose cluster of seven rows, and so is the start of find_mode; six rows that agree
// have the higher mode.
TEST(FindModes, PutsTheHighestFirstWhereverTheSearchBegan) {
  const std::vector<double> y{-3, -2, -1, 0, 1, 2, 3, 15, 15.01, 15.02, 15.03, 15.04, 15.05};
  const auto model = student(responses(y), "y ~ 1", {{"freedom", 1}, {"known-sigma", 0.5}});
  const testing::Law1 law = testing::location_law(y, 1, 0.5, 10);
  ThreadPool pool(1);
  EXPECT_LT(find_mode(model, pool).theta[0], 5);
  EXPECT_GT(law.modes[0], 10);
  const Modes modes = modes_of(model);
  EXPECT_NEAR(modes.found[0].mode.theta[0], law.modes[0], 1e-3);
}

TEST(FindModes, FindsTwoPlanes) {
  const auto model =
      student(testing::two_planes(), "y ~ 0 + x1 + x2", {{"freedom", 1}, {"known-sigma", 0.2}});
  const Modes modes = modes_of(model);
  ASSERT_EQ(modes.found.size(), 2U);
  const double expected[2][2] = {{1, -1}, {-1, 3}};
  for (std::size_t k = 0; k < 2; ++k) {
    Eigen::VectorXd user(2);
    model.to_user(params(modes.found[k].mode.theta), {user.data(), 2});
    for (Eigen::Index j = 0; j < 2; ++j) EXPECT_NEAR(user[j], expected[k][j], 0.2) << k;
  }
  const std::string warning = modes_warning(model, modes);
  EXPECT_NE(warning.find("the posterior has 2 modes: \"x1\" "), std::string::npos) << warning;
  EXPECT_NE(warning.find("where the log posterior is 1."), std::string::npos) << warning;
}

TEST(FindModes, FindsTwoModesWhereSigmaIsEstimated) {
  // Eight rows at 0 and seven at 50, all within 0.5.
  std::vector<double> y;
  for (int i = 0; i < 15; ++i) y.push_back((i < 8 ? 0 : 50) + 0.5 * std::sin(5.0 * i));
  const Modes modes = modes_of(student(responses(y), "y ~ 1", {{"freedom", 1}}, Prior::normal(0, 100)));
  ASSERT_GE(modes.found.size(), 2U);
  EXPECT_NEAR(modes.found[0].mode.theta[0], 0, 1);
  EXPECT_NEAR(modes.found[1].mode.theta[0], 50, 1);
}

// With one mode nothing changes: it is the mode that find_mode finds, to the last bit.
TEST(FindModes, FindsOneModeWhereThereIsOne) {
  ThreadPool pool(2);
  for (const std::size_t rows : {25U, 400U, 3000U})
    for (const FamilyNumbers& numbers : {FamilyNumbers{{"freedom", 4}, {"known-sigma", 1.5}},
                                         FamilyNumbers{{"freedom", 4}}, FamilyNumbers{{"freedom", 1}}}) {
      const auto model =
          student(regression_table(rows, 0.3, {0.7, -0.4}, 6, testing::draw_student), "y ~ x1 + x2", numbers);
      const Modes modes = modes_of(model);
      ASSERT_EQ(modes.found.size(), 1U) << rows;
      EXPECT_EQ(modes.found[0].mode.theta, find_mode(model, pool).theta);
      EXPECT_EQ(modes_warning(model, modes), "");
    }
}

TEST(FindModes, DoesNotSearchWhereTheFamilyIsLogConcave) {
  ThreadPool pool(2);
  Design design = design_of(regression_table(300, 0.3, {0.7}, 6, testing::draw_logistic), "y ~ x1");
  const ModelOf<Glm> model(
      Glm(std::move(design), make_family("logistic"), GlmPriors{{Prior::normal(0, 2), Prior::normal(0, 2)}}));
  EXPECT_EQ(modes_of(model).passes, find_mode(model, pool).passes);
}

// A posterior of tall data has two modes of like height only where the rows are in balance: here by symmetry.
TEST(FindModes, FindsTheModesOfTallDataFromSomeRows) {
  std::vector<double> y(60'000);
  for (std::size_t i = 0; i < y.size(); i += 2) {
    Stream stream({.seed = 3, .chain = 0, .purpose = Purpose::simulate, .iteration = i});
    y[i] = 4 + normal(stream);
    y[i + 1] = -y[i];
  }
  const auto model = student(responses(y), "y ~ 1", {{"freedom", 1}, {"known-sigma", 1}});
  const Modes modes = modes_of(model);
  ASSERT_EQ(modes.found.size(), 2U);
  EXPECT_NEAR(modes.found[0].mode.theta[0], -modes.found[1].mode.theta[0], 1e-6);
  EXPECT_NEAR(modes.found[0].share, 0.5, 1e-3);
}

// The price on tall data with one mode: all starts together cost less than three passes over 100,000 rows.
TEST(FindModes, CostsFewPassesOverTallData) {
  ThreadPool pool(2);
  for (const FamilyNumbers& numbers :
       {FamilyNumbers{{"freedom", 4}, {"known-sigma", 1.5}}, FamilyNumbers{{"freedom", 4}}}) {
    const auto model = student(regression_table(100'000, 0.3, {0.7, -0.4, 0.2}, 6, testing::draw_student),
                               "y ~ x1 + x2 + x3", numbers);
    const Modes modes = modes_of(model);
    ASSERT_EQ(modes.found.size(), 1U);
    EXPECT_LT(modes.passes - find_mode(model, pool).passes, 3);
  }
}

}  // namespace
}  // namespace mlo
