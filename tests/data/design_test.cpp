// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/design.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../../src/data/design_scale.hpp"
#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

using Values = std::vector<double>;
using Strings = std::vector<std::string>;
constexpr double na = std::numeric_limits<double>::quiet_NaN();

Table table_of(std::vector<Column> columns) {
  Table table;
  table.source = {.name = "data.csv", .unit = Source::Unit::line};
  table.rows = columns.empty() ? 0 : columns[0].size();
  table.columns = std::move(columns);
  return table;
}

Design build(const std::string& formula, const Table& table, const DesignOptions& options = {}) {
  Strings columns;
  for (const Column& column : table.columns) columns.push_back(column.name);
  return build_design(parse_formula(formula, columns), table, options);
}

template <class Failure>
std::string message(const std::string& formula, const Table& table, const DesignOptions& options = {}) {
  try {
    static_cast<void>(build(formula, table, options));
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "no error";
}

// y, x1 = 40 + 7 z, x2 in 0..9, t > 0; more than one block of rows, the last one incomplete.
Table random_table(std::size_t rows = 3001) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> digit(0, 9);
  std::vector<Column> columns = {{"y", {}}, {"x1", {}}, {"x2", {}}, {"t", {}}};
  for (std::size_t i = 0; i < rows; ++i) {
    columns[0].numbers().push_back(normal(random));
    columns[1].numbers().push_back(40 + 7 * normal(random));
    columns[2].numbers().push_back(digit(random));
    columns[3].numbers().push_back(std::exp(normal(random)));
  }
  return table_of(std::move(columns));
}

struct Spread {
  double mean;
  double sd;
  double root_mean_square;
};

// Two passes in extended precision.
Spread spread(const Values& values) {
  long double sum = 0;
  long double squares = 0;
  for (const double v : values) {
    sum += v;
    squares += static_cast<long double>(v) * v;
  }
  const auto n = static_cast<long double>(values.size());
  const long double mean = sum / n;
  long double deviations = 0;
  for (const double v : values) deviations += (v - mean) * (v - mean);
  return {static_cast<double>(mean), static_cast<double>(std::sqrt(deviations / (n - 1))),
          static_cast<double>(std::sqrt(squares / n))};
}

Values column(const Design& design, std::size_t j) {
  Values values;
  Values row(design.dim);
  for (std::size_t i = 0; i < design.rows; ++i) {
    design.working_row(i, row);
    values.push_back(row[j]);
  }
  return values;
}

// The user's columns of "y ~ x1 + x2 + log(t) + x1:x2 + ifelse(x2 > 4, 1, 0)", computed directly, before
// `scale`.
std::vector<Values> direct_columns(const Table& table) {
  std::vector<Values> columns(5);
  for (std::size_t i = 0; i < table.rows; ++i) {
    const double x1 = table.columns[1].numbers()[i];
    const double x2 = table.columns[2].numbers()[i];
    columns[0].push_back(x1);
    columns[1].push_back(x2);
    columns[2].push_back(std::log(table.columns[3].numbers()[i]));
    columns[3].push_back(x2 > 4 ? 1 : 0);
    columns[4].push_back(x1 * x2);
  }
  return columns;
}
const std::string terms = "x1 + x2 + log(t) + x1:x2 + ifelse(x2 > 4, 1, 0)";

// Checks centre, scale and sd against the spread of the user's columns, and the working columns against the
// user's. 1e-12: the rounding of a few thousand additions and of one subtraction of a mean six times the sd.
void expect_design(const Design& design, const std::vector<Values>& user) {
  const std::size_t first = design.intercept ? 1 : 0;
  ASSERT_EQ(design.dim, user.size() + first);
  for (std::size_t j = 0; j < user.size(); ++j) {
    const std::size_t k = j + first;
    const Spread expected = spread(user[j]);
    const double magnitude = std::fabs(expected.mean) + expected.sd;
    EXPECT_NEAR(design.sd[k], expected.sd, 1e-12 * expected.sd);
    EXPECT_NEAR(design.centre[k], design.intercept ? expected.mean : 0, 1e-12 * magnitude);
    const double scale = design.intercept ? expected.sd : expected.root_mean_square;
    EXPECT_NEAR(design.scale[k], scale, 1e-12 * scale);
    for (std::size_t i = 0; i < design.rows; ++i) {
      ASSERT_NEAR(design.centre[k] + design.scale[k] * design.row(i)[k], user[j][i], 1e-12 * magnitude);
    }
  }
}

