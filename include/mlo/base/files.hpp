// Copyright (c) the mlo authors. BSD-3-Clause.
// Writes files so that a failure never leaves half a file under the final name.
#pragma once

#include <string>
#include <string_view>

namespace mlo {

// Writes to FILE.part, syncs it and renames it to FILE. On failure FILE is unchanged, FILE.part is removed,
// and DataError says why (no space, no permission, ...).
void write_file(const std::string& file, std::string_view contents);

// A directory for results, new or empty. It is made, with its parents, unless it exists. Throws DataError if
// it cannot be made or is not empty; the message begins with `asked_by`, usually the option `out`. The
// destructor removes it if it was made here and is still empty.
class ResultDirectory {
 public:
  explicit ResultDirectory(const std::string& path, const std::string& asked_by = "`out`: ");
  ~ResultDirectory();
  ResultDirectory(const ResultDirectory&) = delete;
  ResultDirectory& operator=(const ResultDirectory&) = delete;

 private:
  std::string made_;  // empty: it existed before
};

// The contents of the file. Throws DataError if it cannot be read.
[[nodiscard]] std::string read_file(const std::string& file);

}  // namespace mlo
