// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/report/comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace mlo {
namespace {

ParameterSummary parameter(const char* name, double mean, double sd, double mcse, double ess, double rhat) {
  ParameterSummary p;
  p.name = name;
  p.mean = mean;
  p.sd = sd;
  p.mcse_mean = mcse;
  p.ess_bulk = ess;
  p.rhat = rhat;
  return p;
}

const std::vector<ParameterSummary> posterior{parameter("a", 1, 0.5, 0.003, 4000, 1),
                                              parameter("b", -2, 0.1, 0.0004, 5000, 1),
                                              parameter("c", 0, 2, 0.01, 4500, 1)};

MethodResult example() {
  MethodResult m;
  m.name = "mlo:subsample-size=10";
  m.promise = Promise::approximate;
  m.sample_seconds = 2;
  m.parameters = {parameter("a", 1.1, 1, 0.004, 200, 1.02), parameter("b", -2.05, 0.3, 0.03, 90, 1.1),
                  parameter("c", 0.2, 3, 0.1, 300, 1.01)};
  return m;
}

TEST(Comparison, MeasuresAgainstThePosterior) {
  MethodResult m = example();
  compare_with(posterior, m);
  EXPECT_DOUBLE_EQ(m.sd_ratio_low, 1.5);
  EXPECT_DOUBLE_EQ(m.sd_ratio, 2);
  EXPECT_DOUBLE_EQ(m.sd_ratio_high, 3);
  EXPECT_DOUBLE_EQ(m.ess, 90);
  EXPECT_DOUBLE_EQ(m.rhat, 1.1);
  EXPECT_NEAR(m.mean_error, 0.5, 1e-12);  // of b: 0.05 in units of 0.1
  EXPECT_NEAR(m.mean_error_mcse, std::hypot(0.03, 0.0004) / 0.1, 1e-12);
}

TEST(Comparison, AParameterThatIsNotANumberIsTheWorst) {
  MethodResult m = example();
  m.parameters[1].mean = std::nan("");
  m.parameters[1].rhat = std::nan("");
  m.parameters[1].ess_bulk = std::nan("");
  compare_with(posterior, m);
  EXPECT_TRUE(std::isnan(m.mean_error));
  EXPECT_TRUE(std::isnan(m.rhat));
  EXPECT_TRUE(std::isnan(m.ess));
}

TEST(Comparison, PrintsLargeNumbersInPlainDigits) {
  Comparison c;
  c.methods.push_back(example());
  MethodResult& m = c.methods[0];
  m.rows_per_step = 1400.2;
  m.ess_per_second = 12345.6;
  m.ess_per_million_rows = 3.4e6;
  m.sd_ratio_low = 0.999;
  m.sd_ratio = 1;
  m.sd_ratio_high = 150.4;
  m.mean_error = 99.7;
  m.mean_error_mcse = 9.7;
  const std::string table = as_table(c);
  for (const char* shown :
       {" 1,400 ", " 12,346 ", " 3,400,000 ", " 0.999 ", " 1.00 ", " 150 ", " 100 ", " 10 "})
    EXPECT_NE(table.find(shown), std::string::npos) << shown << '\n' << table;
  EXPECT_EQ(table.find("e+"), std::string::npos) << table;
}

TEST(Comparison, IsWrittenInEveryForm) {
  Comparison c;
  c.title = "logistic model y ~ <x>";
  c.reference = "exact, 100 draws";
  c.posterior = posterior;
  c.methods.push_back(example());
  compare_with(posterior, c.methods[0]);
  c.methods[0].ess_per_second = 45;
  c.methods[0].ess_per_million_rows = std::numeric_limits<double>::infinity();
  MethodResult failed;
  failed.name = "confidence";
  failed.failure = "needs a bound, \"which\" is not there";
  c.methods.push_back(failed);

  const std::string table = as_table(c);
  EXPECT_NE(table.find("mlo:subsample-size=10  approximate"), std::string::npos) << table;
  EXPECT_NE(table.find("confidence: needs a bound"), std::string::npos) << table;
  EXPECT_NE(table.find("that of exact, 100 draws"), std::string::npos) << table;

  const std::string csv = as_csv(c);
  const auto commas = [](const std::string& line) { return std::count(line.begin(), line.end(), ','); };
  std::istringstream lines(csv);
  std::string header, first, second;
  std::getline(lines, header);
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_EQ(commas(header), commas(first));
  EXPECT_EQ(commas(header) + 1, commas(second));  // one inside the quotes
  EXPECT_NE(second.find("\"needs a bound, \"\"which\"\" is not there\""), std::string::npos) << second;

  EXPECT_NE(as_json(c).find("\"ess_per_million_rows\": null"), std::string::npos);
  const std::string svg = as_svg(c);
  EXPECT_EQ(svg.rfind("<svg", 0), 0U);
  EXPECT_NE(svg.find("y ~ &lt;x&gt;"), std::string::npos);
  EXPECT_NE(svg.find("mlo:subsample-size=10"), std::string::npos);
  EXPECT_EQ(svg.find("confidence"), std::string::npos);  // it cannot be plotted
}

}  // namespace
}  // namespace mlo
