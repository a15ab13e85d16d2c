// Copyright (c) the mlo authors. BSD-3-Clause.
// Small data sets from known distributions, made in memory.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/data/design.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/outcome.hpp"
#include "mlo/data/table.hpp"

namespace mlo::testing {

inline Design design_of(Table table, const std::string& formula, DesignOptions options = {}) {
  std::vector<std::string> header;
  for (const Column& column : table.columns) header.push_back(column.name);
  return build_design(parse_formula(formula, header), std::move(table), options);
}

// Columns x1..xp standard normal, y = draw(stream, eta) with eta = intercept + sum beta_j x_j.
inline Table regression_table(std::size_t rows, double intercept, const std::vector<double>& beta,
                              std::uint64_t seed, const std::function<double(Stream&, double)>& draw) {
  Table table;
  table.source.name = "test";
  table.rows = rows;
  table.columns.push_back({"y", std::vector<double>(rows)});
  for (std::size_t j = 0; j < beta.size(); ++j)
    table.columns.push_back({"x" + std::to_string(j + 1), std::vector<double>(rows)});
  for (std::size_t i = 0; i < rows; ++i) {
    Stream stream({.seed = seed, .chain = 0, .purpose = Purpose::simulate, .iteration = i});
    double eta = intercept;
    for (std::size_t j = 0; j < beta.size(); ++j) {
      const double x = normal(stream);
      table.columns[j + 1].numbers()[i] = x;
      eta += beta[j] * x;
    }
    table.columns[0].numbers()[i] = draw(stream, eta);
  }
  return table;
}

inline double draw_logistic(Stream& stream, double eta) {
  return uniform(stream) < 1 / (1 + std::exp(-eta)) ? 1 : 0;
}
inline double draw_probit(Stream& stream, double eta) { return normal(stream) < eta ? 1 : 0; }
inline double draw_poisson(Stream& stream, double eta) {
  return static_cast<double>(poisson(stream, std::exp(eta)));
}
inline double draw_gaussian(Stream& stream, double eta) { return eta + 1.5 * normal(stream); }
// Student's t with a whole number of degrees of freedom.
inline double draw_t(Stream& stream, int freedom) {
  const double z = normal(stream);
  double squares = 0;
  for (int k = 0; k < freedom; ++k) squares += std::pow(normal(stream), 2);
  return z / std::sqrt(squares / freedom);
}
inline double draw_student(Stream& stream, double eta) { return eta + 1.5 * draw_t(stream, 4); }
// Size 2: a Poisson count whose rate has a gamma law with mean e^eta.
inline double draw_negative_binomial(Stream& stream, double eta) {
  const double gamma = exponential(stream) + exponential(stream);
  return static_cast<double>(poisson(stream, std::exp(eta) * gamma / 2));
}
// A third are additional zeros.
inline double draw_zero_inflated(Stream& stream, double eta) {
  const double zero = uniform(stream), y = draw_poisson(stream, eta);
  return zero < 1.0 / 3 ? 0 : y;
}
// Outcomes of 1 to 12 trials: a beta variate is a gamma variate over the sum of two.
inline double draw_outcome(Stream& stream, double eta, double phi) {
  const double trials = 1 + std::floor(12 * uniform(stream)), p = 1 / (1 + std::exp(-eta));
  const double a = gamma(stream, phi * p), b = gamma(stream, phi * (1 - p));
  double successes = 0;
  for (double k = 0; k < trials; ++k) successes += uniform(stream) * (a + b) < a ? 1 : 0;
  return Outcome{successes, trials}.packed();
}
inline double draw_outcome_3(Stream& stream, double eta) { return draw_outcome(stream, eta, 3); }
// Shape 2, mean e^eta.
inline double draw_gamma(Stream& stream, double eta) {
  return std::exp(eta) * (exponential(stream) + exponential(stream)) / 2;
}

}  // namespace mlo::testing
