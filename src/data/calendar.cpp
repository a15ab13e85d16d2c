// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/calendar.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <utility>

namespace mlo::calendar {
namespace {

using std::chrono::sys_days;
using std::chrono::year_month_day;

constexpr std::array<std::string_view, 12> month_names = {"January",   "February", "March",    "April",
                                                          "May",       "June",     "July",     "August",
                                                          "September", "October",  "November", "December"};

constexpr std::array<std::string_view, 9> names = {"year", "month",  "mday",   "yday", "wday",
                                                   "hour", "minute", "second", "days"};

// Reads a text from left to right; what does not fit leaves it where it is.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool done() const { return rest_.empty(); }
  [[nodiscard]] bool take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Exactly `count` digits.
  [[nodiscard]] std::optional<int> digits(std::size_t count) {
    if (rest_.size() < count) return std::nullopt;
    int number = 0;
    for (std::size_t k = 0; k < count; ++k) {
      if (rest_[k] < '0' || rest_[k] > '9') return std::nullopt;
      number = 10 * number + (rest_[k] - '0');
    }
    rest_.remove_prefix(count);
    return number;
  }
  // Two digits, a point and at least one digit: seconds with their fraction.
  [[nodiscard]] std::optional<double> seconds() {
    const std::string_view start = rest_;
    if (!digits(2)) return std::nullopt;
    if (take('.') || take(',')) {  // both are ISO's
      std::size_t places = 0;
      while (digits(1)) ++places;
      if (places == 0) return std::nullopt;
    }
    std::string number(start.substr(0, start.size() - rest_.size()));
    if (number.size() > 2) number[2] = '.';
    double out = 0;
    std::from_chars(number.data(), number.data() + number.size(), out);
    return out;
  }

 private:
  std::string_view rest_;
};

constexpr std::string_view form = "it must look like 2024-02-29, 2024-02-29 13:05 or 2024-02-29T13:05:59.5Z";

// The answer "no", with its reason for those who ask: columns of a million dates do not.
template <class... Arguments>
std::nullopt_t no(std::string* why, fmt::format_string<Arguments...> reason, Arguments&&... arguments) {
  if (why != nullptr) *why = fmt::format(reason, std::forward<Arguments>(arguments)...);
  return std::nullopt;
}

year_month_day date_of(const Moment& moment) {
  return {std::chrono::year(moment.year), std::chrono::month(static_cast<unsigned>(moment.month)),
          std::chrono::day(static_cast<unsigned>(moment.day))};
}
int day_number(const Moment& moment) { return sys_days(date_of(moment)).time_since_epoch().count(); }

// Whether the digits of a moment are a date and a time that exist.
std::optional<Moment> existing(const Moment& moment, std::string* why) {
  if (moment.month < 1 || moment.month > 12) return no(why, "there is no month {}", moment.month);
  const year_month_day date = date_of(moment);
  if (!date.ok()) {
    const std::chrono::year_month_day_last last(date.year(), std::chrono::month_day_last(date.month()));
    return no(why, "{} {} has {} days", month_names[static_cast<std::size_t>(moment.month - 1)], moment.year,
              static_cast<unsigned>(last.day()));
  }
  if (moment.hour > 23) return no(why, "there is no hour {}", moment.hour);
  if (moment.minute > 59) return no(why, "there is no minute {}", moment.minute);
  if (moment.second >= (moment.minute == 59 ? 61 : 60))
    return no(why, "there is no second {}", moment.second);
  return moment;
}

}  // namespace

std::optional<Moment> parse(std::string_view text, std::string* why) {
  Cursor cursor(text);
  const auto year = cursor.digits(4);
  if (!year || !cursor.take('-')) return no(why, "{}", form);
  const auto month = cursor.digits(2);
  if (!month || !cursor.take('-')) return no(why, "{}", form);
  const auto day = cursor.digits(2);
  if (!day) return no(why, "{}", form);
  Moment moment{.year = *year, .month = *month, .day = *day};
  if (cursor.done()) return existing(moment, why);

  if (!cursor.take('T') && !cursor.take(' ')) return no(why, "{}", form);
  const auto hour = cursor.digits(2);
  if (!hour || !cursor.take(':')) return no(why, "{}", form);
  const auto minute = cursor.digits(2);
  if (!minute) return no(why, "{}", form);
  if (cursor.take(':')) {
    const auto second = cursor.seconds();
    if (!second) return no(why, "{}", form);
    moment.second = *second;
  }
  if (!cursor.take('Z') && (cursor.take('+') || cursor.take('-'))) {
    const auto hours = cursor.digits(2);
    const bool colon = cursor.take(':');
    const auto minutes = cursor.digits(2);
    if (!hours || (colon && !minutes)) return no(why, "{}", form);
    if (*hours > 18 || minutes.value_or(0) > 59) return no(why, "the offset from UTC must be at most 18:00");
  }
  if (!cursor.done()) return no(why, "{}", form);
  moment.hour = *hour;
  moment.minute = *minute;
  moment.has_time = true;
  return existing(moment, why);
}

bool is_iso_date(std::string_view text) { return parse(text).has_value(); }

std::optional<Field> find_field(std::string_view name) {
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (names[k] == name) return static_cast<Field>(k);
  }
  return std::nullopt;
}

std::string field_names() { return fmt::format("{}", fmt::join(names, ", ")); }

double value(const Moment& moment, Field field) {
  switch (field) {
    case Field::year:
      return moment.year;
    case Field::month:
      return moment.month;
    case Field::mday:
      return moment.day;
    case Field::yday: {
      const Moment new_year{.year = moment.year, .month = 1, .day = 1};
      return day_number(moment) - day_number(new_year) + 1;
    }
    case Field::wday:
      return std::chrono::weekday(sys_days(date_of(moment))).c_encoding() + 1;
    case Field::hour:
      return moment.hour;
    case Field::minute:
      return moment.minute;
    case Field::second:
      return moment.second;
    case Field::days:
      break;
  }
  const double seconds = 3600.0 * moment.hour + 60.0 * moment.minute + moment.second;
  return day_number(moment) + seconds / 86400;
}

}  // namespace mlo::calendar
