// Copyright (c) the mlo authors. BSD-3-Clause.
// The body of sample(): included by one small .cpp a model, so that they compile side by side.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>

#include "mlo/base/errors.hpp"
#include "mlo/diagnose/summary.hpp"
#include "mlo/kernel/decision.hpp"
#include "mlo/kernel/estimator.hpp"
#include "mlo/kernel/exact.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/kernel/penalty.hpp"
#include "mlo/kernel/proposal.hpp"
#include "mlo/kernel/subsampled.hpp"
#include "mlo/model/check_terms.hpp"
#include "mlo/model/mode.hpp"
#include "mlo/model/sufficient.hpp"
#include "mlo/subsample/row_source.hpp"
#include "mlo/subsample/weights.hpp"
#include "registry/sample.hpp"

namespace mlo {
namespace detail {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

[[nodiscard]] std::vector<double> numbers(const std::string& list, const std::string& option,
                                          std::size_t wanted);

struct SubsampleSizes {
  std::size_t size, max;
};
// The sizes the user gave, or defaults, checked against the number of rows.
[[nodiscard]] SubsampleSizes subsample_sizes(const FitOptions& options, const std::string& method,
                                             std::size_t rows);

// A proposal's factor F of theta' = theta + F z, in working coordinates.
template <class M>
Eigen::MatrixXd walk_factor(const M& model, const Laplace& laplace, const FitOptions& options) {
  const auto p = static_cast<Eigen::Index>(model.dim());
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(p, p);
  if (options.proposal_shape == "identity")
    return model.user_jacobian(params(laplace.mode)).inverse() * (*options.proposal_scale);
  const double scale = options.proposal_scale.value_or(2.38 / std::sqrt(static_cast<double>(p)));
  return scale * laplace.cholesky.transpose().template triangularView<Eigen::Upper>().solve(identity);
}

// theta at which the weights are taken, in working coordinates.
template <class M>
Eigen::VectorXd weights_point(const M& model, ThreadPool& pool, const FitOptions& options, const Mode& map,
                              SampleOutcome& outcome) {
  const std::string at = options.weights_at.value_or("mle");
  if (at == "map") return map.theta;
  if (at == "mle") {
    const Mode mle = find_mode(model, pool, {.of = ModeOf::likelihood}, &map);
    outcome.passes += mle.passes;
    return mle.theta;
  }
  const std::vector<double> user = numbers(at, "--weights-at", model.dim());
  Eigen::VectorXd theta(static_cast<Eigen::Index>(model.dim()));
  model.to_working(user, {theta.data(), model.dim()});
  if (!std::isfinite(model.log_prior(params(theta))))
    throw UsageError(fmt::format("--weights-at \"{}\": the prior density is 0 there", at));
  return theta;
}

template <class M>
WeightedRows weighted_rows(const M& model, ThreadPool& pool, const FitOptions& options, const Mode& map,
                           SampleOutcome& outcome) {
  const std::string scheme = options.weights.value_or(options.method == "uniform" ? "uniform" : "mlo");
  if (scheme == "uniform") {
    outcome.notes.emplace_back("rows drawn uniformly, with replacement");
    return WeightedRows(std::vector<double>(model.rows(), 1.0));
  }
  const double share = options.uniform_share.value_or(1e-3);
  const Eigen::VectorXd theta = weights_point(model, pool, options, map, outcome);
  outcome.passes += 1;
  outcome.notes.push_back(
      fmt::format("rows drawn with {} weights at {}, of which a share of {} uniform", scheme,
                  options.weights_at ? "\"" + *options.weights_at + "\"" : "the MLE", share));
  return WeightedRows(subsampling_probabilities(model, pool, scheme == "mlo" ? Weights::mlo : Weights::score,
                                                params(theta), map.information, share));
}

// Rows for `difference`, weighed by what its control variates leave over.
template <class M>
WeightedRows remainder_rows(const M& model, ThreadPool& pool, const FitOptions& options, const Mode& map,
                            const Laplace& laplace, SampleOutcome& outcome) {
  const Params centre = params(map.evaluated_at);
  check_expansion(model, pool, centre, laplace.cholesky);
  constexpr std::uint64_t probes = 6;
  const double share = options.uniform_share.value_or(0.2);
  outcome.passes += static_cast<double>(probes);
  outcome.notes.push_back(
      fmt::format("rows drawn with remainder weights, of which a share of {} uniform", share));
  return WeightedRows(remainder_probabilities(model, pool, centre, laplace.cholesky, share, probes));
}

// Chains start from the Laplace fit, a little overdispersed so that R-hat has something to see; or at its
// mode.
inline Eigen::VectorXd start_of(const Laplace& laplace, const FitOptions& options, std::uint64_t seed,
                                std::size_t chain) {
  if (options.start == "mode") return laplace.mode;
  constexpr double overdispersion = 1.5;
  Stream stream({.seed = seed, .chain = chain, .purpose = Purpose::start, .iteration = 0});
  Eigen::VectorXd v(laplace.mode.size());
  normals(stream, {v.data(), static_cast<std::size_t>(v.size())});
  return laplace.from_white(overdispersion * v);
}

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

// An empty pointer to the model's expansion; to nothing where there is none.
template <class M>
auto no_expansion() {
  if constexpr (Expandable<M>) {
    return std::shared_ptr<const Expansion<typename CurveOf<typename FamilyOf<M>::type>::type>>();
  } else {
    return nullptr;
  }
}

inline ExactOptions exact_options(const FitOptions& options, const ChainOptions& chain) {
  ExactOptions out;
  out.proposal.kind =
      options.proposal == "random-walk" ? WhiteProposal::Kind::random_walk : WhiteProposal::Kind::laplace;
  out.proposal.step = options.proposal_scale;
  out.thinning = options.thinning == "factorised" ? Thinning::factorised : Thinning::balanced;
  if (options.audit) {
    const double steps = static_cast<double>(std::max<std::uint64_t>(1, chain.draws * chain.thin));
    out.audit_share =
        options.audit_every ? 1 / static_cast<double>(*options.audit_every) : std::min(1.0, 50 / steps);
  }
  return out;
}

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
      [&](ThreadPool& pool) { return FullKernel(model, LaplaceProposal(laplace, {}), pool); },
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

}  // namespace detail

template <class M>
SampleOutcome sample(const M& model, const SampleJob& job, std::vector<ChainRecord>& records) {
  const FitOptions& options = job.options;
  const FitWatcher& watcher = *job.watcher;
  SampleOutcome outcome;
  const auto mode_start = detail::Clock::now();
  if (watcher.phase) watcher.phase("finding the mode", 0);
  ThreadPool pool(job.threads);
  if (options.method != "auto")
    static_cast<void>(detail::subsample_sizes(options, options.method, model.rows()));
  const Mode map = find_mode(model, pool);
  outcome.passes += map.passes;
  const Laplace laplace(map.theta, map.information);
  const Eigen::MatrixXd jacobian = model.user_jacobian(params(map.theta));
  const Eigen::MatrixXd covariance = jacobian * laplace.covariance() * jacobian.transpose();
  for (Eigen::Index j = 0; j < covariance.rows(); ++j)
    outcome.laplace_sd.push_back(std::sqrt(covariance(j, j)));

  // `exact` in its two forms, and `auto`'s choice between it and `full`.
  const bool wants_exact = options.method == "exact" || options.method == "auto";
  // Of four chains, whatever their number: a chain must not depend on how many others there are.
  const double steps = 4 * static_cast<double>(job.chain.steps());
  outcome.method = options.method == "auto" ? "full" : options.method;
  const auto chose = [&](const std::string& why) {
    if (options.method == "auto") outcome.notes.push_back(fmt::format("method {}: {}", outcome.method, why));
  };
  auto expansion = detail::no_expansion<M>();
  if constexpr (SufficientStatistics<M>) {
    if (wants_exact) {
      outcome.method = "exact";
      chose("a gaussian likelihood is a function of a few sums; no row is read");
    }
  } else if constexpr (detail::Expandable<M>) {
    if (wants_exact) {
      expansion = std::make_shared<const typename decltype(expansion)::element_type>(
          expand(model, pool, map, {.order = static_cast<int>(options.order.value_or(0)), .steps = steps}));
      outcome.passes += expansion->passes;
      const auto n = static_cast<double>(model.rows());
      const double rows = expansion->expected_rows();
      const bool cheaper = detail::step_nanoseconds({model.dim(), rows, false}) <
                           detail::step_nanoseconds({model.dim(), n, true});
      if (options.method == "exact" || cheaper) outcome.method = "exact";
      chose(outcome.method == "exact"
                ? fmt::format("the exact posterior from about {:.2g} of {} rows a step", rows, model.rows())
                : fmt::format("the bounds of exact would ask for {:.2g} of {} rows a step: as well read all",
                              rows, model.rows()));
      if (outcome.method == "exact")
        outcome.notes.push_back(
            fmt::format("control variates of order {}; {:.2g} rows a step expected", expansion->order, rows));
    }
  } else {
    if (options.method == "auto") {
      const double seconds =
          1e-9 * steps * detail::step_nanoseconds({model.dim(), static_cast<double>(model.rows()), true});
      const std::string cost = fmt::format(
          "exact has no bounds for a model whose second parameter is estimated, and full, which reads all "
          "rows, takes about {:.2g} s on one core",
          seconds);
      outcome.method = seconds > detail::affordable_seconds ? "difference" : "full";
      chose(outcome.method == "full" ? cost : cost + ": an approximation with little noise instead");
    }
  }
  const bool subsampled = outcome.method != "full" && outcome.method != "exact";
  const bool difference = outcome.method == "difference";
  const bool without_replacement =
      options.method == "uniform" ? options.replacement != "yes" : options.replacement == "no";
  std::shared_ptr<const WeightedRows> weighted;
  if (difference) {
    weighted = std::make_shared<const WeightedRows>(
        detail::remainder_rows(model, pool, options, map, laplace, outcome));
  } else if (subsampled && !without_replacement) {
    weighted =
        std::make_shared<const WeightedRows>(detail::weighted_rows(model, pool, options, map, outcome));
  }
  if (subsampled && without_replacement)
    outcome.notes.emplace_back("rows drawn uniformly, without replacement");
  const auto sizes = detail::subsample_sizes(options, outcome.method, model.rows());
  outcome.mode_seconds = detail::seconds_since(mode_start);
  if (watcher.interrupt != nullptr && watcher.interrupt->load()) throw Interrupted();

  RunControl control(job.chain.chains, watcher.interrupt);
  for (std::size_t c = 0; c < records.size(); ++c) control.chains[c].steps = records[c].iteration;
  const auto run = [&](const auto& make_kernel) {
    if (job.before_sampling) job.before_sampling();
    const auto sample_start = detail::Clock::now();
    if (watcher.sampling) watcher.sampling(control, job.chain);
    const auto finish = [&] {
      if (watcher.sampled) watcher.sampled();
      outcome.sample_seconds = detail::seconds_since(sample_start);
    };
    try {
      run_chains(
          model, job.threads, job.chain, records, control, job.checkpoint, make_kernel,
          [&](std::size_t chain) { return detail::start_of(laplace, options, job.chain.seed, chain); });
    } catch (...) {
      finish();
      throw;
    }
    finish();
  };
  // Type erasure, once a run: from here on every call is static.
  const auto with_rule = [&](const auto& proposal, const auto& source, const auto& rule) {
    outcome.promise = rule.promise;
    run([&](ThreadPool&) { return SubsampledKernel(model, proposal, source, rule); });
  };
  const auto with_source = [&](const auto& proposal, const auto& source) {
    if (difference) {
      const double target = options.noise_sd.value_or(0.1);
      outcome.notes.push_back(
          fmt::format("{} to {} rows a step, until the noise sd is below {}", sizes.size, sizes.max, target));
      const PenaltySize rule(model.rows(), {.pilot = sizes.size, .max = sizes.max, .noise_sd = target});
      const ControlVariates estimator(model, map.evaluated_at, map.likelihood);
      outcome.promise = rule.promise;
      run([&](ThreadPool&) { return SubsampledKernel(model, proposal, source, rule, estimator); });
    } else if (options.method == "mlo-adaptive") {
      outcome.notes.push_back(
          fmt::format("{} to {} rows a step, delta {}", sizes.size, sizes.max, options.delta.value_or(0.05)));
      with_rule(proposal, source,
                AdaptiveSize({.pilot = sizes.size, .max = sizes.max, .delta = options.delta.value_or(0.05)}));
    } else {
      outcome.notes.push_back(fmt::format("{} rows a step", sizes.size));
      with_rule(proposal, source, FixedSize(sizes.size));
    }
  };
  const auto with_proposal = [&](const auto& proposal) {
    if constexpr (SufficientStatistics<M>) {
      if (outcome.method == "exact") {
        const Summarised<M> summarised(model, map);
        run([&](ThreadPool& chain_pool) { return FullKernel(summarised, proposal, chain_pool); });
        return;
      }
    }
    if (!subsampled) {
      run([&](ThreadPool& chain_pool) { return FullKernel(model, proposal, chain_pool); });
    } else if (without_replacement) {
      with_source(proposal, WithoutReplacement(model.rows()));
    } else {
      with_source(proposal, WithReplacement(weighted));
    }
  };
  const std::string proposal =
      options.proposal.value_or(subsampled && !difference ? "random-walk" : "laplace");
  const auto with_options = [&] {
    if (proposal == "laplace") {
      outcome.notes.emplace_back("proposal: laplace (pCN around the Laplace fit)");
      with_proposal(LaplaceProposal(laplace, {.step = options.proposal_scale.value_or(1.0)}));
    } else {
      const Eigen::MatrixXd factor = detail::walk_factor(model, laplace, options);
      const double fallback = 2.38 / std::sqrt(static_cast<double>(model.dim()));
      outcome.notes.push_back(
          fmt::format("proposal: {}, scale {:.3g}, {}", proposal, options.proposal_scale.value_or(fallback),
                      options.proposal_shape == "identity" ? "the same for every parameter"
                                                           : "shaped like the Laplace fit"));
      if (proposal == "random-walk") {
        with_proposal(RandomWalkProposal(factor));
      } else {
        // With the shape `identity` the scale is that of the first steps alone: what is learnt has a scale of
        // its own.
        const bool first_only = options.proposal_shape == "identity";
        with_proposal(
            AdaptiveProposal(factor, first_only ? fallback : options.proposal_scale.value_or(fallback)));
      }
    }
  };
  if constexpr (detail::Expandable<M>) {
    if (outcome.method == "exact") {
      const ExactOptions exact = detail::exact_options(options, job.chain);
      outcome.notes.emplace_back(
          proposal == "laplace" ? "proposal: laplace (pCN around the Laplace fit), with some random walks"
                                : "proposal: random-walk, shaped like the Laplace fit");
      run([&](ThreadPool& chain_pool) { return ExactKernel(model, expansion, exact, chain_pool); });
    } else {
      with_options();
    }
  } else {
    with_options();
  }
  if (options.audit && outcome.method == "exact") {
    outcome.audit.done = true;
    for (const ChainRecord& record : records) {
      outcome.audit.steps += record.account.audited;
      outcome.audit.worst_error = std::max(outcome.audit.worst_error, record.account.audit_error);
    }
    if (watcher.phase) watcher.phase("auditing against all rows", 0);
    detail::compare_with_full(model, laplace, job, records, outcome.audit);
  } else if (options.audit) {
    outcome.notes.emplace_back("audit: every step reads all rows, so there is nothing to compare");
  }
  return outcome;
}

}  // namespace mlo
