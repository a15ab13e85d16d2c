// Copyright (c) the mlo authors. BSD-3-Clause.
// The benchmarks' data: regressions, the same in every program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mlo/model/glm.hpp"

namespace mlo::bench {

struct Recipe {
  std::size_t rows = 0;
  std::vector<double> columns;            // their coefficients
  std::optional<double> intercept = 0.0;  // nullopt: no intercept
  double correlation = 0;                 // of neighbouring columns: AR(1)
  double prior_sd = 2.5;
};

// Standard normal columns. Built directly as a design: the cost of making it is not measured.
Glm logistic(const Recipe& recipe);
// Of any family, with the numbers that `mlo simulate` takes if none are given. A second parameter is
// estimated.
Glm of_family(const std::string& family, const Recipe& recipe);

// D2: Covertype-sized, intercept and ten correlated columns, coefficients like those of Covertype.
Recipe d2(std::size_t rows = 581'012);
inline constexpr std::size_t covertype_rows = 581'012;
inline constexpr std::size_t covertype_dim = 11;

// Covertype itself: type 2 against the ten numeric columns, divided by their sds.
Glm covertype(const std::string& file);
// flights3m.csv: 3,000,000 flights, late or not, against three columns.
Glm flights(const std::string& file);

}  // namespace mlo::bench
