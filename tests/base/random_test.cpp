// Copyright (c) the mlo authors. BSD-3-Clause.
// Distributions are tested with a fixed seed, at thresholds that a correct generator exceeds for one seed in
// a million per test.
#include "mlo/base/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/poisson.hpp>
#include <boost/random/exponential_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

namespace {

using mlo::Purpose;
using mlo::Stream;
using mlo::StreamId;

constexpr double kMistakenAlarm = 1e-6;

using Words = std::array<std::uint64_t, 4>;

Words philox(Words counter, std::array<std::uint64_t, 2> key) {
  const auto block =
      r123::Philox4x64()({{counter[0], counter[1], counter[2], counter[3]}}, {{key[0], key[1]}});
  return {block[0], block[1], block[2], block[3]};
}

// Pearson's test of counts against the probabilities of the cells.
void expect_law(const std::vector<std::uint64_t>& counts, const std::vector<double>& probabilities) {
  ASSERT_EQ(counts.size(), probabilities.size());
  double draws = 0;
  for (const std::uint64_t c : counts) draws += static_cast<double>(c);
  double statistic = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const double expected = draws * probabilities[k];
    ASSERT_GT(expected, 20) << "cell " << k << " is too rare for the chi-square law";
    statistic += std::pow(static_cast<double>(counts[k]) - expected, 2) / expected;
  }
  const boost::math::chi_squared law(static_cast<double>(counts.size() - 1));
  EXPECT_LT(statistic, quantile(complement(law, kMistakenAlarm)));
  // Too good is as suspicious as too bad.
  EXPECT_GT(statistic, quantile(law, kMistakenAlarm));
}

// Counts of u in equal cells of (0, 1).
void expect_uniform(const std::vector<double>& u, std::size_t cells = 1000) {
  std::vector<std::uint64_t> counts(cells);
  for (const double v : u) {
    ASSERT_GE(v, 0);
    ASSERT_LE(v, 1);
    ++counts[std::min(cells - 1, static_cast<std::size_t>(v * static_cast<double>(cells)))];
  }
  expect_law(counts, std::vector<double>(cells, 1.0 / static_cast<double>(cells)));
}

// The mean of x against its expectation, in standard errors from the known sd.
void expect_mean(const std::vector<double>& x, double mean, double sd) {
  double sum = 0;
  for (const double v : x) sum += v - mean;
  const double z = sum / (sd * std::sqrt(static_cast<double>(x.size())));
  EXPECT_LT(std::abs(z), quantile(complement(boost::math::normal(), kMistakenAlarm / 2)));
}

template <class Draw>
std::vector<double> draw_many(std::size_t n, Draw draw) {
  Stream stream({.seed = 20240229});
  std::vector<double> x(n);
  for (double& v : x) v = draw(stream);
  return x;
}

constexpr std::size_t kDraws = 2'000'000;

// Random123's published known answers (kat_vectors, philox4x64 10).
TEST(Philox, GivesThePublishedKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (Words{0x16554d9eca36314c, 0xdb20fe9d672d0fdc, 0xd7e772cee186176b, 0x7e68b68aec7ba23b}));
  constexpr std::uint64_t ones = ~std::uint64_t{0};
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x87b092c3013fe90b, 0x438c3c67be8d0224, 0x9cc7d7c69cd777b6, 0xa09caebf594f0ba0}));
  EXPECT_EQ(philox({0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89},
                   {0x452821e638d01377, 0xbe5466cf34e90c6c}),
            (Words{0xa528f45403e61d95, 0x38c72dbd566e9788, 0xa5a1610e72fd18b5, 0x57bd43b5e52b7fe6}));
}

TEST(Stream, IsPhiloxOfTheIndexTheIterationThePurposeAndTheChain) {
  Stream stream({.seed = 11, .chain = 22, .purpose = Purpose::rows, .iteration = 33});
  for (std::uint64_t index = 0; index < 5; ++index) {
    for (const std::uint64_t word : philox({index, 33, 3, 22}, {11, 0})) EXPECT_EQ(stream(), word);
  }
}

TEST(Stream, DiffersWhereAnyPartOfItsNameDiffers) {
  const std::vector<StreamId> ids = {
      {.seed = 1, .chain = 0, .purpose = Purpose::proposal, .iteration = 0},
      {.seed = 2, .chain = 0, .purpose = Purpose::proposal, .iteration = 0},
      {.seed = 1, .chain = 1, .purpose = Purpose::proposal, .iteration = 0},
      {.seed = 1, .chain = 0, .purpose = Purpose::decision, .iteration = 0},
      {.seed = 1, .chain = 0, .purpose = Purpose::proposal, .iteration = 1},
  };
  std::set<std::uint64_t> words;
  for (const StreamId& id : ids) {
    Stream stream(id);
    for (int k = 0; k < 100; ++k) words.insert(stream());
  }
  EXPECT_EQ(words.size(), 100 * ids.size());
}

