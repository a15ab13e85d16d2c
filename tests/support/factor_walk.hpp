// Copyright (c) the mlo authors. BSD-3-Clause.
// Regressions on factors, in plain loops: data made in memory, and a random walk on the log posterior of all
// rows in the user's parameters. Of the library it has the random numbers, and the shape of the walk's steps.
#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mlo/model/glm.hpp"
#include "mlo/model/mode.hpp"
#include "support/designs.hpp"
#include "support/grouped.hpp"

namespace mlo::testing {

// y ~ x + factor(f) (+ factor(g)); the bases are the levels 0. Parameters: (Intercept), x, f1, f2, ..., g1,
// ...
struct FactorRecipe {
  std::string family = "logistic";
  double known = 0;  // the second parameter
  std::size_t rows = 1000;
  std::vector<std::size_t> levels{20};
  std::vector<std::size_t>
      sizes{};                  // rows of the first levels of the first factor; the others share the rest
  std::size_t one_outcome = 0;  // this level of it has y = 1 alone, if it is not the base
  bool offset = false, weight = false;
  double freedom = 0;  // of student_t priors; 0: normal
  double scale = 1.5;  // of the coefficients' priors
  bool at_means = true;
  double intercept = -0.4, slope = 0.6, sd = 0.7;
  std::uint64_t seed = 5;
};
struct FactorData {
  FactorRecipe recipe;
  std::vector<double> x{}, y{}, offset{}, weight{};
  std::vector<std::vector<std::uint32_t>> codes{};
};

constexpr double intercept_scale = 3;  // of the intercept's normal prior

inline FactorData make_factors(const FactorRecipe& recipe) {
  Stream s({.seed = recipe.seed, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
  FactorData d{.recipe = recipe};
  std::vector<std::vector<double>> b;
  for (const std::size_t levels : recipe.levels) {
    b.emplace_back();
    for (std::size_t l = 0; l < levels; ++l) b.back().push_back(l == 0 ? 0 : recipe.sd * normal(s));
    d.codes.emplace_back();
  }
  std::vector<std::uint32_t> first;
  for (std::size_t l = 0; l < recipe.sizes.size(); ++l)
    first.insert(first.end(), recipe.sizes[l], static_cast<std::uint32_t>(l));
  for (std::size_t i = 0; i < recipe.rows; ++i) {
    d.x.push_back(as_float(normal(s)));
    double eta = recipe.intercept + recipe.slope * d.x[i];
    for (std::size_t k = 0; k < recipe.levels.size(); ++k) {
      const std::size_t levels = recipe.levels[k], given = k == 0 ? recipe.sizes.size() : 0;
      const std::size_t at = i - (k == 0 ? std::min(i, first.size()) : 0);
      auto code = static_cast<std::uint32_t>(
          at < levels - given ? given + at : given + bounded(s, levels - given));  // every level has a row
      if (k == 0 && i < first.size()) code = first[i];
      d.codes[k].push_back(code);
      eta += b[k][code];
    }
    if (recipe.offset) {
      d.offset.push_back(0.3 * normal(s));
      eta += d.offset.back();
    }
    if (recipe.weight) d.weight.push_back(static_cast<double>(1 + i % 3));
    const bool one = recipe.one_outcome > 0 && d.codes[0][i] == recipe.one_outcome;
    d.y.push_back(one ? 1 : draw_response(recipe.family, s, eta, recipe.known));
  }
  return d;
}

inline std::unique_ptr<Glm> glm_of(const FactorData& d) {
  const FactorRecipe& r = d.recipe;
  Table table;
  table.source.name = "test";
  table.rows = r.rows;
  const auto add = [&](const char* name, const auto& values) {
    Numbers numbers(r.rows);
    for (std::size_t i = 0; i < r.rows; ++i) numbers[i] = static_cast<double>(values[i]);
    table.columns.push_back({name, std::move(numbers)});
  };
  std::string formula = "y ~ x + factor(f)";
  add("y", d.y);
  add("x", d.x);
  add("f", d.codes[0]);
  if (d.codes.size() > 1) {
    add("g", d.codes[1]);
    formula += " + factor(g)";
  }
  if (r.offset) {
    add("o", d.offset);
    formula += " + offset(o)";
  }
  DesignOptions options;
  if (r.weight) {
    add("w", d.weight);
    options.row_weights = "w";
  }
  Design design = design_of(std::move(table), formula, options);
  const Prior own = r.freedom > 0 ? Prior::student_t(r.freedom, 0, r.scale) : Prior::normal(0, r.scale);
  GlmPriors priors;
  priors.coefficients.assign(design.dim, own);
  priors.coefficients[0] = Prior::normal(0.2, intercept_scale);
  priors.intercept_at_means = r.at_means;
  FamilyNumbers numbers;
  if (r.family == "negative-binomial") numbers["size"] = r.known;
  if (r.family == "gamma") numbers["shape"] = r.known;
  return std::make_unique<Glm>(std::move(design), make_family(r.family, numbers), std::move(priors));
}

// The log posterior at the user's parameters, and what changes as some of them move.
class FactorPosterior {
 public:
  FactorPosterior(const FactorData& data, const std::vector<double>& user)
      : d_(data), log_second_(data.recipe.known > 0 ? std::log(data.recipe.known) : 0), user_(user) {
    std::size_t first = 1;
    rows_of_.resize(user.size());
    for (std::size_t k = 0; k < d_.codes.size(); ++k) {
      for (std::size_t i = 0; i < d_.recipe.rows; ++i)
        if (d_.codes[k][i] > 0) rows_of_[first + d_.codes[k][i]].push_back(i);
      first += d_.recipe.levels[k] - 1;
    }
    set(user);
  }
  void set(const std::vector<double>& user) {
    user_ = user;
    eta_.resize(d_.recipe.rows);
    likelihood_ = mean_ = 0;
    for (std::size_t i = 0; i < eta_.size(); ++i) {
      double eta = user[0] + user[1] * d_.x[i];
      std::size_t first = 1;
      for (std::size_t k = 0; k < d_.codes.size(); ++k) {
        if (d_.codes[k][i] > 0) eta += user[first + d_.codes[k][i]];
        first += d_.recipe.levels[k] - 1;
      }
      mean_ += eta / static_cast<double>(eta_.size());
      eta_[i] = eta + (d_.recipe.offset ? d_.offset[i] : 0);
      likelihood_ += term(i, eta_[i]);
    }
  }

  [[nodiscard]] double value() const {
    double sum = likelihood_ + prior_of_intercept(0, 0);
    for (std::size_t j = 1; j < user_.size(); ++j) sum += prior(user_[j]);
    return sum;
  }
  [[nodiscard]] const std::vector<double>& user() const { return user_; }
  void swap(FactorPosterior& other) {
    user_.swap(other.user_);
    eta_.swap(other.eta_);
    std::swap(likelihood_, other.likelihood_);
    std::swap(mean_, other.mean_);
  }
  // The change as parameter j moves by delta; only the rows concerned are read.
  [[nodiscard]] double change(std::size_t j, double delta) const {
    double sum = prior_of_intercept(j, delta) - prior_of_intercept(j, 0);
    if (j > 0) sum += prior(user_[j] + delta) - prior(user_[j]);
    over(j, [&](std::size_t i, double x) { sum += term(i, eta_[i] + x * delta) - term(i, eta_[i]); });
    return sum;
  }
  void move(std::size_t j, double delta) {
    over(j, [&](std::size_t i, double x) {
      likelihood_ -= term(i, eta_[i]);
      eta_[i] += x * delta;
      likelihood_ += term(i, eta_[i]);
      mean_ += x * delta / static_cast<double>(eta_.size());
    });
    user_[j] += delta;
  }

 private:
  template <class F>
  void over(std::size_t j, const F& f) const {
    if (j > 1) {
      for (const std::size_t i : rows_of_[j]) f(i, 1.0);
      return;
    }
    for (std::size_t i = 0; i < eta_.size(); ++i) f(i, j == 0 ? 1.0 : d_.x[i]);
  }
  [[nodiscard]] double term(std::size_t i, double eta) const {
    return (d_.recipe.weight ? d_.weight[i] : 1) * row_term(d_.recipe.family, d_.y[i], eta, log_second_);
  }
  [[nodiscard]] double prior(double coefficient) const {
    const double z = coefficient / d_.recipe.scale, nu = d_.recipe.freedom;
    return nu > 0 ? -0.5 * (nu + 1) * std::log1p(z * z / nu) : -0.5 * z * z;
  }
  // Of the predictor at the columns' means, or of the intercept itself, once parameter j has moved.
  [[nodiscard]] double prior_of_intercept(std::size_t j, double delta) const {
    double at = user_[0] + (j == 0 ? delta : 0);
    if (d_.recipe.at_means) {
      at = mean_;
      over(j, [&](std::size_t /*i*/, double x) { at += x * delta / static_cast<double>(eta_.size()); });
    }
    const double z = (at - 0.2) / intercept_scale;
    return -0.5 * z * z;
  }

  const FactorData& d_;
  double log_second_;
  std::vector<double> user_, eta_;
  std::vector<std::vector<std::size_t>> rows_of_;
  double likelihood_ = 0, mean_ = 0;
};

// Sweeps of walks of single parameters, each with a walk of all of them that is shaped like the Laplace fit:
// the points after the sweeps, by parameter.
inline std::vector<std::vector<double>> factor_walk(const FactorData& d, const Glm& glm, std::size_t sweeps) {
  ThreadPool pool(1);
  const Mode mode = find_mode(glm, pool);
  const auto p = static_cast<Eigen::Index>(glm.dim());
  const Eigen::MatrixXd lower = Eigen::LLT<Eigen::MatrixXd>(mode.information).matrixL();
  const Eigen::MatrixXd shape =
      glm.user_jacobian(params(mode.theta)) *
      lower.transpose().triangularView<Eigen::Upper>().solve(Eigen::MatrixXd::Identity(p, p));
  std::vector<double> user(glm.dim()), scale(glm.dim());
  glm.to_user(params(mode.theta), user);
  for (std::size_t j = 0; j < scale.size(); ++j)
    scale[j] = 2 * shape.row(static_cast<Eigen::Index>(j)).norm();
  FactorPosterior here(d, user), there = here;
  std::vector<std::vector<double>> out(glm.dim());
  Stream s({.seed = 17, .chain = 0, .purpose = Purpose::proposal, .iteration = 0});
  Eigen::VectorXd noise(p);
  const std::size_t warmup = sweeps / 20;
  for (std::size_t k = 0; k < warmup + sweeps; ++k) {
    for (std::size_t j = 0; j < user.size(); ++j) {
      const double delta = scale[j] * normal(s);
      const bool yes = std::log(uniform(s)) < here.change(j, delta);
      if (yes) here.move(j, delta);
      // Towards an acceptance of 0.44.
      if (k < warmup) scale[j] *= std::exp(yes ? 0.056 : -0.044);
    }
    for (double& z : noise) z = normal(s);
    const Eigen::VectorXd moved = 2 / std::sqrt(static_cast<double>(p)) * (shape * noise);
    for (std::size_t j = 0; j < user.size(); ++j)
      user[j] = here.user()[j] + moved[static_cast<Eigen::Index>(j)];
    there.set(user);
    if (std::log(uniform(s)) < there.value() - here.value()) here.swap(there);
    for (std::size_t j = 0; j < user.size() && k >= warmup; ++j) out[j].push_back(here.user()[j]);
  }
  return out;
}

}  // namespace mlo::testing
