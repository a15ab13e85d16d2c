// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/base/names.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mlo {
namespace {

const std::vector<std::string> options = {"family", "draws", "warmup", "x1", "x2"};

TEST(Names, OneTypingErrorInThreeCharactersIsForgiven) {
  EXPECT_EQ(nearest_name("famly", options), "family");
  EXPECT_EQ(nearest_name("FAMILY", options), "family");
  EXPECT_EQ(nearest_name("darws", options), "draws");
  EXPECT_EQ(nearest_name("iterations", options), "");
}

TEST(Names, ShortNamesAreNotTakenForOneAnother) {
  EXPECT_EQ(nearest_name("x3", options), "");
  EXPECT_EQ(nearest_name("X2", options), "x2");
  EXPECT_EQ(nearest_name("", options), "");
  EXPECT_EQ(nearest_name("x1", {}), "");
}

TEST(Names, WithoutANearOneTheFirstTwentyAreListed) {
  EXPECT_EQ(names_instead("drews", options), "did you mean draws?");
  EXPECT_EQ(names_instead("z", options), "there are family, draws, warmup, x1, x2");
  std::vector<std::string> many;
  for (int k = 1; k <= 21; ++k) many.push_back("b" + std::to_string(k));
  EXPECT_TRUE(names_instead("z", many).ends_with(", b19, b20, ... (21 in all)"));
  many.pop_back();
  EXPECT_TRUE(names_instead("z", many).ends_with(", b19, b20"));
}

}  // namespace
}  // namespace mlo
