// Copyright (c) the mlo authors. BSD-3-Clause.
#include "fit/data_source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mlo/base/errors.hpp"
#include "mlo/method/read_options.hpp"
#include "mlo/model/family.hpp"

namespace mlo {

std::unique_ptr<Reader> open_data(const FitOptions& options) {
  ReadOptions read = read_options(options);
  read.sql = options.sql;
  read.threads = static_cast<std::size_t>(options.threads);
  return open_reader(options.data, read);
}

std::string data_words(const FitOptions& options) {
  if (options.sql) return "the query";
  if (options.data.empty()) return "no data";
  const std::size_t more = options.data.size() - 1;
  return options.data.front() + (more == 0 ? "" : fmt::format(" and {} more", more));
}

DesignOptions design_options(const FitOptions& options) {
  const FamilySpec* const family = find_family(options.family);
  return {.scale = options.scale == "sd"         ? Scale::sd
                   : options.scale == "standard" ? Scale::standard
                                                 : Scale::none,
          .missing = options.missing == "error" ? Missing::error : Missing::drop,
          .max_levels = static_cast<std::size_t>(options.max_levels),
          .row_weights = options.row_weights.value_or(""),
          .trials = options.trials.value_or(""),
          .counted = family != nullptr && family->counted};
}

std::vector<std::string> wanted_columns(const FitOptions& options, const Formula& formula,
                                        const std::vector<std::string>& header) {
  std::vector<std::string> wanted = formula.columns();
  const auto want = [&](const std::optional<std::string>& column, const char* option) {
    if (!column) return;
    const auto shown = static_cast<std::ptrdiff_t>(std::min<std::size_t>(header.size(), 10));
    if (std::find(header.begin(), header.end(), *column) == header.end())
      throw UsageError(fmt::format("`{}`: no column \"{}\" in the data; its columns are {}{}", option,
                                   *column, fmt::join(header.begin(), header.begin() + shown, ", "),
                                   header.size() > 10 ? ", ..." : ""));
    if (std::find(wanted.begin(), wanted.end(), *column) == wanted.end()) wanted.push_back(*column);
  };
  want(options.row_weights, "row-weights");
  want(options.trials, "trials");
  return wanted;
}

}  // namespace mlo
