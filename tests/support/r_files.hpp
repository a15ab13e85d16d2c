// Copyright (c) the mlo authors. BSD-3-Clause.
// The text files that tests/data/r/make.R writes.
#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <cstddef>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mlo::testing {

inline std::string r_path(const std::string& name) { return MLO_SOURCE_DIR "/tests/data/r/" + name; }

inline std::vector<std::string> r_lines(const std::string& name) {
  std::ifstream in(r_path(name));
  EXPECT_TRUE(in.good()) << name;
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

inline std::vector<std::string> split(std::string_view line, char separator = '\t') {
  std::vector<std::string> fields;
  while (true) {
    const std::size_t at = line.find(separator);
    fields.emplace_back(line.substr(0, at));
    if (at == std::string_view::npos) return fields;
    line.remove_prefix(at + 1);
  }
}

// "NA" is NaN; "Inf" and "-Inf" are what they say.
inline double r_number(const std::string& text) {
  if (text == "NA") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Inf") return std::numeric_limits<double>::infinity();
  if (text == "-Inf") return -std::numeric_limits<double>::infinity();
  double number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  EXPECT_TRUE(result.ec == std::errc() && result.ptr == text.data() + text.size()) << text;
  return number;
}

inline std::vector<double> r_numbers(const std::string& line, char separator = '\t') {
  std::vector<double> numbers;
  for (const std::string& field : split(line, separator)) numbers.push_back(r_number(field));
  return numbers;
}

// "bs df=5 knots=2,5": the values of the arguments, and under "" the word without '='.
inline std::map<std::string, std::string> r_arguments(const std::string& line) {
  std::map<std::string, std::string> arguments;
  for (const std::string& word : split(line, ' ')) {
    const std::size_t at = word.find('=');
    if (at == std::string::npos) {
      arguments[""] = word;
    } else {
      arguments[word.substr(0, at)] = word.substr(at + 1);
    }
  }
  return arguments;
}

}  // namespace mlo::testing