TEST(Stream, FillsWithTheWordsOfItsCallsFromAnyPositionAndInAnyLength) {
  for (std::size_t before = 0; before < 6; ++before) {
    for (std::size_t length = 0; length < 70; ++length) {
      Stream filled({.seed = 5, .chain = 1, .purpose = Purpose::rows, .iteration = 9});
      Stream called = filled;
      for (std::size_t k = 0; k < before; ++k) ASSERT_EQ(filled(), called());
      std::vector<std::uint64_t> words(length);
      filled.fill(words);
      for (const std::uint64_t word : words) ASSERT_EQ(word, called()) << before << " " << length;
      for (int k = 0; k < 9; ++k) ASSERT_EQ(filled(), called()) << "after " << before << " " << length;
    }
  }
}

TEST(Random, UniformHasItsLawAndNeverTouchesZeroOrOne) {
  const std::vector<double> u = draw_many(kDraws, mlo::uniform);
  const auto [low, high] = std::minmax_element(u.begin(), u.end());
  EXPECT_GT(*low, 0);
  EXPECT_LT(*high, 1);
  expect_uniform(u);
}

TEST(Random, NormalHasItsLaw) {
  std::vector<double> x = draw_many(kDraws, mlo::normal);
  expect_mean(x, 0, 1);
  for (double& v : x) v = std::erfc(-v / std::sqrt(2.0)) / 2;
  expect_uniform(x);
}

// Beyond 3.44 another branch of the ziggurat is used.
TEST(Random, NormalHasItsLawInTheTail) {
  const std::vector<double> x = draw_many(5 * kDraws, mlo::normal);
  const std::vector<double> edges = {3.0, 3.25, 3.5, 3.75, 4.0};
  std::vector<std::uint64_t> counts(edges.size() + 1);
  for (const double v : x)
    ++counts[static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), std::abs(v)) -
                                      edges.begin())];
  std::vector<double> probabilities;
  double above = 1;
  for (const double edge : edges) {
    probabilities.push_back(above - std::erfc(edge / std::sqrt(2.0)));
    above = std::erfc(edge / std::sqrt(2.0));
  }
  probabilities.push_back(above);
  expect_law(counts, probabilities);
}

TEST(Random, NormalHasItsVarianceAndFourthMoment) {
  std::vector<double> square = draw_many(kDraws, mlo::normal);
  for (double& v : square) v *= v;
  expect_mean(square, 1, std::sqrt(2.0));
  for (double& v : square) v *= v;
  expect_mean(square, 3, std::sqrt(96.0));  // E x^8 - 9 = 105 - 9
}

TEST(Random, NormalsAreTheDrawsOfNormalInOrder) {
  Stream one({.seed = 3});
  Stream many = one;
  std::vector<double> x(1001);
  mlo::normals(many, x);
  for (const double v : x) ASSERT_EQ(v, mlo::normal(one));
  EXPECT_EQ(one(), many());
}

// What a resumed run relies on: no value is kept back between calls, as the Box-Muller method would do.
// The quick way of nearly all draws gives what Boost's ziggurats give, to the last bit, and leaves the stream
// where they leave it.
TEST(Random, NormalsAndExponentialsAreThoseOfBoost) {
  for (std::uint64_t iteration = 0; iteration < 20'000; ++iteration) {
    const StreamId id{.seed = 3, .chain = 1, .purpose = Purpose::proposal, .iteration = iteration};
    Stream ours(id), boosts(id);
    for (std::uint64_t k = 0; k < 1 + iteration % 9; ++k) {
      ASSERT_EQ(normal(ours), boost::random::normal_distribution<double>()(boosts));
      ASSERT_EQ(exponential(ours), boost::random::exponential_distribution<double>()(boosts));
    }
    std::vector<double> many(1 + iteration % 70);
    normals(ours, many);
    for (const double x : many) ASSERT_EQ(x, boost::random::normal_distribution<double>()(boosts));
    ASSERT_EQ(ours(), boosts());
  }
}

TEST(Random, ADrawDependsOnThePositionInTheStreamOnly) {
  Stream stream({.seed = 4});
  for (int k = 0; k < 1000; ++k) {
    Stream copy = stream;
    ASSERT_EQ(mlo::normal(stream), mlo::normal(copy));
    copy = stream;
    ASSERT_EQ(mlo::exponential(stream), mlo::exponential(copy));
    copy = stream;
    ASSERT_EQ(mlo::poisson(stream, 30.0), mlo::poisson(copy, 30.0));
    copy = stream;
    ASSERT_EQ(mlo::gamma(stream, 0.7), mlo::gamma(copy, 0.7));
  }
}

TEST(Random, ExponentialHasItsLaw) {
  std::vector<double> x = draw_many(kDraws, mlo::exponential);
  expect_mean(x, 1, 1);
  for (double& v : x) v = -std::expm1(-v);
  expect_uniform(x);
}

// Beyond 7.7 the ziggurat starts again, shifted; a share of e^-7.5 of the draws gets that far.
TEST(Random, ExponentialForgetsInTheTail) {
  std::vector<double> tail;
  for (const double v : draw_many(30'000'000, mlo::exponential)) {
    if (v > 7.5) tail.push_back(-std::expm1(7.5 - v));
  }
  expect_uniform(tail, 100);
}

