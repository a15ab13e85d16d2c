// Copyright (c) the mlo authors. BSD-3-Clause.
// Columns built from the values of a format that has types: DuckDB's vectors, NumPy's arrays.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/word_codes.hpp"
#include "mlo/data/reader.hpp"
#include "mlo/data/table.hpp"

namespace mlo {

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

// One column that grows cell by cell, as numbers or as text. A number is spelt in the shortest way if the
// column is to be text: 1, not 1.0. Throws DataError with the place: a number that is not finite, a word
// where a number must be.
class TypedColumn {
 public:
  // The source is where the rows come from; it must outlive the column. `na`: spellings that mean missing.
  TypedColumn(std::string name, bool is_text, const Source* source, std::vector<std::string> na)
      : name_(std::move(name)), is_text_(is_text), source_(source), na_(std::move(na)) {}

  [[nodiscard]] bool is_text() const noexcept { return is_text_; }
  [[nodiscard]] std::size_t size() const noexcept { return is_text_ ? codes_.size() : numbers_.size(); }
  void reserve(std::size_t rows);
  // The cells are 0 and 1 and stand for FALSE and TRUE, unless the column is text.
  void mark_logical() noexcept { logical_ = true; }

  void add_missing();
  void add_text(std::string_view cell);
  template <class T>
  void add(T value) {
    if (is_text_) {
      add_spelt(value);
    } else {
      numbers_.push_back(static_cast<double>(value));
      if constexpr (std::floating_point<T>)
        if (std::isinf(value)) refuse_not_finite(static_cast<double>(value));  // NaN: missing
    }
  }
  // Many numbers at once.
  template <class T>
  void add_all(const T* values, std::size_t count) {
    if (is_text_ || std::floating_point<T>) {
      for (std::size_t i = 0; i < count; ++i) add(values[i]);
    } else {
      numbers_.insert(numbers_.end(), values, values + count);
    }
  }

  // Throws DataError: the next cell is what `rule` says.
  [[noreturn]] void refuse(const std::string& rule) const;

  [[nodiscard]] Column take() &&;

 private:
  [[nodiscard]] std::uint32_t code(std::string_view word);
  [[nodiscard]] bool means_missing(std::string_view cell) const;
  void clear_numbers_that_mean_missing();
  [[noreturn]] void refuse_not_finite(double value) const;
  [[noreturn]] void refuse_word(std::string_view cell) const;

  template <class T>
  void add_spelt(T value) {
    if constexpr (std::floating_point<T>)
      if (std::isnan(value)) return add_missing();
    fmt::memory_buffer buffer;
    if constexpr (std::integral<T> && sizeof(T) == 1 && !std::same_as<T, bool>) {  // not a character
      fmt::format_to(std::back_inserter(buffer), "{}", static_cast<int>(value));
    } else {
      fmt::format_to(std::back_inserter(buffer), "{}", value);
    }
    codes_.push_back(code({buffer.data(), buffer.size()}));
  }

  std::string name_;
  bool is_text_;
  bool logical_ = false;
  const Source* source_;
  std::vector<std::string> na_;
  Numbers numbers_;
  WordCodes words_;
  std::vector<std::uint32_t> codes_;
};

// The spellings of missing cells that the user has asked for. A format with types has a value of its own for
// missing, so the usual spellings are words there: NA may be Namibia.
[[nodiscard]] std::vector<std::string> asked_na(const ReadOptions& options);

// The type that the user has asked for; nothing if it is up to the file.
[[nodiscard]] std::optional<ColumnType> asked_type(const ReadOptions& options, const std::string& column);

// The position of a wanted column. Throws DataError if the header has it more than once.
[[nodiscard]] std::size_t position_in(const std::vector<std::string>& header, const std::string& wanted,
                                      const std::string& source);

// A hash of the names and cells of all columns.
[[nodiscard]] std::uint64_t fingerprint_of(const std::vector<Column>& columns);

}  // namespace mlo
