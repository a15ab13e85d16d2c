// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/row_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <map>
#include <set>

namespace mlo {
namespace {

Stream stream(std::uint64_t iteration) {
  return Stream({.seed = 5, .chain = 0, .purpose = Purpose::rows, .iteration = iteration});
}

TEST(WithoutReplacement, HandsOutEveryRowOnceWhenAskedForAll) {
  WithoutReplacement source(5000);
  for (std::uint64_t k = 0; k < 3; ++k) {
    Stream s = stream(k);
    source.begin();
    std::vector<RowId> ids(5000);
    std::vector<double> factors(5000);
    for (std::size_t first = 0; first < ids.size(); first += 250)
      source.draw(s, std::span(ids).subspan(first, 250), std::span(factors).subspan(first, 250));
    EXPECT_EQ(std::set<RowId>(ids.begin(), ids.end()).size(), ids.size());
    EXPECT_EQ(*std::max_element(ids.begin(), ids.end()), 4999U);
    EXPECT_TRUE(std::all_of(factors.begin(), factors.end(), [](double f) { return f == 1; }));
  }
}

TEST(WithoutReplacement, ASubsampleDependsOnItsStreamAlone) {
  WithoutReplacement fresh(1000), used(1000);
  std::vector<RowId> a(300), b(300), other(700);
  std::vector<double> f(700);
  Stream s = stream(1);
  used.begin();
  used.draw(s, other, f);
  Stream s1 = stream(2), s2 = stream(2);
  fresh.begin();
  fresh.draw(s1, a, std::span(f).first(300));
  used.begin();
  used.draw(s2, b, std::span(f).first(300));
  EXPECT_EQ(a, b);
}

// All 60 ordered samples of 3 from 5 are equally likely.
TEST(WithoutReplacement, OrderedSamplesAreUniformByChiSquare) {
  WithoutReplacement source(5);
  std::map<std::vector<RowId>, double> counts;
  constexpr std::size_t repeats = 120'000;
  std::vector<RowId> ids(3);
  std::vector<double> factors(3);
  for (std::size_t k = 0; k < repeats; ++k) {
    Stream s = stream(k);
    source.begin();
    source.draw(s, ids, factors);
    counts[ids] += 1;
  }
  ASSERT_EQ(counts.size(), 60U);
  double chi2 = 0;
  for (const auto& [sample, count] : counts) {
    const double expected = repeats / 60.0;
    chi2 += (count - expected) * (count - expected) / expected;
  }
  const boost::math::chi_squared_distribution<> law(59);
  EXPECT_GT(boost::math::cdf(boost::math::complement(law, chi2)), 1e-6);  // one false alarm in a million
}

TEST(WithReplacement, FactorsAreTheInverseProbabilities) {
  const std::vector<double> weights{1, 2, 5};
  WithReplacement source(std::make_shared<const WeightedRows>(weights));
  std::vector<RowId> ids(1000);
  std::vector<double> factors(1000);
  Stream s = stream(0);
  source.begin();
  source.draw(s, ids, factors);
  // eta is rounded to a float's precision, 6e-8.
  for (std::size_t k = 0; k < ids.size(); ++k) ASSERT_NEAR(factors[k] * (3 * weights[ids[k]]) / 8, 1, 2e-7);
}

TEST(WithReplacement, FrequenciesAreTheInverseFactorsByChiSquare) {
  std::vector<double> weights(300);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = 1e-3 + std::pow(static_cast<double>(i % 17), 2);
  WithReplacement source(std::make_shared<const WeightedRows>(weights));
  constexpr std::size_t draws = 3'000'000;
  std::vector<RowId> ids(draws);
  std::vector<double> factors(draws), counts(weights.size(), 0), probability(weights.size(), 0);
  Stream s = stream(9);
  source.begin();
  source.draw(s, ids, factors);
  for (std::size_t k = 0; k < draws; ++k) {
    counts[ids[k]] += 1;
    probability[ids[k]] = 1 / (static_cast<double>(weights.size()) * factors[k]);
  }
  double chi2 = 0, cells = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (probability[i] * draws < 10) continue;
    const double expected = probability[i] * draws;
    chi2 += (counts[i] - expected) * (counts[i] - expected) / expected;
    cells += 1;
  }
  const boost::math::chi_squared_distribution<> law(cells - 1);
  EXPECT_GT(boost::math::cdf(boost::math::complement(law, chi2)), 1e-6);  // one false alarm in a million
}

}  // namespace
}  // namespace mlo
