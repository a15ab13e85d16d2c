// Copyright (c) the mlo authors. BSD-3-Clause.
// From a model to draws in one call, for users of the library with a model of their own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/base/thread_pool.hpp"
#include "mlo/chain/run.hpp"
#include "mlo/chain/start.hpp"
#include "mlo/kernel/estimator.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/kernel/mixed_proposal.hpp"
#include "mlo/kernel/penalty.hpp"
#include "mlo/kernel/proposal.hpp"
#include "mlo/kernel/subsampled.hpp"
#include "mlo/model/check_terms.hpp"
#include "mlo/model/mode.hpp"
#include "mlo/subsample/row_source.hpp"
#include "mlo/subsample/weights.hpp"

namespace mlo {

struct SampleOptions {
  ChainOptions chain = {};
  std::size_t threads = 1;
  LaplaceProposal::Options proposal = {};  // of sample_difference
};

// Of the method `difference`.
struct DifferenceOptions {
  double noise_sd = 0.1;                // rows are read until the noise of the log ratio is below this
  std::size_t pilot = 20;               // rows read in any case
  std::optional<std::size_t> max = {};  // rows read at most; default a twentieth of the rows, at least 1,000
  double uniform_share = 0.2;           // of the subsampling probabilities; the rest is remainder weights
};

struct Samples {
  Mode mode;
  std::vector<ChainRecord> chains;  // draws in the user's parameters
};

namespace detail {

// The mode, and words instead of a failed search where a term is no number.
template <class M>
[[nodiscard]] Mode checked_mode(const M& model, ThreadPool& pool) {
  const Eigen::VectorXd start = model.start();
  check_terms(model, pool, params(start), "the starting point");
  return find_mode(model, pool);
}

template <class M, class MakeKernel>
[[nodiscard]] std::vector<ChainRecord> run_from(const M& model, const Laplace& fit,
                                                const SampleOptions& options, const MakeKernel& make_kernel) {
  std::vector<ChainRecord> records;
  RunControl control(options.chain.chains);
  run_chains(model, options.threads, options.chain, records, control, {}, make_kernel,
             [&](std::size_t chain) { return overdispersed_start(model, fit, options.chain.seed, chain); });
  return records;
}

}  // namespace detail

// Metropolis-Hastings on all rows: exact, n rows a step. Throws ModelError if there is no mode to start from.
template <class M>
requires TwiceDifferentiable<M> && NamedModel<M>
[[nodiscard]] Samples sample_full(const M& model, const SampleOptions& options) {
  ThreadPool pool(options.threads);
  Samples out;
  out.mode = detail::checked_mode(model, pool);
  const Laplace fit(out.mode.theta, out.mode.information);
  const MixedProposal proposal(fit);
  out.chains = detail::run_from(
      model, fit, options, [&](ThreadPool& rows_pool) { return FullKernel(model, proposal, rows_pool); });
  return out;
}

// Control variates and remainder weights: a few rows a step, approximate, with a noise that the records
// account for. Throws ModelError if there is no mode, or if the terms are not smooth there.
template <class M>
requires TwiceDifferentiable<M> && NamedModel<M> && ExpandableModel<M>
[[nodiscard]] Samples sample_difference(const M& model, const SampleOptions& options,
                                        const DifferenceOptions& difference = {}) {
  if (difference.pilot < 2)
    throw UsageError("pilot must be at least 2 (got " + std::to_string(difference.pilot) + ")");
  if (!(difference.noise_sd > 0))
    throw UsageError("noise_sd must be positive (got " + std::to_string(difference.noise_sd) + ")");
  if (!(difference.uniform_share > 0 && difference.uniform_share <= 1))
    throw UsageError("uniform_share must be in (0, 1] (got " + std::to_string(difference.uniform_share) +
                     ")");
  ThreadPool pool(options.threads);
  Samples out;
  out.mode = detail::checked_mode(model, pool);
  const Laplace fit(out.mode.theta, out.mode.information);
  const Params centre = params(out.mode.evaluated_at);
  check_expansion(model, pool, centre, fit.cholesky);
  const auto rows = std::make_shared<const WeightedRows>(
      remainder_probabilities(model, pool, centre, fit.cholesky, difference.uniform_share));
  const LaplaceProposal proposal(fit, options.proposal);
  const PenaltySize rule(model.rows(),
                         {.pilot = difference.pilot,
                          .max = difference.max.value_or(std::max<std::size_t>(1000, model.rows() / 20)),
                          .noise_sd = difference.noise_sd});
  const ControlVariates estimator(model, out.mode.evaluated_at, out.mode.likelihood);
  out.chains = detail::run_from(model, fit, options, [&](ThreadPool&) {
    return SubsampledKernel(model, proposal, WithReplacement(rows), rule, estimator);
  });
  return out;
}

}  // namespace mlo
