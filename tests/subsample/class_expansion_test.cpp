// Copyright (c) the mlo authors. BSD-3-Clause.
// The expansion of softmax regression: the constants of its bounds against their certificates and against
// random laws; polynomial and remainders against the model; bounds against rows evaluated in long double.
#include "mlo/subsample/class_expansion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "mlo/base/random.hpp"
#include "support/classes.hpp"

namespace mlo {
namespace {

using testing::class_table;
using testing::design_of;
using testing::softmax_of;

// ---- the constants

// The least value of a polynomial (coefficients from the constant on) at its critical points and at x = 0, if
// x >= 0 alone counts. Its leading coefficient is positive.
double least(const std::vector<double>& c, bool positive) {
  const auto value = [&](double x) {
    double sum = 0;
    for (std::size_t k = c.size(); k-- > 0;) sum = sum * x + c[k];
    return sum;
  };
  const auto slope = [&](double x) {
    double sum = 0;
    for (std::size_t k = c.size(); k-- > 1;) sum = sum * x + static_cast<double>(k) * c[k];
    return sum;
  };
  double out = positive ? value(0) : HUGE_VAL, reach = 1;
  for (std::size_t k = 1; k < c.size(); ++k)
    reach = std::max(
        reach, 1 + static_cast<double>(k) * std::abs(c[k]) / (static_cast<double>(c.size() - 1) * c.back()));
  // All roots of the slope lie within `reach` (Cauchy); between them the polynomial is monotone, so that the
  // bracketed ones, on a grid that is finer than any gap here, are all there are.
  constexpr int cells = 400'000;
  double before = positive ? 0 : -reach;
  const double step = (reach - before) / cells;
  for (int k = 0; k < cells; ++k, before += step) {
    double low = before, high = before + step;
    out = std::min(out, value(high));
    if (slope(low) > 0 || slope(high) < 0) continue;
    for (int halving = 0; halving < 80; ++halving) {
      const double middle = 0.5 * (low + high);
      (slope(middle) < 0 ? low : high) = middle;
    }
    out = std::min(out, value(low));
  }
  return out;
}

TEST(ClassBounds, EveryConstantHasItsCertificate) {
  double share = 0;
  for (const CumulantFactor& row : cumulant_factors()) {
    SCOPED_TRACE(row.share);
    EXPECT_GT(row.share, share);
    share = row.share;
    const double q = row.share, a = row.third_slope;
    ASSERT_GT(2 + a, 0);
    EXPECT_GE(least({(2 + a) / q, a, -3, row.third - 1}, true), 0);
    EXPECT_GE(least({(2 + a) / q, -a, -3, row.third + 1}, true), 0);
    const double s = row.fourth_tangent, b = row.fourth_slope, rest = b - 12 * s - 3 * s * s - 6;
    ASSERT_GE(rest, 0);
    EXPECT_GE(least({rest / q, -b, 6 * s, 4, row.fourth - 1}, false), 0);
    EXPECT_GE(row.third, 1);
    EXPECT_GE(row.fourth, 1);
  }
  EXPECT_EQ(share, 1);
  EXPECT_EQ(cumulant_factor(2, 1), 1.3);
  EXPECT_EQ(cumulant_factor(3, 1), 2);
  EXPECT_EQ(cumulant_factor(2, 0.45), 1.065);
  EXPECT_EQ(cumulant_factor(3, 0.75), 1.6);
}

// Random laws with up to six atoms of all sizes, half of them near the extreme ones: none breaks a constant,
// and some come close to them.
TEST(ClassBounds, NoLawHasLargerCumulants) {
  Stream stream({.seed = 5, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
  double third = 0, fourth = 0;
  for (int k = 0; k < 400'000; ++k) {
    const std::size_t atoms = 2 + bounded(stream, 5);
    std::vector<long double> x(atoms), p(atoms);
    long double total = 0;
    for (std::size_t i = 0; i < atoms; ++i) {
      x[i] = i == 0 && k % 2 == 0 ? 0 : static_cast<long double>(normal(stream) * std::exp(normal(stream)));
      p[i] = static_cast<long double>(std::pow(exponential(stream), k % 3 == 0 ? 4 : 1));
      total += p[i];
    }
    if (k % 5 == 0) x[atoms - 1] = -x[0] * (1 + 0.01L * static_cast<long double>(normal(stream)));
    long double mean = 0, m3 = 0, m4 = 0, share = 0;
    for (std::size_t i = 0; i < atoms; ++i) {
      p[i] /= total;
      mean += p[i] * x[i];
      m3 += p[i] * std::abs(x[i] * x[i] * x[i]);
      m4 += p[i] * x[i] * x[i] * x[i] * x[i];
      if (x[i] != 0) share += p[i];
    }
    if (!(m3 > 0)) continue;
    long double variance = 0, k3 = 0, k4 = 0;
    for (std::size_t i = 0; i < atoms; ++i) {
      const long double d = x[i] - mean;
      variance += p[i] * d * d;
      k3 += p[i] * d * d * d;
      k4 += p[i] * d * d * d * d;
    }
    k4 -= 3 * variance * variance;
    const auto q = std::min(1.0, static_cast<double>(share));
    third = std::max(third, static_cast<double>(std::abs(k3) / m3) / cumulant_factor(2, q));
    fourth = std::max(fourth, static_cast<double>(std::abs(k4) / m4) / cumulant_factor(3, q));
  }
  EXPECT_LE(third, 1);
  EXPECT_LE(fourth, 1);
  EXPECT_GT(third, 0.95);
  EXPECT_GT(fourth, 0.95);
}

// ---- the expansion

struct Case {
  const char* name;
  std::size_t rows;
  std::vector<std::vector<double>> beta;
  bool weights = false;
  double prior = 2.5;
};
std::vector<Case> cases() {
  return {{"three classes", 500, {{0.4, 1, -0.5}, {-0.3, 0.2, 0.8}}},
          {"a rare class", 2000, {{1, 0.5, 0.2}, {-6, 0.3, 1}}},
          {"five classes", 800, {{0.4, 1}, {-0.3, 2}, {0, -1}, {1, 0.1}}},
          {"few rows", 60, {{0, 3, 1}, {0, -2, 1}}},
          {"weights", 300, {{0.4, 1, -0.5}, {-0.3, 0.2, 0.8}}, true},
          {"two classes", 200, {{0.4, 3}}}};
}

Softmax model_of(const Case& c) {
  Table table = class_table(c.rows, c.beta, 31);
  table.columns.push_back({"w", std::vector<double>(c.rows)});
  for (std::size_t i = 0; i < c.rows; ++i)
    table.columns.back().numbers()[i] = 0.3 + static_cast<double>(i % 7);
  std::string formula = "y ~ 1";
  for (std::size_t j = 1; j < c.beta[0].size(); ++j) formula += " + x" + std::to_string(j);
  return softmax_of(design_of(std::move(table), formula, {.row_weights = c.weights ? "w" : ""}),
                    Prior::normal(0, c.prior));
}

// A row's remainder at theta, by its definition.
long double remainder(const Softmax& model, const Eigen::VectorXd& centre, const Eigen::VectorXd& theta,
                      int order, std::size_t row) {
  const std::size_t width = model.width(), classes = model.others() + 1;
  std::vector<double> x(width);
  model.design().working_row(row, x);
  std::vector<long double> e(classes, 0), t(classes, 0);
  for (std::size_t k = 1; k < classes; ++k)
    for (std::size_t j = 0; j < width; ++j) {
      const auto at = static_cast<Eigen::Index>((k - 1) * width + j);
      e[k] += static_cast<long double>(x[j]) * static_cast<long double>(centre[at]);
      t[k] += static_cast<long double>(x[j]) *
              (static_cast<long double>(theta[at]) - static_cast<long double>(centre[at]));
    }
  long double before = 0, after = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    before += std::exp(e[k]);
    after += std::exp(e[k] + t[k]);
  }
  long double m1 = 0, k2 = 0, k3 = 0;
  for (std::size_t k = 0; k < classes; ++k) m1 += std::exp(e[k]) / before * t[k];
  for (std::size_t k = 0; k < classes; ++k) {
    k2 += std::exp(e[k]) / before * (t[k] - m1) * (t[k] - m1);
    k3 += std::exp(e[k]) / before * (t[k] - m1) * (t[k] - m1) * (t[k] - m1);
  }
  return -static_cast<long double>(model.design().weight(row)) *
         (std::log(after / before) - m1 - k2 / 2 - (order == 3 ? k3 / 6 : 0));
}

// Summed over the rows that are not always read; each is checked against its bound.
double changes_of_all(const ClassExpansion& x, const ClassPoint& here, const ClassPoint& there) {
  ClassChanges changes(x.classes);
  double sum = 0;
  for (std::size_t first = 0; first < x.rows.size(); first += ClassChanges::batch) {
    std::vector<RowId> ids(std::min(ClassChanges::batch, x.rows.size() - first));
    for (std::size_t k = 0; k < ids.size(); ++k) ids[k] = static_cast<RowId>(first + k);
    x.evaluate(ids, here, there, changes);
    for (std::size_t k = 0; k < ids.size(); ++k) {
      sum += changes.r[k];
      EXPECT_LE(std::abs(changes.r[k]), x.bound(ids[k], here, there) + 1e-13);
    }
  }
  return sum;
}

TEST(ClassExpansion, PolynomialAndRemaindersAreTheLogLikelihood) {
  ThreadPool pool(2);
  for (const Case& c : cases())
    for (const int order : {2, 3})
      for (const double always : {0.5, 1e-3, HUGE_VAL}) {
        SCOPED_TRACE(::testing::Message() << c.name << ", order " << order << ", always from " << always);
        const Softmax model = model_of(c);
        const Mode mode = find_mode(model, pool);
        const ClassExpansion x = expand_classes(model, pool, mode, {.order = order, .always_from = always});
        ClassPoint here = x.point(), there = x.point();
        Stream stream({.seed = 8, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
        for (int k = 0; k < 20; ++k) {
          for (double& v : here.v) v = normal(stream);
          for (double& v : there.v) v = 1.3 * normal(stream);
          x.derive(here, x.gradient.data());
          x.derive(there, x.gradient.data());
          const auto value = [&](const ClassPoint& point) {
            const Eigen::Map<const Eigen::VectorXd> v(point.v.data(),
                                                      static_cast<Eigen::Index>(point.v.size()));
            return x.gradient.dot(v) - 0.5 * v.dot(x.information * v) + x.higher(point);
          };
          Eigen::VectorXd from = x.centre, to = x.centre, room;
          x.place(here, from, room);
          x.place(there, to, room);
          EXPECT_LT((x.white(from) - Eigen::Map<const Eigen::VectorXd>(here.v.data(), from.size())).norm(),
                    1e-9);
          const Rows all = Rows::range(0, model.rows());
          const double direct =
              model.log_likelihood(params(to), all) - model.log_likelihood(params(from), all);
          EXPECT_NEAR(value(there) - value(here) + changes_of_all(x, here, there), direct, 1e-5);
        }
      }
}

// Points of all lengths, most of them along directions that stretch single rows; rows in long double.
TEST(ClassExpansion, NoRowBreaksItsBound) {
  ThreadPool pool(2);
  double tightest = 0;
  for (const Case& c : cases())
    for (const int order : {2, 3}) {
      SCOPED_TRACE(::testing::Message() << c.name << ", order " << order);
      const Softmax model = model_of(c);
      const Mode mode = find_mode(model, pool);
      const ClassExpansion x = expand_classes(model, pool, mode, {.order = order, .always_from = HUGE_VAL});
      ClassPoint origin = x.point(), point = x.point();
      x.derive(origin, x.gradient.data());
      EXPECT_EQ(origin.radius, 0);
      Stream stream({.seed = 9, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
      std::vector<double> row(model.width());
      for (int k = 0; k < 20'000; ++k) {
        const auto id = static_cast<RowId>(bounded(stream, model.rows()));
        // Coefficients of random classes move along the row itself, as the covariance has it, or anywhere.
        Eigen::VectorXd direction = Eigen::VectorXd::Zero(x.centre.size());
        model.design().working_row(id, row);
        for (std::size_t m = 0; m < model.others(); ++m) {
          const double size = normal(stream) * (bounded(stream, 2) == 0 ? 1 : 0);
          for (std::size_t j = 0; j < row.size(); ++j)
            direction[static_cast<Eigen::Index>(m * row.size() + j)] =
                size * row[j] + (k % 4 == 0 ? 0.3 * normal(stream) : 0);
        }
        Eigen::VectorXd v = x.unwhiten.transpose() * direction;
        if (!(v.norm() > 0)) continue;
        v /= v.norm();
        std::copy(v.data(), v.data() + v.size(), point.v.begin());
        x.derive(point, x.gradient.data());
        // Up to the edge of the box, where bounds are tightest relative to what rows can do.
        v *= x.radius / point.radius * (k % 3 == 0 ? 0.9999 : uniform(stream));
        std::copy(v.data(), v.data() + v.size(), point.v.begin());
        x.derive(point, x.gradient.data());
        ASSERT_LE(point.radius, x.radius);
        Eigen::VectorXd theta = x.centre, room;
        x.place(point, theta, room);
        const auto d = static_cast<double>(remainder(model, x.centre, theta, order, id));
        const double bound = x.bound(id, origin, point);
        ASSERT_LE(std::abs(d), bound * (1 + 1e-9) + 1e-15);
        if (bound > 1e-9) tightest = std::max(tightest, std::abs(d) / bound);
        // The same row by the expansion's own arithmetic.
        ClassChanges changes(x.classes);
        x.evaluate({&id, 1}, origin, point, changes);
        ASSERT_NEAR(changes.r[0], d, 1e-5 * bound + 1e-12);  // floats
      }
    }
  EXPECT_GT(tightest, 0.3);  // not only true, but of use
}

TEST(ClassExpansion, RowsAreDrawnInProportionToTheirBounds) {
  ThreadPool pool(1);
  const std::vector<RowId> rows{7, 3, 9, 1};
  const std::vector<double> weights{1, 2, 0.5, 4};
  const PairTable table(rows, weights);
  Stream stream({.seed = 9, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
  std::array<double, 10> counts{};
  constexpr int draws = 200'000;
  for (int k = 0; k < draws; ++k) {
    const std::uint64_t word = stream();
    counts[table.row(word, table.cell(word))] += 1;
  }
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const double p = weights[k] / 7.5;
    EXPECT_LT(std::abs(counts[rows[k]] - draws * p) / std::sqrt(draws * p * (1 - p)), 5) << rows[k];
  }
}

}  // namespace
}  // namespace mlo
