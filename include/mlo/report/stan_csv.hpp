// Copyright (c) the mlo authors. BSD-3-Clause.
// Draws in the CSV dialect of CmdStan, for rstan, cmdstanr, posterior and ArviZ.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mlo/chain/draws.hpp"

namespace mlo {

struct StanCsvHeader {
  std::string version;  // of mlo
  std::string method, family, formula, data;
  std::uint64_t seed = 0, chain = 0, warmup = 0, draws = 0, thin = 1;
  std::vector<std::string> names;  // as in the summary; written as comments beside theta.1, theta.2, ...
};

// Column names are plain identifiers (theta.k for the k-th parameter), because some readers fail on others.
[[nodiscard]] std::string stan_csv(const StanCsvHeader& header, const ChainDraws& record);

// The draws in such a file: `dim` parameters each, all of them finite. Throws DataError, which names the file
// and the line.
[[nodiscard]] ChainDraws draws_of_stan_csv(const std::string& text, const std::string& file, std::size_t dim);

}  // namespace mlo
