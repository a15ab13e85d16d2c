// Copyright (c) the mlo authors. BSD-3-Clause.
// Text columns that may have been meant as numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mlo/base/errors.hpp"
#include "mlo/data/table.hpp"

namespace mlo {

// Whether a column looks like one of numbers with a few words in it: at most half of its cells are words.
[[nodiscard]] bool mostly_numbers(const Text& text) noexcept;

// What to say where numbers are needed and the column holds text: the place and value of the first cell that
// is not a number, and what may help. `user` is what needs the numbers, such as "log()".
[[nodiscard]] DataError not_numbers(const Table& table, const Column& column, std::string_view user = {});

// The numbers that the cells of a text column spell, as in a file; missing cells are NaN. Nothing if a cell
// is not a number.
[[nodiscard]] std::optional<Numbers> spelled_numbers(const Text& text);

// What to tell the reader of a fit in which the column is a factor: that a few words among numbers make it
// one, or that it holds dates. "" where nothing is odd about it.
[[nodiscard]] std::string factor_remark(const Table& table, const Column& column);

}  // namespace mlo
