// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/formula.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../../src/data/values.hpp"
#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

using Kind = Expression::Kind;
using Strings = std::vector<std::string>;

const Strings all = {"y", "a", "b", "c", "d", "x", "x1", "x2", "e", "my column", "Elevation"};

Strings names(const std::string& formula, const Strings& columns = all) {
  Strings result;
  for (const Term& term : parse_formula(formula, columns).terms) result.push_back(term.name());
  return result;
}

// The response goes through the same parser as everything else, and its tree is kept.
Expression parse(const std::string& arithmetic) { return parse_formula(arithmetic + " ~ 1", all).response; }

std::string message(const std::string& formula, const Strings& columns = all) {
  try {
    static_cast<void>(parse_formula(formula, columns));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

// Fully parenthesised, to show how a text was parsed.
std::string shape(const Expression& e) {
  switch (e.kind) {
    case Kind::number:
    case Kind::name:
    case Kind::dot:
    case Kind::text:
    case Kind::logical:
    case Kind::word:
      return deparse(e);
    case Kind::group:
      return shape(e.arguments[0]);
    case Kind::unary:
      return "[" + e.name + shape(e.arguments[0]) + "]";
    case Kind::binary:
      return "[" + shape(e.arguments[0]) + e.name + shape(e.arguments[1]) + "]";
    case Kind::call:
      return e.name + "(" + shape(e.arguments[0]) + ")";
  }
  return "";
}

bool same(const Expression& a, const Expression& b) {
  if (a.kind != b.kind || a.number != b.number || a.name != b.name) return false;
  if (a.arguments.size() != b.arguments.size()) return false;
  for (std::size_t i = 0; i < a.arguments.size(); ++i) {
    if (!same(a.arguments[i], b.arguments[i])) return false;
  }
  return true;
}

struct MapColumns {
  std::map<std::string, std::vector<double>> map;
};

// The values of `count` rows from `first` on.
std::vector<double> value(const std::string& arithmetic, const MapColumns& columns, std::size_t count,
                          std::size_t first = 0) {
  Table table;
  for (const auto& [name, values] : columns.map) {
    table.columns.emplace_back(name, values);
    table.rows = values.size();
  }
  const Formula formula = parse_formula(arithmetic + " ~ 1", all);
  std::vector<Learnt> learnt;
  std::vector<double> out(count);
  Binder(formula, table, learnt).number(formula.response, "the test")->numbers(first, count, out);
  return out;
}

// ---- terms: the expected names are those of colnames(model.matrix(formula)) in R, for numeric columns

TEST(FormulaTerms, AnInterceptIsThereUnlessItIsTakenAway) {
  EXPECT_EQ(names("y ~ x"), (Strings{"(Intercept)", "x"}));
  EXPECT_EQ(names("y ~ 1"), (Strings{"(Intercept)"}));
  EXPECT_EQ(names("y ~ x + 1"), (Strings{"(Intercept)", "x"}));
  EXPECT_EQ(names("y ~ x - 1"), (Strings{"x"}));
  EXPECT_EQ(names("y ~ -1 + x"), (Strings{"x"}));
  EXPECT_EQ(names("y ~ x + 0"), (Strings{"x"}));
  EXPECT_EQ(names("y ~ 0 + x"), (Strings{"x"}));
  EXPECT_EQ(names("y ~ +0 + x"), (Strings{"x"}));
  EXPECT_EQ(names("y ~ x - 0"), (Strings{"(Intercept)", "x"}));
  EXPECT_EQ(names("y ~ 0 + x + 1"), (Strings{"(Intercept)", "x"}));  // the last one counts
  EXPECT_EQ(names("y ~ (x - 1)"), (Strings{"x"}));
  EXPECT_EQ(names("y ~ x - (a - 1)"), (Strings{"(Intercept)", "x"}));
  EXPECT_FALSE(parse_formula("y ~ x - 1", all).intercept);
  EXPECT_TRUE(parse_formula("y ~ x", all).intercept);
}

TEST(FormulaTerms, AProductIsMainEffectsAndInteraction) {
  EXPECT_EQ(names("y ~ a*b"), (Strings{"(Intercept)", "a", "b", "a:b"}));
  EXPECT_EQ(names("y ~ a*b*c"), (Strings{"(Intercept)", "a", "b", "c", "a:b", "a:c", "b:c", "a:b:c"}));
  EXPECT_EQ(names("y ~ a*(b + c)"), (Strings{"(Intercept)", "a", "b", "c", "a:b", "a:c"}));
  EXPECT_EQ(names("y ~ (a + b):(c + d)"), (Strings{"(Intercept)", "a:c", "a:d", "b:c", "b:d"}));
  EXPECT_EQ(names("y ~ a*b - a"), (Strings{"(Intercept)", "b", "a:b"}));
  EXPECT_EQ(names("y ~ a*b - b:a"), (Strings{"(Intercept)", "a", "b"}));
  EXPECT_EQ(names("y ~ (a - b):c"), (Strings{"(Intercept)", "a:c"}));
}

TEST(FormulaTerms, APowerOfAGroupIsInteractionsUpToThatOrder) {
  EXPECT_EQ(names("y ~ (a + b)^2"), (Strings{"(Intercept)", "a", "b", "a:b"}));
  EXPECT_EQ(names("y ~ (a + b + c)^2"), (Strings{"(Intercept)", "a", "b", "c", "a:b", "a:c", "b:c"}));
  EXPECT_EQ(names("y ~ (a + b + c)^3"), names("y ~ a*b*c"));
  EXPECT_EQ(names("y ~ (a + b + c)^1e300"), names("y ~ a*b*c"));
  EXPECT_EQ(names("y ~ (a + b)^1"), (Strings{"(Intercept)", "a", "b"}));
  EXPECT_EQ(names("y ~ (a + b + c)^2 - a:b"), (Strings{"(Intercept)", "a", "b", "c", "a:c", "b:c"}));
  EXPECT_EQ(names("y ~ .^2", {"a", "y", "b"}), (Strings{"(Intercept)", "a", "b", "a:b"}));
}

TEST(FormulaTerms, AreSortedByOrderAndThenByAppearance) {
  EXPECT_EQ(names("y ~ a:b + c"), (Strings{"(Intercept)", "c", "a:b"}));
  EXPECT_EQ(names("y ~ c:d + a:b:c + d + a:b"), (Strings{"(Intercept)", "d", "c:d", "a:b", "c:a:b"}));
}

TEST(FormulaTerms, AnInteractionNamesItsVariablesInOrderOfFirstAppearance) {
  EXPECT_EQ(names("y ~ b:a"), (Strings{"(Intercept)", "b:a"}));
  EXPECT_EQ(names("y ~ a + b:a"), (Strings{"(Intercept)", "a", "a:b"}));
  EXPECT_EQ(names("y ~ x1 - b + a:b"), (Strings{"(Intercept)", "x1", "b:a"}));
}

TEST(FormulaTerms, AreNotRepeated) {
  EXPECT_EQ(names("y ~ a + a"), (Strings{"(Intercept)", "a"}));
  EXPECT_EQ(names("y ~ a:b + b:a"), (Strings{"(Intercept)", "a:b"}));
  EXPECT_EQ(names("y ~ a:a"), (Strings{"(Intercept)", "a"}));
  EXPECT_EQ(names("y ~ a*b + b*a + (a)"), (Strings{"(Intercept)", "a", "b", "a:b"}));
  EXPECT_EQ(names("y ~ log(a) + log( a )"), (Strings{"(Intercept)", "log(a)"}));
  EXPECT_EQ(names("y ~ a - a + a"), (Strings{"(Intercept)", "a"}));
}

TEST(FormulaTerms, ADotIsAllColumnsInNeitherResponseNorOffset) {
  const Strings columns = {"x1", "y", "x2", "t"};
  EXPECT_EQ(names("y ~ .", columns), (Strings{"(Intercept)", "x1", "x2", "t"}));
  EXPECT_EQ(names("y ~ . - x2", columns), (Strings{"(Intercept)", "x1", "t"}));
  EXPECT_EQ(names("log(y/t) ~ .", columns), (Strings{"(Intercept)", "x1", "x2"}));
  EXPECT_EQ(names("y ~ . + offset(log(t))", columns), (Strings{"(Intercept)", "x1", "x2"}));
  EXPECT_EQ(names("y ~ . - 1", columns), (Strings{"x1", "x2", "t"}));
  EXPECT_EQ(names("y ~ t + .", columns), (Strings{"(Intercept)", "t", "x1", "x2"}));
  EXPECT_EQ(names("y ~ . + I(x1^2)", columns), (Strings{"(Intercept)", "x1", "x2", "t", "I(x1^2)"}));
  EXPECT_EQ(names("y ~ t:.", columns), (Strings{"(Intercept)", "t", "t:x1", "t:x2"}));
}

TEST(FormulaTerms, ArithmeticStandsInIInCallsInComparisonsAndInParenthesesThatAreNotTerms) {
  EXPECT_EQ(names("y ~ I(x^2) + log(x+1)"), (Strings{"(Intercept)", "I(x^2)", "log(x + 1)"}));
  EXPECT_EQ(names("y ~ I(x>3)"), (Strings{"(Intercept)", "I(x > 3)"}));
  EXPECT_EQ(names("y ~ (x>3)"), (Strings{"(Intercept)", "x > 3"}));
  EXPECT_EQ(names("y ~ x > 3"), (Strings{"(Intercept)", "x > 3"}));
  EXPECT_EQ(names("y ~ (x/2) + a"), (Strings{"(Intercept)", "x/2", "a"}));
  EXPECT_EQ(names("y ~ (2*x)"), (Strings{"(Intercept)", "2 * x"}));
  EXPECT_EQ(names("y ~ a*(x > 3)"), (Strings{"(Intercept)", "a", "x > 3", "a:x > 3"}));
  EXPECT_EQ(names("y ~ a + !b"), (Strings{"(Intercept)", "a", "!b"}));
  EXPECT_EQ(names("y ~ (a > 1 & b < 2)"), (Strings{"(Intercept)", "a > 1 & b < 2"}));
  EXPECT_EQ(names("y ~ (a + (x/2))"), (Strings{"(Intercept)", "a", "x/2"}));
}

TEST(FormulaTerms, AnOffsetIsNotATerm) {
  const Formula formula = parse_formula("y ~ offset(log(e)) + x + offset(a)", all);
  ASSERT_EQ(formula.terms.size(), 2U);
  ASSERT_EQ(formula.offsets.size(), 2U);
  EXPECT_EQ(deparse(formula.offsets[0]), "offset(log(e))");
  EXPECT_EQ(deparse(formula.offsets[1]), "offset(a)");
}

TEST(FormulaTerms, ALeadingPlusChangesNothing) {
  EXPECT_EQ(names("y ~ + x1 + x2"), (Strings{"(Intercept)", "x1", "x2"}));
}

TEST(FormulaTerms, AFormulaOfThousandsOfTermsIsRead) {
  Strings columns = {"y"};
  std::string text = "y ~ 0";
  for (int i = 0; i < 4000; ++i) {
    columns.push_back("x" + std::to_string(i));
    text.append(" + ").append(columns.back());
  }
  EXPECT_EQ(names(text, columns), Strings(columns.begin() + 1, columns.end()));
}

TEST(Formula, ListsTheColumnsItNeedsOnceInOrderOfAppearance) {
  const auto columns = [](const std::string& text) { return parse_formula(text, all).columns(); };
  EXPECT_EQ(columns("I(y > a) ~ b:c + x + offset(log(e)) + a"), (Strings{"y", "a", "b", "c", "x", "e"}));
  EXPECT_EQ(columns("y ~ offset(e) + x"), (Strings{"y", "e", "x"}));
  EXPECT_EQ(columns("y ~ a + x - a"), (Strings{"y", "x"}));  // a column that was removed is not read
  EXPECT_EQ(columns("y ~ `my column`"), (Strings{"y", "my column"}));
  EXPECT_EQ(parse_formula("b ~ . - y", Strings{"c", "b", "y", "a"}).columns(), (Strings{"b", "c", "a"}));
}

// ---- syntax

TEST(FormulaParser, HasThePrecedencesOfR) {
  EXPECT_EQ(shape(parse("a + b * c")), "[a+[b*c]]");
  EXPECT_EQ(shape(parse("a - b - c")), "[[a-b]-c]");
  EXPECT_EQ(shape(parse("a / b / c")), "[[a/b]/c]");
  EXPECT_EQ(shape(parse("a ^ b ^ c")), "[a^[b^c]]");
  EXPECT_EQ(shape(parse("-a ^ 2")), "[-[a^2]]");
  EXPECT_EQ(shape(parse("a ^ -b ^ c")), "[a^[-[b^c]]]");
  EXPECT_EQ(shape(parse("-a * b")), "[[-a]*b]");
  EXPECT_EQ(shape(parse("a * -b + c")), "[[a*[-b]]+c]");
  EXPECT_EQ(shape(parse("a + b > c * d")), "[[a+b]>[c*d]]");
  EXPECT_EQ(shape(parse("!a == b")), "[![a==b]]");
  EXPECT_EQ(shape(parse("!a & b")), "[[!a]&b]");
  EXPECT_EQ(shape(parse("a | b & c")), "[a|[b&c]]");
  EXPECT_EQ(shape(parse("a + !b + c")), "[a+[![b+c]]]");
  EXPECT_EQ(shape(parse("a<-b")), "[a<[-b]]");
  EXPECT_EQ(shape(parse("(a + b) * c")), "[[a+b]*c]");
}

TEST(FormulaParser, ReadsNumbersNamesAndQuotes) {
  EXPECT_EQ(parse("a + 1.5e-3").arguments[1].number, 1.5e-3);
  EXPECT_EQ(parse("a + .5").arguments[1].number, 0.5);
  EXPECT_EQ(parse("a + 7.").arguments[1].number, 7);
  EXPECT_EQ(parse("`my column`").name, "my column");
}

TEST(FormulaParser, TakesNamesWithDotsUnderscoresAndLettersOfAnyAlphabet) {
  const Strings columns = {"y", "x.1", "_z", "h\xC3\xB6he", ".n", "a`b", "log"};
  EXPECT_EQ(names("y ~ x.1 + `_z` + h\xC3\xB6he + .n + `a\\`b` + log(log)", columns),
            (Strings{"(Intercept)", "x.1", "`_z`", "h\xC3\xB6he", ".n", "`a\\`b`", "log(log)"}));
}

// ---- spelling

TEST(Deparse, SpellsAndSpacesAsR) {
  const auto spelt = [](const std::string& text) { return deparse(parse(text)); };
  EXPECT_EQ(spelt("I( x ^ 2 )"), "I(x^2)");
  EXPECT_EQ(spelt("log(x+1)"), "log(x + 1)");
  EXPECT_EQ(spelt("x>3"), "x > 3");
  EXPECT_EQ(spelt("I(x>=15)"), "I(x >= 15)");
  EXPECT_EQ(spelt("a*b/c-d"), "a * b/c - d");
  EXPECT_EQ(spelt("-(a+b)"), "-(a + b)");
  EXPECT_EQ(spelt("!a|b==c&d!=1"), "!a | b == c & d != 1");
  EXPECT_EQ(spelt("`x`+`my column`"), "x + `my column`");
  EXPECT_EQ(spelt("a+1e5"), "a + 1e+05");
  EXPECT_EQ(spelt("a+123456"), "a + 123456");
  EXPECT_EQ(spelt("a+0.10"), "a + 0.1");
  EXPECT_EQ(spelt("a+0.00001"), "a + 1e-05");
}

// A random tree that the parser can produce: an operand that binds too loosely is put in parentheses.
class RandomTree {
 public:
  explicit RandomTree(std::uint64_t seed) : random_(seed) {}

  Expression make(int depth) {
    const int choice = depth == 0 ? below(2) : below(7);
    switch (choice) {
      case 0:
        return {.kind = Kind::name,
                .name = all[static_cast<std::size_t>(below(static_cast<int>(all.size())))]};
      case 1:
        return {.kind = Kind::number, .number = std::ldexp(below(1 << 20), below(200) - 100)};
      case 2: {
        const bool negation = below(2) == 0;
        return {.kind = Kind::unary, .name = negation ? "!" : "-", .arguments = {operand(depth, 11)}};
      }
      case 3:
        return {.kind = Kind::call, .name = below(2) == 0 ? "log" : "I", .arguments = {make(depth - 1)}};
      default: {
        static const std::vector<std::pair<std::string, int>> operators = {
            {"|", 1},  {"&", 2}, {"==", 4}, {"!=", 4}, {"<", 4}, {"<=", 4}, {">", 4},
            {">=", 4}, {"+", 5}, {"-", 5},  {"*", 6},  {"/", 6}, {"^", 10}};
        const auto& [symbol, power] =
            operators[static_cast<std::size_t>(below(static_cast<int>(operators.size())))];
        const bool right_associative = symbol == "^";
        const bool none = power == 4;
        Expression left = operand(depth, right_associative || none ? power + 1 : power);
        Expression right = operand(depth, right_associative ? power : power + 1);
        return {.kind = Kind::binary, .name = symbol, .arguments = {std::move(left), std::move(right)}};
      }
    }
  }

 private:
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

  Expression operand(int depth, int power) {
    Expression e = make(depth - 1);
    if (strength(e) >= power) return e;
    return {.kind = Kind::group, .arguments = {std::move(e)}};
  }

  static int strength(const Expression& e) {
    if (e.kind == Kind::unary) return 0;  // a sign is safe only at the front: always in parentheses here
    if (e.kind != Kind::binary) return 12;
    if (e.name == "|") return 1;
    if (e.name == "&") return 2;
    if (e.name == "+" || e.name == "-") return 5;
    if (e.name == "*" || e.name == "/") return 6;
    return e.name == "^" ? 10 : 4;
  }

  std::mt19937_64 random_;
};

TEST(Deparse, IsReadBackAsTheSameTree) {
  RandomTree random(20240607);
  for (int i = 0; i < 5000; ++i) {
    const Expression tree{.kind = Kind::binary,  // with a column, so that every tree may be a response
                          .name = "|",
                          .arguments = {{.kind = Kind::name, .name = "x"},
                                        {.kind = Kind::group, .arguments = {random.make(i % 7)}}}};
    const std::string text = deparse(tree);
    ASSERT_TRUE(same(parse(text), tree)) << text;
    ASSERT_EQ(deparse(parse(text)), text);
  }
}

// ---- evaluation

TEST(Evaluate, ComputesEveryOperatorAndFunction) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0.1, 3);
  constexpr std::size_t rows = 2500;  // two blocks and a part
  MapColumns columns;
  for (const char* name : {"a", "b"}) {
    for (std::size_t i = 0; i < rows; ++i) columns.map[name].push_back(std::round(4 * uniform(random)) / 4);
  }
  const std::vector<std::pair<std::string, double (*)(double, double)>> cases = {
      {"a + b", [](double a, double b) { return a + b; }},
      {"a - 2 * b", [](double a, double b) { return a - 2 * b; }},
      {"-a / b", [](double a, double b) { return -a / b; }},
      {"a^b", [](double a, double b) { return std::pow(a, b); }},
      {"-a^2 + b", [](double a, double b) { return -(a * a) + b; }},
      {"2^a^b", [](double a, double b) { return std::pow(2, std::pow(a, b)); }},
      {"(a + b) * (a - b)", [](double a, double b) { return (a + b) * (a - b); }},
      {"a == b", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
      {"a != b", [](double a, double b) { return a != b ? 1.0 : 0.0; }},
      {"a < b", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
      {"a <= b", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
      {"a > b", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
      {"a >= b", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
      {"!(a > b)", [](double a, double b) { return a > b ? 0.0 : 1.0; }},
      {"a > 1 & b > 1", [](double a, double b) { return a > 1 && b > 1 ? 1.0 : 0.0; }},
      {"a > 1 | b > 1", [](double a, double b) { return a > 1 || b > 1 ? 1.0 : 0.0; }},
      {"log(a) + log1p(b)", [](double a, double b) { return std::log(a) + std::log1p(b); }},
      {"log10(a) - log2(b)", [](double a, double b) { return std::log10(a) - std::log2(b); }},
      {"exp(-a) * sqrt(b)", [](double a, double b) { return std::exp(-a) * std::sqrt(b); }},
      {"abs(a - b)", [](double a, double b) { return std::fabs(a - b); }},
      {"I(a + I(b))", [](double a, double b) { return a + b; }},
  };
  for (const auto& [text, direct] : cases) {
    const std::vector<double> computed = value(text, columns, rows);
    for (std::size_t i = 0; i < rows; ++i) {
      ASSERT_EQ(computed[i], direct(columns.map["a"][i], columns.map["b"][i])) << text << " in row " << i;
    }
  }
}

TEST(Evaluate, StartsAtTheRowItIsAskedFor) {
  MapColumns columns;
  columns.map["a"] = {1, 2, 3, 4, 5};
  EXPECT_EQ(value("a * a", columns, 2, 3), (std::vector<double>{16, 25}));
}

TEST(Evaluate, AMissingOperandGivesMissingInComparisonsAndLogicals) {
  MapColumns columns;
  columns.map["a"] = {std::numeric_limits<double>::quiet_NaN()};
  columns.map["b"] = {0};
  for (const char* text : {"a > b", "b == a", "a != a", "!a", "a & !b", "b | a", "a + b", "log(a)", "-a"}) {
    EXPECT_TRUE(std::isnan(value(text, columns, 1)[0])) << text;
  }
  // As in R, where one side says all.
  for (const char* text : {"a & b", "b & a"}) EXPECT_EQ(value(text, columns, 1)[0], 0) << text;
  for (const char* text : {"a | !b", "!b | a"}) EXPECT_EQ(value(text, columns, 1)[0], 1) << text;
}

// ---- messages

TEST(FormulaMessage, PointsAtTheMistake) {
  EXPECT_EQ(message("y ~ x1 + + x2"),
            "formula: expected a term after '+' (position 10)\n"
            "  y ~ x1 + + x2\n"
            "           ^");
  EXPECT_EQ(message("y ~ x1 +"),
            "formula: expected a term after '+' (position 9)\n"
            "  y ~ x1 +\n"
            "          ^");
  EXPECT_EQ(message("y ~ log(x1 * )"),
            "formula: expected a value after '*' (position 14)\n"
            "  y ~ log(x1 * )\n"
            "               ^");
  EXPECT_EQ(message("y ~ * x1"),
            "formula: expected a term before '*' (position 5)\n"
            "  y ~ * x1\n"
            "      ^");
  EXPECT_EQ(message("y - ~ x1"),
            "formula: expected a value after '-' (position 5)\n"
            "  y - ~ x1\n"
            "      ^");
  EXPECT_EQ(
      message("y ~ x1 x2"),
      "formula: expected an operator before 'x2'; a name with a blank is written in backquotes, `x1 x2` "
      "(position 8)\n"
      "  y ~ x1 x2\n"
      "         ^");
  EXPECT_EQ(message("y ~ 2x"),
            "formula: expected an operator before 'x' (position 6)\n"
            "  y ~ 2x\n"
            "       ^");
  EXPECT_EQ(message("y ~ _x"),
            "formula: unexpected '_'; a name that begins with it is written in backquotes (position 5)\n"
            "  y ~ _x\n"
            "      ^");
  EXPECT_EQ(message("y ~ ()"),
            "formula: expected a term after '(' (position 6)\n"
            "  y ~ ()\n"
            "       ^");
}

TEST(FormulaMessage, CountsCharactersNotBytes) {
  EXPECT_EQ(message("y ~ h\xC3\xB6he @ x", {"y", "h\xC3\xB6he"}),
            "formula: unexpected '@' (position 10)\n"
            "  y ~ h\xC3\xB6he @ x\n"
            "           ^");
}

TEST(FormulaMessage, ShowsALongFormulaAroundTheMistakeOnly) {
  std::string text = "y ~ x";
  for (int i = 0; i < 50; ++i) text += " + x1";  // 255 characters
  EXPECT_EQ(message(text.substr(0, 157) + "@" + text.substr(157)),
            "formula: unexpected '@' (position 158)\n"
            "  ..." +
                text.substr(97, 60) + "@" + text.substr(157, 39) + "...\n" + std::string(65, ' ') + "^");
}

TEST(FormulaMessage, SaysThatASideIsMissing) {
  EXPECT_EQ(message(""), "formula: no '~'; write response ~ terms, as in y ~ x1 + x2");
  EXPECT_EQ(message("y x"), "formula: no '~' in \"y x\"; write response ~ terms, as in y ~ x1 + x2");
  EXPECT_EQ(message("~ x"),
            "formula: no response before '~' (position 1)\n"
            "  ~ x\n"
            "  ^");
  EXPECT_EQ(message("y ~ "),
            "formula: no terms after '~' (write 1 for an intercept alone) (position 5)\n"
            "  y ~ \n"
            "      ^");
  EXPECT_EQ(message("y ~ x ~ a"),
            "formula: a second '~' (position 7)\n"
            "  y ~ x ~ a\n"
            "        ^");
  EXPECT_EQ(message("y ~ 0"),
            "formula: no term and no intercept (position 5)\n"
            "  y ~ 0\n"
            "      ^");
}

TEST(FormulaMessage, NamesUnbalancedParenthesesAndQuotes) {
  EXPECT_EQ(message("y ~ (x1 + x2"),
            "formula: '(' is not closed (position 5)\n"
            "  y ~ (x1 + x2\n"
            "      ^");
  EXPECT_EQ(message("(y ~ x)"),
            "formula: '(' is not closed (position 1)\n"
            "  (y ~ x)\n"
            "  ^");
  EXPECT_EQ(message("y ~ x)"),
            "formula: ')' without '(' (position 6)\n"
            "  y ~ x)\n"
            "       ^");
  EXPECT_EQ(message("y ~ `x"),
            "formula: ` is not closed (position 5)\n"
            "  y ~ `x\n"
            "      ^");
  EXPECT_EQ(message("y ~ x, a"),
            "formula: ',' outside a function call (position 6)\n"
            "  y ~ x, a\n"
            "       ^");
}

TEST(FormulaMessage, SuggestsTheNearestColumn) {
  EXPECT_EQ(message("y ~ Elevaton"),
            "formula: no column \"Elevaton\" in the data; did you mean \"Elevation\"?");
  EXPECT_EQ(message("y ~ Eelvation"),
            "formula: no column \"Eelvation\" in the data; did you mean \"Elevation\"?");
  EXPECT_EQ(message("y ~ ELEVATION"),
            "formula: no column \"ELEVATION\" in the data; did you mean \"Elevation\"?");
  EXPECT_EQ(message("Y ~ x"), "formula: no column \"Y\" in the data; did you mean \"y\"?");
  EXPECT_EQ(message("y ~ log(mycolumn)"),
            "formula: no column \"mycolumn\" in the data; did you mean \"my column\"?");
  EXPECT_EQ(message("y ~ . - slope"),
            "formula: no column \"slope\" in the data; its columns are \"y\", \"a\", \"b\", \"c\", \"d\", "
            "\"x\", \"x1\", \"x2\", \"e\", \"my column\", ... (11 in all)");
  EXPECT_EQ(message("y ~ x3", {"y", "x1"}),
            "formula: no column \"x3\" in the data; its columns are \"y\", \"x1\"");
}

TEST(FormulaMessage, ListsTheFunctions) {
  const std::string list =
      "abs, as.factor, as.numeric, bs, C, c, cbind, ceiling, cos, cut, days, exp, expm1, factor, floor, hour, I, "
      "ifelse, is.na, log, log10, log1p, log2, mday, minute, month, ns, offset, pmax, pmin, poly, relevel, round, "
      "scale, second, sign, sin, sqrt, tan, trunc, wday, yday, year";
  EXPECT_EQ(message("y ~ lg(x)"), "formula: unknown function lg() (known: " + list +
                                      ") (position 5)\n"
                                      "  y ~ lg(x)\n"
                                      "      ^");
  EXPECT_EQ(
      message("y ~ s(x, k = 5)"),
      "formula: s() is not supported; write ns(x, df = 4) or bs(x, df = 5) for a smooth curve (position 5)\n"
      "  y ~ s(x, k = 5)\n"
      "      ^");
  for (const char* function : {"gp", "mo"}) {
    EXPECT_EQ(message(fmt::format("y ~ {}(x, degree = 2)", function)),
              fmt::format("formula: {0}() is not supported (supported: {1}) (position 5)\n"
                          "  y ~ {0}(x, degree = 2)\n"
                          "      ^",
                          function, list));
  }
}

TEST(FormulaMessage, SaysWhichArgumentsAFunctionHas) {
  const auto first_line = [](const std::string& formula) {
    const std::string text = message(formula);
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(first_line("y ~ log()"), "formula: log() takes at least 1 argument (got 0) (position 5)");
  EXPECT_EQ(first_line("y ~ exp(x, 2)"), "formula: exp() takes 1 argument (got 2) (position 5)");
  EXPECT_EQ(first_line("y ~ poly(x)"), "formula: poly() takes at least 2 arguments (got 1) (position 5)");
  EXPECT_EQ(first_line("y ~ scale(x, TRUE, TRUE, 1)"),
            "formula: scale() takes up to 3 arguments (got 4) (position 5)");
  EXPECT_EQ(first_line("y ~ scale(x, degree = 2)"),
            "formula: scale() has no argument \"degree\"; it is scale(x, center, scale) (position 5)");
  EXPECT_EQ(first_line("y ~ bs(x, df = 5, df = 6)"), "formula: bs() is given \"df\" twice (position 5)");
  EXPECT_EQ(first_line("y ~ relevel(x, x = a)"),
            "no error");  // x is a, and what is left is ref
  EXPECT_EQ(first_line("y ~ pmin(x, y = a)"),
            "formula: pmin() has no argument \"y\"; it is pmin(...) (position 5)");
  EXPECT_EQ(first_line("y ~ x + cbind(x, a)"),
            "formula: cbind(successes, failures) must stand alone on the left of '~' (position 9)");
  EXPECT_EQ(message("cbind(a, b) ~ x"), "no error");
  EXPECT_EQ(message("y ~ bs(x, knots = c(1, 2), degree = 2)"), "no error");
  EXPECT_EQ(message("y ~ C(a, contr.sum)"), "no error");
}

TEST(FormulaTerms, AreNestedBySlashAndIn) {
  EXPECT_EQ(names("y ~ a/b"), (Strings{"(Intercept)", "a", "a:b"}));
  EXPECT_EQ(names("y ~ (a + b)/c"), (Strings{"(Intercept)", "a", "b", "a:b:c"}));
  EXPECT_EQ(names("y ~ a/(b + c)"), (Strings{"(Intercept)", "a", "a:b", "a:c"}));
  EXPECT_EQ(names("y ~ a + b %in% a"), (Strings{"(Intercept)", "a", "a:b"}));
  EXPECT_EQ(names("y ~ I(a/b)"), (Strings{"(Intercept)", "I(a/b)"}));
  EXPECT_EQ(names("y ~ a %in% c(1, 2)"), (Strings{"(Intercept)", "a %in% c(1, 2)"}));
}

TEST(FormulaMessage, ABarOfPlainColumnsIsAGroupEffect) {
  EXPECT_EQ(
      message("y ~ x | a"),
      "formula: a group effect stands in parentheses, as in (1 | g); for \"one or the other\" write I(x | a) "
      "(position 7)\n"
      "  y ~ x | a\n"
      "        ^");
  for (const char* formula : {"y ~ I(x | b)", "y ~ (x > 3 | b)", "y ~ (x | !b)"})
    EXPECT_EQ(message(formula), "no error") << formula;
}

TEST(FormulaMessage, SaysWhatToWriteInstead) {
  EXPECT_EQ(message("y ~ a/2"),
            "formula: '/' between terms nests one in the other; write I(a/2) for a ratio (position 6)\n"
            "  y ~ a/2\n"
            "       ^");
  EXPECT_EQ(
      message("y ~ x^2"),
      "formula: '^' between terms is for interactions of a group, as in (a + b)^2; write I(x^2) for a power "
      "(position 6)\n"
      "  y ~ x^2\n"
      "       ^");
  EXPECT_EQ(
      message("y ~ (a + b)^x"),
      "formula: the order of interaction must be an integer of at least 1 (got x); write I(...) for a power "
      "(position 13)\n"
      "  y ~ (a + b)^x\n"
      "              ^");
  EXPECT_EQ(message("y ~ (a + b)^1.5"),
            "formula: the order of interaction must be an integer of at least 1 (got 1.5); write I(...) for "
            "a power "
            "(position 13)\n"
            "  y ~ (a + b)^1.5\n"
            "              ^");
  EXPECT_EQ(message("y ~ x + 2"),
            "formula: 2 is not a term; write I(...) for arithmetic, as in I(2 * x) (position 9)\n"
            "  y ~ x + 2\n"
            "          ^");
  EXPECT_EQ(message("y ~ x:1"),
            "formula: 1 cannot be a part of an interaction; write I(...) for arithmetic (position 7)\n"
            "  y ~ x:1\n"
            "        ^");
  EXPECT_EQ(message("y ~ -a:b"),
            "formula: '-' cannot be a part of an interaction; write I(...) for arithmetic (position 5)\n"
            "  y ~ -a:b\n"
            "      ^");
  EXPECT_EQ(message("y ~ I(a:b)"),
            "formula: ':' is not arithmetic; write '*' (position 8)\n"
            "  y ~ I(a:b)\n"
            "         ^");
  EXPECT_EQ(message("y ~ (x = 3)"),
            "formula: '=' compares nothing; write '==' (position 8)\n"
            "  y ~ (x = 3)\n"
            "         ^");
  EXPECT_EQ(message("y ~ I(a && b)"),
            "formula: write '&' instead of '&&' (position 9)\n"
            "  y ~ I(a && b)\n"
            "          ^");
  EXPECT_EQ(message("y ~ I(a < b < c)"),
            "formula: comparisons cannot be chained; write (a < b) & (b < c) (position 13)\n"
            "  y ~ I(a < b < c)\n"
            "              ^");
}

TEST(FormulaMessage, RefusesUsesWithoutMeaning) {
  EXPECT_EQ(message("y ~ x + I(3)"),
            "formula: I(3) uses no column of the data (position 9)\n"
            "  y ~ x + I(3)\n"
            "          ^");
  EXPECT_EQ(message("1 ~ x"),
            "formula: 1 uses no column of the data (position 1)\n"
            "  1 ~ x\n"
            "  ^");
  EXPECT_EQ(message("y ~ log(.)"),
            "formula: '.' stands for terms; it has no value (position 9)\n"
            "  y ~ log(.)\n"
            "          ^");
  EXPECT_EQ(message("y + a ~ .", {"y", "a"}),
            "formula: '.' stands for no column: the response uses them all (position 9)\n"
            "  y + a ~ .\n"
            "          ^");
  EXPECT_EQ(message("y ~ x + y"),
            "formula: the response y cannot also be a term (position 9)\n"
            "  y ~ x + y\n"
            "          ^");
  EXPECT_EQ(message("y ~ log(offset(x))"),
            "formula: offset() must stand alone on the right of '~' (position 9)\n"
            "  y ~ log(offset(x))\n"
            "          ^");
  EXPECT_EQ(message("y ~ x:offset(a)"),
            "formula: offset() cannot be a part of an interaction (position 7)\n"
            "  y ~ x:offset(a)\n"
            "        ^");
  EXPECT_EQ(message("y ~ x - offset(a)"),
            "formula: offset() cannot be subtracted; write + offset(-x) (position 9)\n"
            "  y ~ x - offset(a)\n"
            "          ^");
  EXPECT_EQ(message("y ~ I(x + 1e999)"),
            "formula: the number 1e999 is out of range (position 11)\n"
            "  y ~ I(x + 1e999)\n"
            "            ^");
  EXPECT_EQ(message("y ~ x\x01"),
            "formula: unexpected byte 0x01 (position 6)\n"
            "  y ~ x \n"
            "       ^");
  EXPECT_EQ(message("y ~ I(a %o% b)"),
            "formula: '%o%' is not supported (position 9)\n"
            "  y ~ I(a %o% b)\n"
            "          ^");
}

TEST(FormulaMessage, RefusesWhatWouldExhaustStackOrMemory) {
  const auto begins = [](const std::string& text, const std::string& start) {
    return text.rfind(start, 0) == 0;
  };
  const std::string deep(100'000, '(');
  EXPECT_TRUE(begins(message("y ~ " + deep), "formula: more than 10000 words and signs (position "));
  for (const std::string opening : {"(", "log(", "-", "!", "x^"}) {
    std::string text = "y ~ ";
    for (int i = 0; i < 1000; ++i) text += opening;
    EXPECT_TRUE(begins(message(text), "formula: more than 200 levels deep (position ")) << opening;
  }
  Strings columns = {"y", "x0"};
  std::string product = "y ~ x0";
  for (int i = 1; i < 40; ++i) {
    columns.push_back("x" + std::to_string(i));
    product.append("*").append(columns.back());
  }
  EXPECT_TRUE(begins(message(product, columns), "formula: more than 10000 terms (position "));
  EXPECT_TRUE(begins(message("y ~ .^40", columns), "formula: more than 10000 terms (position "));
}

TEST(FormulaParser, AnswersGarbageWithAUsageErrorOnly) {
  static const Strings words = {
      "y",    "x",       "a",       "b",   ".",    "+",    "-",  "*",  "/",  ":", "^",  "(",  ")",  "~",  "~",
      "0",    "1",       "2",       "1e3", "log(", "I(",   "==", "<",  "!",  "&", "|",  ",",  "`",  "\"", "%",
      "%in%", "offset(", "factor(", "=",   "\\",   "\xC3", " ",  "\n", "\t", "$", "x1", "&&", "..", ".5"};
  std::mt19937_64 random(99);
  int read = 0;
  for (int i = 0; i < 60'000; ++i) {
    std::string text = i % 3 == 0 ? "" : "y ~ x";
    const auto length = std::uniform_int_distribution<std::size_t>(0, 24)(random);
    for (std::size_t k = 0; k < length; ++k) {
      if (i % 2 == 0) {
        text += words[std::uniform_int_distribution<std::size_t>(0, words.size() - 1)(random)];
      } else {
        text += static_cast<char>(std::uniform_int_distribution<int>(i % 5 == 0 ? 0 : 32, 255)(random));
      }
    }
    try {
      const Formula formula = parse_formula(text, all);
      ++read;
      for (const Term& term : formula.terms) ASSERT_FALSE(term.name().empty());
    } catch (const UsageError& error) {
      ASSERT_EQ(std::string(error.what()).rfind("formula: ", 0), 0U) << error.what();
    }
  }
  EXPECT_GT(read,
            1000);  // enough are valid formulas, so that the code after the parser is reached as well
}

}  // namespace
}  // namespace mlo
