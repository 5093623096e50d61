// SPDX-License-Identifier: MIT
// Methods evaluated a few at a time; what is finished is kept, so that a killed study goes on.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "pipeline/journal.h"
#include "ria/version.h"
#include "ria/weights.h"
#include "study/study.h"
#include "util/files.h"
#include "util/hash.h"
#include "util/json.h"

namespace ria {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// What a study's cells have in common: the pictures, the right answers and what is asked of them.
std::string dataset_key(const Dataset& dataset, const std::vector<int>& recall_values) {
  std::string text = fmt::format("cells {} {}", RIA_VERSION, dataset.name);
  for (const int k : recall_values) text += fmt::format(" {}", k);
  for (const auto& positives : dataset.positives) {
    text += '\n';
    for (const int place : positives) text += fmt::format(" {}", place);
  }
  std::vector<fs::path> pictures = dataset.database;
  pictures.insert(pictures.end(), dataset.queries.begin(), dataset.queries.end());
  return run_fingerprint(std::move(text), pictures);
}

/// Weights and vocabulary that a method reads: names of cached files, or files. Those of the
/// dataset itself are none.
std::vector<std::string> files_read(const MethodChoice& choice) {
  std::vector<std::string> names;
  const std::string& given = choice.options.backbone.weights;
  names.push_back(given.empty() ? choice.method->weights : given);
  if (needs_vocabulary(*choice.method)) {
    names.push_back(resolve_options(*choice.method, choice.options).vlad.vocabulary);
  }
  std::erase_if(names, [](const std::string& name) { return name.empty() || name == "database"; });
  return names;
}

/// The file that is read for a name; a name with a folder is that file.
WeightsState state_of(const std::string& name) {
  const fs::path file = name;
  if (!fs::exists(file) && !file.has_parent_path()) return weights_state(name);
  WeightsState state;
  state.file = file;
  state.present = fs::exists(file);
  if (!state.present) state.explanation = name + " is missing";
  return state;
}

json cell_json(const Evaluation& e) {
  json cell = json::parse(to_json({e}))[0];
  json predictions = json::array();
  for (const auto& matches : e.predictions) {
    json list = json::array();
    for (const Match& match : matches) list.push_back({match.place, match.score});
    predictions.push_back(std::move(list));
  }
  cell["predictions"] = std::move(predictions);
  return cell;
}

/// The inverse of cell_json(); what follows from the predictions is computed again.
Evaluation parse_cell(const json& cell, const Dataset& dataset, const std::vector<int>& ks) {
  Evaluation e;
  e.method = cell.at("method").get<std::string>();
  e.dataset = dataset.name;
  e.queries = static_cast<int>(dataset.queries.size());
  e.database = static_cast<int>(dataset.database.size());
  e.dim = cell.at("dim").get<int>();
  e.local_bytes = cell.at("local_bytes").get<std::int64_t>();
  e.seconds = cell.at("seconds").get<std::map<std::string, double>>();
  e.options = cell.at("options").dump();
  e.weights_sha256 = cell.at("weights_sha256").get<std::string>();
  e.seed = cell.at("seed").get<std::uint32_t>();
  e.open_set_threshold = cell.at("open_set_threshold").get<double>();
  for (const json& list : cell.at("predictions")) {
    e.predictions.emplace_back();
    for (const json& match : list) {
      e.predictions.back().push_back({match.at(0).get<int>(), match.at(1).get<float>()});
    }
  }
  for (const json& failure : cell.at("failures")) {
    e.failures.push_back({-1, failure.at("file").get<std::string>(), failure.at("reason")});
  }
  judge(dataset, ks, e);
  return e;
}

class Cells {
 public:
  Cells(const Dataset& dataset, const StudyOptions& options)
      : dataset_(dataset), options_(options) {
    if (options.folder.empty()) return;
    fs::create_directories(options.folder / "cells");
    dataset_key_ = dataset_key(dataset, options.evaluate.recall_values);
  }

  std::optional<Evaluation> find(const std::string& method) const {
    if (options_.folder.empty() || !fs::exists(file_of(method))) return std::nullopt;
    try {
      return parse_cell(
          json::parse(read_text(file_of(method))), dataset_, options_.evaluate.recall_values);
    } catch (const std::exception&) {
      return std::nullopt;  // damaged: it is made again
    }
  }

  void keep(const Evaluation& e) const {
    if (!options_.folder.empty()) write_text(file_of(e.method), json_text(cell_json(e)));
  }

 private:
  /// Named by everything that decides the cell's figures.
  fs::path file_of(const std::string& method) const {
    const MethodChoice choice = choose_method(method, options_.method);
    std::string text =
        fmt::format("{} {} {}", dataset_key_, method, options_json(*choice.method, choice.options));
    for (const std::string& name : files_read(choice)) {
      const fs::path file = state_of(name).file;
      if (fs::exists(file)) text += " " + file_sha256(file);
    }
    return options_.folder / "cells" / (sha256_text(text).substr(0, 24) + ".json");
  }

  const Dataset& dataset_;
  const StudyOptions& options_;
  std::string dataset_key_;
};

}  // namespace

std::string missing_weights(const std::string& method, const StudyOptions& options) {
  for (const std::string& name : files_read(choose_method(method, options.method))) {
    const WeightsState state = state_of(name);
    if (!state.present) return state.explanation;
  }
  return "";
}

std::vector<Evaluation> evaluate_cells(const std::vector<std::string>& methods,
                                       const Dataset& dataset,
                                       const StudyOptions& options,
                                       std::vector<std::string>& notes) {
  constexpr std::size_t kTogether = 9;  // share their features; so many are lost if it is killed
  const Cells cells(dataset, options);
  std::vector<Evaluation> all(methods.size());
  std::vector<std::size_t> todo;
  for (std::size_t m = 0; m < methods.size(); ++m) {
    all[m].method = methods[m];
    if (auto found = cells.find(methods[m])) {
      all[m] = std::move(*found);
    } else if (const std::string why = missing_weights(methods[m], options); !why.empty()) {
      notes.push_back(fmt::format("{} was left out: {}", methods[m], why));
    } else {
      todo.push_back(m);
    }
  }
  for (std::size_t first = 0; first < todo.size(); first += kTogether) {
    const std::size_t end = std::min(todo.size(), first + kTogether);
    std::vector<std::string> names;
    for (std::size_t i = first; i < end; ++i) names.push_back(methods[todo[i]]);
    auto made = evaluate(dataset, names, options.method, options.evaluate);
    for (std::size_t i = first; i < end; ++i) {
      cells.keep(made[i - first]);
      all[todo[i]] = std::move(made[i - first]);
    }
  }
  return all;
}

}  // namespace ria
