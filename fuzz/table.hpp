// Copyright (c) the mlo authors. BSD-3-Clause.
// A small table with numbers, text, dates and missing cells.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "mlo/data/table.hpp"

namespace mlo::fuzz {

using Strings = std::vector<std::string>;

inline constexpr std::size_t table_rows = 40;

inline Text text_of(const Strings& levels, std::size_t step, std::size_t missing_every) {
  Text out{.levels = levels, .codes = {}};
  for (std::size_t i = 0; i < table_rows; ++i)
    out.codes.push_back(i % missing_every == missing_every - 1
                            ? Text::missing
                            : static_cast<std::uint32_t>(i * step % levels.size()));
  return out;
}

inline Table make_table() {
  constexpr double missing = std::numeric_limits<double>::quiet_NaN();
  Numbers y, x, z, k, huge, flat, share;
  for (std::size_t i = 0; i < table_rows; ++i) {
    const auto t = static_cast<double>(i);
    y.push_back(static_cast<double>(i * 7 % 5 < 2));
    x.push_back(i == 11 ? missing : std::sin(3 * t) * 4);
    z.push_back(0.25 + t * t / 100);
    k.push_back(static_cast<double>(i * 11 % 6));
    huge.push_back(i % 9 == 4 ? missing : std::ldexp(t - 20, static_cast<int>(i * 50) - 1000));
    flat.push_back(3);
    share.push_back(t / table_rows);
  }
  Strings names;
  for (std::size_t i = 0; i < table_rows; ++i) names.push_back("id" + std::to_string(i * 17 % table_rows));
  Table table;
  table.source = {.name = "table"};
  table.rows = table_rows;
  table.columns.push_back({"y", y});
  table.columns.push_back({"x", x});
  table.columns.push_back({"z", z});
  table.columns.push_back({"k", k});
  table.columns.push_back({"huge", huge});
  table.columns.push_back({"flat", flat});
  table.columns.push_back({"my share", share});
  table.columns.push_back({"g", text_of({"b", "a", "c, d", "A"}, 3, 13)});
  table.columns.push_back({"sex", text_of({"M", "F"}, 1, 1000)});
  table.columns.push_back({"number", text_of({"10", "9", "-1.50", "1e3", "0x1", ""}, 5, 1000)});
  table.columns.push_back({"day", text_of({"2024-02-29", "1999-12-31", "2000-01-01"}, 2, 17)});
  table.columns.push_back(
      {"time", text_of({"2024-02-29T23:59:60Z", "1969-12-31 00:00:00", "0001-01-01T12:30"}, 1, 1000)});
  table.columns.push_back({"id", text_of(names, 1, 1000)});
  return table;
}

}  // namespace mlo::fuzz
