// Copyright (c) the mlo authors. BSD-3-Clause.
// Arrow's arrays as cells of our columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/typed_cells.hpp"
#include "mlo/data/arrow.hpp"

namespace mlo::arrow {

// The types that have a place in a table.
enum class Kind : std::uint8_t {
  null,
  boolean,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  float32,
  float64,
  decimal,      // of 128 bits
  text,         // 32-bit offsets
  large_text,   // 64-bit offsets
  text_view,    // short strings in place, others in buffers of their own
  date_days,    // since 1970
  date_millis,  // since 1970
  time,
  timestamp,
};

struct CellType {
  Kind kind = Kind::null;
  std::int64_t unit = 1;     // of times: microseconds per tick; 0: a tick is a nanosecond
  bool narrow = false;       // of times: 32-bit numbers
  int scale = 0;             // of decimals
  bool dictionary = false;   // kind is the dictionary's
  Kind index = Kind::int32;  // of dictionaries
  bool ordered = false;      // of dictionaries: the order of its words means something

  [[nodiscard]] bool is_text() const noexcept;
};

// Throws DataError that names the column if it is neither numbers nor text.
[[nodiscard]] CellType type_of(const ArrowSchema& schema, const std::string& column,
                               const std::string& source);

// `count` cells of an array from `first` on; the array's own offset is added.
struct Slice {
  const ArrowArray* array;
  std::size_t first, count;
};

// Whether no cell is null.
[[nodiscard]] bool all_valid(const Slice& cells) noexcept;

// Appends the cells of arrays of one type to a column.
class CellReader {
 public:
  CellReader(const CellType& type, TypedColumn column);

  void append(const Slice& cells);
  void reserve(std::size_t rows) { column_.reserve(rows); }
  [[nodiscard]] bool is_text() const noexcept { return column_.is_text(); }
  [[nodiscard]] Column take() &&;

 private:
  template <class T>
  void append_numbers(const Slice& cells);
  template <class Offset>
  void append_text(const Slice& cells);
  void append_views(const Slice& cells);
  void append_decimals(const Slice& cells);
  void append_times(const Slice& cells);
  void append_dictionary(const Slice& cells);
  template <class Spell>
  void append_ticks(const Slice& cells, const Spell& spell);
  // add(i) adds cell i, which is not null.
  template <class Add>
  void each(const Slice& cells, const Add& add);

  CellType type_;
  TypedColumn column_;
  std::vector<std::string> words_;  // of the last dictionary
  std::string spelling_;            // scratch
};

}  // namespace mlo::arrow
