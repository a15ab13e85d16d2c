// Copyright (c) the mlo authors. BSD-3-Clause.
// Columns of text: which columns they are, their words, and what is kept for messages.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "data/csv_files.hpp"
#include "mlo/data/csv.hpp"
#include "mlo/data/text_columns.hpp"

namespace mlo::testing {
namespace {

using Names = std::vector<std::string>;
using Codes = std::vector<std::uint32_t>;

constexpr std::uint32_t missing = Text::missing;

Text text_of(const Outcome& outcome, std::size_t index = 0) {
  EXPECT_EQ(outcome.error, "");
  if (index >= outcome.table.columns.size() || !outcome.table.columns[index].is_text()) {
    ADD_FAILURE() << "not a text column";
    return {};
  }
  return outcome.table.columns[index].text();
}

TEST(CsvTypes, AColumnWithAWordIsTextWithItsWordsInOrderOfAppearance) {
  const Text text = text_of(read_csv("n,city\n1,Rome\n2,Oslo\n3,Rome\n4,\n5,NA\n6,Bern\n"), 1);
  EXPECT_EQ(text.levels, (Names{"Rome", "Oslo", "Bern"}));
  EXPECT_EQ(text.codes, (Codes{0, 1, 0, missing, missing, 2}));
  EXPECT_FALSE(read_csv("n,city\n1,Rome\n").table.columns[0].is_text());
}

TEST(CsvTypes, OneWordAtTheEndMakesAColumnTextAndNumbersKeepTheirSpelling) {
  std::string file = "x,y\n1,1\n1.0,2\n+1,3\n\"1\",4\n 1 ,5\n1e0,6\nNA,7\ntrue,8\n";
  EXPECT_FALSE(read_csv(file).table.columns[0].is_text());
  file += "1O,9\n";
  for (const std::size_t chunk : {4U, 8U, 20U, 100000U}) {
    const Text text = text_of(read_csv(file, std::nullopt, chunk));
    EXPECT_EQ(text.levels, (Names{"1", "1.0", "+1", "1e0", "true", "1O"})) << chunk;
    EXPECT_EQ(text.codes, (Codes{0, 1, 2, 0, 0, 3, missing, 4, 5})) << chunk;
    ASSERT_TRUE(text.words.has_value());
    EXPECT_EQ(text.words->first, 8U);
    EXPECT_EQ(text.words->count, 1U);
    EXPECT_EQ(text.words->cells, 8U);
  }
}

TEST(CsvTypes, AColumnOfTrueAndFalseIsLogical) {
  const auto logical = [](const std::string& cells, std::size_t chunk, const ReadOptions& options = {}) {
    const Table table = read_csv("x,y\n" + cells, std::nullopt, chunk, options).table;
    EXPECT_FALSE(table.columns.at(0).is_text()) << cells;
    return table.columns.at(0).logical;
  };
  ReadOptions asked;
  asked.types = {{"x", ColumnType::number}};
  for (const std::size_t chunk : {4U, 12U, 100000U}) {
    const std::string cells = "TRUE,1\n False ,2\n\"true\",3\n,4\nNA,5\nfalse,6\n";
    EXPECT_TRUE(logical(cells, chunk)) << chunk;
    EXPECT_EQ(read_csv("x,y\n" + cells, std::nullopt, chunk).table.columns[0].numbers()[2], 1);
    // A row that has to be read twice counts once: here it has a quote after the first cell.
    EXPECT_TRUE(logical("true,\"1\"\nfalse,2\n", chunk)) << chunk;
    EXPECT_FALSE(logical("true,\"1\"\n1,2\n", chunk)) << chunk;
    EXPECT_FALSE(logical(cells + "1,7\n", chunk)) << chunk;
    EXPECT_FALSE(logical("0,7\n" + cells, chunk)) << chunk;
    EXPECT_FALSE(logical(",1\n,2\n", chunk)) << chunk;
    EXPECT_FALSE(logical(cells, chunk, asked)) << chunk;
    const Text text = text_of(read_csv("x,y\n" + cells + "yes,7\n", std::nullopt, chunk));
    EXPECT_EQ(text.levels, (Names{"TRUE", "False", "true", "false", "yes"})) << chunk;
  }
}

TEST(CsvTypes, RemembersTheFirstWordAndHowManyThereAre) {
  std::string file = "x\n";
  for (int i = 0; i < 5000; ++i) file += i == 3000 || i == 4000 ? "oops\n" : i % 10 == 0 ? "NA\n" : "5\n";
  const Outcome outcome = read_csv(file, std::nullopt, 100);
  const Text text = text_of(outcome);
  ASSERT_TRUE(text.words.has_value());
  EXPECT_EQ(text.words->first, 3000U);
  EXPECT_EQ(text.words->count, 2U);
  EXPECT_EQ(text.words->cells, 4502U);
  EXPECT_EQ(text.levels[text.codes[text.words->first]], "oops");
  EXPECT_EQ(outcome.table.source.number(text.words->first), 3002U);
}

TEST(CsvTypes, TellsWhatIsWrongWithAColumnOfNumbersAndAFewWords) {
  const TemporaryFile file("n,x\n1,2\n\n2,1O\n3,5\n4,-\n5,7\n");
  const Outcome outcome = read_csv(file);
  const Column& x = outcome.table.columns[1];
  EXPECT_TRUE(mostly_numbers(x.text()));
  EXPECT_EQ(std::string(not_numbers(outcome.table, x).what()),
            file.path() +
                ":4: column \"x\": \"1O\" is not a number; 2 of 5 cells are not: correct them, or list the "
                "spelling with `na` if it means missing");
  EXPECT_FALSE(mostly_numbers(text_of(read_csv("x\na\n1\nb\n"))));
  EXPECT_FALSE(mostly_numbers(Text{.levels = {"1"}, .codes = {0}}));  // text, and nobody said why
}

TEST(CsvTypes, QuotedWordsKeepTheirBlanksAndOthersLoseThem) {
  const Text text = text_of(
      read_csv("t,n\n a b ,1\n\" a b \",2\n\"say \"\"hi\"\"\",3\n\"x,\ny\",4\n5\" pipe,5\n\" \",6\n"));
  EXPECT_EQ(text.levels, (Names{"a b", " a b ", "say \"hi\"", "x,\ny", "5\" pipe"}));
  EXPECT_EQ(text.codes, (Codes{0, 1, 2, 3, 4, missing}));
}

TEST(CsvTypes, AColumnWithoutAnyCellHoldsNumbers) {
  const Outcome outcome = read_csv("x,y\n,1\nNA,2\n");
  ASSERT_FALSE(outcome.table.columns[0].is_text());
  EXPECT_TRUE(std::isnan(outcome.table.columns[0].numbers()[0]));
}

TEST(CsvTypes, MissingCellsBeforeTheFirstWordNeedNoSecondReading) {
  std::string file = "x,n\n";
  for (int i = 0; i < 1000; ++i) file += "NA,1\n";
  const Text text = text_of(read_csv(file + "word,1\n", std::nullopt, 64));
  EXPECT_EQ(text.levels, (Names{"word"}));
  EXPECT_EQ(text.codes.front(), missing);
  EXPECT_EQ(text.codes.back(), 0U);
}

TEST(CsvTypes, AStatedTypeOverrulesTheCells) {
  ReadOptions options;
  options.types = {{"zip", ColumnType::text}, {"n", ColumnType::number}};
  const std::string file = "zip,n\n01234,1\n1234,2\nNA,3\n";
  const Outcome outcome = read_csv(file, std::nullopt, 8, options);
  const Text text = text_of(outcome);
  EXPECT_EQ(text.levels, (Names{"01234", "1234"}));
  EXPECT_EQ(text.codes, (Codes{0, 1, missing}));
  EXPECT_FALSE(text.words.has_value());
  EXPECT_EQ(outcome.table.columns[1].numbers(), (Numbers{1, 2, 3}));
}

TEST(CsvTypes, ATypeForAColumnThatIsNotThereIsRefused) {
  const TemporaryFile file("x\n1\n");
  try {
    static_cast<void>(open_reader({file.path()}, {.types = {{"y", ColumnType::text}}}));
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_EQ(error.what(), "`type`: " + file.path() + " has no column \"y\"");
  }
}

// Writes the bytes into a pipe while `read` reads from the other end.
template <class Read>
void through_pipe(const std::string& bytes, const Read& read) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::thread writer([&] {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t n = ::write(ends[1], bytes.data() + done, bytes.size() - done);
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    ::close(ends[1]);
  });
  read("/dev/fd/" + std::to_string(ends[0]));
  writer.join();
  ::close(ends[0]);
}

TEST(CsvTypes, APipeIsReadAgainWhenAWordComesLate) {
  std::string file = "x,y\n";
  for (int i = 0; i < 100000; ++i) file += std::to_string(i % 1000) + ".0,1\n";
  file += "word,2\n";
  for (const std::string& bytes : {file, gzip(file), zstd(file)}) {
    through_pipe(bytes, [&](const std::string& path) {
      CsvReader reader(path, {.threads = 2});
      const Table table = reader.read(Names{"x"});
      ASSERT_TRUE(table.columns[0].is_text());
      const Text& text = table.columns[0].text();
      ASSERT_EQ(text.levels.size(), 1001U);
      EXPECT_EQ(text.levels[7], "7.0");
      EXPECT_EQ(text.levels[1000], "word");
      for (std::size_t i = 0; i < 100000; ++i) ASSERT_EQ(text.codes[i], i % 1000);
      EXPECT_EQ(text.words->count, 1U);
      EXPECT_EQ(text.words->first, 100000U);
    });
  }
}

TEST(CsvTypes, APipeThatCannotBeKeptIsReadIfNoWordComesLate) {
  const char* const old = std::getenv("TMPDIR");
  const std::string before = old == nullptr ? "" : old;
  std::string numbers = "x,y\n";
  for (int i = 0; i < 100000; ++i) numbers += "5,1\n";
  const auto read = [&](const std::string& bytes, const ReadOptions& options = {}) {
    std::string outcome;
    through_pipe(bytes, [&](const std::string& path) {
      try {
        CsvReader reader(path, options);
        outcome = std::to_string(reader.read(Names{"x"}).rows);
      } catch (const DataError& error) {
        outcome = std::string(error.what()).substr(path.size());
      }
    });
    return outcome;
  };
  ::setenv("TMPDIR", "/no/such/folder", 1);
  EXPECT_EQ(read(numbers), "100000");
  EXPECT_EQ(read(numbers + "word,1\n", {.types = {{"x", ColumnType::text}}}), "100001");
  // With one thread: another may have seen the word before the first numbers are kept.
  const std::string refused = read(numbers + "word,1\n", {.threads = 1});
  if (old == nullptr) {
    ::unsetenv("TMPDIR");
  } else {
    ::setenv("TMPDIR", before.c_str(), 1);
  }
  EXPECT_TRUE(refused.starts_with(": column \"x\" turned out to be text after ")) << refused;
  EXPECT_TRUE(refused.ends_with(
      "rows of numbers, and what was read could not be kept in the folder for temporary "
      "files (No such file or directory); name the column with `type`, or read from a file"))
      << refused;
}

TEST(CsvTypes, ReadsTheSameWithAnyNumberOfThreads) {
  std::string file = "a,word,late,b\n";
  for (int i = 0; i < 60000; ++i) {
    file += std::to_string(i) + ",w" + std::to_string(i * 7919 % 5003) + "," +
            (i % 50000 == 40000 ? "late" : std::to_string(i % 17)) + ",\"" + std::to_string(i) + "\"\n";
    if (i % 1000 == 0) file += "\n";
  }
  const TemporaryFile temporary(file);
  const Outcome one = read_csv(temporary, std::nullopt, 1U << 14, {.threads = 1});
  for (const std::size_t threads : {2U, 3U, 8U}) {
    const Outcome many = read_csv(temporary, std::nullopt, 1U << 14, {.threads = threads});
    EXPECT_EQ(many.fingerprint, one.fingerprint);
    EXPECT_EQ(many.table.source.shifts, one.table.source.shifts);
    EXPECT_EQ(many.table.columns[0].numbers(), one.table.columns[0].numbers());
    EXPECT_EQ(many.table.columns[3].numbers(), one.table.columns[3].numbers());
    for (const std::size_t k : {1U, 2U}) {
      EXPECT_EQ(many.table.columns[k].text().levels, one.table.columns[k].text().levels);
      EXPECT_EQ(many.table.columns[k].text().codes, one.table.columns[k].text().codes);
    }
  }
  const std::vector<std::string>& levels = one.table.columns[1].text().levels;
  ASSERT_EQ(levels.size(), 5003U);
  for (std::size_t i = 0; i < 5003; ++i) ASSERT_EQ(levels[i], "w" + std::to_string(i * 7919 % 5003));
}

TEST(CsvTypes, ReadsAMillionDifferentWords) {
  std::string file = "id\n";
  constexpr std::size_t rows = 1000000;
  for (std::size_t i = 0; i < rows; ++i) file += "id-" + std::to_string(i * 2654435761U % 4294967296U) + "\n";
  const Text text = text_of(read_csv(file, std::nullopt, csv::Parser::default_chunk, {.threads = 2}));
  ASSERT_EQ(text.levels.size(), rows);
  for (std::size_t i = 0; i < rows; ++i) ASSERT_EQ(text.codes[i], i);
  EXPECT_EQ(text.levels[999], "id-" + std::to_string(999 * 2654435761U % 4294967296U));
}

TEST(CsvTypes, RefusesTooManyWords) {
  EXPECT_EQ(
      std::string(csv::too_many_words("d.csv", "id").what()),
      "d.csv: column \"id\" has more than 16,777,216 different words, too many for a text column; is it an id? "
      "Leave it out of the formula");
}

}  // namespace
}  // namespace mlo::testing
