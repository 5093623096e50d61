// SPDX-License-Identifier: MIT
#include "train/run_config.h"

#include <fmt/format.h>

#include <stdexcept>

#include "ria/version.h"
#include "train/option_json.h"
#include "util/hash.h"

namespace ria {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// Names, not folders: a set may be moved.
void add_names(const std::vector<fs::path>& files, std::string& text) {
  for (const fs::path& file : files) text += file.filename().string() + "\n";
}

ordered_json set_json(const TrainingSet& set) {
  std::string text;
  add_names(set.pictures, text);
  for (const TrainingSet::Place& place : set.places) {
    text += fmt::format("{}:", place.group);
    for (const int picture : place.pictures) text += fmt::format(" {}", picture);
    text += "\n";
  }
  return {{"train_set", set.name},
          {"train_pictures", set.pictures.size()},
          {"train_places", set.places.size()},
          {"train_groups", set.groups.size()},
          {"train_sha256", sha256_text(text)}};
}

ordered_json validation_json(const std::optional<Dataset>& validation) {
  if (!validation) return {{"val_set", "none"}};
  std::string text;
  add_names(validation->database, text);
  add_names(validation->queries, text);
  return {{"val_set", validation->name},
          {"val_queries", validation->queries.size()},
          {"val_database", validation->database.size()},
          {"val_sha256", sha256_text(text)}};
}

}  // namespace

ordered_json run_config(const TrainingSet& set,
                        const std::optional<Dataset>& validation,
                        const TrainOptions& options,
                        const RunFacts& facts,
                        int workers) {
  return {{"ria_version", RIA_VERSION},
          {"libtorch", facts.libtorch},
          {"workers", workers},
          {"options", train_options_json(options)},
          {"set", set_json(set)},
          {"validation", validation_json(validation)},
          {"weights_sha256", facts.weights_sha256},
          {"run_epochs", facts.epochs},
          {"run_steps", facts.steps},
          {"dim", facts.dim},
          {"trained_parameters", facts.trained_parameters}};
}

void check_same_run(const fs::path& checkpoint,
                    const ordered_json& made_with,
                    const ordered_json& asked_for) {
  const auto difference = first_difference(made_with, asked_for);
  if (!difference) return;
  throw std::invalid_argument(fmt::format(
      "{} was made with {} {}, {} is asked for: the same options go on with it, another "
      "folder or a restart begins anew",
      checkpoint.string(),
      difference->name,
      difference->first,
      difference->second));
}

void check_same_workers(const std::vector<std::string>& configs) {
  const ordered_json first = ordered_json::parse(configs.at(0));
  for (std::size_t rank = 1; rank < configs.size(); ++rank) {
    const auto difference = first_difference(ordered_json::parse(configs[rank]), first);
    if (!difference) continue;
    throw std::invalid_argument(
        fmt::format("rank {} has {} {}, rank 0 {}: all workers need the same",
                    rank,
                    difference->name,
                    difference->first,
                    difference->second));
  }
}

}  // namespace ria
