// Copyright (c) the mlo authors. BSD-3-Clause.
// The kinds of values, one small class each.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/basis.hpp"
#include "data/breaks.hpp"
#include "data/values.hpp"

namespace mlo::values {

inline constexpr double missing = std::numeric_limits<double>::quiet_NaN();

struct Operation {
  std::string_view symbol;
  bool logical;
  void (*apply)(std::span<double> left, std::span<const double> right);  // left = left op right
};
[[nodiscard]] const Operation* find_operation(std::string_view symbol);

// Where each of `some` is in `all`; `otherwise` for those that are not.
[[nodiscard]] std::vector<std::uint32_t> places_in(std::span<const std::string> all,
                                                   std::span<const std::string> some,
                                                   std::uint32_t otherwise = missing_level);
// The place of a code; codes that are no level stay what they are.
[[nodiscard]] std::uint32_t moved(std::uint32_t code, std::span<const std::uint32_t> places);

class NumberColumn final : public Values {
 public:
  NumberColumn(std::span<const double> cells, Type kind);
  void numbers(std::size_t first, std::size_t count, std::span<double> out) const override;

 private:
  std::span<const double> cells_;
};

class IntegerColumn final : public Values {
 public:
  explicit IntegerColumn(std::span<const std::int64_t> cells);
  void numbers(std::size_t first, std::size_t count, std::span<double> out) const override;

 private:
  std::span<const std::int64_t> cells_;
};

class Constant final : public Values {
 public:
  Constant(double value, Type kind);
  void numbers(std::size_t first, std::size_t count, std::span<double> out) const override;

 private:
  double value_;
};

// A text of the formula: a factor with one level.
class Word final : public Values {
 public:
  explicit Word(std::string text);
  void codes(std::size_t first, std::span<std::uint32_t> out) const override;
};

class TextColumn final : public Values {
 public:
  explicit TextColumn(const Text& text);
  void codes(std::size_t first, std::span<std::uint32_t> out) const override;

 private:
  std::span<const std::uint32_t> codes_;
  std::vector<std::uint32_t> rank_;  // of the dictionary's words
};

class Negative final : public Values {
 public:
  explicit Negative(ValuesPtr inside);
  void numbers(std::size_t first, std::size_t count, std::span<double> out) const override;

 private:
  ValuesPtr inside_;
};

class Not final : public Values {
 public:
  explicit Not(ValuesPtr inside);
  void numbers(std::size_t first, std::size_t count, std::span<double> out) const override;

 private:
  ValuesPtr inside_;
};

class Binary final : public Values {
 public:
  Binary(const Operation* operation, ValuesPtr left, ValuesPtr right);
  void numbers(std::size_t first, std::size_t count, std::span<double> out) const override;

 private:
  const Operation* operation_;
  ValuesPtr left_, right_;
};

// log(x): a function of one number.
class Elementwise final : public Values {
 public:
  Elementwise(void (*apply)(std::span<double>), ValuesPtr inside);
  void numbers(std::size_t first, std::size_t count, std::span<double> out) const override;

 private:
  void (*apply_)(std::span<double>);
  ValuesPtr inside_;
};

class IsMissing final : public Values {
 public:
  explicit IsMissing(ValuesPtr inside);
  void numbers(std::size_t first, std::size_t count, std::span<double> out) const override;

 private:
  ValuesPtr inside_;
};

// pmin() and pmax().
class Extreme final : public Values {
 public:
  Extreme(bool smallest, std::vector<ValuesPtr> parts);
  void numbers(std::size_t first, std::size_t count, std::span<double> out) const override;

 private:
  bool smallest_;
  std::vector<ValuesPtr> parts_;
};

// Of two numbers, or of two factors.
class IfElse final : public Values {
 public:
  IfElse(ValuesPtr test, ValuesPtr yes, ValuesPtr no);
  void numbers(std::size_t first, std::size_t count, std::span<double> out) const override;
  void codes(std::size_t first, std::span<std::uint32_t> out) const override;

 private:
  ValuesPtr test_, yes_, no_;
  std::vector<std::uint32_t> yes_places_, no_places_;
};

// A number for each level: the year of a date, its place in the alphabet.
class LevelNumbers final : public Values {
 public:
  LevelNumbers(ValuesPtr factor, std::vector<double> by_level, Type kind);
  void numbers(std::size_t first, std::size_t count, std::span<double> out) const override;

 private:
  ValuesPtr factor_;
  std::vector<double> by_level_;
};

// Whether a number is in a list, x %in% c(1, 2); a missing one is not.
class NumberMember final : public Values {
 public:
  NumberMember(ValuesPtr number, std::vector<double> list);
  void numbers(std::size_t first, std::size_t count, std::span<double> out) const override;

 private:
  ValuesPtr number_;
  std::vector<double> list_;  // ascending
};

// Whether the level of a factor is in a list; a missing one is not, and of a level that the fit has not seen
// it is not known.
class LevelMember final : public Values {
 public:
  LevelMember(ValuesPtr factor, std::vector<double> by_level);
  void numbers(std::size_t first, std::size_t count, std::span<double> out) const override;

 private:
  ValuesPtr factor_;
  std::vector<double> by_level_;
};

// A factor with other levels, or the same in another order.
class Relabelled final : public Values {
 public:
  Relabelled(ValuesPtr factor, std::vector<std::string> to, std::vector<std::uint32_t> places);
  void codes(std::size_t first, std::span<std::uint32_t> out) const override;

 private:
  ValuesPtr factor_;
  std::vector<std::uint32_t> places_;
};

// A logical as a factor.
class Truth final : public Values {
 public:
  explicit Truth(ValuesPtr logical);
  void codes(std::size_t first, std::span<std::uint32_t> out) const override;

 private:
  ValuesPtr logical_;
};

// factor(x) of a number: levels are values. Others are missing.
class NumberLevels final : public Values {
 public:
  NumberLevels(ValuesPtr number, std::vector<double> values, std::vector<std::string> names);
  void codes(std::size_t first, std::span<std::uint32_t> out) const override;

 private:
  [[nodiscard]] std::uint32_t code(double value) const;
  ValuesPtr number_;
  std::vector<double> values_;
  std::vector<std::uint32_t> order_;  // of the values, ascending
  double lowest_ = 0;
  std::vector<std::uint32_t>
      table_;  // by value - lowest; empty if values are not whole numbers in a short range
};

// scale(), poly(), bs() and ns().
class Learned final : public Values {
 public:
  using Apply = void (*)(const basis::State&, std::span<const double>, std::span<double>);
  Learned(ValuesPtr number, basis::State state, Apply apply, std::size_t columns);
  void numbers(std::size_t first, std::size_t count, std::span<double> out) const override;

 private:
  ValuesPtr number_;
  basis::State state_;
  Apply apply_;
};

// cut().
class Intervals final : public Values {
 public:
  Intervals(ValuesPtr number, breaks::State state);
  void codes(std::size_t first, std::span<std::uint32_t> out) const override;

 private:
  ValuesPtr number_;
  breaks::State state_;
};

}  // namespace mlo::values
