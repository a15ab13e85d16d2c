// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/report/stan_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

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

}  // namespace

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
