// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/simulate_flags.h"
#include "ria/evaluate.h"
#include "ria/report.h"

namespace ria::cli {

namespace {

namespace fs = std::filesystem;

/// Rain: hard enough to tell the methods apart, easy enough to see the best of them succeed.
SimulateOptions rainy() {
  SimulateOptions options;
  options.query_condition = Condition::kRain;
  return options;
}

struct Demo {
  std::string out = "demo", backbone;
  std::uint32_t seed = 42;
  int num_threads = 0;
  SimulateFlags street{rainy()};

  std::vector<std::string> chosen_methods() const {
    if (backbone.empty()) return {"resnet50-ria", "resnet50-gem", "rootsift-ria"};
    std::vector<std::string> names;
    for (const char* aggregator : {"ria", "gem", "mean"}) {
      names.push_back(method_name("", backbone, aggregator, 0));
    }
    return names;
  }

  void run() const {
    const auto names = chosen_methods();
    MethodOptions options;
    options.ria.seed = seed;
    make_recognizers(names, options);  // missing weights are said before the pictures are made
    SimulateOptions simulation = street.options(run_options("rendering", num_threads));
    simulation.seed = seed;
    const SimulatedFolders folders = simulate(out, simulation);
    const Dataset dataset = load_at_named(folders.database, folders.queries);
    EvaluateOptions evaluation;
    evaluation.run = run_options("describing", num_threads);
    const auto results = evaluate(dataset, names, options, evaluation);
    ReportOptions report;
    report.title = fmt::format("ria demo: {} street places, {} against {}",
                               dataset.queries.size(),
                               to_string(simulation.query_condition),
                               to_string(simulation.database_condition));
    report.command = command_line();
    const fs::path page = fs::path(out) / "report.html";
    write_report(page, dataset, results, report);
    fmt::print("\n{}\nreport: {}\n", comparison_table(results), page.string());
  }
};

}  // namespace

void add_demo(CLI::App& program) {
  auto state = std::make_shared<Demo>();
  CLI::App* command =
      program.add_subcommand("demo", "Simulate two drives, compare methods, write a report");
  command->add_option("--out", state->out, "folder for pictures and report.html")
      ->capture_default_str()
      ->type_name("FOLDER");
  command
      ->add_option("--backbone",
                   state->backbone,
                   "compare this backbone's methods only (rootsift needs no weights)")
      ->type_name("NAME");
  state->street.add(*command);
  command->add_option("--seed", state->seed, "of the street and of the projection")
      ->capture_default_str();
  command->add_option("--num_threads", state->num_threads, "threads; 0: all cores")
      ->capture_default_str();
  command->callback([state] { state->run(); });
}

}  // namespace ria::cli
