// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/expansion.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string_view>

#include "mlo/base/errors.hpp"
#include "mlo/model/glm.hpp"
#include "support/designs.hpp"

namespace mlo {
namespace {

using testing::design_of;
using testing::regression_table;

Eigen::VectorXd random_vector(std::mt19937_64& random, Eigen::Index size, double length) {
  std::normal_distribution<double> normal;
  Eigen::VectorXd v(size);
  for (Eigen::Index j = 0; j < size; ++j) v[j] = normal(random);
  return v * (length / v.norm());
}

PairGeometry geometry(const Eigen::VectorXd& from, const Eigen::VectorXd& to) {
  const Eigen::VectorXd step = to - from;
  return {from.norm(), to.norm(), step.norm(), from.dot(step), to.dot(step)};
}

// With f = t^3/6 and f = t^4/24, whose next derivative is 1 everywhere, a row of length 1 changes by at most
// M, and some row changes by nearly as much.
TEST(PairBound, HoldsForEveryDirectionAndIsNearlyReached) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform;
  for (const int order : {2, 3}) {
    double tightest = 0;
    for (int pair = 0; pair < 2000; ++pair) {
      const Eigen::Index p = 2 + pair % 3;
      const Eigen::VectorXd from = random_vector(random, p, 3 * uniform(random));
      const double reach = pair % 2 == 0 ? 0.05 : 3;
      const Eigen::VectorXd to = from + random_vector(random, p, reach * uniform(random));
      const double bound = pair_bound(order, geometry(from, to));
      EXPECT_DOUBLE_EQ(bound, pair_bound(order, geometry(to, from)));
      EXPECT_LE(bound, loose_pair_bound(order, from.squaredNorm(), to.squaredNorm()) * (1 + 1e-12));
      for (int k = 0; k < 200; ++k) {
        const Eigen::VectorXd x = random_vector(random, p, 1);
        const double a = x.dot(from), b = x.dot(to);
        const double r = order == 2 ? (b * b * b - a * a * a) / 6 : (std::pow(b, 4) - std::pow(a, 4)) / 24;
        ASSERT_LE(std::abs(r), bound * (1 + 1e-12) + 1e-15) << "order " << order << ", dimension " << p;
        tightest = std::max(tightest, std::abs(r) / bound);
      }
    }
    EXPECT_GT(tightest, 0.95) << "order " << order;
  }
}

// E |v|^3 / 3 and E |v|^4 / 12 of standard normal vectors, by simulation.
TEST(PairBound, HasTheExpectationItSays) {
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal;
  for (const std::size_t p : {1U, 2U, 11U})
    for (const int order : {2, 3}) {
      double sum = 0, squares = 0;
      constexpr int n = 100'000;
      for (int k = 0; k < n; ++k) {
        double square = 0;
        for (std::size_t j = 0; j < p; ++j) square += std::pow(normal(random), 2);
        const double value = 2 * loose_pair_bound(order, square, 0);
        sum += value;
        squares += value * value;
      }
      const double mean = sum / n, error = std::sqrt((squares / n - mean * mean) / n);
      EXPECT_LT(std::abs(mean - expected_pair_bound(order, p)) / error, 5) << p << " " << order;
    }
}

TEST(WhiteRows, DotsAndCubicsAreThoseOfPlainLoops) {
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  for (const std::size_t p : {1U, 2U, 5U, 8U, 11U, 17U, 50U}) {
    WhiteRows rows(20, p);
    std::vector<float> v(rows.stride(), 0.0F), u(rows.stride(), 0.0F);
    for (std::size_t j = 0; j < p; ++j) {
      v[j] = normal(random);
      u[j] = normal(random);
      for (std::size_t i = 0; i < rows.size(); ++i) rows.record(i)[j] = normal(random);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows.e(i) = 1000;  // what follows the columns must not enter the product
      rows.bound(i) = 3;
    }
    const std::vector<RowId> ids{3, 0, 19, 3};
    std::vector<float> from(4), to(4);
    rows.dots(ids, v.data(), u.data(), from.data(), to.data());
    for (std::size_t k = 0; k < 4; ++k) {
      double a = 0, b = 0;
      for (std::size_t j = 0; j < p; ++j) {
        a += static_cast<double>(rows.record(ids[k])[j]) * static_cast<double>(v[j]);
        b += static_cast<double>(rows.record(ids[k])[j]) * static_cast<double>(u[j]);
      }
      EXPECT_NEAR(static_cast<double>(from[k]), a, 1e-5);
      EXPECT_NEAR(static_cast<double>(to[k]), b, 1e-5);
    }
    const auto tensor = [](std::size_t j, std::size_t k, std::size_t l) {
      return std::sin(static_cast<double>(1 + j + 3 * k + 7 * l));
    };
    const CubicForm cubic(p, tensor);
    double expected = 0, size = 0;
    for (std::size_t l = 0; l < p; ++l)
      for (std::size_t k = 0; k <= l; ++k)
        for (std::size_t j = 0; j <= k; ++j) {
          const double term = tensor(j, k, l) * static_cast<double>(v[j]) * static_cast<double>(v[k]) *
                              static_cast<double>(v[l]);
          expected += term;
          size += std::abs(term);
        }
    EXPECT_NEAR(cubic(v.data()), expected, 1e-6 * size) << p;
  }
}

// All rows in one place.
WhiteRows all_rows(const Expansion& x) {
  WhiteRows out(x.rows.size(), x.rows.dim());
  for (std::size_t first = 0; first < out.size(); first += DrawnRows::block_rows) {
    std::vector<RowId> ids(std::min(DrawnRows::block_rows, out.size() - first));
    WhiteRows room(ids.size(), x.rows.dim());
    const WhiteRows& rows = x.rows.read_from(first, ids, room);
    for (std::size_t k = 0; k < ids.size(); ++k)
      std::copy_n(rows.record(ids[k]), out.stride(), out.record(first + k));
  }
  return out;
}

// The polynomial and the remainders add up to the log-likelihood, and every row respects its bound, in every
// shell.
void expect_expansion(std::string_view family, double (*draw)(Stream&, double), std::size_t columns,
                      const FamilyNumbers& numbers = {}) {
  std::vector<double> beta;
  std::string formula = "y ~ 1";
  for (std::size_t j = 0; j < columns; ++j) {
    beta.push_back(0.6 - 0.3 * static_cast<double>(j));
    formula += " + x" + std::to_string(j + 1);
  }
  Design design = design_of(regression_table(300, 0.3, beta, 21, draw), formula);
  const std::vector<Prior> coefficients(columns + 1, Prior::normal(0, 2.5));
  const Glm model(std::move(design), make_family(family, numbers), GlmPriors{.coefficients = coefficients});
  ThreadPool pool(2);
  const Mode mode = find_mode(model, pool);
  const auto p = static_cast<Eigen::Index>(model.dim());
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> uniform;
  for (const int order : {2, 3}) {
    const auto x = expand(*model.curved(), pool, mode, {.order = order});
    const auto broken = expand(*model.curved(), pool, mode, {.order = order, .bound_factor = 0.5});
    const WhiteRows rows = all_rows(x), halved = all_rows(broken);
    std::size_t violations = 0, halved_violations = 0;
    for (int pair = 0; pair < 60; ++pair) {
      const Shell& shell = x.shells[static_cast<std::size_t>(pair % 3)];
      const Eigen::VectorXd from = random_vector(random, p, shell.radius * uniform(random));
      const Eigen::VectorXd to = random_vector(random, p, shell.radius * uniform(random));
      const double unit = shell.factor * pair_bound(order, geometry(from, to));
      std::vector<float> v(rows.stride(), 0.0F), u(rows.stride(), 0.0F);
      for (Eigen::Index j = 0; j < p; ++j) {
        v[static_cast<std::size_t>(j)] = static_cast<float>(from[j]);
        u[static_cast<std::size_t>(j)] = static_cast<float>(to[j]);
      }
      double remainders = 0, size = 0;
      for (RowId i = 0; i < rows.size(); ++i) {
        float a = 0, b = 0;
        rows.dots({&i, 1}, v.data(), u.data(), &a, &b);
        // d(t) is its change from 0, where it is 0.
        const auto d = [&](double t) {
          const double e = rows.e(i), zero = 0;
          double change = 0;
          x.curve->changes(order, {&e, 1}, {&zero, 1}, {&t, 1}, {&change, 1});
          return rows.scale(i) * change;
        };
        const double r = d(static_cast<double>(b)) - d(static_cast<double>(a));
        remainders += r;
        size += std::abs(d(static_cast<double>(b))) + std::abs(d(static_cast<double>(a)));
        violations += std::abs(r) > unit * rows.bound(i) ? 1 : 0;
        halved_violations += std::abs(r) > unit * halved.bound(i) ? 1 : 0;
      }
      const auto polynomial = [&](const Eigen::VectorXd& w, const float* padded) {
        return x.gradient.dot(w) - 0.5 * w.dot(x.information * w) + (order == 3 ? x.cubic(padded) : 0);
      };
      const auto likelihood = [&](const Eigen::VectorXd& w) {
        const Eigen::VectorXd theta = x.centre + x.unwhiten * w;
        return model.log_likelihood(params(theta), Rows::range(0, model.rows()));
      };
      const double pieces = polynomial(to, u.data()) - polynomial(from, v.data()) + remainders;
      const double whole = likelihood(to) - likelihood(from);
      EXPECT_NEAR(pieces, whole, 1e-5 * (1 + std::abs(whole) + size)) << family << ", order " << order;
    }
    EXPECT_EQ(violations, 0U) << family << ", order " << order;
    EXPECT_GT(halved_violations, 0U) << family << ", order " << order << ": a broken bound goes unseen";
  }
}

TEST(Expansion, AddsUpAndKeepsItsBounds) {
  expect_expansion("logistic", testing::draw_logistic, 1);
  expect_expansion("logistic", testing::draw_logistic, 3);
  expect_expansion("probit", testing::draw_probit, 2);
  expect_expansion("poisson", testing::draw_poisson, 2);
  expect_expansion("negative-binomial", testing::draw_poisson, 2, {{"size", 2.5}});
  expect_expansion("gamma", testing::draw_gamma, 2, {{"shape", 1.3}});
  expect_expansion("student", testing::draw_gaussian, 2, {{"freedom", 4}, {"known-sigma", 1.2}});
}

TEST(Expansion, DoesNotDependOnTheNumberOfThreads) {
  Design design =
      design_of(regression_table(20'000, 0.3, {0.9, 0.1}, 21, testing::draw_logistic), "y ~ x1 + x2");
  const Glm model(std::move(design), make_family("logistic"),
                  GlmPriors{.coefficients = std::vector<Prior>(3, Prior::normal(0, 2.5))});
  ThreadPool one(1), three(3);
  const Mode mode = find_mode(model, one);
  const auto a = expand(*model.curved(), one, mode, {.order = 3}),
             b = expand(*model.curved(), three, mode, {.order = 3});
  EXPECT_EQ(a.total_bound, b.total_bound);
  const std::vector<float> v{0.5F, -1, 2, 0, 0, 0, 0, 0};
  EXPECT_EQ(a.cubic(v.data()), b.cubic(v.data()));
}

// Rows that are made when they are drawn have the bounds that were summed before, and those of rows that are
// made at once.
TEST(Expansion, HasTheSameRowsWheneverTheyAreMade) {
  const auto expect_same = [](std::string_view family, double (*draw)(Stream&, double),
                              const FamilyNumbers& numbers = {}) {
    SCOPED_TRACE(family);
    Design design = design_of(regression_table(5000, 0.3, {0.9, 0.1}, 21, draw), "y ~ x1 + x2");
    const Glm model(std::move(design), make_family(family, numbers),
                    GlmPriors{.coefficients = std::vector<Prior>(3, Prior::normal(0, 2.5))});
    ThreadPool one(1), three(3);
    const Mode mode = find_mode(model, one);
    for (const int order : {2, 3}) {
      const auto lazy = expand(*model.curved(), one, mode, {.order = order, .at_once = false});
      const auto whole = expand(*model.curved(), three, mode, {.order = order, .at_once = true});
      EXPECT_EQ(lazy.rows.tables(), 0U);
      EXPECT_TRUE(whole.rows.kept() && !lazy.rows.kept());
      EXPECT_EQ(lazy.total_bound, whole.total_bound);
      std::vector<RowId> ids(300), same(300);
      Stream a({.seed = 3, .chain = 0, .purpose = Purpose::rows, .iteration = 0}), b = a;
      lazy.rows.draw(a, ids);
      whole.rows.draw(b, same);
      EXPECT_EQ(ids, same);
      const WhiteRows made = all_rows(lazy), kept = all_rows(whole);
      double total = 0;
      for (std::size_t i = 0; i < 5000; ++i) {
        // Also a record that is made alone.
        RowId id = static_cast<RowId>(i);
        WhiteRows room(1, made.dim());
        const float* alone = lazy.rows.read({&id, 1}, room).record(0);
        for (std::size_t j = 0; j < made.stride(); ++j) {
          ASSERT_EQ(made.record(i)[j], kept.record(i)[j]) << "row " << i << ", float " << j;
          ASSERT_EQ(made.record(i)[j], alone[j]) << "row " << i << ", float " << j;
        }
        total += std::as_const(made).bound(i);
      }
      EXPECT_NEAR(total, lazy.total_bound, 1e-12 * total);
    }
  };
  expect_same("logistic", testing::draw_logistic);
  expect_same("probit", testing::draw_probit);
  expect_same("poisson", testing::draw_poisson);
  expect_same("negative-binomial", testing::draw_poisson, {{"size", 2.5}});
  expect_same("gamma", testing::draw_gamma, {{"shape", 1.3}});
  expect_same("student", testing::draw_gaussian, {{"freedom", 4}, {"known-sigma", 1.2}});
}

// Few draws: few blocks. Many draws: all of them, at once.
TEST(Expansion, MakesAllRowsAtOnceWhereTheRunNeedsThem) {
  Design design =
      design_of(regression_table(50'000, 0.3, {0.9, 0.1}, 21, testing::draw_logistic), "y ~ x1 + x2");
  const Glm model(std::move(design), make_family("logistic"),
                  GlmPriors{.coefficients = std::vector<Prior>(3, Prior::normal(0, 2.5))});
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const auto short_run = expand(*model.curved(), pool, mode, {.order = 2, .steps = 100});
  const auto long_run = expand(*model.curved(), pool, mode, {.order = 2, .steps = 1e7});
  EXPECT_FALSE(short_run.rows.kept());
  EXPECT_EQ(short_run.passes, 1);
  EXPECT_TRUE(long_run.rows.kept());
  EXPECT_EQ(long_run.passes, 2);
}

// The cubic form has room for so many parameters: more are refused, not written past its end.
TEST(Expansion, RefusesOrder3OfMoreParametersThanTheCubicFormHas) {
  const std::size_t columns = CubicForm::max_dim + 1;
  const Glm model(
      design_of(regression_table(400, 0, std::vector<double>(columns, 0.05), 21, testing::draw_logistic),
                "y ~ . - 1"),
      make_family("logistic"), GlmPriors{.coefficients = std::vector<Prior>(columns, Prior::normal(0, 0.3))});
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  EXPECT_THROW(static_cast<void>(expand(*model.curved(), pool, mode, {.order = 3})), UsageError);
  EXPECT_EQ(expand(*model.curved(), pool, mode, {.steps = 1e12}).order, 2);
}

// The order that cheaper_order() chooses from the bounds of both, although those of order 3 are not always
// summed.
TEST(Expansion, ChoosesTheCheaperOrder) {
  Design design =
      design_of(regression_table(2000, 0.3, {0.9, 0.1}, 21, testing::draw_logistic), "y ~ x1 + x2");
  const Glm model(std::move(design), make_family("logistic"),
                  GlmPriors{.coefficients = std::vector<Prior>(3, Prior::normal(0, 2.5))});
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  const double rows_2 = expand(*model.curved(), pool, mode, {.order = 2}).expected_rows(),
               rows_3 = expand(*model.curved(), pool, mode, {.order = 3}).expected_rows();
  bool saw_2 = false, saw_3 = false;
  for (double steps = 1; steps < 1e9; steps *= 3) {
    const int order = expand(*model.curved(), pool, mode, {.steps = steps}).order;
    EXPECT_EQ(order, cheaper_order(2000, 3, steps, rows_2, rows_3)) << steps;
    (order == 2 ? saw_2 : saw_3) = true;
  }
  EXPECT_TRUE(saw_2 && saw_3);
}

}  // namespace
}  // namespace mlo
