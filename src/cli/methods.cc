// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/flags.h"

namespace ria::cli {

namespace {

void print_methods(bool json) {
  if (!json) {
    fmt::print("{:<15} {:<10} {}\n", "method", "weights", "what it is");
    for (const Method& m : methods()) {
      fmt::print("{:<15} {:<10} {}\n{:27}{}\n",
                 m.name,
                 m.weights.empty() ? "-" : m.weights,
                 m.summary,
                 "",
                 m.paper);
    }
    return;
  }
  nlohmann::json list = nlohmann::json::array();
  for (const Method& m : methods()) {
    list.push_back({{"name", m.name},
                    {"backbone", m.backbone},
                    {"aggregator", m.aggregator},
                    {"summary", m.summary},
                    {"paper", m.paper},
                    {"weights", m.weights},
                    {"options", nlohmann::json::parse(options_json(m, {}))}});
  }
  fmt::print("{}\n", list.dump(2));
}

}  // namespace

void add_methods(CLI::App& program) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = program.add_subcommand("methods", "List the methods");
  command->add_flag("--json", *json, "as JSON, with every option's default");
  command->callback([json] { print_methods(*json); });
}

}  // namespace ria::cli
