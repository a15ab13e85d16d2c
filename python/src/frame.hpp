// Copyright (c) the mlo authors. BSD-3-Clause.
// Data that Python holds, as a reader.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "mlo/data/reader.hpp"

namespace mlo::python {

// `data` is a list of paths (then the result is null, and options.data has them), an object of mlo._data with
// `stream`, a capsule of Arrow's, or one with `header`, `rows` and `column(index)`. Sets options.data to the
// name of the data. To be called, and the reader to be destroyed, with the GIL.
struct FitData {
  std::vector<std::string> names;
  std::unique_ptr<Reader> reader;
};
enum class AllTypes { yes, no };  // whether each type that is stated must be that of a column
[[nodiscard]] FitData data_of(const pybind11::object& data, const ReadOptions& options,
                              AllTypes all = AllTypes::yes);

}  // namespace mlo::python
