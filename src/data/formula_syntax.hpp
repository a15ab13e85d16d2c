// Copyright (c) the mlo authors. BSD-3-Clause.
// Internals of the formula parser: text -> tokens -> trees -> terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mlo/data/formula.hpp"

namespace mlo::syntax {

// Throws UsageError: "formula: WHAT (position N)", the formula, and a caret under the byte at `position`.
[[noreturn]] void fail(std::string_view formula, std::size_t position, const std::string& what);

struct Token {
  enum class Kind { number, name, quoted_name, text, symbol, end };
  Kind kind = Kind::end;
  std::size_t position = 0;
  std::string text{};  // the symbol; the name or text without its quotes; a number as written
  double number = 0;
};

// The tokens of a formula; the last is Kind::end. Throws UsageError.
[[nodiscard]] std::vector<Token> tokenize(std::string_view formula);

// What a side of the formula is made of, for messages: "expected a term after '+'".
enum class Side { response, terms };

// Parses the tokens up to the first ~ or the end. Throws UsageError.
[[nodiscard]] Expression parse_side(std::string_view formula, std::span<const Token> tokens, Side side);

// A function of formulas and its parameters, in R's order. The table of these is all that the grammar knows
// about functions; what they mean is in bind.cpp.
struct Function {
  std::string_view name;
  std::string_view parameters;  // "x, df, knots"; "..." is any number of arguments
  std::size_t required = 1;
  // Set for a function of one number.
  void (*apply)(std::span<double> values) = nullptr;
};
[[nodiscard]] const Function* find_function(std::string_view name);
// The argument of a call for a parameter, by its label or its place; null if it is not given. The parser has
// checked that labels and places are right.
[[nodiscard]] const Expression* argument(const Expression& call, std::string_view parameter);
// Why the arguments of a call do not fit the function, or "".
[[nodiscard]] std::string wrong_arguments(const Expression& call);
// "unknown function ...; the functions are ...", or that R's function is not supported yet.
[[nodiscard]] std::string unknown_function(const std::string& name);

// Names as R writes them: in backquotes, unless they consist of letters, digits, dots and _ and are not a
// reserved word.
[[nodiscard]] bool is_name_start(char c);
[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] bool is_name_part(char c);
[[nodiscard]] std::string quoted_if_needed(const std::string& name);
// "no column "Elevaton" in the data; did you mean "Elevation"?"
[[nodiscard]] std::string unknown_column(const std::string& name, std::span<const std::string> columns);

// Calls visit(name node) for every column an expression uses, left to right.
template <class Visit>
void for_each_name(const Expression& expression, const Visit& visit) {
  if (expression.kind == Expression::Kind::name) visit(expression);
  for (const Expression& argument : expression.arguments) for_each_name(argument, visit);
}

// The expression without the parentheses around it.
[[nodiscard]] const Expression& without_groups(const Expression& expression);

// Checks that an expression has a value for each row: known columns, arithmetic only, at least one column.
class ArithmeticCheck {
 public:
  ArithmeticCheck(std::string_view formula, std::span<const std::string> columns);
  void operator()(const Expression& expression) const;

 private:
  void visit(const Expression& expression) const;
  std::string_view formula_;
  std::span<const std::string> columns_;
  std::set<std::string_view> known_;
};

// The right side, read as terms: R's algebra of + - : * ^ / %in% ( ) . 0 1, and lme4's (effects | grouping).
class TermReader {
 public:
  // `dot`: the columns that '.' stands for.
  TermReader(std::string_view formula, const ArithmeticCheck& check, std::vector<std::string> dot);
  // Sets terms, offsets, groups and intercept of `formula`.
  void read(const Expression& right_side, Formula& formula);

 private:
  using Key = std::vector<std::size_t>;  // indices of variables_, ascending: a:b and b:a are one key
  struct TermList {                      // distinct keys in order of appearance
    std::vector<Key> keys;
    std::set<Key> seen;
  };

  [[nodiscard]] TermList read(const Expression& expression);
  [[nodiscard]] TermList read_sum(const Expression& expression);
  [[nodiscard]] TermList read_product(const Expression& expression);
  [[nodiscard]] TermList read_power(const Expression& expression);
  [[nodiscard]] TermList read_nesting(const Expression& expression);
  [[nodiscard]] TermList read_negative(const Expression& expression);
  [[nodiscard]] TermList variable(const Expression& expression);
  void read_number(const Expression& expression);
  void read_offset(const Expression& expression);
  void read_group(const Expression& expression);
  void add_group(GroupTerm group, std::size_t position);
  void add(TermList& list, Key key, std::size_t position) const;
  [[nodiscard]] TermList interact(const TermList& left, const TermList& right, std::size_t position) const;

  std::string_view formula_;
  const ArithmeticCheck& check_;
  std::vector<std::string> dot_;
  std::vector<Expression>
      variables_;  // in order of first appearance, which is the order inside an interaction
  std::map<std::string, std::size_t> index_;
  std::vector<Expression> offsets_;
  std::vector<GroupTerm> groups_;
  bool inside_group_ = false;  // reads one side of a '|'
  bool intercept_ = true;
  bool negative_ = false;  // inside something that is subtracted
  int products_ = 0;       // how many interactions we are inside of
};

}  // namespace mlo::syntax
