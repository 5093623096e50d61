// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cli/commands.h"
#include "cli/dataset_flags.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "ria/dataset.h"
#include "util/json.h"

namespace ria::cli {

namespace {

using nlohmann::json;

/// "test/queries_v1", "val" or nothing.
std::string part_name(const DatasetPart& part) {
  if (part.query_set.empty()) return part.split;
  return part.split.empty() ? part.query_set : part.split + "/" + part.query_set;
}

std::string count(int pictures) { return pictures > 0 ? std::to_string(pictures) : "any"; }

json info_json(const DatasetInfo& info) {
  json parts = json::array();
  for (const DatasetPart& part : info.parts) {
    parts.push_back({{"split", part.split},
                     {"query_set", part.query_set},
                     {"database", part.database},
                     {"queries", part.queries}});
  }
  return {{"name", info.name},
          {"title", info.title},
          {"tests", info.tests},
          {"source", info.source},
          {"folders", info.folders},
          {"layouts", info.layouts},
          {"positives", info.positives},
          {"parts", parts},
          {"positive_dist_threshold", info.positive_dist_threshold},
          {"frame_tolerance", info.frame_tolerance},
          {"height", info.height},
          {"width", info.width}};
}

void print_list(bool as_json) {
  if (as_json) {
    json list = json::array();
    for (const DatasetInfo& info : datasets()) list.push_back(info_json(info));
    fmt::print("{}\n", json_text(list, 2));
    return;
  }
  fmt::print("{:<16} {:>8} {:>8}  {}\n", "dataset", "places", "queries", "what it tests");
  for (const DatasetInfo& info : datasets()) {
    const DatasetPart& part = info.parts.front();
    fmt::print("{:<16} {:>8} {:>8}  {}\n{:35}from    {}\n",
               info.name,
               count(part.database),
               count(part.queries),
               info.tests,
               "",
               info.source);
    for (const std::string& layout : info.layouts) {
      fmt::print("{:35}layout  {}{}\n",
                 "",
                 info.folders.empty() ? "" : info.folders.front() + "/ with ",
                 layout);
    }
  }
}

void print_info(const DatasetInfo& info, bool as_json) {
  if (as_json) {
    fmt::print("{}\n", json_text(info_json(info), 2));
    return;
  }
  fmt::print(
      "{}: {}\n  tests      {}\n  from       {}\n", info.name, info.title, info.tests, info.source);
  if (!info.folders.empty()) fmt::print("  folder     {}\n", fmt::join(info.folders, ", "));
  for (const std::string& layout : info.layouts) fmt::print("  layout     {}\n", layout);
  fmt::print("  positives  {}\n", info.positives);
  for (const DatasetPart& part : info.parts) {
    fmt::print("  {:<10} {} places, {} queries\n",
               part_name(part).empty() ? "size" : part_name(part),
               count(part.database),
               count(part.queries));
  }
  if (info.height > 0) {
    fmt::print("  protocol   pictures resized to height {}, width {}\n", info.height, info.width);
  }
}

json check_json(const DatasetCheck& check) {
  json duplicates = json::array();
  for (const auto& group : check.duplicates) {
    json files = json::array();
    for (const auto& file : group) files.push_back(file.string());
    duplicates.push_back(files);
  }
  return {{"name", check.name},
          {"folder", check.folder.string()},
          {"usable", check.usable},
          {"clean", check.clean()},
          {"database", check.database},
          {"queries", check.queries},
          {"missing", check.missing},
          {"problems", check.problems},
          {"notes", check.notes},
          {"unreadable", check.unreadable},
          {"duplicates", duplicates}};
}

void print_check(const DatasetCheck& check) {
  fmt::print("{} in {}\n", check.name, check.folder.string());
  if (check.usable) fmt::print("places      {}\nqueries     {}\n", check.database, check.queries);
  const auto lines = [](const char* label, const std::vector<std::string>& all) {
    for (const std::string& line : all) fmt::print("{:<11} {}\n", label, line);
  };
  lines("missing", check.missing);
  lines("problem", check.problems);
  lines("unreadable", check.unreadable);
  for (const auto& group : check.duplicates) {
    std::vector<std::string> names;
    for (const auto& file : group) names.push_back(file.string());
    fmt::print("{:<11} {}\n", "duplicate", fmt::join(names, " = "));
  }
  lines("note", check.notes);
  if (check.clean()) fmt::print("clean\n");
}

/// "usable, but 1 missing, 2 duplicate"
std::string complaint(const DatasetCheck& check) {
  std::vector<std::string> parts;
  const auto add = [&](std::size_t number, const char* what) {
    if (number > 0) parts.push_back(fmt::format("{} {}", number, what));
  };
  add(check.missing.size(), "missing");
  add(check.problems.size(), check.problems.size() == 1 ? "problem" : "problems");
  add(check.unreadable.size(), "unreadable");
  add(check.duplicates.size(), "duplicate");
  return fmt::format("{} in {} is {}: {}",
                     check.name,
                     check.folder.string(),
                     check.usable ? "usable, but not clean" : "not usable",
                     fmt::join(parts, ", "));
}

struct Check {
  std::string name, folder;
  bool as_json = false, no_pictures = false;
  int num_threads = 0;
  DatasetFlags flags;

  void run() const {
    DatasetCheckOptions options;
    options.dataset = flags.options();
    options.pictures = !no_pictures;
    options.num_threads = num_threads;
    int done = 0, total = 0;
    options.progress = [&, line = progress_line("checking")](int now, int all) {
      line(done = now, total = all);
    };
    options.stop = stop_on_interrupt();
    const DatasetCheck check = check_dataset(name, folder, options);
    if (options.stop.stop_requested()) throw Interrupted(done, total);
    if (as_json) {
      fmt::print("{}\n", json_text(check_json(check), 2));
    } else {
      print_check(check);
    }
    if (!check.clean()) throw std::runtime_error(complaint(check));
  }
};

void add_show(CLI::App& datasets_command) {
  auto name = std::make_shared<std::string>();
  auto as_json = std::make_shared<bool>(false);
  CLI::App* show = datasets_command.add_subcommand("show", "All that is known of one dataset");
  show->add_option("name", *name, "a name of 'ria datasets'")->required()->type_name("NAME");
  show->add_flag("--json", *as_json, "as JSON");
  show->callback([name, as_json] { print_info(find_dataset(*name), *as_json); });
}

void add_check(CLI::App& datasets_command) {
  auto state = std::make_shared<Check>();
  CLI::App* check = datasets_command.add_subcommand(
      "check", "What a copy of a dataset lacks: files, counts, pictures, positives");
  check->add_option("name", state->name, "a name of 'ria datasets'")->required()->type_name("NAME");
  check->add_option("folder", state->folder, "the dataset's folder or the one that holds it")
      ->required()
      ->type_name("FOLDER");
  check->add_flag("--no_pictures", state->no_pictures, "do not decode and compare the pictures");
  check->add_option("--num_threads", state->num_threads, "threads; 0: all cores")
      ->capture_default_str();
  check->add_flag("--json", state->as_json, "as JSON");
  state->flags.add(*check);
  state->flags.add_threshold(*check, "metres within which an answer is right; 0: as published");
  check->callback([state] { state->run(); });
}

}  // namespace

void add_datasets(CLI::App& program) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* command =
      program.add_subcommand("datasets", "List the datasets known by name, and check copies");
  command->add_flag("--json", *as_json, "as JSON");
  add_show(*command);
  add_check(*command);
  command->callback([command, as_json] {
    if (command->get_subcommands().empty()) print_list(*as_json);
  });
}

}  // namespace ria::cli
