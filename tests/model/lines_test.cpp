// Copyright (c) the mlo authors. BSD-3-Clause.
// Which columns have lines of few rows, which of these lines are awkward, and how they are kept apart. Lines
// are compared with the table's own columns, remainders with a logistic posterior written out here.
#include "mlo/model/lines.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "mlo/model/glm.hpp"
#include "support/designs.hpp"

namespace mlo {
namespace {

using testing::design_of;

constexpr std::size_t rows = 600;

// A column that is `other` in rows first, first + every, ..., `count` of them, and `common` elsewhere.
struct Level {
  std::string name;
  std::size_t first = 0, every = 1, count = 0;
  double common = 0, other = 1;
  [[nodiscard]] bool has(std::size_t i) const {
    return i >= first && (i - first) % every == 0 && (i - first) / every < count;
  }
  [[nodiscard]] std::vector<RowId> ids() const {
    std::vector<RowId> out;
    for (std::size_t i = 0; i < rows; ++i)
      if (has(i)) out.push_back(static_cast<RowId>(i));
    return out;
  }
};

// y, x1 and one column per level.
Table with_levels(const std::vector<Level>& levels) {
  Table table = testing::regression_table(rows, 0.2, {0.5}, 8, testing::draw_logistic);
  for (const Level& level : levels) {
    Numbers cells(rows);
    for (std::size_t i = 0; i < rows; ++i) cells[i] = level.has(i) ? level.other : level.common;
    table.columns.push_back({level.name, std::move(cells)});
  }
  return table;
}

const Level rare{.name = "rare", .first = 5, .every = 41, .count = 12};
const Level mostly_one{.name = "mostly_one", .first = 3, .every = 23, .count = 20, .common = 1, .other = 0};
const Level three_quarters{.name = "three_quarters", .first = 0, .every = 4, .count = 150};

Glm model_of(Table table, const std::string& formula, const Prior& prior = Prior::normal(0, 2.5)) {
  Design design = design_of(std::move(table), formula);
  std::vector<Prior> priors(design.dim, prior);
  return {std::move(design), make_family("logistic"), GlmPriors{.coefficients = std::move(priors)}};
}

std::vector<std::size_t> columns_of(const std::vector<Line>& lines) {
  std::vector<std::size_t> out;
  for (const Line& line : lines) out.push_back(line.column);
  return out;
}

// The design is centred, so that the common value of a dummy is not 0 in it.
TEST(LinesOfFewRows, AreTheDummiesAlsoWhereTheDesignIsCentred) {
  const Glm model = model_of(with_levels({rare, mostly_one, three_quarters}),
                             "y ~ x1 + rare + mostly_one + three_quarters");
  const Design& design = model.design();
  ASSERT_NE(design.centre[2], 0);
  const std::vector<Line> lines = lines_of_few_rows(model.store(), 100);
  ASSERT_EQ(columns_of(lines), (std::vector<std::size_t>{2, 3}));
  for (const auto& [line, level] : {std::pair(&lines[0], &rare), std::pair(&lines[1], &mostly_one)}) {
    EXPECT_EQ(line->rows, level->ids());
    ASSERT_EQ(line->slopes.size(), level->count);
    // Of the working column, (x - centre) / scale.
    const double scale = design.scale[line->column], centre = design.centre[line->column];
    EXPECT_NEAR(line->intercept, -(level->common - centre) / scale, 1e-12);
    for (const double slope : line->slopes) EXPECT_NEAR(slope, (level->other - level->common) / scale, 1e-11);
  }
}

// Without an intercept a common value other than 0 has nothing that gives way to it.
TEST(LinesOfFewRows, WithoutAnInterceptHaveACommonValueOfZero) {
  const Glm model = model_of(with_levels({rare, mostly_one}), "y ~ 0 + x1 + rare + mostly_one");
  const std::vector<Line> lines = lines_of_few_rows(model.store(), 100);
  ASSERT_EQ(columns_of(lines), (std::vector<std::size_t>{1}));
  EXPECT_EQ(lines[0].intercept, 0);
  EXPECT_EQ(lines[0].rows, rare.ids());
}

TEST(LinesOfFewRows, HaveAtMostTheGivenNumberOfRows) {
  const Glm model = model_of(with_levels({rare, mostly_one}), "y ~ x1 + rare + mostly_one");
  const auto found = [&](std::size_t most) { return columns_of(lines_of_few_rows(model.store(), most)); };
  EXPECT_EQ(found(20), (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(found(19), (std::vector<std::size_t>{2}));
  EXPECT_EQ(found(12), (std::vector<std::size_t>{2}));
  EXPECT_EQ(found(11), (std::vector<std::size_t>{}));
}

TEST(LinesOfFewRows, AreThoseOfEveryColumnWhereTheDataHaveFewRows) {
  const Glm model = model_of(with_levels({rare, three_quarters}), "y ~ x1 + rare + three_quarters");
  EXPECT_EQ(columns_of(lines_of_few_rows(model.store(), rows, rows - 1)), (std::vector<std::size_t>{2}));
  const std::vector<Line> lines = lines_of_few_rows(model.store(), rows, rows);
  ASSERT_EQ(columns_of(lines), (std::vector<std::size_t>{0, 1, 2, 3}));
  for (const std::size_t j : {0U, 1U}) {  // the intercept and x1 move all rows
    ASSERT_EQ(lines[j].rows.size(), rows);
    EXPECT_EQ(lines[j].intercept, 0);
    for (std::size_t i = 0; i < rows; ++i) EXPECT_EQ(lines[j].slopes[i], model.design().row(i)[j]);
  }
}

// Sets the responses of a level: the first `ones` of its rows are 1.
void set_responses(Table& table, const Level& level, std::size_t ones) {
  std::size_t seen = 0;
  for (const RowId i : level.ids()) table.columns[0].numbers()[i] = seen++ < ones ? 1 : 0;
}

const Level separated{.name = "separated", .first = 5, .every = 37, .count = 15};
const Level separated_too{.name = "separated_too", .first = 6, .every = 19, .count = 30};
const Level balanced{.name = "balanced", .first = 7, .every = 13, .count = 40};

Glm with_awkward_levels() {
  Table table = with_levels({balanced, separated, separated_too});
  // Rows that two levels share belong to the last one.
  set_responses(table, balanced, 20);
  set_responses(table, separated, 15);
  set_responses(table, separated_too, 0);
  return model_of(std::move(table), "y ~ x1 + balanced + separated + separated_too");
}

TEST(AwkwardLines, AreThoseOfSeparatedLevelsAndNotOfBalancedOnes) {
  const Glm model = with_awkward_levels();
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const std::vector<AwkwardLine> lines = awkward_lines(model, mode);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_GE(lines[0].remainder, lines[1].remainder);
  // In the user's coordinates a line is the level's coefficient alone, and the prior of the intercept speaks
  // of the intercept itself.
  std::vector<double> user(model.dim());
  model.to_user(params(mode.theta), user);
  const auto log_term = [](double eta, double y) { return y * eta - std::log1p(std::exp(eta)); };
  Eigen::VectorXd eta(static_cast<Eigen::Index>(rows));
  for (std::size_t i = 0; i < rows; ++i)
    eta[static_cast<Eigen::Index>(i)] =
        Eigen::Map<const Eigen::VectorXd>(model.design().row(i), mode.theta.size()).dot(mode.theta);
  for (const AwkwardLine& line : lines) {
    const Level& level = line.column == 3 ? separated : separated_too;
    const std::size_t j = line.column;
    EXPECT_EQ(line.rows, level.ids());
    ASSERT_EQ(line.y.size(), level.count);
    double information = 1 / (2.5 * 2.5);
    for (std::size_t k = 0; k < line.rows.size(); ++k) {
      EXPECT_EQ(line.y[k], model.design().y(line.rows[k]));
      const double p = 1 / (1 + std::exp(-eta[line.rows[k]]));
      information += p * (1 - p);
    }
    const double sd = 1 / std::sqrt(information), scale = model.design().scale[j];
    EXPECT_EQ(line.centre, mode.theta[static_cast<Eigen::Index>(j)]);
    // The mode's information is taken one Newton step before the mode: relative errors of up to its
    // tolerance.
    EXPECT_NEAR(line.sd, sd * scale, 1e-3 * sd * scale);
    double remainder = 0;
    for (const double step : {2.5 * sd, -2.5 * sd}) {
      double change = (user[j] * user[j] - std::pow(user[j] + step, 2)) / (2 * 2.5 * 2.5);
      for (std::size_t k = 0; k < line.rows.size(); ++k) {
        const double here = eta[line.rows[k]];
        change += log_term(here + step, line.y[k]) - log_term(here, line.y[k]);
      }
      remainder = std::max(remainder, std::abs(change + 2.5 * 2.5 / 2));
    }
    EXPECT_NEAR(line.remainder, remainder, 0.01 * remainder);
    EXPECT_GT(remainder, 0.25);
  }
}

TEST(AwkwardLines, HaveNoMoreRowsInAllThanAllowedTheMostAwkwardFirst) {
  const Glm model = with_awkward_levels();
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const auto found = [&](std::size_t all_rows) {
    std::vector<std::size_t> out;
    for (const AwkwardLine& line : awkward_lines(model, mode, {.all_rows = all_rows}))
      out.push_back(line.column);
    return out;
  };
  const std::vector<std::size_t> both = found(45);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(found(44), (std::vector<std::size_t>{both[0]}));
  EXPECT_EQ(found(29), (std::vector<std::size_t>{3}));  // the other one does not fit
  EXPECT_EQ(found(14), (std::vector<std::size_t>{}));
  // The rows of one line, and what counts as awkward.
  EXPECT_EQ(awkward_lines(model, mode, {.line_rows = 29}).size(), 1U);
  EXPECT_EQ(awkward_lines(model, mode, {.remainder = 1e9}).size(), 0U);
  EXPECT_EQ(awkward_lines(model, mode, {.remainder = -1}).size(), 3U);
}

Eigen::VectorXd some_theta(std::size_t dim, std::uint64_t seed) {
  Stream stream({.seed = seed, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
  Eigen::VectorXd theta(static_cast<Eigen::Index>(dim));
  for (double& x : theta) x = 2 * normal(stream);
  return theta;
}

TEST(KeepApart, OthersAndPlaceAreInverse) {
  const Glm model = with_awkward_levels();
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const Apart apart = keep_apart(awkward_lines(model, mode), mode.information);
  ASSERT_EQ(apart.columns.size(), 2U);
  EXPECT_EQ(apart.remaining, (std::vector<std::size_t>{0, 1, 2}));
  std::vector<RowId> both = separated.ids();
  for (const RowId i : separated_too.ids())
    if (!separated.has(i)) both.push_back(i);
  std::sort(both.begin(), both.end());
  EXPECT_EQ(apart.rows, both);
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const Eigen::VectorXd theta = some_theta(model.dim(), seed);
    const Eigen::VectorXd others = apart.others(theta);
    ASSERT_EQ(others.size(), 3);
    Eigen::VectorXd back = theta;
    apart.place(others.data(), back);
    EXPECT_LT((back - theta).cwiseAbs().maxCoeff(), 1e-12);
    const Eigen::VectorXd wanted = some_theta(3, seed + 10);
    Eigen::VectorXd moved = theta;
    apart.place(wanted.data(), moved);
    EXPECT_LT((apart.others(moved) - wanted).cwiseAbs().maxCoeff(), 1e-12);
    apart.place(others.data(), moved);
    EXPECT_LT((moved - theta).cwiseAbs().maxCoeff(), 1e-11);
  }
}

// In the coordinates of the others and of the lines' coefficients with the shear, the information has no
// entries between the two, and the determinant of the change of coordinates is 1.
TEST(KeepApart, MakesTheOthersIndependentOfTheLinesByTheLaplaceFit) {
  const Glm model = with_awkward_levels();
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const Apart apart = keep_apart(awkward_lines(model, mode), mode.information);
  const auto dim = static_cast<Eigen::Index>(model.dim()),
             others = static_cast<Eigen::Index>(apart.remaining.size());
  Eigen::MatrixXd change(dim, dim);  // of theta, per unit of each coordinate
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(dim);
  for (Eigen::Index j = 0; j < others; ++j) {
    Eigen::VectorXd moved = zero;
    const Eigen::VectorXd unit = Eigen::VectorXd::Unit(others, j);
    apart.place(unit.data(), moved);
    change.col(j) = moved;
  }
  for (std::size_t k = 0; k < apart.columns.size(); ++k) {
    Eigen::VectorXd moved = zero;
    moved[static_cast<Eigen::Index>(apart.columns[k])] = 1;
    moved[0] += apart.intercepts[k];
    change.col(others + static_cast<Eigen::Index>(k)) = moved;
  }
  EXPECT_NEAR(std::abs(change.determinant()), 1, 1e-12);
  const Eigen::MatrixXd information = change.transpose() * mode.information * change;
  EXPECT_LT(information.topRightCorner(others, dim - others).cwiseAbs().maxCoeff(),
            1e-9 * mode.information.norm());
  EXPECT_LT((information.topLeftCorner(others, others) - apart.information).norm(),
            1e-9 * mode.information.norm());
}

TEST(KeepApart, AMoveAlongALineLeavesTheOthersAndTheRowsOffTheLine) {
  const Glm model = with_awkward_levels();
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const std::vector<AwkwardLine> lines = awkward_lines(model, mode);
  const Apart apart = keep_apart(lines, mode.information);
  for (const AwkwardLine& line : lines) {
    const Eigen::VectorXd theta = some_theta(model.dim(), 5);
    Eigen::VectorXd moved = theta;
    moved[static_cast<Eigen::Index>(line.column)] += 1.7;
    moved[0] += 1.7 * line.intercept;
    EXPECT_LT((apart.others(moved) - apart.others(theta)).cwiseAbs().maxCoeff(), 1e-12);
    const Eigen::VectorXd change =
        model.store().predictors(0, rows, moved) - model.store().predictors(0, rows, theta);
    Eigen::VectorXd expected = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(rows));
    for (std::size_t k = 0; k < line.rows.size(); ++k) expected[line.rows[k]] = 1.7 * line.slopes[k];
    EXPECT_LT((change - expected).cwiseAbs().maxCoeff(), 1e-11);
    EXPECT_GT(expected.cwiseAbs().maxCoeff(), 1);
    // Without the intercept's share every row moves.
    moved[0] -= 1.7 * line.intercept;
    EXPECT_GT((apart.others(moved) - apart.others(theta)).cwiseAbs().maxCoeff(), 0.01);
  }
}

TEST(KeepApart, WithoutLinesKeepsNothingApart) {
  const Apart apart = keep_apart({}, Eigen::MatrixXd::Identity(3, 3));
  EXPECT_TRUE(apart.empty());
  const Eigen::VectorXd theta = some_theta(3, 1);
  EXPECT_EQ(apart.others(theta), theta);
}

}  // namespace
}  // namespace mlo
