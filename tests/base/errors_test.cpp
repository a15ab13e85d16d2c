// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/base/errors.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace mlo {
namespace {

// Options as the command line and as Python write them.
std::string flag(std::string_view name, std::string_view value) {
  if (name != "out" && name != "method" && name != "prior-for") return {};
  return fmt::format("--{}{}{}", name, value.empty() ? "" : " ", value);
}
std::string argument(std::string_view name, std::string_view value) {
  if (name != "out" && name != "method") return {};
  return value.empty() ? fmt::format("{}=", name) : fmt::format("{}=\"{}\"", name, value);
}

TEST(Spelled, WritesOptionsAsTheFrontEndDoes) {
  const std::string message = "run: `out`: not empty; choose another, or `method full`";
  EXPECT_EQ(spelled(message, flag), "run: --out: not empty; choose another, or --method full");
  EXPECT_EQ(spelled(message, argument), "run: out=: not empty; choose another, or method=\"full\"");
}

TEST(Spelled, KeepsTheSpacesOfAValue) {
  EXPECT_EQ(spelled("give `prior-for sigma gamma(2, 0.1)`", flag), "give --prior-for sigma gamma(2, 0.1)");
}

TEST(Spelled, TakesAValueThatBeginsWithANameInBackquotes) {
  EXPECT_EQ(spelled("`prior-for `a b``: see `out`", flag), "--prior-for `a b`: see --out");
  EXPECT_EQ(spelled("give `prior-for `a b` flat`", flag), "give --prior-for `a b` flat");
  EXPECT_EQ(spelled("`other `a b``, `out`", flag), "`other `a b``, --out");
}

TEST(Spelled, LeavesOtherTextInBackquotesAlone) {
  for (const std::string_view message : {"", "no option at all", "`my column` is constant", "` out`", "``",
                                         "`output`", "`outer x`", "an open ` only", "`method"}) {
    EXPECT_EQ(spelled(message, flag), message);
  }
}

TEST(Spelled, LeavesWhatIsQuotedFromTheUserAlone) {
  EXPECT_EQ(spelled("bad for \"`method full`\": give `out`", flag), "bad for \"`method full`\": give --out");
}

TEST(Spelled, FindsAnOptionAfterOtherBackquotes) {
  EXPECT_EQ(spelled("`my column`, `out`", flag), "`my column`, --out");
  EXPECT_EQ(spelled("unexpected '`'; see `out` and `method`", flag),
            "unexpected '`'; see --out and --method");
  EXPECT_EQ(spelled("`out``method full`", flag), "--out--method full");
}

TEST(Spelled, DoesNotTakeTheTextBetweenTwoPairsForAnOption) {
  EXPECT_EQ(spelled("`a` out `b`", flag), "`a` out `b`");
}

TEST(DataError, NamesThePlaceAndTheRule) {
  const DataError error("data.csv:17", "not a number");
  EXPECT_STREQ(error.what(), "data.csv:17: not a number");
  EXPECT_EQ(error.code(), ExitCode::data);
}

}  // namespace
}  // namespace mlo
