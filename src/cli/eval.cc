// SPDX-License-Identifier: MIT
#include <fmt/format.h>

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
  std::string json, report, feature_cache;
  DatasetSource source;
  std::vector<int> recall_values = {1, 5, 10, 20};
  MethodFlags method;

  void run() const {
    for (const int k : recall_values) {
      if (k < 1)
        throw std::invalid_argument(
            fmt::format("--recall_values has {}, at least 1 was expected", k));
    }
    const std::vector<std::string> methods = method.methods();
    const MethodOptions method_options = method.options();
    if (!json.empty() && json != "-") check_writable(json);
    const Dataset data = source.load();
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
  state->source.add(*command);
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
