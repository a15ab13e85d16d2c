// Copyright (c) the mlo authors. BSD-3-Clause.
// The library's errors as Python's, and its messages in Python's words.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>

#include "mlo/report/comparison.hpp"
#include "mlo/report/run_summary.hpp"

namespace mlo::python {

// A message with options spelt as keyword arguments: `method full` is method="full".
[[nodiscard]] std::string in_python(std::string_view message);
[[nodiscard]] RunSummary in_python(RunSummary summary);
[[nodiscard]] Comparison in_python(Comparison comparison);

void add_errors(pybind11::module_& module);

}  // namespace mlo::python
