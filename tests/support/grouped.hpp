// Copyright (c) the mlo authors. BSD-3-Clause.
// Models with group effects, in plain loops: data made in memory, and the log posterior's parts by formulas
// of their own. Nothing here is shared with the library but the random numbers and the design's container.
#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/data/design.hpp"
#include "mlo/model/family.hpp"
#include "mlo/model/grouped.hpp"

namespace mlo::testing {

// One group term. Effect a of row i is multiplied by z(i, a).
struct PlainGroup {
  std::size_t levels = 1;
  bool intercept = true, correlated = true;
  std::size_t slopes = 0;
  std::vector<std::uint32_t> codes{};
  std::vector<double> z{};  // rows x slopes
  [[nodiscard]] std::size_t dim() const { return slopes + (intercept ? 1U : 0U); }
  [[nodiscard]] double multiplier(std::size_t row, std::size_t a) const {
    if (intercept && a == 0) return 1;
    return z[row * slopes + a - (intercept ? 1 : 0)];
  }
};

// Columns are an intercept, x1, x2, ...; numbers are floats, as the library stores them.
struct GroupedData {
  std::string family = "logistic";
  double known = 0;  // the second parameter, if it is known
  std::size_t rows = 0, columns = 1;
  std::vector<double> x{}, y{}, offset{}, weight{};
  std::vector<PlainGroup> groups{};
};

// Coefficients ~ normal(0, scale), or student_t(freedom, 0, scale); sds ~ half student_t(3, 0, sd_scale);
// correlations ~ lkj(lkj); the second parameter ~ gamma(3, 2).
struct GroupedPriors {
  double scale = 1.5, freedom = 0, sd_scale = 1, lkj = 1.5;
};

// A point in coordinates of its own: correlation matrices instead of partial correlations.
struct PlainPoint {
  std::vector<double> a;
  double log_second = 0;
  std::vector<std::vector<double>> log_sd;  // by grouping
  std::vector<Eigen::MatrixXd> correlation;
  std::vector<std::vector<double>> b;  // level after level
};

inline bool estimates_second(const GroupedData& d) {
  return d.known == 0 && (d.family == "gaussian" || d.family == "student" ||
                          d.family == "negative-binomial" || d.family == "gamma");
}

// log p(y | eta), up to what depends on y alone.
inline double row_term(const std::string& family, double y, double eta, double log_second) {
  switch (family[0]) {
    case 'l':
      return (y > 0.5 ? eta : 0) - (eta > 0 ? eta + std::log1p(std::exp(-eta)) : std::log1p(std::exp(eta)));
    case 'p':
      if (family == "poisson") return y * eta - std::exp(eta);
      return std::log(0.5 * std::erfc(-(y > 0.5 ? eta : -eta) / std::sqrt(2.0)));
    case 's': {
      const double r = (y - eta) * std::exp(-log_second);
      return -log_second - 2.5 * std::log1p(r * r / 4);  // 4 degrees of freedom
    }
    case 'n': {
      const double size = std::exp(log_second);
      return std::lgamma(y + size) - std::lgamma(size) + size * log_second + y * eta -
             (y + size) * std::log(size + std::exp(eta));
    }
    default:
      break;
  }
  if (family == "gaussian") {
    const double r = (y - eta) * std::exp(-log_second);
    return -log_second - 0.5 * r * r;
  }
  const double shape = std::exp(log_second);  // gamma
  return shape * log_second - std::lgamma(shape) + shape * std::log(y) - shape * eta -
         shape * y * std::exp(-eta);
}

inline double prior_of_coefficient(const GroupedPriors& p, double a) {
  const double r = a / p.scale;
  return p.freedom > 0 ? -0.5 * (p.freedom + 1) * std::log1p(r * r / p.freedom) : -0.5 * r * r;
}
// Of the log of a standard deviation, so with the Jacobian.
inline double prior_of_log_sd(const GroupedPriors& p, double log_sd) {
  const double r = std::exp(log_sd) / p.sd_scale;
  return -2 * std::log1p(r * r / 3) + log_sd;
}
// Of the log of the second parameter.
inline double prior_of_log_second(double log_second) { return 3 * log_second - 2 * std::exp(log_second); }

// Draws y given eta.
inline double draw_response(const std::string& family, Stream& s, double eta, double second) {
  if (family == "logistic") return uniform(s) < 1 / (1 + std::exp(-eta)) ? 1 : 0;
  if (family == "probit") return normal(s) < eta ? 1 : 0;
  if (family == "poisson") return static_cast<double>(poisson(s, std::exp(eta)));
  if (family == "gaussian") return eta + second * normal(s);
  if (family == "student") return eta + second * normal(s) / std::sqrt(gamma(s, 2) / 2);
  if (family == "gamma") return std::exp(eta) * gamma(s, second) / second;
  return static_cast<double>(poisson(s, std::exp(eta) * gamma(s, second) / second));
}

// What data are made from.
struct GroupedRecipe {
  std::string family = "logistic";
  std::size_t rows = 400;
  std::vector<double> a{-0.4, 0.5};
  double second = 0.8;
  bool known = false;                          // whether the second parameter is
  std::vector<PlainGroup> groups{};            // without codes and multipliers
  std::vector<std::vector<double>> sd{{0.8}};  // by grouping
  double correlation = 0;                      // of effects 0 and 1
  bool offset = false, weight = false;
  std::uint64_t seed = 1;
  // Rows in the first levels of the first grouping; the others share the rest evenly.
  std::vector<std::size_t> sizes{};
};

inline double as_float(double x) { return static_cast<double>(static_cast<float>(x)); }

// Multipliers of slopes are the columns x1, x2, ...; the first level of every grouping has rows.
inline GroupedData make_grouped(const GroupedRecipe& recipe) {
  Stream s({.seed = recipe.seed, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
  GroupedData d;
  d.family = recipe.family;
  d.known = recipe.known ? recipe.second : 0;
  d.rows = recipe.rows;
  d.columns = recipe.a.size();
  d.groups = recipe.groups;
  std::vector<std::vector<double>> b;
  for (std::size_t k = 0; k < d.groups.size(); ++k) {
    const std::size_t dim = d.groups[k].dim();
    b.emplace_back();
    for (std::size_t l = 0; l < d.groups[k].levels; ++l) {
      const double first = normal(s);
      for (std::size_t a = 0; a < dim; ++a) {
        const double r = a == 1 ? recipe.correlation : 0, own = a == 0 ? first : normal(s);
        b[k].push_back(recipe.sd[k][a] * (r * first + std::sqrt(1 - r * r) * own));
      }
    }
  }
  std::size_t level = 0, left = recipe.sizes.empty() ? 0 : recipe.sizes[0];
  for (std::size_t i = 0; i < d.rows; ++i) {
    double eta = 0;
    for (std::size_t j = 0; j < d.columns; ++j) {
      d.x.push_back(j == 0 ? 1 : as_float(normal(s)));
      eta += recipe.a[j] * d.x.back();
    }
    for (std::size_t k = 0; k < d.groups.size(); ++k) {
      PlainGroup& g = d.groups[k];
      // Every level has a row.
      std::uint32_t code = static_cast<std::uint32_t>(i < g.levels ? i : bounded(s, g.levels));
      if (k == 0 && !recipe.sizes.empty()) {
        while (level < recipe.sizes.size() && left == 0)
          if (++level < recipe.sizes.size()) left = recipe.sizes[level];
        const std::size_t given = recipe.sizes.size();
        code = static_cast<std::uint32_t>(level < given ? level : given + i % (g.levels - given));
        if (level < given) --left;
      }
      g.codes.push_back(code);
      for (std::size_t j = 0; j < g.slopes; ++j) g.z.push_back(d.x[i * d.columns + 1 + j]);
      for (std::size_t a = 0; a < g.dim(); ++a) eta += g.multiplier(i, a) * b[k][code * g.dim() + a];
    }
    if (recipe.offset) {
      d.offset.push_back(0.4 * normal(s));
      eta += d.offset.back();
    }
    if (recipe.weight) d.weight.push_back(static_cast<double>(1 + i % 3));
    d.y.push_back(draw_response(d.family, s, eta, recipe.second));
  }
  return d;
}

// The library's design of the data: working columns are the user's.
inline Design design_of(const GroupedData& data) {
  Design d;
  d.rows = data.rows;
  d.dim = data.columns;
  d.intercept = true;
  d.response = "y";
  d.has_offset = !data.offset.empty();
  d.has_weight = !data.weight.empty();
  d.stride = d.dim + 1 + (d.has_offset ? 1U : 0U) + (d.has_weight ? 1U : 0U);
  d.x.resize(d.rows * d.stride + Design::row_padding);
  for (std::size_t j = 0; j < d.dim; ++j) {
    d.names.push_back(j == 0 ? "(Intercept)" : "x" + std::to_string(j));
    d.dense.push_back(j);
    d.sd.push_back(j == 0 ? 0 : 1);
  }
  d.centre.assign(d.dim, 0);
  d.shift.assign(d.dim, 0);
  d.scale.assign(d.dim, 1);
  d.divisor.assign(d.dim, 1);
  d.typical.assign(d.dim, 1);
  d.level_rows.assign(d.dim, 0);
  d.recipe.origin.assign(d.dim, 0);
  d.recipe.unit.assign(d.dim, 1);
  for (std::size_t i = 0; i < d.rows; ++i) {
    double* at = d.x.data() + i * d.stride;
    for (std::size_t j = 0; j < d.dim; ++j) *at++ = data.x[i * d.dim + j];
    *at++ = data.y[i];
    if (d.has_offset) *at++ = data.offset[i];
    if (d.has_weight) *at = data.weight[i];
  }
  for (std::size_t k = 0; k < data.groups.size(); ++k) {
    const PlainGroup& from = data.groups[k];
    GroupDesign to;
    to.name = "g" + std::to_string(k);
    for (std::size_t l = 0; l < from.levels; ++l) to.levels.push_back(std::to_string(l));
    to.codes.assign(from.codes.begin(), from.codes.end());
    to.intercept = from.intercept;
    to.correlated = from.correlated;
    if (from.intercept) to.effects.emplace_back("Intercept");
    for (std::size_t j = 0; j < from.slopes; ++j) to.effects.push_back("x" + std::to_string(j + 1));
    for (const double z : from.z) to.z.push_back(static_cast<float>(z));
    d.groups.push_back(std::move(to));
  }
  return d;
}

inline std::unique_ptr<GroupedModel> model_of(const GroupedData& data, const GroupedPriors& priors) {
  FamilyNumbers numbers;
  const std::string name(find_family(data.family)->second ? find_family(data.family)->second->known_by : "");
  if (data.known > 0) numbers[name] = data.known;
  const auto family = make_family(data.family, numbers);
  const std::string scale = std::to_string(priors.scale);
  const std::string prior = priors.freedom > 0
                                ? "student_t(" + std::to_string(priors.freedom) + ", 0, " + scale + ")"
                                : "normal(0, " + scale + ")";
  GroupPriorOptions options;
  if (data.columns > 1) options.coefficients.prior = prior;
  options.coefficients.prior_intercept = prior;
  if (family->estimates_second())
    options.coefficients.prior_for.emplace_back(std::string(family->spec().second->name), "gamma(3, 2)");
  options.prior_sd = "student_t(3, 0, " + std::to_string(priors.sd_scale) + ")";
  for (const PlainGroup& group : data.groups)
    if (group.correlated && group.dim() > 1) options.prior_cor = "lkj(" + std::to_string(priors.lkj) + ")";
  return std::make_unique<GroupedModel>(design_of(data), family, options);
}

}  // namespace mlo::testing
