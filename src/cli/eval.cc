// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/dataset_flags.h"
#include "cli/eval_outputs.h"
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
  std::optional<int> num_workers;
  int batch_size = 0;
  std::string device = "cpu";
  EvalOutputs outputs;

  void check() const {
    if (device != "cpu") {
      throw std::invalid_argument(
          fmt::format("--device {}: ria computes on the CPU, cpu was expected", device));
    }
    if (!report.empty() && !source.labelled()) {
      throw std::invalid_argument("--report has no meaning with --no_labels");
    }
    for (const int k : recall_values) {
      if (k < 1)
        throw std::invalid_argument(
            fmt::format("--recall_values has {}, at least 1 was expected", k));
    }
  }

  void run() {
    check();
    const std::vector<std::string> methods = method.methods();
    const MethodOptions method_options = method.options();
    if (!json.empty() && json != "-") check_writable(json);
    const Dataset data = source.load();
    if (!report.empty()) check_report(report);
    print_remarks(data);
    EvaluateOptions options;
    options.recall_values = recall_values;
    options.run = run_options("describing", num_workers.value_or(method.num_threads()));
    options.run.feature_cache = feature_cache;
    outputs.prepare(methods, source.labelled(), options);
    const auto evaluations = evaluate(data, methods, method_options, options);
    report_failures(evaluations[0].failures, data.queries.size() + data.database.size());
    fmt::print("{}: {} queries, {} places\n", data.name, data.queries.size(), data.database.size());
    for (const Evaluation& e : evaluations) {
      fmt::print("{}: {}\n", e.method, source.labelled() ? e.line() : "no recall without labels");
    }
    outputs.write(data, evaluations, options);
    if (!json.empty()) write_output(json, to_json(evaluations));
    if (!report.empty()) write_page(data, evaluations);
  }

  void write_page(const Dataset& data, const std::vector<Evaluation>& evaluations) const {
    ReportOptions page;
    page.title = fmt::format(
        "{}: {} queries, {} places", data.name, data.queries.size(), data.database.size());
    page.command = command_line();
    write_report(report, data, evaluations, page);
    fmt::print("report: {}\n", report);
  }
};

/// Flags that scripts written for VPR-methods-evaluation give.
void add_compatibility(CLI::App& command, Eval& state) {
  const std::string group = "As VPR-methods-evaluation has them";
  command.add_option("--num_workers", state.num_workers, "the same as --num_threads")
      ->excludes(command.get_option("--num_threads"))
      ->group(group);
  command
      .add_option("--batch_size", state.batch_size, "accepted and ignored: ria needs no batches")
      ->group(group);
  command.add_option("--device", state.device, "cpu; there is no other")
      ->capture_default_str()
      ->group(group);
}

}  // namespace

void add_eval(CLI::App& program) {
  auto state = std::make_shared<Eval>();
  CLI::App* command =
      program.add_subcommand("eval", "Measure recall on a dataset with known answers");
  state->source.add(*command);
  state->source.add_no_labels(*command);
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
  state->outputs.add(*command);
  state->method.add(*command, true);
  add_compatibility(*command, *state);
  command->callback([state] { state->run(); });
}

}  // namespace ria::cli
