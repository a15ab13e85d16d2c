// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/csv_number.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

#include "data/csv_text.hpp"

namespace mlo::csv {
namespace {

bool equal_ignoring_case(std::string_view cell, std::string_view lower) noexcept {
  return std::equal(cell.begin(), cell.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + 32) : a) == b;
  });
}

// Whether a number outside a double's range, [-]digits[.digits][e[-+]digits], is too small rather than too
// large. It is if the decimal exponent of its first significant digit is negative.
bool underflows(std::string_view number) noexcept {
  constexpr std::int64_t huge = std::int64_t{1} << 40;  // beyond any number of digits a cell can have
  std::int64_t exponent = 0;
  bool significant = false;
  bool fraction = false;
  std::size_t at = number.front() == '-' ? 1 : 0;
  for (; at < number.size() && number[at] != 'e' && number[at] != 'E'; ++at) {
    if (number[at] == '.') {
      fraction = true;
      continue;
    }
    significant = significant || number[at] != '0';
    if (significant && !fraction) ++exponent;
    if (!significant && fraction) --exponent;
  }
  if (at < number.size()) {
    ++at;
    const bool below = number[at] == '-';
    if (below || number[at] == '+') ++at;
    std::int64_t stated = 0;
    for (; at < number.size(); ++at) stated = std::min(huge, stated * 10 + (number[at] - '0'));
    exponent += below ? -stated : stated;
  }
  return exponent < 0;
}

// Reads a number without a leading '+', which must be the whole text.
CellKind read_number(std::string_view text, double& value) noexcept {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::invalid_argument || stop != end) return CellKind::text;
  if (error == std::errc::result_out_of_range) {
    if (!underflows(text)) return CellKind::not_finite;
    value = text.front() == '-' ? -0.0 : 0.0;
    return CellKind::number;
  }
  return std::isfinite(value) ? CellKind::number : CellKind::not_finite;
}

}  // namespace

CellRules::CellRules(std::vector<std::string> spellings, char decimal_mark)
    : na(std::move(spellings)), decimal(decimal_mark) {
  CellRules plain = *this;  // in which "-999" is a number
  plain.na.clear();
  for (const std::string& spelling : na) {
    double value = 0;
    if (spelling == "NA") na_is_missing = true;
    if (read_cell(spelling, value, plain) == CellKind::number) na_numbers.push_back(value);
  }
}

CellKind read_cell(std::string_view cell, double& value, const CellRules& rules) {
  cell = trim(cell);
  if (cell.empty() || std::find(rules.na.begin(), rules.na.end(), cell) != rules.na.end()) {
    value = std::numeric_limits<double>::quiet_NaN();
    return CellKind::missing;
  }
  if (equal_ignoring_case(cell, "true")) {
    value = 1;
    return CellKind::logical;
  }
  if (equal_ignoring_case(cell, "false")) {
    value = 0;
    return CellKind::logical;
  }
  if (cell.front() == '+') {  // from_chars does not take a '+'
    cell.remove_prefix(1);
    if (cell.empty() || cell.front() == '-') return CellKind::text;
  }
  std::string with_point;
  if (rules.decimal != '.') {  // from_chars takes no other mark
    if (cell.find('.') != std::string_view::npos) return CellKind::text;
    with_point = cell;
    std::replace(with_point.begin(), with_point.end(), rules.decimal, '.');
    cell = with_point;
  }
  const CellKind kind = read_number(cell, value);
  if (kind == CellKind::number && rules.is_missing(value)) {
    value = std::numeric_limits<double>::quiet_NaN();
    return CellKind::missing;
  }
  return kind;
}

}  // namespace mlo::csv
