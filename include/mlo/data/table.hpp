// Copyright (c) the mlo authors. BSD-3-Clause.
// Named columns of numbers or text, and where their rows came from.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mlo/data/source.hpp"

namespace mlo {

using Numbers = std::vector<double>;  // NaN where the cell is missing; all others are finite

// The same, in memory that belongs to someone else, such as an array of NumPy.
struct BorrowedNumbers {
  std::span<const double> cells;
  std::shared_ptr<const void> keeper;  // keeps the memory alive and unchanged
};

// The same as 64-bit integers, none of them beyond 2^53: they become doubles when they are read, a block at a
// time. A copy of 51 MB took as long as a third of the fit, most of it for new memory.
struct BorrowedIntegers {
  std::span<const std::int64_t> cells;
  std::shared_ptr<const void> keeper;
};
void to_doubles(std::span<const std::int64_t> integers, std::span<double> out) noexcept;

// A dictionary and one code per row: a few bytes per row however long the words are. A reader lists the
// levels in the order in which they first appear.
struct Text {
  static constexpr std::uint32_t missing = std::numeric_limits<std::uint32_t>::max();

  std::vector<std::string> levels;   // each once
  std::vector<std::uint32_t> codes;  // positions in levels, or `missing`

  // Why the column is text, if it was read from a format that does not say so: what a message needs when it
  // was meant to hold numbers.
  struct Words {
    std::size_t first = 0;  // row of the first cell that is not a number
    std::size_t count = 0;  // cells that are not numbers
    std::size_t cells = 0;  // cells that are not missing
  };
  std::optional<Words> words{};

  // Whether the order of the levels is the user's, as in a factor of R or a categorical of pandas. Otherwise
  // a factor's levels are sorted.
  bool in_order = false;
};

struct Column {
  std::string name;
  std::variant<Numbers, Text, BorrowedNumbers, BorrowedIntegers> cells;
  // Of numbers: whether they are 0 and 1 and stand for FALSE and TRUE. A formula's term makes a factor of
  // them.
  bool logical = false;

  // Column("x", {1, 2, 3}). Not an aggregate, because a variant cannot be filled from a list of numbers.
  Column(std::string column, Numbers numbers) : name(std::move(column)), cells(std::move(numbers)) {}
  // A template, so that Column("x", {}) always means no numbers, never no text.
  template <std::same_as<Text> T>
  Column(std::string column, T text) : name(std::move(column)), cells(std::move(text)) {}
  template <std::same_as<BorrowedNumbers> T>
  Column(std::string column, T borrowed) : name(std::move(column)), cells(std::move(borrowed)) {}
  template <std::same_as<BorrowedIntegers> T>
  Column(std::string column, T borrowed) : name(std::move(column)), cells(std::move(borrowed)) {}

  [[nodiscard]] bool is_text() const noexcept { return std::holds_alternative<Text>(cells); }
  [[nodiscard]] std::size_t size() const noexcept;  // rows

  // Some numbers of a column that is not text: those from `first` on.
  void read(std::size_t first, std::span<double> out) const;
  [[nodiscard]] double number(std::size_t row) const;
  // All of them, whoever owns them. Throws std::bad_variant_access if they are integers: make_doubles() makes
  // doubles of these.
  [[nodiscard]] std::span<const double> values() const;
  void make_doubles();
  // Throws std::bad_variant_access if the column has another type; of borrowed numbers too.
  [[nodiscard]] Numbers& numbers() { return std::get<Numbers>(cells); }
  [[nodiscard]] const Numbers& numbers() const { return std::get<Numbers>(cells); }
  [[nodiscard]] Text& text() { return std::get<Text>(cells); }
  [[nodiscard]] const Text& text() const { return std::get<Text>(cells); }
};

// Each column has `rows` cells.
struct Table {
  Source source;
  std::vector<Column> columns;
  std::size_t rows = 0;
};

}  // namespace mlo
