// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/date_text.hpp"

#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <limits>

namespace mlo {

bool append_date(std::int64_t days, std::string& out) {
  constexpr std::int64_t first = -719'162, last = 2'932'896;  // 0001-01-01, 9999-12-31
  if (days < first || days > last) return false;
  const std::chrono::year_month_day date(
      std::chrono::sys_days(std::chrono::days(static_cast<std::int32_t>(days))));
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                 static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return true;
}

void append_time(std::int64_t microseconds, std::string& out) {
  const std::int64_t seconds = microseconds / 1'000'000, rest = microseconds % 1'000'000;
  fmt::format_to(std::back_inserter(out), "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60,
                 seconds % 60);
  if (rest == 0) return;
  fmt::format_to(std::back_inserter(out), ".{:06}", rest);
  out.erase(out.find_last_not_of('0') + 1);
}

bool append_timestamp(std::int64_t microseconds, std::string& out) {
  constexpr std::int64_t day = 86'400'000'000;
  std::int64_t days = microseconds / day;
  if (microseconds % day < 0) --days;
  if (!append_date(days, out)) return false;
  out += ' ';
  append_time(microseconds - days * day, out);
  return true;
}

std::int64_t microseconds_of(std::int64_t value, std::int64_t factor) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(value, factor, &result) ? std::numeric_limits<std::int64_t>::max() : result;
}

std::int64_t microseconds_of_nanoseconds(std::int64_t value) {
  const std::int64_t microseconds = value / 1000;
  return value % 1000 < 0 ? microseconds - 1 : microseconds;
}

}  // namespace mlo
