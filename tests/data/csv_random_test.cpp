// Copyright (c) the mlo authors. BSD-3-Clause.
// The reader against files nobody would write by hand: random well-formed ones, compared with a parser that
// reads one character at a time, and broken ones, for which it must give a rectangular table or a DataError.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
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
  std::vector<bool> quoted;
};

// All records of a well-formed text, with comma and quotes: one state machine, one character at a time.
std::vector<Record> reference_records(const std::string& text) {
  std::vector<Record> records;
  Record record{1, {""}, {false}};
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
      record = Record{line, {""}, {false}};
      empty = true;
    } else {
      empty = false;
      if (c == ',') {
        record.cells.emplace_back();
        record.quoted.push_back(false);
      } else if (c == '"') {
        quoted = record.quoted.back() = true;  // the generator writes a quote only at the start of a cell
      } else {
        record.cells.back() += c;
      }
    }
  }
  if (!empty) records.push_back(record);
  return records;
}

std::string without_blanks(std::string cell) {
  cell.erase(0, cell.find_first_not_of(" \t"));
  cell.erase(cell.find_last_not_of(" \t") + 1);
  return cell;
}

// A number; NaN if the cell is missing; nothing if it is a word.
std::optional<double> reference_number(const std::string& whole_cell) {
  std::string cell = without_blanks(whole_cell);
  if (cell.empty() || cell == "NA") return std::numeric_limits<double>::quiet_NaN();
  if (cell == "TRUE") return 1;
  if (cell == "false") return 0;
  if (cell.starts_with('+') && !cell.starts_with("+-")) cell.erase(0, 1);
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return value;
}

// Column j of the records after the header, as it should be read.
Column reference_column(const std::vector<Record>& records, std::size_t j) {
  Numbers numbers;
  Text text;
  bool words = false, logicals = false, others = false;
  for (auto record = records.begin() + 1; record != records.end(); ++record) {
    const std::string& cell = record->cells[j];
    const std::optional<double> number = reference_number(cell);
    words = words || !number;
    const bool logical = without_blanks(cell) == "TRUE" || without_blanks(cell) == "false";
    logicals = logicals || logical;
    others = others || (number && !std::isnan(*number) && !logical);
    numbers.push_back(number.value_or(0));
    if (number && std::isnan(*number)) {
      text.codes.push_back(Text::missing);
      continue;
    }
    const std::string word = record->quoted[j] ? cell : without_blanks(cell);
    const auto known = std::find(text.levels.begin(), text.levels.end(), word);
    text.codes.push_back(static_cast<std::uint32_t>(known - text.levels.begin()));
    if (known == text.levels.end()) text.levels.push_back(word);
    if (number) continue;
    if (!text.words) {
      text.words = Text::Words();
      text.words->first = numbers.size() - 1;
    }
    ++text.words->count;
  }
  if (!words) {
    Column column(records[0].cells[j], numbers);
    column.logical = logicals && !others;
    return column;
  }
  for (const std::uint32_t code : text.codes) text.words->cells += code == Text::missing ? 0 : 1;
  return {records[0].cells[j], text};
}

