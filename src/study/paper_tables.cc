// SPDX-License-Identifier: MIT
// The paper's tables, figure by figure.
#include <limits>

#include "study/paper.h"

namespace ria {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kViTg = "dinov2-vitg14";

/// R@1 and R@5 on each of the datasets.
std::vector<PaperTable::Column> both_recalls(const std::vector<std::string>& datasets,
                                             int decimals = 1) {
  std::vector<PaperTable::Column> columns;
  for (const std::string& dataset : datasets) {
    columns.push_back({dataset, 1, decimals});
    columns.push_back({dataset, 5, decimals});
  }
  return columns;
}

std::vector<PaperTable::Column> first_recalls(const std::vector<std::string>& datasets,
                                              int decimals = 1) {
  std::vector<PaperTable::Column> columns;
  for (const std::string& dataset : datasets) columns.push_back({dataset, 1, decimals});
  return columns;
}

std::vector<PaperTable::Column> eps_columns(const std::string& dataset) {
  std::vector<PaperTable::Column> columns;
  for (const char* eps : {"0", "1e-7", "1e-6", "1e-5", "1e-4", "1e-3"}) {
    columns.push_back({dataset, 1, 2, std::string("eps ") + eps});
  }
  return columns;
}

}  // namespace

const PaperTable& paper_methods() {
  static const PaperTable table{
      "tables 1 and 2",
      kViTg,
      both_recalls({"17places",
                    "pitts30k",
                    "gardens",
                    "oxford",
                    "st_lucia",
                    "hawkins",
                    "laurel_caverns",
                    "nardo_air",
                    "mid_atlantic"}),
      // clang-format off
      {{"NetVLAD", {61.6, 77.8, 86.1, 92.7, 58.5, 85.0, 57.6, 79.1, 57.9, 73.0,
                    34.8, 71.2, 39.3, 71.4, 19.7, 39.4, 25.7, 53.5}, true},
       {"CosPlace", {61.1, 76.1, 90.4, 95.7, 74.0, 94.5, 95.3, 99.5, 99.6, 99.9,
                     31.4, 59.3, 24.1, 47.3, 0.0, 1.4, 40.6, 20.8}, true},
       {"MixVPR", {63.8, 78.8, 91.5, 95.5, 91.5, 96.0, 92.7, 99.5, 99.7, 100.0,
                   27.1, 58.5, 31.3, 64.3, 33.8, 43.7, 25.7, 59.4}, true},
       {"SALAD", {64.3, 78.8, 92.3, 96.2, 96.0, 99.5, 99.0, 100.0, 100.0, 100.0,
                  38.1, 77.1, 52.7, 81.3, 38.0, 76.1, 14.9, 46.5}, true},
       {"SelaVPR", {64.5, 79.6, 93.0, 97.0, 96.0, 100.0, 97.9, 100.0, 99.6, 99.9,
                    27.1, 72.9, 58.0, 90.2, 46.5, 85.9, 24.8, 57.4}, true},
       {"DINOv2-RIA-FT", {65.1, 82.5, 93.5, 97.8, 98.2, 100.0, 99.5, 100.0, 100.0, 100.0,
                          kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone}, true},
       {"DINOv2-VLAD", {64.2, 81.2, 85.7, 93.9, 96.5, 100.0, 82.7, 92.6, 96.5, 99.1,
                        kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone}, true},
       {"AnyLoc-VLAD-DINO", {63.8, 78.8, 83.4, 92.0, 95.0, 98.5, 82.2, 99.0, 88.5, 94.9,
                             48.3, 84.8, 57.1, 79.5, 43.7, 54.9, 41.6, 66.3}, true},
       {"AnyLoc-VLAD-DINOv2", {65.0, 80.5, 87.7, 94.7, 95.5, 99.5, 99.5, 100.0, 96.2, 98.8,
                               65.2, 94.1, 61.6, 90.2, 76.1, 94.4, 34.6, 61.4}, true},
       {"DINOv2-GeM", {63.7, 80.0, 83.6, 92.3, 89.5, 99.0, 88.4, 94.7, 89.0, 95.6,
                       kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone}, true},
       {"DINOv2-RIA", {64.7, 81.2, 86.7, 93.8, 97.5, 99.5, 98.4, 100.0, 97.2, 98.7,
                       66.7, 95.2, 65.2, 85.7, 84.5, 100.0, 41.8, 58.4}, true}}
      // clang-format on
  };
  return table;
}

