// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/reader.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "data/csv_files.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/data/csv.hpp"
#include "mlo/data/table_reader.hpp"

namespace mlo {
namespace {

using Names = std::vector<std::string>;

static_assert(std::is_abstract_v<Reader>);

Table some_table() {
  Table table;
  table.source.name = "made here";
  table.rows = 3;
  table.columns = {{"a", {1, 2, 3}},
                   {"b", {4, 5, 6}},
                   {"colour", Text{.levels = {"red", "green"}, .codes = {0, Text::missing, 1}}}};
  return table;
}

std::uint64_t fingerprint(const Table& table, const Names& wanted = {"a", "b", "colour"}) {
  TableReader reader(&table);
  static_cast<void>(reader.read(wanted));
  return reader.fingerprint();
}

std::string refusal(const Table& table, const Names& wanted) {
  TableReader reader(&table);
  try {
    static_cast<void>(reader.read(wanted));
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

TEST(OpenReader, ReadsACsvFileAndKnowsTheLinesOfItsRows) {
  const testing::TemporaryFile file("a,b\n1,2\n\n3,4\n");
  const std::unique_ptr<Reader> reader = open_reader({file.path()});
  EXPECT_EQ(reader->header(), (Names{"a", "b"}));
  const Table table = reader->read(Names{"b"});
  EXPECT_EQ(table.rows, 2U);
  ASSERT_EQ(table.columns.size(), 1U);
  EXPECT_EQ(table.columns[0].numbers(), (Numbers{2, 4}));
  EXPECT_EQ(table.source.place(1), file.path() + ":4");

  CsvReader same(file.path());
  static_cast<void>(same.read(Names{"a", "b"}));  // the hash is of the file, whatever is wanted
  EXPECT_EQ(reader->fingerprint(), same.fingerprint());
}

TEST(OpenReader, RefusesAFileThatIsNotThere) {
  try {
    static_cast<void>(open_reader({"/no/such.csv"}));
    ADD_FAILURE();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "/no/such.csv: no such file");
  }
}

TEST(TableReader, GivesTheWantedColumnsInTheOrderAskedFor) {
  TableReader reader(some_table());
  EXPECT_EQ(reader.header(), (Names{"a", "b", "colour"}));
  const Table table = reader.read(Names{"colour", "a"});
  EXPECT_EQ(reader.header(), (Names{"a", "b", "colour"}));
  EXPECT_EQ(table.rows, 3U);
  EXPECT_EQ(table.source.place(2), "made here, row 3");
  ASSERT_EQ(table.columns.size(), 2U);
  EXPECT_EQ(table.columns[0].name, "colour");
  EXPECT_EQ(table.columns[0].text().codes, (std::vector<std::uint32_t>{0, Text::missing, 1}));
  EXPECT_EQ(table.columns[1].name, "a");
  EXPECT_EQ(table.columns[1].numbers(), (Numbers{1, 2, 3}));
}

TEST(TableReader, MovesTheColumnsItOwnsAndCopiesThoseItBorrows) {
  Table table = some_table();
  const double* const cells = table.columns[1].numbers().data();
  TableReader borrowing(&table);
  EXPECT_NE(borrowing.read(Names{"b"}).columns[0].numbers().data(), cells);
  EXPECT_EQ(table.columns[1].numbers(), (Numbers{4, 5, 6}));
  TableReader owning(std::move(table));
  EXPECT_EQ(owning.read(Names{"b"}).columns[0].numbers().data(), cells);
}

TEST(TableReader, HasAFingerprintThatShowsEveryChangeOfWhatWasRead) {
  const Table table = some_table();
  TableReader owning{some_table()};
  static_cast<void>(owning.read(Names{"a", "b", "colour"}));
  EXPECT_EQ(owning.fingerprint(), fingerprint(table));
  EXPECT_EQ(fingerprint(table), fingerprint(table));

  std::set<std::uint64_t> all = {fingerprint(table), fingerprint(table, {"a", "b"}),
                                 fingerprint(table, {"b", "a"})};
  EXPECT_EQ(all.size(), 3U);
  const auto differs = [&](auto change) {
    Table changed = some_table();
    change(changed.columns);
    return all.insert(fingerprint(changed, {changed.columns[0].name, "b", "colour"})).second;
  };
  EXPECT_TRUE(differs([](auto& columns) { columns[0].numbers()[2] = 3.5; }));
  EXPECT_TRUE(differs([](auto& columns) { std::swap(columns[0].cells, columns[1].cells); }));
  EXPECT_TRUE(differs([](auto& columns) { columns[0].name = "c"; }));
  EXPECT_TRUE(differs([](auto& columns) { columns[2].text().codes[1] = 0; }));
  EXPECT_TRUE(differs([](auto& columns) { columns[2].text().levels[1] = "blue"; }));
  EXPECT_TRUE(differs([](auto& columns) { columns[2].text().levels = {"redg", "reen"}; }));
  // A column that was not read does not count.
  Table other = some_table();
  other.columns[1].numbers()[0] = 9;
  EXPECT_EQ(fingerprint(other, {"a"}), fingerprint(table, {"a"}));
}

TEST(TableReader, RefusesATableThatDoesNotFitTogether) {
  Table table = some_table();
  table.columns.push_back({"a", {7, 8, 9}});
  table.columns.push_back({"short", {1, 2}});
  table.columns.push_back({"code", Text{.levels = {"x"}, .codes = {0, Text::missing, 1}}});
  EXPECT_EQ(refusal(table, {"b", "a"}), "made here: the table has more than one column \"a\"");
  EXPECT_EQ(refusal(table, {"short"}), "made here: column \"short\" has 2 cells, but the table has 3 rows");
  EXPECT_EQ(refusal(table, {"code"}), "made here, row 3: column \"code\": code 1 has no level; there are 1");
  EXPECT_EQ(refusal(table, {"b"}), "no error");
}

TEST(TableReader, ReportsProgressAndStopsWhenTheCallbackThrows) {
  std::vector<double> shares;
  TableReader reader(some_table());
  static_cast<void>(reader.read(Names{"a", "b"}, [&](double share) { shares.push_back(share); }));
  EXPECT_EQ(shares, (std::vector<double>{0.5, 1}));
  TableReader stopped(some_table());
  const Reader::Progress stop = [](double) { throw std::runtime_error("stop"); };
  EXPECT_THROW(static_cast<void>(stopped.read(Names{"a"}, stop)), std::runtime_error);
}

}  // namespace
}  // namespace mlo
