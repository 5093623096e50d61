// SPDX-License-Identifier: MIT
#include "ria/evaluate.h"

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "arrays.h"
#include "bindings.h"
#include "long_call.h"
#include "options.h"
#include "ria/report.h"
#include "ria/simulate.h"
#include "ria/weights.h"

namespace ria::python {

namespace {

namespace fs = std::filesystem;
using Released = py::call_guard<py::gil_scoped_release>;

std::vector<Evaluation> evaluate_methods(const Dataset& dataset,
                                         const std::vector<std::string>& names,
                                         const GivenOptions* options,
                                         const std::vector<int>& recall_values,
                                         int num_predictions,
                                         bool keep_descriptors,
                                         int num_threads,
                                         const py::object& progress,
                                         bool resume,
                                         const std::optional<fs::path>& feature_cache,
                                         const py::kwargs& keywords) {
  LongCall call;
  const GivenOptions given = together(options, keywords);
  EvaluateOptions how;
  how.recall_values = recall_values;
  how.num_predictions = num_predictions;
  how.keep_descriptors = keep_descriptors;
  how.run = RunKeywords{num_threads, progress, resume, {}, feature_cache}.options(call);
  return call.result([&] { return evaluate(dataset, names, given.options, how); });
}

py::dict intervals_of(const Evaluation& evaluation) {
  py::dict all;
  for (const auto& [k, interval] : evaluation.interval)
    all[py::int_(k)] = py::make_tuple(interval.low, interval.high);
  return all;
}

void add_datasets(py::module_& module) {
  using D = Dataset;
  py::class_<D> dataset(
      module, "Dataset", "Pictures of known places, queries, and which answers are right.");
  dataset.def_readwrite("name", &D::name)
      .def_readwrite("database", &D::database, "paths")
      .def_readwrite("queries", &D::queries, "paths")
      .def_readwrite(
          "positives", &D::positives, "per query, sorted positions in the database; []: not known")
      .def_readwrite("remarks", &D::remarks, "what was odd about the files and how it was settled");
  made_of_keywords(dataset, {"name", "database", "queries", "positives", "remarks"});
  using I = DatasetInfo;
  py::class_<I>(module, "DatasetInfo", "A dataset that load_dataset() knows by name.")
      .def_readonly("name", &I::name)
      .def_readonly("title", &I::title, "as papers call it")
      .def_readonly("tests", &I::tests, "what differs between the places and the queries")
      .def_readonly("source", &I::source, "who publishes it")
      .def_readonly("layouts", &I::layouts, "files expected in its folder")
      .def("__repr__",
           [](const I& self) { return "<ria.DatasetInfo " + self.name + ": " + self.title + ">"; });
  using O = DatasetOptions;
  py::class_<O> options(
      module, "DatasetOptions", "How a named dataset is read. Empty or 0: as published.");
  options.def_readwrite("positive_dist_threshold", &O::positive_dist_threshold, "metres")
      .def_readwrite("frame_tolerance", &O::frame_tolerance, "frames to either side")
      .def_readwrite("max_angle", &O::max_angle, "degrees, baidu_mall")
      .def_readwrite("split", &O::split)
      .def_readwrite("query_set", &O::query_set)
      .def_readwrite(
          "images_folder", &O::images_folder, "where listed pictures are, if not beside the lists");
  made_of_keywords(options,
                   {"positive_dist_threshold",
                    "frame_tolerance",
                    "max_angle",
                    "split",
                    "query_set",
                    "images_folder"});
  module.def("datasets", &datasets, "The benchmarks known by name.");
  module.def(
      "load_dataset",
      [](const std::string& name, const fs::path& folder, const O& how) {
        find_dataset(name);
        existing(folder);
        const py::gil_scoped_release released;
        return load_dataset(name, folder, how);
      },
      py::arg("name"),
      py::arg("data_folder"),
      py::arg("options") = O{},
      "A named dataset; the folder is the set's or the one that holds it.");
  module.def(
      "load_ground_truth",
      [](const fs::path& file) { return load_ground_truth(existing(file)); },
      py::arg("json_file"),
      "{'queries': [..], 'database': [..], 'positives': [[..], ..]} with paths relative to the "
      "file.");
  module.def(
      "load_folders",
      [](const fs::path& database, const fs::path& queries, double threshold, bool labels) {
        existing(database), existing(queries);
        return labels ? load_at_named(database, queries, threshold)
                      : load_unlabelled(database, queries);
      },
      py::arg("database"),
      py::arg("queries"),
      py::arg("positive_dist_threshold") = 25.0,
      py::arg("labels") = true,
      "Two folders of pictures with positions in their names (@east@north@...), or without "
      "labels.");
}

void add_methods(py::module_& module) {
  using M = Method;
  py::class_<M>(module, "Method", "A row of the table of methods.")
      .def_readonly("name", &M::name)
      .def_readonly("backbone", &M::backbone)
      .def_readonly("aggregator", &M::aggregator)
      .def_readonly("summary", &M::summary)
      .def_readonly("paper", &M::paper)
      .def_readonly("weights", &M::weights, "name of the weights it needs; empty: none")
      .def_readonly("dim", &M::dim, "length of its descriptors by default; 0: as the file says")
      .def("__repr__",
           [](const M& self) { return "<ria.Method " + self.name + ": " + self.summary + ">"; });
  module.def("methods", &methods, "Every method that a Recognizer takes by name.");
  module.def(
      "find_method", &find_method, py::arg("name"), "Raises ValueError naming the nearest known.");
}

void add_evaluation(py::module_& module) {
  using E = Evaluation;
  py::class_<E>(module, "Evaluation", "How well a method does on a dataset.")
      .def_readonly("method", &E::method)
      .def_readonly("dataset", &E::dataset)
      .def_readonly("queries", &E::queries)
      .def_readonly("database", &E::database)
      .def_readonly("dim", &E::dim)
      .def_readonly("recall", &E::recall, "K -> percent; empty: the positives are not known")
      .def_property_readonly("interval", &intervals_of, "K -> (low, high), 95 % confidence")
      .def_property_readonly("average_precision",
                             [](const E& self) { return self.precision_recall.average_precision; })
      .def_readonly("seconds", &E::seconds, "by stage")
      .def_property_readonly("options", [](const E& self) { return from_json(self.options); })
      .def_property_readonly(
          "predictions",
          [](const E& self) { return to_arrays(self.predictions); },
          "(positions, scores), a row a query, best first")
      .def_property_readonly(
          "database_descriptors",
          [](const py::object& self) {
            return view_of(self.cast<E&>().database_descriptors, self);
          },
          "empty unless keep_descriptors")
      .def_property_readonly(
          "query_descriptors",
          [](const py::object& self) { return view_of(self.cast<E&>().query_descriptors, self); })
      .def_readonly("failures", &E::failures)
      .def("line", &E::line, "'R@1: 98.8, R@5: 99.7, ...'")
      .def("__repr__", [](const E& self) {
        return "<ria.Evaluation " + self.method + ": " + self.line() + ">";
      });
  module.def(
      "evaluate",
      &evaluate_methods,
      py::arg("dataset"),
      py::arg("methods"),
      py::arg("options") = py::none(),
      py::kw_only(),
      py::arg("recall_values") = EvaluateOptions{}.recall_values,
      py::arg("num_predictions") = 20,
      py::arg("keep_descriptors") = false,
      py::arg("num_threads") = 0,
      py::arg("progress") = py::none(),
      py::arg("resume") = true,
      py::arg("feature_cache") = py::none(),
      "Evaluates methods on one dataset, sharing features where the backbone is the same; one\n"
      "Evaluation each. Other keywords are options of the methods.");
  module.def("comparison_table",
             &comparison_table,
             py::arg("evaluations"),
             "A text table, one line a method.");
  module.def("to_json",
             py::overload_cast<const std::vector<E>&>(&to_json),
             py::arg("evaluations"),
             "As `ria eval --json` writes them.");
  module.def(
      "write_report",
      [](const fs::path& to,
         const Dataset& dataset,
         const std::vector<E>& evaluations,
         const std::string& title) {
        ReportOptions options;
        options.title = title;
        write_report(to, dataset, evaluations, options);
      },
      py::arg("folder_or_html"),
      py::arg("dataset"),
      py::arg("evaluations"),
      py::arg("title") = ReportOptions{}.title,
      Released(),
      "Recalls, tests, curves and answers as one HTML page; a folder gets .json, .csv and .tex as "
      "well.");
}

py::tuple simulate_street(const fs::path& folder,
                          int places,
                          std::uint64_t seed,
                          const std::string& database,
                          const std::string& queries,
                          int height,
                          int width,
                          const py::object& progress) {
  LongCall call;
  SimulateOptions options;
  options.places = places;
  options.seed = seed;
  options.database_condition = parse_condition(database);
  options.query_condition = parse_condition(queries);
  options.height = height;
  options.width = width;
  options.progress = call.progress(progress);
  options.stop = call.stop();
  const SimulatedFolders made = call.result([&] { return simulate(folder, options); });
  return py::make_tuple(made.database, made.queries);
}

void add_pictures(py::module_& module) {
  const SimulateOptions usual;
  module.def("simulate",
             &simulate_street,
             py::arg("folder"),
             py::kw_only(),
             py::arg("places") = usual.places,
             py::arg("seed") = usual.seed,
             py::arg("database_condition") = to_string(usual.database_condition),
             py::arg("query_condition") = to_string(usual.query_condition),
             py::arg("height") = usual.height,
             py::arg("width") = usual.width,
             py::arg("progress") = py::none(),
             "Two drives along a made-up street, poses in the file names: the two folders.");
  module.def(
      "list_pictures",
      [](const fs::path& folder) { return list_pictures(existing(folder)); },
      py::arg("folder_or_file"),
      "The picture files below a folder, sorted.");
  module.def(
      "load_image",
      [](const fs::path& file, bool ignore_orientation) {
        existing(file);
        Image image = [&] {
          const py::gil_scoped_release released;
          return load_image(file, {ignore_orientation});
        }();
        return to_array(std::move(image));
      },
      py::arg("file"),
      py::arg("ignore_orientation") = false,
      "A picture file as upright RGB: uint8, height x width x 3.");
}

}  // namespace

void add_evaluate(py::module_& module) {
  add_methods(module);
  add_datasets(module);
  add_evaluation(module);
  add_pictures(module);
  module.def(
      "add_weights",
      [](const fs::path& file, const std::string& name) {
        existing(file);
        const py::gil_scoped_release released;
        return add_weights(file, name);
      },
      py::arg("file"),
      py::arg("name"),
      "Imports a weight file into the cache; returns the file there.");
  module.def(
      "get_weights",
      [](const std::string& name) {
        LongCall call;
        DownloadOptions options;
        options.stop = call.stop();
        return call.result([&] { return get_weights(name, options); });
      },
      py::arg("name"),
      "Downloads published weights into the cache; returns the file there.");
  module.def("set_thread_cores",
             &set_thread_cores,
             py::arg("cores"),
             "Cores that the calling thread's describe() of one picture may use; 0: all. A pool of "
             "threads\n"
             "gives each of its own 1: ThreadPoolExecutor(4, initializer=ria.set_thread_cores, "
             "initargs=(1,)).");
  module.def("num_cores", &num_cores, "Cores that this process may use.");
}

}  // namespace ria::python
