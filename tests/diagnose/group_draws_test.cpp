// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/diagnose/group_draws.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/diagnose/posterior_draws.hpp"

namespace mlo {
namespace {

// Two chains; parameters: a coefficient, then the sds and the correlation of a term with two effects, then
// the sd of a term with a slope alone.
constexpr std::size_t levels_a = 5, levels_b = 3, effects = 2 * levels_a + levels_b;

std::vector<GroupLaw> laws() {
  return {{.levels = levels_a, .dim = 2, .intercept = true, .correlated = true},
          {.levels = levels_b, .dim = 1, .intercept = false, .correlated = false}};
}

std::vector<ChainDraws> chains_of(std::size_t length) {
  std::vector<ChainDraws> out(2);
  Stream stream({.seed = 3, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
  for (ChainDraws& chain : out) {
    chain.dim = 5;
    for (std::size_t s = 0; s < length; ++s) {
      for (const double value : {1.0, 0.5, 2.0, 0.6, 1.5}) chain.draws.push_back(value);
      for (std::size_t e = 0; e < effects; ++e) chain.effects.push_back(static_cast<float>(normal(stream)));
      chain.log_posteriors.push_back(0);
    }
  }
  return out;
}

std::vector<double> sums(const GroupDraws& draws, const std::vector<RowGroups>& rows, std::size_t row) {
  std::vector<double> eta(PosteriorDraws::padded(draws.draws()), 0.0);
  draws.add(rows, row, 0, std::span(eta).first(draws.draws()));
  eta.resize(draws.draws());
  return eta;
}

TEST(GroupDraws, AddsTheEffectsOfKnownLevels) {
  const std::vector<ChainDraws> chains = chains_of(301);
  ThreadPool pool(2);
  GroupDraws draws(chains, laws(), 1, {.sample = true, .seed = 1});
  ASSERT_TRUE(draws.kept());
  const std::vector<RowGroups> rows{{.codes = {4, 0}, .keys = {0, 0}, .z = {0.5F, -2}},
                                    {.codes = {1, 2}, .keys = {0, 0}, .z = {3, 0}}};
  draws.prepare(rows, pool);
  for (std::size_t row = 0; row < 2; ++row) {
    const std::vector<double> found = sums(draws, rows, row);
    ASSERT_EQ(found.size(), 602U);
    for (std::size_t s = 0; s < found.size(); ++s) {
      const float* const b = chains[s / 301].effects.data() + (s % 301) * effects;
      const float* const a = b + 2 * rows[0].codes[row];
      const double expected =
          static_cast<double>(a[0]) + static_cast<double>(rows[0].z[row]) * static_cast<double>(a[1]) +
          static_cast<double>(rows[1].z[row]) * static_cast<double>(b[2 * levels_a + rows[1].codes[row]]);
      EXPECT_NEAR(found[s], expected, 1e-14);
    }
  }
}

TEST(GroupDraws, DrawsNewLevelsFromTheLawOfTheTermAndTheSameForAllRowsAndBlocks) {
  const std::vector<ChainDraws> chains = chains_of(20'000);
  ThreadPool pool(1);
  GroupDraws draws(chains, laws(), 1, {.sample = true, .seed = 1});
  constexpr std::uint32_t fresh = GroupDraws::new_level;
  // Rows 0 to 2 have the same level; their eta are b0, b0 + b1 and b0 + 2 b1.
  const std::vector<RowGroups> rows{
      {.codes = {fresh, fresh, fresh, fresh}, .keys = {7, 7, 7, 8}, .z = {0, 1, 2, 0}},
      {.codes = {0, 0, 0, 0}, .keys = {0, 0, 0, 0}, .z = {0, 0, 0, 0}}};
  draws.prepare(rows, pool);
  const std::vector<double> first = sums(draws, rows, 0), second = sums(draws, rows, 1),
                            third = sums(draws, rows, 2), other = sums(draws, rows, 3);
  double square0 = 0, square1 = 0, product = 0, across = 0;
  const auto n = static_cast<double>(first.size());
  for (std::size_t s = 0; s < first.size(); ++s) {
    const double b0 = first[s], b1 = second[s] - first[s];
    EXPECT_NEAR(third[s], b0 + 2 * b1, 1e-12);
    square0 += b0 * b0 / n;
    square1 += b1 * b1 / n;
    product += b0 * b1 / n;
    across += b0 * other[s] / n;
  }
  // sds 0.5 and 2, correlation 0.6; five standard errors of 40,000 draws.
  EXPECT_NEAR(square0, 0.25, 5 * 0.25 * std::sqrt(2 / n));
  EXPECT_NEAR(square1, 4, 5 * 4 * std::sqrt(2 / n));
  EXPECT_NEAR(product, 0.6, 5 * std::sqrt((1 + 0.36) / n));
  EXPECT_NEAR(across, 0, 5 * 0.25 / std::sqrt(n));
  // In blocks, as scores need them.
  constexpr std::size_t block = GroupDraws::draws_per_stream;
  std::vector<double> part(block, 0.0);
  draws.add(rows, 1, 3 * block, part);
  for (std::size_t s = 0; s < block; ++s) EXPECT_EQ(part[s], second[3 * block + s]);
}

TEST(GroupDraws, LeavesOutWhatIsNotToBeSampledOrWasNotKept) {
  std::vector<ChainDraws> chains = chains_of(40);
  for (ChainDraws& chain : chains) chain.effects.clear();
  ThreadPool pool(1);
  GroupDraws draws(chains, laws(), 1, {.sample = false});
  EXPECT_FALSE(draws.kept());
  const std::vector<RowGroups> rows{{.codes = {4, GroupDraws::new_level}, .keys = {0, 9}, .z = {0.5F, -2}},
                                    {.codes = {1, 2}, .keys = {0, 0}, .z = {3, 0}}};
  draws.prepare(rows, pool);
  for (std::size_t row = 0; row < 2; ++row)
    for (const double value : sums(draws, rows, row)) EXPECT_EQ(value, 0);
}

}  // namespace
}  // namespace mlo
