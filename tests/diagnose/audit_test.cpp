// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/diagnose/audit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace mlo {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Of 1000 effective draws from N(0, 1).
ParameterSummary normal_summary(const std::string& name) {
  ParameterSummary p;
  p.name = name;
  p.mean = 0;
  p.sd = 1;
  p.mcse_mean = 0.03;
  p.q5 = -1.645;
  p.q95 = 1.645;
  p.ess_bulk = p.ess_tail = 1000;
  p.rhat = 1.002;
  return p;
}
using Summaries = std::vector<ParameterSummary>;
Summaries two() { return {normal_summary("alpha"), normal_summary("beta")}; }

AuditReport compared(const Summaries& found, const Summaries& reference) {
  AuditReport report;
  compare(found, reference, report);
  return report;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Audit, OfDrawsThatAgreeHasNoWarning) {
  Summaries found = two();
  found[0].mean = 0.06;  // sqrt(2) errors of the difference
  found[1].sd = 1.02;
  found[1].q95 = 1.7;
  const AuditReport report = compared(found, two());
  EXPECT_EQ(report.warning, "");
  ASSERT_EQ(report.parameters.size(), 2U);
  EXPECT_EQ(report.parameters[0].name, "alpha");
  EXPECT_NEAR(report.parameters[0].z, std::sqrt(2.0), 1e-12);
  EXPECT_EQ(report.parameters[0].sd_ratio, 1);
  EXPECT_EQ(report.parameters[0].spread_z, 0);
  EXPECT_EQ(report.parameters[1].name, "beta");
  EXPECT_EQ(report.parameters[1].z, 0);
  EXPECT_NEAR(report.parameters[1].sd_ratio, 1.02, 1e-12);
  // log(3.345 / 3.29) in errors of 1.3 sqrt(2 / 1000).
  EXPECT_NEAR(report.parameters[1].spread_z, std::log(3.345 / 3.29) / (1.3 * std::sqrt(0.002)), 1e-12);
  EXPECT_NEAR(report.worst_z(), std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(report.sd_ratio_low(), 1, 1e-12);
  EXPECT_NEAR(report.sd_ratio_high(), 1.02, 1e-12);
}

// Four errors of the difference, 0.03 sqrt(2) each.
TEST(Audit, NamesAParameterWhoseMeansAreApart) {
  for (const double sign : {1.0, -1.0}) {
    Summaries found = two();
    found[1].mean = sign * 3.99 * 0.03 * std::sqrt(2.0);
    EXPECT_EQ(compared(found, two()).warning, "");
    found[1].mean = sign * 4.01 * 0.03 * std::sqrt(2.0);
    const std::string warning = compared(found, two()).warning;
    EXPECT_TRUE(has(warning, "do not agree")) << warning;
    EXPECT_TRUE(has(warning, sign > 0 ? "\"beta\" (means 4.0 errors" : "\"beta\" (means -4.0 errors"))
        << warning;
    EXPECT_FALSE(has(warning, "alpha")) << warning;
  }
}

// The sd itself may differ where tails are heavy; the distance between two quantiles must not.
TEST(Audit, NamesAParameterWhoseSpreadsAreApart) {
  const double error = 1.3 * std::sqrt(0.002);
  for (const double sign : {1.0, -1.0}) {
    Summaries found = two();
    found[0].sd = 3;
    EXPECT_EQ(compared(found, two()).warning, "");
    found[0].q5 = -1.645 * std::exp(sign * 3.99 * error);
    found[0].q95 = -found[0].q5;
    EXPECT_EQ(compared(found, two()).warning, "");
    found[0].q5 = -1.645 * std::exp(sign * 4.01 * error);
    found[0].q95 = -found[0].q5;
    const std::string warning = compared(found, two()).warning;
    EXPECT_TRUE(has(warning, "do not agree")) << warning;
    EXPECT_TRUE(has(warning, sign > 0
                                 ? "\"alpha\" (means 0.0 errors apart, sd ratio 3.00, q95 - q5 4.0 errors"
                                 : "\"alpha\" (means 0.0 errors apart, sd ratio 3.00, q95 - q5 -4.0 errors"))
        << warning;
    EXPECT_FALSE(has(warning, "beta")) << warning;
  }
}

TEST(Audit, NamesEveryParameterThatIsUnlike) {
  Summaries found = two();
  found[0].mean = 1;
  found[1].mean = -1;
  const std::string warning = compared(found, two()).warning;
  EXPECT_TRUE(has(warning, "\"alpha\"")) << warning;
  EXPECT_TRUE(has(warning, "; \"beta\"")) << warning;
}

TEST(Audit, SaysWhereTheChainsOnAllRowsHaveNotMixed) {
  Summaries reference = two();
  reference[1].rhat = 1.049;
  EXPECT_EQ(compared(two(), reference).warning, "");
  for (const double rhat : {1.06, nan}) {
    reference[1].rhat = rhat;
    const std::string warning = compared(two(), reference).warning;
    EXPECT_TRUE(has(warning, "have not mixed")) << warning;
    EXPECT_TRUE(has(warning, "\"beta\"")) << warning;
    EXPECT_FALSE(has(warning, "alpha")) << warning;
    EXPECT_FALSE(has(warning, "do not agree")) << warning;
  }
  // What is unlike matters more.
  Summaries found = two();
  found[0].mean = 1;
  EXPECT_TRUE(has(compared(found, reference).warning, "do not agree"));
}

// A chain that never moved has no Monte Carlo error, and one draw that is not finite makes all figures NaN.
TEST(Audit, WhatIsNotANumberIsNotFine) {
  const auto with = [](double ParameterSummary::*figure, double value) {
    Summaries out = two();
    out[1].*figure = value;
    return out;
  };
  for (double ParameterSummary::*figure :
       {&ParameterSummary::mean, &ParameterSummary::mcse_mean, &ParameterSummary::q5, &ParameterSummary::q95,
        &ParameterSummary::ess_tail}) {
    for (const AuditReport& report :
         {compared(with(figure, nan), two()), compared(two(), with(figure, nan))}) {
      EXPECT_TRUE(has(report.warning, "do not agree")) << report.warning;
      EXPECT_TRUE(has(report.warning, "\"beta\"")) << report.warning;
      EXPECT_FALSE(has(report.warning, "alpha")) << report.warning;
    }
  }
  EXPECT_TRUE(std::isnan(compared(with(&ParameterSummary::mean, nan), two()).worst_z()));
  EXPECT_TRUE(std::isnan(compared(with(&ParameterSummary::sd, nan), two()).sd_ratio_low()));
  EXPECT_TRUE(std::isnan(compared(with(&ParameterSummary::sd, nan), two()).sd_ratio_high()));
  // Both stuck at one point.
  Summaries stuck = two();
  for (ParameterSummary& p : stuck) p.sd = p.mcse_mean = p.q5 = p.q95 = 0;
  EXPECT_NE(compared(stuck, stuck).warning, "");
  // One stuck: its spread is nothing, whatever its error says.
  Summaries one = two();
  one[0].q5 = one[0].q95 = 0;
  EXPECT_NE(compared(one, two()).warning, "");
  EXPECT_NE(compared(two(), one).warning, "");
}

TEST(Audit, OfNothingHasNothingToSay) {
  const AuditReport report = compared({}, {});
  EXPECT_EQ(report.warning, "");
  EXPECT_EQ(report.worst_z(), 0);
  EXPECT_EQ(report.sd_ratio_low(), 1);
  EXPECT_EQ(report.sd_ratio_high(), 1);
}

}  // namespace
}  // namespace mlo
