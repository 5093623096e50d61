// SPDX-License-Identifier: MIT
#include "ria/train.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/train_flags.h"

namespace ria::cli {

namespace {

namespace fs = std::filesystem;

struct Train {
  TrainingSource source;
  DatasetSource validation;
  TrainFlags flags;
  std::string out;
  bool restart = false;

  void run() const {
    const TrainOptions options = flags.options();
    TrainRun where = training_run(out, options.backbone);
    where.resume = !restart;
    where.workers = workers_of_environment();
    if (where.workers.rank != 0) where.progress = nullptr;
    const TrainingSet set = source.load();
    std::optional<Dataset> checked_on;
    if (validation.given()) checked_on = validation.load();
    if (where.workers.rank == 0) {
      print_remarks(set.remarks);
      if (checked_on) print_remarks(*checked_on);
      fmt::print("{}: {} places, {} pictures\n", set.name, set.places.size(), set.pictures.size());
      std::fflush(stdout);
    }
    const TrainResult result = train(set, checked_on, options, where);
    if (where.workers.rank != 0) return;
    std::size_t pictures = set.pictures.size();
    if (checked_on) pictures += checked_on->database.size() + checked_on->queries.size();
    report_failures(result.failures, pictures);
    fmt::print(
        "{} steps{}\n",
        result.steps,
        result.best_recall_at_1 ? fmt::format(", R@1: {:.1f}", *result.best_recall_at_1) : "");
    fmt::print(
        "model: {}\nreport: {}\n", result.model.string(), (fs::path(out) / "index.html").string());
  }
};

}  // namespace

void add_train(CLI::App& program) {
  auto state = std::make_shared<Train>();
  CLI::App* command = program.add_subcommand(
      "train", "Train RIA-FT: heads, projections and a network's last blocks (needs LibTorch)");
  state->source.add(*command, true);
  command->add_option("--out", state->out, "folder of the run; what it holds is gone on with")
      ->required()
      ->type_name("FOLDER");
  command->add_flag("--restart", state->restart, "begin anew whatever the folder holds");
  state->validation.add(*command, "val_");
  state->flags.add(*command);
  command->callback([state] { state->run(); });
}

}  // namespace ria::cli
