// Copyright (c) the mlo authors. BSD-3-Clause.
// Results as one self-contained page.
#include <fmt/format.h>

#include "experiments/result.hpp"
#include "mlo/report/svg.hpp"

namespace mlo::experiments {
namespace {

constexpr std::string_view head = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>mlo reproduce</title>
<style>
body { font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; color: #24292f;
  background: #fff; max-width: 1040px; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; margin: 0.6em 0 1.4em; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: 0.3em 0; }
th, td { padding: 0.15em 0.7em; text-align: right; border-bottom: 1px solid #d8dee4; white-space: nowrap; }
th:first-child, td:first-child, .claims td { text-align: left; }
.se { color: #57606a; } .paper { color: #0550ae; } .no { color: #a40e26; font-weight: 600; }
pre { background: #f6f8fa; padding: 0.7em; overflow-x: auto; font-size: 13px; }
</style>
</head>
<body>
<h1>The paper's tables and figures, made again</h1>
<p>In each cell: our number, (its Monte Carlo standard error), and in blue what the paper prints.</p>
)";

std::string cell_of(const std::optional<Number>& number) {
  if (!number) return "<td></td>";
  std::string out = "<td>" + shown(number->ours);
  if (number->se) out += fmt::format(" <span class=\"se\">({:.2g})</span>", *number->se);
  if (number->paper) out += fmt::format(" <span class=\"paper\">{}</span>", shown(*number->paper));
  return out + "</td>";
}

std::string table_of(const NumberTable& table) {
  std::string out = fmt::format("<table>\n<caption>{}</caption>\n<tr><th></th>", xml_escaped(table.title));
  for (const std::string& column : table.columns)
    out += fmt::format("<th scope=\"col\">{}</th>", xml_escaped(column));
  out += "</tr>\n";
  for (const NumberRow& row : table.rows) {
    out += fmt::format("<tr><th scope=\"row\">{}</th>", xml_escaped(row.label));
    for (const auto& cell : row.cells) out += cell_of(cell);
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

std::string claims_of(const std::vector<Claim>& claims) {
  std::string out = "<table class=\"claims\">\n<caption>The paper's claims</caption>\n";
  for (const Claim& claim : claims)
    out += fmt::format("<tr><td>{}</td><td>z {:.1f}</td><td{}>{}</td></tr>\n", xml_escaped(claim.text),
                       claim.z, claim.holds ? "" : " class=\"no\"", xml_escaped(claim.verdict));
  return out + "</table>\n";
}

}  // namespace

std::string as_html(const std::vector<Result>& results) {
  std::string out(head);
  for (const Result& result : results) {
    out += fmt::format("<h2>{}: {}</h2>\n", xml_escaped(result.name), xml_escaped(result.title));
    for (const Picture& picture : result.pictures) out += picture.svg;
    for (const NumberTable& table : result.tables) out += table_of(table);
    if (!result.claims.empty()) out += claims_of(result.claims);
    for (const std::string& note : result.notes) out += fmt::format("<p>{}</p>\n", xml_escaped(note));
    out += "<pre>";
    for (const std::string& line : result.settings) out += xml_escaped(line) + "\n";
    out += "</pre>\n";
  }
  return out + "</body>\n</html>\n";
}

}  // namespace mlo::experiments
