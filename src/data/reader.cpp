// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/reader.hpp"

#include "mlo/data/csv.hpp"

namespace mlo {

// One line per format. CSV comes last, because nothing marks a file as CSV.
std::unique_ptr<Reader> open_reader(const std::string& path) { return std::make_unique<CsvReader>(path); }

}  // namespace mlo
