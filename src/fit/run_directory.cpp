// Copyright (c) the mlo authors. BSD-3-Clause.
#include "fit/run_directory.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "fit/data_source.hpp"
#include "fit/group_files.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/files.hpp"
#include "mlo/base/hash.hpp"
#include "mlo/base/json.hpp"
#include "mlo/base/special.hpp"
#include "mlo/fit/netcdf.hpp"
#include "mlo/method/option_table.hpp"
#include "mlo/method/plan.hpp"
#include "mlo/report/stan_csv.hpp"

namespace mlo {
namespace {

namespace fs = std::filesystem;

// The parameters that are coefficients; they come first.
std::size_t coefficients_of(const FitResult& result) {
  return result.recipe.classes.empty() ? result.recipe.names.size() : result.names.size();
}

Json parse_run_json(const std::string& file) {
  try {
    return Json::parse(read_file(file));
  } catch (const JsonError&) {
    throw DataError(file, "not a run of mlo, or damaged: it is not JSON");
  }
}

}  // namespace

const Json& RunDirectory::run_json() const {
  if (!json_) json_ = std::make_shared<const Json>(parse_run_json(file("run.json")));
  return *json_;
}

const Json& RunDirectory::member(const char* name) const {
  try {
    return run_json().at(name);
  } catch (const JsonError& e) {
    throw DataError(file("run.json"), fmt::format("not a run of mlo: {}", e.what()));
  }
}

template <class T>
T RunDirectory::field(const char* name) const {
  try {
    return run_json().get<T>(name);
  } catch (const JsonError& e) {
    throw DataError(file("run.json"), fmt::format("not a run of mlo: {}", e.what()));
  }
}

RunDirectory RunDirectory::create(const std::string& path, Purpose purpose) {
  const std::string asked_by = purpose == Purpose::fit ? "`out`: " : "";
  RunDirectory directory(path);
  std::error_code error;
  if (fs::exists(directory.file("run.json"), error)) {
    // Only a run that is not finished can be continued, and only by a fit.
    const bool goes_on = purpose == Purpose::fit && directory.status() != "finished";
    throw DataError(path, fmt::format("{}holds a run already; choose another directory, or {}", asked_by,
                                      goes_on ? fmt::format("continue it with `resume` and `out {}`", path)
                                              : "delete this one first"));
  }
  directory.place_ = std::make_shared<ResultDirectory>(path, asked_by);
  // Find out now, not after an hour of sampling, whether the directory can be written to.
  try {
    write_file(directory.file("run.json"), "{}\n");
  } catch (const DataError& e) {
    throw DataError(path, fmt::format("{}not writable: {}", asked_by, e.what()));
  }
  std::remove(directory.file("run.json").c_str());
  return directory;
}

namespace {

// Break points may be infinite, which a number of JSON cannot be: they are texts.
Json json_of(const std::vector<double>& numbers) {
  Json out = Json::array();
  for (const double number : numbers)
    out.push_back(std::isinf(number) ? Json(number > 0 ? "Inf" : "-Inf") : Json(number));
  return out;
}

std::vector<double> numbers_of(const Json& json) {
  std::vector<double> out;
  for (const Json& element : json.elements()) {
    if (!element.is_string()) {
      out.push_back(element.get<double>());
      continue;
    }
    const auto word = element.get<std::string>();
    if (word != "Inf" && word != "-Inf") throw JsonError("\"" + word + "\" is not a number");
    out.push_back(word == "Inf" ? HUGE_VAL : -HUGE_VAL);
  }
  return out;
}

// What a damaged file could break: places of levels that are not there.
GroupRecipe group_recipe_of(const Json& json) {
  GroupRecipe out{.levels = json.get<std::vector<std::vector<std::string>>>("levels"),
                  .cells = json.get<std::vector<std::uint32_t>>("cells"),
                  .effects = json.get<std::vector<std::string>>("effects"),
                  .origin = json.get<std::vector<double>>("origin"),
                  .unit = json.get<std::vector<double>>("unit")};
  const std::size_t parts = out.levels.size();
  bool right = parts > 0 && !out.effects.empty() && out.origin.size() == out.effects.size() &&
               out.unit.size() == out.effects.size() && out.cells.size() % parts == 0 &&
               (parts > 1 || out.cells.empty());
  for (std::size_t at = 0; right && at < out.cells.size(); ++at)
    right = out.cells[at] < out.levels[at % parts].size();
  if (!right) throw JsonError("the parts of a group do not fit together");
  return out;
}

}  // namespace

RunDirectory RunDirectory::open(const std::string& path) {
  if (!fs::exists(path)) throw DataError(path, "no such run directory");
  if (!fs::is_directory(path)) throw DataError(path, "not a run directory but a file");
  if (!fs::exists(path + "/run.json")) throw DataError(path, "not a run of mlo: it has no run.json");
  return RunDirectory(path);
}

FitOptions RunDirectory::options() const {
  const std::string name = file("run.json");
  FitOptions options = options_from_json(field<Json>("options").dump(), name);
  try {
    check_values(options);
  } catch (const UsageError& e) {
    throw DataError(name, fmt::format("not the options of a run of mlo: {}", e.what()));
  }
  options.out = path_;
  return options;
}

std::string RunDirectory::status() const { return field<std::string>("status"); }

std::uint64_t RunDirectory::fingerprint() const {
  const std::string name = file("run.json");
  const auto text = field<std::string>("data_fingerprint");
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size())
    throw DataError(name, fmt::format("not a run of mlo: data_fingerprint is \"{}\"", text));
  return value;
}

