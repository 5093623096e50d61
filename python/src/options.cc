// SPDX-License-Identifier: MIT
#include "options.h"

#include <algorithm>
#include <cstring>

#include "bindings.h"

namespace ria::python {

namespace {

/// Paths as text and numpy's scalars as numbers; of anything else json says that it cannot.
py::object plain(const py::object& value) {
  if (py::hasattr(value, "item")) return value.attr("item")();
  return py::module_::import("os").attr("fspath")(value);
}

std::string to_json(const py::dict& values) {
  return py::module_::import("json")
      .attr("dumps")(values, py::arg("default") = py::cpp_function(plain))
      .cast<std::string>();
}

}  // namespace

GivenOptions::GivenOptions(const py::dict& keywords)
    : given(keywords), options(parse_options_json(to_json(keywords))) {
  options.validate();
}

GivenOptions together(const GivenOptions* options, const py::dict& keywords) {
  if (options == nullptr) return GivenOptions(keywords);
  if (keywords.empty()) return *options;
  const py::dict all = options->given.attr("copy")();
  all.attr("update")(keywords);
  return GivenOptions(all);
}

py::object from_json(const std::string& text) {
  return py::module_::import("json").attr("loads")(text);
}

void set_fields(const py::object& self,
                const py::dict& values,
                const std::vector<const char*>& names) {
  for (const auto& [key, value] : values) {
    const std::string name = py::str(key);
    if (std::none_of(
            names.begin(), names.end(), [&](const char* known) { return name == known; })) {
      std::string text = py::str(py::type::of(self).attr("__name__")).cast<std::string>() +
                         " has no '" + name + "', one of these was expected:";
      for (const char* known : names) text += std::string(" ") + known;
      throw py::type_error(text);
    }
    py::setattr(self, key, value);
  }
}

py::dict get_fields(const py::object& self, const std::vector<const char*>& names) {
  py::dict all;
  for (const char* name : names) all[name] = self.attr(name);
  return all;
}

std::string show_fields(const py::object& self, const std::vector<const char*>& names) {
  std::string text = py::str(py::type::of(self).attr("__name__")).cast<std::string>() + "(";
  for (const char* name : names) {
    text += std::string(name == names.front() ? "" : ", ") + name + "=" +
            py::repr(self.attr(name)).cast<std::string>();
  }
  return text + ")";
}

void add_options(py::module_& module) {
  py::class_<GivenOptions>(
      module,
      "MethodOptions",
      "What a method is told beside its name: MethodOptions(d=128, center=True).\n\n"
      "Names are those of the program's flags (ria describe --help); what is left out is the\n"
      "method's own. Raises ValueError for a name that no method knows.")
      .def(py::init([](const py::kwargs& options) { return GivenOptions(options); }))
      .def(
          "as_dict",
          [](const GivenOptions& self) { return self.given.attr("copy")(); },
          "The options that were given.")
      .def("__repr__",
           [](const GivenOptions& self) {
             std::string text;
             for (const auto& [key, value] : self.given) {
               text += (text.empty() ? "" : ", ") + py::str(key).cast<std::string>() + "=" +
                       py::repr(value).cast<std::string>();
             }
             return "MethodOptions(" + text + ")";
           })
      .def("__eq__",
           [](const GivenOptions& self, const py::object& other) {
             return py::isinstance<GivenOptions>(other) &&
                    self.given.equal(other.cast<const GivenOptions&>().given);
           })
      .def(py::pickle([](const GivenOptions& self) { return self.given; },
                      [](const py::dict& given) { return GivenOptions(given); }))
      .attr("__hash__") = py::none();
}

}  // namespace ria::python