Values responses(const Design& design) {
  Values y;
  for (std::size_t i = 0; i < design.rows; ++i) y.push_back(design.y(i));
  return y;
}

Values offsets(const Design& design) {
  Values out;
  for (std::size_t i = 0; i < design.rows; ++i) out.push_back(design.offset(i));
  return out;
}

TEST(Design, HoldsTheFormulaRowByRow) {
  const Table table = random_table();
  const Design design = build("y ~ " + terms, table);
  EXPECT_EQ(design.names, (Strings{"(Intercept)", "x1", "x2", "log(t)", "ifelse(x2 > 4, 1, 0)", "x1:x2"}));
  EXPECT_EQ(design.source.name, "data.csv");
  EXPECT_EQ(design.response, "y");
  EXPECT_TRUE(design.intercept);
  EXPECT_EQ(design.rows, table.rows);
  EXPECT_EQ(design.rows_in_file, table.rows);
  EXPECT_EQ(design.dropped, 0U);
  EXPECT_EQ(responses(design), table.columns[0].numbers());
  EXPECT_FALSE(design.has_offset);
  EXPECT_EQ(column(design, 0), Values(table.rows, 1.0));
  EXPECT_EQ(design.centre[0], 0);
  EXPECT_EQ(design.scale[0], 1);
  EXPECT_EQ(design.sd[0], 0);
  expect_design(design, direct_columns(table));
}

TEST(Design, WorkingColumnsHaveMeanZeroAndUnitSdBesideAnIntercept) {
  const Design design = build("y ~ " + terms, random_table());
  for (std::size_t j = 1; j < design.dim; ++j) {
    const Spread working = spread(column(design, j));
    EXPECT_NEAR(working.mean, 0, 1e-13);  // rounding of the centre, in units of the sd
    EXPECT_NEAR(working.sd, 1, 1e-13);
  }
}

TEST(Design, WorkingColumnsAreNotCentredWithoutAnInterceptAndHaveUnitMeanSquare) {
  const Table table = random_table();
  const Design design = build("y ~ 0 + " + terms, table);
  EXPECT_FALSE(design.intercept);
  expect_design(design, direct_columns(table));
  for (std::size_t j = 0; j < design.dim; ++j) {
    EXPECT_NEAR(spread(column(design, j)).root_mean_square, 1, 1e-13);
    EXPECT_EQ(design.centre[j], 0);
  }
}

TEST(Design, ScaleDividesTheUsersColumnsByTheirSd) {
  const Table table = random_table();
  std::vector<Values> user = direct_columns(table);
  for (Values& values : user) {
    const double sd = spread(values).sd;
    for (double& value : values) value /= sd;
  }
  expect_design(build("y ~ " + terms, table, {.scale = Scale::sd}), user);
  expect_design(build("y ~ 0 + " + terms, table, {.scale = Scale::sd}), user);
}

TEST(Design, StandardAlsoCentresTheUsersColumns) {
  const Table table = random_table();
  std::vector<Values> user = direct_columns(table);
  for (Values& values : user) {
    const Spread raw = spread(values);
    for (double& value : values) value = (value - raw.mean) / raw.sd;
  }
  expect_design(build("y ~ " + terms, table, {.scale = Scale::standard}), user);
  expect_design(build("y ~ 0 + " + terms, table, {.scale = Scale::standard}), user);
}

TEST(Design, TheScaleOptionDoesNotChangeTheWorkingColumnsBesideAnIntercept) {
  const Table table = random_table();
  const Design none = build("y ~ " + terms, table);
  EXPECT_EQ(none.x, build("y ~ " + terms, table, {.scale = Scale::sd}).x);
  EXPECT_EQ(none.x, build("y ~ " + terms, table, {.scale = Scale::standard}).x);
}

TEST(Design, ScalesNeitherResponseNorOffset) {
  const Table table = random_table();
  const Design design =
      build("I(y > 0) ~ x1 + offset(log(t)) + offset(2 * x2)", table, {.scale = Scale::standard});
  EXPECT_EQ(design.response, "I(y > 0)");
  ASSERT_TRUE(design.has_offset);
  ASSERT_EQ(design.rows, table.rows);
  for (std::size_t i = 0; i < table.rows; ++i) {
    ASSERT_EQ(design.y(i), table.columns[0].numbers()[i] > 0 ? 1 : 0);
    ASSERT_EQ(design.offset(i), std::log(table.columns[3].numbers()[i]) + 2 * table.columns[2].numbers()[i]);
  }
}

