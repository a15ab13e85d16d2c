// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/csv_dialect.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "data/csv_chunks.hpp"
#include "data/csv_record.hpp"

namespace mlo::csv {
namespace {

constexpr std::size_t max_sample = 100;  // records after the header

// Calls visit(cells) for the header and the first records that are whole; visit returns whether to go on. If
// not even the header is whole, it is given as far as it is known.
template <class Visit>
void visit_records(std::string_view text, bool all, const Dialect& dialect, const Visit& visit) {
  std::string padded(text);
  if (all && !padded.ends_with('\n')) padded += '\n';
  std::vector<std::pair<std::size_t, std::size_t>> scratch;
  std::size_t size = whole_records(padded, dialect.delimiter, dialect.comment, all, scratch).end;
  if (size == 0) {
    padded += '\n';
    size = padded.size();
  }
  padded.resize(size);
  padded.append(scan_width, '\0');
  const char* p = padded.data();
  const char* const end = p + size;
  std::vector<Cell> cells;
  for (std::size_t records = 0; p != end && records <= max_sample;) {
    if (*p == '\n' || (*p == '\r' && p[1] == '\n')) {
      p += *p == '\r' ? 2 : 1;
      continue;
    }
    if (dialect.comment != 0 && *p == dialect.comment) {
      p = std::find(p, end, '\n') + 1;
      continue;
    }
    Cells reader(p, end, dialect.delimiter, 1);
    cells.clear();
    for (Cell cell; reader.next(cell);) cells.push_back(cell);
    if (cells.empty() || !visit(cells)) return;
    if (reader.open_quote() != 0) return;
    p = reader.position();
    ++records;
  }
}

char find_delimiter(const ReadOptions& options, std::string_view file, std::string_view text, bool all) {
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (file.ends_with(packed)) file.remove_suffix(packed.size());
  }
  if (file.ends_with(".tsv") || file.ends_with(".TSV")) return '\t';
  char best = ',';
  std::size_t best_like_header = 0;
  std::size_t best_cells = 1;
  for (const char candidate : {',', ';', '\t', '|'}) {
    if (candidate == options.decimal || candidate == options.comment) continue;
    std::size_t header = 0;
    std::size_t like_header = 0;
    visit_records(text, all, {.delimiter = candidate, .comment = options.comment.value_or('\0')},
                  [&](const std::vector<Cell>& cells) {
                    if (header == 0) header = cells.size();
                    like_header += cells.size() == header ? 1 : 0;
                    return header > 1;
                  });
    if (header < 2) continue;
    if (best_cells == 1 || like_header > best_like_header ||
        (like_header == best_like_header && header > best_cells)) {
      best = candidate;
      best_like_header = like_header;
      best_cells = header;
    }
  }
  return best;
}

// Whether a cell is a number whose decimal mark is surely `mark`.
bool shows_mark(std::string_view cell, char mark) noexcept {
  cell = trim(cell);
  if (!cell.empty() && (cell.front() == '-' || cell.front() == '+')) cell.remove_prefix(1);
  const auto digits = [&](std::size_t from) {
    std::size_t at = from;
    while (at < cell.size() && cell[at] >= '0' && cell[at] <= '9') ++at;
    return at - from;
  };
  const std::size_t whole = digits(0);
  if (whole == cell.size() || cell[whole] != mark) return false;
  const std::size_t decimals = digits(whole + 1);
  if (decimals == 0) return false;
  std::string_view exponent = cell.substr(whole + 1 + decimals);
  const bool has_exponent = !exponent.empty();
  if (has_exponent) {
    if (exponent.front() != 'e' && exponent.front() != 'E') return false;
    exponent.remove_prefix(1);
    if (!exponent.empty() && (exponent.front() == '-' || exponent.front() == '+')) exponent.remove_prefix(1);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (exponent.empty() || !std::all_of(exponent.begin(), exponent.end(), is_digit)) return false;
  }
  const bool may_be_thousands = !has_exponent && decimals == 3 && whole >= 1 && whole <= 3 && cell[0] != '0';
  return !may_be_thousands;
}

char find_decimal(const Dialect& dialect, std::string_view text, bool all) {
  bool commas = false;
  bool points = false;
  bool header = true;
  visit_records(text, all, dialect, [&](const std::vector<Cell>& cells) {
    if (!header) {
      for (const Cell& cell : cells) {
        commas = commas || shows_mark(cell.text, ',');
        points = points || shows_mark(cell.text, '.');
      }
    }
    header = false;
    return true;
  });
  return commas && !points ? ',' : '.';
}

}  // namespace

Dialect find_dialect(const ReadOptions& options, std::string_view file, std::string_view text, bool all) {
  Dialect dialect{
      .delimiter = ',', .decimal = options.decimal.value_or('.'), .comment = options.comment.value_or('\0')};
  dialect.delimiter = options.delimiter ? *options.delimiter : find_delimiter(options, file, text, all);
  if (!options.decimal && dialect.delimiter != ',') dialect.decimal = find_decimal(dialect, text, all);
  return dialect;
}

}  // namespace mlo::csv
