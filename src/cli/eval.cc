// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/flags.h"
#include "ria/evaluate.h"
#include "util/files.h"

namespace ria::cli {

namespace {

struct Eval {
  std::string dataset, database_folder, queries_folder, json;
  double positive_dist_threshold = 25;
  std::vector<int> recall_values = {1, 5, 10, 20};
  MethodFlags method;

  Dataset load() const {
    if (!dataset.empty()) return load_ground_truth(dataset);
    if (database_folder.empty() || queries_folder.empty()) {
      throw std::invalid_argument(
          "--dataset GT.json or --database_folder D --queries_folder Q was expected");
    }
    return load_at_named(database_folder, queries_folder, positive_dist_threshold);
  }

  void run() const {
    for (const int k : recall_values) {
      if (k < 1)
        throw std::invalid_argument(
            fmt::format("--recall_values has {}, at least 1 was expected", k));
    }
    const std::vector<std::string> methods = method.methods();
    const MethodOptions method_options = method.options();
    if (!json.empty() && json != "-") check_writable(json);
    const Dataset data = load();
    EvaluateOptions options;
    options.recall_values = recall_values;
    options.run = run_options("describing", method.num_threads());
    const auto evaluations = evaluate(data, methods, method_options, options);
    report_failures(evaluations[0].failures, data.queries.size() + data.database.size());
    fmt::print("{}: {} queries, {} places\n", data.name, data.queries.size(), data.database.size());
    for (const Evaluation& e : evaluations) fmt::print("{}: {}\n", e.method, e.line());
    if (!json.empty()) write_output(json, to_json(evaluations));
  }
};

}  // namespace

void add_eval(CLI::App& program) {
  auto state = std::make_shared<Eval>();
  CLI::App* command =
      program.add_subcommand("eval", "Measure recall on a dataset with known answers");
  CLI::Option* dataset =
      command->add_option("--dataset", state->dataset, "ground truth: queries, database, positives")
          ->type_name("GT.json");
  command
      ->add_option("--database_folder", state->database_folder, "known places, @east@north@ names")
      ->type_name("FOLDER")
      ->excludes(dataset);
  command->add_option("--queries_folder", state->queries_folder, "queries, @east@north@ names")
      ->type_name("FOLDER")
      ->excludes(dataset);
  command
      ->add_option("--positive_dist_threshold",
                   state->positive_dist_threshold,
                   "metres within which an answer is right")
      ->capture_default_str()
      ->excludes(dataset);
  command->add_option("--recall_values", state->recall_values, "the K of recall@K")
      ->capture_default_str();
  command->add_option("--json", state->json, "write the results to this file; -: print them")
      ->type_name("FILE");
  state->method.add(*command, true);
  command->callback([state] { state->run(); });
}

}  // namespace ria::cli
