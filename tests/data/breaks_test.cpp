// Copyright (c) the mlo authors. BSD-3-Clause.
#include "../../src/data/breaks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/data/table.hpp"
#include "support/r_files.hpp"

namespace mlo::breaks {
namespace {

using Numbers = std::vector<double>;
using Codes = std::vector<std::uint32_t>;
constexpr double na = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

Codes codes_of(const State& state, const Numbers& x) {
  Codes codes(x.size());
  apply(state, x, codes);
  return codes;
}

Numbers complete(const Numbers& x) {
  Numbers out;
  for (const double value : x) {
    if (!std::isnan(value)) out.push_back(value);
  }
  return out;
}

std::string message_of(const Options& options, const Numbers& x = {1, 2, 3}) {
  try {
    static_cast<void>(learn(x, options));
  } catch (const UsageError& failure) {
    return failure.what();
  }
  return "no error";
}

TEST(Breaks, AgreesWithR) {
  const std::vector<std::string> lines = testing::r_lines("breaks.txt");
  std::size_t cases = 0;
  for (std::size_t at = 0; at + 5 <= lines.size(); at += 6, ++cases) {
    SCOPED_TRACE(lines[at]);
    Options options;
    for (const auto& [name, value] : testing::r_arguments(lines[at + 1])) {
      const Numbers numbers = testing::r_numbers(value, ',');
      if (name == "breaks") options.breaks = numbers;
      if (name == "right") options.right = numbers[0] == 1;
      if (name == "include.lowest") options.include_lowest = numbers[0] == 1;
      if (name == "dig.lab") options.digits = numbers[0];
    }
    const Numbers x = testing::r_numbers(lines[at + 2]);
    const State state = learn(complete(x), options);
    EXPECT_EQ(state.labels, testing::split(lines[at + 3]));
    Codes expected;
    for (const double code : testing::r_numbers(lines[at + 4]))
      expected.push_back(std::isnan(code) ? outside : static_cast<std::uint32_t>(code - 1));
    EXPECT_EQ(codes_of(state, x), expected);
  }
  EXPECT_GE(cases, 20U);
}

TEST(Breaks, OutsideIsWhatATextColumnCallsMissing) { EXPECT_EQ(outside, Text::missing); }

TEST(Breaks, TakesLabels) {
  const State state = learn({}, {.breaks = {10, 0, 5}, .labels = {{"low", "high"}}});
  EXPECT_EQ(state.labels, (std::vector<std::string>{"low", "high"}));
  EXPECT_EQ(codes_of(state, {0, 3, 5, 5.5, 10, 11, na}), (Codes{outside, 0, 0, 1, 1, outside, outside}));
}

TEST(Breaks, NewDataAreCutAtThePointsThatWereLearnt) {
  const State state = learn(Numbers{0, 10}, {.breaks = {2}, .labels = {}});
  EXPECT_EQ(codes_of(state, {0, 5, 5.1, 10, 100, -1}), (Codes{0, 0, 1, 1, outside, outside}));
}

TEST(Breaks, SaysWhatIsWrong) {
  EXPECT_EQ(
      message_of({.breaks = {1}, .labels = {}}),
      "cut(): the number of intervals must be a whole number between 2 and 10,000 (got 1); for break points write c(...) with at least two of them");
  EXPECT_EQ(message_of({.breaks = {}, .labels = {}}),
            "cut(): breaks must be a number of intervals or at least two break points (got none)");
  EXPECT_EQ(message_of({.breaks = {1, 2, 2}, .labels = {}}),
            "cut(): break points must be different (got 2 twice)");
  EXPECT_EQ(message_of({.breaks = {1, na}, .labels = {}}), "cut(): a break point must be a number (got nan)");
  EXPECT_EQ(message_of({.breaks = {1, 2, 3}, .labels = {{"a"}}}),
            "cut(): there must be one label per interval, 2 (got 1)");
  EXPECT_EQ(message_of({.breaks = {1, 2, 3}, .labels = {{"a", "a"}}}),
            "cut(): labels must be different (got \"a\" twice)");
  EXPECT_EQ(message_of({.breaks = {3}, .labels = {}}, {}), "cut(): there are no values: all are missing");
  EXPECT_EQ(message_of({.breaks = {3}, .labels = {}}, {1, inf}),
            "cut(): all values must be finite to choose 3 intervals (got inf)");
  EXPECT_EQ(message_of({.breaks = {3}, .labels = {}, .digits = 0}),
            "cut(): dig.lab must be a whole number between 1 and 17 (got 0)");
}

TEST(Breaks, RefusesADamagedState) {
  for (const Numbers& points : {Numbers{}, Numbers{1}, Numbers{2, 1}, Numbers{1, na}, Numbers{1, 2, 3}}) {
    EXPECT_THROW(static_cast<void>(codes_of({.points = points, .labels = {"a"}}, {1})), DataError);
  }
}

}  // namespace
}  // namespace mlo::breaks
