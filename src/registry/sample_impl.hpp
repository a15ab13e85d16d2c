// Copyright (c) the mlo authors. BSD-3-Clause.
// The body of sample(): included by one small .cpp a model, so that they compile side by side. What does not
// depend on the model is in sample.cpp.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "mlo/base/errors.hpp"
#include "mlo/chain/start.hpp"
#include "mlo/diagnose/summary.hpp"
#include "mlo/kernel/block.hpp"
#include "mlo/kernel/consensus.hpp"
#include "mlo/kernel/estimator.hpp"
#include "mlo/kernel/exact.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/kernel/subsampled.hpp"
#include "mlo/kernel/weierstrass.hpp"
#include "mlo/model/check_terms.hpp"
#include "mlo/model/mode.hpp"
#include "mlo/model/sufficient.hpp"
#include "mlo/subsample/row_bounds.hpp"
#include "mlo/subsample/row_source.hpp"
#include "mlo/subsample/weights.hpp"
#include "registry/composition.hpp"
#include "registry/parts.hpp"
#include "registry/sample.hpp"

namespace mlo {
namespace detail {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// "1, 2.5" as numbers, as many as wanted. Throws UsageError naming the option.
[[nodiscard]] std::vector<double> numbers(const std::string& list, const std::string& option,
                                          std::size_t wanted);

struct SubsampleSizes {
  std::size_t size, max;
};
// The sizes the user gave, or defaults, checked against the number of rows.
[[nodiscard]] SubsampleSizes subsample_sizes(const FitOptions& options, const std::string& method,
                                             std::size_t rows);

// The parts that do not depend on the model's type. Each adds a note on what was chosen.
[[nodiscard]] AnyProposal make_proposal(const Laplace& laplace, const Eigen::MatrixXd& user_jacobian,
                                        const FitOptions& options, const std::string& method,
                                        std::vector<std::string>& notes);
[[nodiscard]] AnyRule make_rule(const Composition& parts, const SubsampleSizes& sizes,
                                const FitOptions& options, std::size_t rows, std::vector<std::string>& notes);
[[nodiscard]] NoiseEffect noise_effect(Rule rule) noexcept;
[[nodiscard]] BlockOptions block_options(const FitOptions& options, std::size_t rows);
inline constexpr std::int64_t default_shards = 8;
[[nodiscard]] ExactOptions exact_options(const FitOptions& options, const ChainOptions& chain);

// What a step costs, roughly: `auto` chooses by it. Not by a clock, or the same options would not give the
// same draws.
struct Costs {
  std::size_t dim;
  double rows;    // read a step
  bool all_rows;  // in order, or at random
};
[[nodiscard]] double step_nanoseconds(const Costs& costs) noexcept;
// `auto` reads all rows rather than approximate, up to here.
inline constexpr double affordable_seconds = 300;

template <class M>
struct FamilyOf {
  using type = void;
};
template <class F>
struct FamilyOf<Glm<F>> {
  using type = F;
};
template <class M>
concept Expandable = BoundedRemainder<typename FamilyOf<M>::type>;

// Points to the model's expansion; to nothing where there is none.
template <class M>
struct ExpansionOf {
  using type = std::nullptr_t;
};
template <Expandable M>
struct ExpansionOf<M> {
  using type = std::shared_ptr<const Expansion<typename CurveOf<typename FamilyOf<M>::type>::type>>;
};

// The draws against a short chain on all rows with random numbers of its own.
template <class M>
void compare_with_full(const M& model, const Laplace& laplace, const SampleJob& job,
                       const std::vector<ChainRecord>& records, AuditReport& audit) {
  constexpr ChainOptions short_chain{.seed = 0, .chains = 1, .warmup = 100, .draws = 1000, .thin = 1};
  ChainOptions chain = short_chain;
  chain.seed = ~job.chain.seed;
  RunControl control(1, job.watcher->interrupt);
  std::vector<ChainRecord> full;
  run_chains(
      model, job.threads, chain, full, control, {},
      [&](ThreadPool& pool) { return FullKernel(model, AnyProposal(LaplaceProposal(laplace, {})), pool); },
      [&](std::size_t) { return laplace.mode; });
  std::size_t draws = records[0].size();
  for (const ChainRecord& record : records) draws = std::min(draws, record.size());
  audit.full_draws = full[0].size();
  audit.sd_ratio_low = std::numeric_limits<double>::infinity();
  if (draws < 10 || full[0].size() < 10) return;  // interrupted
  const auto found = summarise(model.names(), records), reference = summarise(model.names(), full);
  for (std::size_t j = 0; j < model.dim(); ++j) {
    const ParameterSummary &a = found[j], &b = reference[j];
    audit.sd_ratio_low = std::min(audit.sd_ratio_low, a.sd / b.sd);
    audit.sd_ratio_high = std::max(audit.sd_ratio_high, a.sd / b.sd);
    audit.worst_z = std::max(audit.worst_z, std::abs(a.mean - b.mean) / std::hypot(a.mcse_mean, b.mcse_mean));
  }
}

// One fit of one model: finds the mode, chooses the method, makes its kernel and runs the chains.
template <class M>
class Sampler {
 public:
  Sampler(const M& model, const SampleJob& job, std::vector<ChainRecord>& records)
      : model_(model),
        job_(job),
        options_(job.options),
        records_(records),
        pool_(job.threads),
        map_(find_mode(model, pool_)),
        laplace_(map_.theta, map_.information),
        jacobian_(model.user_jacobian(params(map_.theta))) {
    outcome_.passes = map_.passes;
    const Eigen::MatrixXd covariance = jacobian_ * laplace_.covariance() * jacobian_.transpose();
    for (Eigen::Index j = 0; j < covariance.rows(); ++j)
      outcome_.laplace_sd.push_back(std::sqrt(covariance(j, j)));
  }

