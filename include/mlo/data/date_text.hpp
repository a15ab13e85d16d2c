// Copyright (c) the mlo authors. BSD-3-Clause.
// Dates and times as text in ISO form, as every reader of a format with types writes them: "2024-05-01",
// "17:30:00.25", "2024-05-01 17:30:00".
#pragma once

#include <cstdint>
#include <string>

namespace mlo {

// Each appends to `out`; false, with nothing appended, if the year does not have four digits.
[[nodiscard]] bool append_date(std::int64_t days_since_1970, std::string& out);
[[nodiscard]] bool append_timestamp(std::int64_t microseconds_since_1970, std::string& out);
// 0 <= microseconds of a day.
void append_time(std::int64_t microseconds, std::string& out);

// value * factor; a product that is too large becomes one that append_timestamp() refuses.
[[nodiscard]] std::int64_t microseconds_of(std::int64_t value, std::int64_t factor);
// Nanoseconds as microseconds, rounded to the past.
[[nodiscard]] std::int64_t microseconds_of_nanoseconds(std::int64_t value);

}  // namespace mlo
