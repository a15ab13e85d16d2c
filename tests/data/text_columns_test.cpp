// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/text_columns.hpp"

#include <gtest/gtest.h>

#include <string>

#include "data/csv_files.hpp"

namespace mlo::testing {
namespace {

// What is said of column x where log() needs numbers.
std::string said(const TemporaryFile& file) {
  const Outcome outcome = read_csv(file);
  return not_numbers(outcome.table, outcome.table.columns[0], "log()").what();
}

std::string remark(const TemporaryFile& file) {
  const Outcome outcome = read_csv(file);
  return factor_remark(outcome.table, outcome.table.columns[0]);
}

TEST(TextColumns, NameThePlaceTheFirstWordAndWhatNeedsNumbers) {
  const TemporaryFile file("x\n\nOslo\n7\nRome\n");
  EXPECT_EQ(said(file), file.path() + ":3: column \"x\" holds text (\"Oslo\"), but log() needs numbers");
}

TEST(TextColumns, ThatAreMostlyNumbersAreCalledMistakes) {
  const TemporaryFile file("x\n1\n2\n1O\n3\n");
  EXPECT_EQ(said(file),
            file.path() +
                ":4: column \"x\": \"1O\" is not a number; 1 of 4 cells is not: correct it, or list "
                "the spelling with `na` if it means missing");
}

TEST(TextColumns, ComeWithAdviceForDatesAndDecimalCommas) {
  const TemporaryFile dates("x\n2024-02-29\n2024-03-01\n");
  EXPECT_EQ(said(dates), dates.path() +
                             ":2: column \"x\" holds text (\"2024-02-29\"), but log() needs numbers; these "
                             "functions make numbers of dates: year, month, mday, yday, wday, hour, minute, "
                             "second, days");
  const TemporaryFile commas("x\n\"-0,5\"\n\"1,5\"\n");
  EXPECT_EQ(said(commas), commas.path() +
                              ":2: column \"x\" holds text (\"-0,5\"), but log() needs numbers; if its "
                              "numbers have a decimal comma, say so with `decimal ,`");
  const TemporaryFile lists("x\n\"1,2,3\"\n\"4,5,6\"\n");
  EXPECT_EQ(said(lists), lists.path() + ":2: column \"x\" holds text (\"1,2,3\"), but log() needs numbers");
}

TEST(TextColumns, HaveARemarkAsFactorsWhereTheyMayBeMeantAsNumbers) {
  const TemporaryFile one("x\n1\n2\n1O\n3\n"), two("x\n1\nb\n2\na\n3\n");
  EXPECT_EQ(remark(one), "a factor because 1 of 4 cells is not a number (" + one.path() + ":4: \"1O\")");
  EXPECT_EQ(remark(two), "a factor because 2 of 5 cells are not numbers (" + two.path() + ":3: \"b\")");
  EXPECT_EQ(remark(TemporaryFile("x\n2024-02-29\n2024-03-01\n")),
            "dates; these functions make numbers of them: year, month, mday, yday, wday, hour, minute, "
            "second, days");
  EXPECT_EQ(remark(TemporaryFile("x\nOslo\nRome\n")), "");
  EXPECT_EQ(remark(TemporaryFile("x\n1\n2\n")), "");
}

}  // namespace
}  // namespace mlo::testing
