// SPDX-License-Identifier: MIT
// gt.json: names of pictures and lists of positives.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "dataset/forms.h"
#include "util/files.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> read_paths(const nlohmann::json& list, const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : list) paths.push_back(folder / entry.get<std::string>());
  return paths;
}

Dataset parse_ground_truth(const nlohmann::json& json, const fs::path& file) {
  Dataset dataset;
  dataset.database = read_paths(json.at("database"), file.parent_path());
  dataset.queries = read_paths(json.at("queries"), file.parent_path());
  dataset.positives = json.at("positives").get<std::vector<std::vector<int>>>();
  dataset.name = file.parent_path().filename().string();
  if (file.stem() != "gt") dataset.name += "/" + file.stem().string();
  return dataset;
}

}  // namespace

Dataset load_ground_truth(const fs::path& file) {
  Dataset dataset;
  try {
    dataset = parse_ground_truth(nlohmann::json::parse(read_text(file)), fs::absolute(file));
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error(
        fmt::format("{}: a JSON object with the lists queries, database and positives was expected",
                    file.string()));
  }
  if (dataset.queries.empty() || dataset.database.empty()) {
    throw std::runtime_error(fmt::format("{}: no pictures are listed", file.string()));
  }
  if (dataset.positives.size() != dataset.queries.size()) {
    throw std::runtime_error(fmt::format("{}: {} queries, {} lists of positives",
                                         file.string(),
                                         dataset.queries.size(),
                                         dataset.positives.size()));
  }
  for (std::vector<int>& positives : dataset.positives) {
    std::sort(positives.begin(), positives.end());
    if (!positives.empty() &&
        (positives[0] < 0 || positives.back() >= static_cast<int>(dataset.database.size()))) {
      throw std::runtime_error(fmt::format("{}: a positive points past the {} database pictures",
                                           file.string(),
                                           dataset.database.size()));
    }
  }
  return dataset;
}

Form json_form() {
  return {
      "gt.json with the lists queries, database (paths beside it) and positives",
      [](const Loading& loading) { return not_there(loading, {"gt.json"}); },
      [](Loading& loading) {
        Dataset& data = loading.dataset;
        data = load_ground_truth(loading.folder / "gt.json");
        for (const auto* files : {&data.database, &data.queries}) {
          for (const fs::path& file : *files) {
            if (!fs::exists(file)) loading.missing_pictures.push_back(file);
          }
        }
        if (!loading.missing_pictures.empty()) {
          loading.problems.push_back(fmt::format("{} listed pictures are missing, the first is {}",
                                                 loading.missing_pictures.size(),
                                                 loading.missing_pictures[0].string()));
        }
      }};
}

}  // namespace ria
