// Copyright (c) the mlo authors. BSD-3-Clause.
// What several families share: rules of responses, starting points, simulation.
#pragma once

#include <functional>
#include <string_view>

#include "mlo/base/random.hpp"
#include "mlo/model/family.hpp"

namespace mlo {

[[noreturn]] void refuse_response(const Design& design, std::size_t row, std::string_view rule,
                                  std::string_view remedy = {});
void check_binary(const Design& design, std::string_view family);
void check_counts(const Design& design, std::string_view family);
void check_varies(const Design& design, std::string_view family);

[[nodiscard]] double mean_response(const Design& design);
// Mean and sd (n - 1) of the response; an sd of 1 where it does not vary.
[[nodiscard]] ResponseScale plain_scale(const Design& design);
// Median and robust spread, which outliers do not move.
[[nodiscard]] ResponseScale robust_scale(const Design& design);

// A point whose predictor is eta on average, by way of the intercept if there is one; all else is 0.
[[nodiscard]] StartingPoint start_at(const Design& design, double eta);

// Whether no term of these responses falls in the direction of t, for terms that grow with eta if y = 1 and
// fall with eta if y = 0.
[[nodiscard]] bool binary_recedes(std::span<const double> y, std::span<const double> t,
                                  double tolerance) noexcept;
[[nodiscard]] bool counts_recede(std::span<const double> y, std::span<const double> t,
                                 double tolerance) noexcept;

// Whether a scale is so small beside the responses that it is a rounding error: no noise at all.
[[nodiscard]] bool negligible_scale(const Design& design, double log_scale);

// log(y!) for counts.
[[nodiscard]] double log_factorial(double y) noexcept;

// The number of that name, which must be there.
[[nodiscard]] double number(const FamilyNumbers& numbers, std::string_view name);
// The same, if it is there.
[[nodiscard]] std::optional<double> stated(const FamilyNumbers& numbers, std::string_view name);

// A Poisson variate with that log rate. Throws UsageError where it would be too large for a double.
[[nodiscard]] double draw_count(Stream& stream, double log_rate);

}  // namespace mlo
