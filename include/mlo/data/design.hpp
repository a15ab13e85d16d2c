// Copyright (c) the mlo authors. BSD-3-Clause.
// A formula applied to a table: the design rows, the response and the offset.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "mlo/base/huge_vector.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/source.hpp"
#include "mlo/data/table.hpp"

namespace mlo {

enum class Scale { none, sd, standard };
enum class Missing { drop, error };

// What a part of a formula took from the data that it was first applied to: the knots of a spline, the levels
// of a factor. With it the formula means the same for other rows.
struct Learnt {
  std::string expression;  // as R writes it
  std::vector<double> numbers;
  std::vector<std::string> levels;
};

// The same of a group term.
struct GroupRecipe {
  std::vector<std::vector<std::string>> levels;  // of each expression of the grouping, those that occur
  // The groups of a grouping with several expressions: the place of each one's level, group after group.
  std::vector<std::uint32_t> cells;
  std::vector<std::string> effects;
  std::vector<double> origin, unit;  // of the effects, as in Recipe; 0 and 1 for the intercept
};
// The levels of a group term: those of its expression; "a1_b2" for a:b, as brms writes it.
[[nodiscard]] std::vector<std::string> group_names(const GroupRecipe& recipe);

// How the user's columns are made from other data: what predictions need.
struct Recipe {
  std::vector<Learnt> learnt;
  std::vector<GroupRecipe> groups;
  std::vector<std::string> names;  // of the columns
  // The user's column is (the formula's column - origin) / unit: 0 and 1, unless the option `scale` asks for
  // more.
  std::vector<double> origin, unit;
  std::vector<std::string> classes{};  // of the response, the base first; only for families of classes
};

// The levels of a factor, for people.
struct FactorLevels {
  std::string name;
  std::vector<std::string> levels;  // those that occur
  std::string base;                 // the level without a coefficient; "" if each has one
  std::size_t unused = 0;           // levels that occur in no row that is used
};

// A place in a row's record that holds the code of a factor: some bits of one of its numbers.
struct CodeField {
  std::size_t slot = 0;  // which number
  unsigned shift = 0;
  std::uint64_t mask = 0;
  [[nodiscard]] std::size_t read(const double* row) const noexcept {
    return static_cast<std::size_t>((std::bit_cast<std::uint64_t>(row[slot]) >> shift) & mask);
  }
};

// Design columns that depend on a row through the levels of one or more factors, its *cell*, and at most one
// number of the row: the columns of a term such as f, f:g or x:f. A cell has a value in few of the columns;
// in treatment contrasts, in one at most. Stored as a sparse matrix with one row per cell.
struct LevelBlock {
  std::vector<CodeField> fields;     // one per factor
  std::vector<std::size_t> strides;  // cell = sum of stride * code
  std::size_t cells = 0;
  std::vector<std::uint32_t> starts;  // cells + 1: where a cell's entries begin
  std::vector<std::uint32_t> columns;
  std::vector<double> values;
  static constexpr std::size_t no_number = std::numeric_limits<std::size_t>::max();
  std::size_t number = no_number;  // which number of the record multiplies the values

  [[nodiscard]] std::size_t cell(const double* row) const noexcept {
    std::size_t sum = fields[0].read(row);
    for (std::size_t f = 1; f < fields.size(); ++f) sum += strides[f] * fields[f].read(row);
    return sum;
  }
  [[nodiscard]] double factor(const double* row) const noexcept {
    return number == no_number ? 1 : row[number];
  }
};

// The groups of one group term, as codes, and what multiplies their effects.
struct GroupDesign {
  std::string name;                  // of the grouping: "origin", "a:b"
  std::vector<std::string> levels;   // those that occur, ordered as those of a factor; a:b by a, then by b
  HugeVector<std::uint32_t> codes;   // one per row that is used
  std::vector<std::string> effects;  // as brms names them: "Intercept", "x"
  bool intercept = true;  // whether effect 0 is the intercept, whose multiplier is 1 and is not stored
  bool correlated = true;
  HugeVector<float> z;  // multipliers of the other effects, in the user's units, row after row
  [[nodiscard]] std::size_t dim() const noexcept { return effects.size(); }
};

// Rows are stored in *working* columns, centred (when there is an intercept) and divided by their sd (by
// their root mean square if there is no intercept), so that no method ever sees a badly scaled column. The
// user's column j is centre[j] + scale[j] * working column j, where "user's" means after the option `scale`:
// coefficients and priors refer to that column.
// A row is one record, because reading a random row costs one cache miss per array: its dense columns, its
// response, if there are any its offset, its weight and the numbers that multiply levels, and the codes of
// its factors. The columns of factors are never stored: a record has their codes, packed into as few numbers
// as they need.
struct Design {
  Source source;                   // where the kept rows came from
  std::string response;            // as written in the formula
  std::vector<std::string> names;  // one per column, as R names them: "(Intercept)", "x1", "sexM", "x1:x2"
  std::size_t rows = 0;
  std::size_t dim = 0;
  bool intercept = false;  // if so, it is column 0