const PaperTable& paper_backbones() {
  static const PaperTable table{
      "table 3",
      kViTg,
      both_recalls({"hawkins", "laurel_caverns", "nardo_air"}, 2),
      {{"MixVPR + RIA", {34.75, 65.25, 38.39, 70.54, 46.48, 52.11}, true},
       {"SALAD + RIA", {47.46, 88.14, 48.21, 81.25, 70.42, 76.06}, true},
       {"SelaVPR + RIA", {36.44, 77.12, 66.96, 91.07, 28.17, 92.96}, true}}};
  return table;
}

const PaperTable& paper_geometry() {
  static const PaperTable table{"table 4",
                                kViTg,
                                first_recalls({"pitts30k", "nardo_air"}),
                                {{"1st order: GeM", {83.6, 71.8}},
                                 {"Euclidean covariance", {82.2, 70.4}},
                                 {"log-Euclidean", {86.1, 63.4}},
                                 {"Newton-Schulz root (RIA)", {86.7, 76.1}}}};
  return table;
}

const PaperTable& paper_alpha() {
  static const PaperTable table{"table 5",
                                kViTg,
                                both_recalls({"pitts30k", "nardo_air"}),
                                {{"alpha = 1.0", {82.2, 92.6, 70.4, 100.0}},
                                 {"alpha = 0.75", {83.5, 93.2, 75.5, 100.0}},
                                 {"alpha = 0.5", {86.7, 93.8, 76.1, 100.0}},
                                 {"alpha = 0.25", {85.6, 93.7, 64.8, 98.6}},
                                 {"alpha = 0.1", {86.0, 93.8, 54.9, 97.2}},
                                 {"alpha -> 0 (log-Euclidean)", {86.1, 94.0, 63.4, 98.6}}}};
  return table;
}

const PaperTable& paper_stabilisation() {
  static const PaperTable table{"table 6",
                                kViTg,
                                first_recalls({"pitts30k", "nardo_air"}),
                                {{"base: no tau, no eps, exact", {85.8, 82.4}},
                                 {"+ tau 1e-6", {85.9, 82.4}},
                                 {"+ tau 1e-5", {86.1, 82.9}},
                                 {"+ eps 1e-6", {86.2, 83.1}},
                                 {"+ eps 1e-4", {85.3, 80.8}},
                                 {"Newton-Schulz, K = 3", {86.7, 84.5}}}};
  return table;
}

const PaperTable& paper_dimension() {
  static const PaperTable table{"table 7",
                                kViTg,
                                {{"pitts30k", 1}, {"nardo_air", 1}, {"speed-up", 0, 2}},
                                {{"d = 32, exact", {82.5, 70.5, 1.43}},
                                 {"d = 64, exact", {85.3, 80.8, 1.00}},
                                 {"d = 128, exact", {86.0, 83.5, 0.66}},
                                 {"d = 64, K = 1", {84.2, 78.6, 1.54}},
                                 {"d = 64, K = 3 (RIA)", {86.7, 84.5, 1.39}},
                                 {"d = 64, K = 5", {86.1, 83.0, 1.25}}}};
  return table;
}

const PaperTable& paper_ns_error() {
  static const PaperTable table{"table of approximation errors",
                                kViTg,
                                {{"pitts30k", 0, 6}, {"nardo_air", 0, 6}, {"hawkins", 0, 6}},
                                {{"K = 1", {0.506717, 0.507902, 0.510287}},
                                 {"K = 3", {0.280311, 0.282664, 0.294421}},
                                 {"K = 5", {0.082801, 0.079275, 0.095820}},
                                 {"K = 10", {0.000101, 0.000576, 0.000071}}}};
  return table;
}

