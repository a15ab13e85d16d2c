// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/holdout.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

namespace mlo {
namespace {

Table numbered(std::size_t rows) {
  Table table;
  table.source = {.name = "data.csv", .unit = Source::Unit::line, .shifts = {{5, 2}}};
  table.rows = rows;
  Numbers x(rows);
  Text colour{.levels = {"red", "green", "blue"}, .codes = {}};
  for (std::size_t k = 0; k < rows; ++k) {
    x[k] = static_cast<double>(k);
    colour.codes.push_back(k % 4 == 3 ? Text::missing : static_cast<std::uint32_t>(k % 4));
  }
  table.columns.emplace_back("x", x);
  table.columns.emplace_back("colour", colour);
  return table;
}

// 200,000 rows: the share's standard error is 0.0011 at most, so 5 of them are one false alarm in a million.
TEST(HoldOut, TakesAboutTheShareOfTheRows) {
  for (const double share : {0.01, 0.1, 0.5}) {
    double count = 0;
    constexpr std::size_t rows = 200'000;
    for (std::size_t row = 0; row < rows; ++row) count += held_out(7, share, row) ? 1 : 0;
    EXPECT_LT(std::abs(count / rows - share) / std::sqrt(share * (1 - share) / rows), 5);
  }
}

TEST(HoldOut, DependsOnTheSeedAndTheNumberOfTheRowAndGrowsWithTheShare) {
  std::size_t differ = 0;
  for (std::size_t row = 0; row < 1000; ++row) {
    EXPECT_EQ(held_out(1, 0.3, row), held_out(1, 0.3, row));
    EXPECT_TRUE(!held_out(1, 0.3, row) || held_out(1, 0.4, row));
    differ += held_out(1, 0.3, row) != held_out(2, 0.3, row) ? 1 : 0;
  }
  EXPECT_GT(differ, 300U);  // 420 on average, sd 16
}

TEST(HoldOut, DividesTheRowsAndRemembersTheirPlaces) {
  const Table all = numbered(500);
  Table kept = all;
  const Table held = hold_out(kept, 3, 0.2);
  EXPECT_EQ(kept.rows + held.rows, 500U);
  EXPECT_GT(held.rows, 0U);
  for (const Table* part : {static_cast<const Table*>(&kept), &held}) {
    ASSERT_EQ(part->columns.size(), 2U);
    ASSERT_EQ(part->columns[0].size(), part->rows);
    ASSERT_EQ(part->columns[1].size(), part->rows);
    EXPECT_EQ(part->columns[1].text().levels, all.columns[1].text().levels);
    for (std::size_t k = 0; k < part->rows; ++k) {
      const auto row = static_cast<std::size_t>(part->columns[0].numbers()[k]);
      EXPECT_EQ(held_out(3, 0.2, row), part == &held);
      EXPECT_EQ(part->columns[1].text().codes[k], all.columns[1].text().codes[row]);
      EXPECT_EQ(part->source.place(k), all.source.place(row));
    }
  }
}

TEST(HoldOut, KeepsLogicals) {
  Table kept = numbered(200);
  kept.columns[0].logical = true;
  EXPECT_TRUE(hold_out(kept, 3, 0.2).columns[0].logical);
  EXPECT_TRUE(kept.columns[0].logical);
}

TEST(HoldOut, CopiesBorrowedNumbersAndFollowsTheFirstWordOfAColumn) {
  const Table all = numbered(200);
  for (std::size_t first = 0; first < 200; first += 7) {
    Table kept = all;
    const auto owner = std::make_shared<const Numbers>(all.columns[0].numbers());
    kept.columns[0].cells = BorrowedNumbers{*owner, owner};
    kept.columns[1].text().words = Text::Words{.first = first, .count = 1, .cells = 150};
    const Table held = hold_out(kept, 3, 0.2);
    for (std::size_t k = 0; k < kept.rows; ++k)
      EXPECT_FALSE(held_out(3, 0.2, static_cast<std::size_t>(kept.columns[0].values()[k])));
    EXPECT_EQ(owner->size(), 200U);
    const auto& words = kept.columns[1].text().words;
    EXPECT_EQ(words.has_value(), !held_out(3, 0.2, first));
    if (words) {
      EXPECT_EQ(kept.columns[0].values()[words->first], static_cast<double>(first));
    }
    EXPECT_FALSE(held.columns[1].text().words);
  }
}

}  // namespace
}  // namespace mlo
