// Copyright (c) the mlo authors. BSD-3-Clause.
// The last steps of building a design: refuse columns that cannot be fitted, then scale the others.
#pragma once

#include <span>

#include "design_moments.hpp"
#include "mlo/data/design.hpp"

namespace mlo {

// Throws DataError if there are more rows than 32-bit row numbers can count.
void check_rows(const Design& design);

// Throws ModelError for a column whose coefficient the data do not determine: all zeros, or constant as well
// as an intercept.
void check_columns(const Design& design, std::span<const Moments> moments, Scale scale);

// Turns the dense columns of design.x from columns as evaluated into working columns and sets centre, scale,
// sd, shift and divisor. Returns, for each dense column, its projection on one fixed pseudo-random vector
// (see check_pairs).
[[nodiscard]] std::vector<double> scale_columns(Design& design, std::span<const Moments> moments,
                                                Scale scale);

// Throws ModelError if one dense working column equals another or its negative.
void check_pairs(const Design& design, std::span<const Moments> moments, std::span<const double> projections);

}  // namespace mlo
