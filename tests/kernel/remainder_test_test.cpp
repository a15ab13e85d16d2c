// Copyright (c) the mlo authors. BSD-3-Clause.
// Detailed balance of stage 2, pair by pair: the ratio of the probabilities that a move and its reverse
// survive is exp(sum of the remainders' changes), which is known from all rows. A chain of the same length
// would miss errors in the rule that this finds.
#include "mlo/kernel/remainder_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "mlo/kernel/estimator.hpp"
#include "mlo/kernel/full.hpp"
#include "support/designs.hpp"
#include "support/laws.hpp"

namespace mlo {
namespace {

using testing::design_of;
using testing::regression_table;

// How often moves from one point to the other survive, in `trials`.
template <class T>
double surviving(T& test, const Expansion& expansion, const Expansion::Point& from,
                 const Expansion::Point& to, std::uint64_t seed, std::size_t trials) {
  const RowLimit limit = expansion.limit(from, to);
  std::size_t count = 0, violations = 0;
  for (std::size_t k = 0; k < trials; ++k) {
    Stream stream({.seed = seed, .chain = 0, .purpose = Purpose::decision, .iteration = k});
    StepInfo info;
    count += test(stream, from, to, limit, info) ? 1 : 0;
    violations += info.bound_violations;
  }
  EXPECT_EQ(violations, 0U);
  return static_cast<double>(count) / static_cast<double>(trials);
}

void expect_detailed_balance(const std::shared_ptr<const Family>& family, double (*draw)(Stream&, double),
                             double bound_factor) {
  Design design = design_of(regression_table(50, 0.3, {0.9, 0.6}, 8, draw), "y ~ x1 + x2");
  const Glm model(std::move(design), family, GlmPriors{std::vector<Prior>(3, Prior::normal(0, 5))});
  ThreadPool pool(1);
  const Mode mode = find_mode(model, pool);
  constexpr std::size_t trials = 40'000;
  for (const int order : {2, 3}) {
    const auto expansion = std::make_shared<const Expansion>(
        expand(*model.curved(), pool, mode, {.order = order, .bound_factor = bound_factor}));
    double farthest = 0;
    std::size_t pairs = 0;
    for (std::uint64_t pair = 0; pair < 4; ++pair) {
      Expansion::Point a(3, expansion->rows.stride()), b(3, expansion->rows.stride());
      Stream stream({.seed = 5, .chain = pair, .purpose = Purpose::start, .iteration = 0});
      for (Expansion::Point* point : {&a, &b}) {
        normals(stream, point->v);
        for (double& x : point->v) x *= 1.3;
        expansion->derive(*point, std::array<double, 3>{}.data());
      }
      for (const Thinning thinning : {Thinning::balanced, Thinning::factorised}) {
        RemainderTest test(expansion, thinning, TableRows(expansion->rows));
        if (expansion->limit(a, b).rows >= 50) continue;  // where `exact` would read all rows
        ++pairs;
        // exp of the difference between the log-likelihood and its polynomial, from all rows.
        const auto polynomial = [&](const Expansion::Point& point) {
          const Eigen::Map<const Eigen::VectorXd> v(point.v.data(), 3);
          return expansion->gradient.dot(v) - 0.5 * v.dot(expansion->information * v) +
                 (order == 3 ? expansion->cubic(point.padded.data()) : 0);
        };
        const auto whole = [&](const Expansion::Point& point) {
          const Eigen::Map<const Eigen::VectorXd> v(point.v.data(), 3);
          const Eigen::VectorXd theta = expansion->centre + expansion->unwhiten * v;
          return log_likelihood(model, pool, params(theta));
        };
        const double change = whole(b) - whole(a) - polynomial(b) + polynomial(a);
        farthest = std::max(farthest, std::abs(change));
        const double there = surviving(test, *expansion, a, b, 100 + pair, trials);
        const double back = surviving(test, *expansion, b, a, 200 + pair, trials);
        const double error = std::sqrt(((1 - there) / there + (1 - back) / back) / trials);
        EXPECT_LT(std::abs(std::log(there / back) - change), 5 * error + 1e-5)
            << "order " << order << ", pair " << pair << ", " << there << " there, " << back << " back, "
            << std::exp(change);
      }
    }
    EXPECT_GT(farthest, 0.02);  // or this would test nothing
    EXPECT_GE(pairs, 4U);
  }
}

TEST(RemainderTest, IsInDetailedBalance) {
  expect_detailed_balance(make_family("logistic"), testing::draw_logistic, 1);
  expect_detailed_balance(make_family("poisson"), testing::draw_poisson, 1);
  expect_detailed_balance(make_family("student", {{"freedom", 3}, {"known-sigma", 0.6}}),
                          testing::draw_gaussian, 1);
}
TEST(RemainderTest, IsInDetailedBalanceWithLooseBounds) {
  expect_detailed_balance(make_family("logistic"), testing::draw_logistic, 4);
}

// Some bounds, to draw by; records are never asked for.
class Bounds final : public RowMaker {
 public:
  explicit Bounds(std::vector<double> bounds) : bounds_(std::move(bounds)) {}
  void bounds(std::size_t first, std::size_t count, float* out) const override {
    for (std::size_t k = 0; k < count; ++k) out[k] = static_cast<float>(bounds_[first + k]);
  }
  void records(std::size_t, std::size_t, float*) const override { FAIL(); }

