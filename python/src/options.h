// SPDX-License-Identifier: MIT
// Options as Python has them: keywords by the names that flags and JSON carry.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "ria/method.h"

namespace ria::python {

namespace py = pybind11;

/// What a method is told: the keywords that were given, and what they mean.
struct GivenOptions {
  py::dict given;
  MethodOptions options;

  GivenOptions() = default;
  /// Throws std::invalid_argument for a name that no method knows, or a value that means nothing.
  explicit GivenOptions(const py::dict& keywords);
};

/// The options with the keywords in place of those of the same names; either may be missing.
GivenOptions together(const GivenOptions* options, const py::dict& keywords);

/// JSON text as Python's own values.
py::object from_json(const std::string& text);

/// Sets attributes; raises TypeError for a name that is not among them.
void set_fields(const py::object& self,
                const py::dict& values,
                const std::vector<const char*>& names);
py::dict get_fields(const py::object& self, const std::vector<const char*>& names);
/// "LoopOptions(recent=50, ...)"
std::string show_fields(const py::object& self, const std::vector<const char*>& names);

/// Lets a struct be made of keywords, shown, compared and pickled by these of its attributes.
template <typename Options>
void made_of_keywords(py::class_<Options>& options, const std::vector<const char*>& names) {
  const auto make = [names](const py::dict& values) {
    Options made;
    set_fields(py::cast(&made, py::return_value_policy::reference), values, names);
    return made;
  };
  options.def(py::init([make](const py::kwargs& keywords) { return make(keywords); }));
  options.def("__repr__", [names](const py::object& self) { return show_fields(self, names); });
  options.def("__eq__", [names](const py::object& self, const py::object& other) {
    // By what is shown: NaN is not equal to itself, but unknown is unknown.
    return py::isinstance<Options>(other) && show_fields(self, names) == show_fields(other, names);
  });
  options.attr("__hash__") = py::none();
  options.def(
      py::pickle([names](const py::object& self) { return get_fields(self, names); }, make));
}

}  // namespace ria::python
