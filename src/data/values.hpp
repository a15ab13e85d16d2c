// Copyright (c) the mlo authors. BSD-3-Clause.
// An expression of a formula, bound to a table: what it is in each row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mlo/data/design.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/table.hpp"

namespace mlo {

// Codes that are no level of a factor.
inline constexpr std::uint32_t missing_level = Text::missing;
inline constexpr std::uint32_t unknown_level =
    Text::missing - 1;  // a level of new data that the fit has not seen

enum class Contrast { treatment, sum, helmert };

class Values {
 public:
  enum class Type { number, logical, factor };

  virtual ~Values() = default;
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  Type type = Type::number;
  std::size_t width = 1;            // columns of a number: more than one for a spline
  std::vector<std::string> levels;  // of a factor, in the order of their codes
  Contrast contrast = Contrast::treatment;
  std::size_t base = 0;  // the level that treatment contrasts leave out
  // Whether a missing level where no cell is missing is a mistake: of a comparison it is, of cut() it is not.
  bool strict = false;

  // Rows first .. first + count - 1. A call is made once per block of rows.
  // Of numbers and logicals (0, 1): column after column, NaN where a value is missing.
  virtual void numbers(std::size_t first, std::size_t count, std::span<double> out) const;
  // Of factors: positions in levels, or a code that is no level.
  virtual void codes(std::size_t first, std::span<std::uint32_t> out) const;

 protected:
  Values() = default;
};

using ValuesPtr = std::unique_ptr<Values>;

// The level that a number is: R's as.character, at most 15 digits.
[[nodiscard]] std::string number_label(double value);

// Turns expressions into values. What functions learn from all rows (knots, levels) is taken from `learnt`
// where it is there, and added to it otherwise.
class Binder {
 public:
  Binder(const Formula& formula, const Table& table, std::vector<Learnt>& learnt);

  // Any type. Throws UsageError (an argument that makes no sense, with its position) and DataError (text
  // where numbers are needed, with the column and its first word).
  [[nodiscard]] ValuesPtr bind(const Expression& expression);
  // A number or a logical with one column; `user` says in words what needs it: "the response".
  [[nodiscard]] ValuesPtr number(const Expression& expression, const std::string& user);
  // A variable of a term. A logical is a factor with the levels FALSE and TRUE. A factor has the levels that
  // the formula was first bound with.
  [[nodiscard]] ValuesPtr variable(const Expression& expression);

 private:
  [[nodiscard]] ValuesPtr call(const Expression& e);
  [[nodiscard]] ValuesPtr binary(const Expression& e);
  [[nodiscard]] ValuesPtr comparison(const Expression& e, ValuesPtr left, ValuesPtr right);
  [[nodiscard]] ValuesPtr member_of(const Expression& e);
  [[nodiscard]] ValuesPtr if_else(const Expression& e);
  [[nodiscard]] ValuesPtr basis(const Expression& e);
  [[nodiscard]] ValuesPtr factor(const Expression& e);
  [[nodiscard]] ValuesPtr relevel(const Expression& e);
  [[nodiscard]] ValuesPtr contrasts(const Expression& e);
  [[nodiscard]] ValuesPtr cut(const Expression& e);
  [[nodiscard]] ValuesPtr calendar(const Expression& e);
  [[nodiscard]] ValuesPtr as_factor(ValuesPtr values, const Expression& e);
  [[nodiscard]] ValuesPtr as_number(ValuesPtr values, const Expression& e, const std::string& user) const;
  void check_width(const Values& values, const Expression& e, const std::string& user) const;

  [[nodiscard]] const Column& column(const std::string& name) const;
  [[nodiscard]] std::vector<double> complete(const Values& values) const;
  // The learnt state of an expression; null if there is none yet.
  [[nodiscard]] const Learnt* known(const std::string& expression) const;
  [[noreturn]] void fail(const Expression& e, const std::string& what) const;
  // Where a word of a text column stands first; the data's name if the expression is no such column.
  [[nodiscard]] std::string place_of(const Expression& e, const std::string& word) const;
  // Why an expression is text: the column and its first word.
  [[nodiscard]] std::string text_words(const Expression& e) const;

  const Formula& formula_;
  const Table& table_;
  std::vector<Learnt>& learnt_;
};

}  // namespace mlo
