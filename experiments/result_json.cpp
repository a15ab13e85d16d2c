// Copyright (c) the mlo authors. BSD-3-Clause.
// A result as JSON. In a file of its own because the JSON library is slow to compile.
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/result.hpp"

namespace mlo::experiments {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no NaN and no infinity: null stands for them.
Json number(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

}  // namespace

std::string as_json(const Result& result) {
  Json json{{"name", result.name}, {"title", result.title}, {"settings", result.settings}};
  Json& tables = json["tables"] = Json::array();
  for (const NumberTable& table : result.tables) {
    Json rows = Json::array();
    for (const NumberRow& row : table.rows) {
      Json cells = Json::object();
      for (std::size_t c = 0; c < table.columns.size(); ++c)
        if (const auto& cell = row.cells[c])
          cells[table.columns[c]] = {
              {"ours", number(cell->ours)}, {"se", number(cell->se)}, {"paper", number(cell->paper)}};
      rows.push_back({{"row", row.label}, {"cells", cells}});
    }
    tables.push_back({{"title", table.title}, {"rows", rows}});
  }
  Json& claims = json["claims"] = Json::array();
  for (const Claim& claim : result.claims)
    claims.push_back(
        {{"claim", claim.text}, {"holds", claim.holds}, {"z", number(claim.z)}, {"verdict", claim.verdict}});
  json["notes"] = result.notes;
  // A file's name may be in any encoding: never fail on it.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace mlo::experiments
