// Copyright (c) the mlo authors. BSD-3-Clause.
// Designs against R's model.matrix: the files tests/data/r/NN.txt, each with the R line that made it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "mlo/data/design.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/new_rows.hpp"
#include "mlo/data/reader.hpp"
#include "support/r_files.hpp"

namespace mlo {
namespace {

using Values = std::vector<double>;
using Strings = std::vector<std::string>;

struct RDesign {
  std::string file, line, formula, table;
  Strings names;
  std::vector<Values> rows;
  std::vector<Values> response;
  Values offset;
  std::vector<std::size_t> kept;  // numbers of rows, 1-based

  [[nodiscard]] bool is_zero(std::size_t column) const {
    return std::all_of(rows.begin(), rows.end(), [&](const Values& row) { return row[column] == 0; });
  }
};

RDesign read_design(const std::string& file) {
  const Strings lines = testing::r_lines(file);
  RDesign out{.file = file,
              .line = lines.at(0),
              .formula = lines.at(1),
              .table = lines.at(2),
              .names = testing::split(lines.at(3)),
              .rows = {},
              .response = {},
              .offset = {},
              .kept = {}};
  std::size_t at = 4;
  for (; lines.at(at) != "# response"; ++at) out.rows.push_back(testing::r_numbers(lines[at]));
  for (at += 2; lines.at(at)[0] != '#'; ++at) out.response.push_back(testing::r_numbers(lines[at]));
  if (lines.at(at) == "# offset")
    for (++at; lines.at(at)[0] != '#'; ++at) out.offset.push_back(testing::r_number(lines[at]));
  EXPECT_EQ(lines.at(at), "# rows");
  for (const double row : testing::r_numbers(lines.at(at + 1)))
    out.kept.push_back(static_cast<std::size_t>(row));
  return out;
}

struct Data {
  Formula formula;
  Table table;
};
Data read_data(const RDesign& r) {
  const auto reader = open_reader({testing::r_path(r.table)});
  Formula formula = parse_formula(r.formula, reader->header());
  Table table = reader->read(formula.columns());
  return {std::move(formula), std::move(table)};
}

// Rows [first, first + count) as if they had been read from a file of their own: its words in their order of
// appearance.
Table piece(const Table& table, std::size_t first, std::size_t count) {
  Table out{.source = table.source, .columns = {}, .rows = count};
  const auto from = static_cast<std::ptrdiff_t>(first), to = static_cast<std::ptrdiff_t>(first + count);
  for (const Column& column : table.columns) {
    if (!column.is_text()) {
      const Numbers& all = column.numbers();
      out.columns.emplace_back(column.name, Numbers(all.begin() + from, all.begin() + to));
      out.columns.back().logical = column.logical;
      continue;
    }
    const Text& all = column.text();
    Text some;
    for (std::size_t i = first; i < first + count; ++i) {
      if (all.codes[i] == Text::missing) {
        some.codes.push_back(Text::missing);
        continue;
      }
      const std::string& word = all.levels[all.codes[i]];
      const auto at = std::find(some.levels.begin(), some.levels.end(), word);
      some.codes.push_back(static_cast<std::uint32_t>(at - some.levels.begin()));
      if (at == some.levels.end()) some.levels.push_back(word);
    }
    out.columns.emplace_back(column.name, some);
  }
  return out;
}

Strings designs() {
  Strings files;
  for (int number = 1; number < 1000; ++number) {
    std::array<char, 16> name;
    std::snprintf(name.data(), name.size(), "%02d.txt", number);
    if (!std::filesystem::exists(testing::r_path(name.data()))) break;
    files.emplace_back(name.data());
  }
  return files;
}

class ModelMatrix : public ::testing::TestWithParam<std::string> {};

// Columns of levels that never occur together are 0 in R's matrix. A design leaves them out, and says so.
TEST_P(ModelMatrix, IsRs) {
  const RDesign r = read_design(GetParam());
  SCOPED_TRACE(r.file + ": " + r.formula);
  const Data data = read_data(r);
  const Design design = build_design(data.formula, data.table, {});

  std::vector<std::size_t> columns;
  Strings names, empty;
  for (std::size_t j = 0; j < r.names.size(); ++j) {
    (r.is_zero(j) ? empty : names).push_back(r.names[j]);
    if (!r.is_zero(j)) columns.push_back(j);
  }
  EXPECT_EQ(design.names, names);
  EXPECT_EQ(design.empty_columns, empty);
  ASSERT_EQ(design.rows, r.rows.size());
  ASSERT_EQ(design.dim, columns.size());
  EXPECT_EQ(design.has_offset, !r.offset.empty());

  // The largest entry of each column: our columns are stored centred and scaled, and come back with rounding
  // errors of that size.
  Values size(columns.size(), 0.0);
  for (const Values& row : r.rows)
    for (std::size_t j = 0; j < columns.size(); ++j) size[j] = std::max(size[j], std::fabs(row[columns[j]]));
  Values row(design.dim);
  for (std::size_t i = 0; i < design.rows; ++i) {
    EXPECT_EQ(design.source.number(i), r.kept[i] + 1);  // the line in the file
    design.user_row(i, row);
    for (std::size_t j = 0; j < columns.size(); ++j)
      ASSERT_NEAR(row[j], r.rows[i][columns[j]], 1e-12 * size[j]) << design.names[j] << ", row " << i;
    if (r.response[i].size() == 2) {
      // Successes and failures: a share, which counts as often as there were trials.
      const double trials = r.response[i][0] + r.response[i][1];
      EXPECT_EQ(design.weight(i), trials);
      EXPECT_NEAR(design.y(i), r.response[i][0] / trials, 1e-15);
    } else {
      EXPECT_NEAR(design.y(i), r.response[i][0], 1e-14 * std::fabs(r.response[i][0]));
    }
    if (design.has_offset) {
      EXPECT_NEAR(design.offset(i), r.offset[i], 1e-14 * (1 + std::fabs(r.offset[i])));
    }
  }
}

// What was learnt from all rows (levels, knots, breaks, means) holds for a few of them that come later.
TEST_P(ModelMatrix, IsTheSameForAPieceOfTheDataThatComesLater) {
  const RDesign r = read_design(GetParam());
  SCOPED_TRACE(r.file + ": " + r.formula);
  const Data data = read_data(r);
  const Design design = build_design(data.formula, data.table, {});
  std::size_t compared = 0;
  for (std::size_t first = 0; first < data.table.rows; first += 5) {
    const std::size_t count = std::min<std::size_t>(5, data.table.rows - first);
    const Table table = piece(data.table, first, count);
    // A level may be in rows without a response only.
    const NewRows rows(data.formula, design.recipe, table, {.new_levels = NewLevels::missing});
    ASSERT_EQ(rows.dim(), design.dim);
    Values x(count * design.dim), offsets(count);
    std::vector<char> complete(count);
    rows.fill(0, {.x = x, .offsets = offsets, .y = {}, .complete = complete});
    for (std::size_t i = 0; i < count; ++i) {
      const auto at = std::find(r.kept.begin(), r.kept.end(), first + i + 1);
      if (at == r.kept.end()) continue;
      ++compared;
      EXPECT_TRUE(complete[i]);
      const auto row = static_cast<std::size_t>(at - r.kept.begin());
      for (std::size_t j = 0, k = 0; j < r.names.size(); ++j) {
        if (r.is_zero(j)) continue;
        const double expected = r.rows[row][j];
        ASSERT_NEAR(x[i * design.dim + k], expected, 1e-12 * (1 + std::fabs(expected)))
            << r.names[j] << ", row " << first + i + 1;
        ++k;
      }
      if (!r.offset.empty()) {
        EXPECT_NEAR(offsets[i], r.offset[row], 1e-14 * (1 + std::fabs(r.offset[row])));
      }
    }
  }
  EXPECT_EQ(compared, r.rows.size());
}

// The effects of (terms | g) are the columns of model.matrix(~ terms).
TEST_P(ModelMatrix, IsThatOfGroupEffects) {
  const RDesign r = read_design(GetParam());
  SCOPED_TRACE(r.file + ": " + r.formula);
  const std::size_t tilde = r.formula.find('~');
  const std::string terms = r.formula.substr(tilde + 1);
  if (r.names.size() > 8 || terms.find_first_of("|.") != std::string::npos || !r.offset.empty())
    return;  // not the terms of a group effect
  const Data data = read_data(r);
  const std::string one = data.formula.columns()[0];  // of the response
  const std::string text = r.formula.substr(0, tilde + 1) + " 1 + (" + terms + " | is.na(`" + one + "`))";
  Strings columns;
  for (const Column& column : data.table.columns) columns.push_back(column.name);
  const Formula formula = parse_formula(text, columns);
  const Design design = build_design(formula, data.table, {});
  ASSERT_EQ(design.rows, r.rows.size());
  const GroupDesign& group = design.groups[0];
  Strings names = r.names;
  if (group.intercept) names[0] = "Intercept";
  EXPECT_EQ(group.effects, names);
  const std::size_t first = group.intercept ? 1 : 0, width = names.size() - first;
  ASSERT_EQ(group.z.size(), design.rows * width);
  for (std::size_t i = 0; i < design.rows; ++i)
    for (std::size_t e = 0; e < width; ++e) {
      const double expected = r.rows[i][first + e];
      ASSERT_NEAR(group.z[i * width + e], expected, 1e-7 * (1e-3 + std::fabs(expected))) << names[first + e];
    }
}

// R numbers the columns of C(x, contr.treatment, base = 3), so this is not one of its files.
TEST(NewRowsOfContrasts, HaveTheBaseOfTheFit) {
  const std::string text = "y ~ C(h, contr.treatment, base = 3)";
  const auto reader = open_reader({testing::r_path("a.csv")});
  const Formula formula = parse_formula(text, reader->header());
  const Table table = reader->read(formula.columns());
  const Design design = build_design(formula, table, {});
  EXPECT_EQ(design.names, (Strings{"(Intercept)", "C(h, contr.treatment, base = 3)high",
                                   "C(h, contr.treatment, base = 3)low"}));
  const Text& h = table.columns[1].text();
  for (std::size_t i = 0; i < table.rows; ++i) {
    const Table one = piece(table, i, 1);
    const NewRows rows(formula, design.recipe, one, {});
    Values x(3), offsets(1);
    std::vector<char> complete(1);
    rows.fill(0, {.x = x, .offsets = offsets, .y = {}, .complete = complete});
    const std::string& level = h.levels[h.codes[i]];
    EXPECT_EQ(x, (Values{1, level == "high" ? 1.0 : 0.0, level == "low" ? 1.0 : 0.0})) << level;
  }
}

INSTANTIATE_TEST_SUITE_P(R, ModelMatrix, ::testing::ValuesIn(designs()), [](const auto& file) {
  return "design_" + file.param.substr(0, file.param.find('.'));
});

TEST(ModelMatrixFiles, AreThere) { EXPECT_GE(designs().size(), 50U); }

}  // namespace
}  // namespace mlo
