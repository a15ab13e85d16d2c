// Copyright (c) the mlo authors. BSD-3-Clause.
// Internals of byte_source: an open file, and the gzip source on top of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "byte_source.hpp"

namespace mlo {

// A file opened for reading, which the destructor closes.
class RawFile {
 public:
  explicit RawFile(std::string file);  // throws DataError
  ~RawFile();
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  // Fills `to` unless the file ends first; returns the number of bytes. Throws DataError.
  [[nodiscard]] std::size_t read(std::span<char> to);

  [[nodiscard]] const std::string& name() const noexcept { return file_; }

  // The share of the file that `bytes` are: at most 1, because a file may grow while it is read; 0 if its
  // size is unknown.
  [[nodiscard]] double share(std::uint64_t bytes) const noexcept {
    return size_ == 0 ? 0.0 : std::min(1.0, static_cast<double>(bytes) / static_cast<double>(size_));
  }

 private:
  std::string file_;
  int descriptor_;
  std::uint64_t size_ = 0;  // 0: a pipe or a device
};

// `first`: the bytes already taken from `raw`.
[[nodiscard]] std::unique_ptr<ByteSource> open_gzip(std::unique_ptr<RawFile> raw, std::span<const char> first,
                                                    std::size_t block_bytes);

}  // namespace mlo
