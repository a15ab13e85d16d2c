// Copyright (c) the mlo authors. BSD-3-Clause.
// Divided data: all shards of a model, each with a normal fit to its posterior. Made once per run and shared,
// read-only, by its chains.
#pragma once

#include <Eigen/Dense>
#include <cstddef>
#include <string>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/base/thread_pool.hpp"
#include "mlo/kernel/proposal.hpp"
#include "mlo/model/mode.hpp"
#include "mlo/model/model.hpp"
#include "mlo/model/shard.hpp"

namespace mlo {

template <TwiceDifferentiable M>
class Shards {
 public:
  // `whole`: the mode of the posterior of all rows, where the search for each shard's mode begins. Throws
  // UsageError unless 1 <= count <= rows.
  Shards(const M& model, std::size_t count, const Mode& whole, ThreadPool& pool) {
    if (count < 1 || count > model.rows())
      throw UsageError("the number of shards must be between 1 and the number of rows, " +
                       std::to_string(model.rows()) + " (got " + std::to_string(count) + ")");
    shards_.reserve(count);
    fits_.reserve(count);
    for (std::size_t s = 0; s < count; ++s) {
      shards_.emplace_back(model, s, count);
      fits_.push_back(fit(s, count, whole, pool));
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return shards_.size(); }
  [[nodiscard]] std::size_t dim() const noexcept { return shards_.front().dim(); }
  [[nodiscard]] const Shard<M>& operator[](std::size_t s) const { return shards_[s]; }
  // N(mode, inverse information) of the shard's posterior.
  [[nodiscard]] const Laplace& fit(std::size_t s) const { return fits_[s]; }
  // The cost of the fits, in passes over all rows.
  [[nodiscard]] double passes() const noexcept { return passes_; }
  // One sentence for each shard without a mode. Its posterior may not even be proper; the draws are then of
  // little use, and a report should say so.
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  [[nodiscard]] Laplace fit(std::size_t s, std::size_t count, const Mode& whole, ThreadPool& pool) {
    const Shard<M>& shard = shards_[s];
    const double share = 1 / static_cast<double>(count);
    Mode start;
    start.evaluated_at = whole.theta;
    start.likelihood = sum_derivatives(shard, pool, params(whole.theta), Rows::range(0, shard.rows()));
    passes_ += share;
    try {
      const Mode own = find_mode(shard, pool, {}, &start);
      passes_ += own.passes * share;
      return {own.theta, own.information};
    } catch (const ModelError& error) {
      warnings_.push_back("shard " + std::to_string(s + 1) + " of " + std::to_string(count) +
                          " has no mode of its own (" + error.what() +
                          "); its proposals are fitted at the mode of all rows instead, and its draws may be "
                          "far off: use fewer shards");
    }
    // At the mode of all rows the shard's own curvature is the better guide, as long as it is positive.
    Derivatives here = start.likelihood;
    shard.add_prior_derivatives(params(whole.theta), here);
    const Eigen::LLT<Eigen::MatrixXd> cholesky(here.information);
    constexpr double singular = 1e-11;  // rounding can make a singular matrix look positive
    if (cholesky.info() == Eigen::Success && cholesky.rcond() > singular)
      return {whole.theta, here.information};
    return {whole.theta, whole.information / static_cast<double>(count)};
  }

  std::vector<Shard<M>> shards_;
  std::vector<Laplace> fits_;
  std::vector<std::string> warnings_;
  double passes_ = 0;
};

}  // namespace mlo
