// Copyright (c) the mlo authors. BSD-3-Clause.
// Draws in the CSV dialect of CmdStan, for rstan, cmdstanr, posterior and ArviZ.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mlo/chain/draws.hpp"

namespace mlo {

// Names that all of these readers take as they are: letters of ASCII, digits and underscores. Coefficients
// become what brms calls them: b_Intercept, b_hour, b_originATL, b_IxE2; other parameters keep their names.
// `coefficients` of the names, the first, are coefficients. All names differ.
[[nodiscard]] std::vector<std::string> stan_names(const std::vector<std::string>& names,
                                                  std::size_t coefficients);

struct StanCsvHeader {
  std::string version{};  // of mlo
  std::string method{}, promise{}, family{}, formula{}, data{};
  std::string log_posterior{};  // what lp__ is, in words
  std::uint64_t seed = 0, chain = 0, warmup = 0, draws = 0, thin = 1;
  std::vector<std::string> names{};  // as in the summary; written as comments beside the columns' names
  std::size_t coefficients = 0;      // of the names, the first
};

// Columns: lp__, accept_stat__, treedepth__, divergent__, energy__, then the parameters. The two in the
// middle are 0, as there are no trajectories, and energy__ is -lp__, as there is no momentum: rstan's
// check_hmc_diagnostics() fails without them.
[[nodiscard]] std::string stan_csv(const StanCsvHeader& header, const ChainDraws& record);

// The draws in such a file: `dim` parameters each, all of them finite. Files of mlo 0.1, whose columns are
// theta.1, theta.2, ..., are read too. Throws DataError, which names the file and the line.
[[nodiscard]] ChainDraws draws_of_stan_csv(const std::string& text, const std::string& file, std::size_t dim);

// What the dialect has no place for, of all chains: chain, draw, rows_read, noise_sd.
[[nodiscard]] std::string statistics_csv(const std::vector<ChainDraws>& chains);
// The inverse: fills in the statistics of the draws, which have been read. Throws DataError.
void add_statistics(const std::string& text, const std::string& file, std::vector<ChainDraws>& chains);

}  // namespace mlo
