// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/table.hpp"

#include <fmt/format.h>

#include "data/csv_text.hpp"
#include "mlo/base/text.hpp"

namespace mlo {

std::size_t Column::size() const noexcept {
  if (const Text* const text = std::get_if<Text>(&cells)) return text->codes.size();
  return std::get_if<Numbers>(&cells)->size();
}

bool mostly_numbers(const Text& text) noexcept {
  return text.words && text.words->count > 0 && 2 * text.words->count <= text.words->cells;
}

DataError not_numbers(const Table& table, const Column& column) {
  const Text& text = column.text();
  const Text::Words& words = *text.words;
  const bool one = words.count == 1;
  return {table.source.place(words.first),
          fmt::format(
              "column {}: {} is not a number; {} of {} cells {} not: correct {}, or list the spelling with "
              "`na` if it means missing",
              csv::quoted(column.name), csv::quoted(text.levels[text.codes[words.first]]),
              grouped(words.count), grouped(words.cells), one ? "is" : "are", one ? "it" : "them")};
}

}  // namespace mlo
