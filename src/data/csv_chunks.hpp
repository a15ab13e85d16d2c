// Copyright (c) the mlo authors. BSD-3-Clause.
// A file's text, cut into chunks of whole records that can be parsed independently of each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "byte_source.hpp"
#include "mlo/base/hash.hpp"

namespace mlo::csv {

struct Chunk {
  std::unique_ptr<char[]> buffer;
  std::size_t capacity = 0;
  std::size_t size = 0;

  // Whole records, each with its '\n' (the last line of the file is given one if it has none). At least 64
  // bytes past end() may be read.
  [[nodiscard]] const char* begin() const noexcept { return buffer.get(); }
  [[nodiscard]] const char* end() const noexcept { return buffer.get() + size; }

  std::uint64_t number = 0;  // chunks are numbered from 0
  std::uint64_t hash = 0;    // of all text up to the end of this chunk
  double share = 0.0;        // of the file, up to the end of this chunk

  // What follows the chunk.
  enum class After {
    more,
    end,
    open_quote,       // a quote that is never closed
    long_open_quote,  // a quote that is not closed within max_record
    long_line,        // a line longer than max_record
    nul,              // a NUL byte
    error             // `error`: the file cannot be read
  };
  After after = After::more;
  std::size_t breaks = 0;  // line breaks between the end of the chunk and the quote, line or byte
  std::exception_ptr error;
};

class Chunks {
 public:
  // The longest record that is accepted, with its line end; a file with a longer one is hardly CSV.
  static constexpr std::size_t max_record = std::size_t{8} << 20;
  // How much of a file the delimiter and the decimal mark are judged by.
  static constexpr std::size_t head_bytes = std::size_t{1} << 16;

  // A chunk has chunk_bytes of text, less what belongs to a record that goes on, or one record that is
  // longer. A UTF-8 byte order mark is dropped. Throws DataError: what the file throws, UTF-16, UTF-32.
  Chunks(const std::shared_ptr<RawFile>& file, std::size_t chunk_bytes);

  // The start of the text: head_bytes of it, or all of it, or up to a NUL byte. Only before next().
  [[nodiscard]] std::string_view head() const noexcept { return {carry_.data(), carry_.size()}; }
  [[nodiscard]] bool head_is_all() const noexcept { return ended_; }

  // To be called before next(): where records end depends on where quoted cells start. comment: 0 if there
  // are no comments.
  void set_dialect(char delimiter, char comment) noexcept {
    delimiter_ = delimiter;
    comment_ = comment;
  }

  // The next chunk, in the chunk's own buffer, which is used again; false if the one before was the last.
  [[nodiscard]] bool next(Chunk& chunk);

  // Of the text of all chunks so far: a hash of the whole text, after the last.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept { return fingerprint_.value(); }

 private:
  [[nodiscard]] std::size_t take(std::span<char> to);
  [[nodiscard]] std::size_t read_source(std::span<char> to);
  void put_back(const Chunk& chunk, std::size_t from, std::size_t to);

  std::string file_;
  std::unique_ptr<ByteSource> source_;
  std::size_t chunk_bytes_;
  char delimiter_ = ',';
  char comment_ = 0;
  std::vector<char> carry_;  // text that was read and belongs to the next chunk, from carried_ on
  std::size_t carried_ = 0;
  bool ended_ = false;  // nothing follows the carry
  bool nul_ = false;    // what follows is a NUL byte
  bool done_ = false;
  std::uint64_t number_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t cut_ = 0;
  Fingerprint fingerprint_;
  std::vector<std::pair<std::size_t, std::size_t>> quoted_;  // scratch
};

struct Records {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::size_t end = 0;            // of the last whole record; 0 if there is none
  std::size_t open_quote = none;  // a quote that is not closed
};
// The records in a text that starts with one. `quoted` is scratch. If the text is not `final`, a quote that
// is its last byte is taken as open, because another one may follow.
[[nodiscard]] Records whole_records(std::string_view text, char delimiter, char comment, bool final,
                                    std::vector<std::pair<std::size_t, std::size_t>>& quoted);

}  // namespace mlo::csv
