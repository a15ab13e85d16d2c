// Copyright (c) the mlo authors. BSD-3-Clause.
// RunSummary to JSON and back. In a file of its own because the JSON library is slow to compile.
#include <cmath>
#include <nlohmann/json.hpp>

#include "mlo/base/errors.hpp"
#include "mlo/report/run_summary.hpp"

namespace mlo {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no NaN: null stands for it.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
double number(const Json& json) { return json.is_null() ? std::nan("") : json.get<double>(); }

constexpr std::array<std::pair<const char*, double ParameterSummary::*>, 11> fields{{
    {"mean", &ParameterSummary::mean},
    {"sd", &ParameterSummary::sd},
    {"mcse_mean", &ParameterSummary::mcse_mean},
    {"hpd_2.5", &ParameterSummary::hpd_low},
    {"hpd_97.5", &ParameterSummary::hpd_high},
    {"median", &ParameterSummary::median},
    {"q5", &ParameterSummary::q5},
    {"q95", &ParameterSummary::q95},
    {"ess_bulk", &ParameterSummary::ess_bulk},
    {"ess_tail", &ParameterSummary::ess_tail},
    {"rhat", &ParameterSummary::rhat},
}};

constexpr std::array<std::pair<Promise, const char*>, 3> promises{{{Promise::exact, "exact"},
                                                                   {Promise::bounded_error, "bounded error"},
                                                                   {Promise::approximate, "approximate"}}};
constexpr std::array<const char*, 4> verdicts{"none", "harmless", "inflated", "not the posterior"};

}  // namespace

std::string as_json(const RunSummary& s) {
  Json json;
  json["title"] = s.title;
  json["notes"] = s.notes;
  Json& parameters = json["parameters"] = Json::object();
  for (const ParameterSummary& p : s.parameters)
    for (const auto& [name, member] : fields) parameters[p.name][name] = number(p.*member);
  json["method"] = {{"name", s.method.name},
                    {"promise", promise_name(s.method.promise)},
                    {"acceptance", number(s.method.acceptance)},
                    {"rows_per_step", number(s.method.rows_per_step)},
                    {"median_rows_per_step", number(s.method.median_rows_per_step)},
                    {"noise_sd", number(s.method.noise_sd)},
                    {"bound_violations", s.method.bound_violations},
                    {"not_finite", s.method.not_finite}};
  Json& noise = json["noise"] = {{"verdict", verdicts[static_cast<std::size_t>(s.noise.verdict)]},
                                 {"median_sd_ratio", number(s.noise.median_ratio)}};
  for (std::size_t j = 0; j < s.parameters.size(); ++j) {
    noise["laplace_sd"][s.parameters[j].name] = number(s.noise.laplace_sd[j]);
    noise["sd_ratio"][s.parameters[j].name] = number(s.noise.sd_ratio[j]);
  }
  noise["words"] = s.noise.words;
  if (s.audit.done)
    json["audit"] = {{"steps", s.audit.steps},
                     {"worst_error", number(s.audit.worst_error)},
                     {"full_draws", s.audit.full_draws},
                     {"sd_ratio_low", number(s.audit.sd_ratio_low)},
                     {"sd_ratio_high", number(s.audit.sd_ratio_high)},
                     {"worst_z", number(s.audit.worst_z)}};
  json["data"] = {{"rows", s.data.rows}, {"used", s.data.used}, {"dropped", s.data.dropped}};
  json["seconds"] = {{"read", s.seconds.read},
                     {"mode", s.seconds.mode},
                     {"sample", s.seconds.sample},
                     {"total", s.seconds.total}};
  json["passes"] = s.passes;
  json["chains"] = s.chains;
  json["draws"] = s.draws;
  json["interrupted"] = s.interrupted;
  json["warnings"] = s.warnings;
  // A name or a message may come from a file in any encoding: never fail on it.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

RunSummary summary_from_json(const std::string& text, const std::string& file) {
  RunSummary s;
  try {
    const Json json = Json::parse(text);
    s.title = json.at("title");
    s.notes = json.at("notes").get<std::vector<std::string>>();
    const Json& noise = json.at("noise");
    for (const auto& [name, values] : json.at("parameters").items()) {
      ParameterSummary p;
      p.name = name;
      for (const auto& [field, member] : fields) p.*member = number(values.at(field));
      s.parameters.push_back(std::move(p));
      s.noise.laplace_sd.push_back(number(noise.at("laplace_sd").at(name)));
      s.noise.sd_ratio.push_back(number(noise.at("sd_ratio").at(name)));
    }
    for (std::size_t v = 0; v < verdicts.size(); ++v)
      if (noise.at("verdict") == verdicts[v]) s.noise.verdict = static_cast<NoiseReport::Verdict>(v);
    s.noise.median_ratio = number(noise.at("median_sd_ratio"));
    s.noise.words = noise.at("words");
    const Json& method = json.at("method");
    s.method.name = method.at("name");
    for (const auto& [promise, name] : promises)
      if (method.at("promise") == name) s.method.promise = promise;
    s.method.acceptance = number(method.at("acceptance"));
    s.method.rows_per_step = number(method.at("rows_per_step"));
    s.method.median_rows_per_step = number(method.at("median_rows_per_step"));
    s.method.noise_sd = s.noise.noise_sd = number(method.at("noise_sd"));
    s.method.bound_violations = method.at("bound_violations");
    s.method.not_finite = method.at("not_finite");
    if (json.contains("audit")) {
      const Json& audit = json.at("audit");
      s.audit = {true,
                 audit.at("steps"),
                 number(audit.at("worst_error")),
                 audit.at("full_draws"),
                 number(audit.at("sd_ratio_low")),
                 number(audit.at("sd_ratio_high")),
                 number(audit.at("worst_z"))};
    }
    const Json& data = json.at("data");
    s.data = {data.at("rows"), data.at("used"), data.at("dropped")};
    const Json& seconds = json.at("seconds");
    s.seconds = {seconds.at("read"), seconds.at("mode"), seconds.at("sample"), seconds.at("total")};
    s.passes = json.at("passes");
    s.chains = json.at("chains");
    s.draws = json.at("draws");
    s.interrupted = json.at("interrupted");
    s.warnings = json.at("warnings").get<std::vector<std::string>>();
  } catch (const Json::exception& e) {
    throw DataError(file, std::string("not a summary written by mlo: ") + e.what());
  }
  return s;
}

}  // namespace mlo