  SampleOutcome run() {
    choose_method();
    if (outcome_.method == "exact") {
      run_exact();
    } else if (outcome_.method == "full") {
      const AnyProposal proposal = make_proposal();
      run_chains_of([&](ThreadPool& pool) { return FullKernel(model_, proposal, pool); });
    } else if (is_sharded(outcome_.method)) {
      run_sharded();
    } else if (outcome_.method == "block") {
      run_block();
    } else {
      run_composed(*composition(options_, outcome_.method));
    }
    audit();
    return std::move(outcome_);
  }

 private:
  // Of four chains, whatever their number: a chain must not depend on how many others there are.
  [[nodiscard]] double steps() const { return 4 * static_cast<double>(job_.chain.steps()); }
  void note(std::string text) { outcome_.notes.push_back(std::move(text)); }
  [[nodiscard]] AnyProposal make_proposal() {
    return detail::make_proposal(laplace_, jacobian_, options_, outcome_.method, outcome_.notes);
  }

  // Settles outcome_.method; for `auto` with its reason.
  void choose_method() {
    const bool automatic = options_.method == "auto";
    outcome_.method = options_.method;
    const auto choose = [&](const std::string& method, const std::string& why) {
      outcome_.method = method;
      note(fmt::format("method {}: {}", method, why));
    };
    if constexpr (SufficientStatistics<M>) {
      if (automatic) choose("exact", "a gaussian likelihood is a function of a few sums; no row is read");
    } else if constexpr (Expandable<M>) {
      if (!automatic && options_.method != "exact") return;
      make_expansion(static_cast<int>(options_.order.value_or(0)));
      const auto n = static_cast<double>(model_.rows());
      const double rows = expansion_->expected_rows();
      if (automatic) {
        if (step_nanoseconds({model_.dim(), rows, false}) < step_nanoseconds({model_.dim(), n, true})) {
          choose("exact",
                 fmt::format("the exact posterior from about {:.2g} of {} rows a step", rows, model_.rows()));
        } else {
          choose("full",
                 fmt::format("the bounds of exact would ask for {:.2g} of {} rows a step: as well read all",
                             rows, model_.rows()));
        }
      }
      if (outcome_.method == "exact")
        note(fmt::format("control variates of order {}; {:.2g} rows a step expected", expansion_->order,
                         rows));
    } else if (automatic) {
      const double seconds =
          1e-9 * steps() * step_nanoseconds({model_.dim(), static_cast<double>(model_.rows()), true});
      const std::string cost = fmt::format(
          "exact has no bounds for a model whose second parameter is estimated, and full, which reads all "
          "rows, takes about {:.2g} s on one core",
          seconds);
      if (seconds > affordable_seconds) {
        choose("difference", cost + ": an approximation with little noise instead");
      } else {
        choose("full", cost);
      }
    }
  }

  void make_expansion(int order) requires Expandable<M> {
    expansion_ = std::make_shared<const typename ExpansionOf<M>::type::element_type>(
        expand(model_, pool_, map_, {.order = order, .steps = steps()}));
    outcome_.passes += expansion_->passes;
  }

  void run_exact() {
    if constexpr (SufficientStatistics<M>) {
      const Summarised<M> summarised(model_, map_);
      const AnyProposal proposal = make_proposal();
      run_chains_of([&](ThreadPool& pool) { return FullKernel(summarised, proposal, pool); });
    } else if constexpr (Expandable<M>) {
      const ExactOptions exact = exact_options(options_, job_.chain);
      note(options_.proposal == "random-walk"
               ? "proposal: random-walk, shaped like the Laplace fit"
               : "proposal: laplace (pCN around the Laplace fit), with some random walks");
      run_chains_of([&](ThreadPool& pool) { return ExactKernel(model_, expansion_, exact, pool); });
    }
  }

