// Copyright (c) the mlo authors. BSD-3-Clause.
// Data with known parameters, to try methods on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mlo/data/table.hpp"

namespace mlo {

// A column of groups, with effects that are drawn once from a normal law.
struct SimulatedGroup {
  std::string name;
  std::int64_t levels = 0;
  double sd = 0;                                         // of the effects on the intercept
  std::vector<std::pair<std::string, double>> slopes{};  // sds of the effects on the coefficients of columns
  double correlation = 0;                                // of any two of these effects
};
// "g:1000:0.5" or "g:1000:0.5:x1=0.3,x2=0.1,cor=0.4": name, levels, sd, sds of slopes, correlation. Throws
// UsageError.
[[nodiscard]] SimulatedGroup simulated_group(std::string_view text);

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
  std::vector<SimulatedGroup> groups{};
};

// Columns y, x1, ..., xp and those of the groups. A row's groups are drawn uniformly; they are whole numbers
// from 1 on, which take less room in a file than words, and a grouping takes them as they are. Row i depends
// on the seed and i alone, the effects of a group on the seed, the group's place and its number. Throws
// UsageError.
[[nodiscard]] Table simulate(const SimulateOptions& options);

// The same as CSV, in pieces of some thousand rows, without keeping the table in memory.
void simulate_csv(const SimulateOptions& options, const std::function<void(std::string_view)>& write);

// One line per group: the sds that were asked for, and those of the effects that were drawn.
[[nodiscard]] std::vector<std::string> group_lines(const SimulateOptions& options);

}  // namespace mlo
