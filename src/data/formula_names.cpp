// Copyright (c) the mlo authors. BSD-3-Clause.
// Names: which need backquotes, and columns that are not there.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "data/formula_syntax.hpp"
#include "mlo/base/names.hpp"

namespace mlo::syntax {
namespace {

bool is_letter(char c) {
  // Bytes above 0x7F belong to a UTF-8 character, which we take for a letter.
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

constexpr std::array<std::string_view, 16> reserved = {"if",   "else",  "repeat", "while", "function", "for",
                                                       "next", "break", "TRUE",   "FALSE", "NULL",     "Inf",
                                                       "NaN",  "NA",    "in",     "..."};

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
  std::string message = fmt::format("no column \"{}\" in the data; ", name);
  const std::string nearest = nearest_name(name, columns);
  if (!nearest.empty()) return message + fmt::format("did you mean \"{}\"?", nearest);
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
