// Copyright (c) the mlo authors. BSD-3-Clause.
// The groups of rows that are predicted or scored.
#pragma once

#include <cstddef>
#include <vector>

#include "mlo/data/design.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/new_rows.hpp"
#include "mlo/diagnose/group_draws.hpp"

namespace mlo {

// One per group term of the formula.
[[nodiscard]] std::vector<GroupLaw> laws_of(const Formula& formula, const Recipe& recipe);
// Room for so many rows.
[[nodiscard]] std::vector<RowGroups> row_groups(const NewRows& rows, std::size_t count);
// Where NewRows::fill() is to write the groups of the rows [first, first + count) of `groups`.
[[nodiscard]] std::vector<NewRows::GroupBlock> group_blocks(const NewRows& rows,
                                                            std::vector<RowGroups>& groups, std::size_t first,
                                                            std::size_t count);

}  // namespace mlo
