// Copyright (c) the mlo authors. BSD-3-Clause.
#include "experiments/result.hpp"

#include <gtest/gtest.h>

#include "mlo/report/svg.hpp"
#include "support/xml.hpp"

namespace mlo::experiments {
namespace {

Result small() {
  Result result{.name = "table9", .title = "a & b", .settings = {"mlo fit \"x\""}};
  result.tables.push_back(
      {"MSE, \"x\" 10^3",
       {"r=10", "spread"},
       {{"weights <at> 1", {Number({1.53, 0.2}, 1, 1.51), Number(4.5)}}, {"exact", {std::nullopt, 1.0}}}});
  result.claims = {below("a below b", 3.46), below("b below a", -0.5)};
  result.notes = {"a < b"};
  result.pictures = {{"figure9", as_svg({.title = "t", .plots = {{}}})}};
  return result;
}

TEST(Result, TextHasOurNumberItsErrorAndThePapers) {
  EXPECT_EQ(as_text(small()),
            "table9: a & b\n"
            "  mlo fit \"x\"\n"
            "\n"
            "MSE, \"x\" 10^3\n"
            "                               r=10  spread\n"
            "                   ours  (se) paper    ours\n"
            "  weights <at> 1   1.53 (0.2)  1.51    4.50\n"
            "  exact                                1.00\n"
            "\n"
            "The paper's claims\n"
            "  a below b  z    3.5  holds\n"
            "  b below a  z   -0.5  does not hold, within Monte Carlo error\n"
            "\n"
            "a < b\n"
            "\n");
}

TEST(Result, CsvHasOneLineANumber) {
  EXPECT_EQ(as_csv(small()),
            "table,row,column,ours,se,paper\n"
            "\"MSE, \"\"x\"\" 10^3\",\"weights <at> 1\",\"r=10\",1.53,0.2,1.51\n"
            "\"MSE, \"\"x\"\" 10^3\",\"weights <at> 1\",\"spread\",4.5,,\n"
            "\"MSE, \"\"x\"\" 10^3\",\"exact\",\"spread\",1,,\n");
}

TEST(Result, ThePageIsWellFormedAndAsksForNothing) {
  std::string page = as_html({small(), small()});
  // Where HTML is not XML: its first line, and <meta> without an end tag.
  page.erase(0, page.find('\n') + 1);
  for (std::size_t at = 0; (at = page.find("<meta ", at)) != std::string::npos;)
    page.erase(at, page.find('>', at) + 1 - at);
  EXPECT_EQ(test::xml_problem(page), "");
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_EQ(page.find("href="), std::string::npos);
  EXPECT_NE(page.find("weights &lt;at&gt; 1"), std::string::npos);
}

TEST(Result, NumbersAreShownWithThreeFigures) {
  EXPECT_EQ(shown(0), "0.000");
  EXPECT_EQ(shown(-0.0533), "-0.0533");
  EXPECT_EQ(shown(0.5241), "0.524");
  EXPECT_EQ(shown(9.996), "10.0");
  EXPECT_EQ(shown(48.23), "48.2");
  EXPECT_EQ(shown(14223.4), "14223");
}

}  // namespace
}  // namespace mlo::experiments
