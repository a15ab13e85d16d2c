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

#include "support/r_files.hpp"
#include "mlo/data/design.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/reader.hpp"

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

Design our_design(const RDesign& r) {
  const auto reader = open_reader({testing::r_path(r.table)}, {});
  const Formula formula = parse_formula(r.formula, reader->header());
  return build_design(formula, reader->read(formula.columns()), {});
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
  const Design design = our_design(r);

  std::vector<std::size_t> columns;
  Strings names, empty;
  for (std::size_t j = 0; j < r.names.size(); ++j) {
    const bool zero =
        std::all_of(r.rows.begin(), r.rows.end(), [&](const Values& row) { return row[j] == 0; });
    (zero ? empty : names).push_back(r.names[j]);
    if (!zero) columns.push_back(j);
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

INSTANTIATE_TEST_SUITE_P(R, ModelMatrix, ::testing::ValuesIn(designs()), [](const auto& file) {
  return "design_" + file.param.substr(0, file.param.find('.'));
});

TEST(ModelMatrixFiles, AreThere) { EXPECT_GE(designs().size(), 50U); }

}  // namespace
}  // namespace mlo
