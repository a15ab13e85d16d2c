// Copyright (c) the mlo authors. BSD-3-Clause.
// Every test runs on each instruction set this machine has. The reference is a plain loop in long double over
// the numbers as they are stored; the bounds are those of any order of summation.
#include "mlo/subsample/white_rows.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string>

#include "support/simd_targets.hpp"

namespace mlo {
namespace {

using testing::ReferenceSum;
using testing::signed_numbers;
using testing::within_roundings;

constexpr long double kFloatUnit = 0x1p-24L, kDoubleUnit = 0x1p-53L;
constexpr std::size_t kRows = 23, kLargestDim = 40;

std::vector<float> padded(std::vector<float> v, std::size_t length) {
  v.resize(length, 0.0F);
  return v;
}

// What follows w in a record is large, so that it shows in any sum it enters.
WhiteRows some_rows(std::size_t dim) {
  WhiteRows rows(kRows, dim);
  const std::vector<float> w = signed_numbers<float>(kRows * dim, dim);
  for (std::size_t i = 0; i < kRows; ++i) {
    std::copy_n(w.begin() + static_cast<std::ptrdiff_t>(i * dim), dim, rows.record(i));
    rows.e(i) = 1e30F;
    rows.scale(i) = 2e30F;
    rows.bound(i) = 3e30F;
  }
  return rows;
}

ReferenceSum dot(const float* w, const std::vector<float>& v, std::size_t dim) {
  ReferenceSum sum;
  for (std::size_t j = 0; j < dim; ++j)
    sum.add(static_cast<long double>(w[j]) * static_cast<long double>(v[j]));
  return sum;
}

TEST(WhiteRows, ARecordHasItsRowAndThreeNumbersOfItsOwn) {
  for (std::size_t dim = 1; dim <= kLargestDim; ++dim) {
    const WhiteRows rows = some_rows(dim);
    EXPECT_EQ(rows.size(), kRows);
    EXPECT_EQ(rows.dim(), dim);
    EXPECT_EQ(rows.stride() % 8, 0U);
    EXPECT_GE(rows.stride(), dim + 3);
    EXPECT_LT(rows.stride(), dim + 3 + 8);
    const std::vector<float> w = signed_numbers<float>(kRows * dim, dim);
    for (std::size_t i = 0; i < kRows; ++i) {
      rows.prefetch(i);  // changes nothing
      for (std::size_t j = 0; j < dim; ++j) EXPECT_EQ(rows.record(i)[j], w[i * dim + j]);
      EXPECT_EQ(rows.e(i), static_cast<double>(1e30F));
      EXPECT_EQ(rows.scale(i), static_cast<double>(2e30F));
      EXPECT_EQ(rows.bound(i), static_cast<double>(3e30F));
      for (std::size_t j = dim + 3; j < rows.stride(); ++j) EXPECT_EQ(rows.record(i)[j], 0.0F);
    }
  }
}

class WhiteOnTarget : public testing::OnTarget {};

// A sum of dim products has at most dim + 1 roundings per term.
TEST_P(WhiteOnTarget, DotsAreWithinTheirBound) {
  for (std::size_t dim = 1; dim <= kLargestDim; ++dim) {
    SCOPED_TRACE("dim " + std::to_string(dim));
    const WhiteRows rows = some_rows(dim);
    const std::vector<float> v = padded(signed_numbers<float>(dim, 100 + dim), rows.stride()),
                             u = padded(signed_numbers<float>(dim, 200 + dim), rows.stride());
    for (const std::size_t count : {0U, 1U, 2U, 3U, 5U, 8U, 17U}) {
      std::vector<RowId> ids(count);
      for (std::size_t k = 0; k < count; ++k) ids[k] = static_cast<RowId>((k * 5 + kRows - 1) % kRows);
      std::vector<float> from(count + 1, -7.0F), to(count + 1, -7.0F);
      rows.dots(ids, v.data(), u.data(), from.data(), to.data());
      for (std::size_t k = 0; k < count; ++k) {
        const float* w = rows.record(ids[k]);
        EXPECT_TRUE(within_roundings(static_cast<double>(from[k]), dot(w, v, dim), dim + 1, kFloatUnit));
        EXPECT_TRUE(within_roundings(static_cast<double>(to[k]), dot(w, u, dim), dim + 1, kFloatUnit));
      }
      EXPECT_EQ(from[count], -7.0F) << "written past the end";
      EXPECT_EQ(to[count], -7.0F) << "written past the end";
    }
  }
}

// A proposal equal to the state must leave every remainder at 0: both sums of one vector are one number.
TEST_P(WhiteOnTarget, ADotDoesNotDependOnItsPlaceOrItsPartner) {
  for (std::size_t dim = 1; dim <= kLargestDim; ++dim) {
    const WhiteRows rows = some_rows(dim);
    const std::vector<float> v = padded(signed_numbers<float>(dim, 100 + dim), rows.stride()),
                             u = padded(signed_numbers<float>(dim, 200 + dim), rows.stride());
    std::vector<RowId> all(kRows);
    for (std::size_t i = 0; i < kRows; ++i) all[i] = static_cast<RowId>(kRows - 1 - i);
    std::vector<float> from(kRows), to(kRows), again(kRows);
    rows.dots(all, v.data(), u.data(), from.data(), to.data());
    rows.dots(all, v.data(), v.data(), from.data(), again.data());
    for (std::size_t k = 0; k < kRows; ++k) {
      EXPECT_EQ(from[k], again[k]);
      float alone_v = 0, alone_u = 0;
      rows.dots(std::span(all).subspan(k, 1), v.data(), u.data(), &alone_v, &alone_u);
      EXPECT_EQ(from[k], alone_v);
      EXPECT_EQ(to[k], alone_u);
    }
  }
}

// T_jkl = its place among the signed numbers below, as a float.
struct Tensor {
  explicit Tensor(std::size_t p) : dim(p), values(signed_numbers<float>(p * p * p, 300 + p)) {}
  float operator()(std::size_t j, std::size_t k, std::size_t l) const {
    return values[(j * dim + k) * dim + l];
  }
  std::size_t dim;
  std::vector<float> values;
};

// A term goes through three products, the sum over its pairs, at most four sums of those, one sum over blocks
// of l and one over lanes: all pairs + all blocks + 16 roundings at most.
void expect_cubic(std::size_t dim) {
  SCOPED_TRACE("dim " + std::to_string(dim));
  const Tensor tensor(dim);
  const CubicForm form(dim, tensor);
  const std::vector<float> v = padded(signed_numbers<float>(dim, 400 + dim), (dim + 7) / 8 * 8);
  ReferenceSum sum;
  for (std::size_t j = 0; j < dim; ++j)
    for (std::size_t k = j; k < dim; ++k)
      for (std::size_t l = k; l < dim; ++l)
        sum.add(static_cast<long double>(tensor(j, k, l)) * static_cast<long double>(v[j]) *
                static_cast<long double>(v[k]) * static_cast<long double>(v[l]));
  const std::size_t pairs = dim * (dim + 1) / 2, blocks = (dim + 7) / 8;
  EXPECT_TRUE(within_roundings(form(v.data()), sum, pairs + blocks + 16, kFloatUnit));
}

TEST_P(WhiteOnTarget, ACubicFormIsWithinItsBound) {
  for (std::size_t dim = 1; dim <= kLargestDim; ++dim) expect_cubic(dim);
  expect_cubic(CubicForm::max_dim - 1);
  expect_cubic(CubicForm::max_dim);
}

// The bound above grows with the number of terms; one term alone, each in turn, is exact up to its products.
TEST_P(WhiteOnTarget, ACubicFormHasEveryTermInItsPlace) {
  for (const std::size_t dim : {1U, 2U, 7U, 8U, 9U, 17U}) {
    std::vector<float> v(24, 0.0F);
    for (std::size_t j = 0; j < dim; ++j)
      v[j] = static_cast<float>(j + 2);  // products are whole: no rounding
    for (std::size_t j = 0; j < dim; ++j)
      for (std::size_t k = j; k < dim; ++k)
        for (std::size_t l = k; l < dim; ++l) {
          const CubicForm form(dim, [&](std::size_t a, std::size_t b, std::size_t c) {
            return a == j && b == k && c == l ? 3.0 : 0.0;
          });
          EXPECT_EQ(form(v.data()), static_cast<double>(3 * (j + 2) * (k + 2) * (l + 2)))
              << dim << ": " << j << ", " << k << ", " << l;
        }
  }
}

TEST_P(WhiteOnTarget, ACubicFormOfNothingIsZero) { EXPECT_EQ(CubicForm()(nullptr), 0.0); }

// theta_i is a sum of dim - i products and the centre: dim + 2 roundings at most. What is below the diagonal
// is ignored.
TEST_P(WhiteOnTarget, UnwhiteningIsWithinItsBound) {
  for (std::size_t dim = 1; dim <= kLargestDim; ++dim) {
    SCOPED_TRACE("dim " + std::to_string(dim));
    const auto p = static_cast<Eigen::Index>(dim);
    const std::vector<double> numbers = signed_numbers<double>(dim * dim + 2 * dim, 500 + dim);
    const Eigen::VectorXd centre = Eigen::Map<const Eigen::VectorXd>(numbers.data(), p);
    const std::vector<double> v(numbers.end() - p, numbers.end());
    Eigen::MatrixXd upper = Eigen::Map<const Eigen::MatrixXd>(numbers.data() + dim, p, p);
    upper.triangularView<Eigen::StrictlyLower>().setConstant(std::numeric_limits<double>::quiet_NaN());
    const Unwhitening unwhiten(centre, upper);
    std::vector<double> theta(dim + 1, -7.0);
    unwhiten(v.data(), theta.data());
    for (Eigen::Index i = 0; i < p; ++i) {
      ReferenceSum sum;
      sum.add(centre[i]);
      for (Eigen::Index j = i; j < p; ++j)
        sum.add(static_cast<long double>(upper(i, j)) * v[static_cast<std::size_t>(j)]);
      EXPECT_TRUE(within_roundings(theta[static_cast<std::size_t>(i)], sum, dim + 2, kDoubleUnit)) << i;
    }
    EXPECT_EQ(theta[dim], -7.0) << "written past the end";
  }
}

MLO_ON_EVERY_TARGET(WhiteOnTarget);

}  // namespace
}  // namespace mlo
