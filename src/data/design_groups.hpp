// Copyright (c) the mlo authors. BSD-3-Clause.
// The groups of a group term as codes, and the columns of its effects: of the data of a fit, and of other
// data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/design_terms.hpp"
#include "data/key_ids.hpp"
#include "data/plain_rows.hpp"
#include "data/values.hpp"
#include "mlo/data/design.hpp"
#include "mlo/data/formula.hpp"

namespace mlo {

// At most this many effects of one term vary by group: a group's effects are drawn together.
inline constexpr std::size_t most_effects = 8;

// The effects of a group term, as the terms of a formula of their own.
[[nodiscard]] Formula effects_formula(const Formula& formula, const GroupTerm& group);
// The expressions of a grouping: factors, or numbers whose values are the levels. Throws UsageError: several
// columns.
[[nodiscard]] std::vector<Variable> grouping_variables(const Formula& formula, const GroupTerm& group,
                                                       Binder& binder);

// One group term, while the rows of a fit are read.
class GroupReader {
 public:
  GroupReader(const Formula& formula, const GroupTerm& group, Binder& binder, std::size_t rows);

  void evaluate(std::size_t first, std::size_t count);
  // What a row must have to be used.
  [[nodiscard]] std::span<const Variable> grouping() const noexcept { return grouping_; }
  [[nodiscard]] const VariableBlock& grouping_block() const noexcept { return grouping_block_; }
  [[nodiscard]] std::span<const Variable> effects() const noexcept { return plan_.variables; }
  [[nodiscard]] const VariableBlock& effects_block() const noexcept { return effects_block_; }
  // Takes the rows of the block that are used.
  void add(std::span<const std::size_t> kept);

  // After the last row: the codes in the order of the levels, and the effects. Throws ModelError: too many
  // effects.
  void finish(GroupDesign& design, GroupRecipe& recipe);
  // The multipliers of the rows that are used, in a second pass, because the columns of a factor are not
  // known before all rows have been read.
  void write_multipliers(const Table& table, const std::vector<bool>& kept, Scale scale, GroupDesign& design,
                         GroupRecipe& recipe);
  [[nodiscard]] std::vector<FactorLevels> factors() const { return list_factors(plan_); }

 private:
  void make_levels(GroupDesign& design, GroupRecipe& recipe);

  const GroupTerm& group_;
  std::vector<Variable> grouping_;
  Formula formula_;  // of the effects
  RecordPlan plan_;
  VariableBlock grouping_block_, effects_block_;
  std::vector<KeyIds> numbers_;  // by expression of the grouping: the values of a number
  std::vector<KeyIds> pairs_;    // of the codes so far and the code of the next expression
  HugeVector<std::uint32_t> codes_;
};

// The groups of other data.
class GroupCodes {
 public:
  GroupCodes(const GroupRecipe& recipe, std::span<const Variable> grouping, std::size_t rows);
  // A group of the fit, missing_level, or unknown_level for a group that the fit has not seen.
  [[nodiscard]] std::uint32_t operator[](std::size_t row) const noexcept { return codes_[row]; }
  // Of a group that the fit has not seen: a hash of its name. 0 for other rows.
  [[nodiscard]] std::uint64_t key(std::size_t row) const noexcept { return keys_.empty() ? 0 : keys_[row]; }

 private:
  std::vector<std::uint32_t> codes_;
  std::vector<std::uint64_t> keys_;  // empty if there are no new groups
};

}  // namespace mlo
