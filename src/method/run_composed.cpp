// Copyright (c) the mlo authors. BSD-3-Clause.
// Methods made of parts: a rule, an estimator and a source of rows.
#include <cmath>
#include <memory>

#include "method/sampler.hpp"
#include "mlo/kernel/subsampled.hpp"
#include "mlo/model/check_terms.hpp"
#include "mlo/subsample/row_bounds.hpp"
#include "mlo/subsample/weights.hpp"

namespace mlo {
namespace {

AnyRows with_replacement(const std::vector<double>& probabilities) {
  return WithReplacement(std::make_shared<const WeightedRows>(probabilities));
}

// The theta at which the weights are computed, in working coordinates.
Eigen::VectorXd weights_point(Sampler& s, const SubsamplePlan& plan) {
  if (plan.weights_at == SubsamplePlan::At::map) return s.mode().theta;
  if (plan.weights_at == SubsamplePlan::At::mle) {
    const Mode mle = find_mode(s.model(), s.pool(), {.of = ModeOf::likelihood}, &s.mode());
    s.out().passes += mle.passes;
    return mle.theta;
  }
  Eigen::VectorXd theta(static_cast<Eigen::Index>(s.model().dim()));
  s.model().to_working(plan.weights_point, {theta.data(), s.model().dim()});
  if (!std::isfinite(s.model().log_prior(params(theta))))
    throw UsageError(
        fmt::format("`weights-at`: the prior density is 0 at ({})", fmt::join(plan.weights_point, ", ")));
  return theta;
}

AnyRows make_rows(Sampler& s, const SubsamplePlan& plan) {
  const Composition& parts = plan.parts;
  if (parts.weights == RowWeights::uniform) {
    s.note(fmt::format("rows drawn uniformly, {} replacement", parts.replacement ? "with" : "without"));
    if (!parts.replacement) return WithoutReplacement(s.model().rows());
    return with_replacement(std::vector<double>(s.model().rows(), 1.0));
  }
  if (parts.weights == RowWeights::remainder) {
    s.note(
        fmt::format("rows drawn with remainder weights, of which a share of {} uniform", plan.uniform_share));
    const std::optional<CurvedRows> curved = s.model().curved();
    s.out().passes += curved ? curved_remainder_passes : probed_remainder_passes;
    const Params centre = params(s.mode().evaluated_at);
    return with_replacement(
        curved
            ? remainder_probabilities(*curved, s.pool(), centre, s.laplace().cholesky, plan.uniform_share)
            : remainder_probabilities(s.model(), s.pool(), centre, s.laplace().cholesky, plan.uniform_share));
  }
  if (parts.weights == RowWeights::own) {
    s.note("rows drawn with weights of your own");
    std::vector<double> probabilities = plan.own_weights;
    to_probabilities(probabilities, 0);
    return with_replacement(probabilities);
  }
  const bool score = parts.weights == RowWeights::score;
  if (score && !s.model().has_gradients()) s.refuse("gradients of its terms for score weights");
  const Eigen::VectorXd theta = weights_point(s, plan);
  s.out().passes += 1;
  s.note(fmt::format(
      "rows drawn with {} weights at {}, of which a share of {} uniform", score ? "score" : "mlo",
      plan.weights_at == SubsamplePlan::At::mle   ? "the MLE"
      : plan.weights_at == SubsamplePlan::At::map ? "the mode"
                                                  : fmt::format("({})", fmt::join(plan.weights_point, ", ")),
      plan.uniform_share));
  return with_replacement(subsampling_probabilities(s.model(), s.pool(),
                                                    score ? Weights::score : Weights::mlo, params(theta),
                                                    s.mode().information, plan.uniform_share));
}

ControlVariates<AnyModel> control_variates(const Sampler& s) {
  return ControlVariates(s.model(), s.mode().evaluated_at, s.mode().likelihood);
}

}  // namespace

void run_composed(Sampler& s, const SubsamplePlan& plan) {
  const bool variates = plan.parts.estimator == EstimatorKind::control_variates;
  if (variates) {
    if (!s.model().has_remainders()) s.refuse("quadratic expansions of its terms");
    check_expansion(s.model(), s.pool(), params(s.mode().evaluated_at), s.laplace().cholesky);
  }
  const AnyRows rows = make_rows(s, plan);
  const AnyRule rule = plan.parts.rule->make(plan, s.model().rows());
  s.note(plan.parts.rule->words(plan));
  s.out().noise = plan.parts.rule->noise;
  const AnyProposal proposal = s.proposal_of(plan.proposal);
  const auto with = [&](const auto& estimator) {
    s.run([&](ThreadPool&) {
      return SubsampledKernel(s.model(), proposal, rows, rule, AnyEstimator(estimator));
    });
  };
  if (variates) s.note("control variates of order 2 about the mode");
  const PlainDifference plain(s.model());
  if (!plan.parts.rule->needs_bounds) {
    variates ? with(control_variates(s)) : with(plain);
    return;
  }
  const std::optional<CurvedRows> curved = s.model().curved();
  if (!curved)
    throw UsageError(
        "`method confidence` needs a bound on what one row can say, which this model does not have; use "
        "`method austerity` or `method auto`");
  const auto bounds = std::make_shared<const RowBounds>(
      row_bounds(*curved, s.pool(), s.mode().evaluated_at, s.laplace().cholesky, variates ? 2 : 0));
  s.out().passes += 1;
  variates ? with(Bounded(control_variates(s), bounds)) : with(Bounded(plain, bounds));
}

}  // namespace mlo
