// Copyright (c) the mlo authors. BSD-3-Clause.
// The table of options, and options from Python.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <utility>
#include <vector>

#include "mlo/method/options.hpp"

namespace mlo::python {

// Names as in the table, values as text: mlo._options has made them of the keyword arguments.
using Given = std::vector<std::pair<std::string, std::string>>;

void set_options(FitOptions& options, const Given& given);

void add_options(pybind11::module_& module);

}  // namespace mlo::python
