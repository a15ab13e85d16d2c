// Copyright (c) the mlo authors. BSD-3-Clause.
// Factors, weights and counts of successes, from a table to a posterior. The reference is always another way
// to state the same posterior: rows written out as often as they count, read in full.
//
// Error budget: two means with Monte Carlo errors a and b differ by less than 4.5 sqrt(a^2 + b^2) unless one
// of some 30 comparisons at 6.8e-6 each goes wrong: 2e-4. Seeds are fixed.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "mlo/fit/fit.hpp"
#include "support/designs.hpp"

namespace mlo {
namespace {

constexpr std::size_t rows = 1500;

// y, x1, a factor g with five levels, the last of them rare, and how often a row counts.
Table weighted_table(const std::function<double(Stream&, double)>& draw) {
  Table t = testing::regression_table(rows, -0.3, {0.6}, 77, draw);
  Text g{.levels = {"e", "b", "a", "d", "c"}, .codes = {}};
  Numbers w;
  for (std::uint32_t i = 0; i < rows; ++i) {
    g.codes.push_back(i % 100 == 7 ? 0 : 1 + (i * 7 + i / 13) % 4);
    w.push_back((i * 11 + i / 7) % 4);  // 0 to 3
  }
  t.columns.emplace_back("g", std::move(g));
  t.columns.emplace_back("w", std::move(w));
  return t;
}

Table written_out(const Table& table) {
  Table out;
  out.source = table.source;
  const Numbers& w = table.columns.back().numbers();
  for (const Column& column : table.columns) {
    if (column.is_text()) {
      Text text{.levels = column.text().levels, .codes = {}};
      for (std::size_t i = 0; i < table.rows; ++i)
        for (double k = 0; k < w[i]; ++k) text.codes.push_back(column.text().codes[i]);
      out.columns.emplace_back(column.name, std::move(text));
    } else {
      Numbers numbers;
      for (std::size_t i = 0; i < table.rows; ++i)
        for (double k = 0; k < w[i]; ++k) numbers.push_back(column.numbers()[i]);
      out.columns.emplace_back(column.name, std::move(numbers));
    }
  }
  out.rows = out.columns[0].size();
  return out;
}

FitOptions options(const std::string& family, const std::string& method, std::uint64_t seed) {
  FitOptions o;
  o.formula = "y ~ x1 + g";
  o.family = family;
  o.method = method;
  o.prior = "normal(0, 1.5)";
  o.prior_intercept = "normal(0, 3)";
  o.seed = seed;
  o.draws = 1500;
  o.threads = 2;
  return o;
}

double largest_z(const FitResult& a, const FitResult& b) {
  EXPECT_EQ(a.names, b.names);
  double largest = 0;
  for (std::size_t j = 0; j < a.names.size(); ++j) {
    const ParameterSummary &p = a.summary.parameters[j], &q = b.summary.parameters[j];
    largest = std::max(largest, std::abs(p.mean - q.mean) / std::hypot(p.mcse_mean, q.mcse_mean));
  }
  return largest;
}

struct Case {
  const char *family, *method;
  double (*draw)(Stream&, double);
};
class Weighted : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Families, Weighted,
                         ::testing::Values(Case{"logistic", "exact", testing::draw_logistic},
                                           Case{"logistic", "full", testing::draw_logistic},
                                           Case{"poisson", "exact", testing::draw_poisson},
                                           Case{"gaussian", "exact", testing::draw_gaussian}),
                         [](const auto& test) {
                           return std::string(test.param.family) + "_" + test.param.method;
                         });

TEST_P(Weighted, ThePosteriorIsThatOfTheRowsWrittenOut) {
  const Table table = weighted_table(GetParam().draw);
  FitOptions weighted = options(GetParam().family, GetParam().method, 5);
  weighted.row_weights = "w";
  const FitResult reference = fit(options(GetParam().family, "full", 6), written_out(table));
  const FitResult found = fit(weighted, table);
  EXPECT_LT(largest_z(found, reference), 4.5);
  EXPECT_EQ(found.summary.method.bound_violations, 0U);
  // The test has power: without the weights it is another posterior.
  EXPECT_GT(largest_z(fit(options(GetParam().family, GetParam().method, 5), table), reference), 10);
}

// The same counts as cbind(), as shares of trials, and as rows of 0 and 1.
TEST(Counts, OfSuccessesAreRowsOfZeroAndOne) {
  Table counts, plain;
  counts.source.name = plain.source.name = "test";
  Numbers s, f, n, share, x, y, long_x;
  for (std::size_t i = 0; i < 120; ++i) {
    Stream stream({.seed = 9, .chain = 0, .purpose = Purpose::simulate, .iteration = i});
    const double at = normal(stream);
    double successes = 0;
    const auto trials = static_cast<double>(i % 9);
    for (double k = 0; k < trials; ++k) {
      const double one = testing::draw_logistic(stream, 0.5 + at);
      successes += one;
      y.push_back(one);
      long_x.push_back(at);
    }
    s.push_back(successes);
    f.push_back(trials - successes);
    n.push_back(trials);
    share.push_back(trials > 0 ? successes / trials : 0);
    x.push_back(at);
  }
  counts.rows = 120;
  counts.columns = {{"s", s}, {"f", f}, {"n", n}, {"share", share}, {"x", x}};
  plain.rows = y.size();
  plain.columns = {{"y", y}, {"x", long_x}};
  const auto with = [](const std::string& formula, const std::string& method, std::uint64_t seed) {
    FitOptions o = options("logistic", method, seed);
    o.formula = formula;
    return o;
  };
  const FitResult reference = fit(with("y ~ x", "full", 1), plain);
  EXPECT_LT(largest_z(fit(with("cbind(s, f) ~ x", "exact", 2), counts), reference), 4.5);
  FitOptions shares = with("share ~ x", "exact", 3);
  shares.trials = "n";
  EXPECT_LT(largest_z(fit(shares, counts), reference), 4.5);
}

// Text with two levels as response; levels that occur only in rows that are dropped are left out.
TEST(Factors, AreNamedAndCountedInTheSummary) {
  Table table = weighted_table(testing::draw_logistic);
  Text answer{.levels = {"yes", "no"}, .codes = {}};
  for (const double y : table.columns[0].numbers()) answer.codes.push_back(y == 1 ? 0 : 1);
  table.columns.emplace_back("answer", std::move(answer));
  for (std::size_t i = 0; i < rows; ++i)
    if (table.columns[2].text().codes[i] == 0) table.columns[1].numbers()[i] = std::nan("");
  FitOptions o = options("logistic", "auto", 4);
  o.formula = "answer ~ x1 + g";
  const FitResult found = fit(o, table);
  EXPECT_EQ(found.names, (std::vector<std::string>{"(Intercept)", "x1", "gb", "gc", "gd"}));
  const auto noted = [&](const std::string& words) {
    for (const std::string& note : found.summary.notes)
      if (note.find(words) != std::string::npos) return true;
    return false;
  };
  EXPECT_TRUE(noted("g: 4 levels, base \"a\", 1 unused"));
  EXPECT_TRUE(noted("the response is 1 for answer \"yes\" and 0 for \"no\""));
}

}  // namespace
}  // namespace mlo
