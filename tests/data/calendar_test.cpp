// Copyright (c) the mlo authors. BSD-3-Clause.
#include "../../src/data/calendar.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mlo::calendar {
namespace {

double value_of(const std::string& text, Field field) {
  const auto moment = parse(text);
  EXPECT_TRUE(moment.has_value()) << text;
  return moment ? value(*moment, field) : -1;
}

std::string why_not(const std::string& text) {
  std::string why;
  return parse(text, &why) ? "it is one" : why;
}

constexpr const char* form = "it must look like 2024-02-29, 2024-02-29 13:05 or 2024-02-29T13:05:59.5Z";

TEST(Calendar, ReadsDatesAndTimes) {
  const auto date = parse("2024-02-29");
  ASSERT_TRUE(date);
  EXPECT_EQ(date->year, 2024);
  EXPECT_EQ(date->month, 2);
  EXPECT_EQ(date->day, 29);
  EXPECT_FALSE(date->has_time);
  EXPECT_EQ(date->hour, 0);
  for (const std::string text :
       {"2024-02-29 13:05:59.5", "2024-02-29T13:05:59.5", "2024-02-29T13:05:59.5Z",
        "2024-02-29T13:05:59.5+02:00", "2024-02-29 13:05:59.5-0930", "2024-02-29 13:05:59,500+02"}) {
    const auto moment = parse(text);
    ASSERT_TRUE(moment) << text;
    EXPECT_TRUE(moment->has_time);
    EXPECT_EQ(moment->hour, 13);
    EXPECT_EQ(moment->minute, 5);
    EXPECT_EQ(moment->second, 59.5);
  }
  EXPECT_EQ(parse("2024-02-29 13:05")->second, 0);
  EXPECT_EQ(parse("2016-12-31T23:59:60Z")->second, 60);  // a leap second that was
}

TEST(Calendar, SaysWhyATextIsNotADate) {
  EXPECT_EQ(why_not("2023-02-29"), "February 2023 has 28 days");
  EXPECT_EQ(why_not("1900-02-29"), "February 1900 has 28 days");
  EXPECT_EQ(why_not("2024-04-31"), "April 2024 has 30 days");
  EXPECT_EQ(why_not("2024-04-00"), "April 2024 has 30 days");
  EXPECT_EQ(why_not("2024-13-01"), "there is no month 13");
  EXPECT_EQ(why_not("0000-00-00"), "there is no month 0");
  EXPECT_EQ(why_not("2024-01-01 24:00"), "there is no hour 24");
  EXPECT_EQ(why_not("2024-01-01 12:60"), "there is no minute 60");
  EXPECT_EQ(why_not("2024-01-01 12:30:60"), "there is no second 60");
  EXPECT_EQ(why_not("2024-01-01 12:30+19:00"), "the offset from UTC must be at most 18:00");
  for (const std::string text : {"",
                                 "2024",
                                 "2024-1-1",
                                 "2024-01-01 ",
                                 " 2024-01-01",
                                 "2024-01-01T",
                                 "2024-01-01 12",
                                 "2024-01-01 12:3",
                                 "2024-01-01 12:30:",
                                 "2024-01-01 12:30:5",
                                 "2024-01-01 12:30:05.",
                                 "2024-01-01 12:30 Z",
                                 "2024-01-01 12:30+2",
                                 "2024-01-01 12:30+02:",
                                 "2024-01-01 12:30:00Zx",
                                 "2024/01/01",
                                 "01-01-2024",
                                 "20240101",
                                 "2024-01-01x",
                                 "+024-01-01",
                                 "2024-01--1",
                                 "2024-01-01Z"}) {
    EXPECT_EQ(why_not(text), form) << text;
    EXPECT_FALSE(is_iso_date(text));
  }
  EXPECT_TRUE(is_iso_date("2000-02-29"));
}

TEST(Calendar, GivesTheFields) {
  const std::string text = "2024-12-31T13:05:59.5Z";
  EXPECT_EQ(value_of(text, Field::year), 2024);
  EXPECT_EQ(value_of(text, Field::month), 12);
  EXPECT_EQ(value_of(text, Field::mday), 31);
  EXPECT_EQ(value_of(text, Field::yday), 366);
  EXPECT_EQ(value_of(text, Field::wday), 3);  // a Tuesday
  EXPECT_EQ(value_of(text, Field::hour), 13);
  EXPECT_EQ(value_of(text, Field::minute), 5);
  EXPECT_EQ(value_of(text, Field::second), 59.5);
  EXPECT_EQ(value_of("2023-12-31", Field::yday), 365);
  EXPECT_EQ(value_of("2024-01-01", Field::yday), 1);
  EXPECT_EQ(value_of("2024-03-03", Field::wday), 1);  // a Sunday
  EXPECT_EQ(value_of("1970-01-01", Field::days), 0);
  EXPECT_EQ(value_of("1970-01-02 06:00", Field::days), 1.25);
  EXPECT_EQ(value_of("1969-12-31 12:00", Field::days), -0.5);
  EXPECT_EQ(value_of("2000-03-01", Field::days), 11017);    // as.numeric(as.Date("2000-03-01"))
  EXPECT_EQ(value_of("0001-01-01", Field::days), -719162);  // as.numeric(as.Date("0001-01-01"))
}

// Every day from 1896 to 2104, three leap years left out or in: dates counted by hand.
TEST(Calendar, CountsEveryDay) {
  const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  double days = -27028;  // as.numeric(as.Date("1896-01-01"))
  double weekday = 4;    // a Wednesday
  for (int year = 1896; year <= 2104; ++year) {
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    double yday = 1;
    for (int month = 1; month <= 12; ++month) {
      const int length = lengths[month - 1] + (leap && month == 2 ? 1 : 0);
      for (int day = 1; day <= length; ++day) {
        const std::string text = std::to_string(year) + (month < 10 ? "-0" : "-") + std::to_string(month) +
                                 (day < 10 ? "-0" : "-") + std::to_string(day);
        ASSERT_EQ(value_of(text, Field::days), days) << text;
        ASSERT_EQ(value_of(text, Field::yday), yday) << text;
        ASSERT_EQ(value_of(text, Field::wday), weekday) << text;
        ++days;
        ++yday;
        weekday = weekday == 7 ? 1 : weekday + 1;
      }
      const std::string beyond = std::to_string(year) + (month < 10 ? "-0" : "-") + std::to_string(month) +
                                 "-" + std::to_string(length + 1);
      ASSERT_FALSE(is_iso_date(beyond)) << beyond;
    }
  }
}

TEST(Calendar, FindsItsFunctionsByName) {
  EXPECT_EQ(find_field("year"), Field::year);
  EXPECT_EQ(find_field("days"), Field::days);
  EXPECT_EQ(find_field("Year"), std::nullopt);
  EXPECT_EQ(field_names(), "year, month, mday, yday, wday, hour, minute, second, days");
}

}  // namespace
}  // namespace mlo::calendar
