// Copyright (c) the mlo authors. BSD-3-Clause.
// What a fit knows beside its summary and its draws, and a report shows. Kept in run.json; runs of earlier
// versions have none of it, so every part may be empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mlo/base/json.hpp"
#include "mlo/chain/draws.hpp"
#include "mlo/diagnose/predictive_check.hpp"

namespace mlo {

struct PriorFact {
  std::string text{};  // as Prior::text() writes it
  // It is the prior of the predictor at the columns' means, not of the parameter itself.
  bool at_means = false;
  bool above_zero = false;  // only its part above 0 holds
  // Of a correlation, whose text says lkj: (1 + rho) / 2 ~ beta(shape, shape). 0: of another parameter.
  double correlation_shape = 0;

  [[nodiscard]] std::string words() const;
  // Empty where it is not known, or not proper, or not of the parameter itself.
  [[nodiscard]] std::vector<double> density(std::span<const double> x) const;
};

// A factor whose levels have coefficients.
struct FactorFact {
  std::string name{};
  std::string base{};                     // the level without a coefficient; "" if each has one
  std::vector<std::string> levels{};      // those with a coefficient
  std::vector<std::size_t> parameters{};  // and which parameter each has
};

// How many of the steps read how many rows. Bins grow: 0, 1, 2, 3 to 4, 5 to 8, ...
struct RowsReadFact {
  std::vector<std::uint64_t> most{};   // the largest number of a bin, ascending
  std::vector<std::uint64_t> steps{};  // of a sample of the steps after warm-up
};
[[nodiscard]] RowsReadFact rows_read_of(const std::vector<const ChainAccount*>& accounts);

// What the posterior says of one effect of one level of a grouping.
struct GroupEffect {
  std::string group, level, effect;
  double mean = 0, sd = 0, q5 = 0, q95 = 0, rhat = 0;
};

struct RunFacts {
  std::vector<PriorFact> priors{};  // one per parameter
  std::vector<double> mode{};       // one per parameter: the Laplace fit's mean
  std::vector<FactorFact> factors{};
  RowsReadFact rows_read{};
  std::optional<PredictiveCheck> check{};
  std::string no_check{};  // why there is none, where that is worth saying; options in backquotes
};

[[nodiscard]] Json facts_to_json(const RunFacts& facts);
// The inverse, for a run of `parameters` parameters. Throws JsonError.
[[nodiscard]] RunFacts facts_from_json(const Json& json, std::size_t parameters);

}  // namespace mlo
