// Copyright (c) the mlo authors. BSD-3-Clause.
// The parts of the extension module mlo._core.
#pragma once

#include <pybind11/pybind11.h>

namespace mlo::python {

void add_tools(pybind11::module_& module);
void add_models(pybind11::module_& module);

}  // namespace mlo::python
