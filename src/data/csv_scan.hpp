// Copyright (c) the mlo authors. BSD-3-Clause.
// Skips cells that are not wanted, 64 bytes per step. The line must end with a newline; all functions may
// read up to 64 bytes past it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "csv_number.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace mlo::csv {

inline constexpr std::size_t scan_width = 64;

// Bit i is set if p[i] == c, for i < 64. Works on any processor.
[[nodiscard]] inline std::uint64_t matches_portable(const char* p, char c) noexcept {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < scan_width; i += 8) {
    // Marks the bytes that are zero, without carries between bytes, then gathers the marks with a
    // multiplication.
    const std::uint64_t x = load_little_endian(p + i) ^ (0x0101010101010101U * static_cast<unsigned char>(c));
    constexpr std::uint64_t low = 0x7F7F7F7F7F7F7F7FU;
    const std::uint64_t zero = ~(((x & low) + low) | x | low);
    mask |= (((zero >> 7) * 0x0102040810204080U) >> 56) << i;
  }
  return mask;
}

// The same with SSE2, which every x86-64 has.
[[nodiscard]] inline std::uint64_t matches(const char* p, char c) noexcept {
#if defined(__SSE2__)
  const __m128i pattern = _mm_set1_epi8(c);
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < scan_width; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i));
    const auto part = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, pattern)));
    mask |= static_cast<std::uint64_t>(part) << i;
  }
  return mask;
#else
  return matches_portable(p, c);
#endif
}

// std::popcount is a library call unless the compiler may assume the POPCNT instruction, which it may not
// here.
[[nodiscard]] inline std::uint64_t count_bits(std::uint64_t x) noexcept {
  x -= (x >> 1) & 0x5555555555555555U;
  x = (x & 0x3333333333333333U) + ((x >> 2) & 0x3333333333333333U);
  x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0FU;
  return (x * 0x0101010101010101U) >> 56;
}

// The bits below the lowest set bit of x; all bits for x == 0.
[[nodiscard]] inline std::uint64_t below_first(std::uint64_t x) noexcept { return ~x & (x - 1); }

// Skips `cells` >= 1 cells and the delimiters after them. Returns nullptr if the line ends first or has a
// quote.
[[nodiscard]] inline const char* skip_cells(const char* p, std::size_t cells, char delimiter) noexcept {
  for (;; p += scan_width) {
    const std::uint64_t stops = matches(p, '\n') | matches(p, '"');
    std::uint64_t delimiters = matches(p, delimiter) & below_first(stops);
    const auto count = static_cast<std::size_t>(count_bits(delimiters));
    if (count >= cells) {
      for (; cells > 1; --cells) delimiters &= delimiters - 1;
      return p + std::countr_zero(delimiters) + 1;
    }
    if (stops != 0) return nullptr;
    cells -= count;
  }
}

// Skips the rest of the line, which must be `cells` >= 1 cells. Returns nullptr if it is not, or has a quote.
[[nodiscard]] inline const char* skip_line(const char* p, std::size_t cells, char delimiter) noexcept {
  for (std::size_t seen = 0;; p += scan_width) {
    const std::uint64_t newlines = matches(p, '\n');
    const std::uint64_t in_line = below_first(newlines);
    if ((matches(p, '"') & in_line) != 0) return nullptr;
    seen += static_cast<std::size_t>(count_bits(matches(p, delimiter) & in_line));
    if (newlines != 0) return seen + 1 == cells ? p + std::countr_zero(newlines) + 1 : nullptr;
  }
}

// The next delimiter or newline.
[[nodiscard]] inline const char* find_end_of_cell(const char* p, char delimiter) noexcept {
  for (;; p += scan_width) {
    const std::uint64_t ends = matches(p, '\n') | matches(p, delimiter);
    if (ends != 0) return p + std::countr_zero(ends);
  }
}

}  // namespace mlo::csv
