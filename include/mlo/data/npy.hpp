// Copyright (c) the mlo authors. BSD-3-Clause.
// Reads arrays that NumPy has saved (.npy): one or two dimensions of integers, floats or booleans in little
// endian, in C or Fortran order, with columns x1, x2, ...; or one dimension of records, whose fields name the
// columns. NaN is a missing cell.
#pragma once

#include <memory>
#include <string>

#include "mlo/data/reader.hpp"

namespace mlo {

// Throws DataError: not an array of that kind, with what to save instead; less or more data than the header
// says.
[[nodiscard]] std::unique_ptr<Reader> open_npy(const std::string& file, const ReadOptions& options = {});

}  // namespace mlo
