// Copyright (c) the mlo authors. BSD-3-Clause.
// The benchmarks' data: Covertype-sized logistic regression, the same in every program.
#pragma once

#include "mlo/model/glm.hpp"

namespace mlo::bench {

// Intercept and p - 1 columns with AR(1) correlation 0.5; coefficients like those of Covertype. Built as a
// design directly: the cost of making it is not what is measured.
Glm<Logistic> logistic(std::size_t rows, std::size_t dim);

inline constexpr std::size_t covertype_rows = 581'012;
inline constexpr std::size_t covertype_dim = 11;

}  // namespace mlo::bench
