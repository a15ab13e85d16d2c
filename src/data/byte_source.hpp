// Copyright (c) the mlo authors. BSD-3-Clause.
// The bytes of a file in order, whether it is plain or gzip, a regular file or a pipe.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "mlo/base/errors.hpp"

namespace mlo {

class ByteSource {
 public:
  ByteSource() = default;
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Fills `to` and returns the number of bytes read; fewer than `to` holds means the end of the file. Throws
  // DataError.
  [[nodiscard]] virtual std::size_t read(std::span<char> to) = 0;

  // The share of the file read so far, 0..1, in bytes of the file itself, which may be compressed. 0 for a
  // pipe.
  [[nodiscard]] virtual double share() const noexcept = 0;
};

// Opens a file; gzip is recognised by its first bytes, not by its name. A gzip file is inflated on a separate
// thread, in blocks of block_bytes and a few blocks ahead, so that inflating and parsing overlap.
[[nodiscard]] std::unique_ptr<ByteSource> open_bytes(const std::string& file, std::size_t block_bytes);

// What to tell the user when the system refuses a file with this errno.
[[nodiscard]] DataError file_error(const std::string& file, int error);

}  // namespace mlo
