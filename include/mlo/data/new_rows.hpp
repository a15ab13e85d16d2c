// Copyright (c) the mlo authors. BSD-3-Clause.
// Rows of other data in the columns of a fit, as its coefficients refer to them: what predictions and the
// scores of held-out rows are made from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mlo/data/design.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/table.hpp"

namespace mlo {

// The columns that a formula's rows are made from. The response's columns are among them only if `response`.
[[nodiscard]] std::vector<std::string> columns_of_rows(const Formula& formula, bool response);

// Whether the formula's rows use the column for its levels only: as the groups of (1 | g), or in factor(g).
// Then numbers and text that look the same mean the same.
[[nodiscard]] bool only_levels_matter(const Formula& formula, std::string_view column);

// Throws DataError if the data lack a wanted column; it names the nearest one that there is.
void check_header(const std::string& data, std::span<const std::string> header,
                  std::span<const std::string> wanted);

// What is done with a level that the fit has not seen.
enum class NewLevels { error, missing };

struct NewRowOptions {
  bool response = false;
  Missing missing = Missing::drop;
  NewLevels new_levels = NewLevels::error;   // of a factor
  std::optional<NewLevels> new_groups = {};  // of a grouping; empty: the row is used, with the code new_group
};

class NewRows {
 public:
  // The table has the columns of columns_of_rows(formula, response); it must outlive the object, and so must
  // the formula. Throws DataError: text where the fit had numbers, a recipe that is not this formula's.
  NewRows(const Formula& formula, const Recipe& recipe, const Table& table, const NewRowOptions& options);
  ~NewRows();

  [[nodiscard]] std::size_t rows() const noexcept;
  [[nodiscard]] std::size_t dim() const noexcept;
  // Group terms, and the numbers that multiply the effects of one of them: all but that of the intercept.
  [[nodiscard]] std::size_t groups() const noexcept;
  [[nodiscard]] std::size_t multipliers(std::size_t group) const noexcept;
  // Where a row came from, for messages: "data.csv:17".
  [[nodiscard]] std::string place(std::size_t row) const;

  // Rows [first, first + count). x: dim() numbers per row. complete: whether no value of the row is missing;
  // if one is, all numbers of the row are 0. y is written only if the response is wanted, and may be empty
  // otherwise. Threads may call this at the same time. Throws DataError: a missing cell with Missing::error,
  // a new level with NewLevels::error, a term that is not finite.
  // groups: empty, or one per group term. A group that the fit has not seen has the code new_group.
  static constexpr std::uint32_t new_group = static_cast<std::uint32_t>(-1);
  struct GroupBlock {
    std::span<std::uint32_t> codes;  // of rows that are not complete: new_group
    std::span<float> z;              // multipliers(group) numbers per row
    // May be empty. Of new groups a number that depends on the group's name alone, and 0 otherwise.
    std::span<std::uint64_t> keys{};
  };
  struct Block {
    std::span<double> x, offsets, y;
    std::span<char> complete;
    std::span<const GroupBlock> groups{};
  };
  void fill(std::size_t first, const Block& out) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mlo
