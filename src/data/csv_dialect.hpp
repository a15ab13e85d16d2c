// Copyright (c) the mlo authors. BSD-3-Clause.
// How a CSV file is written: its delimiter and its decimal mark.
#pragma once

#include <string_view>

#include "mlo/data/reader.hpp"

namespace mlo::csv {

struct Dialect {
  char delimiter = ',';
  char decimal = '.';
  char comment = 0;  // 0: there are no comments
};

// What `options` say, and the rest from the file's name and the start of its text (`all`: the whole of it).
//
// Delimiter, one of , ; tab and |: a name that ends in .tsv (.tsv.gz, ...) says tab. Otherwise the header
// and up to 100 records after it are split at each candidate, quotes respected; the best one is that by which
// most records have as many cells as the header, and of equals the one with most cells.
//
// Decimal mark: a comma, where it is not the delimiter, if there are cells such as "0,5" and none such as
// "0.5". Cells such as "1,234" say nothing: they may be thousands.
[[nodiscard]] Dialect find_dialect(const ReadOptions& options, std::string_view file, std::string_view text,
                                   bool all);

}  // namespace mlo::csv
