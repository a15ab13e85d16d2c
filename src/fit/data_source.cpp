// Copyright (c) the mlo authors. BSD-3-Clause.
#include "fit/data_source.hpp"

#include "mlo/method/read_options.hpp"

#include <fmt/format.h>

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

}  // namespace mlo
