// Copyright (c) the mlo authors. BSD-3-Clause.
// The bytes of a file in order, whether it is plain, gzip or zstd, a regular file or a pipe.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "raw_file.hpp"

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

// The text of a file, from where it stands; compression is recognised by the first bytes, not by the name. A
// compressed file is unpacked on a separate thread, in blocks of block_bytes and a few blocks ahead, so that
// unpacking and parsing overlap. One source at a time may read from a file.
[[nodiscard]] std::unique_ptr<ByteSource> open_bytes(std::shared_ptr<RawFile> file, std::size_t block_bytes);
[[nodiscard]] std::unique_ptr<ByteSource> open_bytes(const std::string& file, std::size_t block_bytes);

}  // namespace mlo
