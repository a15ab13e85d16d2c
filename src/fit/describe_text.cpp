// Copyright (c) the mlo authors. BSD-3-Clause.
// A description for people and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mlo/base/json.hpp"
#include "mlo/base/text.hpp"
#include "mlo/fit/describe.hpp"
#include "mlo/report/text_table.hpp"

namespace mlo {
namespace {

std::string counted_as(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", grouped(count), what, count == 1 ? "" : "s");
}

std::string byte_words(std::uint64_t bytes) {
  if (bytes < 1'000'000) return fmt::format("{:.0f} kB", std::ceil(static_cast<double>(bytes) / 1e3));
  return fmt::format("{} MB", plain_number(static_cast<double>(bytes) / 1e6));
}

std::string figure(double value) { return std::isnan(value) ? "" : fmt::format("{:.6g}", value); }

// A cell may be as long as a line of the file.
std::string shortened(const std::string& cell) {
  constexpr std::size_t longest = 60;  // bytes
  if (cell.size() <= longest) return cell;
  std::size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(cell[end]) & 0xC0U) == 0x80U)
    --end;  // whole UTF-8 characters
  return cell.substr(0, end) + "...";
}

const char* type_word(const ColumnDescription& c) {
  return c.text ? "text" : c.logical ? "logical" : "number";
}

// "red (120), green (80), ...: 12 in all"
std::string level_words(const ColumnDescription& c) {
  constexpr std::size_t most = 6;
  std::string out;
  for (std::size_t k = 0; k < std::min(most, c.levels.size()); ++k)
    out += fmt::format("{}{} ({})", k == 0 ? "" : ", ", shortened(c.levels[k].first),
                       grouped(c.levels[k].second));
  if (c.distinct.value_or(0) > most) out += fmt::format(", ...: {} in all", grouped(*c.distinct));
  return out;
}

}  // namespace

std::string as_table(const Description& d) {
  std::string out =
      fmt::format("{}: {}, {}\n", d.data, counted_as(d.rows, "row"), counted_as(d.file_columns, "column"));
  out += fmt::format("  {} in memory for the column{} below\n\n", byte_words(d.table_bytes),
                     d.columns.size() == 1 ? "" : "s");
  std::vector<std::vector<std::string>> rows{{"column", "type", "missing", "least", "mean", "most", "sd"}};
  for (const ColumnDescription& c : d.columns)
    rows.push_back({shortened(c.name), type_word(c), grouped(c.missing), figure(c.least), figure(c.mean),
                    figure(c.most), figure(c.sd)});
  out += text_table(rows);
  bool first = true;
  for (const ColumnDescription& c : d.columns) {
    if (c.levels.empty()) continue;
    if (first) out += "\nvalues and how often they occur:\n";
    first = false;
    const std::string head = fmt::format("  {}: ", shortened(c.name));
    out += head + wrapped(level_words(c), head.size(), 4) + '\n';
  }
  if (!d.design) return out;
  const DesignDescription& s = *d.design;
  out += fmt::format("\nmodel of {}: {}, {}\n", s.response, counted_as(s.rows, "row"),
                     counted_as(s.parameters, "parameter"));
  if (s.dropped > 0)
    out += fmt::format("  {} with a missing cell will be dropped\n", counted_as(s.dropped, "row"));
  if (s.held_out > 0) out += fmt::format("  {} will be held out\n", counted_as(s.held_out, "row"));
  std::string names;
  constexpr std::size_t most = 60;
  for (std::size_t k = 0; k < std::min(most, s.columns.size()); ++k)
    names += (k == 0 ? "" : ", ") + s.columns[k];
  if (s.columns.size() > most) names += ", ...";
  const std::string head = fmt::format("  {}: ", counted_as(s.columns.size(), "design column"));
  out += head + wrapped(names, head.size(), 4) + '\n';
  for (const DesignDescription::Group& group : s.groups)
    out +=
        fmt::format("  {} of {}, with {} to {} rows each; {} {} by them\n", counted_as(group.levels, "group"),
                    group.name, grouped(group.least_rows), grouped(group.most_rows),
                    fmt::join(group.effects, ", "), group.effects.size() == 1 ? "varies" : "vary");
  out += fmt::format("  {} in memory for the design\n", byte_words(s.design_bytes));
  out += fmt::format("  method {}\n", s.method);
  return out;
}

std::string as_json(const Description& d) {
  Json json{
      {"data", d.data}, {"rows", d.rows}, {"file_columns", d.file_columns}, {"table_bytes", d.table_bytes}};
  Json columns = Json::object();
  for (const ColumnDescription& c : d.columns) {
    Json one{{"type", type_word(c)}, {"missing", c.missing}};
    if (!c.text) {
      one["least"] = c.least;
      one["mean"] = c.mean;
      one["sd"] = c.sd;
      one["most"] = c.most;
    }
    one["distinct"] = c.distinct;
    if (!c.levels.empty()) {
      Json levels = Json::object();
      for (const auto& [level, count] : c.levels) levels[level] = count;
      one["levels"] = levels;
    }
    columns[c.name] = one;
  }
  json["columns"] = columns;
  if (d.design) {
    const DesignDescription& s = *d.design;
    json["design"] = {{"response", s.response},  {"columns", s.columns}, {"parameters", s.parameters},
                      {"rows", s.rows},          {"dropped", s.dropped}, {"held_out", s.held_out},
                      {"bytes", s.design_bytes}, {"method", s.method}};
    if (!s.groups.empty()) {
      Json groups = Json::array();
      for (const DesignDescription::Group& group : s.groups)
        groups.push_back({{"name", group.name},
                          {"levels", group.levels},
                          {"effects", group.effects},
                          {"least_rows", group.least_rows},
                          {"most_rows", group.most_rows}});
      json["design"]["groups"] = groups;
    }
  }
  return json.dump(2) + "\n";
}

}  // namespace mlo
