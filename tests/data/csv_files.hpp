// Copyright (c) the mlo authors. BSD-3-Clause.
// Files for the tests of the readers, written to the system's temporary directory and removed at the end.
#pragma once

#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../../src/data/csv_parser.hpp"
#include "mlo/base/errors.hpp"

namespace mlo::testing {

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view bytes) {
    std::string pattern = std::filesystem::temp_directory_path() / "mlo-test-XXXXXX";
    const int descriptor = ::mkstemp(pattern.data());
    if (descriptor < 0) throw std::runtime_error("cannot make a temporary file");
    ::close(descriptor);
    path_ = pattern;
    write(bytes);
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // A new file under the same name: some file systems wait for the disk when a file is overwritten.
  void write(std::string_view bytes) const {
    std::remove(path_.c_str());
    std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// One gzip member.
inline std::string gzip(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string out(deflateBound(&stream, text.size()), '\0');
  std::string in(text);
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// One zstd frame, with a checksum as the zstd command writes it.
inline std::string zstd(std::string_view text) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

// A table, or the message of the DataError without the name of the file.
struct Outcome {
  std::vector<std::string> header;
  Table table;
  std::uint64_t fingerprint = 0;
  std::string error;
};

// Reads all columns, or those in `wanted`.
inline Outcome read_csv(const TemporaryFile& file,
                        std::optional<std::vector<std::string>> wanted = std::nullopt,
                        std::size_t chunk_bytes = csv::Parser::default_chunk,
                        const ReadOptions& options = {}) {
  Outcome outcome;
  try {
    csv::Parser parser(file.path(), options, chunk_bytes);
    outcome.header = parser.header();
    outcome.table = parser.read(wanted.value_or(outcome.header), {});
    outcome.fingerprint = parser.fingerprint();
  } catch (const DataError& error) {
    outcome.error = error.what();
    if (outcome.error.starts_with(file.path())) outcome.error.erase(0, file.path().size());
  }
  return outcome;
}

inline Outcome read_csv(std::string_view text, std::optional<std::vector<std::string>> wanted = std::nullopt,
                        std::size_t chunk_bytes = csv::Parser::default_chunk,
                        const ReadOptions& options = {}) {
  return read_csv(TemporaryFile(text), std::move(wanted), chunk_bytes, options);
}

}  // namespace mlo::testing
