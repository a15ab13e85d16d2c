// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/text_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "data/calendar.hpp"
#include "data/csv_number.hpp"
#include "data/csv_text.hpp"
#include "mlo/base/text.hpp"

namespace mlo {
namespace {

// What may help where a column of text was taken for numbers.
std::string advice_for(const std::string& word) {
  if (calendar::is_iso_date(word))
    return fmt::format("; these functions make numbers of dates: {}", calendar::field_names());
  const auto digits = std::count_if(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
  const bool one_comma = std::count(word.begin(), word.end(), ',') == 1;
  if (one_comma && static_cast<std::size_t>(digits) + 1 + (word.starts_with('-') ? 1 : 0) == word.size())
    return "; if its numbers have a decimal comma, say so with `decimal ,`";
  return "";
}

std::string is_or_are_not(const Text::Words& words) {
  return fmt::format("{} of {} cells {} not", grouped(words.count), grouped(words.cells),
                     words.count == 1 ? "is" : "are");
}

}  // namespace

bool mostly_numbers(const Text& text) noexcept {
  return text.words && text.words->count > 0 && 2 * text.words->count <= text.words->cells;
}

DataError not_numbers(const Table& table, const Column& column, std::string_view user) {
  const Text& text = column.text();
  const std::string name = csv::quoted(column.name);
  const bool placed = text.words && text.words->count > 0;
  const std::string word = placed                ? text.levels[text.codes[text.words->first]]
                           : text.levels.empty() ? ""
                                                 : text.levels[0];
  const std::string place = placed ? table.source.place(text.words->first) : table.source.name;
  if (mostly_numbers(text))
    return {place,
            fmt::format("column {}: {} is not a number; {}: correct {}, or list the spelling with `na` "
                        "if it means missing",
                        name, csv::quoted(word), is_or_are_not(*text.words),
                        text.words->count == 1 ? "it" : "them")};
  return {place, fmt::format("column {} holds text{}, but {}{}", name,
                             word.empty() ? "" : fmt::format(" ({})", csv::quoted(word)),
                             user.empty() ? "numbers are needed here" : fmt::format("{} needs numbers", user),
                             advice_for(word))};
}

std::optional<Numbers> spelled_numbers(const Text& text) {
  std::vector<double> values(text.levels.size(), std::numeric_limits<double>::quiet_NaN());
  const csv::CellRules rules;
  for (std::size_t level = 0; level < values.size(); ++level) {
    const csv::CellKind kind = csv::read_cell(text.levels[level], values[level], rules);
    if (kind != csv::CellKind::number && kind != csv::CellKind::missing) return std::nullopt;
  }
  Numbers out;
  out.reserve(text.codes.size());
  for (const std::uint32_t code : text.codes)
    out.push_back(code == Text::missing ? std::numeric_limits<double>::quiet_NaN() : values[code]);
  return out;
}

std::string factor_remark(const Table& table, const Column& column) {
  if (!column.is_text()) return "";
  const Text& text = column.text();
  if (mostly_numbers(text))
    return fmt::format("a factor because {} {} ({}: {})", is_or_are_not(*text.words),
                       text.words->count == 1 ? "a number" : "numbers", table.source.place(text.words->first),
                       csv::quoted(text.levels[text.codes[text.words->first]]));
  if (!text.levels.empty() && calendar::is_iso_date(text.levels[0]))
    return fmt::format("dates; these functions make numbers of them: {}", calendar::field_names());
  return "";
}

}  // namespace mlo
