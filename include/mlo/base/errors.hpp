// Copyright (c) the mlo authors. BSD-3-Clause.
// Failures that a user can cause. Our own bugs are asserts; a frequent, normal "no" is an optional.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace mlo {

// The exit codes of the command. A front end other than the command may ignore them.
enum class ExitCode { ok = 0, usage = 2, data = 3, model = 4, interrupted = 130 };

// Base of all errors the library throws on purpose. The message is complete: it names the file or option,
// the rule and the value. An option is named in backquotes, with its value if that matters: `out`,
// `method full`, `prior-for sigma gamma(2, 0.1)`. A front end shows options the way its users write them: see
// spelled().
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

// A wrong option or formula.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(ExitCode::usage, message) {}
};

// A file that cannot be read or written, or whose contents break a rule.
class DataError : public Error {
 public:
  explicit DataError(const std::string& message) : Error(ExitCode::data, message) {}
  // place: a file, or a row of one as Source::place() writes it. The message is "place: rule".
  DataError(const std::string& place, const std::string& rule);
  [[nodiscard]] const std::string& place() const noexcept { return place_; }  // "" if the message has none

 private:
  std::string place_;
};

// The data were read, but the model cannot be fitted to them: rank deficiency, separation, no mode.
class ModelError : public Error {
 public:
  explicit ModelError(const std::string& message) : Error(ExitCode::model, message) {}
};

// An interrupt came before there was anything to keep.
class Interrupted : public Error {
 public:
  explicit Interrupted(const std::string& message = "interrupted before the first draw: nothing to keep")
      : Error(ExitCode::interrupted, message) {}
};

// How a front end writes an option: ("method", "full") is "--method full" on the command line. The value is
// empty if the message gives none. The result is empty if the name is not that of an option.
using OptionSpelling = std::function<std::string(std::string_view name, std::string_view value)>;

// The message with each `name` or `name value` replaced by its spelling, without the backquotes. Other text
// in backquotes stays as it is, such as the names of columns: `my column`.
[[nodiscard]] std::string spelled(std::string_view message, const OptionSpelling& spelling);

}  // namespace mlo
