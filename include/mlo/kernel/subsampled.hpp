// Copyright (c) the mlo authors. BSD-3-Clause.
// Metropolis-Hastings whose log-likelihood ratio is estimated from a subsample of the rows: composed of a
// proposal, a source of rows, a decision rule and an estimator of the ratio. [paper, Algorithms 2 and 3, and
// its uniform baseline; with control variates the method `difference`]
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "mlo/kernel/decision.hpp"
#include "mlo/kernel/estimator.hpp"
#include "mlo/kernel/kernel.hpp"
#include "mlo/kernel/move.hpp"
#include "mlo/kernel/proposal.hpp"
#include "mlo/model/model.hpp"
#include "mlo/subsample/row_source.hpp"

namespace mlo {

template <Model M, Proposal P, RowSource S, Decision R, Estimator E = PlainDifference<M>>
class SubsampledKernel {
 public:
  SubsampledKernel(const M& model, P proposal, S source, R rule, E estimator)
      : model_(&model),
        move_(std::move(proposal), model.dim()),
        source_(std::move(source)),
        rule_(std::move(rule)),
        estimator_(std::move(estimator)) {}
  SubsampledKernel(const M& model, P proposal, S source, R rule) requires std::constructible_from<E, const M&>
      : SubsampledKernel(model, std::move(proposal), std::move(source), std::move(rule), E(model)) {}

  // That of its rule.
  [[nodiscard]] Promise promise() const { return rule_.promise(); }

  StepInfo step(ChainState& state, const StepId& id) {
    StepInfo info;
    const Params theta = params(state.theta);
    if (move_.propose(*model_, theta, id, info)) {
      const double n = static_cast<double>(model_->rows());
      const double rho =
          move_.log_prior() - model_->log_prior(theta) + move_.log_q() + estimator_.known(theta, move_.to());
      Stream decision_stream = id.stream(Purpose::decision);
      const bool with_replacement = source_.with_replacement();
      read_rows(id, theta,
                {.rho = rho,
                 .rows = n,
                 .with_replacement = with_replacement,
                 .term_bound = term_bound(theta),
                 .stream = &decision_stream});
      const TermMoments& seen = rule_.seen();
      info.rows_read = seen.count;
      info.log_ratio = n * seen.mean() + rho;
      info.finite = std::isfinite(info.log_ratio);
      // A single row says nothing about its noise.
      info.noise_sd = seen.count == 1 && n > 1 ? std::numeric_limits<double>::quiet_NaN()
                                               : n * std::sqrt(seen.variance_of_mean(n, with_replacement));
      info.accepted = info.finite && rule_.accept();
      if (info.accepted) state.theta = vector(move_.to());
    }
    move_.adapt(state);
    return info;
  }

  void freeze() { move_.freeze(); }
  void save(std::vector<double>& out) const { move_.save(out); }
  void load(std::span<const double> in) { move_.load(in); }

 private:
  void read_rows(const StepId& id, Params theta, const Trial& trial) {
    Stream row_stream = id.stream(Purpose::rows);
    source_.begin();
    rule_.begin(trial);
    for (std::size_t wanted = rule_.wants(); wanted > 0; wanted = rule_.wants()) {
      const std::size_t count = std::min(row_batch, wanted);
      const std::span<RowId> ids(ids_.data(), count);
      const std::span<double> terms(terms_.data(), count);
      source_.draw(row_stream, ids, {factors_.data(), count});
      if constexpr (requires { model_->prefetch(ids); }) model_->prefetch(ids);
      estimator_.terms(theta, move_.to(), ids, terms);
      for (std::size_t k = 0; k < count; ++k) terms[k] *= factors_[k];
      rule_.see(terms);
    }
  }

  [[nodiscard]] double term_bound(Params theta) {
    if constexpr (requires { estimator_.term_bound(theta, theta); })
      if (rule_.needs_term_bound()) return estimator_.term_bound(theta, move_.to());
    return std::numeric_limits<double>::quiet_NaN();
  }

  const M* model_;
  Move<P> move_;
  S source_;
  R rule_;
  E estimator_;
  std::array<RowId, row_batch> ids_;
  std::array<double, row_batch> factors_, terms_;
};

}  // namespace mlo
