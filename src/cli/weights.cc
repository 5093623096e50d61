// SPDX-License-Identifier: MIT
#include "ria/weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "util/json.h"

namespace ria::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kFormats[] = "safetensors, torch archive or tfjs model.json";

std::vector<std::string> users_of(const std::string& weights) {
  std::vector<std::string> users;
  for (const Method& method : methods()) {
    if (method.weights == weights) users.push_back(method.name);
  }
  return users;
}

std::string state_line(const WeightsState& state) {
  return state.present ? "present: " + state.file.string() : state.explanation;
}

void print_source(const WeightSource& source) {
  const auto users = users_of(source.name);
  fmt::print(
      "{}\n  network   {}\n  source    {}\n", source.name, source.architecture, source.source);
  if (!source.url.empty()) fmt::print("  file      {}\n", source.url);
  if (source.bytes > 0) fmt::print("  size      {}\n", byte_count(source.bytes));
  fmt::print("  licence   {}\n", source.licence);
  if (!users.empty()) fmt::print("  used by   {}\n", fmt::join(users, ", "));
  fmt::print("  state     {}\n", state_line(weights_state(source.name)));
}

json source_json(const WeightSource& source) {
  const WeightsState state = weights_state(source.name);
  return {{"name", source.name},
          {"architecture", source.architecture},
          {"source", source.source},
          {"url", source.url},
          {"licence", source.licence},
          {"bytes", source.bytes},
          {"published_sha256", source.published_sha256},
          {"sha256", source.sha256},
          {"how_to_add", source.how_to_add},
          {"methods", users_of(source.name)},
          {"present", state.present},
          {"damaged", state.damaged},
          {"file", state.file.string()},
          {"explanation", state.explanation}};
}

void print_list(bool as_json) {
  std::vector<WeightSource> all = weight_sources();
  for (const std::string& name : other_cached_weights()) {
    WeightSource added;
    added.name = name;
    added.architecture = added.licence = "unknown";
    added.source = "added from a file";
    added.how_to_add = fmt::format("ria weights add FILE --name {}", name);
    all.push_back(added);
  }
  if (as_json) {
    json list = json::array();
    for (const WeightSource& source : all) list.push_back(source_json(source));
    fmt::print("{}\n", json_text(list, 2));
    return;
  }
  fmt::print("cache: {}\n\n", (cache_folder() / "weights").string());
  for (const WeightSource& source : all) print_source(source);
}

/// Tensors, values and bytes of each type.
struct Totals {
  std::uint64_t values = 0;
  std::map<std::string, std::uint64_t> bytes;

  explicit Totals(const WeightsInfo& info) {
    for (const TensorInfo& tensor : info.tensors) {
      std::uint64_t count = 1;
      for (const std::int64_t side : tensor.shape) count *= static_cast<std::uint64_t>(side);
      values += count;
      bytes[tensor.dtype] += tensor.bytes;
    }
  }
};

void print_info_json(const WeightsInfo& info) {
  json tensors = json::array();
  for (const TensorInfo& tensor : info.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"dtype", tensor.dtype},
                       {"shape", tensor.shape},
                       {"bytes", tensor.bytes}});
  }
  const Totals totals(info);
  const json all{{"file", info.file.string()},
                 {"architecture", info.architecture},
                 {"bytes", info.bytes},
                 {"sha256", info.sha256},
                 {"metadata", info.metadata},
                 {"parameters", totals.values},
                 {"bytes_by_dtype", totals.bytes},
                 {"tensors", tensors}};
  fmt::print("{}\n", json_text(all, 2));
}

void print_info(const std::string& file, bool as_json) {
  const WeightsInfo info = weights_info(file);
  if (as_json) return print_info_json(info);
  fmt::print("file          {}\narchitecture  {}\nbytes         {}\nsha256        {}\n",
             info.file.string(),
             info.architecture,
             info.bytes,
             info.sha256);
  for (const auto& [key, value] : info.metadata) fmt::print("{:<13} {}\n", key, value);
  const Totals totals(info);
  fmt::print("tensors       {}\nparameters    {}\n", info.tensors.size(), totals.values);
  for (const auto& [dtype, bytes] : totals.bytes) fmt::print("{:<13} {} bytes\n", dtype, bytes);
  for (const TensorInfo& tensor : info.tensors) {
    fmt::print("  {:<44} {:<5} {:>10}  [{}]\n",
               tensor.name,
               tensor.dtype,
               tensor.bytes,
               fmt::join(tensor.shape, ", "));
  }
}

void add_list(CLI::App& weights) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* list =
      weights.add_subcommand("list", "What each method needs, from where, and what is here");
  list->add_flag("--json", *as_json, "as JSON");
  list->callback([as_json] { print_list(*as_json); });
}

void add_get(CLI::App& weights) {
  auto name = std::make_shared<std::string>();
  auto keep = std::make_shared<std::string>();
  auto options = std::make_shared<DownloadOptions>();
  CLI::App* get = weights.add_subcommand(
      "get", "Download published weights and import them; a broken download goes on");
  get->add_option("name", *name, "a name of 'ria weights list'")->required()->type_name("NAME");
  get->add_option("--url", options->url, "another address of the file")->type_name("URL");
  get->add_option("--sha256", options->sha256, "what the file must hash to, or the first digits")
      ->type_name("HEX");
  get->add_option("--keep", *keep, "put the published file here and leave it")->type_name("FILE");
  get->add_option("--stall_seconds", options->stall_seconds, "give up a silent connection after")
      ->capture_default_str();
  get->add_option("--retries", options->retries, "attempts in a row that bring nothing new")
      ->capture_default_str();
  get->callback([name, keep, options] {
    options->keep = *keep;
    options->stop = stop_on_interrupt();
    options->progress = byte_progress_line("downloading " + *name);
    fmt::print("{}\n", get_weights(*name, *options).string());
  });
}

void add_info(CLI::App& weights) {
  auto file = std::make_shared<std::string>();
  auto as_json = std::make_shared<bool>(false);
  CLI::App* info = weights.add_subcommand("info", "Say what a weight file holds");
  info->add_option("file", *file, kFormats)->required()->type_name("FILE");
  info->add_flag("--json", *as_json, "as JSON");
  info->callback([file, as_json] { print_info(*file, *as_json); });
}

void add_add(CLI::App& weights) {
  auto file = std::make_shared<std::string>();
  auto name = std::make_shared<std::string>();
  CLI::App* add = weights.add_subcommand("add", "Import a weight file into the cache");
  add->add_option("file", *file, kFormats)->required()->type_name("FILE");
  add->add_option("--name", *name, "name in the cache; without it the inferred architecture");
  add->callback([file, name] {
    const std::string chosen = name->empty() ? weights_info(*file).architecture : *name;
    fmt::print("{}\n", ria::add_weights(*file, chosen).string());
  });
}

}  // namespace

void add_weights(CLI::App& program) {
  CLI::App* weights =
      program.add_subcommand("weights", "List, download, import and inspect weight files");
  weights->require_subcommand(1);
  for (const auto add : {add_list, add_get, add_add, add_info, add_weights_verify}) add(*weights);
}

}  // namespace ria::cli
