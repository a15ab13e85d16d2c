// Copyright (c) the mlo authors. BSD-3-Clause.
// Numbers for people.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

namespace mlo {

// 1234567 as "1,234,567".
[[nodiscard]] inline std::string grouped(std::uint64_t number) {
  std::string out = std::to_string(number);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, 1, ',');
  return out;
}

// 0.0123, 45.6, 1,400: `digits` significant digits, or more for a large number, which is rounded to a whole
// one. No exponent, except for numbers below 0.0001 or above 10^15.
[[nodiscard]] inline std::string plain_number(double number, int digits = 3) {
  const double size = std::abs(number);
  if (size >= std::pow(10.0, digits) - 0.5 && size < 1e15) {
    std::string out = grouped(static_cast<std::uint64_t>(std::llround(size)));
    if (number < 0) out.insert(0, 1, '-');
    return out;
  }
  std::array<char, 64> text;
  const auto result =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::general, digits);
  return {text.data(), result.ptr};
}

}  // namespace mlo
