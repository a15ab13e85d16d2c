// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/drawn_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <memory>
#include <vector>

namespace mlo {
namespace {

constexpr std::size_t dim = 2;

// Floats of very different sizes, of which the sums differ from block to block.
float bound_of(std::size_t i) {
  return static_cast<float>(std::pow(static_cast<double>(i % 13) + 0.5, 2) *
                            (1 + static_cast<double>(i / 64)));
}

class Maker final : public RowMaker {
 public:
  mutable std::atomic<std::size_t> tables = 0, rows = 0;
  void bounds(std::size_t first, std::size_t count, float* out) const override {
    ++tables;
    for (std::size_t k = 0; k < count; ++k) out[k] = bound_of(first + k);
  }
  void records(std::size_t first, std::size_t count, float* out) const override {
    rows += count;
    const std::size_t stride = WhiteRows::stride_of(dim);
    for (std::size_t k = 0; k < count; ++k) {
      std::fill_n(out + k * stride, stride, static_cast<float>(first + k));
      out[k * stride + dim + 2] = bound_of(first + k);
    }
  }
};

struct Made {
  std::shared_ptr<const Maker> maker;
  DrawnRows rows;
};

// factor(b) scales the sum of block b: 1, or the draws are not in proportion to the bounds.
template <class Factor>
Made rows_of(std::size_t n, ThreadPool* at_once, const Factor& factor) {
  std::vector<double> sums(DrawnRows::blocks_of(n), 0);
  for (std::size_t i = 0; i < n; ++i) sums[i / DrawnRows::block_rows] += static_cast<double>(bound_of(i));
  for (std::size_t b = 0; b < sums.size(); ++b) sums[b] *= factor(b);
  auto maker = std::make_shared<const Maker>();
  return {maker, DrawnRows(n, dim, sums, maker, at_once)};
}
Made rows_of(std::size_t n, ThreadPool* at_once = nullptr) {
  return rows_of(n, at_once, [](std::size_t) { return 1.0; });
}

Stream stream(std::uint64_t seed) {
  return Stream({.seed = seed, .chain = 0, .purpose = Purpose::rows, .iteration = 0});
}

// The probability of a chi-square as large as that of the draws, if they are in proportion to the bounds.
double p_value(const DrawnRows& rows, std::size_t batch) {
  const std::size_t n = rows.size();
  constexpr std::size_t draws = 1'000'000;
  std::vector<double> counts(n, 0);
  std::vector<RowId> ids(batch);
  Stream s = stream(n + batch);
  std::size_t drawn = 0;
  for (; drawn < draws; drawn += batch) {
    rows.draw(s, ids);
    for (const RowId id : ids) counts[id] += 1;
  }
  double total = 0, chi2 = 0;
  for (std::size_t i = 0; i < n; ++i) total += static_cast<double>(bound_of(i));
  for (std::size_t i = 0; i < n; ++i) {
    const double expected = static_cast<double>(bound_of(i)) / total * static_cast<double>(drawn);
    chi2 += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  const boost::math::chi_squared_distribution<> law(static_cast<double>(n - 1));
  return boost::math::cdf(boost::math::complement(law, chi2));
}

// Error budget: one false alarm in a million seeds.
TEST(DrawnRows, AreInProportionToTheirBoundsByChiSquare) {
  for (const std::size_t n : {2U, 63U, 64U, 65U, 300U})
    for (const std::size_t batch : {1U, 2U, 100U}) {
      const Made made = rows_of(n);
      EXPECT_GT(p_value(made.rows, batch), 1e-6) << n << " rows, " << batch << " at a time";
    }
}
TEST(DrawnRows, WithAWrongSumAreNot) {
  const Made made = rows_of(300, nullptr, [](std::size_t b) { return b == 1 ? 1.1 : 1.0; });
  EXPECT_LT(p_value(made.rows, 1), 1e-9);
}

// The words of a stream decide, not when a table was made.
TEST(DrawnRows, AreTheSameMadeAtOnceOrWhenDrawn) {
  ThreadPool pool(2);
  const Made lazy = rows_of(10'000), whole = rows_of(10'000, &pool);
  EXPECT_TRUE(whole.rows.kept() && !lazy.rows.kept());
  EXPECT_EQ(whole.rows.tables(), DrawnRows::blocks_of(10'000));
  EXPECT_EQ(lazy.rows.tables(), 0U);
  Stream a = stream(1), b = stream(1);
  for (std::size_t batch = 1; batch < 200; batch += 7) {
    std::vector<RowId> from_lazy(batch), from_whole(batch);
    lazy.rows.draw(a, from_lazy);
    whole.rows.draw(b, from_whole);
    ASSERT_EQ(from_lazy, from_whole);
    const std::vector<RowId> ids = from_lazy;
    WhiteRows room(batch, dim);
    const WhiteRows &made = lazy.rows.read(from_lazy, room), &kept = whole.rows.read(from_whole, room);
    for (std::size_t k = 0; k < batch; ++k) {
      EXPECT_EQ(made.e(from_lazy[k]), static_cast<double>(ids[k]));
      EXPECT_EQ(made.bound(from_lazy[k]), static_cast<double>(bound_of(ids[k])));
      for (std::size_t j = 0; j < lazy.rows.stride(); ++j)
        EXPECT_EQ(made.record(from_lazy[k])[j], kept.record(from_whole[k])[j]);
    }
  }
}

TEST(DrawnRows, CanBeReadInOrder) {
  ThreadPool pool(1);
  for (ThreadPool* at_once : {static_cast<ThreadPool*>(nullptr), &pool}) {
    const Made made = rows_of(300, at_once);
    for (const std::size_t first : {0U, 128U, 256U}) {
      std::vector<RowId> ids(std::min<std::size_t>(128, 300 - first));
      WhiteRows room(128, dim);
      const WhiteRows& rows = made.rows.read_from(first, ids, room);
      for (std::size_t k = 0; k < ids.size(); ++k) EXPECT_EQ(rows.e(ids[k]), static_cast<double>(first + k));
    }
  }
}

TEST(DrawnRows, MakeTheTablesOfBlocksThatAreDrawnFromAndNoOthers) {
  const Made made = rows_of(1'000'000);
  Stream s = stream(2);
  std::vector<RowId> ids(50);
  made.rows.draw(s, ids);
  std::vector<std::size_t> blocks;
  for (const RowId i : ids) blocks.push_back(i / DrawnRows::block_rows);
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  EXPECT_EQ(made.rows.tables(), blocks.size());
  EXPECT_EQ(made.maker->tables, blocks.size());
  // Once each.
  Stream again = stream(2);
  made.rows.draw(again, ids);
  EXPECT_EQ(made.maker->tables, blocks.size());
  EXPECT_EQ(made.maker->rows, 0U);
}

// Chains on several threads draw from the same rows. Under a thread sanitizer this also shows races.
TEST(DrawnRows, AreTheSameForAnyNumberOfThreads) {
  constexpr std::size_t chains = 8, draws = 3000;
  const auto draw = [&](std::size_t threads) {
    const Made made = rows_of(20'000);
    std::vector<std::vector<RowId>> out(chains, std::vector<RowId>(draws));
    std::vector<double> read(chains, 0);
    ThreadPool pool(threads);
    pool.run(chains, [&](std::size_t c) {
      Stream s = stream(c);
      for (std::size_t k = 0; k < draws; k += 3) made.rows.draw(s, std::span(out[c]).subspan(k, 3));
      WhiteRows room(1, dim);
      for (RowId i : out[c]) read[c] += made.rows.read({&i, 1}, room).bound(i);
    });
    EXPECT_EQ(made.maker->tables, made.rows.tables());
    return std::pair(out, read);
  };
  EXPECT_EQ(draw(1), draw(4));
}

}  // namespace
}  // namespace mlo
