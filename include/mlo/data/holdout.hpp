// Copyright (c) the mlo authors. BSD-3-Clause.
// Rows that a fit does not see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mlo/data/table.hpp"

namespace mlo {

// Whether a row of the data, counted from 0, is held out: a function of the seed and the row's number alone,
// so the same for any format of the file and any number of threads. Of many rows, a share close to `share`
// is.
[[nodiscard]] bool held_out(std::uint64_t seed, double share, std::size_t row);

// Moves the rows that are held out to a table of their own. Both remember where their rows came from.
[[nodiscard]] Table hold_out(Table& table, std::uint64_t seed, double share);

}  // namespace mlo
