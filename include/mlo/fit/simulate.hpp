// Copyright (c) the mlo authors. BSD-3-Clause.
// Data with known parameters, to try methods on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mlo/data/table.hpp"

namespace mlo {

struct SimulateOptions {
  std::string family = "logistic";
  std::int64_t rows = 100'000;
  // Of x1, x2, ...; mu for gaussian-mean, tau for gaussian-precision.
  std::vector<double> coefficients{1, 0.5};
  double intercept = 0;
  double correlation = 0;  // of neighbouring columns: AR(1)
  std::map<std::string, double, std::less<>>
      numbers{};  // of the family, by name: "sigma", "freedom", "size", ...
  std::uint64_t seed = 1;
};

// Columns y, x1, ..., xp. Row i depends on the seed and i alone. Throws UsageError.
[[nodiscard]] Table simulate(const SimulateOptions& options);

// The same as CSV, in pieces of some thousand rows, without keeping the table in memory.
void simulate_csv(const SimulateOptions& options, const std::function<void(std::string_view)>& write);

}  // namespace mlo
