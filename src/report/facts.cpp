// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/report/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numbers>

#include "mlo/base/errors.hpp"
#include "mlo/base/special.hpp"
#include "mlo/model/prior.hpp"

namespace mlo {
namespace {

using Group = PredictiveCheck::Group;
using Statistic = PredictiveCheck::Statistic;

Json check_to_json(const PredictiveCheck& check) {
  Json json{{"rows", check.rows}, {"draws", check.draws}, {"binary", check.binary}};
  Json& groups = json["groups"] = Json::array();
  for (const Group& g : check.groups)
    groups.push_back({{"low", g.low},
                      {"high", g.high},
                      {"observed", g.observed},
                      {"predicted", g.predicted},
                      {"q5", g.q5},
                      {"q95", g.q95}});
  Json& statistics = json["statistics"] = Json::object();
  for (const Statistic& s : check.statistics)
    statistics[s.name] = {{"observed", s.observed},
                          {"predicted", s.predicted},
                          {"q5", s.q5},
                          {"q95", s.q95},
                          {"below", s.below}};
  return json;
}

PredictiveCheck check_from_json(const Json& json) {
  PredictiveCheck out{.rows = json.get<std::uint64_t>("rows"),
                      .draws = json.get<std::uint64_t>("draws"),
                      .binary = json.get<bool>("binary")};
  for (const Json& g : json.at("groups").elements())
    out.groups.push_back({g.number("low"), g.number("high"), g.number("observed"), g.number("predicted"),
                          g.number("q5"), g.number("q95")});
  for (const auto& [name, s] : json.at("statistics").members())
    out.statistics.push_back({name, s.number("observed"), s.number("predicted"), s.number("q5"),
                              s.number("q95"), s.number("below")});
  return out;
}

void require_size(std::size_t size, std::size_t wanted, const char* what) {
  if (size != wanted) throw JsonError(fmt::format("{}: {} entries for {} parameters", what, size, wanted));
}

}  // namespace

std::string PriorFact::words() const {
  return text + (at_means ? " at the columns' means" : above_zero ? ", above 0" : "");
}

std::vector<double> PriorFact::density(std::span<const double> x) const {
  std::vector<double> out;
  if (at_means) return out;
  if (correlation_shape > 0) {
    const double a = correlation_shape,
                 constant = log_gamma(2 * a) - 2 * log_gamma(a) - (2 * a - 1) * std::numbers::ln2;
    for (const double rho : x)
      out.push_back(std::abs(rho) < 1 ? std::exp(constant + (a - 1) * std::log1p(-rho * rho)) : 0);
    return out;
  }
  std::optional<Prior> prior;
  try {
    prior = Prior::parse(text, "prior");
  } catch (const UsageError&) {
    return out;
  }
  if (!prior->proper()) return out;
  const double share = above_zero ? prior->share_above_zero() : 1;
  for (const double v : x) out.push_back(above_zero && v < 0 ? 0 : std::exp(prior->log_density(v)) / share);
  return out;
}

RowsReadFact rows_read_of(const std::vector<const ChainAccount*>& accounts) {
  std::map<std::uint64_t, std::uint64_t> counts;  // by the largest number of the bin
  // Chains of different lengths have samples of different densities: all of them are thinned to the sparsest.
  std::uint64_t stride = 1;
  for (const ChainAccount* account : accounts) stride = std::max(stride, account->rows_stride);
  for (const ChainAccount* account : accounts) {
    const std::uint64_t every = stride / account->rows_stride;
    for (std::size_t k = 0; k < account->rows_sample.size(); k += every) {
      const std::uint64_t rows = account->rows_sample[k];
      ++counts[rows == 0 ? 0 : std::bit_ceil(rows)];
    }
  }
  RowsReadFact out;
  for (const auto& [most, steps] : counts) {
    out.most.push_back(most);
    out.steps.push_back(steps);
  }
  return out;
}

Json facts_to_json(const RunFacts& facts) {
  Json json = Json::object();
  if (!facts.priors.empty()) {
    Json& priors = json["priors"] = Json::array();
    for (const PriorFact& prior : facts.priors) {
      Json one{{"prior", prior.text}, {"at_means", prior.at_means}};
      if (prior.above_zero) one["above_zero"] = true;
      if (prior.correlation_shape > 0) one["correlation_shape"] = prior.correlation_shape;
      priors.push_back(std::move(one));
    }
  }
  if (!facts.mode.empty()) json["mode"] = facts.mode;
  if (!facts.factors.empty()) {
    Json& factors = json["factors"] = Json::array();
    for (const FactorFact& factor : facts.factors)
      factors.push_back({{"name", factor.name},
                         {"base", factor.base},
                         {"levels", factor.levels},
                         {"parameters", factor.parameters}});
  }
  if (!facts.rows_read.most.empty())
    json["rows_read"] = {{"most", facts.rows_read.most}, {"steps", facts.rows_read.steps}};
  if (facts.check) json["predictive_check"] = check_to_json(*facts.check);
  if (!facts.no_check.empty()) json["no_predictive_check"] = facts.no_check;
  return json;
}

RunFacts facts_from_json(const Json& json, std::size_t parameters) {
  RunFacts out;
  if (const Json* priors = json.find("priors")) {
    for (const Json& prior : priors->elements())
      out.priors.push_back({prior.get<std::string>("prior"), prior.get<bool>("at_means"),
                            prior.contains("above_zero") && prior.get<bool>("above_zero"),
                            prior.contains("correlation_shape") ? prior.number("correlation_shape") : 0});
    require_size(out.priors.size(), parameters, "priors");
  }
  if (json.contains("mode")) {
    out.mode = json.get<std::vector<double>>("mode");
    require_size(out.mode.size(), parameters, "mode");
  }
  if (const Json* factors = json.find("factors"))
    for (const Json& f : factors->elements()) {
      FactorFact factor{f.get<std::string>("name"), f.get<std::string>("base"),
                        f.get<std::vector<std::string>>("levels"),
                        f.get<std::vector<std::size_t>>("parameters")};
      const bool known = std::all_of(factor.parameters.begin(), factor.parameters.end(),
                                     [&](std::size_t p) { return p < parameters; });
      if (!known || factor.levels.size() != factor.parameters.size())
        throw JsonError(fmt::format("factors: the levels of \"{}\" have no such parameters", factor.name));
      out.factors.push_back(std::move(factor));
    }
  if (const Json* rows = json.find("rows_read")) {
    out.rows_read = {rows->get<std::vector<std::uint64_t>>("most"),
                     rows->get<std::vector<std::uint64_t>>("steps")};
    require_size(out.rows_read.steps.size(), out.rows_read.most.size(), "rows_read");
  }
  if (const Json* check = json.find("predictive_check")) out.check = check_from_json(*check);
  if (const Json* words = json.find("no_predictive_check")) out.no_check = words->get<std::string>();
  return out;
}

}  // namespace mlo
