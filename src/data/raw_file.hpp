// Copyright (c) the mlo authors. BSD-3-Clause.
// An open file, or standard input, that can be read a second time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mlo/base/errors.hpp"

namespace mlo {

// A file is read again from its descriptor, so it does not matter if its name belongs to another file by
// then. What comes through a pipe is copied, as it is read, to a temporary file without a name.
class RawFile {
 public:
  explicit RawFile(const std::string& file);  // "-": standard input. Throws DataError.
  ~RawFile();
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  // Fills `to` unless the file ends first; returns the number of bytes. Throws DataError.
  [[nodiscard]] std::size_t read(std::span<char> to);

  // Goes back to the first byte. Returns 0, or the errno of why a pipe's bytes were not kept.
  [[nodiscard]] int rewind() noexcept;

  // For messages: the path, or "standard input".
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  // The share of the file that `bytes` are: at most 1, because a file may grow while it is read; 0 if its
  // size is unknown.
  [[nodiscard]] double share(std::uint64_t bytes) const noexcept {
    return size_ == 0 ? 0.0 : std::min(1.0, static_cast<double>(bytes) / static_cast<double>(size_));
  }

 private:
  void keep(std::span<const char> bytes) noexcept;

  std::string name_;
  int descriptor_;
  bool regular_ = false;
  std::uint64_t start_ = 0;  // of a regular file: where standard input stood when we got it
  std::uint64_t size_ = 0;   // 0: a pipe or a device
  std::uint64_t at_ = 0;     // the next byte, from the start
  int kept_ = -1;            // descriptor of the temporary file
  std::uint64_t kept_bytes_ = 0;
  int keep_error_ = 0;
};

// What to tell the user when the system refuses a file with this errno.
[[nodiscard]] DataError file_error(const std::string& file, int error);

}  // namespace mlo
