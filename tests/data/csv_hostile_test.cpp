// Copyright (c) the mlo authors. BSD-3-Clause.
// Files that no one writes in good faith: an error or bounded memory, never a crash.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/csv_files.hpp"

namespace mlo::testing {
namespace {

using Names = std::vector<std::string>;

TEST(HostileFiles, AMillionColumnsAreRead) {
  constexpr std::size_t columns = 1000000;
  std::string text;
  for (std::size_t j = 0; j < columns; ++j) text += "c" + std::to_string(j) + (j + 1 < columns ? "," : "\n");
  for (int row = 0; row < 2; ++row) text.append(columns - 1, ',').append("7\n");
  const Outcome outcome = read_csv(text, Names{"c999999", "c5"});
  ASSERT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.header.size(), columns);
  EXPECT_EQ(outcome.table.columns[0].numbers(), (Numbers{7, 7}));
  // All of them at once.
  EXPECT_EQ(read_csv(text).table.columns.size(), columns);
}

TEST(HostileFiles, ALineWithoutAnEndStopsAtTheLimitOfALine) {
  // 64 MiB of text in 64 kB of gzip; the reader must not unpack more than it needs to say no.
  const std::string endless(std::size_t{64} << 20, 'a');
  for (const std::string& bytes : {gzip(endless), zstd(endless)}) {
    EXPECT_EQ(read_csv(bytes).error, ":1: the line is longer than 8 MiB; is this a CSV file?");
  }
  EXPECT_EQ(read_csv(gzip("x\n\"" + endless)).error,
            ":2: the quote that starts here is not closed within 8 MiB");
}

TEST(HostileFiles, ABombOfZerosStopsAtTheFirst) {
  const std::string zeros(std::size_t{64} << 20, '\0');
  const std::string rule = " a NUL byte; is this UTF-16 text or a binary file? Save it as UTF-8 text";
  EXPECT_EQ(read_csv(gzip(zeros)).error, ":1:" + rule);
  EXPECT_EQ(read_csv(zstd("x\n1\n" + zeros)).error, ":3:" + rule);
}

TEST(HostileFiles, GzipThatLiesAboutItselfIsRefused) {
  const std::string good = gzip("x\n1\n2\n");
  std::string bad = good;
  bad[bad.size() - 4] = 100;  // the length
  EXPECT_EQ(read_csv(bad).error, ": the gzip data are corrupt (incorrect checksum or length)");
  bad = good;
  bad[3] = 0x04;  // an extra field of a length that is in the data
  EXPECT_NE(read_csv(bad).error, "");
}

TEST(HostileFiles, ZstdThatIsCutOrLiesIsRefused) {
  std::string text = "x\n";
  for (int i = 0; i < 10000; ++i) text += std::to_string(i * 7919 % 100003) + "\n";
  const std::string good = zstd(text);
  EXPECT_EQ(read_csv(good).error, "");
  for (std::size_t length = 4; length < good.size(); length += 1 + good.size() / 60) {
    EXPECT_EQ(read_csv(good.substr(0, length)).error, ": the zstd data end too early; the file is truncated")
        << length;
  }
  std::string bad = good;
  bad[bad.size() - 1] ^= 1;  // the checksum
  EXPECT_EQ(read_csv(bad).error, ": the zstd data are corrupt (Restored data doesn't match checksum)");
  EXPECT_EQ(read_csv(good + "more").error.substr(0, 27), ": the zstd data are corrupt");
  // A frame that asks for a window of 2 GiB.
  using namespace std::string_literals;
  EXPECT_EQ(read_csv("\x28\xB5\x2F\xFD\x00\xA8\x01\x00\x00"s).error,
            ": the zstd data need more than 128 MiB to be unpacked; compress the file without --long");
}

// Found by fuzz/csv.cpp: arithmetic on a null pointer, which only a sanitizer sees.
TEST(HostileFiles, RowsAreCountedWithoutAnyColumn) {
  const Outcome outcome = read_csv("a,b\n1,2\n3,4\n5,6\n", Names{});
  ASSERT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.table.rows, 3U);
  EXPECT_TRUE(outcome.table.columns.empty());
}

TEST(HostileFiles, RowsOfNothingButDelimitersAndQuotesAreRead) {
  std::string text = "a,b\n";
  for (int i = 0; i < 10000; ++i) text += i % 2 == 0 ? "\"\"\"\",\"\"\n" : ",\n";
  const Outcome outcome = read_csv(text, std::nullopt, 64, {.threads = 2});
  ASSERT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.table.columns[0].text().levels, (Names{"\""}));
}

}  // namespace
}  // namespace mlo::testing
