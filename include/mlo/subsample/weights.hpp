// Copyright (c) the mlo authors. BSD-3-Clause.
// Subsampling probabilities. METHODS: each is "most likely optimal", computed once, at a fixed theta.
#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <string_view>
#include <vector>

#include "mlo/base/thread_pool.hpp"
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

}  // namespace mlo
