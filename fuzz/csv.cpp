// Copyright (c) the mlo authors. BSD-3-Clause.
// Bytes to a table. The first three bytes choose how the rest is read; the number of threads and the size of
// the chunks must not change what is read.
#include <array>
#include <optional>
#include <vector>

#include "data/csv_parser.hpp"
#include "mlo/base/errors.hpp"
#include "support.hpp"

namespace {

using namespace mlo;

struct Outcome {
  std::vector<std::string> header;
  std::optional<Table> table;
  std::uint64_t fingerprint = 0;
  std::string error;
};

Outcome read(const std::string& path, const ReadOptions& options, std::size_t chunk_bytes, unsigned mask) {
  Outcome out;
  try {
    csv::Parser parser(path, options, chunk_bytes);
    out.header = parser.header();
    std::vector<std::string> wanted;
    for (std::size_t j = 0; j < out.header.size(); ++j)
      if ((mask >> (j % 8) & 1U) == 0 &&
          std::find(wanted.begin(), wanted.end(), out.header[j]) == wanted.end())
        wanted.push_back(out.header[j]);
    out.table = parser.read(wanted, {});
    out.fingerprint = parser.fingerprint();
  } catch (const Error& error) {
    out.error = error.what();
    fuzz::check(!out.error.empty(), "an error has a message");
  }
  return out;
}

void check_table(const Table& table) {
  fuzz::check(table.rows > 0, "a table has rows");
  for (const Column& column : table.columns) {
    fuzz::check(column.size() == table.rows, "columns have as many cells as the table has rows");
    if (!column.is_text()) {
      for (const double value : column.numbers())
        fuzz::check(!(value > 1.7976931348623157e308 || value < -1.7976931348623157e308),
                    "numbers are finite or missing");
      continue;
    }
    const Text& text = column.text();
    for (const std::uint32_t code : text.codes)
      fuzz::check(code == Text::missing || code < text.levels.size(), "codes have levels");
    std::vector<std::string> sorted = text.levels;
    std::sort(sorted.begin(), sorted.end());
    fuzz::check(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "each level is there once");
  }
}

void check_same(const Outcome& a, const Outcome& b) {
  fuzz::check(a.error == b.error, "threads do not change the message", a.error + "\n  " + b.error);
  fuzz::check(a.header == b.header, "threads do not change the header");
  fuzz::check(a.table.has_value() == b.table.has_value(), "threads do not change whether there is a table");
  if (!a.table) return;
  fuzz::check(a.fingerprint == b.fingerprint, "threads do not change the fingerprint");
  fuzz::check(a.table->rows == b.table->rows, "threads do not change the number of rows");
  for (std::size_t row = 0; row < a.table->rows; ++row)
    fuzz::check(a.table->source.place(row) == b.table->source.place(row), "threads do not change lines",
                a.table->source.place(row) + "\n  " + b.table->source.place(row));
  for (std::size_t j = 0; j < a.table->columns.size(); ++j) {
    const Column& left = a.table->columns[j];
    const Column& right = b.table->columns[j];
    fuzz::check(left.name == right.name && left.is_text() == right.is_text(), "threads do not change types",
                left.name);
    if (left.is_text()) {
      fuzz::check(left.text().levels == right.text().levels && left.text().codes == right.text().codes,
                  "threads do not change text", left.name);
      const auto& one = left.text().words;
      const auto& two = right.text().words;
      fuzz::check(
          one.has_value() == two.has_value() &&
              (!one || (one->first == two->first && one->count == two->count && one->cells == two->cells)),
          "threads do not change the count of words", left.name);
      continue;
    }
    for (std::size_t row = 0; row < a.table->rows; ++row)
      fuzz::check(fuzz::same_bits(left.numbers()[row], right.numbers()[row]), "threads do not change numbers",
                  left.name);
  }
}

ReadOptions options_of(unsigned first, unsigned second, const std::vector<std::string>& header) {
  constexpr std::array<char, 8> delimiters{0, ',', ';', '\t', '|', ':', 0, '~'};
  constexpr std::array<char, 4> decimals{0, '.', ',', 0};
  constexpr std::array<char, 4> comments{0, '#', '%', '/'};
  ReadOptions out;
  if (const char c = delimiters[first & 7U]; c != 0) out.delimiter = c;
  // What the options of a fit refuse does not reach the reader: a mark with two meanings.
  if (const char c = decimals[first >> 3U & 3U]; c != 0 && c != out.delimiter) out.decimal = c;
  if (const char c = comments[first >> 5U & 3U]; c != 0) out.comment = c;
  if ((second & 3U) == 1) out.na = {};
  if ((second & 3U) == 2) out.na = {"-999", "?", "NA"};
  if ((second & 3U) == 3) out.na = {".", "-9", "1e400", "\"\""};
  for (std::size_t j = 0; j < header.size() && j < 2; ++j)
    if ((second >> (2 + j) & 1U) != 0)
      out.types.emplace(header[j], j == 0 ? ColumnType::text : ColumnType::number);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  static const fuzz::MemoryFile file;
  file.write({reinterpret_cast<const char*>(data) + 3, size - 3});
  constexpr std::array<std::size_t, 4> chunks{64, 1, 7, 1000};
  std::vector<std::string> header;
  if ((data[1] >> 2U & 3U) != 0) {
    const ReadOptions options = options_of(data[0], 0, {});
    header = read(file.path(), options, csv::Parser::default_chunk, 0).header;
  }
  ReadOptions options = options_of(data[0], data[1], header);
  options.threads = 1;
  const Outcome whole = read(file.path(), options, csv::Parser::default_chunk, data[2]);
  if (whole.table) check_table(*whole.table);
  options.threads = 2;
  // Marks that are not stated are guessed from the first chunk: then its size matters.
  const bool stated = options.delimiter && options.decimal;
  check_same(whole, read(file.path(), options,
                         stated ? chunks[data[1] >> 5U & 3U] : csv::Parser::default_chunk, data[2]));
  return 0;
}
