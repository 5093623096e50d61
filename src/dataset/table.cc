// SPDX-License-Identifier: MIT
// The datasets known by name: an explicit list, the paper's first.
#include <fmt/format.h>

#include <stdexcept>

#include "dataset/forms.h"
#include "util/nearest_name.h"

namespace ria {

namespace {

DatasetEntry nordland() {
  return {
      {.name = "nordland",
       .title = "Nordland",
       .tests = "railway: winter against summer, the same viewpoint",
       .source = "VPR-Bench and gsv-cities (2760 queries); dvgl (27592, @-names)",
       .folders = {"nordland", "Nordland"},
       .positives = "lists, +-1 frame of every tenth; or 25 m from the names, +-10 frames",
       .parts = {{"test", "", 27592, 2760}, {"test", "", 27592, 27592}},
       .positive_dist_threshold = kStreet},
      {at_named_form(),
       list_form("Nordland"),
       sequence_form({.database = "ref", .queries = "query", .truth = "ground_truth_new.npy"})}};
}

DatasetEntry msls_val() {
  return {{.name = "msls_val",
           .title = "Mapillary Street-Level Sequences, validation",
           .tests = "Copenhagen and San Francisco: cameras, seasons, day and night",
           .source = "Mapillary; lists by gsv-cities and OpenVPRLab; dvgl (@-names)",
           .folders = {"msls_val", "msls-val", "msls"},
           .positives = "lists of 740 queries, 25 m; or 25 m from the names",
           // The @-named form of dvgl has some 11000 queries, which is another benchmark.
           .parts = {{"val", "", 18871, 740}},
           .positive_dist_threshold = kStreet},
          {list_form("msls_val"), at_named_form()}};
}

DatasetEntry tokyo247() {
  return {{.name = "tokyo247",
           .title = "Tokyo 24/7",
           .tests = "street view against phones by day, at sunset and by night",
           .source = "NetVLAD's authors on request; dvgl (@-names)",
           .folders = {"tokyo247", "Tokyo247"},
           .positives = "25 m from the names or from dbStruct",
           .parts = {{"test", "", 75984, 315}},
           .positive_dist_threshold = kStreet},
          {at_named_form(), db_struct_form("tokyo247.mat"), list_form("tokyo247")}};
}

DatasetEntry sf_xl() {
  return {{.name = "sf_xl",
           .title = "San Francisco eXtra Large",
           .tests = "a whole city: street view against Flickr (v1) and phones (v2)",
           .source = "CosPlace's authors on request",
           .folders = {"sf_xl", "sf-xl"},
           .positives = "25 m from the names",
           .parts = {{"test", "queries_v1", 2805840, 1000},
                     {"test", "queries_v2", 2805840, 598},
                     {"val", "", 8015, 7993}},
           .positive_dist_threshold = kStreet},
          {at_named_form()}};
}

/// A form of its own name: it holds whatever its folder holds.
DatasetEntry general(const char* name,
                     const char* title,
                     const char* source,
                     const char* positives,
                     const char* split,
                     double radius,
                     Form form) {
  return {{.name = name,
           .title = title,
           .tests = "whatever its pictures show",
           .source = source,
           .positives = positives,
           .parts = {{split, "", 0, 0}},
           .positive_dist_threshold = radius},
          {std::move(form)}};
}

std::vector<DatasetEntry> make_entries() {
  std::vector<DatasetEntry> all = paper_entries();
  const std::vector<DatasetEntry> others{
      nordland(),
      msls_val(),
      tokyo247(),
      sf_xl(),
      general("at_named",
              "Any pair of folders with @-names",
              "gmberton's VPR-methods-evaluation and VPR-datasets-downloader",
              "25 m from the names",
              "test",
              kStreet,
              at_named_form()),
      general("name_lists",
              "Any NumPy lists of names",
              "gsv-cities, MixVPR, SALAD, OpenVPRLab",
              "the lists, or 25 m from the names",
              "",
              kStreet,
              list_form("")),
      general("db_struct",
              "Any MATLAB dbStruct",
              "NetVLAD and its ports",
              "posDistThr metres",
              "",
              0,
              db_struct_form("")),
      general("patch_netvlad",
              "Any archive of positions with lists of names",
              "Patch-NetVLAD",
              "posDistThr metres",
              "",
              0,
              npz_form("")),
      general("vpr_bench",
              "Any set of VPR-Bench",
              "VPR-Bench",
              "ground_truth_new.npy",
              "",
              0,
              sequence_form({.database = "ref",
                             .queries = "query",
                             .truth = "ground_truth_new.npy",
                             .runs_over = true})),
      general("gt_json", "Any pictures with a gt.json", "ria", "gt.json", "", 0, json_form())};
  all.insert(all.end(), others.begin(), others.end());
  for (DatasetEntry& entry : all) {
    for (const Form& form : entry.forms) entry.info.layouts.push_back(form.layout);
  }
  return all;
}

}  // namespace

const std::vector<DatasetEntry>& dataset_entries() {
  static const std::vector<DatasetEntry> entries = make_entries();
  return entries;
}

const std::vector<DatasetInfo>& datasets() {
  static const std::vector<DatasetInfo> all = [] {
    std::vector<DatasetInfo> infos;
    for (const DatasetEntry& entry : dataset_entries()) infos.push_back(entry.info);
    return infos;
  }();
  return all;
}

const DatasetEntry& find_entry(const std::string& name) {
  std::vector<std::string> names;
  for (const DatasetEntry& entry : dataset_entries()) {
    if (entry.info.name == name) return entry;
    names.push_back(entry.info.name);
  }
  throw std::invalid_argument(unknown_name("dataset", name, names, "ria datasets"));
}

const DatasetInfo& find_dataset(const std::string& name) { return find_entry(name).info; }

}  // namespace ria
