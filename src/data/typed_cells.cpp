// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/typed_cells.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <limits>
#include <span>

#include "data/csv_text.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/hash.hpp"
#include "mlo/base/text.hpp"

namespace mlo {
namespace {

// The whole text as a number, blanks around it aside.
std::optional<double> number_in(std::string_view text) {
  text = csv::trim(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class T>
void hash_values(Fingerprint& hash, std::span<const T> values) {
  if (values.empty()) return;  // nothing is added, and there may be no memory to point to
  hash.add({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}
template <class T>
void hash_values(Fingerprint& hash, const std::vector<T>& values) {
  hash_values(hash, std::span<const T>(values));
}

// Integers have the hash of their doubles.
void hash_numbers(Fingerprint& hash, const Column& column) {
  if (!std::holds_alternative<BorrowedIntegers>(column.cells)) return hash_values(hash, column.values());
  std::array<double, 1024> part;
  for (std::size_t first = 0; first < column.size(); first += part.size()) {
    const std::span<double> cells = std::span(part).first(std::min(part.size(), column.size() - first));
    column.read(first, cells);
    hash_values(hash, std::span<const double>(cells));
  }
}

// Adds the length too, so that "ab", "c" and "a", "bc" differ.
void hash_words(Fingerprint& hash, const std::string& words) {
  hash_values(hash, std::vector<std::uint64_t>{words.size()});
  hash.add(words);
}

}  // namespace

void TypedColumn::reserve(std::size_t rows) {
  if (is_text_) {
    codes_.reserve(rows);
  } else {
    numbers_.reserve(rows);
  }
}

void TypedColumn::add_missing() {
  if (is_text_) {
    codes_.push_back(Text::missing);
  } else {
    numbers_.push_back(std::numeric_limits<double>::quiet_NaN());
  }
}

void TypedColumn::add_text(std::string_view cell) {
  if (means_missing(cell)) return add_missing();
  if (is_text_) return codes_.push_back(code(cell));
  if (csv::trim(cell).empty()) return add_missing();
  const std::optional<double> value = number_in(cell);
  if (!value) refuse_word(cell);
  add(*value);
}

std::uint32_t TypedColumn::code(std::string_view word) {
  const std::uint32_t code = words_.code(word);
  if (code == WordCodes::most)
    throw DataError(
        source_->place(size()),
        fmt::format("column {} has more than {} different words; is it an id? Leave it out of the "
                    "formula",
                    csv::quoted(name_), grouped(WordCodes::most)));
  return code;
}

// -999 means missing among numbers too, if it is listed.
void TypedColumn::clear_numbers_that_mean_missing() {
  for (const std::string& word : na_)
    if (const std::optional<double> value = number_in(word))
      std::replace(numbers_.begin(), numbers_.end(), *value, std::numeric_limits<double>::quiet_NaN());
}

Column TypedColumn::take() && {
  if (!is_text_) {
    if (!logical_) clear_numbers_that_mean_missing();
    Column column(std::move(name_), std::move(numbers_));
    column.logical = logical_;
    return column;
  }
  return {std::move(name_), Text{.levels = std::move(words_).take_levels(), .codes = std::move(codes_)}};
}

bool TypedColumn::means_missing(std::string_view cell) const {
  return !na_.empty() && std::find(na_.begin(), na_.end(), cell) != na_.end();
}

void TypedColumn::refuse_not_finite(double value) const {
  throw DataError(source_->place(size() - 1),
                  fmt::format("column {}: {} is not a finite number; make it null or NaN if the value is "
                              "missing",
                              csv::quoted(name_), value));
}

void TypedColumn::refuse(const std::string& rule) const {
  throw DataError(source_->place(size()), fmt::format("column {}: {}", csv::quoted(name_), rule));
}

void TypedColumn::refuse_word(std::string_view cell) const {
  refuse(fmt::format("not a number ({}), but `type {}=number` says that all cells are", csv::quoted(cell),
                     name_));
}

std::vector<std::string> asked_na(const ReadOptions& options) {
  static const ReadOptions usual;
  return options.na == usual.na ? std::vector<std::string>() : options.na;
}

std::optional<ColumnType> asked_type(const ReadOptions& options, const std::string& column) {
  const auto found = options.types.find(column);
  return found == options.types.end() ? std::nullopt : std::optional(found->second);
}

std::size_t position_in(const std::vector<std::string>& header, const std::string& wanted,
                        const std::string& source) {
  const auto found = std::find(header.begin(), header.end(), wanted);
  assert(found != header.end() && "the caller checks names against header()");
  if (std::find(found + 1, header.end(), wanted) != header.end())
    throw DataError(source, fmt::format("more than one column is called {}", csv::quoted(wanted)));
  return static_cast<std::size_t>(found - header.begin());
}

std::uint64_t fingerprint_of(const std::vector<Column>& columns) {
  Fingerprint hash;
  for (const Column& column : columns) {
    hash_words(hash, column.name);
    // Numbers are the same data whoever owns them.
    const std::uint64_t type = column.is_text() ? 1 : column.logical ? 2 : 0;
    hash_values(hash, std::vector<std::uint64_t>{type, column.size()});
    if (column.is_text()) {
      hash_values(hash, std::vector<std::uint64_t>{column.text().levels.size()});
      for (const std::string& level : column.text().levels) hash_words(hash, level);
      hash_values(hash, column.text().codes);
    } else {
      hash_numbers(hash, column);
    }
  }
  return hash.value();
}

}  // namespace mlo
