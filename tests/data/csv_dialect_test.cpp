// Copyright (c) the mlo authors. BSD-3-Clause.
// Delimiters, decimal marks, comments and spellings of missing cells.
#include "../../src/data/csv_dialect.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "data/csv_files.hpp"

namespace mlo::testing {
namespace {

using Names = std::vector<std::string>;

char delimiter(std::string_view text, std::string_view name = "data.csv", const ReadOptions& options = {}) {
  return csv::find_dialect(options, name, text, true).delimiter;
}
char decimal(std::string_view text, const ReadOptions& options = {}) {
  return csv::find_dialect(options, "data.csv", text, true).decimal;
}
Numbers numbers(const Outcome& outcome, std::size_t index = 0) {
  EXPECT_EQ(outcome.error, "");
  if (index < outcome.table.columns.size() && !outcome.table.columns[index].is_text())
    return outcome.table.columns[index].numbers();
  ADD_FAILURE() << "not a column of numbers";
  return {};
}

TEST(CsvDialect, FindsTheDelimiterByTheHeaderAndTheRecords) {
  EXPECT_EQ(delimiter("a,b\n1,2\n"), ',');
  EXPECT_EQ(delimiter("a;b\n1,5;2,5\n"), ';');
  EXPECT_EQ(delimiter("a\tb\n1\t2\n"), '\t');
  EXPECT_EQ(delimiter("a|b\n1|2\n"), '|');
  EXPECT_EQ(delimiter("alone\n1\n"), ',');
  // The header alone would say comma; the records do not.
  EXPECT_EQ(delimiter("weight, kg;height, cm\n80;180\n75;170\n"), ';');
  EXPECT_EQ(delimiter("a, b, c;d\n1;2\n"), ';');
  EXPECT_EQ(delimiter("name|note\nx|a,b\ny|c;d;e\n"), '|');
  // Quotes hide delimiters, in the header and in the records.
  EXPECT_EQ(delimiter("\"a;b;c\",d\n\"1;2\",2\n"), ',');
  EXPECT_EQ(delimiter("a;b\n\"x,y\nz,w\";1\n"), ';');
  // If no candidate fits all records, the one that fits most.
  EXPECT_EQ(delimiter("a,b;c\n1,2\n1,2\n1;2\n"), ',');
  EXPECT_EQ(delimiter("# a;b;c;d\nx,y\n1,2\n", "data.csv", {.comment = '#'}), ',');
}

TEST(CsvDialect, TakesANameThatEndsInTsvAtItsWord) {
  for (const char* name : {"d.tsv", "d.tsv.gz", "d.tsv.zst", "D.TSV"})
    EXPECT_EQ(delimiter("a,b\n1,2\n", name), '\t');
  EXPECT_EQ(delimiter("a,b\n1,2\n", "d.tsv", {.delimiter = ','}), ',');
}

TEST(CsvDialect, JudgesAHeaderThatIsLongerThanWhatWasReadByItsStart) {
  std::string header;
  for (int i = 0; i < 20000; ++i) header += "column" + std::to_string(i) + ";";
  const Outcome outcome = read_csv(header + "last\n" + std::string(20000, ';') + "1\n", Names{"last"});
  EXPECT_EQ(outcome.header.size(), 20001U);
  EXPECT_EQ(numbers(outcome), (Numbers{1}));
}

TEST(CsvDialect, FindsADecimalCommaWhereTheDelimiterIsNotAComma) {
  EXPECT_EQ(decimal("a;b\n1,5;2\n"), ',');
  EXPECT_EQ(decimal("a\tb\n-0,123\t2\n"), ',');
  EXPECT_EQ(decimal("a;b\n1,5e-3;\n"), ',');
  EXPECT_EQ(decimal("a;b\n\"1,50\";2\n"), ',');
  EXPECT_EQ(decimal("a;b\n1.5;2\n"), '.');
  EXPECT_EQ(decimal("a;b\n1;2\n"), '.');
  EXPECT_EQ(decimal("a,b\n1,5\n"), '.');
  // May be thousands, so this says nothing.
  EXPECT_EQ(decimal("a;b\n1,234;5\n"), '.');
  EXPECT_EQ(decimal("a;b\n1,234;5\n12,5;3\n"), ',');
  EXPECT_EQ(decimal("a;b\n1234,567;5\n"), ',');
  // Both kinds: a point, and the cells with a comma are words.
  EXPECT_EQ(decimal("a;b\n1,5;2.5\n"), '.');
  EXPECT_EQ(decimal("a;b\nx,5;5,y\n1,2,3;,\n"), '.');
  EXPECT_EQ(decimal("a;b\n1,5;2\n", {.decimal = '.'}), '.');
}

TEST(CsvDialect, ReadsDecimalCommas) {
  const std::string text = "a;b\n1,5;-,25\n+2,;1e3\n\"3,75\";1,5e-1\n  0,1 ;12345678901234567890,5\n;NA\n";
  for (const std::size_t chunk : {4U, 100000U}) {
    const Outcome outcome = read_csv(text, std::nullopt, chunk);
    const Numbers a = numbers(outcome);
    ASSERT_EQ(a.size(), 5U);
    EXPECT_EQ((Numbers(a.begin(), a.begin() + 4)), (Numbers{1.5, 2, 3.75, 0.1}));
    EXPECT_TRUE(std::isnan(a[4]));
    const Numbers b = numbers(outcome, 1);
    EXPECT_EQ((Numbers(b.begin(), b.begin() + 4)), (Numbers{-0.25, 1000, 0.15, 12345678901234567890.5}));
  }
  // Where the mark is a comma, a point makes a word.
  EXPECT_TRUE(read_csv("a;b\n1.5;1\n", std::nullopt, 100, {.decimal = ','}).table.columns[0].is_text());
  EXPECT_TRUE(read_csv("a;b\n1.234,5;1\n", std::nullopt, 100, {.decimal = ','}).table.columns[0].is_text());
}

TEST(CsvDialect, SkipsComments) {
  const std::string text = "# made by x\n#\na,b\n1,2\n# three, \"four\n3,4\n\n#5,\"6\n7,#8\n# 5\" pipe,\"x\n";
  for (const std::size_t chunk : {4U, 16U, 100000U}) {
    const Outcome outcome = read_csv(text, std::nullopt, chunk, {.comment = '#'});
    EXPECT_EQ(outcome.header, (Names{"a", "b"}));
    EXPECT_EQ(numbers(outcome), (Numbers{1, 3, 7}));
    ASSERT_EQ(outcome.table.columns.size(), 2U);
    ASSERT_TRUE(outcome.table.columns[1].is_text());
    EXPECT_EQ(outcome.table.columns[1].text().levels, (Names{"2", "4", "#8"}));  // not at the start of a line
    EXPECT_EQ(outcome.table.source.number(0), 4U);
    EXPECT_EQ(outcome.table.source.number(1), 6U);
    EXPECT_EQ(outcome.table.source.number(2), 9U);
  }
  EXPECT_EQ(read_csv("#a\n1\n").header, (Names{"#a"}));  // off unless asked for
  EXPECT_EQ(read_csv("# a\n# b\n", std::nullopt, 4, {.comment = '#'}).error, ": the file is empty");
}

TEST(CsvDialect, TakesOtherSpellingsOfMissingCells) {
  const std::string text = "x,t\n1,a\n-,-\n.,b\n-999,-999.0\n-999.00,NA\n,\n2,\"-\"\n";
  const Outcome outcome = read_csv(text, std::nullopt, 100, {.na = {"-", ".", "-999"}});
  const Numbers x = numbers(outcome);
  ASSERT_EQ(x.size(), 7U);
  for (const std::size_t i : {1U, 2U, 3U, 4U, 5U}) EXPECT_TRUE(std::isnan(x[i])) << i;
  EXPECT_EQ(x[0], 1);
  EXPECT_EQ(x[6], 2);
  const Text& t = outcome.table.columns[1].text();
  EXPECT_EQ(t.levels, (Names{"a", "b", "NA"}));  // NA is not in the list, so it is a word
  constexpr std::uint32_t missing = Text::missing;
  EXPECT_EQ(t.codes, (std::vector<std::uint32_t>{0, missing, 1, missing, 2, missing, missing}));
}

TEST(CsvDialect, TakesAStatedDelimiterWhateverTheTextLooksLike) {
  EXPECT_EQ(read_csv("a,b;c,d\n1,2;3,4\n", Names(), 100, {.delimiter = ';'}).header, (Names{"a,b", "c,d"}));
  EXPECT_EQ(read_csv("a:b\n1:2\n", Names(), 100, {.delimiter = ':'}).header, (Names{"a", "b"}));
}

}  // namespace
}  // namespace mlo::testing