std::string RunDirectory::version() const { return field<std::string>("mlo"); }

std::string RunDirectory::simd() const { return field<std::string>("simd"); }

RunFacts RunDirectory::facts(std::size_t parameters) const {
  const std::string name = file("run.json");
  const Json* const facts = run_json().find("facts");
  if (facts == nullptr) return {};  // an earlier version wrote none
  try {
    return facts_from_json(*facts, parameters);
  } catch (const JsonError& e) {
    throw DataError(name, fmt::format("not a run of mlo: facts: {}", e.what()));
  }
}

std::vector<UsedColumn> RunDirectory::columns() const {
  const std::string name = file("run.json");
  const Json columns = field<Json>("columns");
  std::vector<UsedColumn> out;
  try {
    for (const auto& [column, type] : columns.members()) {
      const auto word = type.get<std::string>();
      if (word != "number" && word != "text" && word != "logical")
        throw JsonError("unknown type \"" + word + '"');
      out.push_back({column, word == "text", word == "logical"});
    }
  } catch (const JsonError& e) {
    throw DataError(name, fmt::format("not a run of mlo: columns: {}", e.what()));
  }
  return out;
}

Recipe RunDirectory::recipe() const {
  const std::string name = file("run.json");
  const Json& json = member("recipe");
  Recipe out;
  try {
    for (const Json& entry : json.at("learnt").elements())
      out.learnt.push_back({.expression = entry.get<std::string>("expression"),
                            .numbers = numbers_of(entry.at("numbers")),
                            .levels = entry.get<std::vector<std::string>>("levels")});
    // Runs of earlier versions have no groups.
    if (const Json* const groups = json.find("groups"))
      for (const Json& entry : groups->elements()) out.groups.push_back(group_recipe_of(entry));
    out.names = json.get<std::vector<std::string>>("names");
    out.origin = json.get<std::vector<double>>("origin");
    out.unit = json.get<std::vector<double>>("unit");
    if (json.contains("classes")) out.classes = json.get<std::vector<std::string>>("classes");
    if (out.origin.size() != out.names.size() || out.unit.size() != out.names.size())
      throw JsonError("its parts differ in length");
  } catch (const JsonError& e) {
    throw DataError(name, fmt::format("not a run of mlo: recipe: {}", e.what()));
  }
  return out;
}

std::string RunDirectory::summary_json() const {
  const Json summary = field<Json>("summary");
  if (summary.is_null())
    throw DataError(path_,
                    fmt::format("this run is not finished; continue it with `resume` and `out {}`", path_));
  return summary.dump();
}

void RunDirectory::begin(const FitOptions& options, std::uint64_t fingerprint) const {
  write_run_json(options, fingerprint, "running", nullptr);
}

std::string RunDirectory::checkpoint_file(std::size_t chain) const {
  return file(fmt::format("checkpoint-{}", chain + 1));
}

CheckpointOptions RunDirectory::checkpoints(std::uint64_t key) const {
  CheckpointOptions options;
  options.save = [*this, key](std::size_t chain, const ChainRecord& record) {
    write_checkpoint(checkpoint_file(chain), record, key);
  };
  return options;
}

