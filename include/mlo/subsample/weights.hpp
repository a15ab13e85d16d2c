// Copyright (c) the mlo authors. BSD-3-Clause.
// Subsampling probabilities, computed once, at a fixed theta.
#pragma once

#include <Eigen/Dense>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/model/check_terms.hpp"
#include "mlo/model/curve.hpp"
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

// Probabilities of all rows by the given scheme at theta. Only score uses `information`.
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

// The default share of uniform weight: a guard against weights of 0 and, for remainders, whose sizes are
// estimates, a guard against errors of these.
inline constexpr double usual_uniform_share = 1e-3, usual_remainder_share = 0.2;

// Probabilities for the remainders of control variates about `centre`: in proportion to the root mean square
// of a row's remainder over the Laplace fit N(centre, (L L')^-1), because the variance of an estimate is
// smallest with probabilities in proportion to the sizes of its terms. `cholesky` is L. The uniform share
// limits the effect of poor weights: the variance is never more than that of uniform weights divided by the
// share.
//
// A term that is a curve f of t = w_i'v, w_i = L^-1 x_i, has a remainder of one normal variable,
// t ~ N(0, |w_i|^2): its mean square is an integral over a line, by the Gauss-Hermite rule with six nodes. To
// leading order it is (5/12) f'''^2 |w_i|^6, but rows far out are not small. One pass.
[[nodiscard]] std::vector<double> remainder_probabilities(const CurvedRows& model, ThreadPool& pool,
                                                          Params centre, const Eigen::MatrixXd& cholesky,
                                                          double uniform_share = usual_remainder_share);

// Passes over the rows, for the function above and for the one below.
inline constexpr double curved_remainder_passes = 1, probed_remainder_passes = 6;

// Any other model: the mean square over a few random moves of the posterior's size, sqrt(p) standard
// deviations. One pass per probe.
//
// Measured: rows needed for a noise sd of 0.1, logistic, 20,000 rows, p = 3, 11, 31: normal columns: uniform
// 0.07, 5.5, 180; 6 probes 0.03, 5.0, 210; the integral above 0.03, 3.6, 135. Columns sinh(2 z),
// heavy-tailed: uniform 92, 37,000, 5.8 million; 6 probes 0.6, 129, 4,200; the integral 0.5, 88, 2,400.
template <ExpandableModel M>
[[nodiscard]] std::vector<double> remainder_probabilities(const M& model, ThreadPool& pool, Params centre,
                                                          const Eigen::MatrixXd& cholesky,
                                                          double uniform_share = usual_remainder_share) {
  constexpr auto probes = static_cast<std::uint64_t>(probed_remainder_passes);
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
