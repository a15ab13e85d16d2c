// Copyright (c) the mlo authors. BSD-3-Clause.
// The reader behind CsvReader.
//
// The type of a column depends on all its cells. Columns are read as numbers until a word is found, and as
// text from that chunk on. Nearly always that is the first chunk. If it is a later one, numbers that were
// read before it have to become words as they are spelt ("1.0" and "1" differ), and the file is read again up
// to there, for these columns alone. The alternative, to keep the spelling of every number in case it is
// needed, would cost every file more memory than the numbers themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "csv_chunks.hpp"
#include "csv_pass.hpp"
#include "csv_rows.hpp"
#include "mlo/data/reader.hpp"
#include "mlo/data/table.hpp"

namespace mlo::csv {

class Parser {
 public:
  // With the columns of a chunk, it stays in the second-level cache.
  static constexpr std::size_t default_chunk = std::size_t{1} << 18;

  // Reads the header. The size of the chunks affects only the speed.
  explicit Parser(const std::string& file, ReadOptions options = {}, std::size_t chunk_bytes = default_chunk);

  [[nodiscard]] const std::vector<std::string>& header() const noexcept { return layout_.header; }
  [[nodiscard]] Table read(std::span<const std::string> wanted, const Reader::Progress& progress);
  [[nodiscard]] std::uint64_t fingerprint() const noexcept { return fingerprint_; }

 private:
  [[nodiscard]] Start read_header(Chunks& chunks);
  [[nodiscard]] std::vector<std::size_t> plan(std::span<const std::string> wanted);
  void link_steps(std::vector<Step>& steps, std::size_t& tail) const;
  void read_again(Pass& pass, std::size_t threads);
  [[noreturn]] void fail(std::size_t line, const std::string& rule) const;

  ReadOptions options_;
  std::size_t chunk_bytes_;
  std::shared_ptr<RawFile> file_;
  std::unique_ptr<Chunks> chunks_;
  Layout layout_;
  std::size_t header_line_ = 1;
  bool small_ = false;  // too small for several threads
  Start start_;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace mlo::csv
