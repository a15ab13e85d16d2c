// Copyright (c) the mlo authors. BSD-3-Clause.
// A window onto a file's text that always ends at the end of a line and holds no more than it must.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "byte_source.hpp"
#include "mlo/base/hash.hpp"

namespace mlo::csv {

class Lines {
 public:
  // The longest record that is accepted, with its line end; a file with a longer one is hardly CSV.
  static constexpr std::size_t max_record = std::size_t{8} << 20;

  // The window starts empty, with room for buffer_bytes; it grows only for a record that does not fit.
  // A UTF-8 byte order mark is dropped. Throws DataError: what open_bytes throws, UTF-16, UTF-32.
  Lines(const std::string& file, std::size_t buffer_bytes);

  // The window: whole lines, each with its '\n' (the last line of the file is given one if it has none).
  // At least 64 bytes past end() may be read.
  [[nodiscard]] const char* begin() const noexcept { return buffer_.get(); }
  [[nodiscard]] const char* end() const noexcept { return buffer_.get() + complete_; }

  // What follows the window: the start of a line whose end has not been read yet.
  [[nodiscard]] std::span<const char> rest() const noexcept { return {end(), size_ - complete_}; }

  enum class More {
    yes,
    end,       // the file has ended: what was kept is all there is
    too_long,  // what was kept fills max_record
    nul,       // a NUL byte follows rest()
  };
  // Drops the window before `keep`, moves what follows to begin(), and appends at least one line.
  [[nodiscard]] More more(const char* keep);

  [[nodiscard]] double share() const noexcept { return source_->share(); }
  // The number of bytes of text from the start of the file to p, which points into the window.
  [[nodiscard]] std::uint64_t bytes_before(const char* p) const noexcept {
    return read_ - (size_ - static_cast<std::size_t>(p - begin()));
  }
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return read_; }
  [[nodiscard]] std::uint64_t fingerprint() const noexcept { return fingerprint_.value(); }

 private:
  void append();
  void grow();

  std::unique_ptr<ByteSource> source_;
  std::size_t capacity_;
  std::unique_ptr<char[]> buffer_;
  std::size_t complete_ = 0;  // bytes in the window, <= size_
  std::size_t size_ = 0;
  bool ended_ = false;
  bool nul_ = false;
  std::uint64_t read_ = 0;
  Fingerprint fingerprint_;
};

}  // namespace mlo::csv
