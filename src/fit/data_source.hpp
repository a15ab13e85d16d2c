// Copyright (c) the mlo authors. BSD-3-Clause.
// The data that the options of a fit name.
#pragma once

#include <memory>
#include <string>

#include "mlo/data/design.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/reader.hpp"
#include "mlo/method/options.hpp"

namespace mlo {

// Throws as open_reader() does.
[[nodiscard]] std::unique_ptr<Reader> open_data(const FitOptions& options);

// In words: "data.csv", "a.csv and 6 more", "the query".
[[nodiscard]] std::string data_words(const FitOptions& options);

[[nodiscard]] DesignOptions design_options(const FitOptions& options);

// The columns that a fit reads: those of the formula and those that options name. Throws UsageError.
[[nodiscard]] std::vector<std::string> wanted_columns(const FitOptions& options, const Formula& formula,
                                                      const std::vector<std::string>& header);

}  // namespace mlo