TEST(Design, PadsTheRowsWithZeros) {
  const Design design = build("y ~ x1", random_table(100));
  ASSERT_EQ(design.x.size(), 300 + Design::row_padding);  // two columns and the response
  EXPECT_TRUE(
      std::all_of(design.x.end() - Design::row_padding, design.x.end(), [](double v) { return v == 0; }));
}

TEST(Design, KeepsSdsOfColumnsFarFromZero) {
  // 1e9 + {0, 1, 2, 3, ...}: the textbook formula E x^2 - (E x)^2 would lose every digit.
  constexpr std::size_t rows = 5000;
  Values x;
  Values y(rows, 0);
  for (std::size_t i = 0; i < rows; ++i) x.push_back(1e9 + static_cast<double>(i));
  const Design design = build("y ~ x", table_of({{"y", y}, {"x", x}}));
  const double n = rows;
  EXPECT_DOUBLE_EQ(design.centre[1], 1e9 + (n - 1) / 2);
  EXPECT_NEAR(design.sd[1], std::sqrt(n * (n + 1) / 12), 1e-12 * n);  // of 0..n-1, divisor n - 1
}

TEST(Design, DropsRowsWithAMissingCellInAColumnItUses) {
  Table table = random_table();
  table.columns[0].numbers()[0] = na;
  table.columns[1].numbers()[1] = na;
  table.columns[2].numbers()[1500] = na;
  for (std::size_t i = 1024; i < 2048; ++i) table.columns[1].numbers()[i] = na;  // a whole block
  table.columns[3].numbers()[7] = na;                                            // not used
  const Design design = build("y ~ x1 + x2", table);
  EXPECT_EQ(design.rows_in_file, 3001U);
  EXPECT_EQ(design.dropped, 1026U);
  EXPECT_EQ(design.rows, 3001U - 1026U);
  std::vector<Values> user(2);
  Values y;
  for (std::size_t i = 0; i < table.rows; ++i) {
    if (i < 2 || (i >= 1024 && i < 2048)) continue;
    y.push_back(table.columns[0].numbers()[i]);
    user[0].push_back(table.columns[1].numbers()[i]);
    user[1].push_back(table.columns[2].numbers()[i]);
  }
  EXPECT_EQ(responses(design), y);
  // Lines of the file: the header, then every row, kept or not.
  EXPECT_EQ(design.place(0), "data.csv:4");
  EXPECT_EQ(design.place(1021), "data.csv:1025");
  EXPECT_EQ(design.place(1022), "data.csv:2050");
  expect_design(design, user);
}

TEST(Design, DropsTheOffsetsOfDroppedRowsToo) {
  Table table = random_table(10);
  table.columns[1].numbers()[3] = na;
  const Design design = build("y ~ x1 + offset(t)", table);
  Values expected = table.columns[3].numbers();
  expected.erase(expected.begin() + 3);
  EXPECT_EQ(offsets(design), expected);
}

TEST(DesignMessage, NamesLineAndColumnOfTheFirstMissingCell) {
  Table table = random_table();
  table.columns[2].numbers()[2500] = na;
  table.columns[1].numbers()[2600] = na;
  EXPECT_EQ(message<DataError>("y ~ x1 + x2", table, {.missing = Missing::error}),
            "data.csv:2502: column \"x2\": the cell is empty or NA (`missing error`)");
  table.source.shifts = {{5, 1}, {2000, 4}, {2501, 9}};
  EXPECT_EQ(message<DataError>("y ~ x1 + x2", table, {.missing = Missing::error}),
            "data.csv:2506: column \"x2\": the cell is empty or NA (`missing error`)");
  EXPECT_EQ(message<DataError>("y ~ x1", table, {.missing = Missing::error}),
            "data.csv:2611: column \"x1\": the cell is empty or NA (`missing error`)");
}

TEST(DesignMessage, NamesTheColumnMissingMostOftenWhenNoRowIsComplete) {
  EXPECT_EQ(
      message<DataError>("y ~ a + b", table_of({{"y", {1, 2, 3}}, {"a", {na, 1, 2}}, {"b", {1, na, na}}})),
      "data.csv: every row has a missing cell; column \"b\" is missing most often, in 2 of 3 rows");
  EXPECT_EQ(message<DataError>("y ~ a", table_of({{"y", {}}, {"a", {}}})), "data.csv: no rows");
}

