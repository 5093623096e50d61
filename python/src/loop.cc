// SPDX-License-Identifier: MIT
#include "ria/loop.h"

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "arrays.h"
#include "bindings.h"
#include "long_call.h"
#include "options.h"

namespace ria::python {

namespace {

namespace fs = std::filesystem;
using MaybePose = std::optional<Pose>;

const std::vector<const char*> kFields = {"recent",
                                          "recent_seconds",
                                          "decision",
                                          "candidates",
                                          "same_view",
                                          "max_places",
                                          "odometry_reach",
                                          "odometry_drift",
                                          "keep",
                                          "num_threads"};

LoopFrame frame_of(const std::string& name, double stamp, const MaybePose& odometry) {
  return {name, stamp, odometry};
}

LoopResult add_file(LoopCloser& self,
                    const fs::path& picture,
                    const std::string& name,
                    double stamp,
                    const MaybePose& odometry) {
  existing(picture);
  const py::gil_scoped_release released;
  return self.add(picture, frame_of(name, stamp, odometry));
}

LoopResult add_array(LoopCloser& self,
                     const py::array& pixels,
                     const std::string& name,
                     double stamp,
                     const MaybePose& odometry,
                     const std::string& format) {
  const Picture picture(pixels, format);
  const py::gil_scoped_release released;
  return self.add(picture.view, frame_of(name, stamp, odometry));
}

LoopResult add_described(LoopCloser& self,
                         const DescribedPicture& picture,
                         const std::string& name,
                         double stamp,
                         const MaybePose& odometry) {
  const py::gil_scoped_release released;
  return self.add(picture, frame_of(name, stamp, odometry));
}

LoopCloser make(const fs::path& map_file,
                const std::string& method,
                const LoopOptions* options,
                const py::kwargs& keywords) {
  LoopOptions loop = options == nullptr ? LoopOptions{} : *options;
  set_fields(py::cast(&loop, py::return_value_policy::reference), keywords, kFields);
  const py::gil_scoped_release released;
  return LoopCloser::open(map_file, method, loop);
}

void add_loop_options(py::module_& module) {
  using O = LoopOptions;
  py::class_<O> options(module, "LoopOptions", "How LoopCloser decides; made of keywords.");
  options.def_readwrite("recent", &O::recent, "so many last pictures are no candidates")
      .def_readwrite("recent_seconds",
                     &O::recent_seconds,
                     "nor those younger than this, where pictures have stamps")
      .def_readwrite("decision", &O::decision, "probability from which on a result says loop")
      .def_readwrite("candidates", &O::candidates, "most alike places whose patches are compared")
      .def_readwrite("same_view",
                     &O::same_view,
                     "shared patches from which on a picture is not kept; 1: all are")
      .def_readwrite("max_places", &O::max_places, "places kept; 0: all")
      .def_readwrite(
          "odometry_reach", &O::odometry_reach, "metres two pictures of one place may be apart")
      .def_readwrite("odometry_drift",
                     &O::odometry_drift,
                     "share of the way driven by which odometry may be wrong")
      .def_readwrite("keep", &O::keep, "False: pictures are only looked up")
      .def_readwrite("num_threads", &O::num_threads, "0: all cores");
  made_of_keywords(options, kFields);
}

void add_result(py::module_& module) {
  py::class_<Pose> pose(
      module,
      "Pose",
      "Where a camera was, metres of the odometry's own frame, and how it was turned.");
  pose.def_readwrite("position", &Pose::position, "x, y, z")
      .def_readwrite("rotation", &Pose::rotation, "unit quaternion x, y, z, w");
  made_of_keywords(pose, {"position", "rotation"});
  using E = LoopEvidence;
  py::class_<E>(module, "LoopEvidence", "What speaks for a loop, as the probability sees it.")
      .def_readonly("cosine", &E::cosine, "of the two descriptors")
      .def_readonly("agreement", &E::agreement, "share of patches that agree")
      .def_readonly(
          "rival", &E::rival, "the largest agreement with a place elsewhere, less what all show")
      .def_readonly("expected", &E::expected, "probability before the picture was seen");
  using R = LoopResult;
  py::class_<R>(module, "LoopResult", "What is said of one picture.")
      .def_readonly("loop", &R::loop, "probability >= LoopOptions.decision")
      .def_property_readonly(
          "reason",
          [](const R& self) { return to_string(self.reason); },
          "loop, too_recent, unlike, ...")
      .def_readonly("place", &R::place, "number of the place that fits best; -1: none was compared")
      .def_readonly("place_name", &R::place_name)
      .def_readonly("probability", &R::probability, "that this is the same place")
      .def_readonly("down", &R::down, "patch cells by which the view moved from here to the place")
      .def_readonly("right", &R::right)
      .def_readonly("scale", &R::scale, "how much larger things are in the place's picture")
      .def_readonly(
          "kept_as", &R::kept_as, "number this picture has in the map; -1: it shows nothing new")
      .def_readonly("evidence", &R::evidence)
      .def_property_readonly(
          "ms",
          [](const R& self) {
            py::dict ms;
            ms["describe"] = self.ms.describe;
            ms["search"] = self.ms.search;
            ms["verify"] = self.ms.verify;
            ms["keep"] = self.ms.keep;
            return ms;
          },
          "milliseconds by stage")
      .def("__repr__", [](const R& self) {
        return "<ria.LoopResult " + to_string(self.reason) +
               ", p = " + std::to_string(self.probability) +
               (self.place < 0 ? "" : ", " + self.place_name) + ">";
      });
}

}  // namespace

void add_loop(py::module_& module) {
  add_loop_options(module);
  add_result(module);
  const auto stamp = [] { return py::arg_v("stamp", Place::kUnknown, "nan"); };
  py::class_<LoopCloser>(
      module,
      "LoopCloser",
      "Pictures of a drive as they come: was this place seen before, and how sure is that?\n\n"
      "A map that was left off goes on. For one thread at a time.")
      .def(py::init(&make),
           py::arg("map_file") = "",
           py::arg("method") = "",
           py::arg("options") = py::none(),
           "The map in a file, made if it is missing; no name: in memory. Without a method it is "
           "the map's,\n"
           "or the default for a new one. Keywords are fields of LoopOptions.")
      .def("add",
           &add_file,
           py::arg("picture"),
           py::kw_only(),
           py::arg("name") = "",
           stamp(),
           py::arg("odometry") = py::none(),
           "Looks a picture (path, uint8 array or DescribedPicture) up in the map and adds it.")
      .def("add",
           &add_described,
           py::arg("picture"),
           py::kw_only(),
           py::arg("name") = "",
           stamp(),
           py::arg("odometry") = py::none())
      .def("add",
           &add_array,
           py::arg("picture").noconvert(),
           py::kw_only(),
           py::arg("name") = "",
           stamp(),
           py::arg("odometry") = py::none(),
           py::arg("format") = "")
      .def_property_readonly("map", &LoopCloser::map, "lives as long as this object")
      .def_property_readonly("recognizer", &LoopCloser::recognizer, "lives as long as this object")
      .def_property_readonly("options", [](const LoopCloser& self) { return self.options(); });
}

}  // namespace ria::python
