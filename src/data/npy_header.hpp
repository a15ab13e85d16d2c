// Copyright (c) the mlo authors. BSD-3-Clause.
// The header of a .npy file: a Python dictionary that says what the bytes after it are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mlo::npy {

struct Field {
  std::string name;  // empty: padding
  char kind = 'f';   // f, i, u or b; V for padding
  std::size_t bytes = 8;
};

struct Header {
  std::vector<Field> fields;  // one without a name unless the elements are records
  bool records = false;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

// Parses the dictionary. Throws DataError that names the file: a syntax error, a key that is missing or given
// twice, a type that is not a number.
[[nodiscard]] Header parse_header(std::string_view dictionary, const std::string& file);

}  // namespace mlo::npy
