// Copyright (c) the mlo authors. BSD-3-Clause.
// Softmax regression: terms against the definition in long double, derivatives against differences, two
// classes against logistic regression, the mode against R's nnet, and what is refused.
#include "mlo/model/softmax.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/base/thread_pool.hpp"
#include "mlo/data/reader.hpp"
#include "mlo/model/any_model.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/model/mode.hpp"
#include "support/classes.hpp"
#include "support/designs.hpp"
#include "support/r_files.hpp"

namespace mlo {
namespace {

using testing::class_table;
using testing::design_of;
using testing::softmax_of;

static_assert(SampledModel<Softmax> && SummableModel<Softmax> && Differentiable<Softmax> &&
              ExpandableModel<Softmax>);

const std::vector<std::vector<double>> betas{{0.4, 1, -0.5}, {-0.3, 0.2, 0.8}, {0.1, -0.7, 0}};

Softmax small(std::size_t rows = 300, const std::string& formula = "y ~ x1 + x2",
              DesignOptions options = {}) {
  Table table = class_table(rows, betas, 3);
  table.columns.push_back({"w", std::vector<double>(rows)});
  for (std::size_t i = 0; i < rows; ++i) table.columns.back().numbers()[i] = static_cast<double>(1 + i % 4);
  return softmax_of(design_of(std::move(table), formula, options), Prior::normal(0, 2));
}

Eigen::VectorXd some_point(std::size_t dim, double scale = 0.6) {
  Eigen::VectorXd theta(static_cast<Eigen::Index>(dim));
  for (Eigen::Index j = 0; j < theta.size(); ++j)
    theta[j] = scale * std::sin(1.7 * static_cast<double>(j) + 1);
  return theta;
}

// A row's term by its definition.
long double term(const Softmax& model, const Eigen::VectorXd& theta, std::size_t row) {
  std::vector<double> x(model.width());
  model.design().working_row(row, x);
  std::vector<long double> eta(model.others() + 1, 0);
  long double largest = 0;
  for (std::size_t k = 1; k < eta.size(); ++k) {
    for (std::size_t j = 0; j < x.size(); ++j)
      eta[k] += static_cast<long double>(x[j]) *
                static_cast<long double>(theta[static_cast<Eigen::Index>((k - 1) * x.size() + j)]);
    largest = std::max(largest, eta[k]);
  }
  long double sum = 0;
  for (const long double e : eta) sum += std::exp(e - largest);
  return static_cast<long double>(model.design().weight(row)) *
         (eta[static_cast<std::size_t>(model.design().y(row))] - largest - std::log(sum));
}

TEST(Softmax, TermsAreThoseOfTheDefinition) {
  for (const bool weights : {false, true})
    for (const double scale : {0.6, 40.0, 900.0}) {  // predictors of a thousand overflow no exponential
      const Softmax model =
          small(300, "y ~ x1 + x2", weights ? DesignOptions{.row_weights = "w"} : DesignOptions{});
      const Eigen::VectorXd theta = some_point(model.dim(), scale);
      std::vector<double> terms(model.rows());
      model.log_likelihoods(params(theta), Rows::range(0, model.rows()), terms);
      long double sum = 0;
      for (std::size_t i = 0; i < model.rows(); ++i) {
        const long double expected = term(model, theta, i);
        EXPECT_NEAR(terms[i], static_cast<double>(expected), 1e-13 * (1 + std::abs(terms[i]))) << i;
        sum += expected;
      }
      EXPECT_NEAR(model.log_likelihood(params(theta), Rows::range(0, model.rows())), static_cast<double>(sum),
                  1e-12 * std::abs(static_cast<double>(sum)));
      const std::vector<RowId> ids{5, 5, 299, 0};
      model.log_likelihoods(params(theta), Rows(ids), std::span(terms).first(4));
      for (std::size_t k = 0; k < 4; ++k)
        EXPECT_NEAR(terms[k], static_cast<double>(term(model, theta, ids[k])),
                    1e-13 * (1 + std::abs(terms[k])));
    }
}

TEST(Softmax, DerivativesAgreeWithDifferences) {
  for (const char* const formula : {"y ~ x1 + x2", "y ~ x1 + factor(w)"})
    for (const bool weights : {false, true}) {
      const Softmax model =
          small(300, formula, weights ? DesignOptions{.row_weights = "w"} : DesignOptions{});
      const Rows all = Rows::range(0, model.rows());
      Eigen::VectorXd theta = some_point(model.dim());
      Derivatives d(model.dim());
      model.add_derivatives(params(theta), all, d);
      EXPECT_NEAR(d.value, model.log_likelihood(params(theta), all), 1e-10 * std::abs(d.value));
      Eigen::MatrixXd gradients;
      model.gradients(params(theta), all, gradients);
      EXPECT_LT((gradients.colwise().sum().transpose() - d.gradient).cwiseAbs().maxCoeff(), 1e-10);
      EXPECT_LT((d.information - d.information.transpose()).cwiseAbs().maxCoeff(), 1e-10);
      constexpr double h = 1e-5;
      for (Eigen::Index j = 0; j < theta.size(); ++j) {
        Derivatives up(model.dim()), down(model.dim());
        const double at = theta[j];
        theta[j] = at + h;
        model.add_derivatives(params(theta), all, up);
        theta[j] = at - h;
        model.add_derivatives(params(theta), all, down);
        theta[j] = at;
        EXPECT_NEAR((up.value - down.value) / (2 * h), d.gradient[j], 1e-5) << j;
        const Eigen::VectorXd row = (down.gradient - up.gradient) / (2 * h);
        EXPECT_LT((row - d.information.col(j)).cwiseAbs().maxCoeff(), 1e-5) << j;
      }
    }
}

TEST(Softmax, RemaindersAreWhatTheExpansionsLeave) {
  const Softmax model = small(300, "y ~ x1 + x2", {.row_weights = "w"});
  const Eigen::VectorXd centre = some_point(model.dim());
  Eigen::VectorXd from = centre, to = centre;
  from[0] += 0.1;
  to[3] -= 0.2;
  std::vector<RowId> ids(model.rows());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<RowId>(i);
  std::vector<double> remainders(ids.size());
  model.log_likelihood_remainders(params(centre), params(from), params(to), ids, remainders);
  for (const RowId i : {RowId{0}, RowId{17}, RowId{299}}) {
    Derivatives d(model.dim());
    model.add_derivatives(params(centre), Rows::range(i, 1), d);
    const auto expansion = [&](const Eigen::VectorXd& theta) {
      const Eigen::VectorXd t = theta - centre;
      return d.gradient.dot(t) - 0.5 * t.dot(d.information * t);
    };
    const double expected =
        static_cast<double>(term(model, to, i) - term(model, from, i)) - expansion(to) + expansion(from);
    EXPECT_NEAR(remainders[i], expected, 1e-13);
  }
}

TEST(Softmax, OfTwoClassesIsLogisticRegression) {
  const Table table = testing::regression_table(400, 0.3, {0.9, -0.4}, 8, testing::draw_logistic);
  const Softmax softmax = softmax_of(design_of(table, "y ~ x1 + x2"), Prior::normal(0, 1.5));
  const Glm logistic(design_of(table, "y ~ x1 + x2"), make_family("logistic"),
                     GlmPriors{.coefficients = std::vector<Prior>(3, Prior::normal(0, 1.5))});
  EXPECT_EQ(softmax.names(), (std::vector<std::string>{"1:(Intercept)", "1:x1", "1:x2"}));
  ThreadPool pool(2);
  const Mode a = find_mode(softmax, pool), b = find_mode(logistic, pool);
  EXPECT_LT((a.theta - b.theta).cwiseAbs().maxCoeff(), 1e-7);
  EXPECT_LT((a.information - b.information).cwiseAbs().maxCoeff(), 1e-5);
  EXPECT_NEAR(a.value, b.value, 1e-7);
}

// nnet leaves errors of about 1e-6.
TEST(Softmax, TheModeWithFlatPriorsIsThatOfNnet) {
  for (const std::string name : {"softmax_text", "softmax_numbers", "softmax_weights"}) {
    SCOPED_TRACE(name);
    const std::vector<std::string> lines = testing::r_lines("fits/" + name + ".txt");
    const std::vector<std::string> family = testing::split(lines.at(3));
    const auto reader = open_reader({testing::r_path(lines.at(2))});
    const Formula formula = parse_formula(lines.at(1), reader->header());
    std::vector<std::string> columns = formula.columns();
    const std::string weights = family.size() > 1 ? family[1] : "";
    if (!weights.empty()) columns.push_back(weights);
    const Softmax model =
        softmax_of(build_design(formula, reader->read(columns), {.row_weights = weights}), Prior::flat());
    ThreadPool pool(2);
    const Mode mode = find_mode(model, pool, {.tolerance = 1e-6});
    std::vector<double> user(model.dim());
    model.to_user(params(mode.theta), user);
    ASSERT_EQ(lines.size(), 4 + model.dim());
    for (std::size_t j = 0; j < model.dim(); ++j) {
      const std::vector<std::string> fields = testing::split(lines[4 + j]);
      EXPECT_EQ(model.names()[j], fields.at(0));
      const double expected = testing::r_number(fields.at(1));
      EXPECT_NEAR(user[j], expected, 5e-6 * (1 + std::abs(expected))) << fields[0];
    }
  }
}

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Softmax, BaseAndPriorsAreTheUsers) {
  const Table table = class_table(200, betas, 3);
  const FamilySpec& spec = *find_family("multinomial");
  EXPECT_EQ(&spec, find_family("softmax"));
  EXPECT_EQ(&spec, find_family("categorical"));
  Design design = design_of(table, "y ~ x1");
  design.response_base = "3";
  std::vector<std::string> notes;
  const auto model = make_model(spec, design, {},
                                {.prior = "normal(0, 1)",
                                 .prior_intercept = "cauchy(0, 2)",
                                 .prior_for = {{"2:x1", "student_t(4, 0, 1)"}}},
                                notes);
  EXPECT_EQ(model->names(), (std::vector<std::string>{"1:(Intercept)", "1:x1", "2:(Intercept)", "2:x1",
                                                      "4:(Intercept)", "4:x1"}));
  EXPECT_EQ(model->softmax()->classes(), (std::vector<std::string>{"3", "1", "2", "4"}));
  EXPECT_EQ(notes, (std::vector<std::string>{
                       "4 classes of y, base \"3\"",
                       "priors: 1:(Intercept) ~ cauchy(0, 2); 1:x1 ~ normal(0, 1); 2:(Intercept) ~ "
                       "cauchy(0, 2); 2:x1 ~ student_t(4, 0, 1); 4:(Intercept) ~ cauchy(0, 2); 4:x1 ~ "
                       "normal(0, 1)"}));
  design.response_base = "9";
  EXPECT_EQ(refusal([&] { static_cast<void>(classes_of(design)); }),
            "`base 9`: the response y has no such class; there are 1, 2, 3, 4");
}

TEST(Softmax, RefusesWhatIsNotClasses) {
  Table table = class_table(300, betas, 3);
  const auto words = [&](const char* formula) {
    return refusal([&] { static_cast<void>(classes_of(design_of(table, formula))); });
  };
  EXPECT_EQ(words("y ~ x1"), "no error");
  EXPECT_NE(words("x1 ~ x2").find("the classes of a softmax model are text or whole numbers (got "),
            std::string::npos);
  EXPECT_EQ(words("I(y > 9) ~ x2"),
            "the response I(y > 9) has one class, \"0\": there is nothing to tell apart");
  EXPECT_NE(words("I(floor(1000 * x1)) ~ x2").find("more than 100 classes"), std::string::npos);
  EXPECT_NE(words("y ~ x1 + offset(x2)").find("offset() has no meaning"), std::string::npos);
}

TEST(Softmax, SeparationIsNamed) {
  Table table = class_table(100, {{0, 0}, {0, 0}}, 4);
  for (std::size_t i = 0; i < table.rows; ++i)
    table.columns[0].numbers()[i] = table.columns[1].numbers()[i] > 0.5 ? 3 : 1 + static_cast<double>(i % 2);
  const Softmax model = softmax_of(design_of(std::move(table), "y ~ x1"), Prior::flat());
  ThreadPool pool(1);
  EXPECT_NE(refusal([&] { static_cast<void>(find_mode(model, pool)); }).find("separation: \"3:x1\""),
            std::string::npos);
}

}  // namespace
}  // namespace mlo