TEST(Random, GammaHasItsLaw) {
  for (const double shape : {0.05, 0.5, 1.0, 2.5, 40.0, 1e6}) {
    SCOPED_TRACE(shape);
    const std::vector<double> x = draw_many(kDraws, [&](Stream& s) { return mlo::gamma(s, shape); });
    expect_mean(x, shape, std::sqrt(shape));
    constexpr std::size_t cells = 200;  // of equal probability
    const boost::math::gamma_distribution<double> law(shape);
    std::vector<double> edges;
    for (std::size_t k = 1; k < cells; ++k) edges.push_back(quantile(law, static_cast<double>(k) / cells));
    std::vector<std::uint64_t> counts(cells);
    for (const double v : x)
      ++counts[static_cast<std::size_t>(std::lower_bound(edges.begin(), edges.end(), v) - edges.begin())];
    expect_law(counts, std::vector<double>(cells, 1.0 / cells));
  }
}

// Chi-square on cells around the mean, the tails joined; the probabilities are incomplete gamma functions.
void expect_poisson(double mean) {
  const std::vector<double> x =
      draw_many(kDraws, [&](Stream& s) { return static_cast<double>(mlo::poisson(s, mean)); });
  expect_mean(x, mean, std::sqrt(mean));
  // Some 200 cells between -4 and 4 sd; an edge is the largest value of its cell.
  const boost::math::poisson law(mean);
  const double sd = std::sqrt(mean);
  const auto first = static_cast<std::uint64_t>(std::max(0.0, mean - 4 * sd));
  const auto last = static_cast<std::uint64_t>(mean + 4 * sd) + 1;
  const std::uint64_t width = std::max<std::uint64_t>(1, (last - first) / 200);
  std::vector<double> edges;
  std::vector<double> probabilities;
  double below = 0;
  for (std::uint64_t k = first; k < last; k += width) {
    const auto edge = static_cast<double>(k);
    const double up_to = cdf(law, edge);
    if (up_to - below < 1e-4) continue;
    if (1 - up_to < 1e-4) break;
    edges.push_back(edge);
    probabilities.push_back(up_to - below);
    below = up_to;
  }
  probabilities.push_back(1 - below);
  std::vector<std::uint64_t> counts(probabilities.size());
  for (const double v : x)
    ++counts[static_cast<std::size_t>(std::lower_bound(edges.begin(), edges.end(), v) - edges.begin())];
  expect_law(counts, probabilities);
}

TEST(Random, PoissonHasItsLawForSmallMeans) {
  for (const double mean : {0.01, 0.5, 3.0, 9.99}) {
    SCOPED_TRACE(mean);
    expect_poisson(mean);
  }
}

TEST(Random, PoissonHasItsLawForLargeMeans) {
  for (const double mean : {10.0, 47.3, 1000.0, 1e6}) {
    SCOPED_TRACE(mean);
    expect_poisson(mean);
  }
}

TEST(Random, PoissonHasItsLawForAMeanOfABillion) { expect_poisson(1e9); }

TEST(Random, PoissonOfMeanZeroIsZeroAndTakesNoWord) {
  Stream stream({.seed = 6});
  Stream untouched = stream;
  EXPECT_EQ(mlo::poisson(stream, 0.0), 0U);
  EXPECT_EQ(stream(), untouched());
}

TEST(Random, BoundedHasItsLaw) {
  for (const std::uint64_t bound : {2U, 3U, 10U, 1000U}) {
    SCOPED_TRACE(bound);
    Stream stream({.seed = 8});
    std::vector<std::uint64_t> counts(bound);
    for (std::size_t k = 0; k < kDraws; ++k) {
      const std::uint64_t v = mlo::bounded(stream, bound);
      ASSERT_LT(v, bound);
      ++counts[v];
    }
    expect_law(counts, std::vector<double>(bound, 1 / static_cast<double>(bound)));
  }
}

// 3 * 2^62 fits into 2^64 once, with a quarter left over: without rejection a third of the values would be
// twice as likely. Just above 2^63 nearly half of the words are rejected.
TEST(Random, BoundedHasItsLawForBoundsNearTheRangeOfAWord) {
  for (const std::uint64_t bound : {std::uint64_t{3} << 62, (std::uint64_t{1} << 63) + 1}) {
    SCOPED_TRACE(bound);
    Stream stream({.seed = 9});
    std::vector<double> u(kDraws);
    std::vector<std::uint64_t> thirds(3);
    for (double& v : u) {
      const std::uint64_t draw = mlo::bounded(stream, bound);
      ASSERT_LT(draw, bound);
      ++thirds[draw % 3];
      v = static_cast<double>(draw) / static_cast<double>(bound);
    }
    expect_uniform(u);
    expect_law(thirds, std::vector<double>(3, 1.0 / 3));
  }
}

TEST(Random, BoundedByOneIsZero) {
  Stream stream({.seed = 10});
  for (int k = 0; k < 100; ++k) EXPECT_EQ(mlo::bounded(stream, 1), 0U);
}

}  // namespace