 private:
  std::vector<double> bounds_;
};

// Rows whose blocks are drawn too often or too seldom are not in detailed balance. The rows are sorted, so
// that the blocks differ in what they say about a move.
TEST(RemainderTest, IsNotInDetailedBalanceWithTheWrongSums) {
  constexpr std::size_t n = 256;
  Table table = regression_table(n, -1.5, {0.9}, 8, testing::draw_logistic);
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::vector<double> x = table.columns[1].numbers(), y = table.columns[0].numbers();
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  for (std::size_t i = 0; i < n; ++i) {
    table.columns[1].numbers()[i] = x[order[i]];
    table.columns[0].numbers()[i] = y[order[i]];
  }
  const Glm model(design_of(std::move(table), "y ~ x1"), make_family("logistic"),
                  GlmPriors{std::vector<Prior>(2, Prior::normal(0, 5))});
  ThreadPool pool(1);
  const auto expansion = std::make_shared<const Expansion>(
      expand(*model.curved(), pool, find_mode(model, pool), {.order = 2, .at_once = true}));
  Expansion::Point a(2, expansion->rows.stride()), b(2, expansion->rows.stride());
  a.v = {-1.5, 1.0};
  b.v = {1.2, -1.4};
  expansion->derive(a, std::array<double, 2>{}.data());
  expansion->derive(b, std::array<double, 2>{}.data());
  const double change = RemainderTest(expansion, Thinning::balanced, TableRows(expansion->rows))
                            .over_all_rows(pool, a, b)
                            .change;
  ASSERT_GT(std::abs(change), 0.02);
  std::vector<double> bounds(n);
  for (RowId i = 0; i < n; ++i) {
    RowId place = i;
    WhiteRows room(1, 2);
    bounds[i] = expansion->rows.read({&place, 1}, room).bound(place);
  }
  // The z of log(there / back), with the sums of the blocks times the factors.
  const auto z = [&](const std::array<double, 4>& factors) {
    std::vector<double> sums(4, 0);
    for (std::size_t i = 0; i < n; ++i)
      sums[i / DrawnRows::block_rows] += factors[i / DrawnRows::block_rows] * bounds[i];
    const DrawnRows rows(n, 2, sums, std::make_shared<const Bounds>(bounds));
    RemainderTest test(expansion, Thinning::balanced, TableRows(rows));
    constexpr std::size_t trials = 400'000;
    const double there = surviving(test, *expansion, a, b, 100, trials),
                 back = surviving(test, *expansion, b, a, 200, trials);
    const double error = std::sqrt(((1 - there) / there + (1 - back) / back) / trials);
    return (std::log(there / back) - change) / error;
  };
  EXPECT_LT(std::abs(z({1, 1, 1, 1})), 5);
  EXPECT_GT(std::abs(z({4, 1, 1, 0.25})), 10);
  EXPECT_GT(std::abs(z({0.25, 1, 1, 4})), 10);
}

}  // namespace
}  // namespace mlo
