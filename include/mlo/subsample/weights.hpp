// Copyright (c) the mlo authors. BSD-3-Clause.
// Subsampling probabilities. METHODS: each is "most likely optimal", computed once, at a fixed theta.
#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/model/check_terms.hpp"
#include "mlo/model/mode.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

enum class Weights {
  uniform,  // 1
  mlo,      // |l_i(theta)|: the paper; smallest variance of the log-likelihood itself
  score,    // |L^-1 grad l_i(theta)|, H = L L': smallest variance of its change over a posterior-sized move
};

// Turns sizes >= 0 into probabilities: the given share is uniform, the rest in proportion to the sizes.
// Throws ModelError if a probability is 0: the estimate would not be unbiased.
void to_probabilities(std::span<double> sizes, double uniform_share);

// Probabilities of all rows by the given scheme at theta. `information` is used by score alone.
template <Differentiable M>
[[nodiscard]] std::vector<double> subsampling_probabilities(const M& model, ThreadPool& pool, Weights scheme,
                                                            Params theta, const Eigen::MatrixXd& information,
                                                            double uniform_share) {
  std::vector<double> sizes(model.rows(), 1.0);
  const Eigen::LLT<Eigen::MatrixXd> chol(information);
  if (scheme != Weights::uniform) {
    const std::size_t blocks = (sizes.size() + rows_per_block - 1) / rows_per_block;
    pool.run(blocks, [&](std::size_t b) {
      const std::size_t first = b * rows_per_block;
      const auto out = std::span(sizes).subspan(first, std::min(rows_per_block, sizes.size() - first));
      const Rows rows = Rows::range(first, out.size());
      if (scheme == Weights::mlo) {
        model.log_likelihoods(theta, rows, out);
        for (double& s : out) s = std::abs(s);
      } else {
        Eigen::MatrixXd gradients;
        model.gradients(theta, rows, gradients);
        const Eigen::VectorXd norms = chol.matrixL().solve(gradients.transpose()).colwise().norm();
        for (std::size_t k = 0; k < out.size(); ++k) out[k] = norms[static_cast<Eigen::Index>(k)];
      }
    });
  }
  to_probabilities(sizes, scheme == Weights::uniform ? 1.0 : uniform_share);
  return sizes;
}

// Probabilities for the remainders of control variates about `centre`: in proportion to the root mean square
// of r_i(centre -> theta) over a few random moves theta of the posterior's size, sqrt(p) standard deviations,
// because the variance of an estimate is smallest with probabilities in proportion to the sizes of its terms.
// `cholesky` is L of the information L L'. One pass over the rows a probe. A row that the probes happen to
// miss is weighed too low, which is what the uniform share is for: the variance is never more than that of
// uniform weights divided by the share.
//
// Measured, rows needed for a noise of 0.1, logistic, 20,000 rows, p = 3, 11, 31: normal columns: uniform
// 0.2, 5.5, 200; 3 probes 0.08, 8.2, 310; 6 probes 0.08, 5.7, 230. Columns sinh(2 z), heavy-tailed: uniform
// 105, 31,000, 11 million; 3 probes 0.6, 130, 8,600; 6 probes 0.5, 118, 4,000.
template <ExpandableModel M>
[[nodiscard]] std::vector<double> remainder_probabilities(const M& model, ThreadPool& pool, Params centre,
                                                          const Eigen::MatrixXd& cholesky,
                                                          double uniform_share = 0.2,
                                                          std::uint64_t probes = 6) {
  std::vector<double> sizes(model.rows());
  std::vector<Eigen::VectorXd> moves;
  const double length = std::sqrt(static_cast<double>(model.dim()));
  for (std::uint64_t k = 0; k < probes; ++k) moves.push_back(probe(centre, cholesky, k, length));
  pool.run((sizes.size() + rows_per_block - 1) / rows_per_block, [&](std::size_t b) {
    const std::size_t first = b * rows_per_block;
    const auto out = std::span(sizes).subspan(first, std::min(rows_per_block, sizes.size() - first));
    std::vector<double> remainders(out.size());
    for (const Eigen::VectorXd& to : moves) {
      log_likelihood_remainders(model, centre, centre, params(to), first, 1, remainders);
      // A probe outside the support says nothing.
      for (std::size_t k = 0; k < out.size(); ++k)
        if (std::isfinite(remainders[k])) out[k] += remainders[k] * remainders[k];
    }
    for (double& s : out) s = std::sqrt(s);
  });
  to_probabilities(sizes, uniform_share);
  return sizes;
}

}  // namespace mlo
