// Copyright (c) the mlo authors. BSD-3-Clause.
// The search for a reference of group effects, where it starts far away.
#include <gtest/gtest.h>

#include <cmath>

#include "mlo/subsample/level_reference.hpp"
#include "support/grouped.hpp"

namespace mlo {
namespace {

// Counts from 0 to millions: at the start the quadratic form of a level with large ones has its mean hundreds
// of sds above them, and a covariance that believes it leads nowhere.
TEST(LevelSearch, FindsCountsThatAreFarApart) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    testing::GroupedRecipe recipe;
    recipe.family = "negative-binomial";
    recipe.rows = 1300;
    recipe.a = {2, 0.3};
    recipe.second = 0.3;
    recipe.groups = {{.levels = 60}, {.levels = 30}};
    recipe.sd = {{3.5}, {0.7}};
    recipe.seed = seed;
    const auto model = testing::model_of(testing::make_grouped(recipe), {});
    ThreadPool pool(1);
    double passes = 0;
    GroupedPoint at;
    ASSERT_NO_THROW(at = find_reference(*model, pool, passes)) << seed;
    // The sd of 60 levels is known to about a tenth.
    EXPECT_NEAR(at.covariances[0][0], std::log(3.5), 0.5) << seed;
    // Beside it that of the 30 others is hardly seen: it only has to be of this size.
    EXPECT_NEAR(at.covariances[1][0], std::log(0.7), 1.5) << seed;
  }
}

}  // namespace
}  // namespace mlo
