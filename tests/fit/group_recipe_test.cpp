// Copyright (c) the mlo authors. BSD-3-Clause.
// What a run keeps of its groups, so that predictions have the same codes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/base/files.hpp"
#include "mlo/data/design.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/fit/fit.hpp"
#include "mlo/fit/runs.hpp"
#include "mlo/fit/simulate.hpp"

namespace mlo {
namespace {

namespace fs = std::filesystem;

class GroupRecipes : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / ("mlo-groups-" + std::to_string(::getpid()));
    fs::remove_all(directory_);
    SimulateOptions data;
    data.rows = 400;
    data.groups = {simulated_group("g:30:1"), simulated_group("h:4:1")};
    FitOptions options;
    options.formula = "y ~ x1";
    options.seed = 1;
    options.warmup = options.draws = 10;
    fit_ = fit(options, simulate(data));
    const Table table = simulate(data);
    std::vector<std::string> names;
    for (const Column& column : table.columns) names.push_back(column.name);
    const Formula formula = parse_formula("y ~ x1 + (x2 | g:h) + (1 | h)", names);
    fit_.recipe.groups = build_design(formula, table, {.scale = Scale::standard}).recipe.groups;
    save_fit(fit_, directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  FitResult fit_;
  fs::path directory_;
};

TEST_F(GroupRecipes, AreKeptAndRead) {
  const Recipe kept = read_run(directory_).recipe;
  ASSERT_EQ(kept.groups.size(), 2U);
  for (std::size_t g = 0; g < 2; ++g) {
    const GroupRecipe &a = kept.groups[g], &b = fit_.recipe.groups[g];
    EXPECT_EQ(a.levels, b.levels);
    EXPECT_EQ(a.cells, b.cells);
    EXPECT_EQ(a.effects, b.effects);
    EXPECT_EQ(a.origin, b.origin);
    EXPECT_EQ(a.unit, b.unit);
    EXPECT_EQ(group_names(a), group_names(b));
  }
  EXPECT_EQ(kept.groups[0].effects, (std::vector<std::string>{"Intercept", "x2"}));
  EXPECT_GT(kept.groups[0].unit[1], 0.9);
  EXPECT_EQ(kept.groups[1].levels, (std::vector<std::vector<std::string>>{{"1", "2", "3", "4"}}));
}

TEST_F(GroupRecipes, ThatAreDamagedAreRefused) {
  const std::string file = directory_ / "run.json";
  const std::string text = read_file(file);
  const std::size_t cells = text.find("\"cells\": [");
  ASSERT_NE(cells, std::string::npos);
  const std::size_t digit = text.find_first_of("0123456789", cells);
  write_file(file, text.substr(0, digit) + "1234" + text.substr(digit));
  EXPECT_THROW(static_cast<void>(read_run(directory_)), DataError);
}

}  // namespace
}  // namespace mlo
