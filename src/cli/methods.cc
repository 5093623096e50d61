// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "ria/check.h"
#include "ria/weights.h"

namespace ria::cli {

namespace {

using nlohmann::json;

std::string licence_of(const Method& method) {
  for (const WeightSource& source : weight_sources()) {
    if (source.name == method.weights) return source.licence;
  }
  return "";
}

void print_table() {
  std::size_t width = 6, weights_width = 7;
  for (const Method& m : methods()) {
    width = std::max(width, m.name.size());
    weights_width = std::max(weights_width, m.weights.size());
  }
  fmt::print("{:<{}}  {:>6}  {:<{}}  {:<12}  {}\n",
             "method",
             width,
             "dim",
             "weights",
             weights_width,
             "licence",
             "what it is (paper)");
  for (const Method& m : methods()) {
    fmt::print("{:<{}}  {:>6}  {:<{}}  {:<12}  {} ({})\n",
               m.name,
               width,
               m.dim,
               m.weights.empty() ? "-" : m.weights,
               weights_width,
               m.weights.empty() ? "-" : licence_of(m),
               m.summary,
               m.paper);
  }
  fmt::print(
      "\nAny other pairing: --backbone B --aggregator A, or BACKBONE-AGGREGATOR\n"
      "  backbones    {}\n  aggregators  ria, riax, gem, mean, vlad, netvlad\n"
      "Where the weights come from: ria weights list\n",
      fmt::join(backbone_names(), ", "));
}

void print_json() {
  json list = json::array();
  for (const Method& m : methods()) {
    list.push_back({{"name", m.name},
                    {"backbone", m.backbone},
                    {"aggregator", m.aggregator},
                    {"dim", m.dim},
                    {"summary", m.summary},
                    {"paper", m.paper},
                    {"weights", m.weights},
                    {"licence", licence_of(m)},
                    {"options", json::parse(options_json(m, {}))}});
  }
  fmt::print("{}\n", list.dump(2));
}

std::string verdict(const MethodCheck& check) {
  if (!check.error.empty()) return check.error;
  if (check.dim != check.expected_dim) return fmt::format("{} dims expected", check.expected_dim);
  if (!check.finite) return "NaN or infinity";
  if (!check.same_bits) return "other bits the second time";
  return check.good() ? "good" : fmt::format("length {}", check.norm);
}

void check(const std::vector<std::string>& names) {
  CheckOptions options;
  options.stop = stop_on_interrupt();
  options.progress = [](const MethodCheck& one) {
    fmt::print("{:<29} {:>6} dims  backbone {:>7.1f} ms  aggregator {:>6.2f} ms  {}\n",
               one.method,
               one.dim,
               1e3 * one.backbone_seconds,
               1e3 * one.aggregate_seconds,
               verdict(one));
    std::fflush(stdout);
  };
  const auto checks = check_methods(names, options);
  const std::size_t asked = names.empty() ? methods().size() : names.size();
  if (checks.size() < asked) {
    throw CommandInterrupted(
        fmt::format("interrupted after {} of {} methods", checks.size(), asked));
  }
  const auto bad =
      std::count_if(checks.begin(), checks.end(), [](const auto& one) { return !one.good(); });
  fmt::print("{} of {} methods are good\n", checks.size() - bad, checks.size());
  if (bad > 0) throw std::runtime_error(fmt::format("{} methods failed their check", bad));
}

struct Methods {
  bool json = false, check = false;
  std::vector<std::string> names;
};

}  // namespace

void add_methods(CLI::App& program) {
  auto state = std::make_shared<Methods>();
  CLI::App* command = program.add_subcommand("methods", "List the methods, or check that they run");
  CLI::Option* as_json =
      command->add_flag("--json", state->json, "as JSON, with every option's default");
  CLI::Option* checked =
      command
          ->add_flag("--check",
                     state->check,
                     "run each with made-up weights: right dimension, length one, finite, same "
                     "bits twice (a giant takes 5 GB of memory)")
          ->excludes(as_json);
  command->add_option("names", state->names, "check only these")->needs(checked)->type_name("NAME");
  command->callback([state] {
    if (state->check) return check(state->names);
    state->json ? print_json() : print_table();
  });
}

}  // namespace ria::cli
