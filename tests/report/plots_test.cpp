// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/report/plots.hpp"

#include <gtest/gtest.h>

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "mlo/report/png.hpp"
#include "support/posteriors.hpp"
#include "support/xml.hpp"

namespace mlo {
namespace {

using test::chains_of;
using test::posterior;
using test::xml_problem;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// The estimate smooths: of a standard normal law it is the normal law with variance 1 + bandwidth^2. With the
// quantiles of the law as draws there is no noise.
TEST(DensityCurve, OfNormalDrawsIsAWiderNormalDensity) {
  constexpr std::size_t n = 20'000;
  const boost::math::normal law;
  std::vector<double> sorted(n);
  for (std::size_t k = 0; k < n; ++k) sorted[k] = quantile(law, (static_cast<double>(k) + 0.5) / n);
  const DensityCurve curve = density_curve(sorted, 128);
  ASSERT_EQ(curve.x.size(), 128);
  const double bandwidth = 0.9 * std::pow(n, -0.2);  // the sd and the quartiles / 1.34 are both about 1
  const boost::math::normal wider(0, std::hypot(1, bandwidth));
  double area = 0;
  for (std::size_t k = 0; k < 128; ++k) {
    EXPECT_NEAR(curve.y[k], pdf(wider, curve.x[k]), 0.003) << curve.x[k];
    area += curve.y[k] * (curve.x[1] - curve.x[0]);
  }
  EXPECT_NEAR(area, 1, 0.005);
}

TEST(DensityCurve, IsEmptyWhereThereIsNone) {
  EXPECT_TRUE(density_curve(std::vector<double>{}).x.empty());
  EXPECT_TRUE(density_curve(std::vector<double>{1}).x.empty());
  EXPECT_TRUE(density_curve(std::vector<double>(100, 2.5)).x.empty());
  // Half of the draws alike: the quartiles may agree, but there is a spread.
  std::vector<double> half(100, 0.0);
  for (std::size_t k = 90; k < 100; ++k) half[k] = static_cast<double>(k);
  EXPECT_FALSE(density_curve(half).x.empty());
}

TEST(RankCounts, AreLevelForChainsThatAgreeAndNotForOthers) {
  std::vector<double> low(100), high(100), even(100), odd(100);
  for (std::size_t k = 0; k < 100; ++k) {
    low[k] = static_cast<double>(k);
    high[k] = static_cast<double>(k + 100);
    even[k] = static_cast<double>(2 * k);
    odd[k] = static_cast<double>(2 * k + 1);
  }
  const auto apart = posterior(chains_of({{low}, {high}}));
  const std::vector<std::uint32_t> counts = rank_counts(apart.view(), 0, 20);
  for (std::size_t b = 0; b < 20; ++b) {
    EXPECT_EQ(counts[b], b < 10 ? 10 : 0);
    EXPECT_EQ(counts[20 + b], b < 10 ? 0 : 10);
  }
  const auto mixed = posterior(chains_of({{even}, {odd}}));
  for (const std::uint32_t n : rank_counts(mixed.view(), 0, 20)) EXPECT_EQ(n, 5);
  // All alike: one rank, in the middle.
  const auto same = posterior(chains_of({{std::vector<double>(100, 1.0)}, {std::vector<double>(100, 1.0)}}));
  const std::vector<std::uint32_t> one = rank_counts(same.view(), 0, 20);
  EXPECT_EQ(one[10], 100);
  EXPECT_EQ(one[30], 100);
}

TEST(MostCorrelated, FindsTheClosestPairsAndLeavesOutConstants) {
  std::vector<double> a(200), b(200), c(200), constant(200, 3.7);
  for (std::size_t k = 0; k < 200; ++k) {
    a[k] = std::sin(static_cast<double>(k));
    b[k] = 5 - 2 * a[k];
    c[k] = a[k] + std::cos(static_cast<double>(7 * k));
  }
  const auto p = posterior(chains_of({{a, b, c, constant}}));
  const std::vector<std::size_t> all{0, 1, 2, 3};
  const std::vector<CorrelatedPair> pairs = most_correlated(p.view(), all, 10);
  ASSERT_EQ(pairs.size(), 3);  // not those with the constant
  EXPECT_EQ(pairs[0].first, 0);
  EXPECT_EQ(pairs[0].second, 1);
  EXPECT_NEAR(pairs[0].correlation, -1, 1e-12);
  // Pearson's coefficient of the same numbers, by its definition.
  const auto mean = [](const std::vector<double>& v) {
    return std::accumulate(v.begin(), v.end(), 0.0) / 200;
  };
  double ac = 0, aa = 0, cc = 0;
  for (std::size_t k = 0; k < 200; ++k) {
    const double x = a[k] - mean(a), y = c[k] - mean(c);
    ac += x * y;
    aa += x * x;
    cc += y * y;
  }
  EXPECT_NEAR(std::abs(pairs[1].correlation), ac / std::sqrt(aa * cc), 1e-12);
  EXPECT_EQ(most_correlated(p.view(), all, 1).size(), 1);
}

TEST(ForestRange, LeavesOutAnInterceptThatWouldSqueezeTheOthers) {
  std::vector<ParameterSummary> p(3);
  p[0] = {.name = "(Intercept)", .hpd_low = -81, .hpd_high = -79};
  p[1] = {.name = "x1", .hpd_low = -1, .hpd_high = 2};
  p[2] = {.name = "x2", .hpd_low = nan, .hpd_high = nan};
  const std::vector<std::size_t> all{0, 1, 2};
  const ForestRange without = forest_range(p, all);
  EXPECT_EQ(without.outside, std::vector<std::size_t>{0});
  EXPECT_EQ(without.low, -1);
  EXPECT_EQ(without.high, 2);
  p[0].hpd_low = -1.2;
  p[0].hpd_high = -1.1;
  const ForestRange with = forest_range(p, all);
  EXPECT_TRUE(with.outside.empty());
  EXPECT_EQ(with.low, -1.2);
}

TEST(PlotSheet, NamesEveryLineOfDensitiesOnce) {
  std::vector<double> wave(50);
  for (std::size_t k = 0; k < 50; ++k) wave[k] = std::sin(static_cast<double>(k));
  auto p = posterior(chains_of({{wave, wave, wave}, {wave, wave, wave}}), {"(Intercept)", "x", "z"});
  // The prior of the intercept is one at the columns' means: there is nothing to draw.
  p.facts.priors = {{.text = "normal(0, 10)", .at_means = true}, {"normal(0, 1)"}, {"normal(0, 1)"}};
  const std::vector<std::size_t> all{0, 1, 2};
  const Sheet sheet = plot_sheet(PlotKind::density, p.view(), all, file_palette());
  std::vector<std::string> labels;
  for (const Plot& plot : sheet.plots)
    for (const Mark& mark : plot.marks)
      if (!mark.label.empty()) labels.push_back(plot.title + ": " + mark.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"(Intercept): posterior", "x: prior"}));
}

