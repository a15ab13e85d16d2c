// Copyright (c) the mlo authors. BSD-3-Clause.
// Checks of option values that the parser's own conversions do not make.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>

namespace mlo::cli {

// Text that is a T from its first to its last character, where the parser's own conversion is more forgiving.
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

// Any 64-bit whole number, negative ones too: which of them an option takes is said by its own rule.
inline CLI::Validator integer() { return whole<std::int64_t>("of at most 18 digits"); }

// 0, 1, ..., 2^64 - 1. The parser would take -1 for the largest of them.
inline CLI::Validator whole_number() { return whole<std::uint64_t>("from 0 to 18446744073709551615"); }

// A name that is empty is most often a script's variable that was never set: it must not pass for no name.
inline CLI::Validator not_empty() {
  return {[](std::string& text) { return text.empty() ? std::string("must not be empty") : std::string(); },
          ""};
}

}  // namespace mlo::cli
