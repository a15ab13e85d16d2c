// Copyright (c) the mlo authors. BSD-3-Clause.
// Python's objects in C++ threads.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <utility>

namespace mlo::python {

namespace py = pybind11;

// Keeps an object alive; it may be dropped by any thread, whether or not that thread holds the GIL.
[[nodiscard]] inline std::shared_ptr<const void> keeper_of(py::object object) {
  return {object.release().ptr(), [](PyObject* held) {
            const py::gil_scoped_acquire gil;
            Py_DECREF(held);
          }};
}

}  // namespace mlo::python
