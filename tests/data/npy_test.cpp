// Copyright (c) the mlo authors. BSD-3-Clause.
// Files as NumPy's documentation describes them: numpy.lib.format, versions 1.0 to 3.0.
#include "mlo/data/npy.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "data/csv_files.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/data/reader.hpp"

namespace mlo {
namespace {

using Names = std::vector<std::string>;
using testing::TemporaryFile;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string out(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

// The header is filled up with blanks so that the data start at a multiple of 64 bytes.
std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  const std::size_t size_bytes = version == 1 ? 2 : 4;
  std::string header = dictionary;
  while ((out.size() + size_bytes + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  for (std::size_t k = 0; k < size_bytes; ++k) out += static_cast<char>(header.size() >> (8 * k) & 0xFFU);
  return out + header + data;
}
std::string array(const std::string& descr, const std::string& shape, const std::string& data,
                  bool fortran = false) {
  return npy(fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}", descr,
                         fortran ? "True" : "False", shape),
             data);
}

Table read(const std::string& contents, const ReadOptions& options = {}) {
  const TemporaryFile file(contents);
  const std::unique_ptr<Reader> reader = open_reader({file.path()}, options);
  return reader->read(reader->header());
}

// The message without the name of the file.
std::string refusal(const std::string& contents, const ReadOptions& options = {}) {
  const TemporaryFile file(contents);
  try {
    const std::unique_ptr<Reader> reader = open_npy(file.path(), options);
    static_cast<void>(reader->read(reader->header()));
  } catch (const DataError& error) {
    const std::string words = error.what();
    return words.starts_with(file.path()) ? words.substr(file.path().size()) : words;
  }
  return "no error";
}

template <class T>
void expect_type(const std::string& descr, const std::vector<T>& values) {
  const Table table = read(array(descr, fmt::format("({},)", values.size()), bytes_of(values)));
  ASSERT_EQ(table.columns.size(), 1U);
  EXPECT_EQ(table.columns[0].name, "x1");
  const std::vector<double> expected(values.begin(), values.end());
  EXPECT_EQ(table.columns[0].numbers(), expected) << descr;
}

TEST(NpyReader, ReadsNumbersOfEveryType) {
  expect_type<double>("'<f8'", {0.1, -1e300, 0});
  expect_type<float>("'<f4'", {0.1F, -1e30F, 0});
  expect_type<std::int64_t>("'<i8'", {std::numeric_limits<std::int64_t>::min(), 3});
  expect_type<std::int32_t>("'<i4'", {std::numeric_limits<std::int32_t>::min(), 3});
  expect_type<std::int16_t>("'<i2'", {-300, 3});
  expect_type<std::int8_t>("'|i1'", {-128, 3});
  expect_type<std::uint64_t>("'<u8'", {std::numeric_limits<std::uint64_t>::max(), 3});
  expect_type<std::uint32_t>("'<u4'", {4294967295U, 3});
  expect_type<std::uint16_t>("'<u2'", {65535, 3});
  expect_type<std::uint8_t>("'|u1'", {255, 3});
  const Table booleans = read(array("'|b1'", "(3,)", std::string("\1\0\1", 3)));
  EXPECT_EQ(booleans.columns[0].numbers(), (Numbers{1, 0, 1}));
  EXPECT_TRUE(booleans.columns[0].logical);
  EXPECT_FALSE(read(array("'|u1'", "(3,)", std::string("\1\0\1", 3))).columns[0].logical);
}

TEST(NpyReader, ReadsRowsInBothOrders) {
  constexpr std::size_t rows = 40'000, columns = 5;  // more than a block
  std::vector<double> by_row, by_column;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) by_row.push_back(static_cast<double>(10 * i + j));
  for (std::size_t j = 0; j < columns; ++j)
    for (std::size_t i = 0; i < rows; ++i) by_column.push_back(static_cast<double>(10 * i + j));
  const std::string shape = fmt::format("({}, {})", rows, columns);
  for (const std::string& contents :
       {array("'<f8'", shape, bytes_of(by_row)), array("'<f8'", shape, bytes_of(by_column), true),
        testing::gzip(array("'<f8'", shape, bytes_of(by_row)))}) {
    const TemporaryFile file(contents);
    const std::unique_ptr<Reader> reader = open_npy(file.path());
    EXPECT_EQ(reader->header(), (Names{"x1", "x2", "x3", "x4", "x5"}));
    const Table table = reader->read(Names{"x4", "x2"});
    ASSERT_EQ(table.rows, rows);
    for (std::size_t i = 0; i < rows; ++i) {
      ASSERT_EQ(table.columns[0].numbers()[i], static_cast<double>(10 * i + 3));
      ASSERT_EQ(table.columns[1].numbers()[i], static_cast<double>(10 * i + 1));
    }
    EXPECT_EQ(table.source.place(6), file.path() + ", row 7");
  }
}

TEST(NpyReader, NamesTheColumnsOfRecords) {
  std::string data;
  for (int k = 0; k < 3; ++k)
    data += bytes_of<std::int32_t>({k}) + std::string(4, 'p') + bytes_of<double>({k / 2.0}) +
            static_cast<char>(k % 2);
  const Table table =
      read(array("[('id', '<i4'), ('', '|V4'), ('my x', '<f8'), ('b', '|b1')]", "(3,)", data));
  ASSERT_EQ(table.columns.size(), 3U);
  EXPECT_EQ(table.columns[0].name, "id");
  EXPECT_EQ(table.columns[1].name, "my x");
  EXPECT_EQ(table.columns[0].numbers(), (Numbers{0, 1, 2}));
  EXPECT_EQ(table.columns[1].numbers(), (Numbers{0, 0.5, 1}));
  EXPECT_EQ(table.columns[2].numbers(), (Numbers{0, 1, 0}));
}

TEST(NpyReader, KnowsAllVersionsOfTheFormat) {
  const std::string dictionary = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }";
  for (const int version : {1, 2, 3})
    EXPECT_EQ(read(npy(dictionary, bytes_of<double>({7}), version)).columns[0].numbers(), Numbers{7});
  EXPECT_EQ(refusal(npy(dictionary, bytes_of<double>({7}), 4)),
            ": version 4 of the .npy format is not known");
}

