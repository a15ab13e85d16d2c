// Copyright (c) the mlo authors. BSD-3-Clause.
// What several families share: rules of responses, starting points.
#pragma once

#include <string_view>

#include "mlo/model/family.hpp"

namespace mlo {

[[noreturn]] void refuse_response(const Design& design, std::size_t row, std::string_view rule);
void check_counts(const Design& design, std::string_view family);
void check_varies(const Design& design, std::string_view family);

[[nodiscard]] double mean_response(const Design& design);

// The predictor is eta in the mean, through the intercept if there is one; all else is 0.
[[nodiscard]] StartingPoint start_at(const Design& design, double eta);

// Whether e^aux is to the responses as a rounding error: no noise, but none at all.
[[nodiscard]] bool negligible_scale(const Design& design, double aux);

// log(y!) for counts.
[[nodiscard]] double log_factorial(double y) noexcept;

}  // namespace mlo
