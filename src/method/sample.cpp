// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/method/sample.hpp"

#include <algorithm>
#include <cmath>

#include "method/sampler.hpp"
#include "mlo/model/check_terms.hpp"

namespace mlo {

void run_composed(Sampler& sampler, const SubsamplePlan& plan);

Sampler::Sampler(const AnyModel& model, const Plan& plan, const SampleWatcher& watcher, Keeping keeping)
    : model_(model),
      plan_(plan),
      watcher_(watcher),
      keeping_(std::move(keeping)),
      pool_(plan.threads),
      modes_(find_modes(model, pool_)),
      map_(modes_.found[0].mode),
      laplace_(map_.theta, map_.information),
      jacobian_(model.user_jacobian(params(map_.theta))),
      summed_(model.summed(map_)) {
  out_.method = plan.method;
  out_.passes = modes_.passes;
  if (modes_.several()) out_.warnings.push_back(modes_warning(model, modes_));
  const Eigen::MatrixXd covariance = jacobian_ * laplace_.covariance() * jacobian_.transpose();
  for (Eigen::Index j = 0; j < covariance.rows(); ++j) out_.laplace_sd.push_back(std::sqrt(covariance(j, j)));
}

void Sampler::note(std::string text) { out_.notes.push_back(std::move(text)); }

void Sampler::before_sampling() {
  out_.mode_seconds = timer_.seconds();
  if (watcher_.interrupted()) throw Interrupted();
  if (keeping_.before_sampling) keeping_.before_sampling();
}

void Sampler::complete_log_posteriors() {
  if (out_.log_posterior.empty()) out_.log_posterior = "of all rows";
  constexpr std::size_t block = 256;  // draws at a time: a product of matrices, not of vectors
  const auto p = static_cast<Eigen::Index>(model_.dim());
  for (ChainRecord& record : keeping_.records) {
    const auto unknown = [](double value) { return std::isnan(value); };
    if (std::none_of(record.log_posteriors.begin(), record.log_posteriors.end(), unknown)) continue;
    out_.log_posterior = "by a Taylor polynomial of order 2 about the mode, not of all rows";
    pool_.run((record.size() + block - 1) / block, [&](std::size_t task) {
      const std::size_t first = task * block, count = std::min(block, record.size() - first);
      Eigen::MatrixXd away(p, static_cast<Eigen::Index>(count));
      for (std::size_t k = 0; k < count; ++k) {
        double* const theta = away.col(static_cast<Eigen::Index>(k)).data();
        model_.to_working({record.draws.data() + (first + k) * record.dim, record.dim}, {theta, record.dim});
        record.log_posteriors[first + k] = model_.log_prior({theta, record.dim});
      }
      away.colwise() -= map_.evaluated_at;
      const Eigen::MatrixXd bent = map_.likelihood.information * away;
      for (std::size_t k = 0; k < count; ++k) {
        const auto at = static_cast<Eigen::Index>(k);
        record.log_posteriors[first + k] += map_.likelihood.value +
                                            map_.likelihood.gradient.dot(away.col(at)) -
                                            0.5 * away.col(at).dot(bent.col(at));
      }
    });
  }
}

// Chains start at the modes in turn.
Eigen::VectorXd Sampler::start(std::size_t chain) const {
  const Mode& mode = modes_.found[chain % modes_.found.size()].mode;
  if (plan_.start_at_mode) return mode.theta;
  return overdispersed_start(model_, Laplace(mode.theta, mode.information), plan_.chain.seed, chain);
}

Samples Sampler::finish() {
  out_.mode = std::move(map_);
  out_.chains = std::move(keeping_.records);
  return std::move(out_);
}

Samples sample(const AnyModel& model, const Plan& plan, const SampleWatcher& watcher, Keeping keeping) {
  if (watcher.phase) watcher.phase("finding the mode", 0);
  Sampler sampler(model, plan, watcher, std::move(keeping));
  if (plan.method->run != nullptr) {
    plan.method->run(sampler);
  } else {
    run_composed(sampler, plan.subsample);
  }
  return sampler.finish();
}

namespace {

// Replaces the weights of the plan by the caller's, if there are any.
void use_weights(Plan& plan, std::vector<double> weights, std::size_t rows) {
  if (weights.empty()) return;
  const MethodSpec& method = *plan.method;
  if (!method.parts || method.role == Role::uniform || method.parts->rule->needs_bounds)
    throw UsageError(
        fmt::format("`method {}` does not draw rows with weights; use `method mlo`", method.name));
  if (weights.size() != rows)
    throw UsageError(
        fmt::format("weights of rows: there must be one per row, {} (got {})", rows, weights.size()));
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (!(weights[i] > 0 && std::isfinite(weights[i])))
      throw UsageError(fmt::format(
          "weights of rows: each must be positive and finite, or the estimate is biased (row {} has {})", i,
          weights[i]));
  plan.subsample.parts.weights = RowWeights::own;
  plan.subsample.parts.replacement = true;
  plan.subsample.own_weights = std::move(weights);
}

Plan checked_plan(const AnyModel& model, const MethodOptions& options, std::vector<double> row_weights) {
  Plan plan =
      resolve(options, {.rows = model.rows(), .dim = model.dim(), .all_positive = model.all_positive()});
  use_weights(plan, std::move(row_weights), model.rows());
  ThreadPool pool(plan.threads);
  const Eigen::VectorXd start = model.start();
  check_terms(model, pool, params(start), "the starting point");
  return plan;
}

}  // namespace

Samples sample(const AnyModel& model, const MethodOptions& options, const SampleWatcher& watcher) {
  return sample(model, options, {}, watcher);
}

Samples sample(const AnyModel& model, const MethodOptions& options, std::vector<double> row_weights,
               const SampleWatcher& watcher) {
  const Plan plan = checked_plan(model, options, std::move(row_weights));
  return sample(model, plan, watcher);
}

std::unique_ptr<SteppedChain> stepped_chain(const AnyModel& model, const MethodOptions& options,
                                            std::vector<double> row_weights, std::size_t chain) {
  const MethodSpec* const method = find_method(options.method);
  if (method != nullptr && !method->parts && method->role != Role::full)
    throw UsageError(fmt::format(
        "`method {}` cannot be stepped by hand; full, and the methods that read some of the rows, can",
        options.method));
  Plan plan = checked_plan(model, options, std::move(row_weights));
  plan.choose_steps = false;  // a step is a step
  std::unique_ptr<SteppedChain> out;
  Keeping keeping;
  keeping.stepped = &out;
  keeping.stepped_chain = chain;
  static_cast<void>(sample(model, plan, {}, std::move(keeping)));
  return out;
}

}  // namespace mlo
