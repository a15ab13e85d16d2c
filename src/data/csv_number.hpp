// Copyright (c) the mlo authors. BSD-3-Clause.
// Text to double, rounded to nearest even: the same bits as std::from_chars, in less time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mlo/base/hash.hpp"
#include "mlo/data/reader.hpp"

namespace mlo::csv {

// What a cell (unquoted, any length) holds.
enum class CellKind { number, logical, missing, not_finite, text };

// What counts as a number and as missing. The empty cell is always missing.
struct CellRules {
  CellRules() : CellRules(ReadOptions().na, '.') {}
  CellRules(std::vector<std::string> spellings, char decimal_mark);

  std::vector<std::string> na;
  std::vector<double> na_numbers;  // those of `na` that are numbers
  char decimal;
  bool na_is_missing = false;  // whether "NA" is one of them, which is looked for first

  [[nodiscard]] bool is_missing(double value) const noexcept {
    return !na_numbers.empty() && std::find(na_numbers.begin(), na_numbers.end(), value) != na_numbers.end();
  }
};

// The careful way, for any cell: trims blanks, knows the spellings of a missing cell, true and false, and
// uses std::from_chars. `value` is set for number, to 0 or 1 for logical, and to NaN for missing.
[[nodiscard]] CellKind read_cell(std::string_view cell, double& value, const CellRules& rules = CellRules());

namespace number {

// An operation on two doubles must round once, to double precision.
static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 1);

__extension__ using uint128 = unsigned __int128;

inline constexpr std::size_t max_exact_power = 22;  // 10^22 is the last power of ten that a double holds
inline constexpr std::array<double, max_exact_power + 1> powers_of_ten = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// 10^k, and the largest w for which w * 10^k + (10^k - 1) is sure to fit in 64 bits.
struct SmallPower {
  std::uint64_t value = 1;
  std::uint64_t limit = 0;
};
inline constexpr auto small_powers = [] {
  std::array<SmallPower, 9> table;
  std::uint64_t power = 1;
  for (SmallPower& entry : table) {
    entry = {power, ~std::uint64_t{0} / power - 1};
    power *= 10;
  }
  return table;
}();

// 5^k, shifted up to fill 64 bits, and its reciprocal floor((2^128 - 1) / value) - 2^64.
struct Divisor {
  std::uint64_t value = 0;
  std::uint64_t reciprocal = 0;
  int shift = 0;
};
inline constexpr std::size_t max_power_of_five = 27;  // 5^27 is the last one below 2^64
inline constexpr auto divisors = [] {
  std::array<Divisor, max_power_of_five + 1> table;
  std::uint64_t power = 1;
  for (Divisor& d : table) {
    d.shift = std::countl_zero(power);
    d.value = power << d.shift;
    d.reciprocal = static_cast<std::uint64_t>(~uint128{0} / d.value);
    power *= 5;
  }
  return table;
}();

// w / 10^k for 0 < w, k <= 27. The division by 5^k is done in integers: rounding to 53 bits needs only a
// quotient of 64 bits and whether there is a remainder. It multiplies by a known reciprocal: Moller and
// Granlund 2011, alg. 4.
inline double divide(std::uint64_t w, std::size_t k) noexcept {
  const Divisor& d = divisors[k];
  const int up = std::countl_zero(w);
  w <<= up;
  const std::uint64_t down = w >= d.value ? 1 : 0;  // makes the quotient fit, with its highest bit set
  const std::uint64_t high = w >> down;
  const std::uint64_t low = (w & down) << 63;

  // The first correction is needed about half of the time, so it is made with a mask: a branch would often be
  // mispredicted.
  const uint128 estimate = uint128{d.reciprocal} * high + ((uint128{high} << 64) | low);
  std::uint64_t quotient = static_cast<std::uint64_t>(estimate >> 64) + 1;
  std::uint64_t rest = low - quotient * d.value;
  const std::uint64_t correction = rest > static_cast<std::uint64_t>(estimate) ? ~std::uint64_t{0} : 0;
  quotient += correction;
  rest += d.value & correction;
  if (rest >= d.value) {
    ++quotient;
    rest -= d.value;
  }
  // 63 bits with a sticky last one: converting a signed integer rounds to nearest even, as it should.
  const auto sticky = static_cast<std::int64_t>((quotient >> 1) | (quotient & 1) | (rest != 0 ? 1U : 0U));
  const int exponent = 1 - (up + 64 - static_cast<int>(down) - d.shift) - static_cast<int>(k);
  return static_cast<double>(sticky) *
         std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

// The next 8 bytes, with each digit replaced by its value, 0..9.
inline std::uint64_t load_digits(const char* p) noexcept {
  return load_little_endian(p) ^ 0x3030303030303030U;
}

// Sets the high bit of each byte that is not a digit. A carry can spoil only bytes after the first of those.
inline std::uint64_t non_digits(std::uint64_t word) noexcept {
  return ((word + 0x7676767676767676U) | word) & 0x8080808080808080U;
}

// The value of eight digits, combined to pairs, then fours, then eight.
inline std::uint64_t combine(std::uint64_t word) noexcept {
  word = word * 10 + (word >> 8);
  return ((word & 0x000000FF000000FFU) * 0x000F424000000064U +
          ((word >> 16) & 0x000000FF000000FFU) * 0x0000271000000001U) >>
         32;
}

// Appends the digits at p to w, eight at a time; false if w outgrows 64 bits. Reads up to 8 bytes past the
// digits.
inline bool take_digits(const char*& p, std::uint64_t& w) noexcept {
  std::uint64_t word = load_digits(p);
  std::uint64_t others = non_digits(word);
  for (; others == 0; others = non_digits(word)) {
    if (w > small_powers[8].limit) return false;
    w = w * small_powers[8].value + combine(word);
    p += 8;
    word = load_digits(p);
  }
  const unsigned count =
      static_cast<unsigned>(std::countr_zero(others)) / 8U;  // 0..7; no branch depends on it
  const unsigned unused = 4 * (8 - count);
  word = (word << unused) << unused;  // in two steps: a shift by 64 is undefined
  if (w > small_powers[count].limit) return false;
  w = w * small_powers[count].value + combine(word);
  p += count;
  return true;
}

}  // namespace number

// The number [-+]digits[.digits][e[-+]digits] at p; returns its end. nullptr: something else, or a number
// that might not be rounded correctly here (more digits than fit in 64 bits, a large exponent). Reads up to 8
// bytes past the end. Point: the decimal mark.
template <char Point = '.'>
[[nodiscard]] inline const char* fast_number(const char* p, double& value) noexcept {
  using namespace number;
  const std::uint64_t negative = *p == '-' ? 1 : 0;  // signs are unpredictable, so no branch
  p += negative | (*p == '+' ? 1U : 0U);

  std::uint64_t w = 0;
  const char* const first = p;
  if (p[1] == Point && p[0] >= '0' && p[0] <= '9') {  // how a decimal number usually starts
    w = static_cast<std::uint64_t>(*p++ - '0');
  } else if (!take_digits(p, w)) {
    return nullptr;
  }
  std::ptrdiff_t digits = p - first;
  std::ptrdiff_t fraction = 0;  // the value is w / 10^fraction
  if (*p == Point) {
    const char* const point = ++p;
    if (!take_digits(p, w)) return nullptr;
    fraction = p - point;
    digits += fraction;
  }
  if (digits == 0) return nullptr;
  if (*p == 'e' || *p == 'E') {
    ++p;
    const bool below = *p == '-';
    p += below || *p == '+' ? 1 : 0;
    std::uint64_t exponent = 0;
    const char* const start = p;
    if (!take_digits(p, exponent) || p == start || exponent > 999) return nullptr;
    fraction += below ? static_cast<std::ptrdiff_t>(exponent) : -static_cast<std::ptrdiff_t>(exponent);
  }

  // Many decimals: divide without asking whether w fits in 53 bits, which no branch predictor could guess
  // here.
  constexpr std::uint64_t max_exact = std::uint64_t{1} << 53;
  constexpr auto max_power = static_cast<std::ptrdiff_t>(max_exact_power);
  double result;
  if ((fraction > 12 || w > max_exact) && fraction >= 0 && w != 0) {
    if (fraction > static_cast<std::ptrdiff_t>(max_power_of_five)) return nullptr;
    result = divide(w, static_cast<std::size_t>(fraction));
  } else if (w <= max_exact && fraction >= -max_power && fraction <= max_power) {
    // One operation on two exact doubles is correctly rounded (Clinger 1990).
    const auto exact = static_cast<double>(static_cast<std::int64_t>(w));
    if (fraction == 0) {
      result = exact;
    } else if (fraction > 0) {
      result = exact / powers_of_ten[static_cast<std::size_t>(fraction)];
    } else {
      result = exact * powers_of_ten[static_cast<std::size_t>(-fraction)];
    }
  } else {
    return nullptr;
  }
  value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(result) | (negative << 63));
  return p;
}

}  // namespace mlo::csv
