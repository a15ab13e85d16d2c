// Copyright (c) the mlo authors. BSD-3-Clause.
// The reader against files nobody would write by hand: random well-formed ones, compared with a parser that
// reads one character at a time, and broken ones, for which it must give a rectangular table or a DataError.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "data/csv_files.hpp"

namespace mlo::testing {
namespace {

using Random = std::mt19937_64;

constexpr std::size_t whole_file = std::size_t{1} << 16;  // a buffer larger than any file here

struct Record {
  std::size_t line;
  std::vector<std::string> cells;
};

// All records of a well-formed text, with comma and quotes: one state machine, one character at a time.
std::vector<Record> reference_records(const std::string& text) {
  std::vector<Record> records;
  Record record{1, {""}};
  std::size_t line = 1;
  bool quoted = false;
  bool empty = true;  // nothing of the record seen yet
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (quoted) {
      if (c != '"') {
        record.cells.back() += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        record.cells.back() += '"';
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '\n' || (c == '\r' && (i + 1 == text.size() || text[i + 1] == '\n'))) {
      if (c == '\r') continue;
      if (!empty) records.push_back(record);
      record = Record{line, {""}};
      empty = true;
    } else {
      empty = false;
      if (c == ',') {
        record.cells.emplace_back();
      } else if (c == '"') {
        quoted = true;  // the generator writes a quote only at the start of a cell
      } else {
        record.cells.back() += c;
      }
    }
  }
  if (!empty) records.push_back(record);
  return records;
}

double reference_value(std::string cell) {
  cell.erase(0, cell.find_first_not_of(' '));
  cell.erase(cell.find_last_not_of(' ') + 1);
  if (cell.empty() || cell == "NA") return std::numeric_limits<double>::quiet_NaN();
  if (cell == "TRUE") return 1;
  double value = 0;
  const std::size_t plus = cell.starts_with('+') ? 1 : 0;
  const auto [end, error] = std::from_chars(cell.data() + plus, cell.data() + cell.size(), value);
  EXPECT_TRUE(error == std::errc() && end == cell.data() + cell.size()) << cell;
  return value;
}

std::string random_number(Random& random) {
  std::string number;
  switch (random() % 8) {
    case 0:
      return random() % 2 == 0 ? "" : "NA";
    case 1:
      number = std::to_string(random());  // up to 20 digits
      break;
    case 2:
      number = std::to_string(random() % 1000) + "." + std::to_string(random());
      break;
    case 3:
      number = "0." + std::to_string(random() >> 8) + "e-" + std::to_string(random() % 40);
      break;
    case 4:
      number = random() % 2 == 0 ? "+5" : "TRUE";
      break;
    default:
      number = std::to_string(static_cast<int>(random() % 20001) - 10000);
  }
  if (random() % 8 == 0) number = " " + number + "  ";
  return number;
}

std::string random_text(Random& random) {
  static const std::string alphabet = "ab,\n\r\" ;1";
  std::string text;
  for (std::size_t n = random() % 12; n > 0; --n) text += alphabet[random() % alphabet.size()];
  if (random() % 16 == 0) text += std::string(random() % 200, 'z');
  return text;
}

std::string in_quotes(const std::string& cell) {
  std::string out = "\"";
  for (const char c : cell) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// A file whose columns n* hold numbers and whose columns t* hold text.
std::string random_file(Random& random) {
  const std::string newline = random() % 2 == 0 ? "\n" : "\r\n";
  const std::size_t columns = 1 + random() % 8;
  const bool quotes = random() % 2 == 0;
  std::vector<bool> is_text;
  std::string text;
  for (std::size_t j = 0; j < columns; ++j) {
    is_text.push_back(columns > 1 && random() % 2 == 0);
    text += std::string(j > 0 ? "," : "") + (is_text[j] ? "t" : "n") + std::to_string(j);
  }
  for (std::size_t rows = 1 + random() % 40; rows > 0; --rows) {
    text += newline;
    if (random() % 16 == 0) text += newline;
    for (std::size_t j = 0; j < columns; ++j) {
      if (j > 0) text += ',';
      if (is_text[j]) {
        text += quotes ? in_quotes(random_text(random)) : std::string(random() % 9, 'w');
      } else {
        const std::string number = random_number(random);
        const bool quote = (quotes && random() % 8 == 0) || (columns == 1 && number.empty());
        text += quote ? in_quotes(number) : number;
      }
    }
  }
  return random() % 2 == 0 ? text : text + newline;
}

TEST(CsvRandom, AgreesWithACharacterByCharacterParserForEveryBufferSize) {
  Random random(20240607);
  const TemporaryFile file("");
  for (int round = 0; round < 1500; ++round) {
    const std::string text = random_file(random);
    const std::vector<Record> records = reference_records(text);
    file.write(round % 8 == 0 ? gzip(text) : text);

    std::vector<std::size_t> indices;
    for (std::size_t j = 0; j < records[0].cells.size(); ++j) {
      if (records[0].cells[j][0] == 'n' && random() % 4 != 0) indices.push_back(j);
    }
    std::vector<std::string> wanted;
    wanted.reserve(indices.size());
    std::shuffle(indices.begin(), indices.end(), random);
    for (const std::size_t j : indices) wanted.push_back(records[0].cells[j]);

    const std::size_t buffer = round % 4 == 0 ? whole_file : 4 + random() % 100;
    const Outcome outcome = read_csv(file, wanted, buffer);
    ASSERT_EQ(outcome.error, "") << text;
    ASSERT_EQ(outcome.header, records[0].cells) << text;
    ASSERT_EQ(outcome.table.rows, records.size() - 1) << text;
    for (std::size_t i = 0; i + 1 < records.size(); ++i) {
      ASSERT_EQ(outcome.table.source.number(i), records[i + 1].line) << text;
      for (std::size_t k = 0; k < indices.size(); ++k) {
        const double expected = reference_value(records[i + 1].cells[indices[k]]);
        const double value = outcome.table.columns[k].numbers()[i];
        ASSERT_TRUE(std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(expected) ||
                    (std::isnan(value) && std::isnan(expected)))
            << value << " for " << expected << " in " << text;
      }
    }
  }
}

std::string mutate(std::string text, Random& random) {
  using namespace std::string_literals;
  static const std::string nasty = "\",\n\r\0\x1f\x8b\xEF\xBB\xBF\xFF;|\t-+.eE0919N aAinf"s;
  for (std::size_t n = 1 + random() % 4; n > 0; --n) {
    const std::size_t at = text.empty() ? 0 : random() % text.size();
    const std::size_t length = 1 + random() % 8;
    switch (random() % 6) {
      case 0:
        if (!text.empty()) text[at] = nasty[random() % nasty.size()];
        break;
      case 1:
        text.insert(at, 1, nasty[random() % nasty.size()]);
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(random() % (text.size() + 1), length));
        break;
      case 4:
        if (!text.empty()) text[at] = static_cast<char>(text[at] ^ static_cast<char>(1U << (random() % 8)));
        break;
      default:
        if (random() % 8 == 0) text.resize(at);
    }
  }
  return text;
}

// Returns whether it was read.
bool read_hostile(const TemporaryFile& file, std::size_t buffer, Outcome& outcome) {
  outcome = Outcome();
  try {
    csv::Parser parser(file.path(), buffer);
    outcome.header = parser.header();
    std::vector<std::string> wanted;
    for (const std::string& name : outcome.header) {
      if (!name.starts_with('t') && std::find(wanted.begin(), wanted.end(), name) == wanted.end())
        wanted.push_back(name);
    }
    outcome.table = parser.read(wanted, {});
    outcome.fingerprint = parser.fingerprint();
  } catch (const DataError& error) {
    outcome.error = error.what();
    return false;
  }
  for (const Column& column : outcome.table.columns) {
    EXPECT_EQ(column.size(), outcome.table.rows);
    for (const double value : column.numbers()) EXPECT_FALSE(std::isinf(value));
  }
  return true;
}

TEST(CsvRandom, GivesATableOrADataErrorForDamagedTextTheSameForEveryBufferSize) {
  Random random(7);
  const TemporaryFile file("");
  int read = 0;
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::string text = mutate(random_file(random), random);
    file.write(text);
    Outcome whole;
    Outcome pieces;
    (read_hostile(file, whole_file, whole) ? read : refused) += 1;
    read_hostile(file, 4 + random() % 60, pieces);
    ASSERT_EQ(whole.error, pieces.error) << text;
    ASSERT_EQ(whole.header, pieces.header) << text;
    ASSERT_EQ(whole.table.rows, pieces.table.rows) << text;
    ASSERT_EQ(whole.table.source.shifts, pieces.table.source.shifts) << text;
    ASSERT_EQ(whole.fingerprint, pieces.fingerprint) << text;
  }
  EXPECT_GT(read, 400);  // otherwise the files were damaged too much, or too little, to test anything
  EXPECT_GT(refused, 400);
}

TEST(CsvRandom, GivesATableOrADataErrorForDamagedGzip) {
  Random random(8);
  const TemporaryFile file("");
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    file.write(mutate(gzip(random_file(random)), random));
    Outcome outcome;
    refused += read_hostile(file, 4 + random() % 100, outcome) ? 0 : 1;
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace mlo::testing
