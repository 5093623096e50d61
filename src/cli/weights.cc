// SPDX-License-Identifier: MIT
#include "ria/weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/commands.h"
#include "cli/flags.h"

namespace ria::cli {

namespace {

namespace fs = std::filesystem;

void print_list() {
  fmt::print("cache: {}\n\n", (cache_folder() / "weights").string());
  for (const WeightSource& source : weight_sources()) {
    std::string state;
    try {
      state = "present: " + cached_weights(source.name).string();
    } catch (const std::runtime_error& error) {
      state = error.what();
    }
    std::vector<std::string> users;
    for (const Method& method : methods()) {
      if (method.weights == source.name) users.push_back(method.name);
    }
    fmt::print(
        "{}\n  network   {}\n  source    {}\n  licence   {}\n  used by   {}\n  state     {}\n",
        source.name,
        source.architecture,
        source.source,
        source.licence,
        fmt::join(users, ", "),
        state);
  }
}

void print_info(const std::string& file) {
  const WeightsInfo info = weights_info(file);
  fmt::print("file          {}\narchitecture  {}\nbytes         {}\nsha256        {}\n",
             info.file.string(),
             info.architecture,
             info.bytes,
             info.sha256);
  for (const auto& [key, value] : info.metadata) fmt::print("{:<13} {}\n", key, value);
  fmt::print("tensors       {}\n", info.tensors.size());
  for (const TensorInfo& tensor : info.tensors) {
    fmt::print("  {:<44} {:<5} [{}]\n", tensor.name, tensor.dtype, fmt::join(tensor.shape, ", "));
  }
}

}  // namespace

void add_weights(CLI::App& program) {
  CLI::App* command = program.add_subcommand("weights", "List, inspect and import weight files");
  command->require_subcommand(1);
  command->add_subcommand("list", "What each method needs, from where, and what is here")
      ->callback(print_list);

  auto file = std::make_shared<std::string>();
  CLI::App* info = command->add_subcommand("info", "Say what a weight file holds");
  info->add_option("file", *file, "safetensors, torch archive or tfjs model.json")
      ->required()
      ->type_name("FILE");
  info->callback([file] { print_info(*file); });

  auto name = std::make_shared<std::string>();
  CLI::App* add = command->add_subcommand("add", "Import a weight file into the cache");
  add->add_option("file", *file, "safetensors, torch archive or tfjs model.json")
      ->required()
      ->type_name("FILE");
  add->add_option("--name", *name, "name in the cache; without it the inferred architecture");
  add->callback([file, name] {
    const std::string chosen = name->empty() ? weights_info(*file).architecture : *name;
    fmt::print("{}\n", ria::add_weights(*file, chosen).string());
  });
}

}  // namespace ria::cli
