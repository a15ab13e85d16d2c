// Copyright (c) the mlo authors. BSD-3-Clause.
// Rows that a fit does not see, and its scores on them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "mlo/chain/draws.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/new_rows.hpp"
#include "mlo/data/table.hpp"
#include "mlo/diagnose/group_draws.hpp"
#include "mlo/diagnose/scores.hpp"
#include "mlo/method/options.hpp"

namespace mlo {

class HeldOutRows {
 public:
  // Looks at all rows, before sampling, so that what is wrong with them is known then. The formula must
  // outlive the object. Throws UsageError: cbind(); DataError: no complete row, a response that the family
  // does not allow.
  HeldOutRows(const FitOptions& options, const Formula& formula, const Recipe& recipe, Table table);
  HeldOutRows(const HeldOutRows&) = delete;
  HeldOutRows& operator=(const HeldOutRows&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return y_.size(); }
  // With group effects, their draws must have been kept. Those of levels that the fit has not seen are drawn
  // from the law of all levels.
  [[nodiscard]] Scores score(const FitOptions& options, std::span<const ChainDraws> chains) const;
  // Rows with such a level.
  [[nodiscard]] std::size_t new_groups() const noexcept;

 private:
  void code_classes(const Formula& formula, const Recipe& recipe);

  Table table_;
  NewRows rows_;  // refers to table_
  std::vector<GroupLaw> laws_;
  std::vector<RowGroups> groups_;  // empty if there are no group effects
  std::vector<double> y_;
  std::vector<char> complete_;
  std::vector<std::string> classes_;  // only of a family of classes
};

}  // namespace mlo
