// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/flags.h"
#include "ria/store.h"

namespace ria::cli {

namespace {

namespace fs = std::filesystem;

struct Describe {
  std::vector<std::string> paths;
  std::string out;
  MethodFlags method;
  ShardFlag shard;

  void run() {
    const fs::path target(out);
    if (target.extension() != ".npy" && target.extension() != ".h5") {
      throw std::invalid_argument(
          fmt::format("--out is '{}', a name ending in .npy or .h5 was expected", out));
    }
    const std::string name = method.methods()[0];
    check_descriptor_file(target);
    std::vector<fs::path> pictures;
    for (const std::string& path : paths) {
      const auto found = list_pictures(path);
      pictures.insert(pictures.end(), found.begin(), found.end());
    }
    RunOptions options = run_options("describing", method.num_threads());
    if (paths.size() == 1 && fs::is_directory(paths[0])) options.names_relative_to = paths[0];
    Recognizer recognizer(name, method.options());
    const auto own = shard.of(pictures, recognizer);
    recognizer.fit(pictures, options);
    Descriptions all = recognizer.describe(own, options);
    report_failures(all.failures, own.size());
    recognizer.finish(all, static_cast<int>(own.size()));
    const Descriptions good = all.without_failures();
    save_descriptors(target, good, recognizer.header());
    fmt::print("{}: {} descriptors of {} dims by {}\n",
               out,
               good.names.size(),
               recognizer.dim(),
               recognizer.method().name);
  }
};

}  // namespace

void add_describe(CLI::App& program) {
  auto state = std::make_shared<Describe>();
  CLI::App* command =
      program.add_subcommand("describe", "Write the descriptors of pictures to a file");
  command->add_option("paths", state->paths, "pictures and folders")
      ->required()
      ->type_name("PATH...");
  command->add_option("--out", state->out, "x.npy (with x.names.txt, x.json) or x.h5 (hloc)")
      ->required()
      ->type_name("FILE");
  state->shard.add(*command);
  state->method.add(*command, false);
  command->callback([state] { state->run(); });
}

}  // namespace ria::cli
