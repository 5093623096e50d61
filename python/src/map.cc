// SPDX-License-Identifier: MIT
#include "ria/map.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "arrays.h"
#include "bindings.h"
#include "long_call.h"
#include "options.h"

namespace ria::python {

namespace {

namespace fs = std::filesystem;
using Released = py::call_guard<py::gil_scoped_release>;

/// `allowed` is asked by threads of the library: an exception of it ends the search's answers, not
/// the process, and is thrown here.
class Allowed {
 public:
  Allowed(int before, py::object function) : function_(std::move(function)) {
    options_.before = before;
    if (function_.is_none()) return;
    options_.allowed = [this](int place) {
      const py::gil_scoped_acquire gil;
      if (raised_) return false;
      try {
        return function_(place).cast<bool>();
      } catch (const std::exception&) {
        raised_ = std::current_exception();
        return false;
      }
    };
  }
  template <typename Query>
  auto search(const Map& map, const Query& query, int k) {
    auto found = [&] {
      const py::gil_scoped_release released;
      return map.search(query, k, options_);
    }();
    if (raised_) std::rethrow_exception(raised_);
    return to_arrays(found);
  }

 private:
  py::object function_;
  SearchOptions options_;
  std::exception_ptr raised_;
};

py::tuple search(
    const Map& map, const py::array& queries, int k, int before, const py::object& allowed) {
  Allowed only(before, allowed);
  if (queries.ndim() == 1) return only.search(map, to_vector(queries), k);
  return only.search(map, to_matrix(queries), k);
}

Map open(const fs::path& file, bool write) {
  existing(file);
  const py::gil_scoped_release released;
  return Map::open(file, write ? Access::kWrite : Access::kRead);
}

std::vector<Place> places_of(const py::sequence& places) {
  std::vector<Place> all;
  for (const auto& place : places) {
    all.push_back(py::isinstance<py::str>(place) ? place_named(place.cast<std::string>())
                                                 : place.cast<Place>());
  }
  return all;
}

int add(Map& map, const py::array& descriptors, const py::sequence& places) {
  const Matrix rows = to_matrix(descriptors);
  const std::vector<Place> all = places_of(places);
  const py::gil_scoped_release released;
  return map.add(rows, all);
}

/// As a mapping of Python: a number that no place has is a KeyError.
Place item(const Map& map, int number) {
  try {
    const py::gil_scoped_release released;
    return map.place(number);
  } catch (const std::invalid_argument& error) {
    throw py::key_error(error.what());
  }
}

py::list items(const Map& map) {
  std::vector<std::pair<int, Place>> all;
  {
    const py::gil_scoped_release released;
    map.each_place([&](int number, const Place& place) { all.emplace_back(number, place); });
  }
  return py::cast(all);
}

py::list numbers(const Map& map) {
  py::list all;
  for (const py::handle& pair : items(map)) all.append(pair[py::int_(0)]);
  return all;
}

void add_place(py::module_& module) {
  py::class_<Place> place(
      module, "Place", "What is known of a place beside its descriptor. NaN: not known.");
  place.def_readwrite("name", &Place::name, "as a rule the picture's")
      .def_readwrite("stamp", &Place::stamp, "seconds")
      .def_readwrite("x", &Place::x, "metres to the east")
      .def_readwrite("y", &Place::y, "metres to the north")
      .def_readwrite(
          "utm_zone", &Place::utm_zone, "1..60 north, -1..-60 south; 0: a frame of its own")
      .def_readwrite("heading", &Place::heading, "degrees clockwise from north");
  made_of_keywords(place, {"name", "stamp", "x", "y", "utm_zone", "heading"});
  py::class_<MapHeader> header(
      module, "MapHeader", "What a map was made with; a query must be made with the same.");
  header.def_readwrite("method", &MapHeader::method)
      .def_readwrite(
          "options", &MapHeader::options, "JSON of every option that shapes a descriptor")
      .def_readwrite("weights_sha256", &MapHeader::weights_sha256)
      .def_readwrite("ria_version", &MapHeader::ria_version)
      .def_readwrite("dim", &MapHeader::dim);
  made_of_keywords(header, {"method", "options", "weights_sha256", "ria_version", "dim"});
}

void add_reading(py::class_<Map>& map) {
  map.def_property_readonly("header", [](const Map& self) { return self.header(); })
      .def_property_readonly("storage", [](const Map& self) { return to_string(self.storage()); })
      .def_property_readonly(
          "file", [](const Map& self) { return self.file(); }, "Path(): in memory")
      .def("__len__", &Map::size)
      .def_property_readonly("end", &Map::end, "one more than the largest number given so far")
      .def("place",
           &Map::place,
           py::arg("number"),
           Released(),
           "Raises ValueError for a number that no place has.")
      .def("__getitem__", &item, py::arg("number"))
      .def("__iter__", [](const Map& self) { return py::iter(numbers(self)); })
      .def("items", &items, "(number, Place) of every place, by number.")
      .def("find", &Map::find, py::arg("name"), Released(), "Numbers of the places of this name.")
      .def(
          "descriptors",
          [](const Map& self, const std::vector<int>& places) {
            Matrix rows = [&] {
              const py::gil_scoped_release released;
              return self.descriptors(places);
            }();
            return to_array(std::move(rows));
          },
          py::arg("places"),
          "Their descriptors as they are kept, one a row.")
      .def("search",
           &search,
           py::arg("queries").noconvert(),
           py::arg("k") = 5,
           py::kw_only(),
           py::arg("before") = SearchOptions{}.before,
           py::arg("allowed") = py::none(),
           "The k most alike places: (numbers, cosines), best first. Rows for rows, one dimension "
           "for\n"
           "one descriptor. `before`: only places below this number; `allowed(number)`: whether it "
           "may\n"
           "be an answer.")
      .def(
          "scores",
          [](const Map& self, const py::array& query) {
            const Vector values = to_vector(query);
            return to_arrays([&] {
              const py::gil_scoped_release released;
              return self.scores(values);
            }());
          },
          py::arg("query"),
          "(numbers, cosines) of all places, by number.")
      .def("check", &Map::check, Released(), "What is wrong with the file, one line each.");
}

void add_writing(py::class_<Map>& map) {
  map.def("add",
          &add,
          py::arg("descriptors").noconvert(),
          py::arg("places"),
          "Adds unit vectors, one a row, with a name or Place for each; returns the number of the "
          "first.\n"
          "All of them are durable then, or none.")
      .def("remove", &Map::remove, py::arg("places"), Released(), "All or none.")
      .def("merge",
           &Map::merge,
           py::arg("other"),
           Released(),
           "Adds the places of another map whose names are not here; returns how many.")
      .def("refresh",
           &Map::refresh,
           Released(),
           "Sees what other processes have done since; whether there was something.")
      .def(
          "save",
          [](const Map& self, const fs::path& file, const std::string& storage) {
            self.save(file, parse_storage(storage));
          },
          py::arg("file"),
          py::arg("storage") = "half",
          Released(),
          "A copy with the same numbers, whole or not at all.");
}

}  // namespace

void add_map(py::module_& module) {
  add_place(module);
  py::class_<Map> map(
      module,
      "Map",
      "Places with their descriptors, in a file or in memory. A place is known by a number.\n\n"
      "What add() or remove() has done when it returns survives the end of the process and of the\n"
      "power. Every function may be called from several threads at once.");
  map.def(py::init([](const MapHeader& header, const std::string& storage) {
            return Map(header, parse_storage(storage));
          }),
          py::arg("header"),
          py::arg("storage") = "float",
          "An empty map in memory.");
  map.def_static("open", &open, py::arg("file"), py::arg("write") = false, "A map in a file.");
  map.def_static(
      "create",
      [](const fs::path& file, const MapHeader& header, const std::string& storage) {
        return Map::create(file, header, parse_storage(storage));
      },
      py::arg("file"),
      py::arg("header"),
      py::arg("storage") = "half",
      Released(),
      "An empty map in a new file, open for writing.");
  add_reading(map);
  add_writing(map);
}

}  // namespace ria::python
