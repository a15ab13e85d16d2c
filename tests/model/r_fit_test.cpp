// Copyright (c) the mlo authors. BSD-3-Clause.
// Maximum likelihood against R's glm: the files tests/data/r/fits/NAME.txt, each with the R line that made
// it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/data/reader.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/model/mode.hpp"
#include "support/r_files.hpp"

namespace mlo {
namespace {

struct RFit {
  std::string formula, table, family, weights;
  std::vector<std::string> names;
  std::vector<double> coefficients;
};

RFit read_fit(const std::string& name) {
  const std::vector<std::string> lines = testing::r_lines("fits/" + name + ".txt");
  const std::vector<std::string> family = testing::split(lines.at(3));
  RFit fit{.formula = lines.at(1),
           .table = lines.at(2),
           .family = family[0],
           .weights = {},
           .names = {},
           .coefficients = {}};
  if (family.size() > 1) fit.weights = family[1];
  for (std::size_t at = 4; at < lines.size(); ++at) {
    const std::vector<std::string> fields = testing::split(lines[at]);
    fit.names.push_back(fields.at(0));
    fit.coefficients.push_back(testing::r_number(fields.at(1)));
  }
  return fit;
}

// R's coefficients for `path` and ours agree to `digits`.
void expect_fit(const RFit& fit, const std::string& path, double tolerance) {
  SCOPED_TRACE(fit.formula + ", " + fit.family);
  const auto reader = open_reader({path});
  const Formula formula = parse_formula(fit.formula, reader->header());
  std::vector<std::string> columns = formula.columns();
  if (!fit.weights.empty()) columns.push_back(fit.weights);
  Design design = build_design(formula, reader->read(columns), {.row_weights = fit.weights});
  EXPECT_EQ(design.names, fit.names);
  std::string family = "poisson";
  FamilyNumbers numbers;
  if (fit.family == "binomial()") family = "logistic";
  if (fit.family == "binomial(\"probit\")") family = "probit";
  if (fit.family == "gaussian()") {  // least squares, whatever sigma is
    family = "gaussian-mean";
    numbers = {{"known-sigma", 1}};
  }
  GlmPriors priors;
  priors.coefficients.assign(design.dim, Prior::flat());
  const Glm glm(std::move(design), make_family(family, numbers), std::move(priors));
  ThreadPool pool(2);
  const Mode mode = find_mode(glm, pool, {.tolerance = 1e-6});
  Eigen::VectorXd user(mode.theta.size());
  glm.to_user(params(mode.theta), {user.data(), static_cast<std::size_t>(user.size())});
  ASSERT_EQ(static_cast<std::size_t>(user.size()), fit.coefficients.size());
  for (std::size_t j = 0; j < fit.coefficients.size(); ++j) {
    EXPECT_NEAR(user[static_cast<Eigen::Index>(j)], fit.coefficients[j],
                tolerance * (1 + std::fabs(fit.coefficients[j])))
        << fit.names[j];
  }
}

// R's own iteration leaves errors of some 1e-10.
TEST(RFit, TheModeWithFlatPriorsIsThatOfGlm) {
  for (const std::string name :
       {"poisson_offset", "poisson_interaction", "poisson_weights", "binomial_cbind", "binomial_cbind_factor",
        "binomial_text", "binomial_weights", "gaussian", "gaussian_weights", "gaussian_sum", "probit"}) {
    SCOPED_TRACE(name);
    const RFit fit = read_fit(name);
    expect_fit(fit, testing::r_path(fit.table), 1e-8);
  }
}

// 413,169 policies; the file is not in the repository.
TEST(RFit, FrenchMotorClaims) {
  const char* const path = std::getenv("MLO_FREMTPLFREQ");
  if (path == nullptr) GTEST_SKIP() << "set MLO_FREMTPLFREQ to the path of fremtplfreq.csv.gz";
  expect_fit(read_fit("fremtplfreq"), path, 1e-8);
}

}  // namespace
}  // namespace mlo
