// Copyright (c) the mlo authors. BSD-3-Clause.
// Designs with factors: the store, which never writes their columns out, against loops over rows that do; and
// a model of codes against the same model of dense 0/1 columns.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <string>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/model/lines.hpp"
#include "mlo/model/mode.hpp"
#include "mlo/model/row_store.hpp"
#include "support/designs.hpp"

namespace mlo {
namespace {

constexpr std::size_t rows = 700;

// y, x1, x2, n in 1..5, w, and two factors: f has 4 levels, one of them rare, and g has 3.
Table table() {
  Table t = testing::regression_table(rows, 0.2, {0.5, -0.3}, 5, testing::draw_logistic);
  Text f{.levels = {"rare", "b", "a", "c"}, .codes = {}}, g{.levels = {"u", "v", "w"}, .codes = {}};
  Numbers weight, n;
  for (std::uint32_t i = 0; i < rows; ++i) {
    f.codes.push_back(i % 97 == 5 ? 0 : 1 + (i * 7 + i / 11) % 3);
    g.codes.push_back((i * 5 + i / 7) % 3);
    weight.push_back(1 + i % 4);
    n.push_back(1 + (i * 3) % 5);
  }
  t.columns.emplace_back("f", f);
  t.columns.emplace_back("g", g);
  t.columns.emplace_back("w", weight);
  t.columns.emplace_back("n", n);
  return t;
}

class LevelRows : public ::testing::TestWithParam<const char*> {
 protected:
  const RowStore x{testing::design_of(table(), GetParam())};
  const Design& design = x.design();
  auto p() const { return static_cast<Eigen::Index>(x.dim()); }
  Eigen::VectorXd row(std::size_t i) const {
    Eigen::VectorXd out(p());
    design.working_row(i, {out.data(), x.dim()});
    return out;
  }
  static Eigen::VectorXd numbers(Eigen::Index size, double seed) {
    return Eigen::VectorXd::NullaryExpr(
        size, [&](Eigen::Index i) { return std::sin(seed + 3.7 * static_cast<double>(i)); });
  }
  std::vector<RowId> scattered() const {
    std::vector<RowId> ids;
    for (RowId k = 0; k < 60; ++k) ids.push_back((k * 77 + 3) % rows);
    return ids;
  }
};
INSTANTIATE_TEST_SUITE_P(Formulas, LevelRows,
                         ::testing::Values("y ~ x1 + f", "y ~ 0 + f + x1 + g", "y ~ x1*f + g", "y ~ f*g + x1",
                                           "y ~ C(f, contr.sum) + g + x2:g", "y ~ poly(x1, 2):f + offset(x2)",
                                           "y ~ x1 + (x2 > 0) + factor(n)", "y ~ f:g:x1 + f + 0"));

TEST_P(LevelRows, WorkingColumnsHaveMeanZeroAndUnitSdBesideAnIntercept) {
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(p()), squares = mean;
  for (std::size_t i = 0; i < rows; ++i) mean += row(i) / static_cast<double>(rows);
  for (std::size_t i = 0; i < rows; ++i) squares += row(i).cwiseAbs2();
  for (Eigen::Index j = design.intercept ? 1 : 0; j < p(); ++j) {
    if (design.intercept) {
      EXPECT_NEAR(mean[j], 0, 1e-13) << design.names[static_cast<std::size_t>(j)];
      EXPECT_NEAR(squares[j] / static_cast<double>(rows - 1), 1, 1e-12);
    } else {
      EXPECT_NEAR(squares[j] / static_cast<double>(rows), 1, 1e-12);
    }
  }
}

TEST_P(LevelRows, PredictorsAreThoseOfTheRowsWrittenOut) {
  const Eigen::VectorXd theta = numbers(p(), 1), other = numbers(p(), 2);
  const Coefficients beta(params(theta), x), to(params(other), x);
  const std::vector<RowId> ids = scattered();
  for (const Rows part : {Rows::range(0, rows), Rows::range(20, 33), Rows(ids)}) {
    std::vector<double> eta(part.size());
    x.predictors(beta, part, eta);
    for (std::size_t k = 0; k < part.size(); ++k)
      EXPECT_NEAR(eta[k], row(part[k]).dot(theta) + (design.has_offset ? design.offset(part[k]) : 0), 1e-11);
  }
  std::vector<double> from_eta(ids.size()), to_eta(ids.size()), one(ids.size());
  x.predictor_pairs(ids, ids.size(), beta, to, from_eta, to_eta);
  x.predictors(to, Rows(ids), one);
  EXPECT_EQ(to_eta, one);
  const Eigen::VectorXd all = x.predictors(100, 50, theta);
  for (std::size_t k = 0; k < 50; ++k) {
    double eta = 0;
    x.predictors(beta, Rows::range(100 + k, 1), {&eta, 1});
    EXPECT_EQ(all[static_cast<Eigen::Index>(k)], eta);
  }
}

TEST_P(LevelRows, MomentsAreThoseOfTheRowsWrittenOut) {
  const std::vector<RowId> ids = scattered();
  for (const Rows part : {Rows::range(0, rows), Rows(ids)}) {
    std::vector<double> u(part.size()), v(part.size());
    Eigen::VectorXd slope = Eigen::VectorXd::Zero(p());
    Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(p(), p());
    for (std::size_t k = 0; k < part.size(); ++k) {
      u[k] = std::cos(static_cast<double>(k));
      v[k] = 0.3 + std::sin(static_cast<double>(k)) / 4;
      slope += u[k] * row(part[k]);
      matrix += v[k] * row(part[k]) * row(part[k]).transpose();
    }
    MomentSums sums(x, true), alone(x, false);
    for (std::size_t first = 0; first < part.size(); first += 256) {
      const std::size_t count = std::min<std::size_t>(256, part.size() - first);
      sums.add(part.part(first, count), std::span(u).subspan(first, count),
               std::span(v).subspan(first, count));
      alone.add(part.part(first, count), std::span(u).subspan(first, count), {});
    }
    std::vector<double> gradient(x.dim(), 0), information(x.dim() * x.dim(), 0), same(x.dim(), 0);
    sums.finish(gradient, information);
    alone.finish(same, {});
    EXPECT_EQ(gradient, same);
    const double size = matrix.diagonal().maxCoeff();
    for (Eigen::Index j = 0; j < p(); ++j) {
      EXPECT_NEAR(gradient[static_cast<std::size_t>(j)], slope[j], 1e-12 * size);
      for (Eigen::Index m = 0; m < p(); ++m)
        EXPECT_NEAR(information[static_cast<std::size_t>(j * p() + m)], m >= j ? matrix(j, m) : 0,
                    1e-12 * size)
            << j << " " << m;
    }
  }
}

TEST_P(LevelRows, WhitenedRowsAndLengthsAreThoseOfTheRowsWrittenOut) {
  Eigen::MatrixXd square = Eigen::Map<const Eigen::MatrixXd>(numbers(p() * p(), 4).data(), p(), p());
  square.diagonal().array() += 3 * static_cast<double>(p());
  const Eigen::MatrixXd upper = square.triangularView<Eigen::Upper>(),
                        lower = square.triangularView<Eigen::Lower>();
  const RowStore::Matrix white = x.whitened(30, 70, upper);
  const Eigen::VectorXd lengths = x.white_lengths(30, 70, lower);
  std::vector<std::size_t> some;
  for (std::size_t j = 0; j < x.dim(); j += 2) some.push_back(j);
  const auto q = static_cast<Eigen::Index>(some.size());
  const RowStore::Matrix white_some = x.whitened(30, 70, upper.topLeftCorner(q, q), some);
  for (Eigen::Index k = 0; k < 70; ++k) {
    const Eigen::VectorXd r = row(30 + static_cast<std::size_t>(k));
    const Eigen::VectorXd expected = upper.transpose() * r;
    EXPECT_LT((white.row(k).transpose() - expected).norm(), 1e-12 * expected.norm());
    const double length = lower.triangularView<Eigen::Lower>().solve(r).norm();
    EXPECT_NEAR(lengths[k], length, 1e-11 * length);
    const Eigen::VectorXd part = upper.topLeftCorner(q, q).transpose() * r(some);
    EXPECT_LT((white_some.row(k).transpose() - part).norm(), 1e-12 * (1 + part.norm()));
  }
}

// Lines by their definition: rows that differ from the column's most common value.
TEST_P(LevelRows, LinesOfRareLevelsHaveTheRowsThatMove) {
  for (const Line& line : lines_of_few_rows(x, 20)) {
    const auto j = static_cast<Eigen::Index>(line.column);
    std::size_t at = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      const double moves = row(i)[j] + (design.intercept ? line.intercept : 0);
      if (at < line.rows.size() && line.rows[at] == i) {
        EXPECT_NEAR(line.slopes[at], moves, 1e-12);
        EXPECT_NE(moves, 0);
        ++at;
      } else {
        EXPECT_EQ(moves, 0) << design.names[line.column] << " row " << i;
      }
    }
    EXPECT_EQ(at, line.rows.size());
  }
}

// Seven rows have f = "rare"; in treatment contrasts one column has them.
TEST(LevelRows, FindsTheLineOfARareLevel) {
  const RowStore store(testing::design_of(table(), "y ~ x1 + f"));
  const std::vector<Line> lines = lines_of_few_rows(store, 20);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(store.design().names[lines[0].column], "frare");
  EXPECT_EQ(lines[0].rows.size(), 8U);
}

// The same model with codes and with dense 0/1 columns: same mode, same information, with any prior that is
// given.
TEST(LevelModel, IsTheModelOfItsDummyColumns) {
  ThreadPool pool(2);
  const auto mode_of = [&](const std::string& formula) {
    const Glm model(testing::design_of(table(), formula), make_family("logistic"),
                    GlmPriors{.coefficients = std::vector<Prior>(6, Prior::normal(0, 2))});
    const Mode mode = find_mode(model, pool);
    std::vector<double> user(model.dim());
    model.to_user(params(mode.theta), user);
    return std::pair(user, mode.value);
  };
  const auto [coded, coded_value] = mode_of("y ~ x1 + f + (g == \"v\")");
  const auto [dense, dense_value] = mode_of(
      "y ~ x1 + ifelse(f == \"b\", 1, 0) + ifelse(f == \"c\", 1, 0) + ifelse(f == \"rare\", 1, 0) + "
      "ifelse(g == \"v\", 1, 0)");
  ASSERT_EQ(coded.size(), dense.size());
  for (std::size_t j = 0; j < coded.size(); ++j) EXPECT_NEAR(coded[j], dense[j], 1e-9);
  EXPECT_NEAR(coded_value, dense_value, 1e-9);
}

// A row with the weight 3 is three rows; cbind(s, f) is s rows of 1 and f rows of 0.
TEST(LevelModel, WeightsAreRepetitions) {
  Table once = table(), repeated;
  repeated.source = once.source;
  const Numbers weights = once.columns[5].numbers();
  for (const Column& column : once.columns)
    repeated.columns.emplace_back(column.name, column.is_text() ? Numbers{} : Numbers{});
  for (std::size_t c = 0; c < once.columns.size(); ++c) {
    Column& out = repeated.columns[c];
    if (once.columns[c].is_text()) out.cells = Text{.levels = once.columns[c].text().levels, .codes = {}};
    for (std::size_t i = 0; i < rows; ++i)
      for (double k = 0; k < weights[i]; ++k) {
        if (once.columns[c].is_text())
          out.text().codes.push_back(once.columns[c].text().codes[i]);
        else
          out.numbers().push_back(once.columns[c].numbers()[i]);
      }
  }
  repeated.rows = repeated.columns[0].size();
  for (const char* family : {"logistic", "probit", "gaussian", "student", "poisson", "negative-binomial"}) {
    // Standardised columns differ, so compare in the user's coordinates; priors are given.
    const auto model_of = [&](const Table& data, const DesignOptions& options) {
      return Glm(testing::design_of(data, "y ~ x1 + f", options), make_family(family),
                 GlmPriors{.coefficients = std::vector<Prior>(5, Prior::normal(0, 2)),
                           .second = Prior::gamma(2, 1)});
    };
    const Glm weighted = model_of(once, {.row_weights = "w"}), longer = model_of(repeated, {});
    std::vector<double> user{0.1, 0.2, -0.3, 0.4, 0.5, 1.3};
    user.resize(weighted.dim());
    std::vector<double> one(user.size()), two(user.size());
    weighted.to_working(user, one);
    longer.to_working(user, two);
    const double left = weighted.log_likelihood(one, Rows::range(0, weighted.rows()));
    const double right = longer.log_likelihood(two, Rows::range(0, longer.rows()));
    // sum() leaves constants out, terms() does not: compare differences between two points.
    std::vector<double> moved = user;
    for (double& value : moved) value += 0.05;
    std::vector<double> one_moved(user.size()), two_moved(user.size());
    weighted.to_working(moved, one_moved);
    longer.to_working(moved, two_moved);
    EXPECT_NEAR(weighted.log_likelihood(one_moved, Rows::range(0, weighted.rows())) - left,
                longer.log_likelihood(two_moved, Rows::range(0, longer.rows())) - right, 1e-8)
        << family;
    Derivatives a(weighted.dim()), b(longer.dim());
    weighted.add_derivatives(one, Rows::range(0, weighted.rows()), a);
    longer.add_derivatives(two, Rows::range(0, longer.rows()), b);
    const Eigen::MatrixXd to_user = weighted.user_jacobian(one), from = longer.user_jacobian(two);
    // Gradients in the user's coordinates: J' g_user = g_working.
    const Eigen::VectorXd g = to_user.transpose().lu().solve(a.gradient),
                          h = from.transpose().lu().solve(b.gradient);
    EXPECT_LT((g - h).norm(), 1e-8 * (1 + h.norm())) << family;
  }
}

TEST(LevelModel, CbindIsItsRows) {
  Table counts;
  counts.source.name = "test";
  counts.rows = 6;
  counts.columns = {{"s", {1, 0, 4, 2, 3, 0}},
                    {"f", {2, 3, 0, 2, 1, 0}},
                    {"x", {1, 2, 3, 4, 5, 6}},
                    {"share", {}},
                    {"n", {}}};
  Table plain;
  plain.source.name = "test";
  plain.columns = {{"y", {}}, {"x", {}}};
  for (std::size_t i = 0; i < 6; ++i) {
    const double s = counts.columns[0].numbers()[i], f = counts.columns[1].numbers()[i];
    counts.columns[3].numbers().push_back(s + f > 0 ? s / (s + f) : 0);
    counts.columns[4].numbers().push_back(s + f);
    for (double k = 0; k < s + f; ++k) {
      plain.columns[0].numbers().push_back(k < s ? 1 : 0);
      plain.columns[1].numbers().push_back(counts.columns[2].numbers()[i]);
    }
  }
  plain.rows = plain.columns[0].size();
  ThreadPool pool(1);
  const auto mode_of = [&](const Table& data, const std::string& formula, const DesignOptions& options = {}) {
    const Glm model(testing::design_of(data, formula, options), make_family("logistic"),
                    GlmPriors{.coefficients = std::vector<Prior>(2, Prior::normal(0, 2))});
    std::vector<double> user(2);
    model.to_user(params(find_mode(model, pool).theta), user);
    return user;
  };
  const std::vector<double> expected = mode_of(plain, "y ~ x"), cbind = mode_of(counts, "cbind(s, f) ~ x"),
                            shares = mode_of(counts, "share ~ x", {.trials = "n"});
  for (std::size_t j = 0; j < 2; ++j) {
    EXPECT_NEAR(cbind[j], expected[j], 1e-7);
    EXPECT_NEAR(shares[j], expected[j], 1e-7);
  }
}

}  // namespace
}  // namespace mlo
