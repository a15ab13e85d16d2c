// Copyright (c) the mlo authors. BSD-3-Clause.
// The store against plain loops over the records of its design: offsets, scattered rows, more columns than
// fit on the stack. linear_test.cpp has the sums themselves on every instruction set.
#include "mlo/model/row_store.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "support/designs.hpp"
#include "support/simd_targets.hpp"

namespace mlo {
namespace {

using testing::ReferenceSum;
using testing::within_roundings;
constexpr long double unit = 0x1p-53L;
constexpr std::size_t rows = 300;

RowStore store(bool offset, std::size_t columns = 3) {
  std::string formula = "y ~ 1";
  for (std::size_t j = 0; j < columns; ++j) formula += " + x" + std::to_string(j + 1);
  if (offset) formula += " + offset(0.3 * x1)";
  return RowStore(testing::design_of(
      testing::regression_table(rows, 0.4, std::vector<double>(columns, 0.2), 5, testing::draw_gaussian),
      formula));
}

std::vector<RowId> scattered(std::size_t count) {
  std::vector<RowId> ids(count);
  for (std::size_t k = 0; k < count; ++k) ids[k] = static_cast<RowId>((k * 77 + rows - 1) % rows);
  return ids;
}

ReferenceSum product(const Design& design, std::size_t row, const std::vector<double>& beta) {
  ReferenceSum sum;
  for (std::size_t j = 0; j < design.dim; ++j)
    sum.add(static_cast<long double>(design.row(row)[j]) * beta[j]);
  return sum;
}
ReferenceSum predictor(const Design& design, std::size_t row, const std::vector<double>& beta) {
  ReferenceSum sum = product(design, row, beta);
  if (design.has_offset) sum.add(design.offset(row));
  return sum;
}

// A design with an offset, one without, and one whose coefficients do not fit on the stack.
class RowStoreOf : public ::testing::TestWithParam<std::pair<bool, std::size_t>> {
 protected:
  const RowStore x = store(GetParam().first, GetParam().second);
  const Design& design = x.design();
  const std::vector<double> beta = testing::signed_numbers<double>(x.dim(), 1),
                            other = testing::signed_numbers<double>(x.dim(), 2);
  const std::size_t roundings = x.dim() + 2;
};
INSTANTIATE_TEST_SUITE_P(Designs, RowStoreOf,
                         ::testing::Values(std::pair(false, 3U), std::pair(true, 3U), std::pair(true, 260U)));

TEST_P(RowStoreOf, ResponsesAndPredictorsAreThoseOfTheRecords) {
  EXPECT_EQ(x.size(), rows);
  EXPECT_EQ(x.dim(), GetParam().second + 1);
  const Coefficients coefficients(beta, x);
  const std::vector<RowId> ids = scattered(70);
  x.prefetch(ids);  // changes nothing
  for (const Rows part :
       {Rows::range(0, rows), Rows::range(17, 5), Rows(ids), Rows(std::span(ids).first(1))}) {
    std::vector<double> y(part.size()), eta(part.size()), t(part.size());
    x.responses(part, y);
    x.predictors(coefficients, part, eta);
    x.products(coefficients, part, t);
    for (std::size_t k = 0; k < part.size(); ++k) {
      EXPECT_EQ(y[k], design.y(part[k]));
      EXPECT_TRUE(within_roundings(eta[k], predictor(design, part[k], beta), roundings, unit)) << part[k];
      EXPECT_TRUE(within_roundings(t[k], product(design, part[k], beta), roundings, unit)) << part[k];
    }
  }
}

TEST_P(RowStoreOf, PairsAreThePredictorsOfEach) {
  const Coefficients from(beta, x), to(other, x);
  const std::vector<RowId> ids = scattered(90);  // more than are asked for
  std::vector<double> from_eta(71, -7), to_eta(71, -7), one(70), two(70);
  x.predictor_pairs(ids, 70, from, to, from_eta, to_eta);
  x.predictors(from, Rows(std::span(ids).first(70)), one);
  x.predictors(to, Rows(std::span(ids).first(70)), two);
  for (std::size_t k = 0; k < 70; ++k) {
    EXPECT_EQ(from_eta[k], one[k]);
    EXPECT_EQ(to_eta[k], two[k]);
  }
  EXPECT_EQ(from_eta[70], -7) << "written past the end";
  EXPECT_EQ(to_eta[70], -7) << "written past the end";
}

TEST_P(RowStoreOf, MomentsAreSumsOverRangesAndLists) {
  const std::size_t p = x.dim();
  const std::vector<RowId> ids = scattered(50);
  const std::vector<double> u = testing::signed_numbers<double>(50, 3),
                            v = testing::signed_numbers<double>(50, 4);
  for (const Rows part : {Rows::range(11, 50), Rows(ids)}) {
    std::vector<double> gradient(p, 1.0), information(p * p, 1.0), alone(p, 1.0);
    MomentSums sums(x, true), sums_alone(x, false);
    sums.add(part, u, v);
    sums.finish(gradient, information);
    sums_alone.add(part, u, {});
    sums_alone.finish(alone, {});
    EXPECT_EQ(alone, gradient);
    for (std::size_t j = 0; j<p; j += p> 100 ? 37 : 1)
      for (std::size_t m = 0; m<p; m += p> 100 ? 41 : 1) {
        ReferenceSum slope, cell;
        slope.add(1);
        cell.add(1);
        for (std::size_t k = 0; k < part.size(); ++k) {
          const double* row = design.row(part[k]);
          slope.add(static_cast<long double>(u[k]) * row[j]);
          if (m >= j) cell.add(static_cast<long double>(v[k]) * row[j] * row[m]);
        }
        EXPECT_TRUE(within_roundings(gradient[j], slope, 52, unit)) << j;
        EXPECT_TRUE(within_roundings(information[j * p + m], cell, m >= j ? 53 : 0, unit)) << j << " " << m;
      }
  }
}

TEST_P(RowStoreOf, ScaledRowsGoWhereTheyShould) {
  const std::vector<RowId> ids = scattered(20);
  const std::vector<double> u = testing::signed_numbers<double>(20, 3);
  for (const Rows part : {Rows::range(11, 20), Rows(ids)}) {
    // One column more than the design has, and rows before and after.
    Eigen::MatrixXd out = Eigen::MatrixXd::Constant(25, static_cast<Eigen::Index>(x.dim()) + 1, -7);
    x.scaled_rows(part, u, out, 3);
    for (Eigen::Index i = 0; i < out.rows(); ++i)
      for (Eigen::Index j = 0; j < out.cols(); ++j) {
        const bool inside = i >= 3 && i < 23 && j + 1 < out.cols();
        const auto k = static_cast<std::size_t>(i - 3);
        ASSERT_EQ(out(i, j), inside ? u[k] * design.row(part[k])[j] : -7);
      }
  }
}

TEST_P(RowStoreOf, MatrixProductsAreThoseOfTheRecords) {
  const auto p = static_cast<Eigen::Index>(x.dim());
  const std::vector<double> numbers = testing::signed_numbers<double>(x.dim() * x.dim(), 6);
  Eigen::MatrixXd square = Eigen::Map<const Eigen::MatrixXd>(numbers.data(), p, p);
  square.diagonal().array() += static_cast<double>(3 * p);  // well conditioned
  const Eigen::MatrixXd upper = square.triangularView<Eigen::Upper>();
  const Eigen::MatrixXd lower = square.triangularView<Eigen::Lower>();
  Eigen::VectorXd theta(p + 1);  // the second parameter is ignored
  theta << Eigen::Map<const Eigen::VectorXd>(beta.data(), p), 1e200;
  constexpr std::size_t first = 13, count = 40;
  const Eigen::MatrixXd inverse = lower.inverse();
  const Eigen::VectorXd eta = x.predictors(first, count, theta);
  const RowStore::Matrix white = x.whitened(first, count, upper);
  const Eigen::VectorXd lengths = x.white_lengths(first, count, lower);
  ASSERT_EQ(eta.size(), 40);
  ASSERT_EQ(white.rows(), 40);
  ASSERT_EQ(lengths.size(), 40);
  for (std::size_t k = 0; k < count; ++k) {
    const auto i = static_cast<Eigen::Index>(k);
    const Eigen::VectorXd row = Eigen::Map<const Eigen::VectorXd>(design.row(first + k), p);
    EXPECT_TRUE(within_roundings(eta[i], predictor(design, first + k, beta), roundings, unit));
    const Eigen::VectorXd expected = upper.transpose() * row;
    EXPECT_LT((white.row(i).transpose() - expected).norm(), 1e-13 * expected.norm());
    const double length = (inverse * row).norm();
    EXPECT_NEAR(lengths[i], length, 1e-11 * length);
  }
}

}  // namespace
}  // namespace mlo
