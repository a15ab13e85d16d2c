// Copyright (c) the mlo authors. BSD-3-Clause.
// Several files with the same columns as one data set: their rows, file after file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mlo/data/reader.hpp"

namespace mlo {

// The files that paths name. A path with * ? or [ ] that is not itself a file is a pattern, as a shell has
// them, and stands for the files that match it, sorted by their bytes. Throws DataError: a pattern that no
// file matches, a file that is named twice; UsageError: no path, standard input (-) among other files.
[[nodiscard]] std::vector<std::string> expand_paths(const std::vector<std::string>& paths);

// The columns may be in a different order in each file. A column is text if it is text in one of them.
class ManyFiles final : public Reader {
 public:
  using Open = std::function<std::unique_ptr<Reader>(const std::string& file, const ReadOptions& options)>;

  // Opens each file for its header. Throws DataError that names the first file whose columns differ from
  // those of the first one, with the difference.
  ManyFiles(std::vector<std::string> files, const ReadOptions& options, Open open);

  [[nodiscard]] const std::vector<std::string>& header() const noexcept override { return header_; }
  // A hash of the fingerprints of the files, in order.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept override { return fingerprint_; }

 private:
  struct File {
    std::string name;
    bool is_pipe = false;
    // Of a pipe, which can be opened only once; and of the first file, because others may share what it has
    // set up: DuckDB takes longer to start than to read a small file.
    std::unique_ptr<Reader> reader{};
  };

  [[nodiscard]] Table read_columns(std::span<const std::string> wanted, const Progress& progress) override;
  void check_header(const std::string& file, const std::vector<std::string>& header) const;
  void agree_on_types(std::vector<Table>& tables, const Progress& progress) const;
  void read_as_text(const File& file, const std::vector<std::string>& columns, Table& table,
                    const Progress& progress) const;

  ReadOptions options_;
  Open open_;
  std::vector<File> files_;
  std::vector<std::string> header_;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace mlo