  // A rule, an estimator and a source of rows.
  void run_composed(const Composition& parts) {
    const bool variates = parts.estimator == "control-variates";
    if (variates) check_expansion(model_, pool_, params(map_.evaluated_at), laplace_.cholesky);
    const AnyRows rows = make_rows(parts);
    const SubsampleSizes sizes = subsample_sizes(options_, outcome_.method, model_.rows());
    const AnyRule rule = make_rule(parts, sizes, options_, model_.rows(), outcome_.notes);
    outcome_.promise = rule.promise();
    outcome_.noise = noise_effect(parts.rule);
    const AnyProposal proposal = make_proposal();
    const auto with = [&](const auto& estimator) {
      run_chains_of([&](ThreadPool&) {
        return SubsampledKernel(model_, proposal, rows, rule, AnyEstimator<M>(estimator));
      });
    };
    if (variates) note("control variates of order 2 about the mode");
    const PlainDifference plain(model_);
    if (parts.rule == Rule::confidence) {
      if constexpr (Expandable<M>) {
        const auto bounds = std::make_shared<const RowBounds>(
            row_bounds(model_, pool_, map_.evaluated_at, laplace_.cholesky, variates ? 2 : 0));
        outcome_.passes += 1;
        variates ? with(Bounded(control_variates(), bounds)) : with(Bounded(plain, bounds));
      } else {
        throw UsageError(
            "--method confidence needs a bound on what one row can say, which this family has not; use "
            "--method austerity or auto");
      }
    } else {
      variates ? with(control_variates()) : with(plain);
    }
  }
  [[nodiscard]] ControlVariates<M> control_variates() const {
    return ControlVariates(model_, map_.evaluated_at, map_.likelihood);
  }

  [[nodiscard]] AnyRows make_rows(const Composition& parts) {
    const char* const how = parts.replacement ? "with" : "without";
    if (parts.weights == "uniform") {
      note(fmt::format("rows drawn uniformly, {} replacement", how));
      if (!parts.replacement) return WithoutReplacement(model_.rows());
      return with_replacement(std::vector<double>(model_.rows(), 1.0));
    }
    if (parts.weights == "remainder") {
      const double share = options_.uniform_share.value_or(0.2);
      outcome_.passes += remainder_passes<M>;
      note(fmt::format("rows drawn with remainder weights, of which a share of {} uniform", share));
      return with_replacement(
          remainder_probabilities(model_, pool_, params(map_.evaluated_at), laplace_.cholesky, share));
    }
    const double share = options_.uniform_share.value_or(1e-3);
    const Eigen::VectorXd theta = weights_point();
    outcome_.passes += 1;
    note(fmt::format("rows drawn with {} weights at {}, of which a share of {} uniform", parts.weights,
                     options_.weights_at ? "\"" + *options_.weights_at + "\"" : "the MLE", share));
    return with_replacement(subsampling_probabilities(model_, pool_,
                                                      parts.weights == "mlo" ? Weights::mlo : Weights::score,
                                                      params(theta), map_.information, share));
  }
  static AnyRows with_replacement(const std::vector<double>& probabilities) {
    return WithReplacement(std::make_shared<const WeightedRows>(probabilities));
  }

  // theta at which the weights are taken, in working coordinates.
  [[nodiscard]] Eigen::VectorXd weights_point() {
    const std::string at = options_.weights_at.value_or("mle");
    if (at == "map") return map_.theta;
    if (at == "mle") {
      const Mode mle = find_mode(model_, pool_, {.of = ModeOf::likelihood}, &map_);
      outcome_.passes += mle.passes;
      return mle.theta;
    }
    const std::vector<double> user = numbers(at, "--weights-at", model_.dim());
    Eigen::VectorXd theta(static_cast<Eigen::Index>(model_.dim()));
    model_.to_working(user, {theta.data(), model_.dim()});
    if (!std::isfinite(model_.log_prior(params(theta))))
      throw UsageError(fmt::format("--weights-at \"{}\": the prior density is 0 there", at));
    return theta;
  }

