// Copyright (c) the mlo authors. BSD-3-Clause.
// A file that a command writes piece by piece.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace mlo::cli {

// Writes FILE.part, which replaces FILE once it is complete; until then FILE is unchanged. If FILE exists and
// is not a regular file, such as a pipe, it is written to directly. Throws DataError; Interrupted.
class OutFile {
 public:
  explicit OutFile(const std::string& name);
  ~OutFile();
  OutFile(const OutFile&) = delete;
  OutFile& operator=(const OutFile&) = delete;

  void write(std::string_view text);
  void finish();

 private:
  [[noreturn]] void fail(int error) const;

  std::string name_, target_, part_;
  std::FILE* file_ = nullptr;
};

}  // namespace mlo::cli
