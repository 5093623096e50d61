// SPDX-License-Identifier: MIT
// The paper's datasets, as AnyLoc publishes them.
#include <fmt/format.h>

#include "dataset/forms.h"

namespace ria {

namespace {

constexpr char kAnyLoc[] = "AnyLoc's release Datasets-All";

DatasetEntry places_17() {
  return {{.name = "17places",
           .title = "17 Places",
           .tests = "indoor, robot at eye level: clutter, light, day and night",
           .source = std::string(kAnyLoc) + "; VPR-Bench (+-2 frames there)",
           .folders = {"17places"},
           .positives = "ground_truth_new.npy, +-5 frames as released",
           .parts = {{"", "", 406, 406}},
           .frame_tolerance = 5,
           .height = 480,
           .width = 640},
          {sequence_form({.database = "ref",
                          .queries = "query",
                          .truth = "ground_truth_new.npy",
                          .frame_tolerance = 5,
                          .runs_over = true})}};
}

DatasetEntry pitts30k() {
  return {
      {.name = "pitts30k",
       .title = "Pittsburgh 30k",
       .tests = "street view: viewpoint, years between the pictures",
       .source = "NetVLAD's authors on request; AnyLoc, dvgl and gsv-cities publish forms",
       .folders = {"pitts30k", "Pittsburgh", "Pittsburgh250k"},
       .positives = "25 m from the names or from dbStruct, or lists",
       .parts = {{"test", "", 10000, 6816}, {"val", "", 10000, 7608}, {"train", "", 10000, 7416}},
       .positive_dist_threshold = kStreet,
       .height = 480,
       .width = 640},
      {at_named_form(),
       list_form("pitts30k_{split}"),
       db_struct_form("pitts30k_{split}.mat"),
       npz_form("pitts30k")}};
}

DatasetEntry st_lucia() {
  return {{.name = "st_lucia",
           .title = "St Lucia",
           .tests = "suburb from a car: time of day, shadows, traffic",
           .source = std::string(kAnyLoc) + "; dvgl",
           .folders = {"st_lucia"},
           .positives = "25 m from the names",
           .parts = {{"test", "", 1549, 1464}},
           .positive_dist_threshold = kStreet,
           .height = 480,
           .width = 640},
          {at_named_form(), list_form("st_lucia")}};
}

DatasetEntry gardens() {
  return {{.name = "gardens",
           .title = "Gardens Point",
           .tests = "campus on foot: day to night (night_right) or sideways (day_left)",
           .source = std::string(kAnyLoc) + "; doi 10.5281/zenodo.4590133",
           .folders = {"gardens", "gardens_point", "GardensPointWalking"},
           .positives = "gardens_gt.npy, +-2 frames",
           .parts = {{"", "night_right", 200, 200}, {"", "day_left", 200, 200}},
           .frame_tolerance = 2},
          {sequence_form({.database = "day_right",
                          .queries = "{query_set}",
                          .truth = "gardens_gt.npy",
                          .frame_tolerance = 2,
                          .runs_over = true})}};
}

DatasetEntry oxford() {
  return {{.name = "oxford",
           .title = "Oxford RobotCar",
           .tests = "city from a car: summer by day against autumn by night",
           .source = kAnyLoc,
           .folders = {"Oxford_Robotcar", "oxford"},
           .positives = "posDistThr of oxdatapart.mat; 25 m for the variant Oxford_25m",
           .parts = {{"", "", 191, 191}}},
          {oxford_form()}};
}

DatasetEntry poses(const char* name,
                   const char* title,
                   const char* tests,
                   const char* folder,
                   DatasetPart counts,
                   PoseRows rows) {
  return {{.name = name,
           .title = title,
           .tests = tests,
           .source = kAnyLoc,
           .folders = {folder},
           .positives = fmt::format("8 m from pose_topic_list.npy, rows [0,{}) and [{},{})",
                                    rows.database_end,
                                    rows.queries_begin,
                                    rows.queries_end),
           .parts = {counts},
           .positive_dist_threshold = 8},
          {pose_form(rows)}};
}

DatasetEntry nardo_air(const char* name, const char* title, const char* tests, const char* folder) {
  return {{.name = name,
           .title = title,
           .tests = tests,
           .source = kAnyLoc,
           .folders = {folder},
           .positives = "top_1_ref_ind to top_5_ref_ind of gt_matches.csv",
           .parts = {{"", "", 102, 71}}},
          {match_table_form()}};
}

DatasetEntry mid_atlantic() {
  return {{.name = "mid_atlantic",
           .title = "Mid-Atlantic Ridge",
           .tests = "hydrothermal vent under water: years, growth, artificial light",
           .source = std::string(kAnyLoc) + ", from the Eiffel Tower dives of 2015 and 2020",
           .folders = {"eiffel"},
           .positives = "eiffel_gt.npy, rows from 101 on",
           .parts = {{"", "", 65, 101}},
           .height = 405,
           .width = 720},
          {sequence_form({.database = "db_images",
                          .queries = "q_images",
                          .truth = "eiffel_gt.npy",
                          .skip_rows = 101})}};
}

DatasetEntry baidu_mall() {
  return {{.name = "baidu_mall",
           .title = "Baidu Mall",
           .tests = "shopping mall: phones against a survey camera, repeated shops",
           .source = std::string(kAnyLoc) + "; IDL_dataset_cvpr17_3852",
           .folders = {"baidu_datasets"},
           .positives = "10 m in space from the .camera files; max_angle narrows it",
           .parts = {{"", "", 689, 2292}},
           .positive_dist_threshold = 10,
           .height = 480,
           .width = 640},
          {camera_form()}};
}

DatasetEntry vp_air() {
  return {{.name = "vp_air",
           .title = "VP-Air",
           .tests = "light aircraft that looks down, among 10000 distractors",
           .source = std::string(kAnyLoc) + "; VPAIR's authors on request",
           .folders = {"vpair", "vp_air"},
           .positives = "vpair_gt.npy",
           .parts = {{"", "", 12706, 2706}, {"", "", 2706, 2706}}},
          {sequence_form({.database = "reference_views",
                          .queries = "queries",
                          .truth = "vpair_gt.npy",
                          .distractors = "distractors"})}};
}

}  // namespace

std::vector<DatasetEntry> paper_entries() {
  return {places_17(),
          pitts30k(),
          st_lucia(),
          gardens(),
          oxford(),
          poses("hawkins",
                "Hawkins",
                "abandoned hospital: long corridors in poor light",
                "hawkins_long_corridor",
                {"", "", 127, 118},
                {127, 127, 245}),
          poses("laurel_caverns",
                "Laurel Caverns",
                "cave from a handheld camera: little light, few edges",
                "laurel_caverns",
                {"", "", 141, 112},
                {141, 229, 341}),
          nardo_air("nardo_air",
                    "Nardo-Air",
                    "satellite pictures against a camera that looks down",
                    "test_40_midref_rot0"),
          nardo_air("nardo_air_rot90",
                    "Nardo-Air R",
                    "nardo_air with one side turned by a right angle",
                    "test_40_midref_rot90"),
          mid_atlantic(),
          baidu_mall(),
          vp_air()};
}

}  // namespace ria
