// Copyright (c) the mlo authors. BSD-3-Clause.
// Every test runs on each instruction set this machine has. The reference is a plain loop in long double; the
// bounds are those of any order of summation: a sum of n products has at most n + 1 roundings per term.
#include "model/linear.hpp"

#include <algorithm>
#include <string>

#include "support/simd_targets.hpp"

namespace mlo::linear {
namespace {

using testing::ReferenceSum;
using testing::signed_numbers;
using testing::within_roundings;

constexpr long double kUnit = 0x1p-53L;
constexpr double kGuard = -7;
constexpr std::size_t kRows = 41, kLargestDim = 40;
constexpr std::size_t kCounts[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 17, 31, 33};

// Rows whose records have other values after the columns. These are so large that they show in any sum they
// enter, but finite, as linear.hpp requires; the store ends 3 doubles after the last row.
struct Store {
  Store(std::size_t columns, std::size_t more)
      : dim(columns), stride(columns + more), values(kRows * stride + 3, 1e200) {
    const std::vector<double> x = signed_numbers<double>(kRows * dim, dim);
    for (std::size_t i = 0; i < kRows; ++i)
      for (std::size_t j = 0; j < dim; ++j) values[i * stride + j] = x[i * dim + j];
  }
  [[nodiscard]] RowStoreView view() const { return {values.data(), stride, dim}; }
  [[nodiscard]] double at(std::size_t i, std::size_t j) const { return values[i * stride + j]; }