TEST(NpyReader, TakesNanForMissingAndRefusesInfinity) {
  const Table table = read(array("'<f8'", "(2,)", bytes_of<double>({std::nan(""), 1})));
  EXPECT_TRUE(std::isnan(table.columns[0].numbers()[0]));
  EXPECT_EQ(
      refusal(array("'<f4'", "(2, 2)", bytes_of<float>({1, 2, 3, -INFINITY}))),
      ", row 2: column \"x2\": -inf is not a finite number; make it null or NaN if the value is missing");
  EXPECT_EQ(refusal(array("'|b1'", "(2,)", std::string("\1\2"))),
            ", row 2: column \"x1\": a boolean that is neither 0 nor 1; is the file damaged?");
}

TEST(NpyReader, SpellsNumbersAsTextIfAsked) {
  ReadOptions options;
  options.types = {{"x1", ColumnType::text}};
  EXPECT_EQ(read(array("'<i8'", "(2,)", bytes_of<std::int64_t>({9007199254740993, 5})), options)
                .columns[0]
                .text()
                .levels,
            (Names{"9007199254740993", "5"}));
  EXPECT_EQ(read(array("'<f8'", "(2,)", bytes_of<double>({1, 0.1})), options).columns[0].text().levels,
            (Names{"1", "0.1"}));
}

TEST(NpyReader, RefusesOtherTypesWithWhatToSave) {
  const std::string remedy = " cannot be read: save an array of numbers, or records of them, with numpy.save";
  const auto of = [](const std::string& descr) {
    return refusal(array(descr, "(1,)", std::string(64, '\0')));
  };
  EXPECT_EQ(of("'>f8'"), ": dtype \">f8\": big-endian numbers" + remedy);
  EXPECT_EQ(of("'|O'"), ": dtype \"|O\": this type" + remedy);
  EXPECT_EQ(of("'|O8'"), ": dtype \"|O8\": Python objects" + remedy);
  EXPECT_EQ(of("'<U5'"), ": dtype \"<U5\": text" + remedy);
  EXPECT_EQ(of("'<c16'"), ": dtype \"<c16\": complex numbers" + remedy);
  EXPECT_EQ(of("'<f2'"), ": dtype \"<f2\": this type" + remedy);
  EXPECT_EQ(of("'<M8[ns]'"), ": dtype \"<M8[ns]\": dates" + remedy);
  EXPECT_EQ(of("[('a', '<f8', (2,))]"), ": a field of several values" + remedy);
  EXPECT_EQ(of("[('a', [('b', '<f8')])]"), ": records within records" + remedy);
  EXPECT_EQ(of("[(('title', 'a'), '<f8')]"), ": a field with a title" + remedy);
  EXPECT_EQ(of("[('a', '>i4')]"), ": dtype \">i4\" (field \"a\"): big-endian numbers" + remedy);
}

