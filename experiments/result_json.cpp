// Copyright (c) the mlo authors. BSD-3-Clause.
#include "experiments/result.hpp"
#include "mlo/base/json.hpp"

namespace mlo::experiments {

std::string as_json(const Result& result) {
  Json json{{"name", result.name}, {"title", result.title}, {"settings", result.settings}};
  Json& tables = json["tables"] = Json::array();
  for (const NumberTable& table : result.tables) {
    Json rows = Json::array();
    for (const NumberRow& row : table.rows) {
      Json cells = Json::object();
      for (std::size_t c = 0; c < table.columns.size(); ++c)
        if (const auto& cell = row.cells[c])
          cells[table.columns[c]] = {{"ours", cell->ours}, {"se", cell->se}, {"paper", cell->paper}};
      rows.push_back({{"row", row.label}, {"cells", cells}});
    }
    tables.push_back({{"title", table.title}, {"rows", rows}});
  }
  Json& claims = json["claims"] = Json::array();
  for (const Claim& claim : result.claims)
    claims.push_back(
        {{"claim", claim.text}, {"holds", claim.holds}, {"z", claim.z}, {"verdict", claim.verdict}});
  json["notes"] = result.notes;
  return json.dump(2) + "\n";
}

}  // namespace mlo::experiments
