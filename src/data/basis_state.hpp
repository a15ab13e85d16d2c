// Copyright (c) the mlo authors. BSD-3-Clause.
// What the functions of a whole column share: checks of values, arguments and states.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace mlo::basis {

// Throws UsageError: no values, or one that is not finite.
void check_values(std::string_view function, std::span<const double> x);
[[nodiscard]] bool is_whole(double value, double from, double to);
// An argument as a whole number in [from, to]. Throws UsageError.
[[nodiscard]] std::size_t whole(std::string_view function, std::string_view argument, double value,
                                double from, double to);
// Throws DataError: no learn function made this state.
[[noreturn]] void damaged(std::string_view function);

}  // namespace mlo::basis
