// Copyright (c) the mlo authors. BSD-3-Clause.
// Formulas that once crashed, hung or were misread; most were found by fuzz/formula.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/data/design.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/new_rows.hpp"

namespace mlo {
namespace {

using Names = std::vector<std::string>;

Table small_table() {
  constexpr double gap = std::numeric_limits<double>::quiet_NaN();
  Table table;
  table.source = {.name = "data.csv"};
  table.rows = 6;
  table.columns.push_back({"y", Numbers{0, 1, 0, 1, 1, 0}});
  table.columns.push_back({"x", Numbers{1, 2, 3, 4, gap, 6}});
  table.columns.push_back({"tiny", Numbers{0, 1e-320, 2e-320, 0, 1e-320, 2e-320}});
  table.columns.push_back({"near", Numbers{0.3, 0.1 + 0.2, 1, 0.3, 1, 0.1 + 0.2}});
  table.columns.push_back({"g", Text{.levels = {"a", "b"}, .codes = {0, 1, Text::missing, 0, 1, 1}}});
  return table;
}

Formula parse(const std::string& text) { return parse_formula(text, Names{"y", "x", "tiny", "near", "g"}); }

std::string message(const std::string& text) {
  try {
    static_cast<void>(build_design(parse(text), small_table(), {}));
  } catch (const Error& error) {
    const std::string all = error.what();
    return all.substr(0, all.find('\n'));
  }
  return "no error";
}

// The last column of the design, over the rows that it has.
std::vector<double> last_column(const std::string& text) {
  const Design design = build_design(parse(text), small_table(), {});
  std::vector<double> row(design.dim), out;
  for (std::size_t i = 0; i < design.rows; ++i) {
    design.user_row(i, row);
    out.push_back(std::round(row.back() * 1e9) / 1e9);
  }
  return out;
}

TEST(FoundFormulas, IsNaOfSeveralColumnsIsRefused) {
  EXPECT_EQ(message("y ~ is.na(poly(x, 3))"),
            "formula: poly(x, 3) has 3 columns, but is.na() needs one (position 11)");
}

TEST(FoundFormulas, ComparisonsOfComparisonsTakeATimeThatGrowsWithTheirNumber) {
  std::string less = "x", in = "x";
  for (int i = 0; i < 150; ++i) {
    less = "(" + less + " < 2)";
    in = "(" + in + " %in% c(0, 1))";
  }
  EXPECT_EQ(last_column("I(" + less + ") ~ near").size(), 5U);
  // 1 is in the list and 2 is not; from then on 0 and 1 both are: all rows are TRUE.
  EXPECT_NE(message("y ~ I(" + in + ")").find("has one level (\"TRUE\")"), std::string::npos);
}

TEST(FoundFormulas, AMissingValueIsInNoList) {
  EXPECT_EQ(last_column("y ~ (x %in% c(4, 1))"), (std::vector<double>{1, 0, 0, 1, 0, 0}));
  EXPECT_EQ(last_column("y ~ (g %in% c(\"b\"))"), (std::vector<double>{0, 1, 0, 0, 1, 1}));
}

TEST(FoundFormulas, LevelsMayBeNumbersBelowTheNormalRange) {
  EXPECT_EQ(build_design(parse("y ~ factor(tiny)"), small_table(), {}).names,
            (Names{"(Intercept)", "factor(tiny)1e-320", "factor(tiny)2e-320"}));
}

// As in R, where factor(c(0.3, 0.1 + 0.2, 1)) has two levels.
TEST(FoundFormulas, NumbersThatLookTheSameAreOneLevel) {
  const Formula formula = parse("y ~ factor(near)");
  const Table table = small_table();
  const Design design = build_design(formula, table, {});
  EXPECT_EQ(design.names, (Names{"(Intercept)", "factor(near)1"}));
  const NewRows rows(formula, design.recipe, table, {});
  std::vector<double> x(12), offsets(6);
  std::vector<char> complete(6);
  rows.fill(0, {.x = x, .offsets = offsets, .y = {}, .complete = complete});
  EXPECT_EQ(x, (std::vector<double>{1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0}));
}

TEST(FoundFormulas, AFactorWithoutItsLevelsIsNamedAsTheReason) {
  EXPECT_EQ(
      message("y ~ factor(g, levels = c(\"q\"))"),
      "data.csv: no row is left: in 5 of 6 rows a factor has none of its levels, and in the others a cell is "
      "missing");
  EXPECT_EQ(message("y ~ factor(y, levels = c(7, 8)) + near"),
            "data.csv: no row has any of the levels of factor(y, levels = c(7, 8))");
}

TEST(FoundFormulas, AWordInBackquotesIsWrittenInThem) {
  const Formula formula = parse("y ~ C(g, `a b`)");
  EXPECT_EQ(formula.terms.back().name(), "C(g, `a b`)");
}

TEST(FoundRecipes, DamagedLevelsAreRefused) {
  const Formula formula = parse("y ~ g");
  const Table table = small_table();
  const Design design = build_design(formula, table, {});
  for (const double base : {-1.0, 2.0, 1e300}) {
    Recipe recipe = design.recipe;
    for (Learnt& entry : recipe.learnt) entry.numbers = {base};
    EXPECT_THROW(NewRows(formula, recipe, table, {}), DataError) << base;
  }
  Recipe recipe = design.recipe;
  for (Learnt& entry : recipe.learnt) entry.levels.clear();
  EXPECT_THROW(NewRows(formula, recipe, table, {}), DataError);
}

}  // namespace
}  // namespace mlo