TEST(DesignMessage, NamesLineAndInputsOfAValueThatIsNotFinite) {
  Table table = random_table();
  table.columns[3].numbers()[2] = na;  // dropped rows keep their place in the file
  table.columns[3].numbers()[1999] = -1.5;
  table.columns[3].numbers()[1998] = 0;
  table.columns[2].numbers()[1998] = 3;
  EXPECT_EQ(message<DataError>("y ~ log(t)", table), "data.csv:2000: log(t) is -inf (t = 0)");
  EXPECT_EQ(message<DataError>("y ~ sqrt(t)", table), "data.csv:2001: sqrt(t) is nan (t = -1.5)");
  EXPECT_EQ(message<DataError>("y ~ x1:I(x2/t + t)", table),
            "data.csv:2000: I(x2/t + t) is inf (x2 = 3, t = 0)");
  EXPECT_EQ(message<DataError>("log(t) ~ x1", table), "data.csv:2000: log(t) is -inf (t = 0)");
  EXPECT_EQ(message<DataError>("y ~ x1 + offset(log(t))", table),
            "data.csv:2000: offset(log(t)) is -inf (t = 0)");
  EXPECT_EQ(message<DataError>("y ~ I(log(t) > -1e6)", table),
            "data.csv:2001: I(log(t) > -1e+06) is nan (t = -1.5)");
  table.source.shifts = {{1000, 7}};
  EXPECT_EQ(message<DataError>("y ~ log(t)", table), "data.csv:2007: log(t) is -inf (t = 0)");
}

TEST(DesignMessage, RefusesMoreRowsThanRowNumbersCanTellApart) {
  // Building such a design would take 64 GB, so ask the check alone.
  Design design;
  design.source.name = "data.csv";
  design.rows = 4'294'967'295;
  EXPECT_NO_THROW(check_rows(design));
  ++design.rows;
  try {
    check_rows(design);
    ADD_FAILURE();
  } catch (const DataError& error) {
    EXPECT_STREQ(
        error.what(),
        "data.csv: has more than 4,294,967,295 complete rows, the most that one fit can use; fit a part of "
        "them");
  }
}

TEST(DesignMessage, NamesAProductOrASumOfOffsetsThatOverflows) {
  const Table table = table_of({{"y", {1, 2, 3, 4}}, {"a", {1, 1e200, 3, 5}}, {"b", {2, 1e150, 1, 1}}});
  EXPECT_EQ(message<DataError>("y ~ a:b", table), "data.csv:3: a:b is inf (a = 1e+200, b = 1e+150)");
  EXPECT_EQ(message<DataError>("y ~ 1 + offset(a * 1e108) + offset(b * 1.7e158)", table),
            "data.csv:3: the sum of offsets is inf (a = 1e+200, b = 1e+150)");
}

TEST(DesignMessage, RefusesColumnsWhoseCoefficientsTheDataCannotTell) {
  const Table table = table_of({{"y", {1, 2, 3, 4}},
                                {"a", {1, 2, 4, 8}},
                                {"c", {3, 3, 3, 3}},
                                {"z", {0, 0, 0, 0}},
                                {"tenth", {0.1, 0.1, 0.1, 0.1}}});
  EXPECT_EQ(message<ModelError>("y ~ a + c", table),
            "column \"c\" is constant (3): it cannot be told from the intercept; remove it or the intercept");
  EXPECT_EQ(
      message<ModelError>("y ~ tenth", table),
      "column \"tenth\" is constant (0.1): it cannot be told from the intercept; remove it or the intercept");
  EXPECT_EQ(message<ModelError>("y ~ a + z", table),
            "column \"z\" is 0 in every row: it says nothing; remove it");
  EXPECT_EQ(message<ModelError>("y ~ 0 + a:z", table),
            "column \"a:z\" is 0 in every row: it says nothing; remove it");
  EXPECT_EQ(message<ModelError>("y ~ 0 + a + c", table, {.scale = Scale::sd}),
            "column \"c\" is constant (3): its standard deviation is 0, so it cannot be scaled");
}

