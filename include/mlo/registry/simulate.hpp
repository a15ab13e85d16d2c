// Copyright (c) the mlo authors. BSD-3-Clause.
// Data with known parameters, to try things on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "mlo/data/table.hpp"

namespace mlo {

struct SimulateOptions {
  std::string family = "logistic";
  std::int64_t rows = 100'000;
  std::vector<double> coefficients{1,
                                   0.5};  // of x1, x2, ...; for gaussian-mean mu, for gaussian-precision tau
  double intercept = 0;
  double correlation = 0;  // of neighbouring columns: AR(1)
  double sigma = 1;        // of gaussian and student families
  double freedom = 4;      // of student
  double size = 1;         // of negative-binomial
  std::uint64_t seed = 1;
};

// Columns y, x1, ..., xp. Row i depends on the seed and i alone. Throws UsageError.
[[nodiscard]] Table simulate(const SimulateOptions& options);

// As CSV, in pieces of some thousand rows, without holding the table.
void simulate_csv(const SimulateOptions& options, const std::function<void(std::string_view)>& write);

}  // namespace mlo
