// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/alias_table.hpp"

#include <gtest/gtest.h>

#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>

namespace mlo {
namespace {

Stream stream(std::uint64_t seed) {
  return Stream({.seed = seed, .chain = 0, .purpose = Purpose::rows, .iteration = 0});
}

// The probability that the table gives to each row, computed from its cells rather than by drawing: the share
// of 2^64 equally spaced words that end there, probed on a grid of words per cell.
TEST(AliasTable, FrequenciesMatchTheWeightsByChiSquare) {
  for (const std::size_t n : {1U, 2U, 7U, 1000U}) {
    std::vector<double> weights(n);
    double total = 0;
    for (std::size_t i = 0; i < n; ++i) total += weights[i] = std::pow(static_cast<double>(i % 13) + 0.5, 2);
    const AliasTable table(weights);
    std::vector<RowId> draws(2'000'000);
    Stream s = stream(n);
    table.draw(s, draws);
    std::vector<double> counts(n, 0);
    for (const RowId id : draws) counts[id] += 1;
    double chi2 = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double expected = weights[i] / total * static_cast<double>(draws.size());
      chi2 += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    if (n == 1) continue;
    const boost::math::chi_squared_distribution<> law(static_cast<double>(n - 1));
    // Error budget: one false alarm in a million seeds.
    EXPECT_GT(boost::math::cdf(boost::math::complement(law, chi2)), 1e-6) << n;
  }
}

// A sharper test than draws: n words at the same place in every cell, for 4096 places, hit each row as often
// as its weight says, to within one place per cell.
TEST(AliasTable, IsExactToRounding) {
  constexpr std::size_t n = 64, places = 4096;
  std::vector<double> weights(n);
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) total += weights[i] = 1.0 + static_cast<double>(i * i);
  const AliasTable table(weights);
  std::vector<double> hits(n, 0);
  for (std::size_t cell = 0; cell < n; ++cell)
    for (std::size_t place = 0; place < places; ++place) {
      const std::uint64_t word =
          (cell * places + place) * (std::uint64_t{1} << 46U) + (std::uint64_t{1} << 45U);
      hits[table(word)] += 1.0 / (n * places);
    }
  for (std::size_t i = 0; i < n; ++i)
    // A row is made of at most its own cell and the cells it tops up; each boundary is off by at most half a
    // place.
    EXPECT_NEAR(hits[i], weights[i] / total, static_cast<double>(n) / (n * places)) << i;
}

TEST(AliasTable, NeverDrawsARowOfWeightZero) {
  std::vector<double> weights(100, 0.0);
  weights[3] = 1;
  weights[97] = 2;
  const AliasTable table(weights);
  std::vector<RowId> draws(100'000);
  Stream s = stream(1);
  table.draw(s, draws);
  for (const RowId id : draws) ASSERT_TRUE(id == 3 || id == 97);
}

TEST(AliasTable, ManyDrawsAreTheSameAsOneByOne) {
  const std::vector<double> weights{1, 2, 3, 4, 5};
  const AliasTable table(weights);
  Stream a = stream(4), b = stream(4);
  std::vector<RowId> many(1000);
  table.draw(a, many);
  for (const RowId id : many) ASSERT_EQ(id, table(b()));
}

}  // namespace
}  // namespace mlo
