// Copyright (c) the mlo authors. BSD-3-Clause.
// In a file of its own because the JSON library is slow to compile.
#include <cmath>
#include <nlohmann/json.hpp>

#include "mlo/report/comparison.hpp"
#include "mlo/report/run_summary.hpp"

namespace mlo {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no NaN and no infinity: null stands for them.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json moments(const std::vector<ParameterSummary>& parameters) {
  Json out = Json::object();
  for (const ParameterSummary& p : parameters)
    out[p.name] = {{"mean", number(p.mean)},
                   {"sd", number(p.sd)},
                   {"mcse_mean", number(p.mcse_mean)},
                   {"ess_bulk", number(p.ess_bulk)},
                   {"rhat", number(p.rhat)}};
  return out;
}

Json result(const MethodResult& m) {
  if (!m.failure.empty()) return {{"method", m.name}, {"failure", m.failure}};
  return {{"method", m.name},
          {"promise", promise_name(m.promise)},
          {"setup_seconds", number(m.setup_seconds)},
          {"sample_seconds", number(m.sample_seconds)},
          {"draws", m.draws},
          {"rows_per_step", number(m.rows_per_step)},
          {"acceptance", number(m.acceptance)},
          {"noise_sd", number(m.noise_sd)},
          {"rhat", number(m.rhat)},
          {"ess", number(m.ess)},
          {"ess_per_second", number(m.ess_per_second)},
          {"ess_per_million_rows", number(m.ess_per_million_rows)},
          {"sd_ratio",
           {{"least", number(m.sd_ratio_low)},
            {"median", number(m.sd_ratio)},
            {"most", number(m.sd_ratio_high)}}},
          {"mean_error", {{"largest", number(m.mean_error)}, {"mcse", number(m.mean_error_mcse)}}},
          {"parameters", moments(m.parameters)}};
}

}  // namespace

std::string as_json(const Comparison& c) {
  Json json{{"title", c.title}, {"notes", c.notes}, {"interrupted", c.interrupted}};
  json["reference"] = {{"method", c.reference}, {"parameters", moments(c.posterior)}};
  Json& methods = json["methods"] = Json::array();
  for (const MethodResult& m : c.methods) methods.push_back(result(m));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace mlo
