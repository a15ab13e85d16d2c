// Copyright (c) the mlo authors. BSD-3-Clause.
// The rows of a model with group effects: their order, their cells, the multipliers of the effects.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "mlo/model/level_rows.hpp"
#include "support/grouped.hpp"

namespace mlo {
namespace {

testing::GroupedData data_of(std::vector<testing::PlainGroup> groups) {
  testing::GroupedRecipe recipe;
  recipe.rows = 300;
  recipe.a = {0.1, 0.2, 0.3};
  recipe.weight = recipe.offset = true;
  recipe.groups = std::move(groups);
  recipe.sd.assign(recipe.groups.size(), std::vector<double>(3, 0.5));
  return testing::make_grouped(recipe);
}

// Offsets are continuous draws: they tell which row of the data a row is.
TEST(GroupRows, AreTheDataSortedByTheirLevels) {
  const testing::GroupedData data =
      data_of({{.levels = 7, .slopes = 2}, {.levels = 5}, {.levels = 4, .intercept = false, .slopes = 1}});
  std::map<double, std::size_t> of;
  for (std::size_t i = 0; i < data.rows; ++i) of[data.offset[i]] = i;
  ASSERT_EQ(of.size(), data.rows);
  Design design = testing::design_of(data);
  const LevelRows rows(design);
  ASSERT_EQ(rows.size(), data.rows);
  std::set<std::size_t> seen;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::size_t i = of.at(rows.offset(r));
    seen.insert(i);
    EXPECT_EQ(rows.y(r), data.y[i]);
    EXPECT_EQ(rows.weight(r), data.weight[i]);
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(static_cast<double>(rows.x(r)[j]), data.x[i * 3 + j]);
    for (std::size_t k = 0; k < 3; ++k) {
      const Grouping& group = rows.groups()[k];
      EXPECT_EQ(group.codes[r], data.groups[k].codes[i]);
      std::array<double, LevelRows::most_effects> z{};
      group.multipliers(r, z.data());
      for (std::size_t a = 0; a < group.dim(); ++a) EXPECT_EQ(z[a], data.groups[k].multiplier(i, a));
    }
  }
  EXPECT_EQ(seen.size(), data.rows);
  for (const Grouping& group : rows.groups()) {
    std::set<std::size_t> listed;
    for (std::size_t l = 0; l < group.levels(); ++l)
      for (std::size_t p = group.starts[l]; p < group.starts[l + 1]; ++p) {
        EXPECT_EQ(group.codes[group.row(p)], l);
        listed.insert(group.row(p));
      }
    EXPECT_EQ(listed.size(), data.rows);
  }
  EXPECT_TRUE(rows.groups()[0].order.empty());
  EXPECT_TRUE(rows.groups()[1].plain());
  EXPECT_FALSE(rows.groups()[2].plain());
  EXPECT_EQ(rows.cells().size(), 0U);  // groupings with slopes have none
}

TEST(GroupRows, HaveTheCellsOfTheirGroupings) {
  const testing::GroupedData data = data_of({{.levels = 6}, {.levels = 5}, {.levels = 4}});
  std::map<std::vector<std::uint32_t>, std::size_t> count;
  for (std::size_t i = 0; i < data.rows; ++i)
    ++count[{data.groups[0].codes[i], data.groups[1].codes[i], data.groups[2].codes[i]}];
  Design design = testing::design_of(data);
  const LevelRows rows(design);
  const LevelCells& cells = rows.cells();
  ASSERT_EQ(cells.size(), count.size());
  for (std::size_t k = 0; k < 3; ++k) {
    const LevelCells::Of& of = cells.of[k];
    std::size_t total = 0;
    for (std::size_t l = 0; l < rows.groups()[k].levels(); ++l)
      for (std::size_t c = of.starts[l]; c < of.starts[l + 1]; ++c, ++total) {
        const std::size_t id = of.ids[c];
        std::vector<std::uint32_t> codes;
        for (std::size_t j = 0, other = 0; j < 3; ++j)
          codes.push_back(j == k ? static_cast<std::uint32_t>(l) : of.levels_in(other++)[c]);
        EXPECT_EQ(cells.starts[id + 1] - cells.starts[id], count.at(codes));
        for (std::size_t r = cells.starts[id]; r < cells.starts[id + 1]; ++r)
          for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(rows.groups()[j].codes[r], codes[j]);
      }
    EXPECT_EQ(total, count.size());
  }
}

}  // namespace
}  // namespace mlo
