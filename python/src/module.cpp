// Copyright (c) the mlo authors. BSD-3-Clause.
#include "python/src/module.hpp"

#include "mlo/method/option_table.hpp"
#include "python/src/errors.hpp"
#include "python/src/fits.hpp"
#include "python/src/options.hpp"

// What is here is for the package's own files, which check and explain arguments; it is not documented.
PYBIND11_MODULE(_core, module) {
  static_cast<void>(mlo::option_table());  // made now: not in a child process while another thread makes it
  mlo::python::add_errors(module);
  mlo::python::add_options(module);
  mlo::python::add_fits(module);
  mlo::python::add_tools(module);
  mlo::python::add_models(module);
}