TEST(PlotSheet, IsWellFormedForEveryKindAndAwkwardDraws) {
  const std::vector<double> constant(50, 1.0), missing(50, nan);
  std::vector<double> wave(50);
  for (std::size_t k = 0; k < 50; ++k) wave[k] = std::sin(static_cast<double>(k));
  auto p = posterior(chains_of({{wave, constant, missing}, {wave, constant, missing}}),
                     {"<a&b>", "\"c\"", "\xff\xfe"});
  p.facts.priors = {{"normal(0, 1)"}, {"flat"}, {"gamma(2, 1)"}};
  p.facts.mode = {0, 1, 2};
  const std::vector<std::size_t> all{0, 1, 2};
  for (const char* kind : {"forest", "density", "trace", "rank", "pairs"}) {
    for (const SvgUse use : {SvgUse::file, SvgUse::page}) {
      const std::string svg = as_svg(plot_sheet(*plot_kind(kind), p.view(), all, file_palette()), use);
      EXPECT_EQ(xml_problem(svg), "") << kind;
      EXPECT_EQ(svg.find("nan"), std::string::npos) << kind;
      EXPECT_EQ(svg.find('\xff'), std::string::npos) << kind;
      // A page's own style sheet applies; its policy allows no other.
      EXPECT_EQ(svg.find("<style>") == std::string::npos, use == SvgUse::page);
      EXPECT_EQ(svg.find("style="), std::string::npos);
    }
  }
  EXPECT_FALSE(plot_kind("pie").has_value());
}

