// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/table.hpp"

#include "mlo/data/text_columns.hpp"

namespace mlo {

std::size_t Column::size() const noexcept {
  if (const Text* const text = std::get_if<Text>(&cells)) return text->codes.size();
  return std::get_if<Numbers>(&cells)->size();
}

DataError not_numbers(const Table& table, const Column& column) { return not_numbers(table, column, {}); }

}  // namespace mlo
