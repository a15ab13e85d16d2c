// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/reader.hpp"

#include "mlo/base/errors.hpp"
#include "mlo/data/csv.hpp"

namespace mlo {

// One line per format. CSV comes last, because nothing marks a file as CSV.
std::unique_ptr<Reader> open_reader(const std::vector<std::string>& paths, const ReadOptions& options) {
  if (paths.size() != 1) throw UsageError("the data must be one file");
  return std::make_unique<CsvReader>(paths.front(), options);
}

}  // namespace mlo
