// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/dataset_flags.h"
#include "cli/flags.h"
#include "ria/evaluate.h"
#include "ria/report.h"
#include "util/files.h"

namespace ria::cli {

namespace {

struct Eval {
  std::string dataset, data_folder, database_folder, queries_folder, json, report, feature_cache;
  DatasetFlags dataset_flags;
  std::vector<int> recall_values = {1, 5, 10, 20};
  MethodFlags method;

  Dataset load() const {
    const DatasetOptions& given = dataset_flags.options();
    given.validate();
    if (!dataset.empty() && data_folder.empty()) return load_json();
    if (!dataset.empty()) return load_dataset(dataset, data_folder, given);
    if (database_folder.empty() || queries_folder.empty()) {
      throw std::invalid_argument(
          "--dataset NAME --data_folder D, --dataset GT.json or --database_folder D "
          "--queries_folder Q was expected");
    }
    const double radius = given.positive_dist_threshold;
    return load_at_named(database_folder, queries_folder, radius > 0 ? radius : 25);
  }

  /// A file; a name was meant if there is none and it does not look like one.
  Dataset load_json() const {
    const std::filesystem::path file = dataset;
    if (file.extension() != ".json" && !std::filesystem::exists(file)) {
      throw std::invalid_argument(
          fmt::format("--dataset {} needs --data_folder", find_dataset(dataset).name));
    }
    if (dataset_flags.options().positive_dist_threshold > 0) {
      throw std::invalid_argument(fmt::format(
          "--positive_dist_threshold has no meaning for {}, which lists its positives", dataset));
    }
    return load_ground_truth(file);
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
    print_remarks(data);
    EvaluateOptions options;
    options.recall_values = recall_values;
    options.run = run_options("describing", method.num_threads());
    options.run.feature_cache = feature_cache;
    const auto evaluations = evaluate(data, methods, method_options, options);
    report_failures(evaluations[0].failures, data.queries.size() + data.database.size());
    fmt::print("{}: {} queries, {} places\n", data.name, data.queries.size(), data.database.size());
    for (const Evaluation& e : evaluations) fmt::print("{}: {}\n", e.method, e.line());
    if (!json.empty()) write_output(json, to_json(evaluations));
    if (report.empty()) return;
    ReportOptions page;
    page.title = fmt::format(
        "{}: {} queries, {} places", data.name, data.queries.size(), data.database.size());
    page.command = command_line();
    write_report(report, data, evaluations, page);
    fmt::print("report: {}\n", report);
  }
};

}  // namespace

void add_eval(CLI::App& program) {
  auto state = std::make_shared<Eval>();
  CLI::App* command =
      program.add_subcommand("eval", "Measure recall on a dataset with known answers");
  CLI::Option* dataset =
      command
          ->add_option(
              "--dataset", state->dataset, "a name of 'ria datasets', or a file of ground truth")
          ->type_name("NAME|GT.json");
  command
      ->add_option("--data_folder", state->data_folder, "the named dataset's folder, or its parent")
      ->type_name("FOLDER")
      ->needs(dataset);
  command
      ->add_option("--database_folder", state->database_folder, "known places, @east@north@ names")
      ->type_name("FOLDER")
      ->excludes(dataset);
  command->add_option("--queries_folder", state->queries_folder, "queries, @east@north@ names")
      ->type_name("FOLDER")
      ->excludes(dataset);
  state->dataset_flags.add_threshold(
      *command, "metres within which an answer is right; 0: 25, or as the dataset is published");
  state->dataset_flags.add(*command);
  command->add_option("--recall_values", state->recall_values, "the K of recall@K")
      ->capture_default_str();
  command->add_option("--json", state->json, "write the results to this file; -: print them")
      ->type_name("FILE");
  command
      ->add_option(
          "--report",
          state->report,
          "write index.html, results.json, .csv and table.tex to this folder, or one x.html")
      ->type_name("FOLDER|FILE.html");
  command
      ->add_option("--feature_cache",
                   state->feature_cache,
                   "folder that keeps patch features (half precision) for the next run")
      ->type_name("FOLDER");
  state->method.add(*command, true);
  command->callback([state] { state->run(); });
}

}  // namespace ria::cli
