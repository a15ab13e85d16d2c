// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/duckdb.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/duckdb_files.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/data/reader.hpp"
#include "support/refusals.hpp"

namespace mlo {
namespace {

using Names = std::vector<std::string>;
using testing::refusal;
using testing::run_sql;
using testing::TemporaryFolder;

// The cells of a text column; "<missing>" where there is none.
Names words(const Column& column) {
  Names out;
  for (const std::uint32_t code : column.text().codes)
    out.push_back(code == Text::missing ? "<missing>" : column.text().levels[code]);
  return out;
}

std::string parquet(const TemporaryFolder& folder, const std::string& query,
                    const std::string& name = "a.parquet") {
  std::string file = folder / name;
  run_sql(fmt::format("copy ({}) to '{}' (format parquet)", query, file));
  return file;
}

ReadOptions query(const std::string& sql) {
  ReadOptions options;
  options.sql = sql;
  return options;
}

Table all_columns(Reader& reader) { return reader.read(reader.header()); }
Table rows_of(const std::string& sql) { return all_columns(*open_reader({}, query(sql))); }

TEST(DuckdbReader, ReadsNumbersOfEveryType) {
  MLO_NEEDS_DUCKDB();
  const TemporaryFolder folder;
  const std::string file = parquet(
      folder,
      "select (-128)::tinyint i8, (-32768)::smallint i16, (-2147483648)::integer i32, "
      "(-9223372036854775808)::bigint i64, 255::utinyint u8, 65535::usmallint u16, 4294967295::uinteger u32, "
      "18446744073709551615::ubigint u64, 0.1::float f32, 0.1::double f64, true b, "
      "12.345::decimal(5, 3) d16, (-1234567.891)::decimal(18, 3) d64, "
      "12345678901234567890123456.789::decimal(38, 3) d128 "
      "union all select null, null, null, null, null, null, null, null, null, 'nan'::double, null, null, null, null");
  const std::unique_ptr<Reader> reader = open_reader({file});
  const Table table = all_columns(*reader);
  ASSERT_EQ(table.rows, 2U);
  const std::vector<double> expected{
      -128,  -32768,       -2147483648.0,          -9223372036854775808.0,        255,
      65535, 4294967295.0, 18446744073709551615.0, static_cast<double>(0.1F),     0.1,
      1,     12.345,       -1234567.891,           12345678901234567890123456.789};
  ASSERT_EQ(table.columns.size(), expected.size());
  for (std::size_t c = 0; c < expected.size(); ++c) {
    const Numbers& numbers = table.columns[c].numbers();
    EXPECT_EQ(numbers[0], expected[c]) << reader->header()[c];
    EXPECT_TRUE(std::isnan(numbers[1])) << reader->header()[c];
    EXPECT_EQ(table.columns[c].logical, reader->header()[c] == "b") << reader->header()[c];
  }
  EXPECT_EQ(table.source.place(1), file + ", row 2");
  ReadOptions options;
  options.types = {{"b", ColumnType::number}};
  EXPECT_FALSE(open_reader({file}, options)->read(Names{"b"}).columns[0].logical);
}

TEST(DuckdbReader, ReadsIntegersOf128Bits) {
  MLO_NEEDS_DUCKDB();
  const Table table = rows_of(
      "select (-170141183460469231731687303715884105728)::hugeint a, "
      "340282366920938463463374607431768211455::uhugeint b");
  EXPECT_EQ(table.columns[0].numbers()[0], -0x1p127);
  EXPECT_EQ(table.columns[1].numbers()[0], 0x1p128);
}

// What a CSV file with the same digits gives.
TEST(DuckdbReader, RoundsDecimalsOnce) {
  MLO_NEEDS_DUCKDB();
  std::mt19937_64 random(5);
  for (const int scale : {1, 2, 7, 12, 17, 18}) {
    std::string values;
    Names texts;
    for (int k = 0; k < 300; ++k) {
      const std::uint64_t digits = random() % 999'999'999'999'999'999ULL >> random() % 40;
      std::string text = fmt::format("{:0{}}", digits, scale + 1);
      text.insert(text.size() - static_cast<std::size_t>(scale), ".");
      if (random() % 2 == 0) text = "-" + text;
      values += fmt::format("{}({}::decimal(18, {}))", k == 0 ? "" : ", ", text, scale);
      texts.push_back(text);
    }
    const Table table = rows_of("select * from (values " + values + ") t(x)");
    for (std::size_t k = 0; k < texts.size(); ++k) {
      double expected = 0;
      std::from_chars(texts[k].data(), texts[k].data() + texts[k].size(), expected);
      EXPECT_EQ(table.columns[0].numbers()[k], expected) << texts[k];
    }
    ReadOptions as_text = query("select * from (values " + values + ") t(x)");
    as_text.types = {{"x", ColumnType::text}};
    EXPECT_EQ(words(all_columns(*open_reader({}, as_text)).columns[0]), texts);
  }
}

TEST(DuckdbReader, ReadsTextEnumerationsDatesAndTimesAsText) {
  MLO_NEEDS_DUCKDB();
  const TemporaryFolder folder;
  const std::string file = parquet(
      folder,
      "select * from (values "
      "('twelve bytes', 'a'::enum('b', 'a', 'unused'), date '2024-02-29', timestamp '1969-12-31 23:59:59.25', "
      "time '07:05:00', '8ad7b1f4-0d3f-4f0a-9b5c-000000000001'::uuid), "
      "('thirteen byte', 'b', date '0001-01-01', timestamp '9999-12-31 00:00:00', time '23:59:59.000001', "
      "'f0000000-0000-0000-0000-00000000000a'), "
      "('', null, null, null, null, null), (null, 'a', date '9999-12-31', timestamp '2000-01-01 12:00:00', "
      "time '00:00:00', null)) t(word, level, day, moment, hour, id)");
  const Table table = all_columns(*open_reader({file}));
  EXPECT_EQ(words(table.columns[0]), (Names{"twelve bytes", "thirteen byte", "", "<missing>"}));
  EXPECT_EQ(words(table.columns[1]), (Names{"a", "b", "<missing>", "a"}));
  EXPECT_EQ(table.columns[1].text().levels, (Names{"a", "b"})) << "those that occur, in the order they do";
  EXPECT_EQ(words(table.columns[2]), (Names{"2024-02-29", "0001-01-01", "<missing>", "9999-12-31"}));
  EXPECT_EQ(words(table.columns[3]),
            (Names{"1969-12-31 23:59:59.25", "9999-12-31 00:00:00", "<missing>", "2000-01-01 12:00:00"}));
  EXPECT_EQ(words(table.columns[4]), (Names{"07:05:00", "23:59:59.000001", "<missing>", "00:00:00"}));
  EXPECT_EQ(words(table.columns[5]),
            (Names{"8ad7b1f4-0d3f-4f0a-9b5c-000000000001", "f0000000-0000-0000-0000-00000000000a",
                   "<missing>", "<missing>"}));
}

TEST(DuckdbReader, SpellsTimestampsOfEveryUnitAsDuckdbDoes) {
  MLO_NEEDS_DUCKDB();
  const std::string moments =
      "select timestamp '1900-01-01 00:00:01' + to_days((i * 37) % 60000) + to_seconds(i * 7919) "
      "+ to_microseconds((i % 3) * 250000) as t from range(2000) r(i)";
  const Table table = rows_of(
      "select t, t::varchar, t::timestamp_s as s, t::timestamp_s::varchar, t::timestamp_ms as "
      "ms, t::timestamp_ms::varchar, t::timestamp_ns as ns, t::timestamp_ns::varchar, t::date as d, "
      "t::date::varchar, t::time as h, t::time::varchar from (" +
      moments + ")");
  ASSERT_EQ(table.rows, 2000U);
  for (std::size_t c = 0; c < table.columns.size(); c += 2)
    EXPECT_EQ(words(table.columns[c]), words(table.columns[c + 1])) << table.columns[c].name;
}

TEST(DuckdbReader, KeepsTheOrderOfTheFileAndReadsOnlyWhatIsWanted) {
  MLO_NEEDS_DUCKDB();
  const TemporaryFolder folder;
  const std::string file = folder / "a.parquet";
  run_sql(fmt::format(
      "copy (select range as i, [range] as list, 'word ' || (range % 1000) as w, range / 7.0 as x from "
      "range(200000)) to '{}' (format parquet, row_group_size 5000)",
      file));
  for (const std::size_t threads : {1, 2, 5}) {
    ReadOptions options;
    options.threads = threads;
    const std::unique_ptr<Reader> reader = open_reader({file}, options);
    EXPECT_EQ(reader->header(), (Names{"i", "list", "w", "x"}));
    double last = 0;
    const Table table = reader->read(Names{"w", "i"}, [&](double share) {
      EXPECT_GE(share, last);
      last = share;
    });
    EXPECT_EQ(last, 1);
    ASSERT_EQ(table.rows, 200'000U);
    const Numbers& i = table.columns[1].numbers();
    for (std::size_t row = 0; row < table.rows; ++row) {
      ASSERT_EQ(i[row], static_cast<double>(row));
      ASSERT_EQ(table.columns[0].text().codes[row], row % 1000);
    }
  }
}

TEST(DuckdbReader, KeepsTheOrderOfAQuery) {
  MLO_NEEDS_DUCKDB();
  const Table table = rows_of("select range as i from range(100000) order by i desc");
  for (std::size_t row = 0; row < table.rows; ++row)
    ASSERT_EQ(table.columns[0].numbers()[row], static_cast<double>(99'999 - row));
}

// An end of the rows that is really a failure would be a smaller data set without a word.
TEST(DuckdbReader, DoesNotTakeAFailureForTheEndOfTheRows) {
  MLO_NEEDS_DUCKDB();
  for (const char* bad : {"10", "90000", "299999"}) {
    const std::string sql = fmt::format(
        "select case when range = {} then error('it broke') else range end as x from range(300000)", bad);
    const std::string words = refusal([&] { static_cast<void>(rows_of(sql)); });
    EXPECT_NE(words.find("it broke"), std::string::npos) << words;
    EXPECT_NE(words.find(sql), std::string::npos) << words;
    EXPECT_TRUE(words.starts_with("`sql`: ")) << words;
  }
  const TemporaryFolder folder;  // a damaged file: a page in the middle is overwritten
  const std::string file = parquet(folder, "select hash(range) as x from range(300000)");
  {
    std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
    stream.seekp(static_cast<std::streamoff>(std::filesystem::file_size(file) / 2));
    stream.write(std::string(200'000, '\xFF').data(), 200'000);
  }
  EXPECT_NE(refusal([&] { static_cast<void>(all_columns(*open_reader({file}))); }), "no error");
}

TEST(DuckdbReader, PassesOnWhatDuckdbSaysOfAQuery) {
  MLO_NEEDS_DUCKDB();
  const auto said = [](const std::string& sql) { return refusal([&] { static_cast<void>(rows_of(sql)); }); };
  EXPECT_NE(said("selct 1").find("Parser Error"), std::string::npos);
  EXPECT_NE(said("selct 1").find("selct 1"), std::string::npos);
  EXPECT_NE(said("select x from nowhere").find("nowhere"), std::string::npos);
  EXPECT_NE(said("select 1; select 2"), "no error");
  EXPECT_NE(said("create table t(x int)").find("must be one query that gives rows"), std::string::npos);
  EXPECT_NE(said(""), "no error");
  EXPECT_EQ(said("select 1 as x where false"), "`sql`: no rows");
  EXPECT_EQ(said("select 1 as x, 2 as x"), "`sql`: more than one column is called \"x\"");
  EXPECT_EQ(
      said("select 1 as y, [1, 2] as tags"),
      "`sql`: column \"tags\" holds lists, which are neither numbers nor text; make a column of what you need "
      "with `sql`");
  EXPECT_EQ(
      said("select * from (values (1.0), ('inf'::double)) t(x)"),
      "`sql`, row 2: column \"x\": inf is not a finite number; make it null or NaN if the value is missing");
  EXPECT_EQ(said("select 'infinity'::date as d"),
            "`sql`, row 1: column \"d\": a date that is infinite or whose year does not have four digits");
  EXPECT_EQ(said("select 1 as x -- a comment at the end"), "no error");
  EXPECT_EQ(said("select 1 as x;"), "no error");
}

TEST(DuckdbReader, TakesTheTypeThatIsAskedFor) {
  MLO_NEEDS_DUCKDB();
  ReadOptions options = query(
      "select * from (values (1, 1.0::double, ' 2.5 ', true), (9007199254740993, 0.1, '-', false), "
      "(null, null, '', null)) t(i, x, w, b)");
  options.types = {
      {"i", ColumnType::text}, {"x", ColumnType::text}, {"w", ColumnType::number}, {"b", ColumnType::text}};
  options.na = {"-"};
  const Table table = all_columns(*open_reader({}, options));
  EXPECT_EQ(words(table.columns[0]), (Names{"1", "9007199254740993", "<missing>"}));
  EXPECT_EQ(words(table.columns[1]), (Names{"1", "0.1", "<missing>"}));
  EXPECT_EQ(table.columns[2].numbers()[0], 2.5);
  EXPECT_TRUE(std::isnan(table.columns[2].numbers()[1]));
  EXPECT_TRUE(std::isnan(table.columns[2].numbers()[2]));
  EXPECT_EQ(words(table.columns[3]), (Names{"true", "false", "<missing>"}));

  options.na = ReadOptions{}.na;  // a dash is a word, and so is NA in a format that has NULL
  EXPECT_EQ(refusal([&] { static_cast<void>(all_columns(*open_reader({}, options))); }),
            "`sql`, row 2: column \"w\": not a number (\"-\"), but `type w=number` says that all cells are");
  EXPECT_EQ(words(rows_of("select 'NA' as country").columns[0]), (Names{"NA"}));
  options.types = {{"z", ColumnType::text}};
  EXPECT_EQ(refusal([&] { static_cast<void>(open_reader({}, options)); }),
            "`type`: `sql` has no column \"z\"");
}

TEST(DuckdbReader, ReadsJsonLinesAndArraysOfObjects) {
  MLO_NEEDS_DUCKDB();
  const TemporaryFolder folder;
  const std::string lines =
      "{\"y\": 1, \"x\": 0.5, \"w\": \"red\", \"day\": \"2024-05-01\", \"flag\": true, \"mixed\": 7, \"inner\": {\"a\": 1}}\n"
      "{\"x\": 1e3, \"y\": 0, \"w\": \"a \\\"b\\\"\", \"day\": \"2024-05-02T10:00:00Z\", \"mixed\": \"seven\"}\n"
      "{\"y\": null, \"x\": -2, \"extra\": 3}\n";
  std::string array = "[" + lines;
  for (std::size_t at = array.find("}\n{"); at != std::string::npos; at = array.find("}\n{"))
    array.replace(at, 3, "},{");
  array += "]";
  for (const std::string& file :
       {folder.write("a.jsonl", lines), folder.write("b.ndjson", lines), folder.write("c.json", array),
        folder.write("d.jsonl.gz", testing::gzip(lines))}) {
    const std::unique_ptr<Reader> reader = open_reader({file});
    EXPECT_EQ(reader->header(), (Names{"y", "x", "w", "day", "flag", "mixed", "inner", "extra"})) << file;
    const Table table = reader->read(Names{"x", "y", "w", "day", "flag", "mixed"});
    EXPECT_EQ(table.columns[0].numbers(), (Numbers{0.5, 1000, -2})) << file;
    EXPECT_EQ(table.columns[1].numbers()[1], 0);
    EXPECT_TRUE(std::isnan(table.columns[1].numbers()[2]));
    EXPECT_EQ(words(table.columns[2]), (Names{"red", "a \"b\"", "<missing>"}));
    EXPECT_EQ(words(table.columns[3]), (Names{"2024-05-01", "2024-05-02T10:00:00Z", "<missing>"}));
    EXPECT_EQ(table.columns[4].numbers()[0], 1);
    EXPECT_TRUE(table.columns[4].logical);
    EXPECT_EQ(words(table.columns[5]), (Names{"7", "seven", "<missing>"}));
    EXPECT_EQ(
        refusal([&] { static_cast<void>(open_reader({file})->read(Names{"inner"})); }),
        file +
            ": column \"inner\" holds structs, which are neither numbers nor text; make a column of what you "
            "need with `sql`");
  }
}

// The types of a JSON file come from all its objects, not from the first ones.
TEST(DuckdbReader, SeesAWordInTheLastLineOfAJsonFile) {
  MLO_NEEDS_DUCKDB();
  std::string lines;
  for (int k = 0; k < 60'000; ++k) lines += fmt::format("{{\"x\": {}}}\n", k);
  const TemporaryFolder folder;
  EXPECT_FALSE(all_columns(*open_reader({folder.write("a.jsonl", lines)})).columns[0].is_text());
  const Table table = all_columns(*open_reader({folder.write("b.jsonl", lines + "{\"x\": \"many\"}\n")}));
  ASSERT_TRUE(table.columns[0].is_text());
  EXPECT_EQ(table.columns[0].text().levels.back(), "many");
  EXPECT_EQ(table.columns[0].text().levels[59'999], "59999");
}

TEST(DuckdbReader, NamesAJsonFileThatIsNotOne) {
  MLO_NEEDS_DUCKDB();
  const TemporaryFolder folder;
  const std::string file = folder.write("a.jsonl", "{\"x\": 1}\n{\"x\": \n");
  EXPECT_TRUE(
      refusal([&] { static_cast<void>(all_columns(*open_reader({file}))); }).starts_with(file + ": "));
}

TEST(DuckdbReader, KnowsAParquetFileByItsFirstBytesAndTakesNamesLiterally) {
  MLO_NEEDS_DUCKDB();
  const TemporaryFolder folder;
  for (const char* name : {"plain.data", "with ''quote.parquet", "[ab]*?.parquet"}) {
    std::string unquoted = name;
    if (const std::size_t at = unquoted.find("''"); at != std::string::npos) unquoted.erase(at, 1);
    static_cast<void>(parquet(folder, "select 5 as x", name));
    EXPECT_EQ(all_columns(*open_reader({folder / unquoted})).columns[0].numbers(), Numbers{5}) << name;
  }
  const std::string file = folder.write("b.parquet", "y,x\n1,2\n");
  EXPECT_TRUE(refusal([&] { static_cast<void>(open_reader({file})); }).starts_with(file + ": "))
      << "not Parquet";
  EXPECT_EQ(refusal([&] { static_cast<void>(open_reader({folder / "none.parquet"})); }),
            folder / "none.parquet" + ": no such file");
  std::filesystem::create_directory(folder / "parts.parquet");
  EXPECT_EQ(
      refusal([&] { static_cast<void>(open_reader({folder / "parts.parquet"})); }),
      fmt::format("{0}: is a directory, not a file; its files are \"{0}/*\"", folder / "parts.parquet"));
}

TEST(DuckdbReader, ReadsADatabaseWithoutChangingIt) {
  MLO_NEEDS_DUCKDB();
  const TemporaryFolder folder;
  const std::string file = folder / "shop.duckdb";
  run_sql("create table sales as select range as x, range % 2 as y from range(10)", file);
  run_sql("create table customers(id int)", file);
  EXPECT_EQ(all_columns(*open_reader({file}, query("select x from sales where y = 1"))).columns[0].numbers(),
            (Numbers{1, 3, 5, 7, 9}));
  EXPECT_EQ(refusal([&] { static_cast<void>(open_reader({file})); }),
            file +
                " is a database, with the tables customers, sales; say what to read from it with `sql`, e.g. "
                "\"select * from customers\"");
  const std::string csv = folder.write("a.csv", "x\n1\n");
  EXPECT_EQ(
      refusal([&] { static_cast<void>(open_reader({csv}, query("select 1 as x"))); }),
      fmt::format(
          "with `sql`, `data` is a DuckDB database or is left out, and {0} is not one; name files in the "
          "query: select ... from '{0}'",
          csv));
  EXPECT_EQ(refusal([&] {
              static_cast<void>(open_reader({file, csv}, query("select 1 as x")));
            }),
            "`sql` reads from one database at most; name files in the query");
}

TEST(DuckdbReader, HashesWhatItHasRead) {
  MLO_NEEDS_DUCKDB();
  const auto hash = [](const std::string& sql) {
    const std::unique_ptr<Reader> reader = open_reader({}, query(sql));
    EXPECT_EQ(reader->fingerprint(), 0U);
    static_cast<void>(all_columns(*reader));
    return reader->fingerprint();
  };
  EXPECT_EQ(hash("select 1 as x, 'a' as w"), hash("select 1::double as x, 'a' as w"));
  EXPECT_NE(hash("select 1 as x, 'a' as w"), hash("select 2 as x, 'a' as w"));
  EXPECT_NE(hash("select 1 as x, 'a' as w"), hash("select 1 as x, 'b' as w"));
}

TEST(DuckdbReader, CanBeStoppedBeforeTheFirstRowAndLater) {
  MLO_NEEDS_DUCKDB();
  struct Stop {};
  for (const char* sql :
       {"select sum(hash(a.range + b.range) % 7) as x from range(100000) a, range(100000) b",
        "select range as x from range(1000000000)"}) {
    const std::unique_ptr<Reader> reader = open_reader({}, query(sql));
    int calls = 0;
    EXPECT_THROW(static_cast<void>(reader->read(Names{"x"},
                                                [&](double) {
                                                  if (++calls == 5) throw Stop();
                                                })),
                 Stop)
        << sql;
  }
}

}  // namespace
}  // namespace mlo
