// SPDX-License-Identifier: MIT
#include "ria/simulate.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/simulate_flags.h"

namespace ria::cli {

void SimulateFlags::add(CLI::App& command) {
  command.add_option("--places", options_.places, "pictures in each drive")->capture_default_str();
  command.add_option("--spacing", options_.spacing, "metres between places")->capture_default_str();
  command
      .add_option(
          "--lateral_offset", options_.lateral_offset, "metres the queries are moved sideways")
      ->capture_default_str();
  command
      .add_option(
          "--heading_offset", options_.heading_offset, "degrees the queries look aside, at most")
      ->capture_default_str();
  database_condition_ = to_string(options_.database_condition);
  query_condition_ = to_string(options_.query_condition);
  command.add_option("--database_condition", database_condition_, "day, night, rain or season")
      ->capture_default_str();
  command.add_option("--query_condition", query_condition_, "day, night, rain or season")
      ->capture_default_str();
  command.add_option("--height", options_.height, "pixels")->capture_default_str();
  command.add_option("--width", options_.width, "pixels")->capture_default_str();
}

SimulateOptions SimulateFlags::options(const RunOptions& run) const {
  SimulateOptions options = options_;
  options.database_condition = parse_condition(database_condition_);
  options.query_condition = parse_condition(query_condition_);
  options.num_threads = run.num_threads;
  options.progress = run.progress;
  options.stop = run.stop;
  options.validate();
  return options;
}

namespace {

struct Simulate {
  std::string folder;
  std::uint64_t seed = 42;
  int num_threads = 0;
  SimulateFlags flags;

  void run() const {
    SimulateOptions options = flags.options(run_options("rendering", num_threads));
    options.seed = seed;
    const SimulatedFolders made = simulate(folder, options);
    fmt::print("{}\n{}\n", made.database.string(), made.queries.string());
  }
};

}  // namespace

void add_simulate(CLI::App& program) {
  auto state = std::make_shared<Simulate>();
  CLI::App* command =
      program.add_subcommand("simulate", "Render two drives along a made-up street");
  command->add_option("folder", state->folder, "gets database/ and queries/")
      ->required()
      ->type_name("FOLDER");
  state->flags.add(*command);
  command->add_option("--seed", state->seed, "another seed, another street")->capture_default_str();
  command->add_option("--num_threads", state->num_threads, "threads; 0: all cores")
      ->capture_default_str();
  command->callback([state] { state->run(); });
}

}  // namespace ria::cli
