// SPDX-License-Identifier: MIT
#include "ria/study.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/dataset_flags.h"
#include "cli/flags.h"
#include "cli/train_flags.h"
#include "ria/report.h"
#include "ria/weights.h"
#include "util/files.h"

namespace ria::cli {

namespace {

namespace fs = std::filesystem;

void print_list() {
  for (const StudyInfo& study : studies()) {
    fmt::print(
        "{:<14} {:<30} {}\n{:45} {}\n", study.name, study.paper, study.title, "", study.what);
  }
}

std::string list_json() {
  nlohmann::json list = nlohmann::json::array();
  for (const StudyInfo& study : studies()) {
    list.push_back({{"name", study.name},
                    {"title", study.title},
                    {"paper", study.paper},
                    {"what", study.what}});
  }
  return list.dump(2) + "\n";
}

struct Study {
  std::string name, report, json, feature_cache = "default";
  DatasetSource source;
  StudyOptions options;
  std::string weights, precision = to_string(Precision::kFp32);
  int num_threads = 0;
  TrainingSource training;
  TrainOptions recipe;

  fs::path cache() const {
    if (feature_cache == "none") return {};
    return feature_cache == "default" ? cache_folder() / "features" : fs::path(feature_cache);
  }

  /// Every rung of ft-components that is not trained yet.
  void train_rungs() {
    if (!training.given()) return;
    if (name != "ft-components" || options.runs.empty()) {
      throw std::invalid_argument("--train_folder goes with ft-components and --runs");
    }
    recipe.backbone = options.backbone;
    recipe.network.weights = weights;
    recipe.num_threads = num_threads;
    recipe.ignore_orientation = options.method.ignore_orientation;
    recipe.validate();
    const TrainingSet set = training.load();
    print_remarks(set.remarks);
    for (const TrainRung& rung : train_ladder(recipe)) {
      const TrainRun run = training_run(options.runs / rung.folder, recipe.backbone);
      report_failures(train(set, std::nullopt, rung.options, run).failures, set.pictures.size());
    }
  }

  void run() {
    if (name == "list") return json.empty() ? print_list() : write_output(json, list_json());
    options.method.backbone.weights = weights;
    options.method.backbone.precision = parse_precision(precision);
    options.validate();
    if (!json.empty() && json != "-") check_writable(json);
    const bool known = std::any_of(studies().begin(), studies().end(), [&](const StudyInfo& study) {
      return study.name == name;
    });
    const Dataset dataset = known ? source.load() : Dataset{};
    print_remarks(dataset);
    train_rungs();
    if (!options.runs.empty()) options.method.backbone.weights.clear();  // each rung has its own
    options.evaluate.run = run_options("describing", num_threads);
    options.evaluate.run.feature_cache = cache();
    if (!report.empty()) check_report(report);
    options.folder = report.empty() ? cache_folder() / "studies" : fs::path(report);
    StudyResult result = run_study(name, dataset, options);
    result.command = command_line();
    report_failures(result.failures, dataset.queries.size() + dataset.database.size());
    fmt::print("{}", result.text());
    if (!json.empty()) write_output(json, to_json(result));
    if (report.empty()) return;
    write_study_report(report, result, dataset);
    fmt::print("report: {}\n", (fs::path(report) / "index.html").string());
  }
};

}  // namespace

void add_study(CLI::App& program) {
  auto state = std::make_shared<Study>();
  CLI::App* command =
      program.add_subcommand("study", "Repeat a table or figure of the paper on a dataset");
  command->add_option("name", state->name, "a study, or list: what there is")
      ->required()
      ->type_name("NAME|list");
  state->source.add(*command);
  const auto flag = [&](const char* flag_name, auto& field, const char* text) {
    return command->add_option(flag_name, field, text)->capture_default_str();
  };
  flag("--backbone", state->options.backbone, "of the studies that vary what is behind it");
  flag("--pictures", state->options.pictures, "drift, homography, ns-error: at most so many");
  command
      ->add_option("--other_pictures",
                   state->options.other_pictures,
                   "projection: folder of other pictures to fit PCA on")
      ->type_name("FOLDER");
  flag("--feature_cache",
       state->feature_cache,
       "folder that keeps patch features (half precision); default: in the cache folder; none")
      ->type_name("FOLDER");
  command
      ->add_option("--report", state->report, "write index.html, results.json, .csv and .tex here")
      ->type_name("FOLDER");
  command->add_option("--json", state->json, "write the results to this file; -: print them")
      ->type_name("FILE");
  command->add_option("--weights", state->weights, "weight file instead of the cached one")
      ->type_name("FILE");
  flag("--runs",
       state->options.runs,
       "ft-components: folder of the runs training_free, unfreeze, projection, heads and mlp")
      ->type_name("FOLDER");
  state->training.add(*command, false);
  const char* training = "Training (ft-components, with --train_folder)";
  flag("--epochs", state->recipe.epochs, "0: enough for 60 steps, 4 at least")->group(training);
  flag("--places_per_batch", state->recipe.places_per_batch, "places")->group(training);
  flag("--augment", state->recipe.augment, "standard, none or cached:N")->group(training);
  flag("--precision", state->precision, "fp32, int8 or bf16");
  add_ignore_orientation(*command, state->options.method.ignore_orientation);
  flag("--num_threads", state->num_threads, "threads; 0: all cores");
  command->callback([state] { state->run(); });
}

}  // namespace ria::cli
