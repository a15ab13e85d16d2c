// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/report/stan_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string_view>

#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

// A comment must stay on one line.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

// Stan's names have no hyphens.
std::string identifier(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// The cells of a line, as numbers.
void read_numbers(std::string_view line, const std::string& place, std::vector<double>& out) {
  out.clear();
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(line.find(',', at), line.size());
    const std::string_view cell = line.substr(at, end - at);
    double value = 0;
    const auto [rest, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || rest != cell.data() + cell.size() || cell.empty())
      throw DataError(place, fmt::format("not a number (\"{}\"): the file of draws is damaged", cell));
    out.push_back(value);
    if (end == line.size()) return;
    at = end + 1;
  }
}

}  // namespace

ChainDraws draws_of_stan_csv(const std::string& text, const std::string& file, std::size_t dim) {
  ChainDraws chain;
  chain.dim = dim;
  std::string header = "lp__,accept_stat__";
  for (std::size_t j = 0; j < dim; ++j) header += fmt::format(",theta.{}", j + 1);
  bool started = false;
  std::vector<double> cells;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    ++number;
    const std::string place = fmt::format("{}:{}", file, number);
    if (end == std::string::npos)
      throw DataError(place, "the last line is not complete: the file of draws is damaged");
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    if (line.starts_with('#')) continue;
    if (!started) {
      if (line != header)
        throw DataError(place,
                        fmt::format("the columns are not those of {} parameters, \"{}\"", dim, header));
      started = true;
      continue;
    }
    read_numbers(line, place, cells);
    if (cells.size() != dim + 2)
      throw DataError(place, fmt::format("{} cells, but the header has {}", cells.size(), dim + 2));
    for (std::size_t j = 0; j < dim; ++j) {
      if (!std::isfinite(cells[j + 2]))
        throw DataError(place,
                        fmt::format("theta.{} is {}: the file of draws is damaged", j + 1, cells[j + 2]));
      chain.draws.push_back(cells[j + 2]);
    }
    chain.log_posteriors.push_back(cells[0]);
  }
  if (chain.size() == 0) throw DataError(file, "no draws");
  return chain;
}

std::string stan_csv(const StanCsvHeader& h, const ChainDraws& record) {
  std::string out;
  const auto to = std::back_inserter(out);
  // The keys that readers look for, spelt as in CmdStan.
  fmt::format_to(to,
                 "# stan_version_major = 2\n# stan_version_minor = 32\n# stan_version_patch = 0\n"
                 "# model = mlo_{}_model\n# method = sample (Default)\n#   sample\n"
                 "#     num_samples = {}\n#     num_warmup = {}\n#     save_warmup = 0\n#     thin = {}\n"
                 "#     adapt\n#       engaged = 0\n#     algorithm = fixed_param\n#     num_chains = 1\n"
                 "# id = {}\n# data\n#   file = {}\n# init = 2\n# random\n#   seed = {}\n# output\n#   file "
                 "= draws-{}.csv\n"
                 "# mlo_version = {}\n# mlo_method = {}\n# mlo_family = {}\n# mlo_formula = {}\n",
                 identifier(h.family), record.size() * h.thin, h.warmup, h.thin, h.chain, one_line(h.data),
                 h.seed, h.chain, h.version, h.method, h.family, one_line(h.formula));
  for (std::size_t j = 0; j < h.names.size(); ++j)
    fmt::format_to(to, "# theta.{} = {}\n", j + 1, one_line(h.names[j]));
  out += "lp__,accept_stat__";
  for (std::size_t j = 0; j < record.dim; ++j) fmt::format_to(to, ",theta.{}", j + 1);
  out += '\n';
  const double accept = record.account.steps == 0 ? 0
                                                  : static_cast<double>(record.account.accepted) /
                                                        static_cast<double>(record.account.steps);
  for (std::size_t k = 0; k < record.size(); ++k) {
    // The shortest text that reads back as the same double.
    if (std::isnan(record.log_posteriors[k])) {
      fmt::format_to(to, "nan,{}", accept);
    } else {
      fmt::format_to(to, "{},{}", record.log_posteriors[k], accept);
    }
    for (std::size_t j = 0; j < record.dim; ++j) fmt::format_to(to, ",{}", record.draws[k * record.dim + j]);
    out += '\n';
  }
  return out;
}

}  // namespace mlo
