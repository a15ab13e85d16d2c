// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/csv.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "data/csv_files.hpp"

namespace mlo::testing {
namespace {

using Names = std::vector<std::string>;
using Values = std::vector<double>;

// The values of the only or the named column, or a failure with the error.
Values column(const Outcome& outcome, std::size_t index = 0) {
  EXPECT_EQ(outcome.error, "");
  return index < outcome.table.columns.size() ? outcome.table.columns[index].numbers() : Values();
}

Names header_of(std::string_view text) { return read_csv(text, Names()).header; }

TEST(CsvReader, ReadsTheWantedColumnsInTheOrderAskedFor) {
  const TemporaryFile file("a,b,c\n1,2,3\n4,5,6\n");
  CsvReader reader(file.path());
  EXPECT_EQ(reader.header(), (Names{"a", "b", "c"}));
  const Names wanted{"c", "a"};
  const Table table = reader.read(wanted);
  EXPECT_EQ(table.source.name, file.path());
  EXPECT_EQ(table.rows, 2U);
  ASSERT_EQ(table.columns.size(), 2U);
  EXPECT_EQ(table.columns[0].name, "c");
  EXPECT_EQ(table.columns[0].numbers(), (Values{3, 6}));
  EXPECT_EQ(table.columns[1].name, "a");
  EXPECT_EQ(table.columns[1].numbers(), (Values{1, 4}));
}

TEST(CsvReader, CountsTheRowsWhenNoColumnIsWanted) {
  EXPECT_EQ(read_csv("a,b\n1,x\n2,y\n3,z\n", Names()).table.rows, 3U);
}

TEST(CsvReader, TakesTheLastLineWithOrWithoutANewline) {
  EXPECT_EQ(column(read_csv("a,b\n1,2\n3,4", Names{"b"})), (Values{2, 4}));
  EXPECT_EQ(column(read_csv("a,b\n1,2\n3,4\n", Names{"b"})), (Values{2, 4}));
  EXPECT_EQ(column(read_csv("a,b\r\n1,2\r\n3,4\r", Names{"b"})), (Values{2, 4}));
}

TEST(CsvReader, FindsTheDelimiterInTheHeader) {
  EXPECT_EQ(header_of("a;b,c;d\n1;2;3\n"), (Names{"a", "b,c", "d"}));
  EXPECT_EQ(header_of("a\tb c\n1\t2\n"), (Names{"a", "b c"}));
  EXPECT_EQ(header_of("a|b\n1|2\n"), (Names{"a", "b"}));
  EXPECT_EQ(header_of("\"a;b;c\",d\n1,2\n"), (Names{"a;b;c", "d"}));
  EXPECT_EQ(header_of("\"a\"\";;\",d\n1,2\n"), (Names{"a\";;", "d"}));
  EXPECT_EQ(header_of("alone\n1\n"), (Names{"alone"}));
  EXPECT_EQ(column(read_csv("a\tb\n1\t 2 \n", Names{"b"})), (Values{2}));
}

TEST(CsvReader, ReadsHeadersWithQuotesSpacesBlankLinesAndAByteOrderMark) {
  EXPECT_EQ(header_of("\xEF\xBB\xBF"
                      "a,b\n1,2\n"),
            (Names{"a", "b"}));
  EXPECT_EQ(header_of("\n\r\n a , b c\t,\"  d \"\r\n1,2,3\n"), (Names{"a", "b c", "d"}));
  EXPECT_EQ(header_of("\"say \"\"hi\"\"\",\"two\nlines\"\n1,2\n"), (Names{"say \"hi\"", "two\nlines"}));
  EXPECT_EQ(header_of("a,,a,\n1,2,3,4\n"), (Names{"a", "", "a", ""}));
}

TEST(CsvReader, LetsAnUnwantedColumnHoldAnything) {
  const std::string text =
      "t,x,u\n"
      "\"a,b\",1,\"line\nbreak, \"\"quoted\"\"\"\n"
      "5\" pipe,2,\"un\"even\n"
      ",3,\n"
      "inf,4,\xFF\xFE\r\n";
  EXPECT_EQ(column(read_csv(text, Names{"x"})), (Values{1, 2, 3, 4}));
}

TEST(CsvReader, SkipsBlankLines) { EXPECT_EQ(column(read_csv("a\n\n1\n\r\n\n2\n\n")), (Values{1, 2})); }

TEST(CsvReader, ReadsNumbersInEveryUsualForm) {
  const Values values =
      column(read_csv("x\n1\n-2\n+3\n 4 \n\t5\t\n.5\n1.\n\"6\"\n\" 7 "
                      "\"\n1e3\n1E-2\n+1.5e+2\n007\ntrue\nFALSE\n-0\n1e-400\n"));
  EXPECT_EQ(values, (Values{1, -2, 3, 4, 5, 0.5, 1, 6, 7, 1000, 0.01, 150, 7, 1, 0, 0, 0}));
  EXPECT_TRUE(std::signbit(values[15]));
}

TEST(CsvReader, ReadsMissingCellsAsNaN) {
  const Values values = column(
      read_csv("x,y\n,1\nNA,1\n NA ,1\nN/A,1\nNULL,1\nnull,1\n\"\",1\n\"NA\",1\n  ,1\n7,1\n", Names{"x"}));
  ASSERT_EQ(values.size(), 10U);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_TRUE(std::isnan(values[i])) << i;
  EXPECT_EQ(values[9], 7);
  const Values last = column(read_csv("y,x\n1,\n1,NA\n1,\r\n1,NA\r\n1,", Names{"x"}));
  ASSERT_EQ(last.size(), 5U);
  for (const double value : last) EXPECT_TRUE(std::isnan(value));
}

TEST(CsvReader, KnowsTheLineOfEveryRow) {
  const Table table = read_csv("\nx,t\n1,a\n\n\n2,\"b\nc\nd\"\n3,e\n\r\n4,f\n\n", Names{"x"}).table;
  ASSERT_EQ(table.rows, 4U);
  EXPECT_EQ(table.source.number(0), 3U);
  EXPECT_EQ(table.source.number(1), 6U);
  EXPECT_EQ(table.source.number(2), 9U);
  EXPECT_EQ(table.source.number(3), 11U);
  EXPECT_EQ(table.source.shifts.size(), 4U);
  EXPECT_TRUE(read_csv("x\n1\n2\n").table.source.shifts.empty());
}

TEST(CsvReader, KeepsManyRowsInOrder) {
  // More rows than a tile holds and than are reserved at first, in buffers that hold a few lines.
  std::string text = "i,square\n";
  constexpr std::size_t rows = 20000;
  for (std::size_t i = 0; i < rows; ++i) text += std::to_string(i) + "," + std::to_string(i * i) + "\n";
  const Table table = read_csv(text, std::nullopt, 100).table;
  ASSERT_EQ(table.rows, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    ASSERT_EQ(table.columns[0].numbers()[i], static_cast<double>(i));
    ASSERT_EQ(table.columns[1].numbers()[i], static_cast<double>(i * i));
  }
}

TEST(CsvReader, ReadsALineOfAlmostEightMebibytes) {
  const std::size_t longest = std::size_t{8} << 20;
  std::string text = "x,t\n1," + std::string(longest - 3, 'a') + "\n2,b\n";
  EXPECT_EQ(column(read_csv(text, Names{"x"}, 1000)), (Values{1, 2}));
  text = "x,t\n1,\"" + std::string(longest - 6, '\n') + "\"\n2,b\n";
  EXPECT_EQ(column(read_csv(text, Names{"x"}, 1000)), (Values{1, 2}));
}

TEST(CsvReader, GivesTheSameFingerprintHoweverTheBytesArrive) {
  std::string text = "x\n";
  for (int i = 0; i < 1000; ++i) text += std::to_string(i) + "\n";
  const std::uint64_t expected = read_csv(text).fingerprint;
  for (const std::size_t buffer : {4U, 5U, 63U, 64U, 65U, 1000U}) {
    EXPECT_EQ(read_csv(text, std::nullopt, buffer).fingerprint, expected) << buffer;
  }
  EXPECT_EQ(read_csv(gzip(text)).fingerprint, expected);

  std::set<std::uint64_t> all{expected};
  all.insert(read_csv(text + "\n").fingerprint);
  for (std::size_t at = 2; at < text.size(); ++at) {
    std::string changed = text;
    if (changed[at] == '\n') continue;
    changed[at] = changed[at] == '9' ? '8' : '9';
    EXPECT_TRUE(all.insert(read_csv(changed).fingerprint).second) << at;
    if (at > 300) break;
  }
}

TEST(CsvReader, ReportsProgressAFewHundredTimesAndEndsAtOne) {
  std::string text = "x\n";
  for (int i = 0; i < 20000; ++i) text += std::to_string(i * 7919 % 10007) + "\n";
  for (const std::string& bytes : {text, gzip(text)}) {
    const TemporaryFile file(bytes);
    csv::Parser parser(file.path(), {}, 64);
    Values shares;
    const Table table = parser.read(parser.header(), [&](double share) { shares.push_back(share); });
    EXPECT_EQ(table.rows, 20000U);
    // At least once: a file as small as this may have been read ahead before its first rows are parsed.
    EXPECT_GE(shares.size(), 1U);
    EXPECT_LE(shares.size(), 300U);
    EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
    EXPECT_GT(shares.front(), 0.0);
    EXPECT_EQ(shares.back(), 1.0);
  }
}

TEST(CsvReader, StopsWhenTheProgressCallbackThrows) {
  std::string text = "x\n";
  for (int i = 0; i < 100000; ++i) text += std::to_string(i) + "\n";
  for (const std::string& bytes : {text, gzip(text)}) {
    const TemporaryFile file(bytes);
    csv::Parser parser(file.path(), {}, 256);
    struct Stop {};
    EXPECT_THROW((void)parser.read(parser.header(), [](double) { throw Stop(); }), Stop);
  }
}

TEST(CsvReader, ReadsAPipe) {
  for (const bool compressed : {false, true}) {
    std::string text = "x,y\n";
    for (int i = 0; i < 50000; ++i) text += std::to_string(i) + ",1\n";
    const std::string bytes = compressed ? gzip(text) : text;
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::thread writer([&] {
      for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t n = ::write(ends[1], bytes.data() + done, bytes.size() - done);
        ASSERT_GT(n, 0);
        done += static_cast<std::size_t>(n);
      }
      ::close(ends[1]);
    });
    CsvReader reader("/dev/fd/" + std::to_string(ends[0]));
    const Names wanted{"x"};
    const Table table = reader.read(wanted);
    writer.join();
    ::close(ends[0]);
    ASSERT_EQ(table.rows, 50000U);
    for (std::size_t i = 0; i < table.rows; ++i)
      ASSERT_EQ(table.columns[0].numbers()[i], static_cast<double>(i));
  }
}

}  // namespace
}  // namespace mlo::testing
