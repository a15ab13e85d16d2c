// Copyright (c) the mlo authors. BSD-3-Clause.
// Numbers for people.
#pragma once

#include <cstdint>
#include <string>

namespace mlo {

// 1234567 as "1,234,567".
[[nodiscard]] inline std::string grouped(std::uint64_t number) {
  std::string out = std::to_string(number);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, 1, ',');
  return out;
}

}  // namespace mlo
