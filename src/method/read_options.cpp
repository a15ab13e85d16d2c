// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/method/read_options.hpp"

#include <fmt/format.h>

#include <cctype>

#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

// A mark must be one byte, and must not be part of numbers, names or line ends.
char mark_of(const std::string& option, const std::string& text) {
  if (text == "tab" || text == "\\t") return '\t';
  const bool usable = text.size() == 1 && std::isprint(static_cast<unsigned char>(text[0])) != 0 &&
                      std::isalnum(static_cast<unsigned char>(text[0])) == 0 &&
                      std::string_view("\" +-.").find(text[0]) == std::string_view::npos;
  if (usable || text == "\t") return text[0];
  throw UsageError(fmt::format(
      "`{}` must be one character, but not a letter, a digit, a blank, a quote, a sign or a point; or "
      "tab (got \"{}\")",
      option, text));
}

std::vector<std::string> spellings(const std::string& text) {
  constexpr std::string_view blanks = " \t";
  std::vector<std::string> out;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const std::string_view part = std::string_view(text).substr(from, comma - from);
    const std::size_t first = part.find_first_not_of(blanks);
    if (first != std::string_view::npos)
      out.emplace_back(part.substr(first, part.find_last_not_of(blanks) + 1 - first));
    from = comma + 1;
  }
  return out;
}

}  // namespace

ReadOptions read_options(const FitOptions& options) {
  ReadOptions out;
  if (options.delimiter) out.delimiter = mark_of("delimiter", *options.delimiter);
  if (options.decimal) out.decimal = options.decimal->front();
  if (options.comment) out.comment = mark_of("comment", *options.comment);
  if (options.na) out.na = spellings(*options.na);
  if (out.delimiter && out.delimiter == out.decimal)
    throw UsageError("`delimiter` and `decimal` must differ (both are \",\")");
  if (out.comment && (out.comment == out.delimiter || out.comment == out.decimal))
    throw UsageError(
        fmt::format("`comment` must differ from `delimiter` and `decimal` (got \"{}\")", *options.comment));
  for (const auto& [column, type] : options.types) {
    const ColumnType its = type == "text" ? ColumnType::text : ColumnType::number;
    if (!out.types.emplace(column, its).second)
      throw UsageError(fmt::format("`type` of \"{}\" is given twice", column));
  }
  out.threads = static_cast<std::size_t>(options.threads);
  return out;
}

}  // namespace mlo
