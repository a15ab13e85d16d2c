// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "data/csv_text.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/data/csv.hpp"

namespace mlo {
namespace {

// A misspelt name must not pass for a column whose type was stated.
void check_types(const Reader& reader, const std::string& data, const ReadOptions& options) {
  const std::vector<std::string>& header = reader.header();
  for (const auto& [name, type] : options.types) {
    if (std::find(header.begin(), header.end(), name) == header.end())
      throw UsageError(fmt::format("`type`: {} has no column {}", data, csv::quoted(name)));
  }
}

}  // namespace

// One line per format. CSV comes last, because nothing marks a file as CSV.
std::unique_ptr<Reader> open_reader(const std::vector<std::string>& paths, const ReadOptions& options) {
  if (paths.size() != 1) throw UsageError("the data must be one file");
  auto reader = std::make_unique<CsvReader>(paths.front(), options);
  check_types(*reader, paths.front(), options);
  return reader;
}

}  // namespace mlo
