// Copyright (c) the mlo authors. BSD-3-Clause.
// From the terms of a formula to design columns: R's rules of coding.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/values.hpp"
#include "mlo/data/design.hpp"
#include "mlo/data/formula.hpp"

namespace mlo {

// A distinct variable of the terms.
struct Variable {
  Expression expression;
  std::string name;
  ValuesPtr values;
  std::vector<std::size_t> level_counts{};  // of a factor, over the rows that are used
  CodeField field{};                        // of a factor
  [[nodiscard]] bool is_factor() const { return values->type == Values::Type::factor; }
};

// One column of one numeric variable, or a product of several.
struct NumberProduct {
  std::vector<std::pair<std::size_t, std::size_t>> parts;  // variable, its column
  bool operator==(const NumberProduct&) const = default;
};

// The sums over a cell of a block, for the moments of its columns.
struct CellSums {
  double rows = 0, sum = 0, squares = 0;
};

// The part of a term's columns that share a number: a LevelBlock in the making.
struct BlockPlan {
  std::vector<std::size_t> factors;  // variables
  std::vector<std::size_t> strides;
  std::size_t cells = 1;
  std::size_t multiplier = LevelBlock::no_number;  // of RecordPlan::multipliers
  std::vector<CellSums> sums;
};

struct TermPlan {
  std::vector<std::size_t> variables;
  std::vector<char> full;  // of a factor: whether each level has a column, or contrasts are used
  // For each combination of columns of its numeric variables, the first varying fastest: a dense column, or a
  // block if there are factors.
  std::vector<std::size_t> parts;
};

// What a record holds, known before any row is read.
struct RecordPlan {
  std::vector<Variable> variables;
  std::vector<TermPlan> terms;  // without the intercept
  std::vector<NumberProduct> dense;
  std::vector<NumberProduct> multipliers;
  std::vector<BlockPlan> blocks;
};
// Throws ModelError: too many cells.
[[nodiscard]] RecordPlan plan_records(const Formula& formula, Binder& binder);

[[nodiscard]] bool has_factor(const RecordPlan& plan, const TermPlan& term);
// The factors of a plan whose levels have been counted. The base is the level without a column in the main
// effect.
[[nodiscard]] std::vector<FactorLevels> list_factors(const RecordPlan& plan);

// The columns of a variable within a term: their names and, for a factor, each level's values in them.
struct Coded {
  std::vector<std::string> names;
  std::vector<std::vector<std::pair<std::size_t, double>>> of_level;
};

// The columns of one term, before those that no row has are left out.
class TermColumns {
 public:
  TermColumns(const RecordPlan& plan, const TermPlan& term);
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::string name(std::size_t column) const;
  // The place of the part's first column: that of its combination of numeric columns.
  [[nodiscard]] std::size_t first_of_part(std::size_t part) const;
  // A cell's columns, relative to the first of the part, and its values there.
  [[nodiscard]] std::vector<std::pair<std::size_t, double>> of_cell(std::size_t cell) const;

 private:
  const RecordPlan& plan_;
  const TermPlan& term_;
  std::vector<Coded> coded_;
  std::vector<std::size_t> strides_;
  std::size_t size_ = 1;
};

// The columns, once the rows have been read: sets names, dense, blocks, dim, factors, empty_columns,
// level_rows. `number_slots`: where the multipliers are in a record. Returns the sums of the columns of
// blocks.
struct ColumnSums {
  double sum = 0, squares = 0;
};
[[nodiscard]] std::vector<ColumnSums> make_columns(const Formula& formula, const RecordPlan& plan,
                                                   std::span<const std::size_t> number_slots,
                                                   std::size_t max_levels, Design& design);

}  // namespace mlo
