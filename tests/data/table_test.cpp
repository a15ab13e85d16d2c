// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/data/design.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/table_reader.hpp"

namespace mlo {
namespace {

const Text colours{.levels = {"red", "green"}, .codes = {1, 0, Text::missing, 1}};

TEST(Column, IsEasyToMakeFromNumbers) {
  Table table;
  table.columns.push_back({"x", std::vector<double>(3, 1.5)});
  table.columns.push_back({"y", {1, 2, 3}});
  table.columns.push_back({"empty", {}});
  EXPECT_EQ(table.columns[0].numbers(), (Numbers{1.5, 1.5, 1.5}));
  EXPECT_EQ(table.columns[1].numbers(), (Numbers{1, 2, 3}));
  EXPECT_EQ(table.columns[1].size(), 3U);
  EXPECT_FALSE(table.columns[1].is_text());
  EXPECT_FALSE(table.columns[2].is_text());
  EXPECT_EQ(table.columns[2].size(), 0U);
}

TEST(Column, GivesBackTheTextItWasMadeOf) {
  const Column column{"colour", colours};
  ASSERT_TRUE(column.is_text());
  EXPECT_EQ(column.name, "colour");
  EXPECT_EQ(column.size(), 4U);
  std::vector<std::string> words;
  for (const std::uint32_t code : column.text().codes)
    words.push_back(code == Text::missing ? "NA" : column.text().levels[code]);
  EXPECT_EQ(words, (std::vector<std::string>{"green", "red", "NA", "green"}));
}

TEST(Column, RefusesToBeReadAsTheOtherType) {
  EXPECT_THROW(static_cast<void>(Column("colour", colours).numbers()), std::bad_variant_access);
  EXPECT_THROW(static_cast<void>(Column("x", {1}).text()), std::bad_variant_access);
}

std::vector<std::int64_t> awkward_integers() {
  constexpr std::int64_t most = std::int64_t{1} << 53;
  std::vector<std::int64_t> out{0, 1, -1};
  for (const std::int64_t edge : {most / 8, most / 4, most / 2, most - 1})
    for (const std::int64_t by : {-1, 0, 1}) {
      out.push_back(edge + by);
      out.push_back(-edge - by);
    }
  for (std::int64_t k = 0; k < 3000; ++k)
    out.push_back(k * k - 1'000'000);  // several blocks, the last one not whole
  return out;
}

TEST(Integers, BecomeTheirDoubles) {
  const std::vector<std::int64_t> integers = awkward_integers();
  for (const std::size_t first : {0U, 1U, 30U}) {  // with large ones in the first block, and without
    const std::span<const std::int64_t> some = std::span(integers).subspan(first);
    std::vector<double> doubles(some.size());
    to_doubles(some, doubles);
    for (std::size_t i = 0; i < some.size(); ++i) ASSERT_EQ(doubles[i], static_cast<double>(some[i]));
  }
}

// A column of them is the column of their doubles: the same cells, design and fingerprint.
TEST(Integers, AreTheSameDataAsDoubles) {
  const auto kept = std::make_shared<const std::vector<std::int64_t>>(awkward_integers());
  const std::size_t rows = kept->size();
  Column column("x", BorrowedIntegers{std::span<const std::int64_t>(*kept), kept});
  const Column plain("x", Numbers(kept->begin(), kept->end()));
  EXPECT_EQ(column.size(), rows);
  EXPECT_FALSE(column.is_text());
  EXPECT_EQ(column.number(7), plain.number(7));
  EXPECT_THROW(static_cast<void>(column.values()), std::bad_variant_access);
  const auto read = [&](const Column& x) {
    Table table{.source = {.name = "test"}, .columns = {x}, .rows = rows};
    TableReader reader(std::move(table));
    const std::vector<std::string> wanted{"x"};
    static_cast<void>(reader.read(wanted));
    return reader.fingerprint();
  };
  EXPECT_EQ(read(column), read(plain));
  const auto design = [&](const Column& x) {
    Table table{.source = {.name = "test"}, .columns = {x, {"y", Numbers(rows, 1.5)}}, .rows = rows};
    const std::vector<std::string> header{"x", "y"};
    return build_design(parse_formula("y ~ x + I(x^2)", header), std::move(table), {});
  };
  EXPECT_EQ(design(column).x, design(plain).x);
  column.make_doubles();
  EXPECT_EQ(column.numbers(), plain.numbers());
}

TEST(Source, SaysTheLineOfAFileAndTheNumberOfARowInMemory) {
  Source source{.name = "data.csv", .unit = Source::Unit::line};
  EXPECT_EQ(source.place(0), "data.csv:2");
  EXPECT_EQ(source.place(15), "data.csv:17");
  source.shift(3, 2);
  source.shift(3, 1);
  source.shift(5, 10);
  EXPECT_EQ(source.place(2), "data.csv:4");
  EXPECT_EQ(source.place(3), "data.csv:8");
  EXPECT_EQ(source.place(4), "data.csv:9");
  EXPECT_EQ(source.place(5), "data.csv:20");
  EXPECT_EQ((Source{.name = "simulated data"}).place(4), "simulated data, row 5");
}

TEST(Source, OfSeveralFilesSaysTheFileOfARowAndItsLineThere) {
  using Rows = std::pair<Source, std::size_t>;
  Source first{.name = "a.csv", .unit = Source::Unit::line};
  first.shift(1, 2);  // two blank lines before its second row
  const Source empty{.name = "empty.csv", .unit = Source::Unit::line}, table{.name = "b.parquet"};
  Source last{.name = "c.csv", .unit = Source::Unit::line};
  last.shift(0, 3);
  last.shift(2, 1);
  for (const std::vector<Rows>& files : {std::vector<Rows>{{first, 2}, {empty, 0}, {table, 3}, {last, 4}},
                                         {{empty, 0}, {table, 1}, {first, 3}},
                                         {{last, 3}, {first, 1}, {first, 5}},
                                         {{table, 2}, {table, 2}, {table, 1}}}) {
    const Source all = joined("files", files);
    std::size_t row = 0, before = 0;
    for (const auto& [source, rows] : files)
      for (std::size_t r = 0; r < rows; ++r, ++row) {
        EXPECT_EQ(all.place(row), source.place(r)) << row;
        EXPECT_GT(all.number(row), before);
        before = all.number(row);
      }
  }
}

TEST(Source, OfADesignCountsTheRowsThatWereDropped) {
  Table table;
  table.source.name = "simulated data";
  table.rows = 5;
  table.columns = {{"y", {1, 2, 3, 4, 5}}, {"x", {std::nan(""), 1, 4, std::nan(""), 2}}};
  const std::vector<std::string> header = {"y", "x"};
  const Design design = build_design(parse_formula("y ~ x", header), table, {});
  EXPECT_EQ(design.place(0), "simulated data, row 2");
  EXPECT_EQ(design.place(1), "simulated data, row 3");
  EXPECT_EQ(design.place(2), "simulated data, row 5");
  EXPECT_EQ(design.source.name, "simulated data");
}

TEST(Source, OfADesignOfSeveralFilesKnowsTheFileOfARow) {
  Source first{.name = "a.csv", .unit = Source::Unit::line},
      second{.name = "b.csv", .unit = Source::Unit::line};
  second.shift(1, 1);
  Table table;
  table.source =
      joined("a.csv and b.csv", std::vector<std::pair<Source, std::size_t>>{{first, 2}, {second, 3}});
  table.rows = 5;
  table.columns = {{"y", {1, 2, 3, 4, 5}}, {"x", {std::nan(""), 1, std::nan(""), 3, 2}}};
  const std::vector<std::string> header = {"y", "x"};
  const Design design = build_design(parse_formula("y ~ x", header), table, {});
  EXPECT_EQ(design.place(0), "a.csv:3");
  EXPECT_EQ(design.place(1), "b.csv:4");
  EXPECT_EQ(design.place(2), "b.csv:5");
}

TEST(DesignMessage, NamesATextColumnWhereNumbersAreNeeded) {
  Table table;
  table.source = {.name = "shop.csv", .unit = Source::Unit::line};
  table.rows = 4;
  table.columns = {{"y", {1, 2, 3, 5}}, {"x", {1, 2, 2, 1}}, {"colour", colours}};
  const std::vector<std::string> header = {"y", "x", "colour"};
  for (const auto& [formula, user] : {std::pair{"y ~ log(colour)", "log()"},
                                      {"y ~ x + offset(colour)", "offset()"},
                                      {"y ~ I(-colour)", "'-'"},
                                      {"y ~ I(colour + x)", "'+'"},
                                      {"y ~ poly(colour, 2)", "poly()"}}) {
    try {
      static_cast<void>(build_design(parse_formula(formula, header), table, {}));
      ADD_FAILURE() << formula;
    } catch (const DataError& error) {
      EXPECT_EQ(error.what(),
                fmt::format("shop.csv: column \"colour\" holds text (\"red\"), but {} needs numbers", user));
    }
  }
}

TEST(Column, OfBorrowedNumbersReadsThemWhereTheyAreAndKeepsThemAlive) {
  auto owner = std::make_shared<Numbers>(Numbers{1.5, 2.5, 4.5});
  const std::weak_ptr<Numbers> watched = owner;
  Design design;
  {
    Table table;
    table.rows = 3;
    table.columns.push_back({"y", {1, 2, 5}});
    table.columns.push_back({"x", BorrowedNumbers{*owner, owner}});
    const Column& x = table.columns[1];
    EXPECT_EQ(x.values().data(), owner->data());
    EXPECT_EQ(x.size(), 3U);
    EXPECT_FALSE(x.is_text());
    EXPECT_THROW(static_cast<void>(x.numbers()), std::bad_variant_access);
    owner.reset();
    EXPECT_FALSE(watched.expired());
    const std::vector<std::string> columns{"y", "x"};
    design = build_design(parse_formula("y ~ x", columns), std::move(table), {});
  }
  EXPECT_TRUE(watched.expired());  // the design has rows of its own
  std::vector<double> row(2);
  design.user_row(2, row);
  EXPECT_NEAR(row[1], 4.5, 1e-12);
}

TEST(Text, KeepsTheOrderOfItsLevelsOnlyIfItIsTheUsers) {
  const std::vector<std::string> columns{"y", "f"};
  for (const bool in_order : {false, true}) {
    Table table;
    table.rows = 6;
    table.columns.push_back({"y", {1, 2, 5, 3, 4, 6}});
    Text f{.levels = {"low", "unused", "high", "hot"}, .codes = {0, 2, 3, 2, 0, 3}};
    f.in_order = in_order;
    table.columns.push_back({"f", f});
    const Design design = build_design(parse_formula("y ~ f", columns), std::move(table), {});
    EXPECT_EQ(design.names, in_order ? (std::vector<std::string>{"(Intercept)", "fhigh", "fhot"})
                                     : (std::vector<std::string>{"(Intercept)", "fhot", "flow"}));
  }
}

}  // namespace
}  // namespace mlo