TEST(PlotSheet, DrawsThePriorAndTheLaplaceFitWhereTheyAreKnown) {
  std::vector<double> wave(50);
  for (std::size_t k = 0; k < 50; ++k) wave[k] = std::sin(static_cast<double>(k));
  auto p = posterior(chains_of({{wave}}));
  const std::vector<std::size_t> one{0};
  const auto labels = [&] {
    std::string out;
    const Sheet sheet = plot_sheet(PlotKind::density, p.view(), one, file_palette());
    for (const Mark& mark : sheet.plots[0].marks) out += mark.label + ";";
    return out;
  };
  EXPECT_EQ(labels(), ";posterior;");
  p.facts.mode = {0};
  p.laplace_sd = {1};
  EXPECT_EQ(labels(), ";posterior;Laplace fit;");
  p.facts.priors = {{"student_t(3, 0, 2)"}};
  EXPECT_EQ(labels(), ";posterior;Laplace fit;prior;");
  p.facts.priors = {{"student_t(3, 0, 2)", true}};  // not of the parameter itself
  EXPECT_EQ(labels(), ";posterior;Laplace fit;");
}

// The part above 0 of a law, and LKJ's law of one correlation, are densities too.
TEST(PriorFact, DensitiesIntegrateToOne) {
  std::vector<double> line, correlations;
  constexpr double h = 1e-3;
  for (double x = -200; x <= 200; x += h) line.push_back(x);
  for (double x = -1 + h / 2; x < 1; x += h) correlations.push_back(x);
  const auto integral = [&](const PriorFact& fact, const std::vector<double>& x) {
    double sum = 0;
    for (const double y : fact.density(x)) sum += h * y;
    return sum;
  };
  EXPECT_NEAR(integral({.text = "normal(1, 2)"}, line), 1, 1e-3);
  EXPECT_NEAR(integral({.text = "normal(1, 2)", .above_zero = true}, line), 1, 1e-3);
  EXPECT_NEAR(integral({.text = "student_t(3, -1, 2.5)", .above_zero = true}, line), 1, 1e-3);
  EXPECT_NEAR(integral({.text = "lkj(1)", .correlation_shape = 1}, correlations), 1, 1e-3);
  EXPECT_NEAR(integral({.text = "lkj(2)", .correlation_shape = 3.5}, correlations), 1, 1e-3);
  EXPECT_EQ(PriorFact({.text = "normal(0, 1)", .above_zero = true}).words(), "normal(0, 1), above 0");
}

TEST(Png, IsDrawnWhereLibrsvgIsInstalled) {
  if (!why_no_png().empty()) {
    const char* const required = std::getenv("MLO_REQUIRE_ALL");
    if (required != nullptr && std::string(required) == "1") FAIL() << why_no_png();
    GTEST_SKIP() << why_no_png();
  }
  const Sheet sheet{.title = "t", .plots = {{.width = 100, .height = 60}}};
  const std::string png = png_of_svg(as_svg(sheet), 2);
  ASSERT_GT(png.size(), 24);
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  const auto number = [&](std::size_t at) {
    return (static_cast<unsigned char>(png[at + 2]) << 8) + static_cast<unsigned char>(png[at + 3]);
  };
  EXPECT_EQ(number(16), 200);  // pixels
  EXPECT_EQ(number(20), 180);  // with the title's 30 units
  EXPECT_THROW(static_cast<void>(png_of_svg("not a drawing")), std::exception);
}

}  // namespace
}  // namespace mlo