  // Chains on shards of the rows, put together step by step.
  void run_sharded() {
    const Shards<M> shards(model_, static_cast<std::size_t>(options_.shards.value_or(default_shards)), map_,
                           pool_);
    outcome_.passes += shards.passes();
    outcome_.promise = Promise::approximate;
    outcome_.warnings.insert(outcome_.warnings.end(), shards.warnings().begin(), shards.warnings().end());
    note(fmt::format("{} shards of {} rows{}, each with the prior to the power 1/{}", shards.size(),
                     model_.rows() / shards.size(), model_.rows() % shards.size() == 0 ? "" : " or one more",
                     shards.size()));
    if (outcome_.method == "consensus") {
      const ConsensusOptions consensus{.warmup = job_.chain.warmup};
      run_chains_of([&](ThreadPool& pool) { return ConsensusKernel<M>(shards, consensus, pool); });
    } else {
      WeierstrassOptions weierstrass;
      weierstrass.bandwidth = options_.bandwidth.value_or(weierstrass.bandwidth);
      note(fmt::format("bandwidth {}: the draws' variance is about {:.3g} times the posterior's",
                       weierstrass.bandwidth, 1 + weierstrass.bandwidth * weierstrass.bandwidth));
      if (weierstrass.bandwidth > 0.5)
        outcome_.warnings.push_back(fmt::format(
            "a bandwidth of {} widens the draws' spread {:.3g} times: these intervals are not the "
            "posterior's; use a smaller --bandwidth or --method auto",
            weierstrass.bandwidth, std::hypot(1, weierstrass.bandwidth)));
      run_chains_of([&](ThreadPool& pool) { return WeierstrassKernel<M>(shards, weierstrass, pool); });
    }
  }

  // A subsample that is part of the chain's state.
  void run_block() {
    check_expansion(model_, pool_, params(map_.evaluated_at), laplace_.cholesky);
    const BlockOptions block = block_options(options_, model_.rows());
    outcome_.promise = Promise::approximate;
    outcome_.noise = NoiseEffect::corrected;
    note(fmt::format("{} rows a step in {} blocks, of which one is drawn anew", block.subsample_size,
                     block.blocks));
    const AnyProposal proposal = make_proposal();
    run_chains_of([&](ThreadPool&) {
      return BlockKernel(model_, map_.evaluated_at, map_.likelihood, proposal, block);
    });
  }

  // Runs or continues the chains. Nothing but the sampling can fail any more.
  template <class MakeKernel>
  void run_chains_of(const MakeKernel& make_kernel) {
    const FitWatcher& watcher = *job_.watcher;
    outcome_.mode_seconds = seconds_since(started_);
    if (watcher.interrupt != nullptr && watcher.interrupt->load()) throw Interrupted();
    RunControl control(job_.chain.chains, watcher.interrupt);
    for (std::size_t c = 0; c < records_.size(); ++c) control.chains[c].steps = records_[c].iteration;
    if (job_.before_sampling) job_.before_sampling();
    const auto sample_start = Clock::now();
    if (watcher.sampling) watcher.sampling(control, job_.chain);
    const auto finish = [&] {
      if (watcher.sampled) watcher.sampled();
      outcome_.sample_seconds = seconds_since(sample_start);
    };
    try {
      run_chains(model_, job_.threads, job_.chain, records_, control, job_.checkpoint, make_kernel,
                 [&](std::size_t chain) {
                   return options_.start == "mode"
                              ? laplace_.mode
                              : overdispersed_start(model_, laplace_, job_.chain.seed, chain);
                 });
    } catch (...) {
      finish();
      throw;
    }
    finish();
  }

  void audit() {
    if (!options_.audit) return;
    if (outcome_.method != "exact") {
      note("audit: every step reads all rows, so there is nothing to compare");
      return;
    }
    outcome_.audit.done = true;
    for (const ChainRecord& record : records_) {
      outcome_.audit.steps += record.account.audited;
      outcome_.audit.worst_error = std::max(outcome_.audit.worst_error, record.account.audit_error);
    }
    if (job_.watcher->phase) job_.watcher->phase("auditing against all rows", 0);
    compare_with_full(model_, laplace_, job_, records_, outcome_.audit);
  }

  const Clock::time_point started_ = Clock::now();
  const M& model_;
  const SampleJob& job_;
  const FitOptions& options_;
  std::vector<ChainRecord>& records_;
  ThreadPool pool_;
  Mode map_;
  Laplace laplace_;
  Eigen::MatrixXd jacobian_;  // of the user's parameters at the mode
  typename ExpansionOf<M>::type expansion_ = nullptr;
  SampleOutcome outcome_;
};

}  // namespace detail

template <class M>
SampleOutcome sample(const M& model, const SampleJob& job, std::vector<ChainRecord>& records) {
  if (job.watcher->phase) job.watcher->phase("finding the mode", 0);
  if (job.options.method != "auto")
    static_cast<void>(detail::subsample_sizes(job.options, job.options.method, model.rows()));
  return detail::Sampler<M>(model, job, records).run();
}

}  // namespace mlo
