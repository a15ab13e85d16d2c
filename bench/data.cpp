// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data.hpp"

#include <array>
#include <cmath>

#include "mlo/base/random.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/table.hpp"

namespace mlo::bench {

Glm<Logistic> logistic(std::size_t rows, std::size_t dim) {
  constexpr std::array<double, 11> beta{-0.4, -0.5, -0.07, 0.1, 0.26, -0.05, 0.13, 0.57, 0.02, 0.55, 0.29};
  Table table;
  table.file = "bench";
  table.rows = rows;
  for (std::size_t j = 0; j < dim; ++j)
    table.columns.push_back({j == 0 ? "y" : "x" + std::to_string(j), std::vector<double>(rows)});
  std::vector<std::string> header;
  for (const Column& column : table.columns) header.push_back(column.name);
  for (std::size_t i = 0; i < rows; ++i) {
    Stream stream({.seed = 7, .chain = 0, .purpose = Purpose::simulate, .iteration = i});
    double eta = beta[0], last = 0;
    for (std::size_t j = 1; j < dim; ++j) {
      const double z = normal(stream);
      last = j == 1 ? z : 0.5 * last + std::sqrt(0.75) * z;
      table.columns[j].values[i] = last;
      eta += beta[j % beta.size()] * last;
    }
    table.columns[0].values[i] = uniform(stream) < 1 / (1 + std::exp(-eta)) ? 1 : 0;
  }
  Design design = build_design(parse_formula("y ~ .", header), std::move(table), {});
  GlmPriors priors;
  priors.coefficients.assign(design.dim, Prior::normal(0, 2.5));
  return {std::move(design), {}, std::move(priors)};
}

}  // namespace mlo::bench
