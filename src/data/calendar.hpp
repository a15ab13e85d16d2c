// Copyright (c) the mlo authors. BSD-3-Clause.
// Dates and times in ISO 8601 form, as numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mlo::calendar {

// The clock as it is written: an offset from UTC ("Z", "+02:00") is checked and then ignored, so that hour()
// is the hour that the people in the data saw.
struct Moment {
  int year = 0;       // 0 to 9999, Gregorian throughout
  int month = 0;      // 1 to 12
  int day = 0;        // 1 to 31
  int hour = 0;       // 0 to 23
  int minute = 0;     // 0 to 59
  double second = 0;  // [0, 60), or 60 and more in a leap second
  bool has_time = false;
};

// "2024-02-29", then optionally "T" or a blank and "13:05", ":59", ".5", and "Z", "+02:00", "+0200" or "+02".
// No value if `text` is anything else, and then, if asked for, `why` says what is wrong: "February 2023 has
// 28 days".
[[nodiscard]] std::optional<Moment> parse(std::string_view text, std::string* why = nullptr);
[[nodiscard]] bool is_iso_date(std::string_view text);

// The functions of dates in formulas.
enum class Field { year, month, mday, yday, wday, hour, minute, second, days };
// By its name in formulas: "year", "month", "mday", "yday", ...
[[nodiscard]] std::optional<Field> find_field(std::string_view name);
// "year, month, mday, ..." for messages.
[[nodiscard]] std::string field_names();

// year; month 1 to 12; mday 1 to 31; yday 1 to 366; wday 1 = Sunday to 7 = Saturday, as in lubridate; hour;
// minute; second with its fraction; days since 1970-01-01 with the time of day as their fraction. The time of
// a date alone is 00:00.
[[nodiscard]] double value(const Moment& moment, Field field);

}  // namespace mlo::calendar
