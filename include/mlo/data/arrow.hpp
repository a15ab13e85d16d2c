// Copyright (c) the mlo authors. BSD-3-Clause.
// Reads a stream of Arrow's C interface: what polars, pyarrow, DuckDB and others hand over in memory.
//
// Integers, decimals, floats and booleans are numbers; strings and dictionaries are text; dates and times are
// text in ISO form. Null and NaN are missing. A column of 64-bit floats without nulls that comes in one piece
// is not copied.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mlo/data/reader.hpp"

// The structs of the C data interface and of the C stream interface, as Arrow's specification gives them
// (arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html), with its guards.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
}
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
extern "C" {
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
}
#endif

namespace mlo {

class ArrowReader final : public Reader {
 public:
  // Takes the stream over: *stream is released already, from the caller's point of view. `name` is for
  // messages: "the data". Throws DataError: the stream fails, or does not have columns.
  ArrowReader(ArrowArrayStream* stream, std::string name, ReadOptions options = {});
  ~ArrowReader() override;

  [[nodiscard]] const std::vector<std::string>& header() const noexcept override;
  // A hash of the names and cells of the wanted columns; 0 before read().
  [[nodiscard]] std::uint64_t fingerprint() const noexcept override;

 private:
  [[nodiscard]] Table read_columns(std::span<const std::string> wanted, const Progress& progress) override;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mlo
