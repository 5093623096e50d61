// SPDX-License-Identifier: MIT
// Methods evaluated a few at a time; what is finished is kept, so that a killed study goes on.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

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

/// Everything that decides a cell's figures.
std::string cell_key(const std::string& method, const Dataset& dataset, const StudyOptions& o) {
  const MethodChoice choice = choose_method(method, o.method);
  std::string text = fmt::format("{} {} {} {}",
                                 RIA_VERSION,
                                 method,
                                 options_json(*choice.method, choice.options),
                                 dataset.name);
  const std::string weights = choice.options.backbone.weights;
  if (!weights.empty()) text += file_sha256(weights);
  for (const int k : o.evaluate.recall_values) text += fmt::format(" {}", k);
  for (const auto* pictures : {&dataset.database, &dataset.queries}) {
    for (const fs::path& picture : *pictures) {
      std::error_code ignored;
      text += fmt::format("\n{} {}", picture.string(), fs::file_size(picture, ignored));
    }
  }
  for (const auto& positives : dataset.positives) {
    for (const int place : positives) text += fmt::format(" {}", place);
  }
  return sha256_text(text).substr(0, 24);
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

/// What keeps a method from running here; empty: nothing.
std::string missing_weights(const std::string& method, const StudyOptions& options) {
  const MethodChoice choice = choose_method(method, options.method);
  if (!choice.options.backbone.weights.empty()) return "";
  for (const std::string& name :
       {choice.method->weights,
        needs_vocabulary(*choice.method)
            ? resolve_options(*choice.method, choice.options).vlad.vocabulary
            : std::string()}) {
    if (name.empty() || name == "database" || fs::exists(name)) continue;
    const WeightsState state = weights_state(name);
    if (!state.present) return state.explanation;
  }
  return "";
}

class Cells {
 public:
  Cells(const Dataset& dataset, const StudyOptions& options)
      : dataset_(dataset), options_(options) {
    if (!options.folder.empty()) fs::create_directories(options.folder / "cells");
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
  fs::path file_of(const std::string& method) const {
    return options_.folder / "cells" / (cell_key(method, dataset_, options_) + ".json");
  }

  const Dataset& dataset_;
  const StudyOptions& options_;
};

}  // namespace

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