TEST(NpyReader, ComparesTheDataWithTheHeader) {
  const std::string data = bytes_of<double>({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(refusal(array("'<f8'", "(3, 2)", data)), "no error");
  EXPECT_EQ(refusal(array("'<f8'", "(4, 2)", data)), ": truncated: it ends in row 4 of 4");
  EXPECT_EQ(refusal(array("'<f8'", "(4, 2)", data, true)), ": truncated: it ends in column 2 of 2");
  EXPECT_EQ(refusal(array("'<f8'", "(2, 2)", data)),
            ": more data than the 2 rows of 16 bytes that its header says");
  EXPECT_EQ(refusal(array("'<f8'", "(0, 2)", "")), ": the array is empty");
  EXPECT_EQ(refusal(array("'<f8'", "(2, 0)", "")), ": the array is empty");
  EXPECT_EQ(refusal(array("'<f8'", "()", data)),
            ": an array of 0 dimensions; it must have one or two (one, of records)");
  EXPECT_EQ(refusal(array("'<f8'", "(1, 2, 3)", data)),
            ": an array of 3 dimensions; it must have one or two (one, of records)");
  EXPECT_EQ(refusal(array("[('a', '<f8')]", "(3, 2)", data)),
            ": an array of 2 dimensions of records; it must have one or two (one, of records)");
}

// Sizes that no file has: an error at once, not all memory.
TEST(NpyReader, DoesNotBelieveAHeaderThatLies) {
  const std::string data = bytes_of<double>({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(refusal(array("'<f8'", "(1000000000000, 6)", data)),
            ": truncated: it ends in row 2 of 1,000,000,000,000");
  EXPECT_EQ(refusal(array("'<f8'", "(1000000000000, 6)", data, true)),
            ": truncated: it ends in column 1 of 6");
  EXPECT_EQ(refusal(array("'<f8'", "(1, 1000000000000)", data)),
            ": 1,000,000,000,000 columns; at most 1,000,000 can be read");
  EXPECT_EQ(
      refusal(array("'<f8'", "(4611686018427387904, 4)", data)),
      ": its header says 4,611,686,018,427,387,904 rows of 32 bytes, which is more than any file has; it is damaged");
  EXPECT_NE(refusal(array("'<f8'", "(99999999999999999999,)", data)), "no error");
  std::string huge_header = "\x93NUMPY";
  huge_header += std::string("\2\0\xFF\xFF\xFF\xFF", 6) + "{'descr'";
  EXPECT_EQ(refusal(huge_header), ": its header would have 4,294,967,295 bytes; is it damaged?");
}

TEST(NpyReader, RefusesEveryTruncationAndSurvivesEveryChange) {
  const std::string good = array("[('id', '<i4'), ('x', '<f8')]", "(2,)", std::string(24, '\1'));
  EXPECT_EQ(refusal(good), "no error");
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(refusal(good.substr(0, size)), "no error") << size;
  std::mt19937 random(3);
  const std::string other = " '\"()[],:{}<>|fiubV0123456789TrueFals\n\\\xFF";
  for (std::size_t at = 6; at < good.size(); ++at)
    for (int k = 0; k < 6; ++k) {
      std::string changed = good;
      changed[at] = other[random() % other.size()];
      static_cast<void>(refusal(changed));  // an error or not, but no crash
    }
}

TEST(NpyReader, HashesAllBytes) {
  const auto hash = [](const std::string& contents) {
    const TemporaryFile file(contents);
    const std::unique_ptr<Reader> reader = open_npy(file.path());
    static_cast<void>(reader->read(Names{"x1"}));
    return reader->fingerprint();
  };
  const std::string one = array("'<f8'", "(1, 2)", bytes_of<double>({1, 2}));
  EXPECT_EQ(hash(one), hash(one));
  EXPECT_NE(hash(one), hash(array("'<f8'", "(1, 2)", bytes_of<double>({1, 3}))));
}

}  // namespace
}  // namespace mlo