  std::size_t dim, stride;
  std::vector<double> values;
};

std::vector<double> coefficients(std::size_t dim, std::uint64_t seed) {
  std::vector<double> beta = signed_numbers<double>(dim, seed);
  beta.resize(dim + padding, 0.0);
  return beta;
}

std::vector<std::uint32_t> scattered(std::size_t count) {
  std::vector<std::uint32_t> ids(count);
  for (std::size_t k = 0; k < count; ++k) ids[k] = static_cast<std::uint32_t>((k * 29 + kRows - 1) % kRows);
  return ids;
}

ReferenceSum predictor(const Store& x, std::size_t row, const std::vector<double>& beta) {
  ReferenceSum sum;
  for (std::size_t j = 0; j < x.dim; ++j) sum.add(static_cast<long double>(x.at(row, j)) * beta[j]);
  return sum;
}

template <class F>
void for_all_shapes(F&& f) {
  for (std::size_t dim = 1; dim <= kLargestDim; ++dim)
    for (std::size_t more = 0; more <= 2; ++more) {
      SCOPED_TRACE("dim " + std::to_string(dim) + ", stride " + std::to_string(dim + more));
      f(Store(dim, more));
      if (::testing::Test::HasFailure()) return;  // one failing shape is enough
    }
}

class LinearOnTarget : public testing::OnTarget {};

TEST_P(LinearOnTarget, PredictorsOfARangeAreWithinTheirBound) {
  for_all_shapes([](const Store& x) {
    const std::vector<double> beta = coefficients(x.dim, 100 + x.dim);
    for (const std::size_t count : kCounts)
      for (const std::size_t first : {std::size_t{0}, std::size_t{3}, kRows - count}) {
        std::vector<double> eta(count + 1, kGuard);
        predictors(x.view(), first, count, beta.data(), eta.data());
        for (std::size_t k = 0; k < count; ++k)
          EXPECT_TRUE(within_roundings(eta[k], predictor(x, first + k, beta), x.dim + 1, kUnit))
              << "row " << first + k;
        EXPECT_EQ(eta[count], kGuard) << "written past the end";
      }
  });
}

TEST_P(LinearOnTarget, PredictorsOfScatteredRowsAreWithinTheirBound) {
  for_all_shapes([](const Store& x) {
    const std::vector<double> beta = coefficients(x.dim, 100 + x.dim);
    for (const std::size_t count : kCounts) {
      const std::vector<std::uint32_t> ids = scattered(count);
      std::vector<double> eta(count + 1, kGuard);
      prefetch(x.view(), ids);
      predictors(x.view(), ids.data(), count, beta.data(), eta.data());
      for (std::size_t k = 0; k < count; ++k)
        EXPECT_TRUE(within_roundings(eta[k], predictor(x, ids[k], beta), x.dim + 1, kUnit))
            << "row " << ids[k];
      EXPECT_EQ(eta[count], kGuard) << "written past the end";
    }
  });
}

TEST_P(LinearOnTarget, PairsOfPredictorsAreWithinTheirBound) {
  for_all_shapes([](const Store& x) {
    const std::vector<double> a = coefficients(x.dim, 100 + x.dim), b = coefficients(x.dim, 200 + x.dim);
    for (const std::size_t count : kCounts) {
      // More ids than are asked for: the others are prefetched only.
      const std::vector<std::uint32_t> ids = scattered(count + 20);
      std::vector<double> eta_a(count + 1, kGuard), eta_b(count + 1, kGuard);
      predictor_pairs(x.view(), ids, count, a.data(), b.data(), eta_a.data(), eta_b.data());
      for (std::size_t k = 0; k < count; ++k) {
        EXPECT_TRUE(within_roundings(eta_a[k], predictor(x, ids[k], a), x.dim + 1, kUnit)) << ids[k];
        EXPECT_TRUE(within_roundings(eta_b[k], predictor(x, ids[k], b), x.dim + 1, kUnit)) << ids[k];
      }
      EXPECT_EQ(eta_a[count], kGuard) << "written past the end";
      EXPECT_EQ(eta_b[count], kGuard) << "written past the end";
    }
  });
}

// The law of models: a row's term does not depend on the batch it is in. To the last bit.
TEST_P(LinearOnTarget, ARowsPredictorDoesNotDependOnItsPlace) {
  for_all_shapes([](const Store& x) {
    const std::vector<double> beta = coefficients(x.dim, 100 + x.dim),
                              other = coefficients(x.dim, 300 + x.dim);
    std::vector<double> alone(kRows);
    for (std::size_t i = 0; i < kRows; ++i) predictors(x.view(), i, 1, beta.data(), &alone[i]);
    std::vector<double> eta(kRows), pair(kRows), unused(kRows);
    for (const std::size_t count : kCounts) {
      predictors(x.view(), kRows - count, count, beta.data(), eta.data());
      for (std::size_t k = 0; k < count; ++k) EXPECT_EQ(eta[k], alone[kRows - count + k]);
      const std::vector<std::uint32_t> ids = scattered(count);
      predictors(x.view(), ids.data(), count, beta.data(), eta.data());
      predictor_pairs(x.view(), ids, count, other.data(), beta.data(), unused.data(), pair.data());
      for (std::size_t k = 0; k < count; ++k) {
        EXPECT_EQ(eta[k], alone[ids[k]]);
        EXPECT_EQ(pair[k], alone[ids[k]]);
      }
    }
  });
}

// Sums of count products, added to what is there: count + 2 roundings per term of the gradient, count + 3 per
// term of the information, which is a product of three numbers.
TEST_P(LinearOnTarget, MomentsAreWithinTheirBound) {
  for_all_shapes([](const Store& x) {
    const std::size_t p = x.dim;
    const std::vector<double> u = signed_numbers<double>(kRows, 400 + p),
                              v = signed_numbers<double>(kRows, 500 + p);
    const std::vector<double> gradient_before = signed_numbers<double>(p, 600 + p),
                              information_before = signed_numbers<double>(p * p, 700 + p);
    for (const std::size_t count : kCounts) {
      const std::size_t first = kRows - count;
      std::vector<double> gradient = gradient_before, information = information_before;
      gradient.push_back(kGuard);
      information.push_back(kGuard);
      add_moments(x.view(), first, count, u.data(), v.data(), gradient.data(), information.data());
      for (std::size_t j = 0; j < p; ++j) {
        ReferenceSum sum;
        sum.add(gradient_before[j]);
        for (std::size_t k = 0; k < count; ++k) sum.add(static_cast<long double>(u[k]) * x.at(first + k, j));
        EXPECT_TRUE(within_roundings(gradient[j], sum, count + 2, kUnit)) << j << " of " << count << " rows";
        for (std::size_t m = 0; m < p; ++m) {
          ReferenceSum cell;
          cell.add(information_before[j * p + m]);
          for (std::size_t k = 0; k < count && m >= j; ++k)
            cell.add(static_cast<long double>(v[k]) * x.at(first + k, j) * x.at(first + k, m));
          EXPECT_TRUE(within_roundings(information[j * p + m], cell, m >= j ? count + 3 : 0, kUnit))
              << j << ", " << m << " of " << count << " rows";
        }
      }
      EXPECT_EQ(gradient[p], kGuard) << "written past the end";
      EXPECT_EQ(information[p * p], kGuard) << "written past the end";
      // Without an information matrix the gradient is the same.
      std::vector<double> alone = gradient_before;
      add_moments(x.view(), first, count, u.data(), nullptr, alone.data(), nullptr);
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), gradient.begin()));
    }
  });
}

MLO_ON_EVERY_TARGET(LinearOnTarget);

}  // namespace
}  // namespace mlo::linear
