// Copyright (c) the mlo authors. BSD-3-Clause.
// Simulated groups: the laws of their effects and sizes, seen from outside.
#include "mlo/fit/simulate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

TEST(SimulatedGroup, IsReadFromItsText) {
  const SimulatedGroup g = simulated_group("g:1000:0.5:x1=0.3,x2=1e-2,cor=-0.4");
  EXPECT_EQ(g.name, "g");
  EXPECT_EQ(g.levels, 1000);
  EXPECT_EQ(g.sd, 0.5);
  EXPECT_EQ(g.slopes, (std::vector<std::pair<std::string, double>>{{"x1", 0.3}, {"x2", 1e-2}}));
  EXPECT_EQ(g.correlation, -0.4);
  for (const char* text :
       {"", "g", "g:5", ":5:1", "g:5.5:1", "g:5:one", "g:5:1:", "g:5:1:x1", "g:5:1:x1=a", "g:5:1:x1=1:2"})
    EXPECT_THROW(static_cast<void>(simulated_group(text)), UsageError) << text;
}

// With sigma near 0, rows give the effects of their group by least squares, nearly without error: two
// unknowns, and the level's rows. So the sample covariance of the effects can be compared with the law's.
TEST(SimulatedGroup, HasEffectsWithTheSdsAndTheCorrelationAskedFor) {
  SimulateOptions o;
  o.family = "gaussian";
  o.rows = 40'000;
  o.coefficients = {1, 0.5};
  o.intercept = 2;
  o.numbers["sigma"] = 1e-9;
  o.seed = 11;
  o.groups = {simulated_group("g:2000:0.5:x2=0.3,cor=0.4")};
  const Table table = simulate(o);
  ASSERT_EQ(table.columns.size(), 4U);
  EXPECT_EQ(table.columns[3].name, "g");
  struct Sums {
    double n = 0, x = 0, xx = 0, r = 0, xr = 0;
  };
  std::vector<Sums> sums(2000);
  for (std::size_t i = 0; i < table.rows; ++i) {
    const double x1 = table.columns[1].values()[i], x2 = table.columns[2].values()[i];
    const double group = table.columns[3].values()[i];
    ASSERT_TRUE(group >= 1 && group <= 2000 && group == std::floor(group));
    const double rest = table.columns[0].values()[i] - 2 - x1 - 0.5 * x2;
    Sums& s = sums[static_cast<std::size_t>(group) - 1];
    s.n += 1;
    s.x += x2;
    s.xx += x2 * x2;
    s.r += rest;
    s.xr += x2 * rest;
  }
  double n = 0, aa = 0, bb = 0, ab = 0, chi = 0;
  for (const Sums& s : sums) {
    chi += (s.n - 20) * (s.n - 20) / 20;
    const double determinant = s.n * s.xx - s.x * s.x;
    if (s.n < 3 || determinant < 1e-3) continue;
    const double slope = (s.n * s.xr - s.x * s.r) / determinant, intercept = (s.r - slope * s.x) / s.n;
    n += 1;
    aa += intercept * intercept;
    bb += slope * slope;
    ab += intercept * slope;
  }
  EXPECT_GT(n, 1990);
  // A sample variance of n normal numbers around a known mean has the relative sd sqrt(2 / n), and a
  // correlation the sd (1 - r^2) / sqrt(n). |z| < 5: one false alarm in a million.
  EXPECT_LT(std::fabs(aa / n / 0.25 - 1) / std::sqrt(2 / n), 5);
  EXPECT_LT(std::fabs(bb / n / 0.09 - 1) / std::sqrt(2 / n), 5);
  EXPECT_LT(std::fabs(ab / std::sqrt(aa * bb) - 0.4) / ((1 - 0.16) / std::sqrt(n)), 5);
  // Sizes are multinomial: chi-squared with 1,999 degrees of freedom.
  EXPECT_LT(std::fabs(chi - 1999) / std::sqrt(2.0 * 1999), 5);
}

TEST(SimulatedGroup, LeavesTheColumnsAsTheyAreWithoutIt) {
  SimulateOptions o;
  o.rows = 100;
  const Table plain = simulate(o);
  o.groups = {simulated_group("g:10:1"), simulated_group("h:3:0")};
  const Table grouped = simulate(o);
  for (std::size_t j = 1; j < plain.columns.size(); ++j)
    EXPECT_EQ(plain.columns[j].numbers(), grouped.columns[j].numbers());
  EXPECT_EQ(group_lines(o).size(), 2U);
  EXPECT_EQ(group_lines(o)[1], "h: 3 levels; sd of the intercept 0 (drawn 0)");
}

}  // namespace
}  // namespace mlo
