// SPDX-License-Identifier: MIT
#include <pybind11/numpy.h>

#include "bindings.h"
#include "ria/version.h"

PYBIND11_MODULE(_ria, module) {
  module.attr("__version__") = RIA_VERSION;
  // numpy is imported here, while one thread runs: pybind11 does it at the first array, behind a
  // guard that a second thread would wait for with the interpreter's lock in its hands.
  pybind11::dtype::of<float>();
  for (const auto add : {ria::python::add_exceptions,
                         ria::python::add_options,
                         ria::python::add_map,
                         ria::python::add_recognizer,
                         ria::python::add_loop,
                         ria::python::add_evaluate}) {
    add(module);
  }
}
