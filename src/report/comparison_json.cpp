// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/base/json.hpp"
#include "mlo/report/comparison.hpp"
#include "mlo/report/run_summary.hpp"
#include "report/figures.hpp"

namespace mlo {
namespace {

Json moments(const std::vector<ParameterSummary>& parameters) {
  Json out = Json::object();
  for (const ParameterSummary& p : parameters)
    out[p.name] = {{"mean", p.mean},
                   {"sd", p.sd},
                   {"mcse_mean", p.mcse_mean},
                   {"ess_bulk", p.ess_bulk},
                   {"rhat", p.rhat}};
  return out;
}

Json result(const MethodResult& m) {
  if (!m.failure.empty()) return {{"method", m.name}, {"failure", m.failure}};
  Json out{{"method", m.name}, {"promise", promise_name(m.promise)}};
  for (const auto& [name, value] : cost_figures) out[name] = m.*value;
  out["draws"] = m.draws;
  for (const auto& [name, value] : chain_figures) out[name] = m.*value;
  out["sd_ratio"] = {{"least", m.sd_ratio_low}, {"median", m.sd_ratio}, {"most", m.sd_ratio_high}};
  out["mean_error"] = {{"largest", m.mean_error}, {"mcse", m.mean_error_mcse}};
  out["parameters"] = moments(m.parameters);
  return out;
}

}  // namespace

std::string as_json(const Comparison& c) {
  Json json{{"title", c.title}, {"notes", c.notes}, {"interrupted", c.interrupted}};
  json["reference"] = {{"method", c.reference}, {"parameters", moments(c.posterior)}};
  Json& methods = json["methods"] = Json::array();
  for (const MethodResult& m : c.methods) methods.push_back(result(m));
  return json.dump(2) + '\n';
}

}  // namespace mlo
