// Copyright (c) the mlo authors. BSD-3-Clause.
#include "../../src/data/csv_number.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>

namespace mlo::csv {
namespace {

// Either the fast path declines, or it gives the same bits and the same end as std::from_chars. Returns
// whether it took the number.
bool agrees(const std::string& number) {
  const std::string text = number + "," + std::string(16, '7');  // what follows must not matter
  double fast = -1;
  const char* const end = fast_number(text.data(), fast);
  if (end == nullptr) return false;
  EXPECT_EQ(end - text.data(), static_cast<std::ptrdiff_t>(number.size())) << number;
  double expected = 0;
  const std::size_t plus = number.starts_with('+') ? 1 : 0;
  const auto result = std::from_chars(number.data() + plus, number.data() + number.size(), expected);
  EXPECT_EQ(result.ec, std::errc()) << number;
  EXPECT_EQ(std::bit_cast<std::uint64_t>(fast), std::bit_cast<std::uint64_t>(expected)) << number;
  return true;
}

TEST(CsvNumber, TakesTheUsualNumbersTheFastWay) {
  for (const char* number : {"0",
                             "-0",
                             "+7",
                             "12345678",
                             "123456789",
                             "9007199254740992",
                             "9007199254740993",
                             "9999999999999999999",
                             "0.1",
                             "-0.30000000000000004",
                             "1.7976931348623157",
                             "3.",
                             ".25",
                             "1e22",
                             "12.5e-3",
                             "0.000000000000000012345678901",
                             "1E+5",
                             "00000000000000000001",
                             "5e-27",
                             "9999999999999999999e-27",
                             "0e0",
                             "0e22",
                             "0.00e5"}) {
    EXPECT_TRUE(agrees(number)) << number;
  }
}

TEST(CsvNumber, DeclinesWhatItCannotRoundForSureOrDoesNotKnow) {
  double value = 0;
  for (const std::string text :
       {"18446744073709551616", "99999999999999999999", "1e23", "9007199254740993e1", "1e-28", "1e9999", "1e",
        "1e+", "e5", ".", "-", "+", "", "-.e1", "nan", "x"}) {
    const std::string padded = text + "," + std::string(16, ' ');
    const char* const end = fast_number(padded.data(), value);
    EXPECT_EQ(end, nullptr) << text;
  }
}

TEST(CsvNumber, AgreesWithFromCharsOnRandomDecimals) {
  std::mt19937_64 random(1);
  int taken = 0;
  constexpr int count = 300000;
  for (int i = 0; i < count; ++i) {
    std::string digits = std::to_string(random() >> (random() % 64));
    const std::size_t point = random() % (digits.size() + 1);
    std::string number = random() % 2 == 0 ? "-" : "";
    if (random() % 4 != 0) digits.insert(point, ".");
    if (random() % 8 == 0) number += std::string(random() % 6, '0');
    number += digits;
    if (random() % 4 == 0) number += fmt::format("e{}", static_cast<int>(random() % 60) - 30);
    taken += agrees(number) ? 1 : 0;
  }
  EXPECT_GT(taken, count / 2);
}

TEST(CsvNumber, ReadsBackEveryDoubleWrittenWithSeventeenDigits) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 100000; ++i) {
    const double x = normal(random) * std::pow(10.0, static_cast<int>(random() % 9) - 4);
    for (const std::string& number :
         {fmt::format("{:.17g}", x), fmt::format("{}", x), fmt::format("{:.16e}", x)}) {
      const std::string padded = number + "\n" + std::string(16, '1');
      double back = 0;
      const char* const end = fast_number(padded.data(), back);
      if (end == nullptr) continue;
      ASSERT_EQ(back, x) << number;
      ASSERT_EQ(*end, '\n');
    }
  }
}

// Halfway between two doubles, and just beside it: the cases where wrong rounding would show.
TEST(CsvNumber, RoundsTiesToEven) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    // An odd integer of 54 bits is a tie; divided by a power of two it stays one, with an exact decimal
    // expansion.
    const std::uint64_t tie = (std::uint64_t{1} << 53) | (random() >> 11) | 1U;
    agrees(std::to_string(tie));
    agrees(std::to_string(tie) + ".0");
    agrees(fmt::format("{}.{}", tie, "001"));
    const std::uint64_t small = tie >> 12 | 1U;  // 42 bits: w = small * 5^k / 10^k has ties with few digits
    const unsigned k = static_cast<unsigned>(random() % 9);
    std::uint64_t w = small;
    for (unsigned j = 0; j < k; ++j) w *= 5;
    agrees(fmt::format("{}e-{}", w, k));
    agrees(fmt::format("{}e-{}", w + 1, k));
    agrees(fmt::format("{}e-{}", w - 1, k));
  }
}

TEST(CsvNumber, TellsOverflowFromUnderflow) {
  double value = -1;
  for (const std::string text : {"1e-400", "0.000001e-400", "-1e-99999999999999999999", "123456789e-340",
                                 ".1e-350", "-0.0000000000000000000000000000001e-320"}) {
    EXPECT_EQ(read_cell(text, value), CellKind::number) << text;
    EXPECT_EQ(value, 0) << text;
    EXPECT_EQ(std::signbit(value), text.starts_with('-'));
  }
  for (const std::string text :
       {"1e400", "1000000e304", "-1e99999999999999999999", "0.000001e316", "1.8e308"}) {
    EXPECT_EQ(read_cell(text, value), CellKind::not_finite) << text;
  }
  EXPECT_EQ(read_cell("0." + std::string(400, '0') + "1", value), CellKind::number);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(read_cell("1" + std::string(400, '0'), value), CellKind::not_finite);
  EXPECT_EQ(read_cell("1" + std::string(400, '0') + "e-400", value), CellKind::number);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(read_cell("4.9e-324", value), CellKind::number);
  EXPECT_EQ(value, 4.9e-324);
  EXPECT_EQ(read_cell("1.7976931348623157e308", value), CellKind::number);
  EXPECT_EQ(value, 1.7976931348623157e308);
}

}  // namespace
}  // namespace mlo::csv
