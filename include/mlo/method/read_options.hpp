// Copyright (c) the mlo authors. BSD-3-Clause.
// What a fit's options say about reading its data.
#pragma once

#include "mlo/data/reader.hpp"
#include "mlo/method/options.hpp"

namespace mlo {

// Throws UsageError: a delimiter that is not one character, two types for one column, ...
[[nodiscard]] ReadOptions read_options(const FitOptions& options);

}  // namespace mlo