  // `rows` records of `stride` values each, then row_padding zeros, so that a SIMD load of the last record
  // may read past its end.
  HugeVector<double> x;
  static constexpr std::size_t row_padding = 16;
  std::size_t stride = 0;
  std::vector<std::size_t>
      dense;  // the columns at the start of a record; all of them, if there are no factors
  std::vector<LevelBlock> blocks;  // the other columns
  bool has_offset = false;
  bool has_weight = false;
  bool shares = false;   // whether responses are shares of successes, and weights the numbers of trials
  bool counted = false;  // whether responses are successes and trials in one number (Outcome)

  std::vector<double> centre;  // of the user's columns; 0 for the intercept, and all 0 if there is none
  std::vector<double> scale;   // of the user's columns; 1 for the intercept
  std::vector<double> sd;      // standard deviation (n - 1) of the user's columns; 0 for the intercept
  // Working columns of blocks: (value - shift) / divisor. 0 and 1 for dense columns, which are stored so.
  std::vector<double> shift;
  std::vector<double> divisor;
  // How much the user's columns differ between rows, for default priors: their sd, but 1 for a level of a
  // factor however rare it is.
  std::vector<double> typical;
  std::vector<std::size_t> level_rows;  // how many rows have a value in a column of a block; 0 for dense ones

  std::size_t rows_in_file = 0;
  std::size_t dropped = 0;     // rows with a missing cell
  std::size_t weightless = 0;  // rows with the weight 0, or of 0 trials: they are not used
  std::vector<FactorLevels> factors;
  std::vector<std::string> response_levels;  // of a response that is text: coded 0, 1, ...
  std::string response_base;                 // the class that others are compared with; "" for the first
  std::vector<std::string> empty_columns;    // interactions of levels that no row has: they were left out
  std::vector<GroupDesign> groups;           // one per group term of the formula
  Recipe recipe;

  [[nodiscard]] const double* row(std::size_t i) const noexcept { return x.data() + i * stride; }
  [[nodiscard]] double y(std::size_t i) const noexcept { return row(i)[dense.size()]; }
  [[nodiscard]] double offset(std::size_t i) const noexcept { return row(i)[dense.size() + 1]; }
  [[nodiscard]] double weight(std::size_t i) const noexcept {
    return has_weight ? row(i)[dense.size() + (has_offset ? 2U : 1U)] : 1;
  }
  // All columns of a row: the working ones, and the user's.
  void working_row(std::size_t i, std::span<double> out) const noexcept;
  void user_row(std::size_t i, std::span<double> out) const noexcept;
  // Where a row came from, for messages: "data.csv:17".
  [[nodiscard]] std::string place(std::size_t i) const { return source.place(i); }
};

// A design has at most this many columns: the p x p matrices of the mode search take 130 MB each.
inline constexpr std::size_t most_columns = 4000;

struct DesignOptions {
  Scale scale = Scale::none;
  Missing missing = Missing::drop;
  std::size_t max_levels = 1000;  // of one factor
  std::string row_weights{};      // a column: a row counts as often as it says; "" for once
  std::string trials{};           // a column: the response is a share of this many
  bool counted = false;           // responses are outcomes, and trials no weights
};

// Takes the table by value and frees its columns as soon as the rows are made. An interaction is scaled as
// one column: the product of its unscaled factors. Throws UsageError (an argument of a function), DataError
// (text where numbers are needed, missing cells with Missing::error, all rows missing, a term that is not
// finite, with its place, a factor with too many levels, more than 2^32 - 1 rows), ModelError (a constant
// column as well as an intercept, a column of zeros, a factor with one level, two equal columns where there
// are more rows than columns, too many columns, too many effects of one group term).
[[nodiscard]] Design build_design(const Formula& formula, Table table, const DesignOptions& options);

}  // namespace mlo
