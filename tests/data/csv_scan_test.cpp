// Copyright (c) the mlo authors. BSD-3-Clause.
#include "../../src/data/csv_scan.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

namespace mlo::csv {
namespace {

TEST(CsvScan, FindsTheSameBytesWithAndWithoutSimd) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 10000; ++round) {
    // Bytes close to each other, where a carry or a borrow between bytes would show; 0, 0x7F, 0x80 and 0xFF
    // among them.
    const auto base = static_cast<unsigned char>(random());
    std::string bytes(scan_width, '\0');
    for (char& c : bytes) c = static_cast<char>(base + random() % 3);
    const auto wanted = static_cast<char>(base + 1);
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < scan_width; ++i) expected |= std::uint64_t{bytes[i] == wanted} << i;
    ASSERT_EQ(matches(bytes.data(), wanted), expected);
    ASSERT_EQ(matches_portable(bytes.data(), wanted), expected);
  }
}

TEST(CsvScan, CountsBits) {
  for (int n = 0; n < 64; ++n)
    EXPECT_EQ(count_bits((std::uint64_t{1} << n) - 1), static_cast<std::uint64_t>(n));
  EXPECT_EQ(count_bits(~std::uint64_t{0}), 64U);
  EXPECT_EQ(count_bits(0x8000000000000001U), 2U);
}

TEST(CsvScan, SkipsCellsInShortAndLongLines) {
  for (const std::size_t width : {0U, 1U, 5U, 15U, 63U, 64U, 65U, 200U}) {
    std::string line;
    for (int j = 0; j < 50; ++j) line += std::string(width, 'w') + (j < 49 ? "," : "\n");
    const std::size_t length = line.size();
    line += std::string(scan_width, ',');
    for (std::size_t cells = 1; cells < 50; ++cells) {
      EXPECT_EQ(skip_cells(line.data(), cells, ',') - line.data(),
                static_cast<std::ptrdiff_t>(cells * (width + 1)));
    }
    EXPECT_EQ(skip_cells(line.data(), 50, ','), nullptr);
    EXPECT_EQ(skip_line(line.data(), 50, ',') - line.data(), static_cast<std::ptrdiff_t>(length));
    EXPECT_EQ(skip_line(line.data(), 49, ','), nullptr);
    EXPECT_EQ(skip_line(line.data(), 51, ','), nullptr);
    line[length - 1] = '"';
    line[length] = '\n';
    EXPECT_EQ(skip_line(line.data(), 50, ','), nullptr);
  }
}

}  // namespace
}  // namespace mlo::csv
