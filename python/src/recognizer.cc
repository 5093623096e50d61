// SPDX-License-Identifier: MIT
#include "ria/recognizer.h"

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "arrays.h"
#include "bindings.h"
#include "long_call.h"
#include "options.h"
#include "ria/store.h"

namespace ria::python {

namespace {

namespace fs = std::filesystem;
using Paths = std::vector<fs::path>;

template <typename Work>
auto without_gil(const Work& work) {
  const py::gil_scoped_release released;
  return work();
}

Recognizer make(const std::string& method,
                const GivenOptions* options,
                const py::kwargs& keywords) {
  const GivenOptions given = together(options, keywords);
  return without_gil([&] { return Recognizer(method, given.options); });
}

Recognizer make_of_map(const Map& map, const fs::path& weights) {
  BackboneOptions backbone;
  backbone.weights = weights.string();
  return without_gil([&] { return Recognizer(map, backbone); });
}

py::array describe_file(const Recognizer& self, const fs::path& picture) {
  existing(picture);
  return to_array(without_gil([&] { return self.describe(picture); }));
}

py::array describe_array(const Recognizer& self,
                         const py::array& pixels,
                         const std::string& format) {
  const Picture picture(pixels, format);
  return to_array(without_gil([&] { return self.describe(picture.view); }));
}

DescribedPicture describe_whole(const Recognizer& self,
                                const py::array& pixels,
                                const std::string& format) {
  const Picture picture(pixels, format);
  return without_gil([&] { return self.describe_whole(picture.view); });
}

PatchFeatures features_of_array(const Recognizer& self,
                                const py::array& pixels,
                                const std::string& format) {
  const Picture picture(pixels, format);
  return without_gil(
      [&] { return self.backbone().extract(preprocess(picture.view, self.preprocessing())); });
}

PatchFeatures features_of_file(const Recognizer& self, const fs::path& file) {
  existing(file);
  return without_gil([&] {
    return self.backbone().extract(
        preprocess(load_image(file, self.preprocessing().load), self.preprocessing()));
  });
}

Descriptions describe_all(const Recognizer& self,
                          const Paths& pictures,
                          int num_threads,
                          const py::object& progress,
                          bool resume,
                          const std::optional<fs::path>& relative_to,
                          const std::optional<fs::path>& feature_cache) {
  LongCall call;
  const RunOptions run =
      RunKeywords{num_threads, progress, resume, relative_to, feature_cache}.options(call);
  return call.result([&] { return self.describe(pictures, run); });
}

void fit(Recognizer& self,
         const Paths& pictures,
         int num_threads,
         const py::object& progress,
         bool resume,
         const std::optional<fs::path>& feature_cache) {
  LongCall call;
  const RunOptions run =
      RunKeywords{num_threads, progress, resume, {}, feature_cache}.options(call);
  call.run([&] { self.fit(pictures, run); });
}

Map map_of_pictures(Recognizer& self,
                    const Paths& pictures,
                    int num_threads,
                    const py::object& progress,
                    bool resume,
                    const std::optional<fs::path>& relative_to,
                    const std::optional<fs::path>& feature_cache) {
  LongCall call;
  const RunOptions run =
      RunKeywords{num_threads, progress, resume, relative_to, feature_cache}.options(call);
  return call.result([&] { return self.map(pictures, run); });
}

/// Another object: arrays show the memory of the one that was handed in.
Descriptions finish(Recognizer& self, const Descriptions& described, std::optional<int> database) {
  return without_gil([&] {
    Descriptions all = described;
    self.finish(all, database.value_or(static_cast<int>(described.names.size())));
    return all;
  });
}

py::tuple search(const Recognizer& self,
                 const Map& map,
                 const Descriptions& queries,
                 int k,
                 int num_threads,
                 const py::object& progress) {
  LongCall call;
  const RunOptions run = RunKeywords{num_threads, progress, true, {}, {}}.options(call);
  return to_arrays(call.result([&] { return self.search(map, queries, k, run); }));
}

py::dict seconds_of(const Descriptions& described) {
  const StageSeconds& s = described.seconds;
  py::dict all;
  for (const auto& [name, value] : {std::pair{"decode", s.decode},
                                    {"backbone", s.backbone},
                                    {"aggregate", s.aggregate},
                                    {"local", s.local},
                                    {"wall", s.wall}}) {
    all[name] = value;
  }
  return all;
}

void add_described(py::module_& module) {
  py::class_<Failure>(module, "Failure", "A picture that could not be described, and why.")
      .def_readonly("picture", &Failure::picture, "position in the list that was handed in")
      .def_readonly("file", &Failure::file)
      .def_readonly("reason", &Failure::reason)
      .def("__repr__",
           [](const Failure& self) { return "Failure(" + self.file + ": " + self.reason + ")"; });
  py::class_<PatchFeatures>(
      module, "PatchFeatures", "What a network says of a picture: one row a patch.")
      .def_property_readonly(
          "patches",
          [](const py::object& self) { return view_of(self.cast<PatchFeatures&>().patches, self); },
          "float32, patches x values, in row-major grid order")
      .def_property_readonly(
          "class_token",
          [](const py::object& self) {
            return view_of(self.cast<PatchFeatures&>().class_token, self);
          },
          "empty where the network has none")
      .def_property_readonly(
          "grid",
          [](const PatchFeatures& self) {
            return py::make_tuple(self.grid_height, self.grid_width);
          },
          "rows, columns");
  py::class_<DescribedPicture>(
      module, "DescribedPicture", "All that is kept of a picture: for LoopCloser.add().")
      .def_property_readonly("descriptor", [](const py::object& self) {
        return view_of(self.cast<DescribedPicture&>().descriptor, self);
      });
  py::class_<Descriptions>(
      module, "Descriptions", "The descriptors of many pictures; a failed picture's row is zero.")
      .def_property_readonly(
          "descriptors",
          [](const py::object& self) {
            return view_of(self.cast<Descriptions&>().descriptors, self);
          },
          "float32, one row a picture; the memory of this object")
      .def_readonly("names", &Descriptions::names)
      .def_readonly("image_sizes", &Descriptions::image_sizes, "height, width as loaded")
      .def_readonly("failures", &Descriptions::failures)
      .def_property_readonly("seconds", &seconds_of, "by stage, over all threads; wall: the clock")
      .def("without_failures",
           &Descriptions::without_failures,
           "The rows and names without the failed ones.")
      .def("__len__", [](const Descriptions& self) { return self.names.size(); });
}

void add_describing(py::class_<Recognizer>& recognizer) {
  const char* one =
      "The descriptor of a picture, a path or a uint8 array of height x width (x 3 or 4), as "
      "float32.";
  // An array is a sequence too: it is asked first.
  recognizer.def("describe", &describe_file, py::arg("picture"), one)
      .def("describe", &describe_array, py::arg("picture").noconvert(), py::arg("format") = "", one)
      .def("describe",
           &describe_all,
           py::arg("pictures"),
           py::kw_only(),
           py::arg("num_threads") = 0,
           py::arg("progress") = py::none(),
           py::arg("resume") = true,
           py::arg("relative_to") = py::none(),
           py::arg("feature_cache") = py::none(),
           "The same for a list of paths, on all cores: Descriptions. `progress(done, total)` is "
           "told after\n"
           "every picture; one that cannot be read is listed in `failures`. Ctrl-C ends it, and "
           "the same\n"
           "call goes on from there.")
      .def("describe_whole",
           &describe_whole,
           py::arg("picture").noconvert(),
           py::arg("format") = "",
           "The descriptor and what the re-ranker keeps, of one extraction.")
      .def("features", &features_of_file, py::arg("picture"), "What the network says of a picture.")
      .def("features", &features_of_array, py::arg("picture").noconvert(), py::arg("format") = "")
      .def("fit",
           &fit,
           py::arg("pictures"),
           py::kw_only(),
           py::arg("num_threads") = 0,
           py::arg("progress") = py::none(),
           py::arg("resume") = true,
           py::arg("feature_cache") = py::none(),
           "Fits what must be known before the first picture is described: a projection, a "
           "vocabulary.")
      .def("finish",
           &finish,
           py::arg("described"),
           py::arg("database") = py::none(),
           "Descriptions after center and pca, which are fitted on the first `database` of them "
           "(all) if\n"
           "that is still to be done.");
}

void add_places(py::class_<Recognizer>& recognizer) {
  recognizer
      .def(
          "map",
          [](const Recognizer& self, const Descriptions& described) {
            return without_gil([&] { return self.map(described); });
          },
          py::arg("described"),
          "The map of described pictures, in memory, those that failed left out.")
      .def("map",
           &map_of_pictures,
           py::arg("pictures"),
           py::kw_only(),
           py::arg("num_threads") = 0,
           py::arg("progress") = py::none(),
           py::arg("resume") = true,
           py::arg("relative_to") = py::none(),
           py::arg("feature_cache") = py::none(),
           "fit(), describe(), finish() and map() in one.")
      .def(
          "add",
          [](const Recognizer& self, const Descriptions& described, Map& map) {
            return without_gil([&] { return self.add(described, map); });
          },
          py::arg("described"),
          py::arg("map"),
          "Adds described pictures to a map of the same kind, durably; returns how many.")
      .def("search",
           &search,
           py::arg("map"),
           py::arg("queries"),
           py::arg("k") = 5,
           py::kw_only(),
           py::arg("num_threads") = 0,
           py::arg("progress") = py::none(),
           "(numbers, scores) of the k best places for each described picture, re-ranked where the "
           "method is.");
}

}  // namespace

void add_recognizer(py::module_& module) {
  add_described(module);
  py::class_<Recognizer> recognizer(
      module,
      "Recognizer",
      "One method, ready to use: Recognizer('resnet50-ria', d=128).\n\n"
      "describe() may be called from many threads at once.");
  recognizer
      .def(py::init(&make),
           py::arg("method"),
           py::arg("options") = py::none(),
           "`method` is a name of methods(), or a name with options: "
           "'resnet50-ria:d=128,center=true'.")
      .def(py::init(&make_of_map),
           py::arg("map"),
           py::arg("weights") = "",
           "The method a map was made with.")
      .def_property_readonly("method", [](const Recognizer& self) { return self.method(); })
      .def_property_readonly(
          "options",
          [](const Recognizer& self) {
            return from_json(options_json(self.method(), self.options()));
          },
          "every option that shapes a descriptor, with all that was left to the method")
      .def_property_readonly("dim", &Recognizer::dim, "length of the descriptors")
      .def_property_readonly("header", &Recognizer::header, "what a map of its descriptors records")
      .def("__repr__", [](const Recognizer& self) {
        return "<ria.Recognizer " + self.method().name + ", " + std::to_string(self.dim()) +
               " values>";
      });
  add_describing(recognizer);
  add_places(recognizer);
  module.def(
      "save_descriptors",
      py::overload_cast<const fs::path&, const Descriptions&, const MapHeader&>(&save_descriptors),
      py::arg("file"),
      py::arg("descriptions"),
      py::arg("header"),
      py::call_guard<py::gil_scoped_release>(),
      "x.npy with x.names.txt and x.json, or x.h5 in hloc's layout: /<name>/global_descriptor.");
}

}  // namespace ria::python