const PaperTable& paper_seeds() {
  static const PaperTable table{
      "table of seeds",
      kViTg,
      first_recalls({"17places", "pitts30k", "gardens", "hawkins", "mid_atlantic"}, 2),
      {{"seed 0", {64.78, 86.53, 96.00, 50.85, 27.72}},
       {"seed 1", {63.30, 86.56, 96.00, 50.85, 25.74}},
       {"seed 10", {63.79, 86.41, 97.00, 45.76, 31.68}},
       {"seed 42", {63.55, 86.36, 97.00, 52.54, 31.68}},
       {"seed 101", {65.02, 85.87, 96.00, 50.00, 37.62}},
       {"seed 1001", {63.55, 85.74, 97.00, 46.61, 27.72}},
       {"seed 10001", {63.79, 84.79, 97.50, 52.54, 30.69}},
       {"seed 10002", {64.04, 86.71, 97.00, 47.46, 29.70}},
       {"seed 10010", {64.29, 85.09, 97.00, 48.31, 28.71}},
       {"seed 100001", {64.29, 86.05, 97.00, 43.22, 32.67}}}};
  return table;
}

const PaperTable& paper_projection() {
  static const PaperTable table{
      "table of projections",
      kViTg,
      first_recalls({"pitts30k", "nardo_air", "hawkins", "laurel_caverns"}, 2),
      {{"random orthogonal", {86.36, 90.14, 52.54, 48.21}},
       {"PCA of the database", {84.76, 81.69, 43.22, 47.32}},
       {"PCA of other pictures", {85.48, 63.38, 36.44, 33.93}}}};
  return table;
}

const PaperTable& paper_estimators() {
  static const PaperTable table{
      "table of estimators",
      kViTg,
      first_recalls({"pitts30k", "nardo_air", "hawkins", "laurel_caverns"}, 2),
      {{"sample covariance", {86.41, 90.14, 52.54, 49.11}},
       {"hard threshold (ReCov)", {86.36, 90.14, 52.54, 48.21}},
       {"Ledoit-Wolf", {86.41, 90.14, 52.54, 49.11}},
       {"OAS", {86.40, 90.14, 52.54, 49.11}}}};
  return table;
}

const PaperTable& paper_ft_components() {
  static const PaperTable table{"table of RIA-FT's components",
                                "dinov2-vitl14",
                                first_recalls({"pitts30k"}),
                                {{"training-free", {86.7}, true},
                                 {"+ backbone unfrozen", {89.3}, true},
                                 {"+ learnable projection", {90.8}, true},
                                 {"+ four heads", {92.0}, true},
                                 {"RIA-FT", {93.5}, true}}};
  return table;
}

const std::vector<PaperTable>& paper_tau_eps() {
  static const std::vector<PaperTable> grids{
      {"grid on pitts30k",
       kViTg,
       eps_columns("pitts30k"),
       {{"tau 0", {86.27, 86.19, 86.54, 86.28, 86.52, 85.68}},
        {"tau 1e-7", {86.19, 86.31, 86.24, 86.63, 86.58, 85.31}},
        {"tau 1e-6", {86.38, 86.44, 86.51, 86.63, 86.74, 85.46}},
        {"tau 1e-5", {86.47, 86.49, 86.52, 86.65, 86.81, 85.52}},
        {"tau 1e-4", {85.67, 85.67, 85.65, 85.64, 85.70, 84.18}},
        {"tau 1e-3", {68.23, 68.25, 68.27, 68.35, 68.52, 66.77}}}},
      {"grid on nardo_air",
       kViTg,
       eps_columns("nardo_air"),
       {{"tau 0", {90.11, 90.04, 90.38, 91.08, 91.05, 90.22}},
        {"tau 1e-7", {90.03, 90.17, 90.07, 90.52, 91.19, 89.63}},
        {"tau 1e-6", {90.24, 90.21, 90.61, 90.59, 91.33, 89.84}},
        {"tau 1e-5", {90.42, 90.48, 90.55, 90.84, 91.55, 90.07}},
        {"tau 1e-4", {60.56, 60.56, 60.56, 61.97, 69.01, 59.15}},
        {"tau 1e-3", {22.25, 22.28, 22.31, 22.42, 22.67, 18.31}}}}};
  return grids;
}

}  // namespace ria
