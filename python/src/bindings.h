// SPDX-License-Identifier: MIT
// What each file adds to the module, in the order in which types need each other.
#pragma once

#include <pybind11/pybind11.h>

namespace ria::python {

void add_exceptions(pybind11::module_& module);
void add_options(pybind11::module_& module);     // options.cc
void add_map(pybind11::module_& module);         // map.cc
void add_recognizer(pybind11::module_& module);  // recognizer.cc
void add_loop(pybind11::module_& module);        // loop.cc
void add_evaluate(pybind11::module_& module);    // evaluate.cc

}  // namespace ria::python
