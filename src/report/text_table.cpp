// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/report/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mlo {

std::string text_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width;
  for (const auto& row : rows)
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (width.size() <= k) width.push_back(0);
      width[k] = std::max(width[k], row[k].size());
    }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t k = 0; k < row.size(); ++k)
      out += k == 0 ? fmt::format("{:<{}}", row[k], width[k]) : fmt::format("  {:>{}}", row[k], width[k]);
    out += '\n';
  }
  return out;
}

std::string csv_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string csv_cell(const std::string& text) {
  return text.find_first_of(",\"\n") == std::string::npos ? text : csv_quoted(text);
}

std::string wrapped(const std::string& text, std::size_t start, std::size_t indent) {
  constexpr std::size_t width = 100;
  std::string out;
  std::size_t column = start;
  bool fresh = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::size_t length = end - at;
    if (!fresh && column + 1 + length > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!fresh) {
      out += ' ';
      ++column;
    }
    fresh = false;
    out.append(text, at, length);
    column += length;
    at = end + 1;
  }
  return out;
}

}  // namespace mlo
