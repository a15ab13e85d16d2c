// Copyright (c) the mlo authors. BSD-3-Clause.
// Names: which need backquotes, and which one the user may have meant.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "data/formula_syntax.hpp"

namespace mlo::syntax {
namespace {

bool is_letter(char c) {
  // Bytes above 0x7F belong to a UTF-8 character, which we take for a letter.
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

constexpr std::array<std::string_view, 16> reserved = {"if",   "else",  "repeat", "while", "function", "for",
                                                       "next", "break", "TRUE",   "FALSE", "NULL",     "Inf",
                                                       "NaN",  "NA",    "in",     "..."};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Damerau-Levenshtein distance (adjacent transpositions), ignoring case.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

// Allows one typing error per three characters: "Elevaton" may mean "Elevation", but "x1" does not mean "x2".
std::size_t slips(std::string_view name) { return name.size() / 3; }

}  // namespace

bool is_name_start(char c) { return is_letter(c) || c == '.'; }
bool is_name_part(char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '_'; }

std::string quoted_if_needed(const std::string& name) {
  const bool plain = !name.empty() && is_name_start(name[0]) && name != "." &&
                     !(name[0] == '.' && name.size() > 1 && is_digit(name[1])) &&
                     std::all_of(name.begin(), name.end(), is_name_part) &&
                     std::find(reserved.begin(), reserved.end(), name) == reserved.end();
  if (plain) return name;
  std::string quoted = "`";
  for (const char c : name) {
    if (c == '`' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '`';
}

std::string unknown_column(const std::string& name, std::span<const std::string> columns) {
  const std::string* nearest = nullptr;
  std::size_t least = slips(name) + 1;
  for (const std::string& column : columns) {
    // The distance is at least the difference in length: often that is enough, and no table has to be filled.
    const std::size_t longer = std::max(name.size(), column.size()) - std::min(name.size(), column.size());
    if (longer >= least) continue;
    const std::size_t d = distance(name, column);
    if (d < least) {
      least = d;
      nearest = &column;
    }
  }
  std::string message = fmt::format("no column \"{}\" in the data; ", name);
  if (nearest != nullptr) return message + fmt::format("did you mean \"{}\"?", *nearest);
  if (columns.empty()) return message + "it has no columns";
  constexpr std::size_t shown = 10;
  message += "its columns are";
  for (std::size_t i = 0; i < std::min(shown, columns.size()); ++i) {
    message += fmt::format("{}\"{}\"", i == 0 ? " " : ", ", columns[i]);
  }
  if (columns.size() > shown) message += fmt::format(", ... ({} in all)", columns.size());
  if (columns.size() == 1 && columns[0].find_first_of(",;|\t") != std::string::npos)
    message += "; is `delimiter` right?";
  return message;
}

}  // namespace mlo::syntax
