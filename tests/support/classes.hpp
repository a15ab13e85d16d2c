// Copyright (c) the mlo authors. BSD-3-Clause.
// Small softmax regressions with known coefficients.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/data/table.hpp"
#include "mlo/model/softmax.hpp"
#include "support/designs.hpp"

namespace mlo::testing {

// Columns x1..xp standard normal; y is a class 1 .. K whose predictor is that row of `beta`: an intercept,
// then a slope per column. The first class has none.
inline Table class_table(std::size_t rows, const std::vector<std::vector<double>>& beta, std::uint64_t seed) {
  const std::size_t p = beta[0].size() - 1;
  Table table;
  table.source.name = "test";
  table.rows = rows;
  table.columns.push_back({"y", std::vector<double>(rows)});
  for (std::size_t j = 0; j < p; ++j)
    table.columns.push_back({"x" + std::to_string(j + 1), std::vector<double>(rows)});
  std::vector<double> x(p), weight(beta.size() + 1);
  for (std::size_t i = 0; i < rows; ++i) {
    Stream stream({.seed = seed, .chain = 0, .purpose = Purpose::simulate, .iteration = i});
    for (std::size_t j = 0; j < p; ++j) table.columns[j + 1].numbers()[i] = x[j] = normal(stream);
    double total = weight[0] = 1;
    for (std::size_t k = 0; k < beta.size(); ++k) {
      double eta = beta[k][0];
      for (std::size_t j = 0; j < p; ++j) eta += beta[k][j + 1] * x[j];
      total += weight[k + 1] = std::exp(eta);
    }
    double u = uniform(stream) * total;
    std::size_t y = 0;
    while (y + 1 < weight.size() && u >= weight[y]) u -= weight[y++];
    table.columns[0].numbers()[i] = static_cast<double>(y + 1);
  }
  return table;
}

// All coefficients have that prior.
inline Softmax softmax_of(Design design, const Prior& prior) {
  ResponseClasses classes = classes_of(design);
  Layout layout = Softmax::layout_of(design, classes.names);
  std::vector<Block> blocks = layout.blocks();
  for (Block& block : blocks) {
    block.intercept_at_means = false;
    for (Prior& p : block.priors) p = prior;
  }
  return {std::move(design), std::move(classes), Layout(std::move(blocks))};
}

}  // namespace mlo::testing
