// Copyright (c) the mlo authors. BSD-3-Clause.
// A result as text and as CSV.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/result.hpp"
#include "mlo/report/text_table.hpp"

namespace mlo::experiments {
namespace {

struct Shown {
  std::string ours, se, paper;
};

Shown texts_of(const std::optional<Number>& number) {
  if (!number) return {};
  return {shown(number->ours), number->se ? fmt::format("({:.2g})", *number->se) : "",
          number->paper ? shown(*number->paper) : ""};
}

std::string text_of(const NumberTable& table) {
  std::size_t label = 0;
  for (const NumberRow& row : table.rows) label = std::max(label, row.label.size());
  std::vector<std::string> lines(table.rows.size() + 2);
  lines[0] = lines[1] = std::string(label, ' ');
  for (std::size_t r = 0; r < table.rows.size(); ++r)
    lines[r + 2] = fmt::format("{:<{}}", table.rows[r].label, label);
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::vector<Shown> cells;
    for (const NumberRow& row : table.rows) cells.push_back(texts_of(row.cells[c]));
    const auto width = [&](std::string Shown::*member, std::size_t least) {
      std::size_t out = 0;
      for (const Shown& cell : cells) out = std::max(out, (cell.*member).size());
      return out == 0 ? 0 : std::max(out, least) + 1;
    };
    const std::size_t ours = width(&Shown::ours, 4), se = width(&Shown::se, 4),
                      paper = width(&Shown::paper, 5);
    const std::size_t all = std::max(ours + se + paper, table.columns[c].size());
    // If a column's name is wider than its numbers, the spare room goes before them.
    const std::size_t room = all - (ours + se + paper) + 2;
    lines[0] += fmt::format("{:>{}}", table.columns[c], all + 2);
    const auto add = [&](std::string& line, const Shown& cell) {
      line += std::string(room, ' ');
      if (ours > 0) line += fmt::format("{:>{}}", cell.ours, ours);
      if (se > 0) line += fmt::format("{:>{}}", cell.se, se);
      if (paper > 0) line += fmt::format("{:>{}}", cell.paper, paper);
    };
    add(lines[1], {"ours", se > 0 ? "(se)" : "", paper > 0 ? "paper" : ""});
    for (std::size_t r = 0; r < cells.size(); ++r) add(lines[r + 2], cells[r]);
  }
  std::string out = table.title + "\n";
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    out += "  " + line + "\n";
  }
  return out;
}

std::string z_shown(double z) {
  const std::string out = fmt::format("{:.1f}", z);
  return out == "-0.0" ? "0.0" : out;
}

}  // namespace

std::string shown(double value) {
  if (!std::isfinite(value)) return "nan";
  const double size = std::abs(value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  if (size >= 0.9995) return fmt::format("{:.2f}", value);
  if (size >= 0.0995 || size == 0) return fmt::format("{:.3f}", value);
  return size >= 0.00095 ? fmt::format("{:.4f}", value) : fmt::format("{:.2g}", value);
}

std::string as_text(const Result& result) {
  std::string out = fmt::format("{}: {}\n", result.name, result.title);
  for (const std::string& line : result.settings) out += "  " + line + "\n";
  for (const NumberTable& table : result.tables) out += fmt::format("\n{}", text_of(table));
  if (!result.claims.empty()) {
    std::size_t width = 0;
    for (const Claim& claim : result.claims) width = std::max(width, claim.text.size());
    out += "\nThe paper's claims\n";
    for (const Claim& claim : result.claims)
      out += fmt::format("  {:<{}}  z {:>6}  {}\n", claim.text, width, z_shown(claim.z), claim.verdict);
  }
  if (!result.notes.empty()) out += "\n";
  for (const std::string& note : result.notes) out += note + "\n";
  return out + "\n";
}

std::string as_csv(const Result& result) {
  const auto number = [](std::optional<double> value) {
    return value && !std::isnan(*value) ? fmt::format("{}", *value) : std::string();
  };
  std::string out = "table,row,column,ours,se,paper\n";
  for (const NumberTable& table : result.tables)
    for (const NumberRow& row : table.rows)
      for (std::size_t c = 0; c < table.columns.size(); ++c)
        if (const auto& cell = row.cells[c])
          out += fmt::format("{},{},{},{},{},{}\n", csv_quoted(table.title), csv_quoted(row.label),
                             csv_quoted(table.columns[c]), number(cell->ours), number(cell->se),
                             number(cell->paper));
  return out;
}

}  // namespace mlo::experiments
