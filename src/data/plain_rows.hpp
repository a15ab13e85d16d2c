// Copyright (c) the mlo authors. BSD-3-Clause.
// The terms of a plan as rows of plain numbers, factors written out: what new data and the effects of groups
// are made into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/design_terms.hpp"

namespace mlo {

// A block of all columns of a usual design stays in the second-level cache between its evaluation, its
// moments and its transposition.
inline constexpr std::size_t block_rows = 1024;

// Variables, evaluated in a block of rows.
struct VariableBlock {
  std::vector<std::vector<double>> numbers;       // by variable, then column, then row
  std::vector<std::vector<std::uint32_t>> codes;  // by variable, then row
  void evaluate(std::span<const Variable> variables, std::size_t first, std::size_t count);
};

class PlainRows {
 public:
  PlainRows() = default;
  // Columns have the names that they have in `names`; those that are not there are left out. The plan's
  // levels have been counted.
  PlainRows(const RecordPlan& plan, bool intercept, std::span<const std::string> names);
  // Whether each of the names is a column.
  [[nodiscard]] bool has_all() const noexcept { return has_all_; }
  // Row i of a block of `count` rows, one number per name. Returns whether all products are finite.
  [[nodiscard]] bool write(const VariableBlock& block, std::size_t count, std::size_t i,
                           std::span<double> row) const;

 private:
  // Columns that share a product of numbers; in those of factors, which of them a cell has values in.
  struct Part {
    NumberProduct product;
    std::vector<std::size_t> factors, strides;  // variables
    std::size_t column = 0;                     // without factors
    std::vector<std::vector<std::pair<std::size_t, double>>> of_cell;
  };
  std::vector<Part> parts_;
  bool intercept_ = false;
  bool has_all_ = true;
};

}  // namespace mlo
