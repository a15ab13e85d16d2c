// Copyright (c) the mlo authors. BSD-3-Clause.
// DuckDB's vectors as cells of our columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/duckdb_library.hpp"
#include "data/typed_cells.hpp"

namespace mlo::duckdb {

// Whether a column of this type is text to us, unless the user says otherwise. Throws DataError that names
// the column if it is neither text nor numbers.
[[nodiscard]] bool is_text(const Library& library, LogicalType type, const std::string& column,
                           const std::string& source);

[[nodiscard]] bool is_boolean(const Library& library, LogicalType type);

// Whether the column holds JSON values as text, strings in quotes.
[[nodiscard]] bool is_json(const Library& library, LogicalType type);

// Appends the cells of vectors of one type to a column.
class CellReader {
 public:
  CellReader(const Library& library, LogicalType type, TypedColumn column);

  void append(Vector vector, std::size_t rows);
  void reserve(std::size_t rows) { column_.reserve(rows); }
  [[nodiscard]] Column take() && { return std::move(column_).take(); }

 private:
  template <class T>
  void append_numbers(const void* data, const std::uint64_t* valid, std::size_t rows);
  template <class T>
  void append_decimals(const void* data, const std::uint64_t* valid, std::size_t rows);
  template <class T>
  void append_enum(const void* data, const std::uint64_t* valid, std::size_t rows);
  template <class T, class Spell>
  void append_spelt(const void* data, const std::uint64_t* valid, std::size_t rows, const Spell& spell);
  [[noreturn]] void refuse_date() const;

  const Library& library_;
  Type type_;
  Type stored_;                     // of decimals and enumerations: the integers they are stored as
  int scale_ = 0;                   // of decimals
  std::vector<std::string> words_;  // of enumerations
  TypedColumn column_;
  std::string spelling_;  // scratch
};

}  // namespace mlo::duckdb