std::vector<ChainRecord> RunDirectory::read_checkpoints(std::size_t chains, std::uint64_t key) const {
  std::vector<ChainRecord> records(chains);
  for (std::size_t chain = 0; chain < chains; ++chain)
    if (fs::exists(checkpoint_file(chain))) records[chain] = read_checkpoint(checkpoint_file(chain), key);
  return records;
}

void RunDirectory::finish(const FitOptions& options, std::uint64_t fingerprint,
                          const FitResult& result) const {
  for (std::size_t chain = 0; chain < result.chains.size(); ++chain) {
    const StanCsvHeader header{.version = mlo::version(),
                               .method = result.summary.method.name,
                               .promise = promise_name(result.summary.method.promise),
                               .family = options.family,
                               .formula = options.formula,
                               .data = data_words(options),
                               .log_posterior = result.summary.method.log_posterior,
                               .seed = options.seed.value_or(0),
                               .chain = chain + 1,
                               .warmup = static_cast<std::uint64_t>(options.warmup.value_or(0)),
                               .draws = static_cast<std::uint64_t>(options.draws),
                               .thin = static_cast<std::uint64_t>(options.thin.value_or(1)),
                               .names = result.names,
                               .coefficients = coefficients_of(result)};
    write_file(file(fmt::format("draws-{}.csv", chain + 1)), stan_csv(header, result.chains[chain]));
  }
  write_file(file("statistics.csv"), statistics_csv(result.chains));
  if (wants_netcdf(options))
    write_netcdf(file("draws.nc"), netcdf_input(options, result.summary, result.chains, result.effects));
  write_file(file("summary.csv"), as_csv(result.summary.parameters));
  write_groups(path_, result.effects, result.chains);
  write_run_json(options, fingerprint, result.summary.interrupted ? "interrupted" : "finished", &result);
  if (!result.summary.interrupted)
    for (std::size_t chain = 0; chain < result.chains.size(); ++chain)
      std::remove(checkpoint_file(chain).c_str());
}

void RunDirectory::write_run_json(const FitOptions& options, std::uint64_t fingerprint,
                                  const std::string& status, const FitResult* result) const {
  Json json;
  json["mlo"] = mlo::version();
  json["status"] = status;
  json["options"] = Json::parse(options_to_json(options));
  json["simd"] = simd_target();
  json["data_fingerprint"] = fmt::format("{:016x}", fingerprint);
  json["summary"] = nullptr;
  if (result != nullptr) {
    Json& columns = json["columns"] = Json::object();
    for (const UsedColumn& column : result->columns)
      columns[column.name] = column.text ? "text" : column.logical ? "logical" : "number";
    Json& recipe = json["recipe"] = Json::object();
    recipe["learnt"] = Json::array();
    for (const Learnt& entry : result->recipe.learnt)
      recipe["learnt"].push_back(
          {{"expression", entry.expression}, {"numbers", json_of(entry.numbers)}, {"levels", entry.levels}});
    if (!result->recipe.groups.empty()) {
      Json& groups = recipe["groups"] = Json::array();
      for (const GroupRecipe& group : result->recipe.groups)
        groups.push_back({{"levels", group.levels},
                          {"cells", group.cells},
                          {"effects", group.effects},
                          {"origin", group.origin},
                          {"unit", group.unit}});
    }
    recipe["names"] = result->recipe.names;
    recipe["origin"] = result->recipe.origin;
    recipe["unit"] = result->recipe.unit;
    if (!result->recipe.classes.empty()) recipe["classes"] = result->recipe.classes;
    json["terms"] = Json::object();
    const std::vector<std::string> columns_of_draws = stan_names(result->names, coefficients_of(*result));
    for (std::size_t j = 0; j < result->names.size(); ++j)
      json["terms"][columns_of_draws[j]] = result->names[j];
    json["summary"] = Json::parse(as_json(result->summary));
    json["facts"] = facts_to_json(result->facts);
  }
  write_file(file("run.json"), json.dump(2) + "\n");
  json_ = {};
}

std::uint64_t run_key(const FitOptions& options, std::uint64_t fingerprint) {
  return fingerprint_of(
      fmt::format("{}\n{}\n{}\n{:016x}", options_to_json(options), version(), simd_target(), fingerprint));
}

}  // namespace mlo
