// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/table.hpp"

namespace mlo {

std::size_t Column::size() const noexcept {
  if (const Text* const text = std::get_if<Text>(&cells)) return text->codes.size();
  if (const BorrowedNumbers* const borrowed = std::get_if<BorrowedNumbers>(&cells))
    return borrowed->cells.size();
  return std::get_if<Numbers>(&cells)->size();
}

std::span<const double> Column::values() const {
  if (const BorrowedNumbers* const borrowed = std::get_if<BorrowedNumbers>(&cells)) return borrowed->cells;
  return std::get<Numbers>(cells);
}

}  // namespace mlo
