// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/report/svg.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/xml.hpp"

namespace mlo {
namespace {

using test::xml_problem;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

TEST(Xml, TheCheckerSeesWhatIsWrong) {
  EXPECT_EQ(xml_problem("<a><b x=\"1\"/>t &lt; u</a>\n"), "");
  for (const char* bad : {"<a>", "<a></b>", "<a x=1/>", "<a>&</a>", "<a x=\"<\"/>", "<a/><b/>",
                          "<a x=\"1\" x=\"2\"/>", "", "<a", "x<a/>"})
    EXPECT_NE(xml_problem(bad), "") << bad;
}

Sheet every_kind() {
  using Kind = Mark::Kind;
  Plot plot{.title = "a < b & \"c\"", .x = {.label = "x & y"}, .y = {.label = "<y>"}};
  plot.marks = {{.kind = Kind::bars, .label = "bars", .x = {0, 1, 2}, .y = {3, 0}, .opacity = 0.4},
                {.kind = Kind::band, .x = {0, 2}, .low = {1, 1}, .high = {2, 2}, .opacity = 0.2},
                {.kind = Kind::line, .label = "a line & more", .x = {0, 1, 2}, .y = {1, nan, inf}},
                {.kind = Kind::points,
                 .label = "points",
                 .x = {1},
                 .y = {1},
                 .low = {0.5},
                 .high = {1.5},
                 .names = {"<p>"}},
                {.kind = Kind::vertical, .label = "v", .x = {1}, .dashed = true},
                {.kind = Kind::horizontal, .y = {2}}};
  Plot logs = plot;
  logs.x.log = logs.y.log = true;
  return {.title = "t", .description = "d & e", .plots = {plot, logs, {}}, .columns = 2};
}

TEST(Svg, IsWellFormedWhateverIsDrawn) {
  const std::string svg = as_svg(every_kind());
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_EQ(xml_problem(as_svg({})), "");
}

TEST(Svg, ShowsTheWordsItIsGiven) {
  const std::string svg = as_svg(every_kind());
  for (const char* words : {">a &lt; b &amp; &quot;c&quot;<", ">x &amp; y<", ">&lt;y&gt;<",
                            ">a line &amp; more<", ">&lt;p&gt;<", "<desc>d &amp; e</desc>"})
    EXPECT_NE(svg.find(words), std::string::npos) << words;
}

// The x of the one circle.
double circle(const Plot& plot, const std::string& attribute) {
  const std::string svg = as_svg({.plots = {plot}});
  const std::size_t at = svg.find(attribute + "=\"", svg.find("<circle"));
  return std::stod(svg.substr(at + attribute.size() + 2));
}

TEST(Svg, PutsAPointWhereItsAxesSay) {
  Plot plot{.x = {.low = 0, .high = 10}, .y = {.low = 0, .high = 10}, .width = 500, .height = 400};
  plot.marks = {{.kind = Mark::Kind::points, .x = {0}, .y = {0}}};
  const double left = circle(plot, "cx"), bottom = circle(plot, "cy");
  plot.marks[0].x = plot.marks[0].y = {10};
  const double right = circle(plot, "cx"), top = circle(plot, "cy");
  EXPECT_LT(left, right);
  EXPECT_LT(top, bottom);  // SVG's y points down
  plot.marks[0].x = plot.marks[0].y = {2.5};
  EXPECT_NEAR(circle(plot, "cx"), left + 0.25 * (right - left), 0.1);
  EXPECT_NEAR(circle(plot, "cy"), bottom + 0.25 * (top - bottom), 0.1);
  plot.x = {.log = true, .low = 1, .high = 10'000};
  plot.marks[0].x = {10};
  EXPECT_NEAR(circle(plot, "cx"), left + 0.25 * (right - left), 0.1);
}

TEST(Svg, TicksAreRoundNumbersInside) {
  EXPECT_EQ(round_ticks(0, 1, false).size(), 6U);      // 0, 0.2, ..., 1
  const auto linear = round_ticks(0.93, 1.16, false);  // 0.95, 1, 1.05, 1.1, 1.15
  ASSERT_EQ(linear.size(), 5U);
  EXPECT_NEAR(linear[0], 0.95, 1e-12);
  EXPECT_NEAR(linear[4], 1.15, 1e-12);
  EXPECT_EQ(round_ticks(0.98, 1.68, true), round_ticks(0.98, 1.68, false));  // 1, 1.2, 1.4, 1.6
  EXPECT_EQ(round_ticks(15, 250, true), (std::vector<double>{20, 50, 100, 200}));
  EXPECT_EQ(round_ticks(0.5, 20'000, true), (std::vector<double>{1, 10, 100, 1000, 10'000}));
}

TEST(Svg, LeavesOutLabelsThatWouldRunIntoOthers) {
  const auto labels = [](double width) {
    Plot plot{.x = {.log = true}, .width = width, .height = 200};
    plot.marks = {{.x = {2164, 944'482}, .y = {0, 1}}};
    const std::string svg = as_svg({.plots = {plot}});
    std::vector<std::pair<double, std::string>> out;  // of the axis below: those in the middle of their ticks
    const std::string start = R"(<text class="tick" x=")", middle = R"(text-anchor="middle">)";
    for (std::size_t at = svg.find(start); at != std::string::npos; at = svg.find(start, at + 1)) {
      const std::size_t end = svg.find('<', at + 1), word = svg.rfind('>', end) + 1;
      if (svg.substr(at, word - at).ends_with(middle))
        out.emplace_back(std::stod(svg.substr(at + start.size())), svg.substr(word, end - word));
    }
    return out;
  };
  const auto wide = labels(900), narrow = labels(300);
  EXPECT_GT(wide.size(), narrow.size());
  ASSERT_GE(narrow.size(), 2U);
  for (std::size_t k = 1; k < narrow.size(); ++k) {
    const double letters = static_cast<double>(narrow[k - 1].second.size() + narrow[k].second.size()) / 2;
    EXPECT_GT(narrow[k].first - narrow[k - 1].first, 6.5 * letters) << narrow[k].second;
  }
}

TEST(Svg, AHistogramHasArea1AndCountsWhatLiesOutside) {
  const Histogram h = histogram({0.1, 0.2, 0.3, 1.9, 5}, 0, 2, 4);
  ASSERT_EQ(h.edges.size(), 5U);
  ASSERT_EQ(h.heights.size(), 4U);
  EXPECT_DOUBLE_EQ(h.edges[4], 2);
  EXPECT_DOUBLE_EQ(h.heights[0], 3 / (5 * 0.5));
  EXPECT_DOUBLE_EQ(h.heights[1], 0);
  EXPECT_DOUBLE_EQ(h.heights[3], 1 / (5 * 0.5));
}

}  // namespace
}  // namespace mlo
