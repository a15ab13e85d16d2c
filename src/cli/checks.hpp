// Copyright (c) the mlo authors. BSD-3-Clause.
// Checks of option values, stricter than the parser's own conversions.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>

namespace mlo::cli {

// The whole text must be a T. The parser's own conversion is less strict.
template <class T>
CLI::Validator whole(const std::string& range) {
  return {[range](std::string& text) {
            T value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool good = error == std::errc() && end == text.data() + text.size();
            return good ? std::string() : "must be a whole number " + range + " (got \"" + text + "\")";
          },
          ""};
}

// Any whole number, negative ones too: each option's own rule says which of them it takes.
inline CLI::Validator integer() { return whole<std::int64_t>("of at most 18 digits"); }

// 0, 1, ..., 2^64 - 1. The parser would read -1 as the largest of them.
inline CLI::Validator whole_number() { return whole<std::uint64_t>("from 0 to 18446744073709551615"); }

// An empty name is usually a script's variable that was never set: it must not count as no name given.
inline CLI::Validator not_empty() {
  return {[](std::string& text) { return text.empty() ? std::string("must not be empty") : std::string(); },
          ""};
}

}  // namespace mlo::cli
