// Copyright (c) the mlo authors. BSD-3-Clause.
// One pass over the rows of a file, by several threads. A thread takes the next chunk, parses it, waits for
// its turn and appends it to the table, so what is read does not depend on the number of threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "csv_chunks.hpp"
#include "csv_rows.hpp"
#include "mlo/data/reader.hpp"
#include "mlo/data/source.hpp"

namespace mlo::csv {

// Where the rows start: after the header.
struct Start {
  Chunk chunk;           // with the end of the header in it
  std::size_t from = 0;  // position in the chunk
  std::size_t line = 1;  // the line there
};

[[nodiscard]] DataError too_many_words(const std::string& file, const std::string& column);

class Pass {
 public:
  // A column as far as it has been read.
  struct Building {
    bool text = false;
    Numbers numbers;
    std::size_t logicals = 0;  // of the numbers: how many cells are true or false
    Words words;
    std::vector<std::uint32_t> codes;
    // The rows before the first chunk in which the column was known to be text: they were read as numbers,
    // and have to be read again if there are numbers among them. Their codes are `missing` until then.
    std::size_t read_as_numbers = 0;
    std::uint64_t chunk = 0;  // that first chunk
    std::uint64_t hash = 0;   // of the text before it
    struct NotFinite {
      std::size_t line = 0;
      std::string rule;
    };
    std::optional<NotFinite> not_finite{};
  };

  Pass(Chunks& chunks, const Layout& layout, std::string file, Start start);

  // Reads until the end, or until the chunk with the number `until`. Progress is reported on the caller's
  // thread. Throws DataError, and what progress throws.
  void run(std::size_t threads, const Reader::Progress& progress,
           std::uint64_t until = std::numeric_limits<std::uint64_t>::max());

  [[nodiscard]] std::vector<Building>& columns() noexcept { return columns_; }  // by step
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] Source& source() noexcept { return source_; }
  // Of the text of the chunks that were appended.
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

 private:
  void work(const Reader::Progress& progress);
  [[nodiscard]] bool take(Chunk& chunk, const char*& from);
  [[nodiscard]] bool append_in_turn(const Chunk& chunk, const char* from, Rows& rows);
  void append(const Chunk& chunk, Rows& rows);
  void append_column(const Chunk& chunk, Rows& rows, std::size_t k);
  void check_memory() const;
  void stop(std::exception_ptr error) noexcept;
  [[noreturn]] void fail(std::size_t line, const std::string& rule) const;
  [[nodiscard]] std::size_t expected_rows(std::size_t rows, double share) const noexcept;

  Chunks& chunks_;
  const Layout& layout_;
  std::string file_;
  std::uint64_t until_ = 0;
  std::thread::id caller_;
  std::vector<std::atomic<bool>> is_text_;  // by step

  std::mutex source_mutex_;  // guards chunks_ and start_
  std::optional<Start> start_;

  std::mutex turn_mutex_;  // guards all that follows
  std::condition_variable turn_changed_;
  std::uint64_t turn_;
  bool stopped_ = false;
  std::exception_ptr error_;
  std::vector<Building> columns_;
  Source source_;
  std::size_t rows_ = 0;
  std::size_t line_;
  std::uint64_t hash_ = 0;
};

}  // namespace mlo::csv
