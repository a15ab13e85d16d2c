// Copyright (c) the mlo authors. BSD-3-Clause.
// From a table to intervals where the posterior is far from normal: a level whose rows all have one outcome,
// and no more rows than coefficients. Means, sds and the distance from the 5 % to the 95 % quantile against
// quadrature, in Monte Carlo errors: |z| < 5.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "mlo/base/errors.hpp"
#include "mlo/fit/fit.hpp"
#include "support/rare_level.hpp"

namespace mlo {
namespace {

using testing::GridLaw;
using testing::RareLevelLaw;

FitOptions options(const std::string& method, const std::string& prior, const std::string& formula) {
  FitOptions o;
  o.data = {"test"};
  o.method = method;
  o.formula = formula;
  o.prior = prior;
  o.seed = 5;
  o.threads = 2;
  return o;
}

// `tails`: the prior's fourth moment is finite, so that the sd has an error that is known.
void expect_law(const ParameterSummary& found, const GridLaw& law, bool tails, const std::string& what) {
  EXPECT_GE(std::min(found.ess_bulk, found.ess_tail), 400) << what;
  EXPECT_LT(std::abs(found.mean - law.mean()) / found.mcse_mean, 5)
      << what << ": " << found.mean << " for " << law.mean();
  EXPECT_LT(std::abs(found.q95 - found.q5 - law.width()) / law.width_error(found.ess_tail), 5)
      << what << ": " << found.q95 - found.q5 << " for " << law.width();
  if (tails) {
    EXPECT_LT(std::abs(found.sd - law.sd()) / law.sd_error(std::min(found.ess_bulk, found.ess_tail)), 5)
        << what << ": " << found.sd << " for " << law.sd();
  }
}

std::string all_of(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += text + "\n";
  return out;
}

class RareLevelFit : public ::testing::Test {
 protected:
  static constexpr const char* formula = "y ~ x1 + level";
  const Table table = testing::rare_level_table({.rows = 20'000, .level = 15, .ones = 15, .seed = 3});
};

void expect_law_of_level(const Table& table, const std::string& prior) {
  const Prior parsed = Prior::parse(prior, "prior");
  const GridLaw law =
      RareLevelLaw(table).coefficient({.intercept = Prior::normal(0, 10), .slope = parsed, .level = parsed});
  for (const std::string method : {"exact", "full"}) {
    FitOptions o = options(method, prior, "y ~ x1 + level");
    o.prior_intercept = "normal(0, 10)";
    const RunSummary s = fit(o, table).summary;
    ASSERT_EQ(s.parameters[2].name, "level");
    expect_law(s.parameters[2], law, prior[0] != 's', method + ", " + prior);
    for (const ParameterSummary& p : s.parameters)
      EXPECT_GE(std::min(p.ess_bulk, p.ess_tail), 400) << method << ", " << prior << ", " << p.name;
    EXPECT_TRUE(s.warnings.empty()) << method << ", " << prior << ": " << all_of(s.warnings);
    EXPECT_NE(all_of(s.notes).find("slices along \"level\""), std::string::npos) << all_of(s.notes);
    EXPECT_EQ(s.method.bound_violations, 0U);
  }
}

TEST_F(RareLevelFit, MatchesQuadratureWithANormalPrior) { expect_law_of_level(table, "normal(0, 2.5)"); }
TEST_F(RareLevelFit, MatchesQuadratureWithALaplacePrior) { expect_law_of_level(table, "laplace(0, 2.5)"); }
TEST_F(RareLevelFit, MatchesQuadratureWithAStudentPrior) {
  expect_law_of_level(table, "student_t(3, 0, 2.5)");
}

// One outcome the other way is another posterior: the tests above could tell.
TEST_F(RareLevelFit, OfOneOtherOutcomeIsAnotherPosterior) {
  const Prior prior = Prior::normal(0, 2.5);
  const GridLaw law = RareLevelLaw(table).coefficient({.slope = prior, .level = prior});
  Table other = table;
  const Numbers& level = other.columns[2].numbers();
  other.columns[0]
      .numbers()[static_cast<std::size_t>(std::find(level.begin(), level.end(), 1) - level.begin())] = 0;
  FitOptions o = options("exact", "normal(0, 2.5)", formula);
  o.prior_intercept = "normal(0, 10)";
  const ParameterSummary wrong = fit(o, other).summary.parameters[2];
  EXPECT_GT(std::abs(wrong.mean - law.mean()) / wrong.mcse_mean, 10);
  EXPECT_GT(std::abs(wrong.q95 - wrong.q5 - law.width()) / law.width_error(wrong.ess_tail), 10);
}

TEST_F(RareLevelFit, ItsAuditAgreesAndReportsEveryParameter) {
  FitOptions o = options("exact", "student_t(3, 0, 2.5)", formula);
  o.audit = true;
  const RunSummary s = fit(o, table).summary;
  EXPECT_TRUE(s.audit.done);
  EXPECT_GT(s.audit.steps, 0U);
  EXPECT_LT(s.audit.worst_error, 1e-4);
  EXPECT_EQ(s.audit.warning, "");
  EXPECT_TRUE(s.warnings.empty()) << all_of(s.warnings);
  ASSERT_EQ(s.audit.parameters.size(), 3U);
  const std::string text = as_table(s);
  const RunSummary again = summary_from_json(as_json(s), "test");
  ASSERT_EQ(again.audit.parameters.size(), 3U);
  EXPECT_NE(as_json(s).find("\"agrees\""), std::string::npos);
  for (std::size_t j = 0; j < 3; ++j) {
    const AuditReport::Parameter &p = s.audit.parameters[j], &q = again.audit.parameters[j];
    EXPECT_EQ(p.name, s.parameters[j].name);
    EXPECT_LT(std::abs(p.z), 4);
    EXPECT_LT(std::abs(p.spread_z), 4);
    EXPECT_EQ(q.name, p.name);
    EXPECT_EQ(q.z, p.z);
    EXPECT_EQ(q.sd_ratio, p.sd_ratio);
    EXPECT_EQ(q.spread_z, p.spread_z);
  }
  EXPECT_NE(text.find("audited"), std::string::npos) << text;
  // An audit has random numbers of its own.
  FitOptions plain = o;
  plain.audit = false;
  EXPECT_EQ(fit(plain, table).summary.parameters[2].mean, s.parameters[2].mean);
}

// ---- no more rows than coefficients

const std::vector<double> x1{1, 0.4}, x2{0.3, -1.2}, y{1, 0};

Table two_by_two() {
  Table table;
  table.source.name = "test";
  table.rows = 2;
  table.columns = {{"y", y}, {"x1", x1}, {"x2", x2}};
  return table;
}

// The marginal laws of both coefficients, on a grid of (sinh u, sinh v).
std::vector<GridLaw> laws_of_two_by_two(const Prior& prior) {
  std::vector<double> points, slope;
  for (double u = -9; u <= 9; u += 0.03) {
    points.push_back(std::sinh(u));
    slope.push_back(std::cosh(u));
  }
  const auto term = [](double eta, double response) {
    return response * eta - (eta > 0 ? eta + std::log1p(std::exp(-eta)) : std::log1p(std::exp(eta)));
  };
  std::vector<double> first(points.size()), second(points.size());
  for (std::size_t j = 0; j < points.size(); ++j)
    for (std::size_t k = 0; k < points.size(); ++k) {
      double height = prior.log_density(points[j]) + prior.log_density(points[k]);
      for (std::size_t i = 0; i < 2; ++i) height += term(points[j] * x1[i] + points[k] * x2[i], y[i]);
      const double weight = std::exp(height) * slope[j] * slope[k];
      first[j] += weight;
      second[k] += weight;
    }
  return {GridLaw(points, first), GridLaw(points, second)};
}

TEST(FewRows, TwoRowsAndTwoColumnsMatchQuadrature) {
  for (const std::string prior : {"student_t(3, 0, 2.5)", "laplace(0, 2.5)", "normal(0, 2.5)"}) {
    const std::vector<GridLaw> laws = laws_of_two_by_two(Prior::parse(prior, "prior"));
    for (const std::string method : {"exact", "full"}) {
      const RunSummary s = fit(options(method, prior, "y ~ 0 + x1 + x2"), two_by_two()).summary;
      EXPECT_TRUE(s.warnings.empty()) << method << ", " << prior << ": " << all_of(s.warnings);
      for (std::size_t j = 0; j < 2; ++j)
        expect_law(s.parameters[j], laws[j], prior[0] != 's',
                   method + ", " + prior + ", " + s.parameters[j].name);
    }
  }
}

// y and x1..x10, five rows.
Table five_by_ten() {
  Table table = testing::regression_table(5, 0, std::vector<double>(10, 0.5), 6, testing::draw_logistic);
  table.columns[0].numbers() = {1, 0, 1, 1, 0};
  return table;
}
const std::string ten_columns = "y ~ 0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9 + x10";

std::string refusal(const FitOptions& o, const Table& table) {
  try {
    static_cast<void>(fit(o, table));
  } catch (const ModelError& e) {
    return e.what();
  }
  return "no error";
}

TEST(FewRows, FiveRowsAndTenColumnsRunWithEveryPrior) {
  for (const std::string prior : {"student_t(3, 0, 2.5)", "laplace(0, 2.5)", "normal(0, 2.5)"}) {
    FitOptions o = options("auto", prior, ten_columns);
    o.thin = 1;  // to save time: what is chosen takes up to 50 steps per draw
    const RunSummary s = fit(o, five_by_ten()).summary;
    ASSERT_EQ(s.parameters.size(), 10U);
    for (const ParameterSummary& p : s.parameters) {
      EXPECT_TRUE(std::isfinite(p.mean) && p.sd > 0) << prior << ", " << p.name;
      EXPECT_GE(std::min(p.ess_bulk, p.ess_tail), 400) << prior << ", " << p.name;
    }
    EXPECT_TRUE(s.warnings.empty()) << prior << ": " << all_of(s.warnings);
  }
}

TEST(FewRows, AFlatPriorIsRefusedWithTheNumbers) {
  const std::string words = refusal(options("full", "flat", ten_columns), five_by_ten());
  EXPECT_NE(words.find("only 5 rows for 10 coefficients"), std::string::npos) << words;
  EXPECT_NE(words.find("`prior normal(0, 2.5)`"), std::string::npos) << words;
}

// With sigma unknown the columns predict the response exactly, and sigma goes to 0.
TEST(FewRows, GaussianIsRefusedUnlessSigmaIsKnown) {
  FitOptions o = options("full", "normal(0, 2.5)", ten_columns);
  o.family = "gaussian";
  const std::string words = refusal(o, five_by_ten());
  EXPECT_NE(words.find("5 rows for 10 coefficients"), std::string::npos) << words;
  EXPECT_NE(words.find("`known-sigma`"), std::string::npos) << words;
}

// Normal prior, normal likelihood: N(P^-1 X'y / s^2, P^-1) with P = X'X / s^2 + I / t^2.
TEST(FewRows, GaussianWithKnownSigmaMatchesItsClosedForm) {
  const Table table = five_by_ten();
  Eigen::MatrixXd x(5, 10);
  Eigen::VectorXd response(5);
  for (Eigen::Index i = 0; i < 5; ++i) {
    response[i] = table.columns[0].numbers()[static_cast<std::size_t>(i)];
    for (Eigen::Index j = 0; j < 10; ++j)
      x(i, j) = table.columns[static_cast<std::size_t>(j) + 1].numbers()[static_cast<std::size_t>(i)];
  }
  const double sigma = 0.7, scale = 2.5;
  const Eigen::MatrixXd precision =
      x.transpose() * x / (sigma * sigma) + Eigen::MatrixXd::Identity(10, 10) / (scale * scale);
  const Eigen::MatrixXd covariance = precision.inverse();
  const Eigen::VectorXd mean = covariance * x.transpose() * response / (sigma * sigma);
  for (const std::string method : {"auto", "full"}) {
    FitOptions o = options(method, "normal(0, 2.5)", ten_columns);
    o.family = "gaussian-mean";
    o.numbers = {{"known-sigma", sigma}};
    const RunSummary s = fit(o, table).summary;
    EXPECT_TRUE(s.warnings.empty()) << all_of(s.warnings);
    for (std::size_t j = 0; j < 10; ++j) {
      const ParameterSummary& p = s.parameters[j];
      const auto k = static_cast<Eigen::Index>(j);
      const double sd = std::sqrt(covariance(k, k));
      EXPECT_LT(std::abs(p.mean - mean[k]) / p.mcse_mean, 5) << method << ", " << p.name;
      // The sd of a normal law from n draws has an error of sd / sqrt(2 n).
      EXPECT_LT(std::abs(p.sd - sd) / (sd / std::sqrt(2 * std::min(p.ess_bulk, p.ess_tail))), 5)
          << method << ", " << p.name;
      EXPECT_GE(p.ess_bulk, 400) << method << ", " << p.name;
    }
  }
}

}  // namespace
}  // namespace mlo
