// Copyright (c) the mlo authors. BSD-3-Clause.
// R's model formulas: text to syntax tree to a response, an offset and a list of design columns.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlo {

// A node of the syntax tree. One tree serves two readings: on the left of ~, inside I(), function calls and
// comparisons, + - * / ^ are arithmetic; on the right of ~, the signs + - * : ^ / %in% . ( ) build terms.
struct Expression {
  enum class Kind { number, logical, name, text, word, dot, call, unary, binary, group };
  Kind kind = Kind::number;
  std::size_t position = 0;  // byte of the formula's text, 0-based, for messages
  double number = 0;         // Kind::number; Kind::logical: TRUE is 1, FALSE 0
  // The name of a column; the text; a word that is no column (contr.sum); the function; the operator.
  std::string name{};
  std::vector<Expression> arguments{};  // of call, unary (1), binary (2), group (1)
  std::vector<std::string> labels{};  // of a call's arguments: "df" of bs(x, df = 5); "" where there is none
};

// R's spelling of an expression: "I(x^2)", "log(x + 1)", "x > 3", "`my column`".
[[nodiscard]] std::string deparse(const Expression& expression);

// A term is a product of variables; the intercept is the empty product. How many design columns it has
// depends on the data: a variable may be a number, several (a spline), or a factor with its levels.
struct Term {
  std::vector<Expression> factors;
  // "(Intercept)", "x1", "x1:x2".
  [[nodiscard]] std::string name() const;
};

// What varies by group: (effects | grouping).
struct GroupTerm {
  std::vector<Term> effects;  // the intercept (the empty product) first, if it varies
  Term grouping;              // whose combinations are the groups: g, a:b
  bool correlated = true;     // false: ||
};

struct Formula {
  std::string text;
  Expression response;
  std::vector<Term> terms;          // intercept first, then by order of interaction, as R sorts them
  std::vector<Expression> offsets;  // what offset() calls contain; the offset is their sum
  std::vector<GroupTerm> groups;    // (1 | a/b) is two of them: a and a:b
  bool intercept = true;

  // The columns of the file that the formula needs, each once, in order of appearance.
  [[nodiscard]] std::vector<std::string> columns() const;
};

// Parses and resolves `text` against the columns of the file ('.' = all columns in neither response nor
// offset). Throws UsageError: a syntax error (with its position and a caret under it), an unknown column
// (with the nearest name), an unknown function or argument, something that has no meaning in a formula (with
// what to write instead).
[[nodiscard]] Formula parse_formula(std::string_view text, std::span<const std::string> columns);

}  // namespace mlo