TEST(Design, AConstantColumnMayStandForTheIntercept) {
  const Design design =
      build("y ~ 0 + a + c", table_of({{"y", {1, 2, 3}}, {"a", {1, 2, 4}}, {"c", {3, 3, 3}}}));
  EXPECT_EQ(column(design, 1), Values(3, 1.0));
  EXPECT_EQ(design.scale[1], 3);
  EXPECT_EQ(design.centre[1], 0);
  EXPECT_EQ(design.sd[1], 0);
}

TEST(DesignMessage, RefusesColumnsThatEqualOthersOrMultiplesOfThem) {
  Table table = random_table();
  const auto add = [&](const std::string& name, auto f) {
    Column column{name, {}};
    for (const double x : table.columns[1].numbers()) column.numbers().push_back(f(x));
    table.columns.push_back(column);
  };
  add("same", [](double x) { return x; });
  add("twice", [](double x) { return 2 * x; });
  add("minus", [](double x) { return -0.1 * x; });
  add("fahrenheit", [](double x) { return 1.8 * x + 32; });
  add("below", [](double x) { return 3 * x - 7; });
  // Correlations of 1 - 5e-15 and 1 - 5e-11 with x1, whose sd is 7: either side of 1 - 1e-12.
  add("nearly", [](double x) { return x + 1e-6 * std::sin(x); });
  add("distinct", [](double x) { return x + 1e-4 * std::sin(x); });
  const std::string end = ": their coefficients cannot be told apart; remove one of them";
  EXPECT_EQ(message<ModelError>("y ~ x2 + x1 + same", table), "column \"same\" equals \"x1\"" + end);
  EXPECT_EQ(message<ModelError>("y ~ x2 + x1 + twice", table), "column \"twice\" equals 2 x \"x1\"" + end);
  EXPECT_EQ(message<ModelError>("y ~ minus + x1 + x2", table), "column \"x1\" equals -10 x \"minus\"" + end);
  EXPECT_EQ(message<ModelError>("y ~ x1 + fahrenheit", table),
            "column \"fahrenheit\" equals 1.8 x \"x1\" + 32" + end);
  EXPECT_EQ(message<ModelError>("y ~ x1 + below", table), "column \"below\" equals 3 x \"x1\" - 7" + end);
  EXPECT_EQ(message<ModelError>("y ~ x1 + I(x1)", table), "column \"I(x1)\" equals \"x1\"" + end);
  EXPECT_EQ(message<ModelError>("y ~ 0 + x1 + twice", table), "column \"twice\" equals 2 x \"x1\"" + end);
  EXPECT_EQ(message<ModelError>("y ~ I(1 * (x2 > 4)) + I(1 * (x2 <= 4))", table),
            "column \"I(1 * (x2 <= 4))\" equals -1 x \"I(1 * (x2 > 4))\" + 1" + end);
  EXPECT_EQ(message<ModelError>("y ~ 0 + x1 + fahrenheit", table), "no error");
  EXPECT_EQ(message<ModelError>("y ~ x1 + nearly", table), "column \"nearly\" equals \"x1\"" + end);
  EXPECT_EQ(message<ModelError>("y ~ x1 + distinct", table), "no error");
}

// Whether there is a posterior is the priors' affair.
TEST(Design, MayHaveFewerRowsThanColumns) {
  const Table table = table_of({{"y", {1, 2}}, {"a", {1, 2}}, {"b", {4, 1}}});
  EXPECT_EQ(message<ModelError>("y ~ a + b", table), "no error");
  EXPECT_EQ(message<ModelError>("y ~ a", table), "no error");
}

TEST(DesignMessage, RefusesColumnsWhoseVarianceOverflowsOrVanishes) {
  EXPECT_EQ(message<ModelError>("y ~ a", table_of({{"y", {1, 2, 3}}, {"a", {1, 1e200, 3}}})),
            "column \"a\": its variance is too large for double precision; use another unit");
  EXPECT_EQ(message<ModelError>("y ~ a", table_of({{"y", {1, 2, 3}}, {"a", {1.5e308, 1.6e308, 1.7e308}}})),
            "column \"a\": its variance is too large for double precision; use another unit");
  EXPECT_EQ(message<ModelError>("y ~ 0 + a", table_of({{"y", {1, 2, 3}}, {"a", {1e-200, 2e-200, 3e-200}}})),
            "column \"a\": its variance is too small for double precision; use another unit");
}

}  // namespace
}  // namespace mlo
