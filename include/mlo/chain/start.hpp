// Copyright (c) the mlo authors. BSD-3-Clause.
// Where a chain starts.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/kernel/proposal.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

// A draw from the Laplace fit with 1.5 times its spread, so that R-hat can detect chains that have not mixed;
// closer to the mode if the density is 0 there (a negative precision).
template <class M>
[[nodiscard]] Eigen::VectorXd overdispersed_start(const M& model, const Laplace& fit, std::uint64_t seed,
                                                  std::uint64_t chain) {
  Stream stream({.seed = seed, .chain = chain, .purpose = Purpose::start, .iteration = 0});
  Eigen::VectorXd v(fit.mode.size());
  normals(stream, {v.data(), static_cast<std::size_t>(v.size())});
  const Rows some = Rows::range(0, std::min<std::size_t>(model.rows(), 100));
  std::vector<double> terms(some.size());
  for (double spread = 1.5; spread > 0.01; spread /= 2) {
    Eigen::VectorXd start = fit.from_white(spread * v);
    double density = model.log_prior(params(start));
    model.log_likelihoods(params(start), some, terms);
    for (const double term : terms) density += term;
    if (std::isfinite(density)) return start;
  }
  return fit.mode;
}

}  // namespace mlo
