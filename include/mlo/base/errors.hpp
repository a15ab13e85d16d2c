// Copyright (c) the mlo authors. BSD-3-Clause.
// The failures a user can cause. Our own bugs are asserts; a frequent, normal "no" is an optional.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace mlo {

// The exit codes of the command. A front end other than the command may ignore them.
enum class ExitCode { ok = 0, usage = 2, data = 3, model = 4, interrupted = 130 };

// Base of all errors the library throws on purpose. The message is complete: it names the file or option,
// the rule and the value, and can be shown to a user as it is.
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
  DataError(const std::string& file, const std::string& rule) : DataError(file + ": " + rule) {}
  DataError(const std::string& file, std::size_t line, const std::string& rule)
      : DataError(file + ":" + std::to_string(line) + ": " + rule) {}
};

// The data were read, but the model cannot be fitted to them: rank deficiency, separation, no mode.
class ModelError : public Error {
 public:
  explicit ModelError(const std::string& message) : Error(ExitCode::model, message) {}
};

}  // namespace mlo
