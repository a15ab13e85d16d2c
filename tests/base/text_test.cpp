// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/base/text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace mlo {
namespace {

TEST(Grouped, SeparatesThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(18'446'744'073'709'551'615U), "18,446,744,073,709,551,615");
}

TEST(PlainNumber, HasNoExponentForLargeNumbers) {
  EXPECT_EQ(plain_number(0), "0");
  EXPECT_EQ(plain_number(0.012345), "0.0123");
  EXPECT_EQ(plain_number(45.67), "45.7");
  EXPECT_EQ(plain_number(999.4), "999");
  EXPECT_EQ(plain_number(999.6), "1,000");
  EXPECT_EQ(plain_number(1399.7), "1,400");
  EXPECT_EQ(plain_number(-581012), "-581,012");
  EXPECT_EQ(plain_number(3.4e14), "340,000,000,000,000");
}

TEST(PlainNumber, RoundsSmallNumbersToTheDigitsAskedFor) {
  EXPECT_EQ(plain_number(0.257, 2), "0.26");
  EXPECT_EQ(plain_number(99.7, 2), "100");
  EXPECT_EQ(plain_number(9.7, 1), "10");
}

TEST(PlainNumber, TakesWhatIsNotFinite) {
  EXPECT_EQ(plain_number(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(plain_number(std::numeric_limits<double>::quiet_NaN()), "nan");
}

}  // namespace
}  // namespace mlo
