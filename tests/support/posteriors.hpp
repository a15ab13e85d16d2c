// Copyright (c) the mlo authors. BSD-3-Clause.
// Posteriors made by hand, for the tests of pictures and reports.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/diagnose/summary.hpp"
#include "mlo/report/facts.hpp"
#include "mlo/report/plots.hpp"

namespace mlo::test {

// By chain, then parameter, then draw.
inline std::vector<ChainDraws> chains_of(const std::vector<std::vector<std::vector<double>>>& values) {
  std::vector<ChainDraws> out;
  for (const auto& chain : values) {
    ChainDraws draws;
    draws.dim = chain.size();
    for (std::size_t k = 0; k < chain[0].size(); ++k) {
      for (const auto& parameter : chain) draws.draws.push_back(parameter[k]);
      draws.log_posteriors.push_back(std::nan(""));
    }
    out.push_back(std::move(draws));
  }
  return out;
}

// Independent normal draws; parameter j has the mean j / 10 and the sd 1.
inline std::vector<ChainDraws> normal_chains(std::size_t chains, std::size_t draws, std::size_t dim) {
  std::vector<ChainDraws> out(chains);
  for (std::size_t c = 0; c < chains; ++c) {
    Stream stream({.seed = 7, .chain = c, .purpose = Purpose::simulate, .iteration = 0});
    out[c].dim = dim;
    for (std::size_t k = 0; k < draws; ++k) {
      for (std::size_t j = 0; j < dim; ++j)
        out[c].draws.push_back(0.1 * static_cast<double>(j) + normal(stream));
      out[c].log_posteriors.push_back(std::nan(""));
    }
  }
  return out;
}

struct MadePosterior {
  std::vector<ChainDraws> chains;
  std::vector<ParameterSummary> parameters;
  RunFacts facts;
  std::vector<double> laplace_sd;

  [[nodiscard]] PosteriorView view() const {
    return {.parameters = parameters, .chains = chains, .facts = &facts, .laplace_sd = laplace_sd};
  }
};

inline MadePosterior posterior(std::vector<ChainDraws> chains, std::vector<std::string> names = {}) {
  for (std::size_t j = names.size(); j < chains[0].dim; ++j) names.push_back("p" + std::to_string(j));
  MadePosterior out{.chains = std::move(chains), .parameters = {}, .facts = {}, .laplace_sd = {}};
  out.parameters = summarise(names, out.chains);
  return out;
}

}  // namespace mlo::test
