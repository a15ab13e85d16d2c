// Copyright (c) the mlo authors. BSD-3-Clause.
// Group effects, (effects | grouping): parsed, coded, and found again in other data. r_test.cpp compares the
// columns of effects with R's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/data/design.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/holdout.hpp"
#include "mlo/data/new_rows.hpp"

namespace mlo {
namespace {

using Strings = std::vector<std::string>;
using Codes = std::vector<std::uint32_t>;
constexpr double gap = std::numeric_limits<double>::quiet_NaN();

const Strings all = {"y", "a", "b", "c", "x", "z", "f", "g"};

// Effects, grouping and sign of each group term: "1 + x | a:b".
Strings groups(const std::string& formula) {
  Strings out;
  for (const GroupTerm& group : parse_formula(formula, all).groups) {
    std::string text;
    for (const Term& effect : group.effects)
      text += (text.empty() ? "" : " + ") + (effect.factors.empty() ? "1" : effect.name());
    out.push_back(text + (group.correlated ? " | " : " || ") + group.grouping.name());
  }
  return out;
}

Strings terms(const std::string& formula) {
  Strings out;
  for (const Term& term : parse_formula(formula, all).terms) out.push_back(term.name());
  return out;
}

std::string message(const std::string& formula) {
  try {
    static_cast<void>(parse_formula(formula, all));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST(GroupTerms, AreThoseOfLme4) {
  EXPECT_EQ(groups("y ~ x + (1 | g)"), (Strings{"1 | g"}));
  EXPECT_EQ(groups("y ~ (x | g)"), (Strings{"1 + x | g"}));
  EXPECT_EQ(groups("y ~ (1 + x | g)"), (Strings{"1 + x | g"}));
  EXPECT_EQ(groups("y ~ (0 + x | g)"), (Strings{"x | g"}));
  EXPECT_EQ(groups("y ~ (-1 + x | g)"), (Strings{"x | g"}));
  EXPECT_EQ(groups("y ~ (x - 1 | g)"), (Strings{"x | g"}));
  EXPECT_EQ(groups("y ~ (1 + x || g)"), (Strings{"1 + x || g"}));
  EXPECT_EQ(groups("y ~ (x*z | g)"), (Strings{"1 + x + z + x:z | g"}));
  EXPECT_EQ(groups("y ~ (log(x) + I(z^2) | g)"), (Strings{"1 + log(x) + I(z^2) | g"}));
  EXPECT_EQ(groups("y ~ ((1 | g))"), (Strings{"1 | g"}));
  EXPECT_EQ(groups("y ~ (x + (1 | g))"), (Strings{"1 | g"}));
  EXPECT_EQ(groups("y ~ (1 | g) + (0 + x | g) + (1 | a)"), (Strings{"1 | g", "x | g", "1 | a"}));
}

TEST(GroupTerms, AreNestedAndCrossed) {
  EXPECT_EQ(groups("y ~ (1 | a/b)"), (Strings{"1 | a", "1 | a:b"}));
  EXPECT_EQ(groups("y ~ (x || a/b/c)"), (Strings{"1 + x || a", "1 + x || a:b", "1 + x || a:b:c"}));
  EXPECT_EQ(groups("y ~ b + (1 | a:b)"), (Strings{"1 | a:b"}));
  EXPECT_EQ(groups("y ~ (1 | a:b/c)"), (Strings{"1 | a:b", "1 | a:b:c"}));
  EXPECT_EQ(groups("y ~ (1 | (a/b))"), (Strings{"1 | a", "1 | a:b"}));
}

TEST(GroupTerms, MayBeGroupedByAnyExpression) {
  EXPECT_EQ(groups("y ~ (1 | factor(g))"), (Strings{"1 | factor(g)"}));
  EXPECT_EQ(groups("y ~ (1 | cut(x, 3))"), (Strings{"1 | cut(x, 3)"}));
  EXPECT_EQ(groups("y ~ (1 | x %/% 10)"), (Strings{"1 | x%/%10"}));
  EXPECT_EQ(groups("y ~ (1 | x > 3)"), (Strings{"1 | x > 3"}));
  EXPECT_EQ(groups("y ~ (1 | I(a + b))"), (Strings{"1 | I(a + b)"}));
  EXPECT_EQ(groups("y ~ (1 | a:(x > 3))"), (Strings{"1 | a:x > 3"}));
}

TEST(GroupTerms, AreNotTerms) {
  EXPECT_EQ(terms("y ~ x + (1 | g) + z"), (Strings{"(Intercept)", "x", "z"}));
  EXPECT_EQ(terms("y ~ (0 + x | g)"), (Strings{"(Intercept)"}));
  EXPECT_EQ(terms("y ~ 0 + x + (1 | g)"), (Strings{"x"}));
  // As in R, a dot is every column but the response, groupings included.
  EXPECT_EQ(terms("y ~ . + (1 | g)"), (Strings{"(Intercept)", "a", "b", "c", "x", "z", "f", "g"}));
  EXPECT_EQ(terms("y ~ . - g + (1 | g)"), (Strings{"(Intercept)", "a", "b", "c", "x", "z", "f"}));
  EXPECT_EQ(groups("y ~ . - g + (1 | g)"), (Strings{"1 | g"}));
}

TEST(GroupTerms, NeedTheirColumns) {
  EXPECT_EQ(parse_formula("y ~ (x | a:f) + z", all).columns(), (Strings{"y", "x", "a", "f", "z"}));
  EXPECT_EQ(columns_of_rows(parse_formula("y ~ (x | a:f) + z", all), false), (Strings{"z", "x", "a", "f"}));
}

TEST(GroupMessage, PointsAtTheMistake) {
  EXPECT_EQ(message("y ~ x + (1 | g + a)"),
            "formula: '+' joins no groupings; write (... | g) + (... | a), or I(g + a) for arithmetic "
            "(position 16)\n"
            "  y ~ x + (1 | g + a)\n"
            "                 ^");
  EXPECT_EQ(message("y ~ (1 | g) + (x | g)"),
            "formula: the intercept varies by g twice; (x | g) includes it, and (0 + x | g) does not "
            "(position 18)\n"
            "  y ~ (1 | g) + (x | g)\n"
            "                   ^");
  const std::map<std::string, std::string> cases = {
      {"y ~ (1 | a*b)", "'*' joins no groupings; write a:b or a/b, or I(a * b) for arithmetic"},
      {"y ~ (1 | a/10)", "10 is not a grouping; write (1 | g) with a column g"},
      {"y ~ (x | 1)", "1 is not a grouping; write (1 | g) with a column g"},
      {"y ~ (0 | g)", "nothing varies by group; write (1 | g), or (0 + x | g)"},
      {"y ~ x:(1 | g)", "a group effect cannot be a part of an interaction"},
      {"y ~ x - (1 | g)", "a group effect cannot be subtracted; leave it out"},
      {"y ~ ((1 | g) + x | a)", "a group effect cannot stand in another"},
      {"y ~ (. | g)", "'.' cannot stand in a group effect; name its columns"},
      {"y ~ (1 | .)", "'.' cannot stand in a group effect; name its columns"},
      {"y ~ (offset(x) | g)", "offset() cannot stand in a group effect"},
      {"y ~ (1 | id | g)",
       "a group effect has one '|'; an identifier between two of them joins several formulas, and here is one: "
       "write (1 | g)"},
      {"y ~ (0 + x | a:b) + (x | b:a)", "x varies by b:a twice; one term says all"},
      {"y ~ (1 | a/b) + (1 | a)",
       "the intercept varies by a twice; (x | a) includes it, and (0 + x | a) does not"},
      {"y ~ (1 | y)", "the response y cannot also be a grouping"},
      {"y ~ (y | g)", "the response y cannot also be a term"},
      {"y ~ I(x || z)", "write '|' instead of '||'"},
      {"y ~ (x > 3 || z)", "write '|' instead of '||'"},
  };
  for (const auto& [formula, expected] : cases)
    EXPECT_EQ(first_line(message(formula)).rfind("formula: " + expected + " (position", 0), 0U)
        << formula << ": " << message(formula);
  EXPECT_EQ(first_line(message("y ~ (1 | h)")).rfind("formula: no column \"h\" in the data", 0), 0U);
}

// ---- designs

Text text_of(const Strings& cells) {
  Text out;
  for (const std::string& cell : cells) {
    if (cell == "NA") {
      out.codes.push_back(Text::missing);
      continue;
    }
    const auto at = std::find(out.levels.begin(), out.levels.end(), cell);
    out.codes.push_back(static_cast<std::uint32_t>(at - out.levels.begin()));
    if (at == out.levels.end()) out.levels.push_back(cell);
  }
  return out;
}

Table table_of() {
  Table table;
  table.source = {.name = "data.csv"};
  table.source.unit = Source::Unit::line;
  table.rows = 8;
  table.columns.push_back({"y", Numbers{0, 1, 0, 1, 1, 0, 1, 0}});
  table.columns.push_back({"x", Numbers{1, 2, 4, gap, 5, 6, 7, 9}});
  table.columns.push_back({"z", Numbers{10, -0.0, 2, 2, 0, 10, 2, 10}});
  table.columns.push_back({"f", text_of({"u", "v", "u", "w", "u", "v", "u", "v"})});
  table.columns.push_back({"g", text_of({"t", "s", "NA", "s", "r", "t", "s", "r"})});
  table.columns.push_back({"a", text_of({"p", "q", "p", "q", "p", "q", "p", "p"})});
  table.columns.push_back({"b", Numbers{2, 10, 2, 2, 10, 10, 3, 2}});
  table.columns.push_back({"c", Numbers{1, 1, 2, 2, 1, 1, 2, 1}});
  return table;
}

Design design_of(const std::string& formula, const DesignOptions& options = {}) {
  return build_design(parse_formula(formula, all), table_of(), options);
}

Codes codes_of(const GroupDesign& group) { return {group.codes.begin(), group.codes.end()}; }
std::vector<float> z_of(const GroupDesign& group) { return {group.z.begin(), group.z.end()}; }

TEST(GroupDesign, CodesTheLevelsThatOccurInTheirOrder) {
  const Design design = design_of("y ~ c + (1 | g)");
  EXPECT_EQ(design.rows, 7U);
  EXPECT_EQ(design.dropped, 1U);  // the row without a group
  ASSERT_EQ(design.groups.size(), 1U);
  const GroupDesign& g = design.groups[0];
  EXPECT_EQ(g.name, "g");
  EXPECT_EQ(g.levels, (Strings{"r", "s", "t"}));
  EXPECT_EQ(codes_of(g), (Codes{2, 1, 1, 0, 2, 1, 0}));
  EXPECT_EQ(g.effects, (Strings{"Intercept"}));
  EXPECT_EQ(g.dim(), 1U);
  EXPECT_TRUE(g.intercept);
  EXPECT_TRUE(g.correlated);
  EXPECT_TRUE(g.z.empty());
  EXPECT_EQ(design.names, (Strings{"(Intercept)", "c"}));
}

TEST(GroupDesign, LeavesOutTheLevelsOfDroppedRows) {
  // The only "w" is in the row without x.
  const GroupDesign f = design_of("y ~ x + (1 | f)").groups[0];
  EXPECT_EQ(f.levels, (Strings{"u", "v"}));
  EXPECT_EQ(codes_of(f), (Codes{0, 1, 0, 0, 1, 0, 1}));
  const GroupDesign both = design_of("y ~ x + (1 | f:c)").groups[0];
  EXPECT_EQ(both.levels, (Strings{"u_1", "u_2", "v_1"}));
}

TEST(GroupDesign, NumbersAreGroupsInTheOrderOfTheirValues) {
  for (const char* formula : {"y ~ x + (1 | z)", "y ~ x + (1 | factor(z))"}) {
    const GroupDesign z = design_of(formula).groups[0];
    EXPECT_EQ(z.levels, (Strings{"0", "2", "10"})) << formula;  // -0 and 0 are one
    EXPECT_EQ(codes_of(z), (Codes{2, 0, 1, 0, 2, 1, 2})) << formula;
  }
  EXPECT_EQ(design_of("y ~ x + (1 | factor(z))").groups[0].name, "factor(z)");
}

TEST(GroupDesign, WholeNumbersAreWrittenInFull) {
  Table table = table_of();
  table.columns[2] = {"z", Numbers{100000, -7, 1e16, 0.5, 1e15, 123456789, 1e-5, 100000}};
  const Design design = build_design(parse_formula("y ~ c + (1 | z)", all), table, {});
  EXPECT_EQ(design.groups[0].levels,
            (Strings{"-7", "1e-05", "0.5", "100000", "123456789", "1e+15", "1e+16"}));
}

TEST(GroupDesign, NumbersThatLookTheSameAreOneGroup) {
  Table table = table_of();
  table.columns[2] = {"z", Numbers{0.3, 0.1 + 0.2, 1, 0.3, 1, 0.1 + 0.2, 1, 0.3}};
  const Design design = build_design(parse_formula("y ~ c + (1 | z) + (1 | z:c)", all), table, {});
  EXPECT_EQ(design.groups[0].levels, (Strings{"0.3", "1"}));
  EXPECT_EQ(codes_of(design.groups[0]), (Codes{0, 0, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(design.groups[1].levels, (Strings{"0.3_1", "0.3_2", "1_1", "1_2"}));
  EXPECT_EQ(codes_of(design.groups[1]), (Codes{0, 0, 3, 1, 2, 0, 3, 0}));
}

TEST(GroupDesign, GroupsByExpressions) {
  const GroupDesign tens = design_of("y ~ c + (1 | b %/% 10)").groups[0];
  EXPECT_EQ(tens.levels, (Strings{"0", "1"}));
  EXPECT_EQ(codes_of(tens), (Codes{0, 1, 0, 0, 1, 1, 0, 0}));
  const GroupDesign truth = design_of("y ~ c + (1 | b > 2)").groups[0];
  EXPECT_EQ(truth.levels, (Strings{"FALSE", "TRUE"}));
  EXPECT_EQ(codes_of(truth), (Codes{0, 1, 0, 0, 1, 1, 1, 0}));
  const GroupDesign cut = design_of("y ~ c + (1 | cut(b, c(0, 5, 20)))").groups[0];
  EXPECT_EQ(cut.levels, (Strings{"(0,5]", "(5,20]"}));
}

TEST(GroupDesign, AnInteractionHasTheCombinationsThatOccurTheFirstVaryingSlowest) {
  const Design design = design_of("y ~ c + (1 | a/b)");
  ASSERT_EQ(design.groups.size(), 2U);
  EXPECT_EQ(design.groups[0].name, "a");
  EXPECT_EQ(codes_of(design.groups[0]), (Codes{0, 1, 0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(design.groups[1].name, "a:b");
  EXPECT_EQ(design.groups[1].levels, (Strings{"p_2", "p_3", "p_10", "q_2", "q_10"}));
  EXPECT_EQ(codes_of(design.groups[1]), (Codes{0, 4, 0, 3, 2, 4, 1, 0}));
  const GroupDesign three = design_of("y ~ c + (1 | a:b:c)").groups[0];
  EXPECT_EQ(three.levels, (Strings{"p_2_1", "p_2_2", "p_3_2", "p_10_1", "q_2_2", "q_10_1"}));
  EXPECT_EQ(codes_of(three), (Codes{0, 5, 1, 4, 3, 5, 2, 0}));
}

TEST(GroupDesign, KeepsAnOrderThatTheUserGave) {
  Table table = table_of();
  table.columns[4].text().in_order = true;
  const Design design = build_design(parse_formula("y ~ c + (1 | g)", all), table, {});
  EXPECT_EQ(design.groups[0].levels, (Strings{"t", "s", "r"}));
}

TEST(GroupDesign, WritesMultipliersOfTheRowsThatAreUsed) {
  const Design design = design_of("y ~ 1 + (x | a) + (0 + z + I(z * x) || a:b)");
  EXPECT_EQ(design.rows, 7U);  // x is missing in one
  EXPECT_EQ(design.groups[0].effects, (Strings{"Intercept", "x"}));
  EXPECT_EQ(z_of(design.groups[0]), (std::vector<float>{1, 2, 4, 5, 6, 7, 9}));
  const GroupDesign& second = design.groups[1];
  EXPECT_FALSE(second.intercept);
  EXPECT_FALSE(second.correlated);
  EXPECT_EQ(second.effects, (Strings{"z", "I(z * x)"}));
  EXPECT_EQ(z_of(second), (std::vector<float>{10, 10, 0, 0, 2, 8, 0, 0, 10, 60, 2, 14, 10, 90}));
}

TEST(GroupDesign, ScalesMultipliersAsColumns) {
  const Design design = design_of("y ~ x + (x | a)", {.scale = Scale::standard});
  std::vector<double> row(design.dim);
  for (std::size_t i = 0; i < design.rows; ++i) {
    design.user_row(i, row);
    EXPECT_NEAR(design.groups[0].z[i], row[1], 1e-6);
  }
}

TEST(GroupMessage, OfDesigns) {
  const auto refused = [](const std::string& formula, const DesignOptions& options = {}) -> std::string {
    try {
      static_cast<void>(design_of(formula, options));
    } catch (const Error& error) {
      return first_line(error.what());
    }
    return "no error";
  };
  EXPECT_EQ(refused("y ~ c + (1 | g)", {.missing = Missing::error}),
            "data.csv:4: column \"g\": the cell is empty or NA (`missing error`)");
  EXPECT_EQ(refused("y ~ c + (1 | poly(b, 2))"),
            "formula: poly(b, 2) has 2 columns; a grouping needs one (position 14)");
  EXPECT_EQ(refused("y ~ c + (1 | log(z))"), "data.csv:3: log(z) is -inf (z = -0)");
  EXPECT_EQ(refused("y ~ c + (log(z) | a)"), "data.csv:3: log(z) is -inf (z = -0)");
  EXPECT_EQ(
      refused("y ~ 1 + (poly(x, 5, raw = TRUE)*f | a)"),
      "12 columns vary by a, with those of poly(x, 5, raw = TRUE)1:fv; at most 8 may: leave some out, or "
      "write a group effect of its own for each level, as in (1 | f:a)");
  EXPECT_EQ(refused("y ~ c + (I(x * 1e60) | a)"),
            "data.csv:2: the effect I(x * 1e+60) of a is 1e+60 (x = 1)");
}

// ---- other data

struct NewGroups {
  std::vector<char> complete;
  std::vector<Codes> codes;
  std::vector<std::vector<float>> z;
};

NewGroups groups_of(const Formula& formula, const Recipe& recipe, const Table& table) {
  const NewRows rows(formula, recipe, table, {.new_levels = NewLevels::missing});
  const std::size_t n = table.rows;
  std::vector<double> x(n * rows.dim()), offsets(n);
  NewGroups out{.complete = std::vector<char>(n), .codes = {}, .z = {}};
  std::vector<NewRows::GroupBlock> blocks;
  for (std::size_t g = 0; g < rows.groups(); ++g) {
    out.codes.emplace_back(n);
    out.z.emplace_back(n * rows.multipliers(g));
  }
  for (std::size_t g = 0; g < rows.groups(); ++g) blocks.push_back({.codes = out.codes[g], .z = out.z[g]});
  rows.fill(0, {.x = x, .offsets = offsets, .y = {}, .complete = out.complete, .groups = blocks});
  return out;
}

TEST(NewGroups, HaveTheCodesOfTheFitAndOneForThoseItHasNotSeen) {
  const Formula formula = parse_formula("y ~ c + (x | g) + (1 | a:b) + (1 | z)", all);
  const Design design = build_design(formula, table_of(), {});
  Table table = table_of();
  table.rows = 4;
  table.columns.clear();
  table.columns.push_back({"c", Numbers{1, 1, 1, 1}});
  table.columns.push_back({"x", Numbers{3, 4, gap, 5}});
  table.columns.push_back({"g", text_of({"s", "new", "t", "NA"})});
  table.columns.push_back({"a", text_of({"q", "q", "p", "p"})});
  table.columns.push_back({"b", Numbers{10, 3, 2, 2}});  // q and 3 are known, but not together
  table.columns.push_back({"z", Numbers{2, 7, 10, 10}});
  const NewGroups made = groups_of(formula, design.recipe, table);
  EXPECT_EQ(made.complete, (std::vector<char>{1, 1, 0, 0}));
  constexpr std::uint32_t none = NewRows::new_group;
  EXPECT_EQ(made.codes[0], (Codes{1, none, none, none}));
  EXPECT_EQ(made.z[0], (std::vector<float>{3, 4, 0, 0}));
  // q_10 is the last of p_2, p_3, p_10, q_10: the rows with q_2 and a missing x were not used.
  EXPECT_EQ(design.groups[1].levels, (Strings{"p_2", "p_3", "p_10", "q_10"}));
  EXPECT_EQ(made.codes[1], (Codes{3, none, none, none}));
  EXPECT_EQ(made.codes[2], (Codes{1, none, none, none}));
}

// Random tables, any formula: what the fit was made of is found again in its own rows.
TEST(NewGroups, AreThoseOfTheFitInItsOwnRows) {
  std::mt19937 random(3);
  for (const char* text :
       {"y ~ 1 + (1 | g)", "y ~ x + (x | g/b)", "y ~ f + (f || a:b)", "y ~ 1 + (0 + f + x | z:g:a)",
        "y ~ 1 + (bs(x, 4) | cut(z, 4))", "y ~ 1 + (C(f, contr.sum) | factor(b))"}) {
    Table table;
    table.source = {.name = "data.csv"};
    table.rows = 3000;
    const auto pick = [&](std::size_t n) { return random() % n; };
    for (const char* name : {"y", "x", "z", "b", "c"}) {
      Numbers cells;
      for (std::size_t i = 0; i < table.rows; ++i)
        cells.push_back(pick(50) == 0 ? gap : static_cast<double>(pick(name[0] == 'y' ? 2 : 700)) / 4);
      table.columns.emplace_back(name, cells);
    }
    for (const char* name : {"a", "f", "g"}) {
      Text cells;
      const std::size_t levels = name[0] == 'g' ? 400 : 3;
      for (std::size_t l = 0; l < levels; ++l) cells.levels.push_back("l" + std::to_string(levels - l));
      for (std::size_t i = 0; i < table.rows; ++i)
        cells.codes.push_back(pick(60) == 0 ? Text::missing : static_cast<std::uint32_t>(pick(levels)));
      table.columns.emplace_back(name, cells);
    }
    const Formula formula = parse_formula(text, all);
    const Design design = build_design(formula, table, {});
    const NewGroups made = groups_of(formula, design.recipe, table);
    for (std::size_t g = 0; g < design.groups.size(); ++g) {
      const GroupDesign& group = design.groups[g];
      EXPECT_TRUE(std::all_of(group.codes.begin(), group.codes.end(),
                              [&](std::uint32_t code) { return code < group.levels.size(); }));
      EXPECT_EQ(group_names(design.recipe.groups[g]), group.levels);
      const std::size_t width = group.dim() - (group.intercept ? 1 : 0);
      ASSERT_EQ(group.codes.size(), design.rows);
      ASSERT_EQ(group.z.size(), design.rows * width);
      std::size_t i = 0;
      for (std::size_t row = 0; row < table.rows; ++row) {
        // The response is not looked at in new rows.
        if (made.complete[row] == 0 || std::isnan(table.columns[0].values()[row])) continue;
        ASSERT_EQ(made.codes[g][row], group.codes[i]) << text;
        for (std::size_t e = 0; e < width; ++e)
          ASSERT_EQ(made.z[g][row * width + e], group.z[i * width + e]) << text;
        ++i;
      }
      EXPECT_EQ(i, design.rows);
    }
  }
}

TEST(NewGroups, OfRowsThatWereHeldOutHaveTheCodesOfTheOthers) {
  const Formula formula = parse_formula("y ~ 1 + (1 | g)", all);
  Table table;
  table.source = {.name = "data.csv"};
  table.rows = 400;
  Numbers y, g;
  for (std::size_t i = 0; i < table.rows; ++i) {
    y.push_back(static_cast<double>(i % 2));
    g.push_back(static_cast<double>(i / 2));
  }
  table.columns.push_back({"y", y});
  table.columns.push_back({"g", g});
  const Table held = hold_out(table, 7, 0.5);
  const Table kept = table;
  const Design design = build_design(formula, table, {});
  const NewGroups made = groups_of(formula, design.recipe, held);
  std::size_t seen = 0;
  for (std::size_t i = 0; i < held.rows; ++i) {
    const double group = held.columns[1].values()[i];
    const auto at = std::find(kept.columns[1].values().begin(), kept.columns[1].values().end(), group);
    const bool known = at != kept.columns[1].values().end();
    ASSERT_EQ(made.codes[0][i] == NewRows::new_group, !known);
    if (!known) continue;
    ++seen;
    EXPECT_EQ(std::stod(design.groups[0].levels[made.codes[0][i]]), group);
  }
  EXPECT_GT(seen, 20U);
  EXPECT_LT(seen, held.rows);
}

}  // namespace
}  // namespace mlo
