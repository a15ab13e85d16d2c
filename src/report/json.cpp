// Copyright (c) the mlo authors. BSD-3-Clause.
// RunSummary to JSON and back.
#include "mlo/base/json.hpp"

#include <array>

#include "mlo/base/errors.hpp"
#include "mlo/report/run_summary.hpp"
#include "mlo/report/score_table.hpp"
#include "report/figures.hpp"

namespace mlo {
namespace {

constexpr std::array<const char*, 4> verdicts{"none", "harmless", "inflated", "not the posterior"};

NoiseReport::Verdict verdict_of(const std::string& name) {
  for (std::size_t v = 0; v < verdicts.size(); ++v)
    if (name == verdicts[v]) return static_cast<NoiseReport::Verdict>(v);
  throw JsonError("unknown verdict \"" + name + '"');
}

Promise promise_of(const std::string& name) {
  for (const PromiseName& p : promise_names)
    if (name == p.name) return p.promise;
  throw JsonError("unknown promise \"" + name + '"');
}

}  // namespace

std::string as_json(const RunSummary& s) {
  Json json;
  json["title"] = s.title;
  json["notes"] = s.notes;
  Json& parameters = json["parameters"] = Json::object();
  for (const ParameterSummary& p : s.parameters)
    for (const auto& [name, value] : parameter_figures) parameters[p.name][name] = p.*value;
  json["method"] = {{"name", s.method.name},
                    {"promise", promise_name(s.method.promise)},
                    {"acceptance", s.method.acceptance},
                    {"rows_per_step", s.method.rows_per_step},
                    {"median_rows_per_step", s.method.median_rows_per_step},
                    {"noise_sd", s.method.noise_sd},
                    {"bound_violations", s.method.bound_violations},
                    {"not_finite", s.method.not_finite},
                    {"log_posterior", s.method.log_posterior}};
  Json& noise = json["noise"] = {{"verdict", verdicts[static_cast<std::size_t>(s.noise.verdict)]},
                                 {"median_sd_ratio", s.noise.median_ratio}};
  for (std::size_t j = 0; j < s.parameters.size(); ++j) {
    noise["laplace_sd"][s.parameters[j].name] = s.noise.laplace_sd[j];
    noise["sd_ratio"][s.parameters[j].name] = s.noise.sd_ratio[j];
  }
  noise["words"] = s.noise.words;
  if (s.audit.done) {
    Json& audit = json["audit"] = {{"steps", s.audit.steps},
                                   {"worst_error", s.audit.worst_error},
                                   {"full_draws", s.audit.full_draws},
                                   {"agrees", s.audit.warning.empty()},
                                   {"warning", s.audit.warning}};
    for (const AuditReport::Parameter& p : s.audit.parameters)
      audit["parameters"][p.name] = {{"z", p.z}, {"sd_ratio", p.sd_ratio}, {"spread_z", p.spread_z}};
  }
  if (s.holdout) json["holdout"] = scores_to_json(*s.holdout);
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
  return json.dump(2) + "\n";
}

RunSummary summary_from_json(const std::string& text, const std::string& file) {
  RunSummary s;
  try {
    const Json json = Json::parse(text);
    s.title = json.get<std::string>("title");
    s.notes = json.get<std::vector<std::string>>("notes");
    const Json& noise = json.at("noise");
    for (const auto& [name, values] : json.at("parameters").members()) {
      ParameterSummary p;
      p.name = name;
      for (const auto& [figure, value] : parameter_figures) p.*value = values.number(figure);
      s.parameters.push_back(std::move(p));
      s.noise.laplace_sd.push_back(noise.at("laplace_sd").number(name));
      s.noise.sd_ratio.push_back(noise.at("sd_ratio").number(name));
    }
    s.noise.verdict = verdict_of(noise.get<std::string>("verdict"));
    s.noise.median_ratio = noise.number("median_sd_ratio");
    s.noise.words = noise.get<std::string>("words");
    const Json& method = json.at("method");
    s.method.name = method.get<std::string>("name");
    s.method.promise = promise_of(method.get<std::string>("promise"));
    s.method.acceptance = method.number("acceptance");
    s.method.rows_per_step = method.number("rows_per_step");
    s.method.median_rows_per_step = method.number("median_rows_per_step");
    s.method.noise_sd = s.noise.noise_sd = method.number("noise_sd");
    s.method.bound_violations = method.get<std::uint64_t>("bound_violations");
    s.method.not_finite = method.get<std::uint64_t>("not_finite");
    if (method.contains("log_posterior")) s.method.log_posterior = method.get<std::string>("log_posterior");
    if (json.contains("audit")) {
      const Json& audit = json.at("audit");
      s.audit = {.done = true,
                 .steps = audit.get<std::uint64_t>("steps"),
                 .worst_error = audit.number("worst_error"),
                 .full_draws = audit.get<std::uint64_t>("full_draws"),
                 .parameters = {},
                 .warning = audit.get<std::string>("warning")};
      if (audit.contains("parameters"))
        for (const ParameterSummary& p : s.parameters) {
          const Json& one = audit.at("parameters").at(p.name);
          s.audit.parameters.push_back(
              {p.name, one.number("z"), one.number("sd_ratio"), one.number("spread_z")});
        }
    }
    if (json.contains("holdout")) s.holdout = scores_from_json(json.at("holdout"));
    const Json& data = json.at("data");
    s.data = {data.get<std::uint64_t>("rows"), data.get<std::uint64_t>("used"),
              data.get<std::uint64_t>("dropped")};
    const Json& seconds = json.at("seconds");
    s.seconds = {seconds.number("read"), seconds.number("mode"), seconds.number("sample"),
                 seconds.number("total")};
    s.passes = json.number("passes");
    s.chains = json.get<std::uint64_t>("chains");
    s.draws = json.get<std::uint64_t>("draws");
    s.interrupted = json.get<bool>("interrupted");
    s.warnings = json.get<std::vector<std::string>>("warnings");
  } catch (const JsonError& e) {
    throw DataError(file, std::string("not a summary written by mlo: ") + e.what());
  }
  return s;
}

}  // namespace mlo
