// Copyright (c) the mlo authors. BSD-3-Clause.
// Every message in full: the file (left out here by read_csv), the line, the rule and the value.
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "../../src/data/byte_source.hpp"
#include "data/csv_files.hpp"
#include "mlo/data/csv.hpp"

namespace mlo::testing {
namespace {

using Names = std::vector<std::string>;

std::string error(std::string_view text, std::optional<Names> wanted = std::nullopt,
                  std::size_t buffer = csv::Parser::default_chunk) {
  return read_csv(text, std::move(wanted), buffer).error;
}

std::string open_error(const std::string& path) {
  try {
    const CsvReader reader(path);
  } catch (const DataError& failure) {
    EXPECT_EQ(failure.code(), ExitCode::data);
    return failure.what();
  }
  return "no error";
}

TEST(CsvErrors, NameAFileThatCannotBeOpened) {
  const TemporaryFile file("x\n1\n");
  const std::string none = file.path() + "-not-there";
  EXPECT_EQ(open_error(none), none + ": no such file");
  const std::string directory = std::filesystem::temp_directory_path();
  EXPECT_EQ(open_error(directory), directory + ": is a directory, not a file");
  EXPECT_EQ(open_error(file.path() + "/x"), file.path() + "/x: cannot be read (Not a directory)");
  // The superuser may open everything, so these errors are produced directly.
  EXPECT_STREQ(file_error("d.csv", EACCES).what(), "d.csv: permission denied");
  EXPECT_STREQ(file_error("d.csv", EIO).what(), "d.csv: cannot be read (Input/output error)");
}

TEST(CsvErrors, NameAFileWithoutRows) {
  for (const std::string text : {"", "\n", "\r\n\n", "\xEF\xBB\xBF", "\xEF\xBB\xBF\n"}) {
    EXPECT_EQ(error(text), ": the file is empty");
    EXPECT_EQ(error(gzip(text)), ": the file is empty");
  }
  for (const std::string text : {"a,b", "a,b\n", "a,b\r\n\n\n"}) {
    EXPECT_EQ(error(text), ": no data rows, only a header line");
  }
}

TEST(CsvErrors, NameARowOfTheWrongLength) {
  EXPECT_EQ(error("a,b,c,d,e\n1,2,3,4,5\n1,2,3\n"), ":3: 3 cells, but the header has 5");
  EXPECT_EQ(error("a,b\n1,2\n\n1,2,3\n"), ":4: 3 cells, but the header has 2");
  EXPECT_EQ(error("a,b\n1\n"), ":2: 1 cell, but the header has 2");
  EXPECT_EQ(error("a,b\n1,2,\n", Names{"a"}), ":2: 3 cells, but the header has 2");
  EXPECT_EQ(error("a,b,c\n1,2\n", Names{"a"}), ":2: 2 cells, but the header has 3");
  EXPECT_EQ(error("a,b,c\n1,2\n", Names()), ":2: 2 cells, but the header has 3");
  EXPECT_EQ(error("a,b\n1,\"x\ny\"\nword\n", Names{"a"}), ":4: 1 cell, but the header has 2");
  EXPECT_EQ(error("a,b\n1,2\n \n"), ":3: 1 cell, but the header has 2");
}

// The error of reading columns that must hold numbers.
std::string number_error(std::string_view text, const Names& columns = {"x"},
                         std::size_t chunk = csv::Parser::default_chunk) {
  ReadOptions options;
  for (const std::string& column : columns) options.types[column] = ColumnType::number;
  return read_csv(text, columns, chunk, options).error;
}

std::string not_a_number(const std::string& value, const std::string& column = "x") {
  return " column \"" + column + "\": \"" + value +
         "\" is not a number, but `type` says that the column holds numbers; correct the cell, or list its spelling "
         "with `na` if it means missing";
}

TEST(CsvErrors, NameTheLineAndValueOfTheFirstWordInAColumnThatMustHoldNumbers) {
  EXPECT_EQ(number_error("x1,x3\n1,2\n3,1.5x\n4,5z\n5,6\n", {"x3"}), ":3:" + not_a_number("1.5x", "x3"));
  for (const std::string word : {"0x10", "1,5", "--1", "+-1", "1e", "e5", ".", "-", "+", "1 2", "1_000",
                                 "1.2.3", "T", "na", "Null", "1e5.0", "\xC3\xA9"}) {
    ReadOptions options{.decimal = '.'};
    options.types["x"] = ColumnType::number;
    EXPECT_EQ(read_csv("x;y\n1;1\n" + word + ";1\n", std::nullopt, 4, options).error,
              ":3:" + not_a_number(word));
  }
  EXPECT_EQ(number_error("x,y\n1,1\n\"a \"\"b\"\"\",1\n"), ":3:" + not_a_number("a \\\"b\\\""));
  EXPECT_EQ(number_error("x,y\n1,1\n\"1\"2,1\n"), ":3:" + not_a_number("\\\"1\\\"2"));
  // The first error counts, by rows and then by columns.
  EXPECT_EQ(number_error("x,y\n1,1\nz,1\n1,2,3\n"), ":3:" + not_a_number("z"));
  EXPECT_EQ(number_error("x,y\n1,1\nz,1\n\"never closed\n"), ":3:" + not_a_number("z"));
  EXPECT_EQ(number_error("x,y\n1,a\nz,1\n", {"x", "y"}), ":2:" + not_a_number("a", "y"));
}

TEST(CsvErrors, CountTheLinesBeforeABadCellInsideItsRow) {
  EXPECT_EQ(number_error("t,x\na,1\n\"b\nc\",2z\n"), ":4:" + not_a_number("2z"));
}

TEST(CsvErrors, ShortenAndEscapeTheValue) {
  const std::string at40 = std::string(40, '1') + "x";
  EXPECT_EQ(number_error("x\n1\n" + at40), ":3:" + not_a_number(std::string(40, '1') + "..."));
  EXPECT_EQ(number_error("x\n1\n" + std::string(39, '1') + "x"),
            ":3:" + not_a_number(std::string(39, '1') + "x"));
  // A character of two bytes is not cut in half.
  EXPECT_EQ(number_error("x\n1\n" + std::string(39, '1') + "\xC3\xA9"),
            ":3:" + not_a_number(std::string(39, '1') + "..."));
  EXPECT_EQ(number_error("x\n1\n\"a\nb\tc\rd\x1B\x7F\xFF\"\n"),
            ":3:" + not_a_number("a\\nb\\tc\\rd\\x1b\\x7f\\xff"));
  EXPECT_EQ(number_error("\"a\x01\"\n1\nz\n", {"a\x01"}), ":3:" + not_a_number("z", "a\\x01"));
}

TEST(CsvErrors, NameAWordThatIsNotUtf8) {
  const std::string remedy =
      " is not UTF-8 text; save the file as UTF-8, for example with iconv -f WINDOWS-1252 -t UTF-8";
  EXPECT_EQ(error("n,city\n1,Rome\n2,M\xFCnchen\n"), ":3: column \"city\": \"M\\xfcnchen\"" + remedy);
  EXPECT_EQ(error("n,city\n1,Rome\n2,\"M\xFCnchen\"\n"), ":3: column \"city\": \"M\\xfcnchen\"" + remedy);
  EXPECT_EQ(error("n,city\n1,Rome\n2,M\xFCnchen\n", Names{"n"}), "");  // it is not wanted
}

TEST(CsvErrors, RefuseNumbersThatAreNotFinite) {
  for (const std::string word : {"inf", "-inf", "+Inf", "INFINITY", "nan", "NaN", "-nan", "1e309",
                                 "-1e999999999999999", "123456789e301"}) {
    EXPECT_EQ(
        error("x,y\n1,1\n2,1\n3,1\n" + word + ",1\n"),
        ":5: column \"x\": \"" + word +
            "\" is not a finite number; leave the cell empty or write NA if the value is missing, or list its "
            "spelling with `na`");
  }
  // The first one of the file, found after all cells were seen: with a word the column is text.
  EXPECT_TRUE(error("x,y\n1,2\n3,inf\nnan,4\n", std::nullopt, 4).starts_with(":3: column \"y\": \"inf\""));
  EXPECT_EQ(error("name\nNan\nAnn\nInf\n"), "");
  EXPECT_EQ(error("name\nNan\nAnn\nInf\n", std::nullopt, 4), "");
}

TEST(CsvErrors, NameAQuoteThatIsNeverClosed) {
  EXPECT_EQ(error("x,t\n1,a\n2,\"b\n3,c\n4,d\n", Names{"x"}),
            ":3: the quote that starts here is never closed");
  EXPECT_EQ(error("x,t\n1,a\n\"2\n\",\"b\n3,c", Names{"x"}, 4),
            ":4: the quote that starts here is never closed");
  EXPECT_EQ(error("x,\"t\n1,a\n"), ":1: the quote that starts here is never closed");
  const std::string endless = "x,t\n1,a\n2,\"" + std::string(std::size_t{9} << 20, '\n');
  EXPECT_EQ(error(endless, Names{"x"}), ":3: the quote that starts here is not closed within 8 MiB");
}

TEST(CsvErrors, NameALineThatIsTooLong) {
  const std::string endless(std::size_t{9} << 20, 'a');
  EXPECT_EQ(error(endless), ":1: the line is longer than 8 MiB; is this a CSV file?");
  EXPECT_EQ(error("x\n1\n2\n" + endless), ":4: the line is longer than 8 MiB; is this a CSV file?");
  EXPECT_EQ(error(gzip("x\n1\n\n2\n" + endless)), ":5: the line is longer than 8 MiB; is this a CSV file?");
}

TEST(CsvErrors, NameTextThatIsNotUtf8) {
  using namespace std::string_view_literals;
  const std::string nul = " a NUL byte; is this UTF-16 text or a binary file? Save it as UTF-8 text";
  EXPECT_EQ(error("x\0\n\0"sv), ":1:" + nul);
  EXPECT_EQ(error("x,t\n1,a\n2,b\n3,\0\n"sv, Names{"x"}), ":4:" + nul);
  EXPECT_EQ(error("x,t\n1,a\n2,\"b\nc\n\0"sv, Names{"x"}), ":5:" + nul);
  EXPECT_EQ(error("x,t\n1,a\n2,\"b\nc\n\0"sv, Names{"x"}, 4), ":5:" + nul);
  EXPECT_EQ(error("\xFF\xFEx\0,\0"sv), ": is UTF-16 text; save it as UTF-8");
  EXPECT_EQ(error("\xFE\xFF\0x\0,"sv), ": is UTF-16 text; save it as UTF-8");
  EXPECT_EQ(error("\xFF\xFE\0\0x\0\0\0"sv), ": is UTF-32 text; save it as UTF-8");
  EXPECT_EQ(error("\0\0\xFE\xFF\0\0\0x"sv), ": is UTF-32 text; save it as UTF-8");
}

TEST(CsvErrors, NameLineEndsOfCarriageReturnsOnly) {
  EXPECT_EQ(error("a,b\r1,2\r3,4\r"),
            ":1: a carriage return inside the header; save the file with \\n or \\r\\n at the ends of lines");
}

TEST(CsvErrors, NameAWantedColumnThatIsThereTwice) {
  EXPECT_EQ(error("a,b,a\n1,2,3\n", Names{"b"}), "");
  EXPECT_EQ(error("a,b,a\n1,2,3\n", Names{"b", "a"}), ":1: the header has more than one column \"a\"");
  EXPECT_EQ(error("\n\na,b,a\n1,2,3\n", Names{"a"}), ":3: the header has more than one column \"a\"");
}

}  // namespace
}  // namespace mlo::testing
