// Copyright (c) the mlo authors. BSD-3-Clause.
#include "fit/facts.hpp"

#include <fmt/format.h>

#include <map>
#include <string_view>

#include "mlo/model/glm.hpp"
#include "mlo/model/softmax.hpp"

namespace mlo {
namespace {

std::vector<PriorFact> priors_of(const Layout& layout) {
  std::vector<PriorFact> out;
  for (const Block& block : layout.blocks())
    for (std::size_t k = 0; k < block.size(); ++k)
      out.push_back({.text = block.priors[k].text(),
                     .at_means = k == 0 && block.intercept && block.intercept_at_means && block.size() > 1});
  return out;
}

std::vector<PriorFact> priors_of(const GroupedModel& model) {
  std::vector<PriorFact> out = priors_of(model.layout());
  for (const GroupCovariance& covariance : model.covariances()) {
    for (const Prior& prior : covariance.priors()) out.push_back({.text = prior.text(), .above_zero = true});
    // The law of one correlation of d effects (Lewandowski, Kurowicka and Joe 2009).
    const double shape = covariance.lkj() + 0.5 * (static_cast<double>(covariance.dim()) - 2);
    for (std::size_t r = covariance.dim(); r < covariance.size(); ++r)
      out.push_back({.text = fmt::format("lkj({})", covariance.lkj()), .correlation_shape = shape});
  }
  return out;
}

// Levels have the names of their coefficients as R makes them: the factor's, then the level's. Other
// contrasts have other names, and no coefficient of one level.
std::vector<FactorFact> factors_of(const std::vector<FactorLevels>& factors,
                                   const std::vector<std::string>& names) {
  std::map<std::string_view, std::size_t> places;
  for (std::size_t j = 0; j < names.size(); ++j) places.emplace(names[j], j);
  std::vector<FactorFact> out;
  for (const FactorLevels& factor : factors) {
    FactorFact fact{.name = factor.name, .base = factor.base, .levels = {}, .parameters = {}};
    for (const std::string& level : factor.levels)
      if (const auto at = places.find(fmt::format("{}{}", factor.name, level)); at != places.end()) {
        fact.levels.push_back(level);
        fact.parameters.push_back(at->second);
      }
    // The base is one level less: if more have no coefficient, there are only interactions, or other
    // contrasts.
    if (fact.levels.size() + (factor.base.empty() ? 0 : 1) == factor.levels.size())
      out.push_back(std::move(fact));
  }
  return out;
}

}  // namespace

RunFacts facts_of(std::span<const ChainDraws> chains) {
  RunFacts out;
  std::vector<const ChainAccount*> accounts;
  for (const ChainDraws& chain : chains) accounts.push_back(&chain.account);
  out.rows_read = rows_read_of(accounts);
  return out;
}

RunFacts facts_of(const GroupedModel& model, const std::vector<FactorLevels>& factors,
                  std::span<const ChainDraws> chains, const FitOptions& options) {
  RunFacts out = facts_of(chains);
  out.factors = factors_of(factors, model.names());
  out.priors = priors_of(model);
  out.check = predictive_check(model, options.numbers, chains, {.seed = *options.seed});
  if (chains.front().effects.empty())
    out.no_check = fmt::format(
        "There is no check of simulated responses, because it needs the draws of the group effects, and these were "
        "not kept{}. `save-groups yes` keeps them.",
        options.save_groups ? fmt::format(" (`save-groups {}`)", *options.save_groups)
                            : ": they would have taken more than 200 MB");
  return out;
}

RunFacts facts_of(const AnyModel& model, const std::vector<FactorLevels>& factors, const Mode& mode,
                  std::span<const ChainDraws> chains, const FitOptions& options) {
  RunFacts out = facts_of(chains);
  out.mode.resize(model.dim());
  model.to_user(params(mode.theta), out.mode);
  out.factors = factors_of(factors, model.names());
  if (const Glm* glm = model.glm()) {
    out.priors = priors_of(glm->layout());
    out.check = predictive_check(*glm, options.numbers, chains, {.seed = *options.seed});
  } else if (const Softmax* softmax = model.softmax()) {
    out.priors = priors_of(softmax->layout());
  }
  return out;
}

}  // namespace mlo
