// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/table.hpp"

#include <algorithm>
#include <bit>

namespace mlo {

std::size_t Column::size() const noexcept {
  if (const Text* const text = std::get_if<Text>(&cells)) return text->codes.size();
  if (const BorrowedNumbers* const borrowed = std::get_if<BorrowedNumbers>(&cells))
    return borrowed->cells.size();
  if (const BorrowedIntegers* const integers = std::get_if<BorrowedIntegers>(&cells))
    return integers->cells.size();
  return std::get_if<Numbers>(&cells)->size();
}

std::span<const double> Column::values() const {
  if (const BorrowedNumbers* const borrowed = std::get_if<BorrowedNumbers>(&cells)) return borrowed->cells;
  return std::get<Numbers>(cells);
}

void Column::read(std::size_t first, std::span<double> out) const {
  if (const BorrowedIntegers* const integers = std::get_if<BorrowedIntegers>(&cells)) {
    to_doubles(integers->cells.subspan(first, out.size()), out);
  } else {
    std::copy_n(values().data() + first, out.size(), out.begin());
  }
}

double Column::number(std::size_t row) const {
  double out = 0;
  read(row, {&out, 1});
  return out;
}

void Column::make_doubles() {
  if (!std::holds_alternative<BorrowedIntegers>(cells)) return;
  Numbers numbers(size());
  read(0, numbers);
  cells = std::move(numbers);
}

// Processors before AVX-512 convert 64-bit integers one by one. Below 2^51, an integer added to the bits of
// 1.5 * 2^52 is a double with that integer in its last digits: SIMD additions alone. A block at a time, so
// that the second look at a cell finds it in the cache.
void to_doubles(std::span<const std::int64_t> integers, std::span<double> out) noexcept {
  constexpr std::size_t block = 1024;
  constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
  for (std::size_t first = 0; first < integers.size(); first += block) {
    const std::size_t count = std::min(block, integers.size() - first);
    const std::int64_t* const from = integers.data() + first;
    double* const to = out.data() + first;
    std::uint64_t large = 0;
    for (std::size_t i = 0; i < count; ++i)
      large |= (static_cast<std::uint64_t>(from[i]) + (std::uint64_t{1} << 51U)) >> 52U;
    if (large == 0) {
      for (std::size_t i = 0; i < count; ++i)
        to[i] =
            std::bit_cast<double>(static_cast<std::uint64_t>(from[i]) + std::bit_cast<std::uint64_t>(magic)) -
            magic;
    } else {
      for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<double>(from[i]);
    }
  }
}

}  // namespace mlo
