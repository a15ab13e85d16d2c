// Copyright (c) the mlo authors. BSD-3-Clause.
#include <algorithm>

#include "registry/sample_impl.hpp"

namespace mlo::detail {

std::vector<double> numbers(const std::string& list, const std::string& option, std::size_t wanted) {
  std::vector<double> out;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at < end) {
    while (at < end && (*at == ' ' || *at == ',')) ++at;
    if (at == end) break;
    const char* const cell_end = std::find_if(at, end, [](char c) { return c == ',' || c == ' '; });
    double value = 0;
    const auto [stop, error] = std::from_chars(at, cell_end, value);
    if (error != std::errc() || stop != cell_end || !std::isfinite(value))
      throw UsageError(
          fmt::format("{} must be mle, map or numbers separated by commas (got \"{}\")", option, list));
    out.push_back(value);
    at = cell_end;
  }
  if (out.size() != wanted)
    throw UsageError(fmt::format("{} needs {} numbers, one a parameter (got {}: \"{}\")", option, wanted,
                                 out.size(), list));
  return out;
}

SubsampleSizes subsample_sizes(const FitOptions& options, const std::string& method, std::size_t rows) {
  if (method == "full" || method == "exact") return {rows, rows};
  const auto n = static_cast<std::int64_t>(rows);
  const auto inside = [&](const char* option, std::int64_t value, std::int64_t least,
                          const std::string& least_name) {
    if (value < least || value > n)
      throw UsageError(fmt::format("{} must be between {} and the number of rows, {} (got {})", option,
                                   least_name, n, value));
  };
  if (method == "difference") {
    const std::int64_t size = options.subsample_size.value_or(std::min<std::int64_t>(20, n));
    inside("--subsample-size", size, 2, "2");
    const std::int64_t most =
        options.max_subsample_size.value_or(std::min(n, std::max({size, n / 20, std::int64_t{1000}})));
    inside("--max-subsample-size", most, size, fmt::format("--subsample-size, {},", size));
    return {static_cast<std::size_t>(size), static_cast<std::size_t>(most)};
  }
  const bool adaptive = method == "mlo-adaptive";
  // Defaults in the spirit of the paper: 1 % of the rows; for Algorithm 3 a pilot of 0.1 % and at most 5 %.
  const std::int64_t fallback =
      adaptive ? std::max<std::int64_t>(n / 1000, 100) : std::max<std::int64_t>(n / 100, 1000);
  const std::int64_t size = options.subsample_size.value_or(std::min(fallback, n));
  inside("--subsample-size", size, 1, "1");
  const std::int64_t max = options.max_subsample_size.value_or(std::max(size, n / 20));
  if (adaptive) inside("--max-subsample-size", max, size, fmt::format("--subsample-size, {},", size));
  return {static_cast<std::size_t>(size), static_cast<std::size_t>(max)};
}

double step_nanoseconds(const Costs& c) noexcept {
  const auto p = static_cast<double>(c.dim);
  // Measured on the benchmarks: a row in a pass, a row read at random, and a step's own work.
  constexpr double random_row = 45;
  const double pass_row = 3 + 0.6 * p;
  return c.all_rows ? pass_row * c.rows : 60 + 20 * p + random_row * c.rows;
}

}  // namespace mlo::detail