void expect_equal(const Column& column, const Column& expected, const std::string& text) {
  ASSERT_EQ(column.name, expected.name) << text;
  ASSERT_EQ(column.is_text(), expected.is_text()) << text;
  if (column.is_text()) {
    ASSERT_EQ(column.text().levels, expected.text().levels) << text;
    ASSERT_EQ(column.text().codes, expected.text().codes) << text;
    ASSERT_EQ(column.text().words.has_value(), expected.text().words.has_value());
    if (!expected.text().words) return;
    ASSERT_EQ(column.text().words->first, expected.text().words->first) << text;
    ASSERT_EQ(column.text().words->count, expected.text().words->count) << text;
    ASSERT_EQ(column.text().words->cells, expected.text().words->cells) << text;
    return;
  }
  ASSERT_EQ(column.logical, expected.logical) << text;
  ASSERT_EQ(column.size(), expected.size()) << text;
  for (std::size_t i = 0; i < column.size(); ++i) {
    const double value = column.numbers()[i];
    const double other = expected.numbers()[i];
    ASSERT_TRUE(std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(other) ||
                (std::isnan(value) && std::isnan(other)))
        << value << " for " << other << " in " << text;
  }
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

std::string random_logical(Random& random) {
  const std::uint64_t kind = random() % 6;
  return kind == 0 ? "NA" : kind == 1 ? " TRUE " : kind < 4 ? "TRUE" : "false";
}

// A file whose columns n* hold numbers, whose columns l* hold logicals, whose columns t* hold text, and whose
// columns m* hold numbers and a few words.
std::string random_file(Random& random) {
  const std::string newline = random() % 2 == 0 ? "\n" : "\r\n";
  const std::size_t columns = 1 + random() % 8;
  const bool quotes = random() % 2 == 0;
  std::vector<bool> is_text, is_mixed, is_logical;
  std::string text;
  for (std::size_t j = 0; j < columns; ++j) {
    is_text.push_back(columns > 1 && random() % 2 == 0);
    is_mixed.push_back(columns > 1 && random() % 3 == 0);
    is_logical.push_back(random() % 4 == 0);
    text += std::string(j > 0 ? "," : "") +
            (is_text[j]      ? "t"
             : is_mixed[j]   ? "m"
             : is_logical[j] ? "l"
                             : "n") +
            std::to_string(j);
  }
  for (std::size_t rows = 1 + random() % 40; rows > 0; --rows) {
    text += newline;
    if (random() % 16 == 0) text += newline;
    for (std::size_t j = 0; j < columns; ++j) {
      if (j > 0) text += ',';
      if (is_text[j]) {
        text += quotes ? in_quotes(random_text(random)) : std::string(random() % 9, 'w');
      } else {
        const bool word = is_mixed[j] && random() % 16 == 0;
        const std::string number = word            ? (random() % 2 == 0 ? "word" : "1.0.0")
                                   : is_logical[j] ? random_logical(random)
                                                   : random_number(random);
        const bool quote = (quotes && random() % 8 == 0) || (columns == 1 && number.empty());
        text += quote ? in_quotes(number) : number;
      }
    }
  }
  return random() % 2 == 0 ? text : text + newline;
}

TEST(CsvRandom, AgreesWithACharacterByCharacterParserForEveryChunkSizeAndNumberOfThreads) {
  Random random(20240607);
  const TemporaryFile file("");
  int late_words = 0;
  for (int round = 0; round < 1500; ++round) {
    const std::string text = random_file(random);
    const std::vector<Record> records = reference_records(text);
    file.write(round % 8 == 0 ? gzip(text) : round % 8 == 4 ? zstd(text) : text);

    std::vector<std::size_t> indices;
    for (std::size_t j = 0; j < records[0].cells.size(); ++j) {
      if (random() % 4 != 0) indices.push_back(j);
    }
    std::vector<std::string> wanted;
    wanted.reserve(indices.size());
    std::shuffle(indices.begin(), indices.end(), random);
    for (const std::size_t j : indices) wanted.push_back(records[0].cells[j]);

    const std::size_t chunk = round % 4 == 0 ? whole_file : 4 + random() % 100;
    const Outcome outcome = read_csv(file, wanted, chunk, {.delimiter = ',', .threads = 1 + random() % 3});
    ASSERT_EQ(outcome.error, "") << text;
    ASSERT_EQ(outcome.header, records[0].cells) << text;
    ASSERT_EQ(outcome.table.rows, records.size() - 1) << text;
    for (std::size_t i = 0; i + 1 < records.size(); ++i) {
      ASSERT_EQ(outcome.table.source.number(i), records[i + 1].line) << text;
    }
    for (std::size_t k = 0; k < indices.size(); ++k) {
      expect_equal(outcome.table.columns[k], reference_column(records, indices[k]), text);
      if (HasFatalFailure()) return;
      const Column& column = outcome.table.columns[k];
      late_words += column.is_text() && column.text().words->first > 10 ? 1 : 0;
    }
  }
  EXPECT_GT(late_words, 50);  // after numbers that had to be read again
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
bool read_hostile(const TemporaryFile& file, std::size_t chunk, std::size_t threads, Outcome& outcome) {
  outcome = Outcome();
  try {
    csv::Parser parser(file.path(), {.threads = threads}, chunk);
    outcome.header = parser.header();
    std::vector<std::string> wanted;
    for (const std::string& name : outcome.header) {
      if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) wanted.push_back(name);
    }
    outcome.table = parser.read(wanted, {});
    outcome.fingerprint = parser.fingerprint();
  } catch (const DataError& error) {
    outcome.error = error.what();
    return false;
  }
  for (const Column& column : outcome.table.columns) {
    EXPECT_EQ(column.size(), outcome.table.rows);
    if (column.is_text()) {
      for (const std::uint32_t code : column.text().codes)
        EXPECT_TRUE(code == Text::missing || code < column.text().levels.size());
    } else {
      for (const double value : column.numbers()) EXPECT_FALSE(std::isinf(value));
    }
  }
  return true;
}

TEST(CsvRandom, GivesATableOrADataErrorForDamagedTextTheSameForEveryChunkSizeAndNumberOfThreads) {
  Random random(7);
  const TemporaryFile file("");
  int read = 0;
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::string text = mutate(random_file(random), random);
    file.write(text);
    Outcome whole;
    Outcome pieces;
    (read_hostile(file, whole_file, 1, whole) ? read : refused) += 1;
    read_hostile(file, 4 + random() % 60, 1 + random() % 3, pieces);
    ASSERT_EQ(whole.error, pieces.error) << text;
    ASSERT_EQ(whole.header, pieces.header) << text;
    ASSERT_EQ(whole.table.rows, pieces.table.rows) << text;
    ASSERT_EQ(whole.table.source.shifts, pieces.table.source.shifts) << text;
    ASSERT_EQ(whole.fingerprint, pieces.fingerprint) << text;
    ASSERT_EQ(whole.table.columns.size(), pieces.table.columns.size()) << text;
    for (std::size_t k = 0; k < whole.table.columns.size(); ++k) {
      expect_equal(pieces.table.columns[k], whole.table.columns[k], text);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(read, 400);  // otherwise the files were damaged too much, or too little, to test anything
  EXPECT_GT(refused, 400);
}

TEST(CsvRandom, GivesATableOrADataErrorForDamagedGzipAndZstd) {
  Random random(8);
  const TemporaryFile file("");
  for (const auto& pack : {gzip, zstd}) {
    int refused = 0;
    for (int round = 0; round < 1000; ++round) {
      file.write(mutate(pack(random_file(random)), random));
      Outcome outcome;
      refused += read_hostile(file, 4 + random() % 100, 1, outcome) ? 0 : 1;
    }
    EXPECT_GT(refused, 500);
  }
}

}  // namespace
}  // namespace mlo::testing
