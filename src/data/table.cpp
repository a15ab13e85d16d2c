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

DataError not_numbers(const Table& table, const Column& column) {
  const Text& text = column.text();
  const std::string name = csv::quoted(column.name);
  if (!text.words || text.words->count == 0) {
    const std::string example = text.levels.empty() ? "" : fmt::format(" ({})", csv::quoted(text.levels[0]));
    return {table.source.name,
            fmt::format("column {} holds text{}, but numbers are needed here", name, example)};
  }
  const Text::Words& words = *text.words;
  const std::string value = csv::quoted(text.levels[text.codes[words.first]]);
  const bool mistakes = 2 * words.count <= words.cells;  // a column of numbers with a few words in it
  return {table.source.place(words.first),
          mistakes
              ? fmt::format("column {}: {} is not a number; {} of {} cells {} not: correct {}, or list the "
                            "spelling with `na` if it means missing",
                            name, value, grouped(words.count), grouped(words.cells),
                            words.count == 1 ? "is" : "are", words.count == 1 ? "it" : "them")
              : fmt::format("column {} holds text ({}), but numbers are needed here", name, value)};
}

}  // namespace mlo
