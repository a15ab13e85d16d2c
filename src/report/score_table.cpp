// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/report/score_table.hpp"

#include <fmt/format.h>

#include <vector>

#include "mlo/base/text.hpp"
#include "mlo/report/text_table.hpp"

namespace mlo {
namespace {

std::optional<double> optional_number(const Json& json, const char* name) {
  return json.contains(name) ? std::optional(json.number(name)) : std::nullopt;
}

// A row per class, a column per likeliest class.
std::string confusion_table(const Scores& s) {
  std::vector<std::vector<std::string>> rows{{"class \\ likeliest"}};
  for (const std::string& name : s.classes) rows[0].push_back(name);
  for (std::size_t k = 0; k < s.classes.size(); ++k) {
    std::vector<std::string> row{s.classes[k]};
    for (std::size_t m = 0; m < s.classes.size(); ++m)
      row.push_back(grouped(s.confusion[k * s.classes.size() + m]));
    rows.push_back(std::move(row));
  }
  return text_table(rows);
}

}  // namespace

std::string as_table(const Scores& s) {
  std::string out = fmt::format("\nheld out, {} rows: log score {:.4f} per row (error {:.2g})",
                                grouped(s.rows), s.log_score, s.log_score_error);
  if (s.auc) out += fmt::format(", AUC {:.4f}", *s.auc);
  if (s.brier) out += fmt::format(", Brier score {:.4f}", *s.brier);
  if (s.deviance) out += fmt::format(", deviance {:.4g} per row", *s.deviance);
  if (s.rmse) out += fmt::format(", RMSE {:.4g}", *s.rmse);
  if (s.accuracy) out += fmt::format(", accuracy {:.4f}", *s.accuracy);
  if (s.missing > 0) out += fmt::format("; {} more had a missing cell", grouped(s.missing));
  out += '\n';
  if (s.accuracy) return out + confusion_table(s);
  std::vector<std::vector<std::string>> rows{{"by prediction", "rows", "mean predicted", "mean observed"}};
  for (std::size_t k = 0; k < s.calibration.size(); ++k) {
    const CalibrationBin& bin = s.calibration[k];
    rows.push_back({fmt::format("group {}", k + 1), grouped(bin.rows), fmt::format("{:.4g}", bin.predicted),
                    fmt::format("{:.4g}", bin.observed)});
  }
  return out + text_table(rows);
}

Json scores_to_json(const Scores& s) {
  Json json{{"rows", s.rows},
            {"missing", s.missing},
            {"log_score", s.log_score},
            {"log_score_error", s.log_score_error}};
  if (s.auc) json["auc"] = *s.auc;
  if (s.brier) json["brier"] = *s.brier;
  if (s.deviance) json["deviance"] = *s.deviance;
  if (s.rmse) json["rmse"] = *s.rmse;
  if (s.accuracy) {
    json["accuracy"] = *s.accuracy;
    json["classes"] = s.classes;
    json["confusion"] = s.confusion;
  }
  Json bins = Json::array();
  for (const CalibrationBin& bin : s.calibration)
    bins.push_back({{"rows", bin.rows}, {"predicted", bin.predicted}, {"observed", bin.observed}});
  json["calibration"] = bins;
  return json;
}

Scores scores_from_json(const Json& json) {
  Scores s;
  s.rows = json.get<std::uint64_t>("rows");
  s.missing = json.get<std::uint64_t>("missing");
  s.log_score = json.number("log_score");
  s.log_score_error = json.number("log_score_error");
  s.auc = optional_number(json, "auc");
  s.brier = optional_number(json, "brier");
  s.deviance = optional_number(json, "deviance");
  s.rmse = optional_number(json, "rmse");
  s.accuracy = optional_number(json, "accuracy");
  if (s.accuracy) {
    s.classes = json.get<std::vector<std::string>>("classes");
    s.confusion = json.get<std::vector<std::uint64_t>>("confusion");
    if (s.confusion.size() != s.classes.size() * s.classes.size())
      throw JsonError("the confusion table does not fit the classes");
  }
  for (const Json& bin : json.at("calibration").elements())
    s.calibration.push_back(
        {bin.get<std::uint64_t>("rows"), bin.number("predicted"), bin.number("observed")});
  return s;
}

}  // namespace mlo
