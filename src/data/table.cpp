// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/table.hpp"

namespace mlo {

std::size_t Column::size() const noexcept {
  if (const Text* const text = std::get_if<Text>(&cells)) return text->codes.size();
  return std::get_if<Numbers>(&cells)->size();
}

}  // namespace mlo
